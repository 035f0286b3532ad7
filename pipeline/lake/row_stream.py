"""Batches of rows and message texts of a lake that do not fit into memory at once.

Rows are read in the order of the table's files, starting at any row. A message text can have
megabytes, and DuckDB processes 2,048 texts at once (more when it sorts). If texts are long, queries
therefore use only their lengths, and the texts are read afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

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


def iter_table_batches_with_row_numbers(
    lake: "StoredLake", table: str, columns: Sequence[str], first_row: int = 0
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield batches of a table's rows, each with the row number at which it starts.

    The order is the same whenever the lake is opened in this state. Memory use is bounded by one
    column chunk of a row group. Rows outside of the lake's view are neither returned nor counted.

    Args:
        lake: The lake to read.
        table: Name of the event table.
        columns: Names of the columns to return.
        first_row: Row number, counted from 0, of the first row to return; earlier row groups are
            skipped.

    Yields:
        A pair (row number of the batch's first row, batch with `columns`).
    """
    schema = pl.Schema({name: table_schema(table)[name] for name in columns})
    row_filter = lake.row_filter(table)
    predicate: pl.Expr | None = None
    if row_filter and row_filter.is_on_games:
        game_ids = lake.table("games").select("game_id").collect()["game_id"]
        predicate = pl.col("game_id").is_in(game_ids.implode())
    elif row_filter:
        predicate = pl.sql_expr(row_filter.condition)
    names = lake.names if "model" in columns else {}
    file_start = 0
    for name, n_rows in sorted(lake.row_counts_by_file(table).items()):
        if file_start + n_rows > first_row:
            n_skipped = max(0, first_row - file_start)
            row_number = file_start + n_skipped
            file = lake.table_folder(table) / name
            for rows in _iter_file_batches(file, schema, predicate, n_skipped):
                yield row_number, replace_model_names(rows.lazy(), names).collect()
                row_number += rows.height
        file_start += n_rows


def _iter_file_batches(
    file: "Location", schema: pl.Schema, predicate: pl.Expr | None, n_skipped_rows: int
) -> Iterator[pl.DataFrame]:
    """Yield batches of a Parquet file's rows, without the first `n_skipped_rows` rows.

    Rows that do not meet `predicate` are neither returned nor counted.
    """
    # Imported here, because importing Arrow is slow and readers with polars do not need it.
    import pyarrow.parquet as pq

    filter_columns = [] if predicate is None else predicate.meta.root_names()
    columns = {*schema, *filter_columns}
    with file.open() as stream, pq.ParquetFile(stream) as parquet:
        for group in range(parquet.num_row_groups):
            n_rows = (
                int(parquet.metadata.row_group(group).num_rows)
                if predicate is None
                else _filter_rows(parquet.read_row_group(group, filter_columns), predicate).height
            )
            if n_rows <= n_skipped_rows:
                n_skipped_rows -= n_rows
                continue
            for batch in iter_parquet_batches(parquet, BATCH_ROWS, [*columns], [group]):
                rows = pl.DataFrame(batch) if predicate is None else _filter_rows(batch, predicate)
                if rows.height > n_skipped_rows:
                    yield rows.slice(n_skipped_rows).select(schema.names()).cast(schema)
                n_skipped_rows = max(0, n_skipped_rows - rows.height)


def _filter_rows(rows: "pa.RecordBatch | pa.Table", predicate: pl.Expr) -> pl.DataFrame:
    # Dictionary-encoded columns of Arrow become categories, which SQL does not compare with texts.
    texts = pl.DataFrame(rows).with_columns(cs.categorical().cast(pl.String))
    return texts.filter(predicate)


def iter_parquet_batches(
    parquet: "pq.ParquetFile",
    max_rows: int,
    columns: Sequence[str] | None = None,
    row_groups: Iterable[int] | None = None,
) -> "Iterator[pa.RecordBatch]":
    """Yield batches of a Parquet file's rows, with fewer rows if the rows are long.

    Each batch belongs to one row group, because Arrow would combine long rows of several groups.

    Args:
        parquet: The open Parquet file.
        max_rows: Maximum number of rows of a batch.
        columns: Names of the columns to read; all columns if None.
        row_groups: Indices of the row groups to read; all row groups if None.

    Yields:
        Record batches in the order of the row groups.
    """
    footer = parquet.metadata
    for number in range(footer.num_row_groups) if row_groups is None else row_groups:
        group = footer.row_group(number)
        n_rows = BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
        batch_rows = max(1, min(max_rows, n_rows))
        yield from parquet.iter_batches(batch_rows, row_groups=[number], columns=columns)


def messages_or_lengths_relation(lake: "StoredLake") -> str:
    """Return what to select FROM: `messages`, or a subquery with text lengths if texts are long.

    The subquery's column `content` has the length of each text in bytes in place of the text.
    """
    key = ", ".join(_MESSAGE_KEY_COLUMNS)
    subquery = f"(SELECT {key}, strlen(content) AS content FROM messages)"
    return subquery if has_long_message_texts(lake) else "messages"


def has_long_message_texts(lake: "StoredLake") -> bool:
    """Return whether the lake's messages are long: more than `LONG_TEXT_BYTES` bytes on average.

    The average is computed for each row group, and one row group with long texts is enough.
    """
    # Imported here, because importing Arrow is slow and readers with polars do not need it.
    from pipeline.lake.files import row_counts_and_text_bytes_by_group

    folder = lake.table_folder("messages")
    groups = (
        group
        for name in lake.file_sizes_bytes("messages")
        for group in row_counts_and_text_bytes_by_group(folder / name)
    )
    return any(n_bytes > LONG_TEXT_BYTES * n_rows for n_rows, n_bytes in groups)


def iter_with_message_texts(
    lake: "StoredLake", frames: Iterable[pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yield frames in which the lengths in `content` are replaced by the texts of the messages.

    Frames that already have texts are yielded unchanged.

    Args:
        lake: The lake with the messages.
        frames: Rows with the columns `game_id`, `message_index` and `content`.

    Yields:
        Frames with the same rows in total, each with about `PART_TEXT_BYTES` bytes of text.
    """
    for rows in frames:
        if rows.schema["content"] == pl.String:
            yield rows
            continue
        part_numbers = rows["content"].fill_null(0).cum_sum() // PART_TEXT_BYTES
        for _, part in rows.drop("content").group_by(part_numbers, maintain_order=True):
            yield add_message_texts(lake, part)
        if rows.is_empty():
            yield add_message_texts(lake, rows.drop("content"))


def add_message_texts(lake: "StoredLake", rows: pl.DataFrame) -> pl.DataFrame:
    """Add a column `content` with the text of the message that each row refers to.

    Args:
        lake: The lake with the messages.
        rows: Rows with the columns `game_id` and `message_index`.

    Returns:
        The rows with `content`, which is null if there is no such message.
    """
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
