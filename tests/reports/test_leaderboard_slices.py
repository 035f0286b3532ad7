"""The leaderboard by game type, condition, metrics and order, against plain loops."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import assert_same

import pipeline
from pipeline.errors import UsageError
from pipeline.metrics import NAMES
from pipeline.render import build_result_table

WITHOUT_RANK = ("rank", "group_letters", "family", "n_games", "missing_competitions")
SLICES: list[dict[str, Any]] = [
    {"game_type": "chameleon"},
    {"game_type": "public_good", "edition": "audited"},
    {"where": "role = 'civilian' AND n_rounds > 1"},
    {"game_type": "undercover", "where": "role = 'civilian'"},
    {"game_type": "all", "where": "game_type = 'chameleon'"},
    {"metric": ["judgement", "reasoning"], "where": "round = 1"},
    {"metric": "deception", "game_type": "chameleon"},
    {"game_type": "undercover", "model": ["sim-cedar", "sim-atlas"], "confidence": 0.8},
    {"game_type": "cost_sharing", "edition": "release", "metric": "cooperation"},
]


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> pipeline.Lake:
    return pipeline.open_lake(sample_lake)


@pytest.fixture(scope="module")
def whole(lake: pipeline.Lake) -> pl.Schema:
    return lake.leaderboard().schema


def values(lake: pipeline.Lake, asked: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By model, what `metrics` says of each metric."""
    rows = lake.metrics(**({"game_type": "all"} | asked), by=["model", "game_type"])
    by_model: dict[str, dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        name, of_model = row["metric"], by_model.setdefault(row["model"], {})
        of_model[name], of_model[f"{name}_low"] = row["value"], row["ci_low"]
        of_model[f"{name}_high"], of_model[f"{name}_missing_competitions"] = (
            row["ci_high"],
            row["missing_competitions"],
        )
        of_model["n_missing"] = max(of_model.get("n_missing", 0), row["n_missing"])
        of_model["is_complete"] = of_model.get("is_complete", True) and row["is_complete"]
    return by_model


@pytest.mark.some(3)
@pytest.mark.parametrize("asked", SLICES, ids=str)
def test_a_slice_has_the_values_of_metrics_and_no_rank(
    lake: pipeline.Lake, whole: pl.Schema, asked: dict[str, Any]
) -> None:
    rows = lake.leaderboard(**asked)
    expected = values(lake, asked)
    assert rows["model"].to_list() == sorted(expected) != []
    for row in rows.iter_rows(named=True):
        of_model = expected[row["model"]]
        assert {name: row[name] for name in of_model} == of_model
    assert {rows[name].count() for name in WITHOUT_RANK} == {0}
    chosen = asked.get("metric", NAMES)
    shown = {name for name in NAMES if name in rows.columns}
    assert shown == {chosen} if isinstance(chosen, str) else shown == {*chosen}
    assert {name: whole[name] for name in WITHOUT_RANK}.items() <= rows.schema.items()
    notes = build_result_table("leaderboard", rows, **asked).notes
    assert notes[0].startswith("only ")
    assert notes[0].endswith("a slice has no rank and no letters")


@pytest.mark.some(2, 6)
@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("part", [{}, {"game_type": "chameleon"}, {"where": "role = 'undercover'"}])
def test_rows_are_sorted_by_a_metric(
    lake: pipeline.Lake, part: dict[str, str], metric: str
) -> None:
    rows = lake.leaderboard(sort=metric, **part)
    sorted_values = rows[metric].to_list()
    known = [value for value in sorted_values if value is not None]
    assert sorted_values == sorted(known, reverse=True) + [None] * (len(rows) - len(known))
    assert rows.sort("rank", "model").equals(lake.leaderboard(**part).sort("rank", "model"))


def test_the_rank_is_by_win_rate_whatever_is_shown(lake: pipeline.Lake) -> None:
    whole = lake.leaderboard()
    rows = lake.leaderboard(metric="judgement", sort="judgement")
    of_others = [name for name in whole.columns if name.startswith(tuple({*NAMES} - {"judgement"}))]
    kept = whole.drop(*of_others, "reasons").columns
    assert rows.drop("reasons").columns == kept
    assert rows.sort("rank").select(kept).equals(whole.select(kept))


BY = [{"by": "role"}, {"by": "game_type", "columns": "role"}]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "asked", [*(one for one in SLICES if {*one} <= {"game_type", "where"}), *BY]
)
def test_the_page_shows_what_python_gives(lake: pipeline.Lake, asked: dict[str, str]) -> None:
    assert_same(lake.page("leaderboard", **asked).rows, lake.leaderboard(**asked))


@pytest.mark.slow
def test_what_a_value_lacks_is_marked_and_noted(lake_of_formats: Path) -> None:
    lake = pipeline.open_lake(lake_of_formats).for_system("kaggle")
    shown = build_result_table(
        "leaderboard", lake.leaderboard(game_type="werewolf"), game_type="werewolf"
    )
    assert any("beta lacks werewolf_as_werewolf" in note for note in shown.notes)
    stars = {
        row["model"]: bool(row["win_rate_missing_competitions"]) for row in shown.rows.to_dicts()
    }
    assert stars == {"alpha": False, "beta": True, "gamma": True}
    for text in (shown.text(), shown.markdown(), shown.html()):
        assert text.count("*") >= 2
    assert json.loads(shown.json())[1]["win_rate_missing_competitions"] == ["werewolf_as_werewolf"]


def test_a_slice_without_rows_has_the_columns(lake: pipeline.Lake) -> None:
    rows = lake.leaderboard(where="n_players = 99")
    assert rows.filter(pl.any_horizontal(pl.col(NAMES).is_not_null())).is_empty()
    assert rows.schema == lake.leaderboard(game_type="chameleon").schema


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"sort": "luck"}, "no metric luck"),
        ({"sort": "win_rate", "metric": "judgement"}, "no metric win_rate: choose from judgement"),
        ({"metric": "luck"}, "no metric `luck`"),
        ({"metric": "luck", "where": "round = 1"}, "no metric `luck`"),
        ({"game_type": "chess"}, "no game type chess"),
        ({"where": "target IS NULL"}, "no column target"),
        ({"edition": "release", "where": "role = 'civilian'"}, "covers all games of a model"),
        ({"game_type": "chameleon", "include_incomplete": True}, "a slice has no rank"),
    ],
)
def test_a_wrong_request_is_refused(
    lake: pipeline.Lake, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        lake.leaderboard(**asked)
