"""Where an ingest works out what is what: DuckDB over the lake, and a folder for the results."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from pipeline.ingest.ids import GameIds
from pipeline.lake import StoredLake
from pipeline.sqlfiles import filled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Of an ingest's memory, what DuckDB may take of it beside the libraries and what is being written.
_SHARE = 4
ROWS_AT_ONCE = 2**17
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
    def connection(self, lake: StoredLake | None) -> Iterator["DuckDBPyConnection"]:
        """A connection with the lake's `documents`, `quarantine` and `lake_games`, and `again`."""
        # Here and below, so that workers do not load DuckDB.
        from pipeline.warehouse import THREAD_MEMORY, ingest_connection, view

        memory = max(self.memory // _SHARE, THREAD_MEMORY)
        with ingest_connection(lake, _TABLES, self.scratch, memory) as connection:
            of_parts = f"game_id IS NOT NULL AND {self.rereads}"
            view(connection, "again", f"SELECT game_id FROM quarantine WHERE {of_parts}")
            view(connection, "lake_games", "FROM games ANTI JOIN again USING (game_id)")
            yield connection

    def register(
        self,
        connection: "DuckDBPyConnection",
        name: str,
        files: Sequence[Path],
        nothing: pl.DataFrame,
    ) -> None:
        """Lets queries call by this name what is in the files; `nothing` has the same columns."""
        from pipeline.warehouse import parquet_select, register, view

        rows = f"{name}_in_files"
        if files:
            view(connection, rows, parquet_select(files))
        else:
            register(connection, rows, nothing)
        # Joined, so that it does not matter from which folder a file was reached.
        view(connection, name, f"SELECT *, source || '/' || path AS location FROM {rows}")

    def compute(self, connection: "DuckDBPyConnection", name: str, select: str) -> None:
        """Writes the result of a SELECT to a file: queries can call it by its name then."""
        from pipeline.warehouse import parquet_select, view, write

        file = self.scratch / f"{name}.parquet"
        write(connection, select, file)
        view(connection, name, parquet_select([file]))

    def ids(self, connection: "DuckDBPyConnection", select: str, name: str) -> GameIds:
        """The ids that a SELECT gives, in a file."""
        file = self.ids_file(connection, select, name)
        return GameIds.load(file) if file else GameIds()

    def ids_file(self, connection: "DuckDBPyConnection", select: str, name: str) -> Path | None:
        """A file of the ids that a SELECT gives, as GameIds have it; None where it gives none."""
        from pipeline.warehouse import answer, batches

        file = self.scratch / f"{name}.npy"
        n_ids = answer(connection, f"SELECT count(*) FROM ({select})").item()
        if not n_ids:
            return None
        ordered = batches(connection, f"{select} ORDER BY game_id", ROWS_AT_ONCE)
        GameIds.save(n_ids, ordered, file)
        return file


def statement(name: str, **values: str) -> str:
    """The SELECT of this name in `sql/ingest`."""
    return filled(f"internal/ingest/{name}", **values)
