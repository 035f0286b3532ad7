"""What is in a lake: its tables, with their sizes."""

from collections.abc import Mapping

import polars as pl

from pipeline import column
from pipeline.column import Column, listed
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import StoredLake

COLUMNS: Mapping[str, Column] = {
    "table": column.text("the table's name"),
    "row": column.text("what a row of it is"),
    "n_rows": column.count("its rows").shown("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).shown("size"),
    "n_files": column.count("the number of these files").shown("files"),
}


@listed(COLUMNS)
def tables(lake: StoredLake) -> pl.DataFrame:
    """A row for each table of the lake, as its Delta log says.

    >>> lake.tables().filter(table="votes")["n_rows"].item()
    192
    """
    rows = []
    for table in TABLES:
        counts, sizes = lake.counts(table), lake.sizes(table)
        rows.append(
            {
                "table": table,
                "row": row_meaning(table).rstrip("."),
                "n_rows": sum(counts.values()),
                "n_bytes": sum(sizes.values()),
                "n_files": len(sizes),
            }
        )
    return pl.DataFrame(rows)
