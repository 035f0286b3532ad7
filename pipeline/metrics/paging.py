"""Pages of sorted rows: so many rows from a place on.

Rows that are alike in the columns that they are sorted by must come in the same order each time.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.column import Column
from pipeline.errors import UsageError, choose

MOST_ROWS = 2**40
"""Lakes are smaller."""


def check_limit(limit: int | None, offset: int = 0) -> None:
    """Raises UsageError for a limit below 0, and for an offset that no row has."""
    if limit is not None and limit < 0:
        raise UsageError(f"the limit must be 0 or more, not {limit}")
    if not 0 <= offset < MOST_ROWS:
        raise UsageError(f"the offset must be 0 or more, and a number of rows, not {offset}")


def page_of(
    rows: pl.LazyFrame,
    columns: Mapping[str, Column],
    key: Sequence[str],
    *,
    offset: int,
    limit: int | None,
    sort: str | None,
    descending: bool,
) -> pl.LazyFrame:
    """The rows sorted by the column `sort`, then by the key, without the first `offset`, at most
    `limit`; nulls come last.

    With `descending`, the first column is. Raises UsageError for a column that is not of these, or
    that has no order, and for a limit or offset below 0.
    """
    check_limit(limit, offset)
    types = {name: one.dtype for name, one in columns.items()}
    known = [name for name, one in types.items() if one == pl.String or one.is_numeric()]
    if sort and sort not in known:
        raise UsageError(f"cannot sort by {sort}: {choose([sort], known)}")
    order = list(dict.fromkeys([sort, *key] if sort else key))
    is_down = [descending, *[False] * (len(order) - 1)]
    return rows.sort(order, descending=is_down, nulls_last=True).slice(offset, limit)
