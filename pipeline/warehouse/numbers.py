"""DuckDB's wide numbers as Int64 and Float64.

A sum of integers is a HUGEINT in DuckDB, and `0.5` is a DECIMAL. Polars takes both for decimals, in
which one sum divided by another is rounded to as many places as they have: 71 / 80 is 1.
"""

from collections.abc import Callable, Iterator

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from pipeline.sqlfiles import identifier

_INTEGER, _FLOAT = "BIGINT", "DOUBLE"
NESTED = {"list", "array", "struct", "tuple", "map"}


def as_polars(rows: duckdb.DuckDBPyRelation, check: Callable[[pa.Table], None]) -> pl.DataFrame:
    """The rows; HUGEINT and whole DECIMAL as Int64, or as Float64 if one value does not fit.

    DECIMAL with places after the point is Float64. The same holds within lists, structs and maps;
    there, one value that does not fit makes every number of the column that was wide a Float64.
    `check` can refuse the values before polars has them.
    """
    types = dict(zip(rows.columns, rows.types, strict=True))
    if not any(map(is_wide, types.values())):
        return _fetched(rows, check)
    columns = [column for n, entry in enumerate(types.items()) for column in _projected(n, *entry)]
    fetched = _fetched(rows.project(", ".join(columns)), check)
    return pl.DataFrame([_chosen(fetched, n).alias(name) for n, name in enumerate(types)])


def _fetched(rows: duckdb.DuckDBPyRelation, check: Callable[[pa.Table], None]) -> pl.DataFrame:
    table = rows.to_arrow_table()
    check(table)
    return pl.DataFrame(table)


def is_wide(dtype: DuckDBPyType) -> bool:
    """Whether polars would take the type, or one nested in it, for a decimal."""
    if dtype.id in NESTED:
        return any(is_wide(child) for _, child in dtype.children if isinstance(child, DuckDBPyType))
    return dtype.id in ("hugeint", "uhugeint", "decimal")


def _projected(number: int, name: str, dtype: DuckDBPyType) -> Iterator[str]:
    """The column with integers, and if it is wide with floats, and whether the integers do."""
    column = identifier(name)
    if not is_wide(dtype):
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
    if dtype.id in ("hugeint", "uhugeint"):
        return integer
    if dtype.id == "decimal":
        return _FLOAT if dict(dtype.children)["scale"] else integer
    if dtype.id not in NESTED:
        return str(dtype)
    inner = [
        (name, _cast(child, integer))
        for name, child in dtype.children
        if isinstance(child, DuckDBPyType)
    ]
    match dtype.id:
        case "list":
            return f"{inner[0][1]}[]"
        case "array":
            return f"{inner[0][1]}[{dict(dtype.children)['size']}]"
        case "map" | "tuple":
            return f"{dtype.id.upper()}({', '.join(cast for _, cast in inner)})"
        case _:
            fields = (f"{identifier(name)} {cast}" for name, cast in inner)
            return f"STRUCT({', '.join(fields)})"
