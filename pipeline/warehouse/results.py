"""What DuckDB gives back as polars has it, or why polars cannot.

A sum of integers is a HUGEINT in DuckDB, and `0.5` is a DECIMAL. Polars takes both for decimals, in
which one sum divided by another is rounded to as many places as they have: 71 / 80 is 1. So they
are Int64 and Float64.
"""

import re
from collections.abc import Iterator
from datetime import date

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from pipeline.errors import QueryError
from pipeline.sqlfiles import identifier

_INTEGER, _FLOAT = "BIGINT", "DOUBLE"
# A type of wide numbers, in the text of a type. Names and words of it are in quotes, or a name that
# needs none stands before its type.
_WIDE = re.compile(
    r""""(?:[^"]|"")*"|'(?:[^']|'')*'|\b(?P<wide>U?HUGEINT(?! )|DECIMAL\(\d+,(?P<places>\d+)\))"""
)
_NESTED = {"list", "array", "struct", "tuple", "map"}
_NOT_IN_POLARS = {"interval", "union", "bignum", "bit", "geometry", "time with time zone"}
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_OF_DAY = {unit: 86_400 * 1_000**power for power, unit in enumerate(("s", "ms", "us", "ns"))}
DEEPEST = 32
"""Lists and structs can be nested so deep; what reads a result allows about twice as much."""


def as_polars(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The rows; HUGEINT and whole DECIMAL as Int64, or as Float64 if one value does not fit.

    DECIMAL with places after the point is Float64. The same holds within lists, structs and maps;
    there, one value that does not fit makes every number of the column that was wide a Float64.
    Raises QueryError for a column or a value that cannot be displayed.
    """
    types = dict(zip(rows.columns, rows.types, strict=True))
    for name, dtype in types.items():
        _refuse_unshowable(name, dtype)
    if not any(map(_is_wide, types.values())):
        return _fetched(rows)
    columns = [column for n, entry in enumerate(types.items()) for column in _projected(n, *entry)]
    fetched = _fetched(rows.project(", ".join(columns)))
    return pl.DataFrame([_chosen(fetched, n).alias(name) for n, name in enumerate(types)])


def _fetched(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    table = rows.to_arrow_table()
    _refuse_far_dates(table)
    return pl.DataFrame(table)


def _is_wide(dtype: DuckDBPyType) -> bool:
    """Whether polars would take the type, or one nested in it, for a decimal."""
    return any(match["wide"] for match in _WIDE.finditer(str(dtype)))


def _projected(number: int, name: str, dtype: DuckDBPyType) -> Iterator[str]:
    """The column with integers, and if it is wide with floats, and whether the integers do."""
    column = identifier(name)
    if not _is_wide(dtype):
        yield f"{column} AS whole{number}"
        return
    whole = f"TRY_CAST({column} AS {_cast(dtype, _INTEGER)})"  # null for what does not fit
    floats = f"CAST({column} AS {_cast(dtype, _FLOAT)})"
    yield f"{whole} AS whole{number}"
    yield f"{floats} AS float{number}"
    yield f"CAST({whole} AS {_cast(dtype, _FLOAT)}) IS NOT DISTINCT FROM {floats} AS fits{number}"


def _chosen(fetched: pl.DataFrame, number: int) -> pl.Series:
    fits = f"fits{number}" not in fetched.columns or fetched[f"fits{number}"].all()
    return fetched[f"whole{number}" if fits else f"float{number}"]


def _cast(dtype: DuckDBPyType, integer: str) -> str:
    """The type in SQL, with `integer` in place of whole numbers of any size."""

    def narrow(match: re.Match[str]) -> str:
        return _FLOAT if int(match["places"] or 0) else integer if match["wide"] else match[0]

    return _WIDE.sub(narrow, str(dtype))


def _refuse_unshowable(name: str, dtype: DuckDBPyType) -> None:
    """Raises QueryError for a column that polars has no type for: some make it panic."""
    nested = list(_nested(dtype))
    if max(level for _, level in nested) > DEEPEST:
        raise QueryError(
            f"the column `{name}` is nested more than {DEEPEST} levels deep, which cannot be "
            "displayed: select what is within it, or cast it to JSON or VARCHAR"
        )
    if kinds := [inner.id.upper() for inner, _ in nested if inner.id in _NOT_IN_POLARS]:
        raise QueryError(
            f"the column `{name}` has the type {kinds[0]}, which cannot be displayed: cast it, "
            "for example `CAST(.. AS VARCHAR)`"
        )


def _nested(dtype: DuckDBPyType, level: int = 1) -> Iterator[tuple[DuckDBPyType, int]]:
    """The type and those in it, each with how deep it is, at most one more than is allowed."""
    yield dtype, level
    # The name of an array type also has its size.
    for _, inner in dtype.children if dtype.id in _NESTED and level <= DEEPEST else ():
        if isinstance(inner, DuckDBPyType):
            yield from _nested(inner, level + 1)


def _refuse_far_dates(table: pa.Table) -> None:
    """Raises QueryError for a date outside of Python's years, and for a time that ends a day.

    DuckDB's dates go as far as infinity, and its times to 24:00:00, which polars takes for null.
    """
    for name, cells in zip(table.column_names, table.columns, strict=True):
        for values in (leaf for chunk in cells.chunks for leaf in _leaves(chunk)):
            if what := _beyond_python(values):
                raise QueryError(
                    f"the column `{name}` has {what}, which cannot be displayed: cast it, for "
                    "example `CAST(.. AS VARCHAR)`"
                )


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """The values themselves, or those within their lists, structs and maps."""
    if not pa.types.is_nested(values.type):
        yield values
        return
    inner = [values.keys, values.items] if pa.types.is_map(values.type) else values.flatten()
    for node in inner if isinstance(inner, list) else [inner]:
        yield from _leaves(node)


def _beyond_python(values: pa.Array) -> str | None:
    is_date, is_time = pa.types.is_date32(values.type), pa.types.is_time64(values.type)
    if not (is_date or is_time or pa.types.is_timestamp(values.type)):
        return None
    # Imported here: most results have no dates, and it takes its time.
    import pyarrow.compute as pc

    of_day = 1 if is_date else _OF_DAY[values.type.unit]
    low, high = (0, 1) if is_time else (_FIRST_DAY, _LAST_DAY + 1)
    whole = values.cast(pa.int32() if is_date else pa.int64())
    least, most = pc.min_max(whole).as_py().values()
    if least is None or (low * of_day <= least and most < high * of_day):
        return None
    return "the time 24:00:00" if is_time else "a date outside of the years 1 to 9999"
