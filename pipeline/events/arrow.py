"""The contracts' types, and columns of polars, as Arrow has them, by what both have built in.

Arrow's own functions, such as a cast, are in a module that takes a process 20 ms to load; polars
loads it for a Series of an Arrow array, and not for a frame.
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
    """The column as an Arrow array; texts and lists have large offsets."""
    return column.to_arrow(compat_level=pl.CompatLevel.oldest())


def to_arrow_table(rows: pl.DataFrame) -> pa.Table:
    """The rows as an Arrow table, the same way."""
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def series_from_arrow(name: str, column: pa.Array) -> pl.Series:
    """The Arrow array as a column of this name."""
    return pl.DataFrame(pa.table([column], names=[name])).to_series()


def arrow_schema(table: str) -> pa.Schema:
    """The table's Arrow schema: names, types, nullability, and each column's comment."""
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
            [(f.name, _arrow_type(contracts.dtype_instance(f.dtype))) for f in dtype.fields]
        )
    return _ARROW_TYPES[dtype]
