"""Pages of sorted rows: a page begins after the last row of the page before.

Several rows can have the same values in the columns that they are sorted by. So a key is these
values of the last row shown, and how many rows with these values were shown: the next page begins
at the first of them and leaves out so many. Rows alike must come in the same order each time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from pipeline.column import Column
from pipeline.errors import UsageError, choose
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


def order_by(
    sort: str | None, key: Sequence[str], columns: Mapping[str, Column] | None = None
) -> tuple[str, ...]:
    """The columns that rows are sorted by: the one asked for, then those of the key.

    Raises UsageError for one that is not of these `columns`, or that has no order.
    """
    types = {name: one.dtype for name, one in (columns or {}).items()}
    known = [name for name, one in types.items() if one == pl.String or one.is_numeric()]
    if sort and columns is not None and sort not in known:
        raise UsageError(f"cannot sort by {sort}: {choose([sort], known)}")
    return tuple(dict.fromkeys([sort, *key] if sort else key))


def check_limit(limit: int | None) -> None:
    """Raises UsageError for a limit below 0."""
    if limit is not None and limit < 0:
        raise UsageError(f"the limit must be 0 or more, not {limit}")


def page_of(
    rows: pl.LazyFrame,
    order: Sequence[str],
    after: Sequence[object] | None,
    limit: int | None,
    *,
    descending: bool = False,
    ties: Sequence[str] = (),
) -> pl.LazyFrame:
    """The rows in order, nulls last, from the one after the key on, at most `limit`.

    With `descending`, the first column is. `ties` order rows that are alike in the others.
    Raises UsageError for a limit below 0.
    """
    check_limit(limit)
    start = start_of(after, order)
    is_down = [descending, *[False] * (len(order) + len(ties) - 1)]
    types = rows.select(order).collect_schema()
    is_after = pl.sql_expr(is_from(start.values, types, is_down[: len(order)]))
    ordered = rows.filter(is_after).sort(*order, *ties, descending=is_down, nulls_last=True)
    return ordered.slice(start.n_shown, limit)


def is_from(
    values: Sequence[object] | None,
    columns: Mapping[str, pl.DataType],
    is_down: Sequence[bool] = (),
) -> str:
    """The SQL condition that a row has these values in the columns, or comes later.

    Nulls come last; without values it holds for every row. `is_down` says which columns descend, by
    default none. Raises UsageError for values that cannot be those of a row.
    """
    if values is None:
        return "TRUE"
    later, same = [], "TRUE"
    for (name, dtype), value, down in zip(
        columns.items(), values, is_down or [False] * len(columns), strict=True
    ):
        column, sign = identifier(name), "<" if down else ">"
        if value is None:
            same += f" AND ({column} IS NULL)"
            continue
        text = _written(value, dtype)
        later.append(f"({same} AND ({column} {sign} {text} OR {column} IS NULL))")
        same += f" AND ({column} = {text})"
    return f"({' OR '.join([*later, f'({same})'])})"


def _written(value: object, dtype: pl.DataType) -> str:
    """The value of a column of this type in SQL."""
    if dtype.is_float() and isinstance(value, float):
        return f"CAST({literal(repr(value))} AS DOUBLE)"
    return str(_integer(value)) if dtype.is_numeric() else literal(str(value))


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise UsageError(f"the key of a page has a number where it has {value!r}")
    return value
