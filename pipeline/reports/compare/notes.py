"""Notes for a table of differences."""

import polars as pl

from pipeline.statistics.pairs import REPLAYED

DECIMALS = 3
"""Values and differences are shown with so many."""
MOST_NAMED = 5
"""So many rows are named in a note."""


def replay_note(rows: pl.DataFrame) -> list[str]:
    """A note for rows in which one model played the common settings much more often."""
    metrics = rows.filter("is_replayed")["metric"].unique(maintain_order=True).to_list()
    note = (
        f"one of the two has {REPLAYED:g} times as many games of the common settings in "
        f"{', '.join(metrics)}, or more: replays are no new settings"
    )
    return [note] if metrics else []


def common_note(
    rows: pl.DataFrame, values: tuple[str, str] = ("value", "other_value")
) -> list[str]:
    """A note for rows in which the difference is not the subtraction of the values beside it.

    `values` names the columns of the two values that are shown.
    """
    one, other = values
    shown = pl.col("difference").round(DECIMALS) - pl.col(one).round(DECIMALS)
    apart = rows.filter((shown + pl.col(other).round(DECIMALS)).abs() > 1.5 * 10**-DECIMALS)
    if apart.is_empty():
        return []
    note = "differences are over the common settings, the values beside them over all games"
    if "common_value" not in apart.columns:
        return [note]
    of_row = ["metric", *(name for name in _labels(rows) if rows[name].n_unique() > 1)]
    named = [
        f"{' '.join(map(str, row[2:]))} {row[0]:.{DECIMALS}f} and {row[1]:.{DECIMALS}f}"
        for row in apart.select("common_value", "other_common_value", *of_row).iter_rows()
    ]
    more = [f"{len(named) - MOST_NAMED} more"] if named[MOST_NAMED:] else []
    return [f"{note}; values over the common settings: {', '.join(named[:MOST_NAMED] + more)}"]


def _labels(rows: pl.DataFrame) -> list[str]:
    """The columns that say what a row compares, without the metric."""
    return [name for name in rows.columns[: rows.columns.index("value")] if name != "metric"]
