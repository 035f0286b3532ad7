"""What is found by setting, where each game is of one side, is what is found of games of any."""

import polars as pl
import pytest
from event_tables import ENGINES, assert_same

import pipeline.metrics
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
