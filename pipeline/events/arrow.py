"""Columns of polars as Arrow's and back, by what both have built in.

Arrow's own functions, such as a cast, are in a module that takes a process 20 ms to load; polars
loads it for a Series of an Arrow array, and not for a frame.
"""

import polars as pl
import pyarrow as pa


def array(column: pl.Series) -> pa.Array:
    """The column as an Arrow array; texts and lists have large offsets."""
    return column.to_arrow(compat_level=pl.CompatLevel.oldest())


def table(rows: pl.DataFrame) -> pa.Table:
    """The rows as an Arrow table, the same way."""
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def series(name: str, column: pa.Array) -> pl.Series:
    """The Arrow array as a column of this name."""
    return pl.DataFrame(pa.table([column], names=[name])).to_series()
