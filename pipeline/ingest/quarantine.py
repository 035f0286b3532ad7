"""What an ingest does to the quarantine: which rows leave it, and which are new."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from pipeline.events.contracts import no_rows
from pipeline.ingest.database import IngestDatabase, statement
from pipeline.ingest.decode import fault_frame
from pipeline.lake.removal import Mask, Removal
from pipeline.warehouse import answer, batches, view

# A report has so many rows of what is refused; all of it is in quarantine.
REPORTED = 10_000
_ROWS_AT_ONCE = 2**11  # each has up to 64 KiB of a document
_WHAT = ("source", "path", "sha256", "game_id")
"""Which version of a document a row is about, and whether it is about a part of its game."""


class Refusals:
    """What becomes of the rows of `quarantine`, worked out of `resolved` and `superseded`.

    `files` hold the faults that the workers found; `is_empty` says that the lake has none.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        database: IngestDatabase,
        files: Sequence[Path],
        *,
        is_empty: bool,
    ) -> None:
        self._connection = connection
        self._database = database
        self._are_none = is_empty and not files
        if self._are_none:  # as of most ingests; to ask DuckDB for nothing takes it 30 ms
            return
        database.register(connection, "faults_with_raw", files, fault_frame([]))
        view(connection, "faults_without_raw", "SELECT * EXCLUDE (raw) FROM faults_with_raw")
        before = "SELECT * EXCLUDE (raw), source || '/' || path AS location FROM quarantine"
        view(connection, "before", before)
        for name in ("own_faults", "outdated", "staying", "new_faults"):
            database.compute(connection, name, statement(name))

    def current(self, ingest_id: int) -> tuple[pl.DataFrame, int]:
        """The first rows of quarantine about the documents seen; how many there are of parts."""
        if self._are_none:
            return no_rows("quarantine").drop("raw"), 0
        rows = statement("current_faults", ingest_id=str(ingest_id))
        first = f"ORDER BY ingest_id, source, path, json_path, rule, message LIMIT {REPORTED}"
        n_parts = answer(self._connection, f"SELECT count(game_id) FROM ({rows})").item()
        found = answer(self._connection, f"SELECT * EXCLUDE (location) FROM ({rows}) {first}")
        return found, n_parts

    def outdated(self) -> Removal | None:
        """The rows that leave the quarantine; None where all stay."""
        if self._are_none:
            return None
        gone = answer(self._connection, "SELECT *, TRUE AS is_gone FROM outdated")
        return Removal(_WHAT, lambda rows: _are_in(rows, gone)) if gone.height else None

    def new(self, ingest_id: int) -> Iterator[pa.Table]:
        """The rows that are new, bytes and all, some at a time."""
        if self._are_none:
            return iter(())
        select = statement("quarantined", ingest_id=str(ingest_id))
        return batches(self._connection, select, _ROWS_AT_ONCE)


def _are_in(rows: pa.Table, outdated: pl.DataFrame) -> Mask:
    """Whether each row is one of those that leave."""
    location = pl.concat_str("source", pl.lit("/"), "path").alias("location")
    is_whole = pl.col("game_id").is_null().alias("is_whole")
    asked = pl.DataFrame(rows).cast(pl.String).select(location, "sha256", is_whole)
    found = asked.join(
        outdated, on=asked.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return found["is_gone"].is_not_null().to_numpy()
