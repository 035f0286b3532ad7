"""Rows and texts that are more than memory holds, some at a time.

A table's rows come in the order of its files, from any row on. A message's text can have megabytes:
DuckDB handles 2,048 texts at once, and holds many more to sort them. So where texts are long, it is
asked for their lengths alone, and the texts are read afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from pipeline.events.contracts import table_schema
from pipeline.lake.stored_lake import renamed

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pipeline.lake.stored_lake import StoredLake
    from pipeline.stores import Location

BATCH_ROWS = 10_000
BATCH_BYTES = 2**25
LONG_BYTES = 2**14  # in the mean of a row group
PIECE_BYTES = 2**26
_KEY = ("game_id", "message_index")
_LENGTHS = f"(SELECT {', '.join(_KEY)}, strlen(content) AS content FROM messages)"


def iter_table_rows(
    lake: "StoredLake", table: str, columns: Sequence[str], start: int = 0
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The number of a row, counted from 0, and the rows from there on, batch by batch.

    The order is the same whenever the lake is opened in this state. Rows before `start` are left
    out, and their row groups are not read. Memory is that of one column chunk of a row group.
    In a lake of one system, rows are its own, and so are their numbers.
    """
    schema = pl.Schema({name: table_schema(table)[name] for name in columns})
    system = lake.system if lake.has_rows_of_other_systems(table) else None
    names = lake.names if "model" in columns else {}
    first = 0
    for name, n_rows in sorted(lake.row_counts_by_file(table).items()):
        if first + n_rows > start:
            skipped = max(0, start - first)
            at = first + skipped
            for rows in _of_file(lake.table_folder(table) / name, schema, system, skipped):
                yield at, renamed(rows.lazy(), names).collect()
                at += rows.height
        first += n_rows


def _of_file(
    file: "Location", schema: pl.Schema, system: str | None, skipped: int
) -> Iterator[pl.DataFrame]:
    # Imported here, so that whoever reads with polars does not wait for Arrow.
    import pyarrow.parquet as pq

    read = schema.names() if system is None else [*schema, "system"]
    with file.open() as opened, pq.ParquetFile(opened) as parquet:
        for group in range(parquet.num_row_groups):
            n_rows = _n_rows(parquet, group, system)
            if n_rows <= skipped:
                skipped -= n_rows
                continue
            for batch in iter_batches(parquet, BATCH_ROWS, read, [group]):
                rows = pl.DataFrame(batch) if system is None else _own(batch, system)
                if rows.height > skipped:
                    yield rows.slice(skipped).select(schema.names()).cast(schema)
                skipped = max(0, skipped - rows.height)


def _n_rows(parquet: "pq.ParquetFile", group: int, system: str | None) -> int:
    """The rows of a row group, or those of one system, for which one column is read."""
    if system is None:
        return int(parquet.metadata.row_group(group).num_rows)
    return _own(parquet.read_row_group(group, columns=["system"]), system).height


def _own(rows: "pa.RecordBatch | pa.Table", system: str) -> pl.DataFrame:
    return pl.DataFrame(rows).filter(pl.col("system").cast(pl.String) == system)


def iter_batches(
    parquet: "pq.ParquetFile",
    rows: int,
    columns: Sequence[str] | None = None,
    groups: Iterable[int] | None = None,
) -> "Iterator[pa.RecordBatch]":
    """The rows of a file, at most so many at once, and fewer if they are long.

    A batch is of one row group, since Arrow would put long rows of many groups together.
    """
    footer = parquet.metadata
    for number in range(footer.num_row_groups) if groups is None else groups:
        group = footer.row_group(number)
        n_rows = BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
        most = max(1, min(rows, n_rows))
        yield from parquet.iter_batches(most, row_groups=[number], columns=columns)


def message_lengths_select(lake: "StoredLake") -> str:
    """What a query is to join as `messages`: its `content` has only the lengths of long texts."""
    return _LENGTHS if has_long_texts(lake) else "messages"


def has_long_texts(lake: "StoredLake") -> bool:
    """Whether the texts of a row group are so long that a query should have their lengths alone."""
    # Imported here, so that whoever reads with polars does not wait for Arrow.
    from pipeline.lake.files import text_bytes

    folder = lake.table_folder("messages")
    groups = (
        group for name in lake.file_sizes_bytes("messages") for group in text_bytes(folder / name)
    )
    return any(n_bytes > LONG_BYTES * n_rows for n_rows, n_bytes in groups)


def iter_with_texts(lake: "StoredLake", parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The result of such a query with the texts, in parts of bounded bytes; at least one."""
    for rows in parts:
        if rows.schema["content"] == pl.String:
            yield rows
            continue
        piece = rows["content"].fill_null(0).cum_sum() // PIECE_BYTES
        for _, some in rows.drop("content").group_by(piece, maintain_order=True):
            yield add_message_texts(lake, some)
        if rows.is_empty():
            yield add_message_texts(lake, rows.drop("content"))


def add_message_texts(lake: "StoredLake", rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the `content` of their messages, null where there is none."""
    # First by what a reader can skip by, since a join reads all.
    wanted = [
        pl.col(name).is_in(rows[name].unique().to_list())
        for name in ("game_type", "game_id", "message_index")
        if name in rows.columns
    ]
    spoken = lake.table("messages").filter(*wanted).select(*_KEY, "content")
    found = spoken.join(rows.lazy(), on=_KEY, how="semi").collect(engine="streaming")
    return rows.join(found, on=_KEY, how="left", maintain_order="left")
