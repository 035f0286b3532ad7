"""The shared logs, taken in whole: acceptance A2 and A5, and what of the edge cases is refused."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lakes import check, nonzero, statuses, table

from pipeline.ingest import IngestSummary, ingest
from pipeline.lake import StoredLake


def test_documents_and_games(public_lake: StoredLake) -> None:
    lake = Path(str(public_lake.path))
    assert Counter(statuses(lake).values()) == {"ingested": 1430, "ignored": 103}
    assert table(lake, "quarantine").is_empty()
    games = table(lake, "games")
    assert Counter(games["game_type"]) == {
        "chameleon": 400,
        "undercover": 400,
        "cost_sharing": 210,
        "prisoners_dilemma": 210,
        "public_good": 210,
    }
    assert games["game_id"].n_unique() == 1430
    assert table(lake, "results").height == 1430


def test_every_model_was_played_on_the_same_settings(public_lake: StoredLake) -> None:
    """A setting is known by what was fixed before play, in whichever harness and by whom."""
    players = public_lake.table("players").filter("is_tested").collect()
    tested = players.select("model", "setting_id", "competition").unique()
    for (competition,), group in tested.group_by("competition"):
        settings = {model: set(own["setting_id"]) for (model,), own in group.group_by("model")}
        assert len(settings) == 10, competition
        assert len({frozenset(of_model) for of_model in settings.values()}) == 1, competition


# Transcripts


@pytest.fixture(scope="module")
def transcripts(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, IngestSummary]]:
    lake = tmp_path_factory.mktemp("transcripts") / "lake"
    archive = shared / "real" / "chatarena-chameleon.tar.zst"
    yield lake, ingest(archive, lake, model="gpt-3.5-turbo")
    check(lake)


def test_transcripts(transcripts: tuple[Path, IngestSummary]) -> None:
    lake, report = transcripts
    assert nonzero(report) == {"ingested": 103, "ignored": 1}
    assert [path for path, s in statuses(lake).items() if s == "ignored"] == ["chameleon.json"]
    assert Counter(table(lake, "games")["outcome"]) == {
        "voted_wrong": 41,
        "tie": 43,
        "guessed_right": 12,
        "guessed_wrong": 7,
    }
    assert set(table(lake, "players")["model"]) == {"gpt-3.5-turbo"}
    assert table(lake, "players")["is_tested"].all()
    assert table(lake, "results").height == 206
    assert table(lake, "quarantine").is_empty()


@pytest.mark.slow
def test_transcripts_without_a_model(transcripts: tuple[Path, IngestSummary], shared: Path) -> None:
    """They are known by their bytes; where they are new, somebody has to say who played."""
    lake, _ = transcripts
    archive = shared / "real" / "chatarena-chameleon.tar.zst"
    again = ingest(archive, lake, dry_run=True)
    assert nonzero(again) == {"unchanged": 103, "ignored": 1}
    assert again.n_known_by_content == 103
    first = ingest(archive, lake.with_name("none"), dry_run=True)
    assert nonzero(first) == {"quarantined": 103, "ignored": 1}
    assert set(first.faults["message"]) == {first.faults["message"][0]}


# Edge cases


def test_no_edge_case_makes_an_ingest_fail(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One log is half a file; of one, a part is missing; every other one is a game and whole."""
    lake = tmp_path_factory.mktemp("edges") / "lake"
    report = ingest(shared / "corpus" / "edge-cases.tar.zst", lake)
    assert report.statuses["quarantined"] == 1
    assert report.statuses["replacing"] == report.statuses["unchanged"] == 0
    refused = table(lake, "quarantine").select("path", "json_path", "game_id").rows()
    assert {
        (path.split("/")[0], json_path, game_id is None) for path, json_path, game_id in refused
    } == {
        ("20_truncated_json", "$", True),
        ("21_no_consistency_metric", "$.consistency_metric", False),
    }
    check(lake)
