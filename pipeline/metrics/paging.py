"""Pages of sorted rows: a page begins after the last row of the page before.

Several rows can have the same values in the columns that they are sorted by. So a key is these
values of the last row shown, and how many rows with these values were shown: the next page begins
at the first of them and leaves out so many. Rows alike must come in the same order each time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline.errors import UsageError
from pipeline.events.contracts import polars_schema
from pipeline.sqlfiles import identifier, literal


class Start(NamedTuple):
    """Where a page starts: at the rows with these values or later, `n_shown` rows further on."""

    values: Sequence[object] | None
    n_shown: int


def last_key(
    rows: pl.DataFrame, columns: Sequence[str], after: Sequence[object] | None = None
) -> list[object]:
    """The key of the last row of a page that began after the key `after`."""
    keys = rows.select(columns)
    last = keys.row(-1)
    is_last = pl.all_horizontal(
        pl.col(name).eq_missing(pl.lit(value, keys.schema[name]))
        for name, value in zip(columns, last, strict=True)
    )
    n_shown = keys.select(is_last.sum()).item()
    start = start_of(after, columns)
    if start.values is not None and tuple(start.values) == last:
        n_shown += start.n_shown
    return [*last, n_shown]


def start_of(after: Sequence[object] | None, columns: Sequence[str]) -> Start:
    """Where the page after this key starts; raises UsageError for what cannot be a key."""
    if after is None:
        return Start(None, 0)
    if len(after) != len(columns) + 1:
        raise UsageError(f"the key of a page is made of {', '.join(columns)} and a number of rows")
    *values, n_shown = after
    if _integer(n_shown) < 0:
        raise UsageError(f"the key of a page ends with a number of rows, not {n_shown}")
    return Start(values, _integer(n_shown))


def is_at_or_after(values: Sequence[object], columns: Sequence[str]) -> pl.Expr:
    """Whether a row has these values in columns of texts without nulls, or comes later."""
    holds = pl.lit(value=True)
    for column, value in zip(reversed(columns), reversed(values), strict=True):
        of_column, text = pl.col(column), pl.lit(str(value))
        holds = (of_column > text) | ((of_column == text) & holds)
    return holds


def is_from(values: Sequence[object] | None, columns: Sequence[str]) -> str:
    """The SQL condition that a row has these values in the columns, or comes later.

    Nulls come last; without values it holds for every row. Raises UsageError for values that cannot
    be those of a row.
    """
    if values is None:
        return "TRUE"
    types = polars_schema("votes")
    is_number = [column in types and types[column].is_integer() for column in columns]
    texts = [
        "NULL" if value is None else str(_integer(value)) if number else literal(str(value))
        for value, number in zip(values, is_number, strict=True)
    ]
    either, same = [], "TRUE"
    for column, text in zip(map(identifier, columns), texts, strict=True):
        if text != "NULL":
            either.append(f"({same} AND ({column} > {text} OR {column} IS NULL))")
        same += f" AND {column} IS NOT DISTINCT FROM {text}"
    return f"({' OR '.join([*either, f'({same})'])})"


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise UsageError(f"the key of a page has a number where it has {value!r}")
    return value
