"""The rows of a table in the order of its files, some at a time, from any row on."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from pipeline.events.contracts import polars_schema

if TYPE_CHECKING:
    from pipeline.lake.lake import StoredLake
    from pipeline.stores import Location

BATCH_ROWS = 10_000


def stream(
    lake: "StoredLake", table: str, columns: Sequence[str], start: int = 0
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The number of a row, counted from 0, and the rows from there on, batch by batch.

    The order is the same whenever the lake is opened in this state. Rows before `start` are left
    out, and their row groups are not read. Memory is that of one column chunk of a row group.
    """
    first = 0
    for name, n_rows in sorted(lake.counts(table).items()):
        if first + n_rows > start:
            yield from _of_file(lake.folder(table) / name, table, columns, first, start)
        first += n_rows


def _of_file(
    file: "Location", table: str, columns: Sequence[str], first: int, start: int
) -> Iterator[tuple[int, pl.DataFrame]]:
    # Imported here, so that whoever reads with polars does not wait for Arrow.
    import pyarrow.parquet as pq

    schema = pl.Schema({name: polars_schema(table)[name] for name in columns})
    with file.open() as opened, pq.ParquetFile(opened) as parquet:
        for group in range(parquet.num_row_groups):
            n_rows = parquet.metadata.row_group(group).num_rows
            if first + n_rows <= start:
                first += n_rows
                continue
            for batch in parquet.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns):
                if first + batch.num_rows > start:
                    rows = pl.DataFrame(batch).select(columns).cast(schema)
                    skipped = max(0, start - first)
                    yield first + skipped, rows.slice(skipped)
                first += batch.num_rows
