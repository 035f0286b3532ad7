"""Pages of sorted rows: a page begins after the last row of the page before."""

from collections.abc import Sequence

from pipeline.errors import UsageError
from pipeline.events.contracts import polars_schema
from pipeline.sqlfiles import identifier, literal


def is_after(after: Sequence[object] | None, columns: Sequence[str]) -> str:
    """The SQL condition that a row comes later than the one with these values in the columns.

    Nulls come last; without values every row is later. Raises UsageError for values that cannot be
    those of a row.
    """
    if after is None:
        return "TRUE"
    if len(after) != len(columns):
        raise UsageError(f"the key of a page is made of {', '.join(columns)}")
    types = polars_schema("votes")
    is_number = [column in types and types[column].is_integer() for column in columns]
    values = [
        "NULL" if one is None else str(_integer(one)) if number else literal(str(one))
        for one, number in zip(after, is_number, strict=True)
    ]
    either, same = [], "TRUE"
    for column, value in zip(map(identifier, columns), values, strict=True):
        if value != "NULL":
            either.append(f"({same} AND ({column} > {value} OR {column} IS NULL))")
        same += f" AND {column} IS NOT DISTINCT FROM {value}"
    return f"({' OR '.join(either) or 'FALSE'})"


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"the key of a page has a number where it has {value!r}")
    return value
