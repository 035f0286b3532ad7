"""Decides which documents are new, known, copies or replacements, and what changes in the lake.

`pipeline.ingest` uses it. The decisions depend on all documents and on the lake, so the statements
in `sql/internal/ingest` make them together in DuckDB, which can use the disk.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from msgspec import Struct

from pipeline.archives import Document, SourceFile, document_location
from pipeline.archives.sources import file_type
from pipeline.events.contracts import empty_table, table_schema
from pipeline.ingest.decode import GameIds, IngestSummary, quarantine_frame, scanned_documents_frame
from pipeline.ingest.worker import IngestJob, WorkerFindings
from pipeline.lake import StoredLake
from pipeline.lake.transaction import RowMask, RowRemoval
from pipeline.sql_files import fill_template
from pipeline.stores import file_version, is_regular_file
from pipeline.vocabulary import DocumentStatus
from pipeline.warehouse import (
    THREAD_MEMORY_BYTES,
    create_query_view,
    ingest_connection,
    iter_batches,
    parquet_files_select,
    register_rows,
    run_trusted_query,
    write_parquet,
)

# DuckDB gets this fraction of an ingest's memory; libraries and writers need the rest.
_DUCKDB_MEMORY_DIVISOR = 4
BATCH_ROWS = 2**17
_FINDINGS_FILE_BYTES = 2**24
_LAKE_TABLES = ("documents", "games", "quarantine")


class IngestDatabase(Struct, frozen=True):
    """DuckDB over the lake with a folder for intermediate results.

    Attributes:
        scratch: The folder.
        memory: Memory of the ingest in bytes; DuckDB uses a part of it.
        rereads: Whether the lake's games of which a part is in quarantine are read again. They
            count as new games, and their new rows replace the old ones.
    """

    scratch: Path
    memory: int
    rereads: bool

    @contextmanager
    def connection(self, lake: StoredLake | None) -> Iterator[DuckDBPyConnection]:
        """Open a connection with the lake's `documents` and `quarantine`, `lake_games` and `again`.

        `again` has the ids of games to read again, and `lake_games` the rows of all other games.

        Args:
            lake: The lake before the ingest; None for empty tables.

        Yields:
            The connection.
        """
        memory = max(self.memory // _DUCKDB_MEMORY_DIVISOR, THREAD_MEMORY_BYTES)
        with ingest_connection(lake, _LAKE_TABLES, self.scratch, memory) as connection:
            is_read_again = f"game_id IS NOT NULL AND {self.rereads}"
            create_query_view(
                connection, "again", f"SELECT game_id FROM quarantine WHERE {is_read_again}"
            )
            create_query_view(
                connection, "lake_games", "FROM games ANTI JOIN again USING (game_id)"
            )
            yield connection

    def register_files(
        self,
        connection: DuckDBPyConnection,
        name: str,
        files: Sequence[Path],
        empty_frame: pl.DataFrame,
    ) -> None:
        """Create a view of Parquet files with the additional column `location`.

        Args:
            connection: The connection.
            name: Name of the view.
            files: Paths of the Parquet files.
            empty_frame: A frame without rows, which defines the columns if there are no files.
        """
        files_view = f"{name}_in_files"
        if files:
            create_query_view(connection, files_view, parquet_files_select(files))
        else:
            register_rows(connection, files_view, empty_frame)
        # Joined, because the same file can be found from different source folders.
        create_query_view(
            connection, name, f"SELECT *, source || '/' || path AS location FROM {files_view}"
        )

    def compute(self, connection: DuckDBPyConnection, name: str, select: str) -> None:
        """Write the result of a SELECT to a Parquet file, and create a view of the file.

        Args:
            connection: The connection.
            name: Name of the view and of the file.
            select: The SELECT.
        """
        file = self.scratch / f"{name}.parquet"
        write_parquet(connection, select, file)
        create_query_view(connection, name, parquet_files_select([file]))

    def write_ids(self, connection: DuckDBPyConnection, select: str, name: str) -> GameIds:
        """Write the game ids of a SELECT to a file, and return them as a set.

        Args:
            connection: The connection.
            select: A SELECT of the column `game_id`.
            name: Name of the file.
        """
        file = self.ids_file(connection, select, name)
        return GameIds.load(file) if file else GameIds()

    def ids_file(self, connection: DuckDBPyConnection, select: str, name: str) -> Path | None:
        """Write the game ids of a SELECT to a file; return its path, or None without ids.

        Args:
            connection: The connection.
            select: A SELECT of the column `game_id`.
            name: Name of the file.
        """
        file = self.scratch / f"{name}.ids"
        batches = iter_batches(connection, f"{select} ORDER BY game_id", BATCH_ROWS)
        GameIds.save(batches, file)
        return file if file.stat().st_size else None


def ingest_statement(name: str, **values: str) -> str:
    """Return the SELECT of this name in `sql/internal/ingest`, with the values filled in."""
    return fill_template(f"internal/ingest/{name}", **values)


class FindingsCollector:
    """Collects the workers' findings in Parquet files, to leave memory to the workers.

    Attributes:
        n_documents: Number of documents that the workers have read.
        tell: Called with the numbers of documents and bytes of each finding.
    """

    def __init__(self, scratch: Path, tell: Callable[[int, int], None]) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self.tell = tell
        self._files: dict[str, list[Path]] = defaultdict(list)
        self._waiting: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add_findings(self, findings: WorkerFindings) -> None:
        """Add the findings of a worker; frames are kept in memory until they fill a file."""
        self.tell(findings.n_documents, findings.n_bytes)
        self.n_documents += findings.n_documents
        for name, rows in findings.rows.items():
            if isinstance(rows, Path):
                self._files[name].append(rows)
                continue
            waiting = self._waiting[name]
            waiting.append(pl.read_ipc_stream(rows))
            if sum(frame.estimated_size() for frame in waiting) >= _FINDINGS_FILE_BYTES:
                self._write(name)

    def files(self, name: str) -> list[Path]:
        """Return the Parquet files of the findings named `seen` or `faults`, in any order."""
        if self._waiting[name]:
            self._write(name)
        return self._files[name]

    def _write(self, name: str) -> None:
        """Write the waiting frames of this name to a Parquet file."""
        file = self._scratch / f"{name}-{len(self._files[name])}.parquet"
        buffer = BytesIO()
        pl.concat(self._waiting.pop(name)).write_parquet(buffer, compression="lz4")
        # Written by Python, so that a full disk raises an OSError and no error of polars.
        file.write_bytes(buffer.getbuffer())
        self._files[name].append(file)


# Maximum number of quarantine rows in a summary; the lake has all of them.
MAX_REPORTED_ROWS = 10_000
_QUARANTINE_BATCH_ROWS = 2**11  # Each row has up to 64 KiB of a document.
_QUARANTINE_KEY_COLUMNS = ("source", "path", "sha256", "game_id")
"""Columns that identify the document of a row; game_id is null if it is about the whole game."""


class QuarantineChanges:
    """The rows that an ingest adds to and removes from `quarantine`.

    They are computed from the views `resolved` and `superseded` of the connection.
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
        self._has_no_rows = is_empty and not files
        if self._has_no_rows:  # Most ingests; empty queries would take 30 ms.
            return
        database.register_files(connection, "faults_with_raw", files, quarantine_frame([]))
        create_query_view(
            connection, "faults_without_raw", "SELECT * EXCLUDE (raw) FROM faults_with_raw"
        )
        previous_rows = "SELECT * EXCLUDE (raw), source || '/' || path AS location FROM quarantine"
        create_query_view(connection, "before", previous_rows)
        for name in ("own_faults", "outdated", "staying", "new_faults"):
            database.compute(connection, name, ingest_statement(name))

    def current(self, ingest_id: int) -> tuple[pl.DataFrame, int]:
        """Return the first rows of quarantine about these documents, and a count of faulty parts.

        Args:
            ingest_id: Number of the ingest.

        Returns:
            At most `MAX_REPORTED_ROWS` rows without `raw`, and the number of all rows about a part
            of a game.
        """
        if self._has_no_rows:
            return empty_table("quarantine").drop("raw"), 0
        rows = ingest_statement("current_faults", ingest_id=str(ingest_id))
        order_and_limit = (
            f"ORDER BY ingest_id, source, path, json_path, rule, message LIMIT {MAX_REPORTED_ROWS}"
        )
        n_parts = run_trusted_query(self._connection, f"SELECT count(game_id) FROM ({rows})").item()
        first_rows = run_trusted_query(
            self._connection, f"SELECT * EXCLUDE (location) FROM ({rows}) {order_and_limit}"
        )
        return first_rows, n_parts

    def outdated_rows_removal(self) -> RowRemoval | None:
        """Return the removal of outdated rows from the quarantine; None if no row is outdated."""
        if self._has_no_rows:
            return None
        outdated_rows = run_trusted_query(
            self._connection, "SELECT *, TRUE AS is_gone FROM outdated"
        )
        return (
            RowRemoval(_QUARANTINE_KEY_COLUMNS, lambda rows: _is_outdated_row(rows, outdated_rows))
            if outdated_rows.height
            else None
        )

    def iter_new_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """Return an iterator of batches of new rows, with the bytes of the documents.

        Args:
            ingest_id: Number of the ingest.
        """
        if self._has_no_rows:
            return iter(())
        select = ingest_statement("quarantined", ingest_id=str(ingest_id))
        return iter_batches(self._connection, select, _QUARANTINE_BATCH_ROWS)


def _is_outdated_row(rows: pa.Table, outdated: pl.DataFrame) -> RowMask:
    """Return for each row of quarantine whether it is among the outdated ones."""
    location = pl.concat_str("source", pl.lit("/"), "path").alias("location")
    is_whole = pl.col("game_id").is_null().alias("is_whole")
    keys = pl.DataFrame(rows).cast(pl.String).select(location, "sha256", is_whole)
    matches = keys.join(
        outdated, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return matches["is_gone"].is_not_null().to_numpy()


def write_known_game_ids(database: IngestDatabase, lake: StoredLake | None) -> Path | None:
    """Write the ids of the lake's games to a file; return its path, or None without games.

    Args:
        database: The database, whose folder gets the file.
        lake: The lake before the ingest, or None.
    """
    if lake is None or not lake.file_sizes_bytes("games"):
        return None
    with database.connection(lake) as connection:
        return database.ids_file(connection, "SELECT game_id FROM lake_games", "known")


@contextmanager
def plan_ingest(
    database: IngestDatabase, lake: StoredLake | None, seen: Sequence[Path], faults: Sequence[Path]
) -> Iterator["IngestPlan"]:
    """Decide the status of every document and the changes of the lake.

    Args:
        database: The database for the intermediate results.
        lake: The lake before the ingest, or None.
        seen: Parquet files of the documents, as the workers found them.
        faults: Parquet files of the errors.

    Yields:
        The plan, which can be used while the context is open.
    """
    with database.connection(lake) as connection:
        database.register_files(connection, "found", seen, scanned_documents_frame([]))
        database.compute(connection, "named_before", ingest_statement("named_before"))
        create_query_view(connection, "seen", ingest_statement("seen"))
        game_steps = ("new_games", "unindexed", "chosen_documents", "copies", "held")
        steps = {  # Each step reads the results of the previous ones.
            "last_here": ingest_statement("last_at", locations="seen"),
            "further_locations": ingest_statement("further_locations"),
            "last_elsewhere": ingest_statement("last_at", locations="further_locations"),
            "last_seen": "FROM last_here UNION ALL FROM last_elsewhere",
            **{
                name: ingest_statement(name)
                for name in (*game_steps, "resolved", "superseded", "surplus", "moved")
            },
        }
        for name, select in steps.items():
            database.compute(connection, name, select)
        is_first = lake is not None and not lake.file_sizes_bytes("documents")
        changed_select = (
            "SELECT location FROM resolved" if is_first else ingest_statement("changed")
        )
        database.compute(connection, "changed", changed_select)
        is_empty = lake is None or not lake.file_sizes_bytes("quarantine")
        refusals = QuarantineChanges(connection, database, faults, is_empty=is_empty)
        yield IngestPlan(connection, database, refusals)


class IngestPlan:
    """The status of every document of an ingest, and the games that it adds, moves and removes.

    Attributes:
        refusals: The changes of `quarantine`.
        superseded: Ids of the lake's games to remove.
        superseded_or_moved: Ids of these games and of games whose document is at another path now.
    """

    def __init__(
        self, connection: DuckDBPyConnection, database: IngestDatabase, refusals: QuarantineChanges
    ) -> None:
        self._connection = connection
        self._database = database
        self.refusals = refusals
        self.superseded = database.write_ids(connection, "FROM superseded", "superseded")
        with_moved = "FROM superseded UNION ALL SELECT game_id FROM moved"
        self.superseded_or_moved = database.write_ids(connection, with_moved, "superseded_or_moved")
        self._workers_with_surplus = set(
            run_trusted_query(connection, "SELECT DISTINCT worker FROM surplus")["worker"]
        )

    def summary(self, ingest_id: int | None = None) -> IngestSummary:
        """Return the counts and errors of the ingest.

        Args:
            ingest_id: Number of the ingest; None if nothing is written.
        """
        counts = run_trusted_query(self._connection, ingest_statement("counts"))
        n_documents = dict(counts.select("status", "n_documents").iter_rows())
        games = run_trusted_query(
            self._connection,
            "SELECT game_type, count(*) AS n_games FROM resolved WHERE is_chosen "
            "GROUP BY game_type ORDER BY game_type",
        )
        rows_in_other_form = (
            run_trusted_query(self._connection, ingest_statement("in_other_form"))
            if len(games)
            else None
        )
        faults, n_faulty_parts = self.refusals.current(ingest_id or 1)
        return IngestSummary(
            statuses={str(status): n_documents.get(str(status), 0) for status in DocumentStatus},
            games=games,
            faults=faults,
            n_faulty_parts=n_faulty_parts,
            n_superseded=len(self.superseded),
            n_bytes=int(counts["n_bytes"].sum()),
            ingest_id=ingest_id,
            n_in_other_form=0 if rows_in_other_form is None else rows_in_other_form.item(),
            n_known_by_content=int(counts["n_known_by_content"].sum()),
            n_read_votes=int(counts["n_read_votes"].sum()),
            n_undecided_votes=int(counts["n_undecided_votes"].sum()),
            n_unnumbered=int(counts["n_unnumbered"].sum()),
            ignored=run_trusted_query(self._connection, ingest_statement("ignored")),
        )

    def surplus(self, worker: int) -> GameIds:
        """Return the ids of games that the worker decoded but whose rows must not be added.

        Another copy of such a game is used, or the lake has it already.

        Args:
            worker: Number of the worker.
        """
        if worker not in self._workers_with_surplus:
            return GameIds()
        select = f"SELECT game_id FROM surplus WHERE worker = {worker}"
        return self._database.write_ids(self._connection, select, f"surplus-{worker}")

    def moved_games(self) -> Iterator[pa.Table]:
        """Return batches of the rows of `games` that moved, with their new source and path."""
        columns = "lake_games.* REPLACE (moved.source AS source, moved.path AS path)"
        select = f"SELECT {columns} FROM lake_games INNER JOIN moved USING (game_id)"
        return iter_batches(self._connection, select, BATCH_ROWS)

    def lost(self) -> pl.DataFrame:
        """Return the locations of documents skipped as known whose game was removed since."""
        return run_trusted_query(self._connection, "SELECT location FROM resolved WHERE is_lost")

    def new_archive_rows(self, archives: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that the ingest adds to `archives`, and register them for `documents`.

        All documents of such an archive get a row. A known archive gets a row only if one of its
        documents changed.

        Args:
            archives: The archives that were read, from `UnchangedArchiveCache.archives`.
        """
        if archives.is_empty():  # Most ingests; empty queries would take 10 ms.
            empty_numbers = pl.DataFrame(schema={"source_order": pl.Int64, "number": pl.UInt32})
            register_rows(self._connection, "in_archives_read", empty_numbers)
            register_rows(self._connection, "noted", empty_numbers)
            return archives.drop("is_known")
        register_rows(self._connection, "archives_read", archives.with_row_index("number"))
        documents = "(FROM resolved, (SELECT DISTINCT ingest_id FROM archives_read))"
        select = ingest_statement("in_archives", documents=documents, archives="archives_read")
        create_query_view(self._connection, "in_archives_read", select)
        rows = run_trusted_query(self._connection, ingest_statement("noted"))
        register_rows(self._connection, "noted", rows)
        return rows.select(list(table_schema("archives")))

    def iter_document_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """Return batches of the rows of `documents`, in the order of the sources.

        An unchanged document has no row, unless it is in an archive that `new_archive_rows`
        returned.

        Args:
            ingest_id: Number of the ingest.
        """
        select = ingest_statement("documents", ingest_id=str(ingest_id))
        return iter_batches(self._connection, select, BATCH_ROWS)


_LINE_SEPARATOR = "#"
_FILES_PER_LOOKUP = 256
_ARCHIVE_LOOKUP_SCHEMA = {
    "number": pl.Int64,
    "source": pl.String,
    "prefix": pl.String,
    "n_bytes": pl.Int64,
    "ingest_id": pl.Int64,
}


class _ArchiveVersion(Struct, frozen=True):
    """An archive that was read, which becomes a row of `archives`.

    Attributes:
        file: Path of the archive.
        as_found: The file's version before it was read.
        source: Source of its documents.
        prefix: Beginning of the paths of its documents.
        n_bytes: Size of the file.
        sha256: Hash of the file.
    """

    file: str
    as_found: tuple[int, ...]
    source: str
    prefix: str
    n_bytes: int
    sha256: str


class UnchangedArchiveCache:
    """Skips large archives that have not changed since an earlier ingest, and records those read.

    Their documents are taken from the lake, because unpacking and hashing them again is slow.
    """

    def __init__(
        self,
        job: IngestJob,
        lake: StoredLake | None,
        add_findings: Callable[[WorkerFindings], None],
        database: IngestDatabase,
        *,
        rereads: bool = False,
    ) -> None:
        self._rereads = rereads
        self._job = job
        self._lake = lake
        self._add_findings = add_findings
        self._database = database
        self._archives_read: list[_ArchiveVersion] = []
        self._n_reports = 0

    def unread(self, source_files: Iterator[SourceFile]) -> Iterator[SourceFile]:
        """Yield the files to read; the documents of unchanged archives are reported from the lake.

        Args:
            source_files: The source files.

        Yields:
            The source files that are no unchanged archives.
        """
        if self._rereads or not self._last_reads:
            yield from source_files
            return
        while batch := list(islice(source_files, _FILES_PER_LOOKUP)):
            skipped = self._skip_unchanged_archives(batch)
            yield from (source_file for source_file in batch if source_file not in skipped)

    def iter_and_record(
        self, source_file: SourceFile, documents: Iterator[Document]
    ) -> Iterator[Document]:
        """Yield the documents of an archive, and record the archive once all of them were read.

        Args:
            source_file: The archive.
            documents: Its documents.

        Yields:
            The documents.
        """
        as_found, (source, prefix), document = (
            _file_version(source_file),
            _source_and_path_prefix(source_file),
            None,
        )
        for document in documents:
            yield document
        # A truncated or invalid archive ends with a document for the archive itself, and is not
        # recorded. Nor is a log of lines with named parts, because the lake is searched for lines.
        if document is None or (document.source == source and document.path.startswith(prefix)):
            archive = _hash_archive(source_file, as_found)
            self._archives_read += [archive] if archive else []

    def archives(self, ingest_id: int) -> pl.DataFrame:
        """Return the rows of `archives` for the recorded archives that have not changed meanwhile.

        Args:
            ingest_id: Number of the ingest.

        Returns:
            The columns of `archives`, and `is_known`: whether an earlier ingest with the same
            settings has recorded the archive.
        """
        schema = table_schema("archives")
        names = [name for name in schema if name != "ingest_id"]
        rows = [
            [
                *(ingest_id, *(getattr(archive, name) for name in names)),
                archive.sha256 in self._last_reads.get((archive.source, archive.prefix), {}),
            ]
            for archive in self._archives_read
            if file_version(archive.file) == archive.as_found
        ]
        # If two files have the same printed name, their documents cannot be distinguished later.
        is_unique = pl.struct("source", "prefix").is_unique()
        known_schema = {"is_known": pl.Boolean()}
        return pl.DataFrame(rows, {**schema, **known_schema}, orient="row").filter(is_unique)

    def _skip_unchanged_archives(self, source_files: Sequence[SourceFile]) -> set[SourceFile]:
        """Return the unchanged archives among the files, and report their documents."""
        unchanged: list[tuple[SourceFile, _ArchiveVersion, int]] = []
        for source_file in source_files:
            last_reads = (
                self._last_reads.get(_source_and_path_prefix(source_file), {})
                if source_file.can_hold_many_documents
                else {}
            )
            archive = _hash_archive(source_file, _file_version(source_file)) if last_reads else None
            if archive is not None and archive.sha256 in last_reads:
                unchanged.append((source_file, archive, last_reads[archive.sha256]))
        if not unchanged:
            return set()
        rows = [
            (number, archive.source, archive.prefix, archive.n_bytes, ingest_id)
            for number, (_, archive, ingest_id) in enumerate(unchanged)
        ]
        numbers = self._report_documents(
            pl.DataFrame(rows, schema=_ARCHIVE_LOOKUP_SCHEMA, orient="row")
        )
        return {unchanged[number][0] for number in numbers}

    @cached_property
    def _last_reads(self) -> dict[tuple[str, str], dict[str, int]]:
        """The last ingest with the same settings that read an archive, by its location and hash."""
        if self._lake is None or not self._lake.file_sizes_bytes("archives"):
            return {}
        has_same_settings = [
            pl.col(column).eq_missing(pl.lit(value))
            for column, value in self._job.settings().items()
        ]
        ingests = self._lake.table("ingests").filter(*has_same_settings)
        archives = self._lake.table("archives").join(ingests, on="ingest_id", how="semi")
        rows = archives.select("source", "prefix", "sha256", "ingest_id").sort("ingest_id")
        last_reads: dict[tuple[str, str], dict[str, int]] = {}
        for source, prefix, sha256, ingest_id in rows.collect().iter_rows():
            last_reads.setdefault((source, prefix), {})[sha256] = ingest_id
        return last_reads

    def _report_documents(self, archive_rows: pl.DataFrame) -> list[int]:
        """Report the documents of unchanged archives, and return the numbers of these archives.

        An archive is read again, and not reported, in three cases: a document has to be decoded, a
        document could not be read before, or the lake no longer has the error of a quarantined
        document.
        """
        with self._database.connection(self._lake) as connection:
            register_rows(connection, "wanted", archive_rows)
            documents_select = ingest_statement(
                "in_archives", documents="documents", archives="wanted"
            )
            for name, select in (
                ("inside", documents_select),
                ("unknown", ingest_statement("unknown")),
                ("recalled", "FROM inside ANTI JOIN unknown USING (number)"),
            ):
                self._database.compute(connection, name, select)
            self._n_reports += 1
            file = self._database.scratch / f"seen-again-{self._n_reports}.parquet"
            faults_file = file.with_stem(f"{file.stem}-faults")
            write_parquet(connection, ingest_statement("seen_again"), file)
            write_parquet(connection, ingest_statement("faults_before"), faults_file)
            archives = run_trusted_query(connection, "FROM wanted ANTI JOIN unknown USING (number)")
            counts_select = (
                "SELECT count(*), count(*) FILTER (status = 'quarantined') FROM recalled"
            )
            n_documents, n_quarantined = run_trusted_query(connection, counts_select).row(0)
        n_bytes = int(archives["n_bytes"].sum())
        rows = {"seen": file, "faults": faults_file} if n_quarantined else {"seen": file}
        self._add_findings(WorkerFindings(n_documents, n_bytes, rows))
        return archives["number"].to_list()


def _source_and_path_prefix(source_file: SourceFile) -> tuple[str, str]:
    """Return the source of an archive's documents, and the beginning of their paths."""
    assert source_file.file is not None
    return document_location(
        source_file, "/" if file_type(source_file.file).is_archive else _LINE_SEPARATOR
    )


def _file_version(source_file: SourceFile) -> tuple[int, ...] | None:
    """Return the version of the file; None if it cannot be determined, as on an object store."""
    return file_version(source_file.file) if source_file.file is not None else None


def _hash_archive(
    source_file: SourceFile, version: tuple[int, ...] | None
) -> _ArchiveVersion | None:
    """Return the archive with its hash; None if it is not a readable, non-empty regular file."""
    if source_file.file is None or version is None or not is_regular_file(source_file.file):
        return None
    if not source_file.n_bytes:  # A file of the kernel can be endless.
        return None
    try:
        with Path(source_file.file).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    source, prefix = _source_and_path_prefix(source_file)
    return _ArchiveVersion(source_file.file, version, source, prefix, source_file.n_bytes, sha256)
