"""Where an ingest works out what is what: DuckDB over the lake, and a folder for the results."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection
from msgspec import Struct

from pipeline.ingest.ids import GameIds
from pipeline.ingest.worker import Findings
from pipeline.lake import StoredLake
from pipeline.sqlfiles import filled
from pipeline.warehouse import (
    THREAD_MEMORY,
    batches,
    ingest_connection,
    parquet_select,
    register,
    view,
    write,
)

# Of an ingest's memory, what DuckDB may take of it beside the libraries and what is being written.
_SHARE = 4
ROWS_AT_ONCE = 2**17
_BYTES_OF_FILE = 2**24
_TABLES = ("documents", "games", "quarantine")


class IngestDatabase(Struct, frozen=True):
    """Works in the folder `scratch`, in about `memory` bytes.

    With `rereads`, the lake's games of which a part is in quarantine are read `again`: they are
    taken for new ones, whose rows take the place of the old.
    """

    scratch: Path
    memory: int
    rereads: bool

    @contextmanager
    def connection(self, lake: StoredLake | None) -> Iterator[DuckDBPyConnection]:
        """A connection with the lake's `documents`, `quarantine` and `lake_games`, and `again`."""
        memory = max(self.memory // _SHARE, THREAD_MEMORY)
        with ingest_connection(lake, _TABLES, self.scratch, memory) as connection:
            of_parts = f"game_id IS NOT NULL AND {self.rereads}"
            view(connection, "again", f"SELECT game_id FROM quarantine WHERE {of_parts}")
            view(connection, "lake_games", "FROM games ANTI JOIN again USING (game_id)")
            yield connection

    def register(
        self,
        connection: DuckDBPyConnection,
        name: str,
        files: Sequence[Path],
        nothing: pl.DataFrame,
    ) -> None:
        """Lets queries call by this name what is in the files; `nothing` has the same columns."""
        rows = f"{name}_in_files"
        if files:
            view(connection, rows, parquet_select(files))
        else:
            register(connection, rows, nothing)
        # Joined, so that it does not matter from which folder a file was reached.
        view(connection, name, f"SELECT *, source || '/' || path AS location FROM {rows}")

    def compute(self, connection: DuckDBPyConnection, name: str, select: str) -> None:
        """Writes the result of a SELECT to a file: queries can call it by its name then."""
        file = self.scratch / f"{name}.parquet"
        write(connection, select, file)
        view(connection, name, parquet_select([file]))

    def ids(self, connection: DuckDBPyConnection, select: str, name: str) -> GameIds:
        """The ids that a SELECT gives, in a file."""
        file = self.ids_file(connection, select, name)
        return GameIds.load(file) if file else GameIds()

    def ids_file(self, connection: DuckDBPyConnection, select: str, name: str) -> Path | None:
        """A file of the ids that a SELECT gives, as GameIds have it; None where it gives none."""
        file = self.scratch / f"{name}.ids"
        ordered = batches(connection, f"{select} ORDER BY game_id", ROWS_AT_ONCE)
        GameIds.save(ordered, file)
        return file if file.stat().st_size else None


def statement(name: str, **values: str) -> str:
    """The SELECT of this name in `sql/ingest`."""
    return filled(f"internal/ingest/{name}", **values)


class Collected:
    """Collects findings in the folder `scratch`: workers need the memory until they end.

    `n_documents` is the number of documents that the workers read.
    """

    def __init__(self, scratch: Path) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self._files: dict[str, list[Path]] = defaultdict(list)
        self._waiting: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add(self, findings: Findings) -> None:
        """Takes in what a worker found; frames wait until there are enough for a file."""
        self.n_documents += findings.n_documents
        for name, rows in findings.rows.items():
            if isinstance(rows, Path):
                self._files[name].append(rows)
                continue
            waiting = self._waiting[name]
            waiting.append(pl.read_ipc_stream(rows))
            if sum(frame.estimated_size() for frame in waiting) >= _BYTES_OF_FILE:
                self._write(name)

    def files(self, name: str) -> list[Path]:
        """The Parquet files of all that was `seen`, or of all `faults`, in any order."""
        if self._waiting[name]:
            self._write(name)
        return self._files[name]

    def _write(self, name: str) -> None:
        file = self._scratch / f"{name}-{len(self._files[name])}.parquet"
        buffer = BytesIO()
        pl.concat(self._waiting.pop(name)).write_parquet(buffer, compression="lz4")
        # Written here, so that a full disk is the system's error and not one of polars.
        file.write_bytes(buffer.getbuffer())
        self._files[name].append(file)
