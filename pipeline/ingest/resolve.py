"""Decide the status of each document of an ingest, and which rows of the lake change.

A document can contain a new game, a known game, a copy or a replacement. The decisions depend on
all documents and on the lake, so the statements in `sql/internal/ingest` make them together in
DuckDB, which can use the disk. `pipeline.ingest` uses this module.
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

from pipeline.archives import Document, SourceFile, source_and_path_of_part
from pipeline.archives.sources import file_type
from pipeline.events.contracts import empty_table, table_schema
from pipeline.ingest.decode import GameIds, IngestSummary, quarantine_frame, scanned_documents_frame
from pipeline.ingest.worker import IngestJob, WorkerFindings
from pipeline.lake import StoredLake
from pipeline.lake.transaction import RowMask, RowRemoval
from pipeline.sql_files import fill_template
from pipeline.stores import can_open_without_waiting, file_change_key
from pipeline.vocabulary import DocumentStatus
from pipeline.warehouse import (
    THREAD_MEMORY_BYTES,
    create_or_replace_view,
    iter_arrow_batches,
    open_ingest_connection,
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
    """Access to the lake by DuckDB, with a folder for intermediate results.

    Attributes:
        scratch: The folder for intermediate results.
        memory: Memory of the ingest in bytes; DuckDB uses a part of it.
        rereads: Whether to read games again of which a part is in quarantine. They count as new
            games, and their new rows replace the old ones.
    """

    scratch: Path
    memory: int
    rereads: bool

    @contextmanager
    def open_connection(self, lake: StoredLake | None) -> Iterator[DuckDBPyConnection]:
        """Open a connection with views of the lake's documents, quarantine and games.

        The views are `documents`, `quarantine`, `games_to_read_again` (only ids) and `lake_games`
        (the games that are not read again).

        Args:
            lake: The lake before the ingest; None for empty views.

        Yields:
            The connection.
        """
        memory = max(self.memory // _DUCKDB_MEMORY_DIVISOR, THREAD_MEMORY_BYTES)
        with open_ingest_connection(lake, _LAKE_TABLES, self.scratch, memory) as connection:
            is_read_again = f"game_id IS NOT NULL AND {self.rereads}"
            create_or_replace_view(
                connection,
                "games_to_read_again",
                f"SELECT game_id FROM quarantine WHERE {is_read_again}",
            )
            create_or_replace_view(
                connection, "lake_games", "FROM games ANTI JOIN games_to_read_again USING (game_id)"
            )
            yield connection

    def create_view_of_files(
        self,
        connection: DuckDBPyConnection,
        view_name: str,
        files: Sequence[Path],
        empty_frame: pl.DataFrame,
    ) -> None:
        """Create a view of the rows in Parquet files, with the additional column `location`.

        Args:
            connection: The connection.
            view_name: Name of the view.
            files: Paths of the Parquet files.
            empty_frame: A frame without rows that defines the columns if there are no files.
        """
        files_view = f"{view_name}_in_files"
        if files:
            create_or_replace_view(connection, files_view, parquet_files_select(files))
        else:
            register_rows(connection, files_view, empty_frame)
        # Joined, because the same file can be found from different source folders.
        create_or_replace_view(
            connection, view_name, f"SELECT *, source || '/' || path AS location FROM {files_view}"
        )

    def write_result_and_create_view(
        self, connection: DuckDBPyConnection, view_name: str, select: str
    ) -> None:
        """Write the result of a SELECT to a Parquet file, and create a view of the file.

        Args:
            connection: The connection.
            view_name: Name of the view and of the file.
            select: The SELECT.
        """
        file = self.scratch / f"{view_name}.parquet"
        write_parquet(connection, select, file)
        create_or_replace_view(connection, view_name, parquet_files_select([file]))

    def write_and_load_ids(
        self, connection: DuckDBPyConnection, select: str, file_name: str
    ) -> GameIds:
        """Write the game ids that a SELECT returns to a file, and open the file as a set of ids.

        Args:
            connection: The connection.
            select: A SELECT of the column `game_id`.
            file_name: Name of the file, without extension.

        Returns:
            The set of ids, which can be empty.
        """
        file = self.write_ids_file(connection, select, file_name)
        return GameIds.open_ids_file(file) if file else GameIds()

    def write_ids_file(
        self, connection: DuckDBPyConnection, select: str, file_name: str
    ) -> Path | None:
        """Write the game ids that a SELECT returns to a file.

        Args:
            connection: The connection.
            select: A SELECT of the column `game_id`.
            file_name: Name of the file, without extension.

        Returns:
            The path of the file; None if the SELECT returns no ids.
        """
        file = self.scratch / f"{file_name}.ids"
        batches = iter_arrow_batches(connection, f"{select} ORDER BY game_id", BATCH_ROWS)
        GameIds.write_ids_file(batches, file)
        return file if file.stat().st_size else None


def ingest_select(name: str, **template_values: str) -> str:
    """Return a SELECT of the folder `sql/internal/ingest`, with its placeholders replaced.

    Args:
        name: Name of the SQL file, without extension.
        template_values: The values of the placeholders by name.
    """
    return fill_template(f"internal/ingest/{name}", **template_values)


class FindingsCollector:
    """Collects the workers' findings in Parquet files, so that the workers can use the memory.

    Attributes:
        n_documents: Number of documents that the workers have read.
        report_progress: Called with the numbers of documents and bytes in each worker's findings.
    """

    def __init__(self, scratch: Path, report_progress: Callable[[int, int], None]) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self.report_progress = report_progress
        self._files: dict[str, list[Path]] = defaultdict(list)
        self._waiting: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add_findings(self, findings: WorkerFindings) -> None:
        """Add the findings of a worker, and write waiting findings to a file if they fill one.

        Args:
            findings: The findings.
        """
        self.report_progress(findings.n_documents, findings.n_bytes)
        self.n_documents += findings.n_documents
        for name, rows in findings.rows.items():
            if isinstance(rows, Path):
                self._files[name].append(rows)
                continue
            waiting = self._waiting[name]
            waiting.append(pl.read_ipc_stream(rows))
            if sum(frame.estimated_size() for frame in waiting) >= _FINDINGS_FILE_BYTES:
                self._write_waiting_frames(name)

    def write_rest_and_list_files(self, findings_name: str) -> list[Path]:
        """Write the findings that are still in memory, and return all Parquet files.

        Args:
            findings_name: `seen` for the documents, or `faults` for the errors.

        Returns:
            The paths of the files, in any order.
        """
        if self._waiting[findings_name]:
            self._write_waiting_frames(findings_name)
        return self._files[findings_name]

    def _write_waiting_frames(self, findings_name: str) -> None:
        file = self._scratch / f"{findings_name}-{len(self._files[findings_name])}.parquet"
        buffer = BytesIO()
        pl.concat(self._waiting.pop(findings_name)).write_parquet(buffer, compression="lz4")
        # Written by Python, so that a full disk raises an OSError and no error of polars.
        file.write_bytes(buffer.getbuffer())
        self._files[findings_name].append(file)


# Maximum number of quarantine rows in a summary; the lake has all of them.
MAX_REPORTED_ROWS = 10_000
_QUARANTINE_BATCH_ROWS = 2**11  # Each row has up to 64 KiB of a document.
_QUARANTINE_KEY_COLUMNS = ("source", "path", "sha256", "game_id")
"""The columns that identify a quarantined document; `game_id` is null for a whole document."""


class QuarantineChanges:
    """The rows that an ingest adds to and removes from the table `quarantine`.

    They are computed from the views `documents_with_status` and `superseded_games`.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        database: IngestDatabase,
        error_files: Sequence[Path],
        *,
        is_quarantine_empty: bool,
    ) -> None:
        self._connection = connection
        self._database = database
        self._has_no_rows = is_quarantine_empty and not error_files
        if self._has_no_rows:  # Most ingests; empty queries would take 30 ms.
            return
        database.create_view_of_files(
            connection, "reported_errors", error_files, quarantine_frame([])
        )
        create_or_replace_view(
            connection, "reported_errors_without_raw", "SELECT * EXCLUDE (raw) FROM reported_errors"
        )
        previous_rows = "SELECT * EXCLUDE (raw), source || '/' || path AS location FROM quarantine"
        create_or_replace_view(connection, "previous_quarantine_rows", previous_rows)
        for name in (
            "errors_without_copies",
            "outdated_quarantine_rows",
            "kept_quarantine_rows",
            "new_errors",
        ):
            database.write_result_and_create_view(connection, name, ingest_select(name))

    def first_rows_and_count_of_faulty_parts(self, ingest_id: int) -> tuple[pl.DataFrame, int]:
        """Return quarantine rows of the scanned documents, and the number of faulty game parts.

        Args:
            ingest_id: Number of the ingest.

        Returns:
            The first `MAX_REPORTED_ROWS` rows, without the column `raw`, and the number of all rows
            that are about a part of a game.
        """
        if self._has_no_rows:
            return empty_table("quarantine").drop("raw"), 0
        current_rows_select = ingest_select("current_quarantine_rows", ingest_id=str(ingest_id))
        order_and_limit = (
            f"ORDER BY ingest_id, source, path, json_path, rule, message LIMIT {MAX_REPORTED_ROWS}"
        )
        n_faulty_parts = run_trusted_query(
            self._connection, f"SELECT count(game_id) FROM ({current_rows_select})"
        ).item()
        first_rows = run_trusted_query(
            self._connection,
            f"SELECT * EXCLUDE (location) FROM ({current_rows_select}) {order_and_limit}",
        )
        return first_rows, n_faulty_parts

    def outdated_rows_removal(self) -> RowRemoval | None:
        """Return a removal of the outdated rows of the quarantine; None if no row is outdated."""
        if self._has_no_rows:
            return None
        outdated_rows = run_trusted_query(
            self._connection, "SELECT *, TRUE AS is_outdated FROM outdated_quarantine_rows"
        )
        return (
            RowRemoval(
                _QUARANTINE_KEY_COLUMNS, lambda rows: _outdated_row_mask(rows, outdated_rows)
            )
            if outdated_rows.height
            else None
        )

    def iter_new_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """Return an iterator of Arrow tables with the new rows and the bytes of their documents.

        Args:
            ingest_id: Number of the ingest.
        """
        if self._has_no_rows:
            return iter(())
        select = ingest_select("new_quarantine_rows", ingest_id=str(ingest_id))
        return iter_arrow_batches(self._connection, select, _QUARANTINE_BATCH_ROWS)


def _outdated_row_mask(rows: pa.Table, outdated_rows: pl.DataFrame) -> RowMask:
    """Return a boolean for each row of the quarantine that says if it is outdated."""
    location = pl.concat_str("source", pl.lit("/"), "path").alias("location")
    is_about_whole_document = pl.col("game_id").is_null().alias("is_about_whole_document")
    keys = pl.DataFrame(rows).cast(pl.String).select(location, "sha256", is_about_whole_document)
    matches = keys.join(
        outdated_rows, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return matches["is_outdated"].is_not_null().to_numpy()


def write_known_game_ids(database: IngestDatabase, lake: StoredLake | None) -> Path | None:
    """Write the ids of the games in the lake to a file, for the worker processes.

    Args:
        database: The database, whose folder gets the file.
        lake: The lake before the ingest, or None.

    Returns:
        The path of the file; None if the lake has no games.
    """
    if lake is None or not lake.file_sizes_bytes("games"):
        return None
    with database.open_connection(lake) as connection:
        return database.write_ids_file(connection, "SELECT game_id FROM lake_games", "known")


@contextmanager
def plan_ingest(
    database: IngestDatabase,
    lake: StoredLake | None,
    document_files: Sequence[Path],
    error_files: Sequence[Path],
) -> Iterator["IngestPlan"]:
    """Decide the status of each document, and which rows of the lake change.

    Args:
        database: The database for the intermediate results.
        lake: The lake before the ingest, or None.
        document_files: Parquet files with the documents that the workers scanned.
        error_files: Parquet files with the errors that the workers found.

    Yields:
        The plan, which can be used while the context is open.
    """
    with database.open_connection(lake) as connection:
        database.create_view_of_files(
            connection, "reported_documents", document_files, scanned_documents_frame([])
        )
        database.write_result_and_create_view(
            connection, "earlier_assigned_models", ingest_select("earlier_assigned_models")
        )
        create_or_replace_view(connection, "scanned_documents", ingest_select("scanned_documents"))
        game_steps = (
            "documents_with_new_game",
            "games_of_unindexed_documents",
            "first_documents_of_new_games",
            "decoded_duplicates",
            "previous_games_by_location",
        )
        steps = {  # Each step reads the results of the previous ones.
            "last_documents_at_scanned_locations": ingest_select(
                "last_documents_at", locations="scanned_documents"
            ),
            "other_locations_with_same_bytes": ingest_select("other_locations_with_same_bytes"),
            "last_documents_at_other_locations": ingest_select(
                "last_documents_at", locations="other_locations_with_same_bytes"
            ),
            "last_documents_with_game": (
                "FROM last_documents_at_scanned_locations "
                "UNION ALL FROM last_documents_at_other_locations"
            ),
            **{
                name: ingest_select(name)
                for name in (
                    *game_steps,
                    "documents_with_status",
                    "superseded_games",
                    "games_not_to_add",
                    "relocated_games",
                )
            },
        }
        for name, select in steps.items():
            database.write_result_and_create_view(connection, name, select)
        is_first_ingest = lake is not None and not lake.file_sizes_bytes("documents")
        changed_select = (
            "SELECT location FROM documents_with_status"
            if is_first_ingest
            else ingest_select("changed_locations")
        )
        database.write_result_and_create_view(connection, "changed_locations", changed_select)
        is_quarantine_empty = lake is None or not lake.file_sizes_bytes("quarantine")
        quarantine_changes = QuarantineChanges(
            connection, database, error_files, is_quarantine_empty=is_quarantine_empty
        )
        yield IngestPlan(connection, database, quarantine_changes)


class IngestPlan:
    """The status of each document of an ingest, and the changes of the lake.

    Attributes:
        quarantine_changes: The changes of the table `quarantine`.
        superseded_ids: Ids of the games to remove from the lake.
        superseded_or_relocated_ids: Ids of these games, and of games that get a new source or
            path.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        database: IngestDatabase,
        quarantine_changes: QuarantineChanges,
    ) -> None:
        self._connection = connection
        self._database = database
        self.quarantine_changes = quarantine_changes
        self.superseded_ids = database.write_and_load_ids(
            connection, "FROM superseded_games", "superseded_games"
        )
        with_moved = "FROM superseded_games UNION ALL SELECT game_id FROM relocated_games"
        self.superseded_or_relocated_ids = database.write_and_load_ids(
            connection, with_moved, "superseded_or_relocated_games"
        )
        self._workers_with_games_not_to_add = set(
            run_trusted_query(connection, "SELECT DISTINCT worker FROM games_not_to_add")["worker"]
        )

    def summarize(self, ingest_id: int | None = None) -> IngestSummary:
        """Return the counts and errors of the ingest.

        Args:
            ingest_id: Number of the ingest; None if nothing is written.
        """
        counts = run_trusted_query(self._connection, ingest_select("counts_by_status"))
        n_documents = dict(counts.select("status", "n_documents").iter_rows())
        games = run_trusted_query(
            self._connection,
            "SELECT game_type, count(*) AS n_games FROM documents_with_status WHERE is_game_added "
            "GROUP BY game_type ORDER BY game_type",
        )
        rows_in_other_form = (
            run_trusted_query(self._connection, ingest_select("number_of_games_in_other_form"))
            if len(games)
            else None
        )
        faults, n_faulty_parts = self.quarantine_changes.first_rows_and_count_of_faulty_parts(
            ingest_id or 1
        )
        return IngestSummary(
            statuses={str(status): n_documents.get(str(status), 0) for status in DocumentStatus},
            games=games,
            faults=faults,
            n_faulty_parts=n_faulty_parts,
            n_superseded=len(self.superseded_ids),
            n_bytes=int(counts["n_bytes"].sum()),
            ingest_id=ingest_id,
            n_in_other_form=0 if rows_in_other_form is None else rows_in_other_form.item(),
            n_known_by_content=int(counts["n_known_by_content"].sum()),
            n_read_votes=int(counts["n_read_votes"].sum()),
            n_undecided_votes=int(counts["n_undecided_votes"].sum()),
            n_unnumbered=int(counts["n_unnumbered"].sum()),
            ignored=run_trusted_query(self._connection, ingest_select("ignored_reasons")),
        )

    def load_ids_of_games_not_to_add(self, worker_number: int) -> GameIds:
        """Return the ids of games that a worker decoded, but whose rows the lake must not get.

        The lake has such a game already, or gets it from another document.

        Args:
            worker_number: Number of the worker.
        """
        if worker_number not in self._workers_with_games_not_to_add:
            return GameIds()
        select = f"SELECT game_id FROM games_not_to_add WHERE worker = {worker_number}"
        return self._database.write_and_load_ids(
            self._connection, select, f"games-not-to-add-{worker_number}"
        )

    def iter_relocated_game_rows(self) -> Iterator[pa.Table]:
        """Return an iterator of Arrow tables with the relocated games.

        Their document is no longer at the location that the lake has. The rows of the table `games`
        get a new source and path.
        """
        columns = (
            "lake_games.* REPLACE (relocated_games.source AS source, relocated_games.path AS path)"
        )
        select = f"SELECT {columns} FROM lake_games INNER JOIN relocated_games USING (game_id)"
        return iter_arrow_batches(self._connection, select, BATCH_ROWS)

    def locations_of_removed_known_games(self) -> pl.DataFrame:
        """Return the locations of documents that were skipped, although the lake lacks their games.

        Another ingest has removed these games since this ingest began.
        """
        return run_trusted_query(
            self._connection,
            "SELECT location FROM documents_with_status WHERE is_known_game_missing",
        )

    def select_and_register_archive_rows(self, archives: pl.DataFrame) -> pl.DataFrame:
        """Return the rows to add to the table `archives`, and register them as a view.

        A known archive gets a row only if one of its documents changed. `iter_new_document_rows`
        returns all documents of the archives in the view.

        Args:
            archives: The archives that were read, from `recorded_archive_rows`.
        """
        if archives.is_empty():  # Most ingests; empty queries would take 10 ms.
            empty_numbers = pl.DataFrame(
                schema={"source_order": pl.Int64, "archive_number": pl.UInt32}
            )
            register_rows(self._connection, "documents_in_read_archives", empty_numbers)
            register_rows(self._connection, "archives_to_record", empty_numbers)
            return archives.drop("is_known")
        register_rows(self._connection, "read_archives", archives.with_row_index("archive_number"))
        documents = "(FROM documents_with_status, (SELECT DISTINCT ingest_id FROM read_archives))"
        select = ingest_select(
            "documents_in_archives", documents=documents, archives="read_archives"
        )
        create_or_replace_view(self._connection, "documents_in_read_archives", select)
        rows = run_trusted_query(self._connection, ingest_select("archives_to_record"))
        register_rows(self._connection, "archives_to_record", rows)
        return rows.select(list(table_schema("archives")))

    def iter_new_document_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """Return an iterator of Arrow tables with the rows to add to the table `documents`.

        These are the changed documents, and all documents of the archives that
        `select_and_register_archive_rows` returned, in the order of the sources.

        Args:
            ingest_id: Number of the ingest.
        """
        select = ingest_select("new_document_rows", ingest_id=str(ingest_id))
        return iter_arrow_batches(self._connection, select, BATCH_ROWS)


_LINE_SEPARATOR = "#"
_FILES_PER_LOOKUP = 256
_ARCHIVE_LOOKUP_SCHEMA = {
    "archive_number": pl.Int64,
    "source": pl.String,
    "prefix": pl.String,
    "n_bytes": pl.Int64,
    "ingest_id": pl.Int64,
}


class _ArchiveVersion(Struct, frozen=True):
    """An archive that was read, for a row of the table `archives`.

    Attributes:
        file: Path of the archive.
        version_before_reading: The version of the file before it was read.
        source: Source of the documents in the archive.
        prefix: Beginning of the paths of these documents.
        n_bytes: Size of the file.
        sha256: Hash of the file.
    """

    file: str
    version_before_reading: tuple[int, ...]
    source: str
    prefix: str
    n_bytes: int
    sha256: str


class UnchangedArchiveCache:
    """Skips large archives that have not changed since an earlier ingest.

    Their documents are reported from the lake, because unpacking and hashing them again is slow.
    The cache also records the archives that this ingest reads, so that later ingests can skip them.
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

    def iter_files_to_read(self, source_files: Iterator[SourceFile]) -> Iterator[SourceFile]:
        """Yield the files that workers must read, and report unchanged archives from the lake.

        Args:
            source_files: The source files.

        Yields:
            The source files that are not unchanged archives.
        """
        if self._rereads or not self._last_ingest_by_archive_and_hash:
            yield from source_files
            return
        while batch := list(islice(source_files, _FILES_PER_LOOKUP)):
            skipped = self._report_and_return_unchanged_archives(batch)
            yield from (source_file for source_file in batch if source_file not in skipped)

    def iter_documents_and_record_archive(
        self, source_file: SourceFile, documents: Iterator[Document]
    ) -> Iterator[Document]:
        """Yield the documents of an archive, and then record that the archive was read completely.

        Args:
            source_file: The archive.
            documents: The documents of the archive.

        Yields:
            The documents.
        """
        version_before_reading, (source, prefix), document = (
            _local_file_version(source_file),
            _source_and_path_prefix_of_archive(source_file),
            None,
        )
        for document in documents:
            yield document
        # A truncated or invalid archive ends with a document for the archive itself, and is not
        # recorded. A file with named parts is not recorded either, because the lake is searched
        # for numbered lines.
        if document is None or (document.source == source and document.path.startswith(prefix)):
            archive = _hash_archive_if_regular_file(source_file, version_before_reading)
            self._archives_read += [archive] if archive else []

    def recorded_archive_rows(self, ingest_id: int) -> pl.DataFrame:
        """Return rows of the table `archives` for the recorded archives.

        An archive that has changed since it was read is excluded.

        Args:
            ingest_id: Number of the ingest.

        Returns:
            The columns of `archives`, and `is_known`: whether an earlier ingest with the same
            settings has recorded the archive.
        """
        schema = table_schema("archives")
        column_names = [name for name in schema if name != "ingest_id"]
        rows = [
            [
                *(ingest_id, *(getattr(archive, name) for name in column_names)),
                archive.sha256
                in self._last_ingest_by_archive_and_hash.get((archive.source, archive.prefix), {}),
            ]
            for archive in self._archives_read
            if file_change_key(archive.file) == archive.version_before_reading
        ]
        # If two files have the same printed name, their documents cannot be distinguished later.
        is_unique = pl.struct("source", "prefix").is_unique()
        known_schema = {"is_known": pl.Boolean()}
        return pl.DataFrame(rows, {**schema, **known_schema}, orient="row").filter(is_unique)

    def _report_and_return_unchanged_archives(
        self, source_files: Sequence[SourceFile]
    ) -> set[SourceFile]:
        unchanged: list[tuple[SourceFile, _ArchiveVersion, int]] = []
        for source_file in source_files:
            last_ingest_by_hash = (
                self._last_ingest_by_archive_and_hash.get(
                    _source_and_path_prefix_of_archive(source_file), {}
                )
                if source_file.can_hold_many_documents
                else {}
            )
            archive = (
                _hash_archive_if_regular_file(source_file, _local_file_version(source_file))
                if last_ingest_by_hash
                else None
            )
            if archive is not None and archive.sha256 in last_ingest_by_hash:
                unchanged.append((source_file, archive, last_ingest_by_hash[archive.sha256]))
        if not unchanged:
            return set()
        rows = [
            (number, archive.source, archive.prefix, archive.n_bytes, ingest_id)
            for number, (_, archive, ingest_id) in enumerate(unchanged)
        ]
        skipped_numbers = self._report_documents_of_skipped_archives(
            pl.DataFrame(rows, schema=_ARCHIVE_LOOKUP_SCHEMA, orient="row")
        )
        return {unchanged[number][0] for number in skipped_numbers}

    @cached_property
    def _last_ingest_by_archive_and_hash(self) -> dict[tuple[str, str], dict[str, int]]:
        """The last ingest with equal settings that read an archive, by location and hash."""
        if self._lake is None or not self._lake.file_sizes_bytes("archives"):
            return {}
        has_same_settings = [
            pl.col(column).eq_missing(pl.lit(value))
            for column, value in self._job.reading_settings().items()
        ]
        ingests = self._lake.table("ingests").filter(*has_same_settings)
        archives = self._lake.table("archives").join(ingests, on="ingest_id", how="semi")
        rows = archives.select("source", "prefix", "sha256", "ingest_id").sort("ingest_id")
        last_ingests: dict[tuple[str, str], dict[str, int]] = {}
        for source, prefix, sha256, ingest_id in rows.collect().iter_rows():
            last_ingests.setdefault((source, prefix), {})[sha256] = ingest_id
        return last_ingests

    def _report_documents_of_skipped_archives(self, archive_rows: pl.DataFrame) -> list[int]:
        """Report the documents of unchanged archives, and return the numbers of these archives.

        An archive is omitted, because it must be read again, if a document in it has to be decoded
        or could not be read before, or if the lake no longer has the error of a quarantined
        document.
        """
        with self._database.open_connection(self._lake) as connection:
            register_rows(connection, "unchanged_archives", archive_rows)
            documents_select = ingest_select(
                "documents_in_archives", documents="documents", archives="unchanged_archives"
            )
            for name, select in (
                ("documents_in_unchanged_archives", documents_select),
                ("archives_to_read_again", ingest_select("archives_to_read_again")),
                (
                    "skipped_documents",
                    "FROM documents_in_unchanged_archives "
                    "ANTI JOIN archives_to_read_again USING (archive_number)",
                ),
            ):
                self._database.write_result_and_create_view(connection, name, select)
            self._n_reports += 1
            file = self._database.scratch / f"skipped-documents-{self._n_reports}.parquet"
            faults_file = file.with_stem(f"{file.stem}-faults")
            write_parquet(connection, ingest_select("skipped_documents_as_scanned"), file)
            write_parquet(connection, ingest_select("errors_of_skipped_documents"), faults_file)
            skipped_archives = run_trusted_query(
                connection,
                "FROM unchanged_archives ANTI JOIN archives_to_read_again USING (archive_number)",
            )
            counts_select = (
                "SELECT count(*), count(*) FILTER (status = 'quarantined') FROM skipped_documents"
            )
            n_documents, n_quarantined = run_trusted_query(connection, counts_select).row(0)
        n_bytes = int(skipped_archives["n_bytes"].sum())
        rows = {"seen": file, "faults": faults_file} if n_quarantined else {"seen": file}
        self._add_findings(WorkerFindings(n_documents, n_bytes, rows))
        return skipped_archives["archive_number"].to_list()


def _source_and_path_prefix_of_archive(source_file: SourceFile) -> tuple[str, str]:
    """Return the source of an archive's documents, and the prefix of their paths."""
    assert source_file.file is not None
    return source_and_path_of_part(
        source_file, "/" if file_type(source_file.file).is_archive else _LINE_SEPARATOR
    )


def _local_file_version(source_file: SourceFile) -> tuple[int, ...] | None:
    """Return the version of a file; None if it is unknown, as on an object store."""
    return file_change_key(source_file.file) if source_file.file is not None else None


def _hash_archive_if_regular_file(
    source_file: SourceFile, version_before_reading: tuple[int, ...] | None
) -> _ArchiveVersion | None:
    """Hash an archive; return None if it is not a readable, non-empty regular file."""
    if (
        source_file.file is None
        or version_before_reading is None
        or not can_open_without_waiting(source_file.file)
        or not source_file.n_bytes  # A file of the kernel can be endless.
    ):
        return None
    try:
        with Path(source_file.file).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    source, prefix = _source_and_path_prefix_of_archive(source_file)
    return _ArchiveVersion(
        source_file.file, version_before_reading, source, prefix, source_file.n_bytes, sha256
    )
