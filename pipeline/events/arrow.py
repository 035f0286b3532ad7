"""Convert data between polars and Arrow, and define the Arrow schemas of the tables.

Only types and constructors of Arrow are used. Its compute functions, such as a cast, are in a
module that takes 20 ms to load in each process. polars loads that module to convert an Arrow array
to a Series, but not to convert a table to a frame.

Used by `pipeline.events.frames`, the ingest, the lake and the warehouse.
"""

import polars as pl
import pyarrow as pa

from pipeline.events import contracts
from pipeline.events.contracts import TABLES, table_schema

_ARROW_TYPES: dict[pl.DataType, pa.DataType] = {
    pl.String(): pa.string(),
    pl.Binary(): pa.binary(),
    pl.Boolean(): pa.bool_(),
    pl.Int32(): pa.int32(),
    pl.Int64(): pa.int64(),
    pl.Float64(): pa.float64(),
    pl.Datetime("us", "UTC"): pa.timestamp("us", "UTC"),
}


def to_arrow_array(column: pl.Series) -> pa.Array:
    """Convert a column to an Arrow array; strings and lists have 64-bit offsets.

    Args:
        column: A column of any type in the table schemas.

    Returns:
        An array of the same length.
    """
    return column.to_arrow(compat_level=pl.CompatLevel.oldest())


def to_arrow_table(rows: pl.DataFrame) -> pa.Table:
    """Convert rows to an Arrow table; strings and lists have 64-bit offsets.

    Args:
        rows: Rows whose columns have types of the table schemas.

    Returns:
        A table with the same columns and rows.
    """
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def series_from_arrow(name: str, column: pa.Array) -> pl.Series:
    """Convert an Arrow array to a polars Series with a name.

    Args:
        name: The name of the Series.
        column: The values.

    Returns:
        A Series of the same length.
    """
    return pl.DataFrame(pa.table([column], names=[name])).to_series()


def arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of an event table, with descriptions of the columns.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        The fields in the order of the table, with their types and nullability. The metadata
        `comment` of a field is the description of the column.
    """
    columns = TABLES[table].columns()
    return pa.schema(
        pa.field(
            name,
            _arrow_type(dtype),
            nullable=columns[name].nullable,
            metadata={"comment": columns[name].description},
        )
        for name, dtype in table_schema(table).items()
    )


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    if isinstance(dtype, pl.List):
        return pa.list_(pa.field("element", _arrow_type(contracts.dtype_instance(dtype.inner))))
    if isinstance(dtype, pl.Struct):
        return pa.struct(
            [
                (field.name, _arrow_type(contracts.dtype_instance(field.dtype)))
                for field in dtype.fields
            ]
        )
    return _ARROW_TYPES[dtype]
