"""Parquet files of a table: written a batch at a time, part of it only once committed."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction
from msgspec import Struct

from pipeline.events import arrow
from pipeline.events.arrow import arrow_schema
from pipeline.lake.tables import COMMITS_TABLE, SUFFIX, final_file_name
from pipeline.stores import Location, parse_location

MAX_FILE_BYTES = 256 * 2**20
# To take out one game, the files are written anew that hold it; narrow rows take two bytes each.
MAX_FILE_ROWS = 2**22
MAX_GROUP_ROWS = 2**17
# In memory: whoever reads holds at least a row group in each thread, whatever its limit.
MAX_GROUP_BYTES = 2**26
# Each row group has a Bloom filter of its games, so that one game is found without reading all.
# This share of the groups that do not have a game is read all the same.
_FALSE_POSITIVES = 0.01
# Measured on 300,000 messages: a higher level takes longer by a tenth, and saves a hundredth.
COMPRESSION_LEVEL = 1
MAX_STATISTIC_LENGTH = 64
# Long texts, hardly two the same: a dictionary or a range of them is of no use.
TEXTS = ("content", "text", "share_text", "raw")
_FORMS = (pa.types.is_dictionary, pa.types.is_large_string, pa.types.is_large_list)

NEW, SORTED = "part", "sorted"


class DataFile(Struct, frozen=True):
    """A Parquet file of a table, with the values that the Delta log stores about it."""

    name: str
    n_bytes: int
    n_rows: int
    stats: str

    def add_action(self) -> AddAction:
        """Return the Delta action that adds the file to its table."""
        now = int(time.time() * 1000)
        return AddAction(self.name, self.n_bytes, {}, now, data_change=True, stats=self.stats)


def remove_action(name: str) -> RemoveAction:
    """Return the Delta action that removes a file.

    The file itself stays for readers of older states.
    """
    return RemoveAction(name, data_change=True, deletion_timestamp=int(time.time() * 1000))


class TableWriter:
    """A writer of one table's rows; it starts a new file when the current file is full.

    The files' names begin with `kind`, as those that a writer can no longer tell of are known by.
    """

    def __init__(self, folder: str | Path | Location, table: str, kind: str = NEW) -> None:
        self._folder = parse_location(folder)
        self._kind = kind
        # A row of `ingests` is a file of its own: what helps to find rows would be most of it.
        self._is_searched = table != COMMITS_TABLE
        self._schema = arrow_schema(table)
        self._file: _OpenFile | None = None
        self.files: list[DataFile] = []

    def write(self, rows: pl.DataFrame | pa.Table) -> None:
        """Write the rows as one row group, or as several if they are many or long.

        An Arrow table may hold texts dictionary-encoded, which are written as they are; whoever
        reads the file gets the types of the contract.
        """
        if isinstance(rows, pl.DataFrame):
            names = self._schema.names
            rows = arrow.to_arrow_table(rows.select(names))
        if rows.num_rows == 0:
            return
        n_games = _max_games_in_group(rows)
        if self._file is not None and n_games > 2 * self._file.n_games:
            self.close()  # its Bloom filters would be too small to deny a game
        if self._file is None:
            written = _schema_with_given_encodings(self._schema, rows.schema)
            self._file = _OpenFile(
                self._folder, self._kind, written, n_games, is_searched=self._is_searched
            )
        self._file.write(rows)
        if self._file.n_bytes > MAX_FILE_BYTES or self._file.n_rows > MAX_FILE_ROWS:
            self.close()

    def close(self) -> None:
        """Finish the current file; after that, `files` is complete."""
        if self._file is not None:
            self.files.append(self._file.close())
            self._file = None

    @contextmanager
    def complete_or_delete(self) -> Iterator[Self]:
        """Finish the last file, or delete all files if an error occurs."""
        try:
            yield self
            self.close()
        except BaseException:
            self.delete_files()
            raise

    def delete_files(self) -> None:
        """Delete all files that this writer wrote."""
        if self._file is not None:
            self._file.delete_file()
            self._file = None
        for file in self.files:
            (self._folder / file.name).delete_file(missing_ok=True)
        self.files = []


class _OpenFile:
    def __init__(
        self, folder: Location, kind: str, schema: pa.Schema, n_games: int, *, is_searched: bool
    ) -> None:
        self._begun = f"{kind}-{uuid.uuid4()}{SUFFIX}"
        self._draft = folder.create_draft(self._begun)
        self.n_rows = 0
        self.n_games = n_games
        self._schema = schema
        self._footers: list[pq.FileMetaData] = []
        paths = (path for field in schema for path in _leaf_paths(field.name, field.type))
        leaves = [path for path in paths if is_searched and path not in TEXTS]
        self._writer = pq.ParquetWriter(
            self._draft.path,
            schema,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            use_dictionary=leaves,
            write_statistics=leaves,
            write_page_checksum=True,  # `magic verify` finds a changed byte by it
            store_schema=False,  # or readers would take from it what was encoded in memory
            metadata_collector=self._footers,
            bloom_filter_options={
                "game_id": {"ndv": n_games, "fpp": _FALSE_POSITIVES},
            }
            if n_games
            else None,
        )

    @property
    def n_bytes(self) -> int:
        return self._draft.path.stat().st_size

    def write(self, rows: pa.Table) -> None:
        columns = [_cast_column(rows.column(field.name), field.type) for field in self._schema]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        for start in range(0, table.num_rows, MAX_GROUP_ROWS):
            for group in _split_by_size(table.slice(start, MAX_GROUP_ROWS)):
                self._writer.write_table(group)
        self.n_rows += table.num_rows

    def close(self) -> DataFile:
        self._writer.close()
        n_bytes = self.n_bytes
        name = final_file_name(self._begun, self._draft.path)
        self._draft.finish(name)
        return DataFile(name, n_bytes, self.n_rows, delta_statistics(self._footers[0]))

    def delete_file(self) -> None:
        self._writer.is_open = False  # or it would end the file when it is collected, and complain
        self._draft.path.unlink(missing_ok=True)


def staged_file_prefix(token: str) -> str:
    """Return the prefix of the names of files that are not committed yet."""
    return f"{NEW}-{token}"


def delete_staged_files(folder: Location, token: str) -> None:
    """Delete the files of a table that were written with a token."""
    for file in folder.list_files():
        if file.name.startswith(staged_file_prefix(token)):
            (folder / file.name).delete_file(missing_ok=True)


def _split_by_size(rows: pa.Table) -> Iterator[pa.Table]:
    """Split rows into parts of at most `MAX_GROUP_BYTES`, or of one row if a row is longer."""
    # What a dictionary has is counted whole for each part, and is short.
    n_bytes = sum(c.nbytes for c in rows.columns if not pa.types.is_dictionary(c.type))
    half = rows.num_rows // 2
    if not half or n_bytes <= MAX_GROUP_BYTES:
        yield rows
        return
    yield from _split_by_size(rows.slice(0, half))
    yield from _split_by_size(rows.slice(half))


def text_bytes(file: Location) -> list[tuple[int, int]]:
    """Return the number of rows of each row group of a file, and the bytes of its long strings."""
    with file.open() as opened:
        footer = pq.read_metadata(opened)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    columns = [n for n, name in enumerate(footer.schema.names) if name in TEXTS]
    return [
        (group.num_rows, sum(group.column(n).total_uncompressed_size for n in columns))
        for group in groups
    ]


def _max_games_in_group(rows: pa.Table) -> int:
    """Return the largest possible number of games in a row group; 0 for tables without games."""
    if "game_id" not in rows.schema.names:
        return 0
    ids = rows.slice(0, MAX_GROUP_ROWS).column("game_id")
    is_encoded = pa.types.is_dictionary(ids.type)
    parts = [part.indices if is_encoded else part for part in ids.chunks]
    return sum(arrow.series_from_arrow("game_id", part).n_unique() for part in parts)


def _schema_with_given_encodings(contract: pa.Schema, given: pa.Schema) -> pa.Schema:
    """Return the contract's schema, with strings and lists encoded as in the given schema.

    Dictionary-encoded or with large offsets, they are the same in a file.
    """
    for number, field in enumerate(contract):
        form = given.field(field.name).type
        if any(is_form(form) for is_form in _FORMS):
            contract = contract.set(number, field.with_type(form))
    return contract


def _cast_column(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to a type; an encoded column gets a single dictionary."""
    if column.type == wanted:
        return column.unify_dictionaries()
    if not pa.types.is_dictionary(wanted):
        return column.cast(wanted)
    if not pa.types.is_dictionary(column.type):
        return column.cast(wanted.value_type).dictionary_encode()
    parts = [
        pa.DictionaryArray.from_arrays(
            part.indices.cast(wanted.index_type), part.dictionary.cast(wanted.value_type)
        )
        for part in column.chunks
    ]
    return pa.chunked_array(parts, wanted).unify_dictionaries()


def _leaf_paths(path: str, dtype: pa.DataType) -> list[str]:
    """Return the paths of a column as Parquet has them: a list's elements are within it."""
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return _leaf_paths(f"{path}.list.element", dtype.value_type)
    if pa.types.is_struct(dtype):
        return [leaf for field in dtype for leaf in _leaf_paths(f"{path}.{field.name}", field.type)]
    return [path]


def delta_statistics(footer: pq.FileMetaData) -> str:
    """Return a file's statistics as Delta's JSON.

    They are the row count, and the ranges of short columns without nulls.
    """
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    low: dict[str, object] = {}
    high: dict[str, object] = {}
    nulls: dict[str, int] = {}
    for number in range(footer.num_columns):
        columns = [group.column(number).statistics for group in groups]
        name = footer.schema.column(number).path
        if "." in name or any(c is None or not c.has_null_count for c in columns):
            continue
        nulls[name] = sum(c.null_count for c in columns)
        ranges = [_column_range(column) for column in columns]
        if all(ranges):
            low[name] = min(least for least, _ in filter(None, ranges))
            high[name] = max(most for _, most in filter(None, ranges))
    return json.dumps(
        {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    )


def _column_range(column: pq.Statistics) -> tuple[Any, Any] | None:
    """Return the minimum and maximum of a column of integers or short strings, or None."""
    # In raw form: `min` makes an Arrow scalar, for which pandas is imported where there is one.
    if not column.has_min_max:
        return None
    least, most = column.min_raw, column.max_raw
    if column.logical_type.type == "STRING":
        least, most = least.decode(), most.decode()
        return (least, most) if max(len(least), len(most)) <= MAX_STATISTIC_LENGTH else None
    is_number = column.logical_type.type in ("NONE", "INT") and type(least) is int
    return (least, most) if is_number else None
