"""What is in a lake: its tables, with their sizes."""

import polars as pl

from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import StoredLake


def tables(lake: StoredLake) -> pl.DataFrame:
    """A row for each table of the lake, as its Delta log says.

    Columns:

    - `table`: its name.
    - `row`: what a row of it is.
    - `n_rows`, `n_bytes`, `n_files`: its rows, the size of its Parquet files in bytes, and
      their number.

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
