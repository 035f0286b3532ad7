"""What is found by setting, where each game is of one side, is what is found of games of any."""

import polars as pl
import pytest
from event_tables import ENGINES, assert_same
from rawlogs import PLAYERS, chameleon, encode

import pipeline.metrics
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.metrics import NAMES, answered, metrics
from pipeline.metrics.request import EDITIONS, Request
from pipeline.reports.compare import sums_by_setting
from pipeline.reports.ranking import leaderboard

QUESTIONS = {
    "as a rule": {},
    "of all": {"by": []},
    "by what a game has": {"by": ["opponent", "game_type"]},
    "by what a seat has": {"by": ["model", "seat"]},
    "by game": {"by": ["game_id"], "names": ["win_rate", "judgement"]},
    "of some": {"by": ["model"], "where": "game_index > 2 AND role <> 'player'"},
    "of rows that results lack": {"names": ["judgement"], "where": "target IS NOT NULL"},
}


@pytest.fixture
def as_of_all_sides(monkeypatch):
    """A function that asks as if games could be of several tested sides."""

    def ask(question, *args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline.metrics, "_is_one_sided", lambda lake: False)
            return question(*args, **options)

    return ask


def test_the_public_games_are_of_one_side(public_lake):
    assert pipeline.metrics._is_one_sided(public_lake)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_editions(edition, engine, public_lake, as_of_all_sides):
    options = {"edition": edition, "engine": engine}
    assert_same(metrics(public_lake, **options), as_of_all_sides(metrics, public_lake, **options))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question, engine, public_lake, as_of_all_sides):
    options = QUESTIONS[question] | {"engine": engine}
    assert_same(metrics(public_lake, **options), as_of_all_sides(metrics, public_lake, **options))


@pytest.mark.parametrize("engine", ENGINES)
def test_leaderboards(engine, public_lake, as_of_all_sides):
    found = leaderboard(public_lake, engine=engine)
    assert found["letters"].n_unique() > 1
    assert_same(found, as_of_all_sides(leaderboard, public_lake, engine=engine))


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """A lake of as many games of two tested sides as of none."""
    top = tmp_path_factory.mktemp("uneven")
    for number, model in enumerate(["m"] * 8 + ["gpt-4-fix"] * 8):
        log = chameleon(flag=number % 4)
        log["player_backends"] = {player: {"model": model} for player in PLAYERS}
        log["game_setting"]["topic"] = f"Rivers {number}"
        (top / f"{number}.json").write_bytes(encode(log))
    ingest(top, top / "lake")
    return open_lake(top / "lake")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_games_of_no_side_do_not_make_up_for_games_of_two(edition, engine, uneven, as_of_all_sides):
    n_rows = [uneven.table(name).collect().height for name in ("games", "results")]
    assert n_rows == [16, 16]
    options = {"edition": edition, "engine": engine}
    found = metrics(uneven, **options)
    assert_same(found, as_of_all_sides(metrics, uneven, **options))
    won = found.filter(metric="win_rate", game_type="all")
    assert won["n_games"].to_list() == [8]


def test_two_hashes_alike_are_not_two_texts_alike(monkeypatch):
    monkeypatch.setattr(pl.Expr, "hash", lambda ids: ids.str.len_bytes())
    for ids, is_unique in ((["a", "b"], True), (["a", "b", "a"], False), ([], True)):
        rows = pl.LazyFrame({"game_id": ids}, schema={"game_id": pl.String})
        assert pipeline.metrics._is_unique(rows, "game_id") is is_unique


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_sums_by_setting_are_those_that_are_read(edition, name, public_lake):
    request = Request(edition=edition, by=("model",))
    settings = answered(public_lake, request, names=[name]).settings
    assert settings is not None
    found, read = (
        sums_by_setting(public_lake, name, request, told).select(
            "model", "competition", "setting_id", "term", "h", "c"
        )
        for told in (settings, None)
    )
    assert_same(found.sort(pl.all()), read.sort(pl.all()))
