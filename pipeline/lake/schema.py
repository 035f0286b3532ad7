"""The contracts' types as Arrow has them, which is what Delta and Parquet are given."""

import polars as pl
import pyarrow as pa
from polars.datatypes import DataTypeClass

from pipeline.events.contracts import TABLES, polars_schema

_TYPES: dict[pl.DataType, pa.DataType] = {
    pl.String(): pa.string(),
    pl.Binary(): pa.binary(),
    pl.Boolean(): pa.bool_(),
    pl.Int32(): pa.int32(),
    pl.Int64(): pa.int64(),
    pl.Float64(): pa.float64(),
    pl.Datetime("us", "UTC"): pa.timestamp("us", "UTC"),
}


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
        for name, dtype in polars_schema(table).items()
    )


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    if isinstance(dtype, pl.List):
        return pa.list_(pa.field("element", _arrow_type(_instance(dtype.inner))))
    if isinstance(dtype, pl.Struct):
        return pa.struct([(f.name, _arrow_type(_instance(f.dtype))) for f in dtype.fields])
    return _TYPES[dtype]


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()
