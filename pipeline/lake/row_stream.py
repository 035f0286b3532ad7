"""Batches of rows and message texts of a lake that do not fit into memory at once.

Rows are read in the order of the table's files, starting at any row. A message text can have
megabytes, and DuckDB processes 2,048 texts at once (more when it sorts). If texts are long, queries
therefore use only their lengths, and the texts are read afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from pipeline.events.contracts import table_schema
from pipeline.lake.stored_lake import replace_model_names

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pipeline.lake.stored_lake import StoredLake
    from pipeline.stores import Location

BATCH_ROWS = 10_000
BATCH_BYTES = 2**25
LONG_TEXT_BYTES = 2**14  # mean bytes of a text in a row group
PART_TEXT_BYTES = 2**26
_MESSAGE_KEY_COLUMNS = ("game_id", "message_index")
_MESSAGE_LENGTHS_SQL = (
    f"(SELECT {', '.join(_MESSAGE_KEY_COLUMNS)}, strlen(content) AS content FROM messages)"
)


def iter_table_rows(
    lake: "StoredLake", table: str, columns: Sequence[str], start: int = 0
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Iterate over the rows of a table in batches, each with the 0-based number of its first row.

    The order is the same whenever the lake is opened in this state. Memory use is bounded by one
    column chunk of a row group. If the lake is opened for one system, only the rows of that system
    are returned.

    Args:
        lake: The lake to read.
        table: Name of the event table.
        columns: Names of the columns to return.
        start: Number of the first row to return; row groups before it are skipped.

    Yields:
        The number of the first row, and a batch of rows with `columns`.
    """
    schema = pl.Schema({name: table_schema(table)[name] for name in columns})
    system = lake.system if lake.has_rows_of_other_systems(table) else None
    names = lake.names if "model" in columns else {}
    first = 0
    for name, n_rows in sorted(lake.row_counts_by_file(table).items()):
        if first + n_rows > start:
            skipped = max(0, start - first)
            row_number = first + skipped
            for rows in _iter_rows_of_file_after(
                lake.table_folder(table) / name, schema, system, skipped
            ):
                yield row_number, replace_model_names(rows.lazy(), names).collect()
                row_number += rows.height
        first += n_rows


def _iter_rows_of_file_after(
    file: "Location", schema: pl.Schema, system: str | None, skipped: int
) -> Iterator[pl.DataFrame]:
    """Iterate over the rows of one Parquet file, without the first `skipped` rows."""
    # Imported here, because importing Arrow is slow and readers with polars do not need it.
    import pyarrow.parquet as pq

    read_columns = schema.names() if system is None else [*schema, "system"]
    with file.open() as stream, pq.ParquetFile(stream) as parquet:
        for group in range(parquet.num_row_groups):
            n_rows = _count_rows_of_system_in_row_group(parquet, group, system)
            if n_rows <= skipped:
                skipped -= n_rows
                continue
            for batch in iter_batches(parquet, BATCH_ROWS, read_columns, [group]):
                rows = (
                    pl.DataFrame(batch) if system is None else _filter_rows_of_system(batch, system)
                )
                if rows.height > skipped:
                    yield rows.slice(skipped).select(schema.names()).cast(schema)
                skipped = max(0, skipped - rows.height)


def _count_rows_of_system_in_row_group(
    parquet: "pq.ParquetFile", group: int, system: str | None
) -> int:
    """Count the rows of a row group, or only the rows of `system`, unless it is None."""
    if system is None:
        return int(parquet.metadata.row_group(group).num_rows)
    return _filter_rows_of_system(parquet.read_row_group(group, columns=["system"]), system).height


def _filter_rows_of_system(rows: "pa.RecordBatch | pa.Table", system: str) -> pl.DataFrame:
    return pl.DataFrame(rows).filter(pl.col("system").cast(pl.String) == system)


def iter_batches(
    parquet: "pq.ParquetFile",
    rows: int,
    columns: Sequence[str] | None = None,
    groups: Iterable[int] | None = None,
) -> "Iterator[pa.RecordBatch]":
    """Iterate over a Parquet file in batches of at most `rows` rows, or fewer if rows are long.

    Each batch belongs to one row group, because Arrow would combine long rows of several groups.

    Args:
        parquet: The open Parquet file.
        rows: Maximum number of rows of a batch.
        columns: Names of the columns to read; all columns if None.
        groups: Indices of the row groups to read; all row groups if None.

    Yields:
        Record batches in the order of the row groups.
    """
    footer = parquet.metadata
    for number in range(footer.num_row_groups) if groups is None else groups:
        group = footer.row_group(number)
        n_rows = BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
        max_rows = max(1, min(rows, n_rows))
        yield from parquet.iter_batches(max_rows, row_groups=[number], columns=columns)


def message_lengths_select(lake: "StoredLake") -> str:
    """Return the SQL relation to use as `messages`.

    If texts are long, its column `content` has their lengths in bytes in place of the texts.
    """
    return _MESSAGE_LENGTHS_SQL if has_long_texts(lake) else "messages"


def has_long_texts(lake: "StoredLake") -> bool:
    """Return whether messages are longer than `LONG_TEXT_BYTES` on average in any row group."""
    # Imported here, because importing Arrow is slow and readers with polars do not need it.
    from pipeline.lake.files import row_counts_and_text_bytes_by_group

    folder = lake.table_folder("messages")
    groups = (
        group
        for name in lake.file_sizes_bytes("messages")
        for group in row_counts_and_text_bytes_by_group(folder / name)
    )
    return any(n_bytes > LONG_TEXT_BYTES * n_rows for n_rows, n_bytes in groups)


def iter_with_texts(lake: "StoredLake", parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Iterate over query results, with message texts in place of their lengths.

    The parts have a bounded number of bytes of text.
    """
    for rows in parts:
        if rows.schema["content"] == pl.String:
            yield rows
            continue
        piece_numbers = rows["content"].fill_null(0).cum_sum() // PART_TEXT_BYTES
        for _, piece in rows.drop("content").group_by(piece_numbers, maintain_order=True):
            yield add_message_texts(lake, piece)
        if rows.is_empty():
            yield add_message_texts(lake, rows.drop("content"))


def add_message_texts(lake: "StoredLake", rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column `content` with the text of each row's message; null if there is no message."""
    # Filter first, because a reader can skip row groups by a filter, but a join reads all rows.
    key_filters = [
        pl.col(name).is_in(rows[name].unique().to_list())
        for name in ("game_type", "game_id", "message_index")
        if name in rows.columns
    ]
    messages = lake.table("messages").filter(*key_filters).select(*_MESSAGE_KEY_COLUMNS, "content")
    texts = messages.join(rows.lazy(), on=_MESSAGE_KEY_COLUMNS, how="semi").collect(
        engine="streaming"
    )
    return rows.join(texts, on=_MESSAGE_KEY_COLUMNS, how="left", maintain_order="left")
