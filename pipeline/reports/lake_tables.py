"""What is in a lake: its tables, with their sizes."""

from collections.abc import Mapping

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES, row_description
from pipeline.lake import StoredLake
from pipeline.metrics.registry import lake_method

TABLE_COLUMNS: Mapping[str, column.Column] = {
    "table": column.text_column("the table's name"),
    "row": column.text_column("what a row of it is"),
    "n_rows": column.count_column("its rows").with_heading("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).with_heading("size"),
    "n_files": column.count_column("the number of these files").with_heading("files"),
}


@lake_method
@column.document_columns(TABLE_COLUMNS)
def tables(lake: StoredLake) -> pl.DataFrame:
    """A row for each table of the lake, as its Delta log says.

    >>> lake.tables().filter(table="votes")["n_rows"].item()
    192
    """
    sizes = {table: lake.file_sizes_bytes(table) for table in TABLES}
    return pl.DataFrame(
        {
            "table": table,
            "row": row_description(table).rstrip("."),
            "n_rows": sum(lake.row_counts_by_file(table).values()),
            "n_bytes": sum(of_files.values()),
            "n_files": len(of_files),
        }
        for table, of_files in sizes.items()
    )
