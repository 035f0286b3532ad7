"""Write the Parquet files of a lake's tables.

Ingest, transactions and `magic maintain` write batches of rows with `TableWriter`. A written file
belongs to its table only after a transaction has committed it.
"""

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
from pipeline.lake.tables import COMMITS_TABLE, SUFFIX, file_name_with_hash
from pipeline.stores import Location, parse_location

MAX_FILE_BYTES = 256 * 2**20
# Removing a game rewrites the files that contain it. Narrow rows take only two bytes, so a limit in
# bytes alone would allow very many rows.
MAX_FILE_ROWS = 2**22
MAX_GROUP_ROWS = 2**17
# The size in memory, because each thread of a reader holds at least one whole row group.
MAX_GROUP_BYTES = 2**26
# Each row group has a Bloom filter of its game ids, so that readers skip groups without a game.
# This share of the groups without the game is read nevertheless.
_FALSE_POSITIVE_SHARE = 0.01
# On 300,000 messages, a higher level took 10 % longer and made the files only 1 % smaller.
COMPRESSION_LEVEL = 1
MAX_STATISTIC_CHARACTERS = 64
# Columns of long texts that rarely repeat, so that dictionaries and ranges would be useless.
TEXTS = ("content", "text", "share_text", "raw")
_ENCODED_TYPES = (pa.types.is_dictionary, pa.types.is_large_string, pa.types.is_large_list)

NEW_FILE_PREFIX, SORTED_FILE_PREFIX = "part", "sorted"


class DataFile(Struct, frozen=True):
    """A Parquet file of a table, with the values that the Delta log stores about it.

    Attributes:
        name: The file's name in the folder of its table.
        n_bytes: Size of the file.
        n_rows: Number of rows.
        stats: The statistics in the JSON format of Delta's log.
    """

    name: str
    n_bytes: int
    n_rows: int
    stats: str

    def delta_add_action(self) -> AddAction:
        """Return the entry of a Delta commit that adds the file to its table."""
        return AddAction(
            self.name,
            self.n_bytes,
            partition_values={},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=self.stats,
        )


def delta_remove_action(file_name: str) -> RemoveAction:
    """Return the entry of a Delta commit that removes a file from its table.

    The file stays on disk, because older states of the table need it.
    """
    return RemoveAction(file_name, data_change=True, deletion_timestamp=int(time.time() * 1000))


class TableWriter:
    """Writer that writes rows of a table to Parquet files of limited size.

    Attributes:
        files: The finished files, in the order of their rows.
    """

    def __init__(
        self, table_folder: str | Path | Location, table: str, name_prefix: str = NEW_FILE_PREFIX
    ) -> None:
        """Prepare to write; the first file is created when rows are written.

        Args:
            table_folder: The folder of the table.
            table: The table's name.
            name_prefix: Prefix of the files' names, to find the files if the writer is killed.
        """
        self._folder = parse_location(table_folder)
        self._name_prefix = name_prefix
        # Each file of `ingests` has one row, so dictionaries and statistics would be most of it.
        self._has_statistics = table != COMMITS_TABLE
        self._schema = arrow_schema(table)
        self._file: _OpenFile | None = None
        self.files: list[DataFile] = []

    def write(self, rows: pl.DataFrame | pa.Table) -> None:
        """Append rows to the current file, or to a new file if the current file is full.

        The rows become one row group, or several groups of limited size. Dictionary-encoded columns
        of an Arrow table stay encoded; readers of the file nevertheless get the contract's types.
        """
        if isinstance(rows, pl.DataFrame):
            rows = arrow.to_arrow_table(rows.select(self._schema.names))
        if rows.num_rows == 0:
            return
        n_games = _max_games_in_row_group(rows)
        if self._file is not None and n_games > 2 * self._file.n_games:
            self.close()  # because its Bloom filters are too small for so many games
        if self._file is None:
            schema = _contract_schema_with_encodings_of_rows(self._schema, rows.schema)
            self._file = _OpenFile(
                self._folder,
                self._name_prefix,
                schema,
                n_games,
                has_statistics=self._has_statistics,
            )
        self._file.write(rows)
        if self._file.n_bytes > MAX_FILE_BYTES or self._file.n_rows > MAX_FILE_ROWS:
            self.close()

    def close(self) -> None:
        """Finish the current file, and append it to `files`."""
        if self._file is not None:
            self.files.append(self._file.close())
            self._file = None

    @contextmanager
    def close_or_delete_on_error(self) -> Iterator[Self]:
        """Close the writer after the block, or delete all its files if the block raises."""
        try:
            yield self
            self.close()
        except BaseException:
            self.delete_files()
            raise

    def delete_files(self) -> None:
        """Delete all files that this writer wrote."""
        if self._file is not None:
            self._file.delete_draft()
            self._file = None
        for file in self.files:
            (self._folder / file.name).delete_file(missing_ok=True)
        self.files = []


class _OpenFile:
    """A Parquet file that is being written to a draft."""

    def __init__(
        self,
        folder: Location,
        name_prefix: str,
        schema: pa.Schema,
        n_games: int,
        *,
        has_statistics: bool,
    ) -> None:
        self._draft_name = f"{name_prefix}-{uuid.uuid4()}{SUFFIX}"
        self._draft = folder.create_draft(self._draft_name)
        self.n_rows = 0
        self.n_games = n_games
        self._schema = schema
        self._footers: list[pq.FileMetaData] = []
        paths = (path for field in schema for path in _parquet_leaf_paths(field.name, field.type))
        leaves = [path for path in paths if has_statistics and path not in TEXTS]
        self._writer = pq.ParquetWriter(
            self._draft.path,
            schema,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            use_dictionary=leaves,
            write_statistics=leaves,
            write_page_checksum=True,  # so that `magic verify` finds changed bytes
            store_schema=False,  # because readers would take the encodings in memory from it
            metadata_collector=self._footers,
            bloom_filter_options=(
                {"game_id": {"ndv": n_games, "fpp": _FALSE_POSITIVE_SHARE}} if n_games else None
            ),
        )

    @property
    def n_bytes(self) -> int:
        return self._draft.path.stat().st_size

    def write(self, rows: pa.Table) -> None:
        columns = [
            _cast_and_unify_dictionaries(rows.column(field.name), field.type)
            for field in self._schema
        ]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        for start in range(0, table.num_rows, MAX_GROUP_ROWS):
            for group in _split_into_row_groups(table.slice(start, MAX_GROUP_ROWS)):
                self._writer.write_table(group)
        self.n_rows += table.num_rows

    def close(self) -> DataFile:
        self._writer.close()
        n_bytes = self.n_bytes
        name = file_name_with_hash(self._draft_name, self._draft.path)
        self._draft.finish(name)
        return DataFile(name, n_bytes, self.n_rows, delta_statistics_json(self._footers[0]))

    def delete_draft(self) -> None:
        self._writer.is_open = False  # otherwise its destructor would try to finish the file
        self._draft.path.unlink(missing_ok=True)


def staged_file_prefix(token: str) -> str:
    """Return the prefix of the names of files that a writer has not committed yet.

    Args:
        token: The writer's unique token.
    """
    return f"{NEW_FILE_PREFIX}-{token}"


def delete_staged_files(table_folder: Location, token: str) -> None:
    """Delete the uncommitted files that the writer with this token left in a table's folder."""
    for file in table_folder.list_files():
        if file.name.startswith(staged_file_prefix(token)):
            (table_folder / file.name).delete_file(missing_ok=True)


def _split_into_row_groups(rows: pa.Table) -> Iterator[pa.Table]:
    """Split rows into parts of at most `MAX_GROUP_BYTES`; a longer row is a part of its own."""
    # Dictionaries are excluded: they are short, and slices would count them in full each time.
    n_bytes = sum(c.nbytes for c in rows.columns if not pa.types.is_dictionary(c.type))
    half = rows.num_rows // 2
    if not half or n_bytes <= MAX_GROUP_BYTES:
        yield rows
        return
    yield from _split_into_row_groups(rows.slice(0, half))
    yield from _split_into_row_groups(rows.slice(half))


def row_counts_and_text_bytes_by_group(parquet_file: Location) -> list[tuple[int, int]]:
    """Return the number of rows and the size of long texts for each row group of a Parquet file.

    Returns:
        A pair (number of rows, bytes) for each row group, in order. The bytes are the uncompressed
        size of the columns in `TEXTS`.
    """
    with parquet_file.open() as stream:
        footer = pq.read_metadata(stream)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    text_columns = [n for n, name in enumerate(footer.schema.names) if name in TEXTS]
    return [
        (group.num_rows, sum(group.column(n).total_uncompressed_size for n in text_columns))
        for group in groups
    ]


def _max_games_in_row_group(rows: pa.Table) -> int:
    """Return an upper bound for the number of games in the first row group of these rows.

    It is 0 for tables without the column `game_id`.
    """
    if "game_id" not in rows.schema.names:
        return 0
    ids = rows.slice(0, MAX_GROUP_ROWS).column("game_id")
    is_encoded = pa.types.is_dictionary(ids.type)
    parts = [part.indices if is_encoded else part for part in ids.chunks]
    return sum(arrow.series_from_arrow("game_id", part).n_unique() for part in parts)


def _contract_schema_with_encodings_of_rows(
    contract_schema: pa.Schema, rows_schema: pa.Schema
) -> pa.Schema:
    """Return the contract's schema with strings and lists encoded as in the rows' schema.

    Dictionaries and large offsets exist only in memory; the written file is the same.
    """
    for number, field in enumerate(contract_schema):
        dtype = rows_schema.field(field.name).type
        if any(is_encoded(dtype) for is_encoded in _ENCODED_TYPES):
            contract_schema = contract_schema.set(number, field.with_type(dtype))
    return contract_schema


def _cast_and_unify_dictionaries(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to a type; all chunks of an encoded column get the same dictionary."""
    if column.type == dtype:
        return column.unify_dictionaries()
    if not pa.types.is_dictionary(dtype):
        return column.cast(dtype)
    if not pa.types.is_dictionary(column.type):
        return column.cast(dtype.value_type).dictionary_encode()
    parts = [
        pa.DictionaryArray.from_arrays(
            part.indices.cast(dtype.index_type), part.dictionary.cast(dtype.value_type)
        )
        for part in column.chunks
    ]
    return pa.chunked_array(parts, dtype).unify_dictionaries()


def _parquet_leaf_paths(column_path: str, dtype: pa.DataType) -> list[str]:
    """Return the Parquet paths of a column's innermost values, such as `names.list.element`."""
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return _parquet_leaf_paths(f"{column_path}.list.element", dtype.value_type)
    if pa.types.is_struct(dtype):
        return [
            leaf
            for field in dtype
            for leaf in _parquet_leaf_paths(f"{column_path}.{field.name}", field.type)
        ]
    return [column_path]


def delta_statistics_json(footer: pq.FileMetaData) -> str:
    """Return the statistics of a Parquet file in the JSON format of Delta's log.

    Args:
        footer: The file's metadata.

    Returns:
        A JSON object with the number of rows, the number of nulls of each top-level column with
        statistics, and the minimum and maximum of each column of integers or short strings that
        has them in every row group.
    """
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    minima: dict[str, object] = {}
    maxima: dict[str, object] = {}
    null_counts: dict[str, int] = {}
    for number in range(footer.num_columns):
        statistics = [group.column(number).statistics for group in groups]
        name = footer.schema.column(number).path
        if "." in name or any(s is None or not s.has_null_count for s in statistics):
            continue
        null_counts[name] = sum(s.null_count for s in statistics)
        ranges = [_min_and_max_if_storable(column) for column in statistics]
        if all(ranges):
            minima[name] = min(minimum for minimum, _ in filter(None, ranges))
            maxima[name] = max(maximum for _, maximum in filter(None, ranges))
    return json.dumps(
        {
            "numRecords": footer.num_rows,
            "minValues": minima,
            "maxValues": maxima,
            "nullCount": null_counts,
        }
    )


def _min_and_max_if_storable(statistics: pq.Statistics) -> tuple[Any, Any] | None:
    """Return the minimum and maximum of integers or short strings; None for other columns."""
    # Raw values, because `min` creates an Arrow scalar, which imports pandas if it is installed.
    if not statistics.has_min_max:
        return None
    low, high = statistics.min_raw, statistics.max_raw
    if statistics.logical_type.type == "STRING":
        low, high = low.decode(), high.decode()
        return (low, high) if max(len(low), len(high)) <= MAX_STATISTIC_CHARACTERS else None
    is_number = statistics.logical_type.type in ("NONE", "INT") and type(low) is int
    return (low, high) if is_number else None
