"""Parquet files of a table: written a batch at a time, part of it only once committed."""

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction
from msgspec import Struct

from pipeline.lake.schema import arrow_schema

MAX_FILE_BYTES = 256 * 2**20
COMPRESSION_LEVEL = 1
MAX_STATISTIC_LENGTH = 64


class DataFile(Struct, frozen=True):
    """A Parquet file in a table's folder, with what the Delta log says of it."""

    name: str
    n_bytes: int
    stats: str

    def add_action(self) -> AddAction:
        now = int(time.time() * 1000)
        return AddAction(self.name, self.n_bytes, {}, now, data_change=True, stats=self.stats)


def remove_action(name: str) -> RemoveAction:
    """The action that takes a file out of its table; the file itself stays for older readers."""
    return RemoveAction(name, data_change=True, deletion_timestamp=int(time.time() * 1000))


class TableWriter:
    """Writes one table's rows to new files in its folder, starting another when one is full.

    The files' names have the token in them, for `discard`.
    """

    def __init__(self, folder: Path, table: str, token: str = "") -> None:
        self._folder = folder
        self._token = token
        self._schema = arrow_schema(table)
        self._file: _OpenFile | None = None
        self.files: list[DataFile] = []

    def write(self, rows: pl.DataFrame | pa.Table) -> None:
        """Adds the rows as one row group; of Arrow's columns, text may come as dictionaries."""
        if not len(rows):
            return
        table = self._arrow(rows)
        if self._file is None:
            self._file = _OpenFile(self._folder / _new_name(self._token), table.schema)
        self._file.write(table)
        if self._file.n_bytes > MAX_FILE_BYTES:
            self.close()

    def _arrow(self, rows: pl.DataFrame | pa.Table) -> pa.Table:
        """The rows with the contract's columns, types and nullability, dictionaries as they are."""
        if isinstance(rows, pl.DataFrame):
            rows = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        rows = rows.select(self._schema.names)
        fields = [
            field.with_type(held)
            if pa.types.is_dictionary(held := rows.schema.field(n).type)
            else field
            for n, field in zip(self._schema.names, self._schema, strict=True)
        ]
        return rows.cast(pa.schema(fields))

    def close(self) -> None:
        """Ends the file being written; `files` is complete then."""
        if self._file is not None:
            self.files.append(self._file.close())
            self._file = None

    def abandon(self) -> None:
        """Deletes what was written."""
        self.close()
        for file in self.files:
            (self._folder / file.name).unlink(missing_ok=True)
        self.files = []


class _OpenFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._footers: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._path,
            schema,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            # Else readers would take a dictionary for another type than text.
            store_schema=False,
            metadata_collector=self._footers,
        )

    @property
    def n_bytes(self) -> int:
        return self._path.stat().st_size

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> DataFile:
        self._writer.close()
        return DataFile(self._path.name, self.n_bytes, _stats(self._footers[0]))


def _new_name(token: str) -> str:
    return f"part-{token}-{uuid.uuid4()}.parquet" if token else f"part-{uuid.uuid4()}.parquet"


def discard(folder: Path, token: str) -> None:
    """Deletes the files in a table's folder that were written with the token."""
    for path in folder.glob(f"part-{token}-*.parquet"):
        path.unlink(missing_ok=True)


def _stats(footer: pq.FileMetaData) -> str:
    """Delta's statistics of a file: its rows, and the range of each short column without gaps."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    low: dict[str, object] = {}
    high: dict[str, object] = {}
    nulls: dict[str, int] = {}
    for place in range(footer.num_columns):
        columns = [group.column(place).statistics for group in groups]
        name = footer.schema.column(place).path
        if "." in name or any(c is None or not c.has_null_count for c in columns):
            continue
        nulls[name] = sum(c.null_count for c in columns)
        known = [c for c in columns if c.has_min_max]
        values = [value for c in known for value in (c.min, c.max)]
        if len(known) == len(columns) and all(map(_is_short, values)):
            low[name], high[name] = min(c.min for c in known), max(c.max for c in known)
    return json.dumps(
        {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    )


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_STATISTIC_LENGTH
    return isinstance(value, int) and not isinstance(value, bool)


def files_with(files: Sequence[str], keys: pl.DataFrame) -> list[str]:
    """Those of the files that have a row whose key columns are among `keys`."""
    if not files or keys.is_empty():
        return []
    found = (
        pl.scan_parquet(list(files), include_file_paths="__file", glob=False)
        .select(*keys.columns, "__file")
        .join(keys.lazy(), on=keys.columns, how="semi", nulls_equal=True)
        .select(pl.col("__file").unique())
        .collect(engine="streaming")
    )
    return sorted(found["__file"])


def rewrite_without(
    folder: Path, table: str, files: Iterable[str], keys: pl.DataFrame
) -> list[DataFile]:
    """New files with the rows of the given ones, but for those whose key is among `keys`."""
    writer = TableWriter(folder, table)
    for file in files:
        parquet = pq.ParquetFile(file)
        for number in range(parquet.num_row_groups):
            rows = pl.DataFrame(parquet.read_row_group(number))
            writer.write(rows.join(keys, on=keys.columns, how="anti", nulls_equal=True))
    writer.close()
    return writer.files
