"""What a transcript says was counted is what the metric counted, in every edition.

Some editions count a row by what is in other games: release counts a flag once, and knows no hit
where a run is repeated. A transcript of few games must say the same of them.
"""

import shutil

import polars as pl
import pytest

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics.evidence import evidence
from pipeline.metrics.registry import ORIGIN_COLUMNS, metric_names
from pipeline.reports.transcript import transcript, transcripts
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS, RELEASE


@pytest.fixture(scope="module")
def repeated_lake(tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    """Two runs of a model: each number of a game is there twice."""
    top = tmp_path_factory.mktemp("repeated")
    for run in (1, 2):
        found = simulate(top / "logs" / str(run), models=1, games=2, seed=run)
        shutil.move(found.results, top / "runs" / str(run))
    ingest(top / "runs", top / "lake")
    return open_lake(top / "lake")


def assert_all_marks_are_evidence(lake: StoredLake, game_ids: list[str], edition: str) -> None:
    whole = pl.concat([evidence(lake, name, edition=edition) for name in metric_names(edition)])
    expected = whole.filter(pl.col("game_id").is_in(game_ids)).drop(ORIGIN_COLUMNS, "is_counted")
    together = pl.concat([one.counted for one in transcripts(lake, game_ids, edition=edition)])
    alone = pl.concat(
        [transcript(lake, game_id, edition=edition).counted for game_id in game_ids[:9]]
    )
    of_alone = expected.filter(pl.col("game_id").is_in(game_ids[:9]))
    for counted, rows in ((together, expected), (alone, of_alone)):
        assert sorted(map(repr, counted.select(rows.columns).rows())) == sorted(
            map(repr, rows.rows())
        )


@pytest.mark.slow
def test_repeated_runs(repeated_lake: StoredLake) -> None:
    games = repeated_lake.table("games").select("game_id").collect()["game_id"]
    assert_all_marks_are_evidence(repeated_lake, games.sort().to_list()[::2], RELEASE)
    assert evidence(repeated_lake, "win_rate", edition=RELEASE)["hit"].null_count()


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_public_games(edition: str, public_lake: StoredLake) -> None:
    games = public_lake.table("games").select("game_id").collect()["game_id"]
    assert_all_marks_are_evidence(public_lake, games.sort().to_list()[::20], edition)


@pytest.mark.slow
def test_a_number_of_games_is_that_of_evidence(repeated_lake: StoredLake) -> None:
    games = repeated_lake.table("games").select("game_id").collect()["game_id"].to_list()
    asked = {"edition": RELEASE, "num_of_game": 1}
    counted = pl.concat([one.counted for one in transcripts(repeated_lake, games, **asked)])
    for name in metric_names(RELEASE):
        assert counted.filter(metric=name).height == evidence(repeated_lake, name, **asked).height
