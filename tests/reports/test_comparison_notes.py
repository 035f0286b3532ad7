"""What is said beside a comparison, so that its numbers are not taken for an error."""

from math import copysign

import polars as pl
import pytest
from event_tables import lake_of_wins

from pipeline.render import build_result_table
from pipeline.render.comparison_tables import differences_over_common_settings_notes
from pipeline.render.table import MAX_LISTED_NAMES
from pipeline.reports.compare import compare, compare_with
from pipeline.reports.diff import diff
from pipeline.reports.plan import plan

NEXT_TO_0 = "an end of +.00 is just above 0, an end of -.00 just below it"


def difference(rows: pl.DataFrame) -> str:
    """The first difference with its interval, as eyes see it, without its mark."""
    fields = {field.name: field for field in build_result_table("compare", rows).visible_fields}
    cell = fields["difference"].cells[0]
    return f"{cell.text} {cell.interval_text}"


def test_a_difference_is_that_of_the_values_on_common_settings() -> None:
    """A wins 3 of 4, and all 3 that B, who wins none, has played too."""
    rows = compare(lake_of_wins({"A": [1, 1, 1, 0], "B": [0, 0, 0]}), ("A", "B"), metric="win_rate")
    (row,) = rows.to_dicts()
    assert (row["value"], row["other_value"], row["difference"]) == (3 / 4, 0, 1)
    assert (row["common_value"], row["other_common_value"], row["n_settings"]) == (1, 0, 3)
    (note,) = differences_over_common_settings_notes(rows)
    assert note.startswith("differences are over the common settings")
    assert note.endswith("values over the common settings: win_rate 1.000 and 0.000")


@pytest.mark.parametrize(
    ("other", "is_mean_of_rows"),
    [([1, 0, 1, 1], True), ([1] * 9, False)],
    ids=["both are paired", "one is paired"],
)
def test_a_mean_that_is_not_that_of_the_rows_says_so(
    other: list[int], is_mean_of_rows: bool
) -> None:
    """x and x-pgm differ by 1/2 on the settings of both; y-pgm has too few of the settings of y."""
    wins = {"x": [0, 0], "x-pgm": [1, 0, 0], "y": other, "y-pgm": [1, 1]}
    rows = compare_with(lake_of_wins(wins), "pgm", metric="win_rate")
    *own, mean = rows["difference"]
    assert (mean == pytest.approx(sum(own) / 2)) is is_mean_of_rows
    notes = [
        note for note in build_result_table("compare_with", rows).notes if "the mean is" in note
    ]
    assert len(notes) == (not is_mean_of_rows)


def test_every_pair_that_needs_the_note_is_named_by_its_models() -> None:
    """A lost one more setting than the others played; their differences are of all they played."""
    wins = {"A": [1, 1, 1, 0], "B": [0, 0, 1], "C": [0, 1, 0]}
    pairs = compare(lake_of_wins(wins), metric="win_rate")
    (note,) = differences_over_common_settings_notes(pairs)
    assert note.endswith(": win_rate A B 1.000 and 0.333, win_rate A C 1.000 and 0.333")
    (note,) = differences_over_common_settings_notes(pl.concat([pairs] * MAX_LISTED_NAMES))
    assert note.count("1.000 and 0.333") == MAX_LISTED_NAMES
    assert note.endswith(f" and {MAX_LISTED_NAMES} more")


@pytest.mark.parametrize(
    "wins",
    [
        {"A": [1, 1, 0], "B": [0, 0, 1]},
        # Unpaired: too little of what A played is in common.
        {"A": [1] * 9, "B": [0, 0]},
    ],
    ids=["the same settings", "unpaired"],
)
def test_a_difference_of_the_values_needs_no_note(wins: dict[str, list[int]]) -> None:
    assert differences_over_common_settings_notes(compare(lake_of_wins(wins))) == []


def test_a_change_over_common_settings_needs_the_note_too() -> None:
    before = lake_of_wins({"A": [1, 1, 1, 0]})
    after = lake_of_wins({"A": [0, 0, 0]}, first=10)
    rows = diff(before, after).filter(metric="win_rate")
    assert rows.select("value", "new_value", "difference").row(0) == (3 / 4, 0, -1)
    assert len(differences_over_common_settings_notes(rows, ("new_value", "value"))) == 1
    same = diff(before, before)
    assert differences_over_common_settings_notes(same, ("new_value", "value")) == []


def test_what_both_lack_is_said_of_both() -> None:
    """Here nobody negotiates, before or after; as if only one did not, the reason named one."""
    lake = lake_of_wins({"A": [1, 0], "B": [0, 1]})
    asked = {"metric": "cooperation"}
    assert compare(lake, **asked)["reason"].to_list() == ["A and B: nothing to count: agreements"]
    (reason,) = diff(lake, lake, **asked)["reason"].unique()
    assert reason == "after and before: nothing to count: agreements"


def test_an_end_of_0_is_not_below_0() -> None:
    """Three settings tell nobody apart, so an end of the interval is moved to 0."""
    lake = lake_of_wins({"A": [0, 0, 0], "B": [1, 1, 1]})
    rows = compare(lake, ("A", "B"), metric="win_rate")
    assert rows["p_value"].item() > 0.05
    assert rows["ci_high"].item() == 0
    assert copysign(1, rows["ci_high"].item()) == 1
    assert difference(rows) == "-1.000 (-1.00 to .00)"
    assert NEXT_TO_0 not in build_result_table("compare", rows).notes


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(1e-9, 0.4, "(+.00 to .40)"), (-0.4, -1e-9, "(-.40 to -.00)"), (-0.003, 0.4, "(-.00 to .40)")],
)
def test_an_end_next_to_0_has_its_sign_explained(low: float, high: float, shown: str) -> None:
    rows = compare(lake_of_wins({"A": [0, 1], "B": [1, 1]}), metric="win_rate")
    ends = rows.with_columns(ci_low=pl.lit(low), ci_high=pl.lit(high))
    assert difference(ends).endswith(shown)
    assert NEXT_TO_0 in build_result_table("compare", ends).notes


@pytest.mark.parametrize(
    ("settings", "enough"),
    [
        ([101, 144, 148, 155, 166, 166], "148 settings are enough for half of the pairs, 166 for"),
        ([9, 5, 7], "7 settings are enough for half of the pairs, 9 for all"),
        (
            [None, 9, None, 5],
            "5 settings are enough for half of the 2 of 4 pairs that have a plan, 9 for all of "
            "these; 2 pairs cannot be planned",
        ),
    ],
)
def test_a_plan_says_for_how_many_pairs_it_is_enough(
    settings: list[int | None], enough: str
) -> None:
    pilot = plan(lake_of_wins({"a": [1, 0, 1, 1], "b": [0, 0, 1, 0]}), "win_rate", 0.2)
    rows = pl.concat([pilot] * len(settings)).with_columns(
        settings=pl.Series(settings, dtype=pl.Int64)
    )
    assert enough in build_result_table("plan", rows).notes[-1]
