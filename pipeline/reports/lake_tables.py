"""The list of a lake's tables with their sizes.

Used by `pipeline.lake_methods` and `pipeline.render`; depends on the Delta logs of the lake.
"""

from collections.abc import Mapping

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES, row_description
from pipeline.lake import StoredLake
from pipeline.metrics.registry import lake_method

TABLE_COLUMNS: Mapping[str, column.Column] = {
    "table": column.text_column("the table's name"),
    "row": column.text_column("what one row of the table is"),
    "n_rows": column.count_column("number of rows").with_heading("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).with_heading("size"),
    "n_files": column.count_column("number of these files").with_heading("files"),
}


@lake_method
@column.add_columns_to_docstring(TABLE_COLUMNS)
def tables(lake: StoredLake) -> pl.DataFrame:
    """Return one row for each table of the lake, with its numbers of rows, bytes and files.

    >>> lake.tables().filter(table="votes")["n_rows"].item()
    192
    """
    file_sizes_by_table = {table: lake.file_sizes_bytes(table) for table in TABLES}
    return pl.DataFrame(
        {
            "table": table,
            "row": row_description(table).rstrip("."),
            "n_rows": sum(lake.row_counts_by_file(table).values()),
            "n_bytes": sum(file_sizes.values()),
            "n_files": len(file_sizes),
        }
        for table, file_sizes in file_sizes_by_table.items()
    )
