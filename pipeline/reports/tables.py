"""What is in a lake: its tables, with their sizes."""

from collections.abc import Mapping

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import StoredLake
from pipeline.metrics.known import of_lake

COLUMNS: Mapping[str, column.Column] = {
    "table": column.text("the table's name"),
    "row": column.text("what a row of it is"),
    "n_rows": column.count("its rows").shown("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).shown("size"),
    "n_files": column.count("the number of these files").shown("files"),
}


@of_lake
@column.listed(COLUMNS)
def tables(lake: StoredLake) -> pl.DataFrame:
    """A row for each table of the lake, as its Delta log says.

    >>> lake.tables().filter(table="votes")["n_rows"].item()
    192
    """
    sizes = {table: lake.sizes(table) for table in TABLES}
    return pl.DataFrame(
        {
            "table": table,
            "row": row_meaning(table).rstrip("."),
            "n_rows": sum(lake.counts(table).values()),
            "n_bytes": sum(of_files.values()),
            "n_files": len(of_files),
        }
        for table, of_files in sizes.items()
    )
