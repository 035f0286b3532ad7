"""A diff: what moved is said first, each row adds up, and what is chosen is tested alone."""

import json
from math import erfc, sqrt
from statistics import mean
from typing import Any

import polars as pl
import pytest
from dilemmas import against_a_bot, lake_of_documents
from event_tables import Frames, results_of
from polars.testing import assert_frame_equal

from pipeline.cli.app import main
from pipeline.cli.exit_codes import CHECK_FAILED, FAILED
from pipeline.errors import UsageError
from pipeline.render import build_result_table
from pipeline.reports.diff import diff, diff_games

NOTHING: dict[str, dict[int, int]] = {}
CHOSEN_ANEW = ("p_holm", "family", "is_significant")


def state(wins: dict[str, dict[int, int]], first: int = 1, *, n_settings: int = 1000) -> Frames:
    """Each model's games, won or not, one in each of these settings, numbered from the first.

    With fewer settings, their games are spread over them.
    """
    rows = [
        (model, setting % n_settings, 0, hit)
        for model, own in wins.items()
        for setting, hit in own.items()
    ]
    return Frames({"results": results_of(rows, first=first)})


def games(hits: list[int], first: int = 0) -> dict[int, int]:
    return dict(enumerate(hits, first))


WON, LOST, HALF = games([1] * 20), games([0] * 20), games([1, 0] * 10)


@pytest.mark.parametrize(
    ("before", "after", "confidence", "said"),
    [
        ({"m": WON}, {"m": LOST}, 0.95, "1 of 1 value moved significantly at level 0.05"),
        ({"m": WON}, {"m": HALF}, 0.9, "1 of 1 value moved significantly at level 0.1"),
        ({"m": HALF}, {"m": HALF}, 0.99, "0 of 1 value moved significantly at level 0.01"),
        (
            {"m": WON, "b": WON, "old": WON},
            {"m": LOST, "b": WON, "x": WON, "y": LOST},
            0.95,
            "1 of 2 values moved significantly at level 0.05; 2 models new: x, y; "
            "1 model removed: old",
        ),
        (NOTHING, {"x": WON}, 0.95, "0 of 0 values moved; 1 model new: x"),
        (NOTHING, NOTHING, 0.95, "0 of 0 values moved"),
    ],
)
def test_what_moved_is_said_first(before: Any, after: Any, confidence: float, said: str) -> None:
    rows = diff(state(before), state(after, 1000), metric="win_rate", confidence=confidence)
    assert rows["level"].to_list() == [round(1 - confidence, 15)] * rows.height
    assert build_result_table("diff", rows).notes[0] == said


def test_the_same_games_have_not_moved() -> None:
    rows = diff(state({"m": HALF}), state({"m": HALF}), metric="win_rate")
    assert rows.select("difference", "p_value", "is_significant").rows() == [(0.0, None, False)]
    notes = build_result_table("diff", rows).notes
    assert [*notes[:2]] == ["0 of 1 value moved", "no p-values: both states count the same games"]
    assert diff_games(state({"m": HALF}), state({"m": HALF})).is_empty()


def test_games_that_one_state_lacks_are_removed_or_new() -> None:
    before, after = state({"m": WON}), state({"m": LOST, "x": WON}, 100)
    fell, new = diff(before, after, metric="win_rate").rows(named=True)
    assert (fell["n_common"], fell["n_removed"], fell["n_new"]) == (0, 20, 20)
    assert new["reason"] == "only after"
    changed = diff_games(before, after, metric="win_rate").group_by("model", "change").len()
    assert {*changed.rows()} == {("m", "removed", 20), ("m", "new", 20), ("x", "new", 20)}


def test_what_neither_state_has_is_not_counted_as_not_compared() -> None:
    """Without `metric`, seven metrics have nothing to count here; of `gone`, one state has none."""
    before = state({"m": WON, "gone": WON})
    rows = diff(before, state({"m": LOST}, 100))
    said = build_result_table("diff", rows).notes[0]
    assert said.endswith("at level 0.05; 1 model removed: gone")
    unlike = rows.with_columns(reason=pl.lit("too few settings"))
    said = build_result_table("diff", unlike).notes[0]
    assert said.endswith("at level 0.05; 1 value could not be compared")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (games([1, 1, 1, 0]), games([0, 0, 0])),
        (games([1, 0, 1, 1, 0, 0]), games([1, 1, 0, 0, 1, 1, 1], 2)),
        (games([1, 0, 1]), games([0, 1, 1])),
        (games([1, 0, 1, 1]), games([0, 1, 1], 50)),  # no common settings
        (games([1, 0, 1]), games([1, 0, 1])),
    ],
)
def test_each_row_adds_up(before: dict[int, int], after: dict[int, int]) -> None:
    """The means over the settings of both states, in plain Python."""
    rows = diff(state({"m": before}), state({"m": after}, 100), metric="win_rate")
    (row,) = rows.to_dicts()
    assert row["value"] == pytest.approx(mean(before.values()))
    assert row["new_value"] == pytest.approx(mean(after.values()))
    common = before.keys() & after.keys()
    values = row["value"], row["new_value"]
    if common:
        values = tuple(mean(own[setting] for setting in common) for own in (before, after))
        assert (row["common_value"], row["new_common_value"]) == pytest.approx(values)
    else:
        assert (row["common_value"], row["new_common_value"]) == (None, None)
    assert row["difference"] == pytest.approx(values[1] - values[0])
    shown = {one.name for one in build_result_table("diff", rows).visible_fields}
    is_apart = (row["value"], row["new_value"]) != pytest.approx(values)
    assert ({"common_value", "new_common_value"} <= shown) is is_apart


# Of games 1, 2, and so on: those that a state has, each with what came of it.
OLD = games([1, 0] * 40)


def proportions(hits: int, of: int, other: int, of_other: int) -> tuple[float, float]:
    """The two-sample test of proportions: its p-value, and the error of their difference."""
    pooled = (hits + other) / (of + of_other)
    error = sqrt(pooled * (1 - pooled) * (1 / of + 1 / of_other))
    return erfc(abs(hits / of - other / of_other) / error / sqrt(2)), error


@pytest.mark.some(2)
@pytest.mark.parametrize("n_settings", [1000, 1], ids=["a setting a game", "one setting"])
@pytest.mark.parametrize("hits", [2, 15, 32])
def test_new_games_are_compared_with_the_old_ones_not_these_with_themselves(
    hits: int, n_settings: int
) -> None:
    """Of 40 new games beside 80 old ones, of which half are hits, the new ones tell what moved."""
    after = OLD | games([1] * hits + [0] * (40 - hits), 80)
    states = [state({"m": own}, n_settings=n_settings) for own in (OLD, after)]
    (row,), (back,) = (
        diff(*ordered, metric="win_rate").to_dicts() for ordered in (states, states[::-1])
    )
    assert (row["n_common"], row["n_removed"], row["n_new"]) == (80, 0, 40)
    assert row["method"] == "unpaired"
    moved = (40 + hits) / 120 - 0.5
    assert row["difference"] == pytest.approx(moved) == pytest.approx(-back["difference"])
    p, error = proportions(hits, 40, 40, 80)
    # By another method, and rates near the ends of their range are less sure by it.
    assert row["p_value"] == pytest.approx(p, rel=0.5, abs=2e-4)
    assert row["p_value"] == pytest.approx(back["p_value"])
    assert row["is_significant"] is (p < 0.05)
    half = 1.96 * error / 3  # a third of the games are new
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((moved - half, moved + half), abs=0.04)


@pytest.mark.parametrize(("n_changed", "method"), [(8, "unpaired"), (12, "paired by setting")])
def test_settings_with_the_same_games_are_not_paired(n_changed: int, method: str) -> None:
    """Twenty games won; the logs of some were put right, and their games are lost now."""
    same = state({"m": games([1] * 20)})
    rows = same.table("results").collect()
    is_changed = pl.int_range(pl.len()) < n_changed
    changed = rows.with_columns(
        game_id=pl.when(is_changed)
        .then(pl.col("game_id").str.replace("^.", "f"))
        .otherwise("game_id"),
        win_credit=pl.when(is_changed).then(0.0).otherwise("win_credit"),
    )
    (row,) = diff(same, Frames({"results": changed}), metric="win_rate").to_dicts()
    assert (row["n_common"], row["n_removed"]) == (20 - n_changed, n_changed)
    assert row["method"] == method
    expected = (1, 0) if method == "paired by setting" else (None, None)
    assert (row["common_value"], row["new_common_value"]) == expected
    assert row["difference"] == pytest.approx(-1 if expected[0] else -n_changed / 20)
    assert row["is_significant"]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("model", "metric"),
    [
        (None, "win_rate"),
        ("m", None),
        (["m", "b"], ["win_rate", "judgement"]),
        ("old", "win_rate"),
        (["x", "m"], "win_rate"),
    ],
)
def test_chosen_rows_are_those_of_all_and_are_adjusted_alone(model: Any, metric: Any) -> None:
    before = state({"m": WON, "b": HALF, "old": WON})
    after = state({"m": HALF, "b": WON, "x": LOST}, 100)
    is_chosen = pl.lit(value=True)
    for name, chosen in (("model", model), ("metric", metric)):
        if chosen is not None:
            is_chosen &= pl.col(name).is_in([chosen] if isinstance(chosen, str) else chosen)
    found = diff(before, after, model=model, metric=metric).drop_nulls("model")
    expected = diff(before, after).filter(is_chosen).drop_nulls("model")
    assert_frame_equal(found.drop(CHOSEN_ANEW), expected.drop(CHOSEN_ANEW))
    n_tests = found["p_value"].count()
    assert found.drop_nulls("p_value")["family"].to_list() == [n_tests] * n_tests
    assert_frame_equal(
        diff_games(before, after, model=model, metric=metric),
        diff_games(before, after).filter(is_chosen),
    )


def test_a_model_of_neither_state_is_refused() -> None:
    states = state({"m": WON}), state({"x": WON})
    for report in (diff, diff_games):
        with pytest.raises(UsageError, match="no game of y"):
            report(*states, model=["m", "x", "y"])


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Before and after: m fell, b is as it was, x is new, and r fell in its four games."""
    states = (
        {"m": WON, "b": WON, "r": games([1] * 4)},
        {"m": LOST, "b": WON, "x": WON, "r": games([0] * 4)},
    )
    top, places = tmp_path_factory.mktemp("states"), []
    for name, wins in zip(("before", "after"), states, strict=True):
        documents = [
            against_a_bot(
                model, is_won=hit == 1, setting={"n": n}, game_index=n, is_repeatable=True
            )
            for model, own in wins.items()
            for n, hit in own.items()
        ]
        places.append(str(lake_of_documents(top / name, documents).path))
    return places


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("asked", "models"),
    [
        ("", ["m"]),
        ("--all", ["b", "m", "r", "x"]),
        ("--model b", ["b"]),
        ("--all --model b --model x", ["b", "x"]),
        ("--confidence 0.9999999", []),
    ],
)
def test_the_rows_for_readers_are_what_moved(
    asked: str, models: list[str], lakes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs have all rows, with a column that says which moved."""
    words = ["diff", *lakes, "--metric", "win_rate", *asked.split()]
    assert main([*words, "--format", "markdown"]) == 0
    heading, _, *lines = capsys.readouterr().out.splitlines()
    assert " moved" in heading
    assert [line.split(" | ")[1] for line in lines if line.startswith("| win_rate")] == models
    assert main([*words, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    is_one = "--model b" in asked and "--all" not in asked
    assert len(rows) == (1 if is_one else 2 if "--model" in asked else 4)
    moved = [row["model"] for row in rows if row["is_significant"]]
    assert moved == [one for one in models if one == "m"]


def test_a_regression_is_listed_also_where_nothing_moved_beyond_chance(
    lakes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Four games lost that were won: p is 1/16 of two sides, and 1/32 of one.

    It has another exit code than a lake that is not there.
    """
    chosen = ["--metric", "win_rate", "--fail-on-regression", "0", "--model", "r"]
    assert main(["diff", *lakes, *chosen]) == CHECK_FAILED
    out, err = capsys.readouterr()
    assert "0 of 1 value moved significantly at level 0.05" in out
    assert "-1.000 (-1.00 to " in out
    assert "regression: win_rate of r fell by 1.0000" in err
    assert main(["diff", *lakes[::-1], *chosen]) == 0
    assert main(["diff", lakes[0], "nowhere", *chosen]) == FAILED
