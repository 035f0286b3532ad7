"""Ingest the documents of any sources into a lake, in one transaction.

Workers decode batches of documents into staged files; the transaction decides the status of each
document and adds the files to the lake. `magic ingest` and `Lake.ingest` call this module.
"""

import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from pipeline.archives import MAX_DOCUMENT_BYTES, Document, SourceFile, iter_source_files
from pipeline.archives.sources import resolve_sources, to_valid_utf8
from pipeline.errors import LakeError, PipelineError, SourceError, UsageError
from pipeline.events.contracts import GAME_TABLES, TABLES, registered_roles
from pipeline.ingest.decode import AssignedModels, GameIds, IngestSummary, ModelsOf
from pipeline.ingest.worker import (
    IngestJob,
    StagedFiles,
    WorkerTeam,
    split_into_tasks,
    start_processes_or_use_this_one,
)
from pipeline.lake import StoredLake, is_lake, open_lake, open_or_create_lake
from pipeline.lake.files import delete_staged_files
from pipeline.lake.tables import ROLES_TABLE, hold_writer_lock
from pipeline.lake.transaction import (
    RowMask,
    RowRemoval,
    Transaction,
    begin_transaction,
    check_tables_match_packages,
    reraise_as_lake_error,
)
from pipeline.processes import available_cores
from pipeline.stores import file_change_key, parse_location
from pipeline.version import __version__

if TYPE_CHECKING:
    from pipeline.ingest.resolve import FindingsCollector, IngestPlan, UnchangedArchiveCache


def wait_for_settled_files(
    sources: Sequence[str],
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    on_missing: Callable[[str], None] = lambda text: None,
) -> Generator[None, bool | None]:
    """Yield each time that the source files have changed and then stayed unchanged for a while.

    A file that is read while it is written would be quarantined, and replaced by the next ingest.
    The generator never ends. It yields again if the files changed while the caller read them.

    Args:
        sources: Paths or URLs of files and folders.
        seconds: Seconds between two checks; unchanged files at two checks have settled.
        sleep: Called with `seconds` between two checks.
        on_missing: Called with a message each time that the sources disappear; they can come back.

    Yields:
        None. If the caller sends True because it could not read the sources, the same files are
        yielded again.

    Raises:
        SourceError: If a source does not exist at the first check.
    """
    last_read_hash, previous_hash, is_missing = b"", None, False
    while True:
        try:
            current_hash, is_missing = _hash_source_file_versions(sources), False
        except SourceError as error:
            if previous_hash is None:
                raise
            if not is_missing:
                on_missing(str(error))
            current_hash, is_missing = b"", True
        if (
            current_hash
            and current_hash != last_read_hash
            and (not last_read_hash or current_hash == previous_hash)
        ):
            last_read_hash = last_read_hash if (yield) else current_hash
        previous_hash = current_hash
        sleep(seconds)


def _hash_source_file_versions(sources: Sequence[str]) -> bytes:
    """Return a hash of the names, sizes and local versions of all source files.

    It is empty if folders exist, but contain no files.
    """
    digest = sha256()
    try:
        for source_file in iter_source_files(sources):
            version = None if source_file.file is None else file_change_key(source_file.file)
            digest.update(
                repr((source_file.source, source_file.path, source_file.n_bytes, version)).encode()
            )
    except SourceError:
        if all(Path(source).is_dir() for source in sources):
            return b""
        raise
    return digest.digest()


DEFAULT_MEMORY_BYTES = 2 * 2**30
MIN_MEMORY_BYTES = 2**29
# A batch of documents gets this fraction of a job's memory, because decoded documents need about
# ten times their size. Smaller batches than the minimum are slow, and larger ones than the maximum
# are not faster.
_BATCH_MEMORY_DIVISOR = 16
_MIN_BATCH_BYTES, _MAX_BATCH_BYTES = 2 * 2**20, 32 * 2**20

_MAX_JOBS_PER_CORE = 8


Progress = Callable[[int, int], None]


def ingest(
    sources: str | Path | Sequence[str | Path],
    lake: str | Path,
    *,
    model: str | ModelsOf | None = None,
    dry_run: bool = False,
    jobs: int | None = None,
    memory: int = DEFAULT_MEMORY_BYTES,
    max_document: int = MAX_DOCUMENT_BYTES,
    max_expanded: int | None = None,
    team: WorkerTeam | None = None,
    reread: bool = False,
    on_progress: Progress | None = None,
) -> IngestSummary:
    """Read all documents of the sources into a lake; create the lake if it does not exist.

    Args:
        sources: Paths or URLs of files, archives and folders.
        lake: Path or URL of the lake.
        model: The model that played the games of logs that name none: a model, or models by pattern
            of the document's path, of which the first match applies. The value of a pattern can be
            a mapping of players to models.
        dry_run: Whether to write nothing.
        jobs: Number of worker processes; None for one per core. A small ingest runs in this
            process.
        memory: Approximate memory of all processes together, in bytes.
        max_document: A document with more bytes is quarantined without being read.
        max_expanded: Maximum number of bytes to extract from a compressed file or an archive; the
            rest is quarantined. None for 200 times its size, but at least 1 GiB.
        team: Starts workers that are not processes of this machine, such as those of
            `pipeline.spark`.
        reread: Whether to read unchanged large archives again, and games of which a part is in
            quarantine; such a game replaces its earlier version.
        on_progress: Called with the numbers of documents and of bytes read from disk since its last
            call.

    Returns:
        The counts of documents and games, and the errors.

    Raises:
        UsageError: If an argument is invalid, for example too little memory.
        SourceError: If a source cannot be read at all.
        LakeError: If the lake cannot be written.
    """
    # Imported here because workers import this module and need no DuckDB.
    from pipeline.ingest.resolve import (
        FindingsCollector,
        IngestDatabase,
        UnchangedArchiveCache,
        plan_ingest,
        write_known_game_ids,
    )

    if memory < MIN_MEMORY_BYTES:
        raise UsageError(f"an ingest needs at least {MIN_MEMORY_BYTES >> 20} MiB of memory")
    assigned_models = AssignedModels.from_model_argument(model)
    jobs = jobs or available_cores()
    if jobs > (max_jobs := _MAX_JOBS_PER_CORE * available_cores()):
        raise UsageError(
            f"{jobs:,} processes are too many for this machine: use at most {max_jobs:,}"
        )
    report_progress = on_progress or (lambda n_documents, n_bytes: None)
    source_paths = resolve_sources(sources)
    started_at = datetime.now(UTC)
    lake_exists = is_lake(lake)
    opened_lake = open_lake(lake) if lake_exists else None if dry_run else open_or_create_lake(lake)
    if opened_lake and lake_exists:
        check_tables_match_packages(opened_lake)
        _check_game_definitions_unchanged(opened_lake)
        for table in () if dry_run else TABLES.keys() - opened_lake.existing_tables:
            # The commit adds the tables that an older lake lacks; workers write files before it.
            opened_lake.table_folder(table).create_folder()
    undeleted_files: list[str] = []
    with (
        reraise_as_lake_error(lake),
        # A committed ingest succeeds even if its temporary folder cannot be deleted.
        tempfile.TemporaryDirectory(prefix="magic-", ignore_cleanup_errors=True) as scratch,
    ):
        database = IngestDatabase(Path(scratch), memory, reread)
        known_ids_file = write_known_game_ids(database, opened_lake)
        job = IngestJob(
            lake=None if dry_run or opened_lake is None else str(opened_lake.path),
            scratch=scratch,
            token=uuid.uuid4().hex,
            models=assigned_models,
            known_ids_file=str(known_ids_file) if known_ids_file else None,
            max_document=max_document,
            max_expanded=max_expanded,
            batch_bytes=min(
                max(memory // jobs // _BATCH_MEMORY_DIVISOR, _MIN_BATCH_BYTES), _MAX_BATCH_BYTES
            ),
        )
        collector = FindingsCollector(database.scratch, report_progress)
        # Workers on other machines read archives themselves, and could have different archives
        # under the same names, so the cache does not use the lake for them.
        archive_cache = UnchangedArchiveCache(
            job, None if team else opened_lake, collector.add_findings, database, rereads=reread
        )
        with (
            hold_writer_lock(parse_location(job.lake), job.token, undeleted_files.append)
            if job.lake
            else nullcontext()
        ):
            change: Transaction | None = None
            try:
                staged_files = _run_workers_and_collect_findings(
                    archive_cache.iter_files_to_read(iter_source_files(source_paths)),
                    job,
                    team or partial(start_processes_or_use_this_one, jobs),
                    collector=collector,
                    archive_cache=archive_cache,
                )
                finding_files = (
                    collector.write_rest_and_list_files("seen"),
                    collector.write_rest_and_list_files("faults"),
                )
                with (
                    begin_transaction(job.lake) if job.lake else nullcontext() as change,
                    plan_ingest(
                        database, change.lake if change else opened_lake, *finding_files
                    ) as plan,
                ):
                    summary = plan.summarize(change.ingest_id if change else None)
                    _check_all_documents_have_status(summary, collector.n_documents)
                    if change:
                        ingest_row = {
                            "started_at": started_at,
                            "sources": list(map(to_valid_utf8, source_paths)),
                            **job.reading_settings(),
                        }
                        _commit_ingest(
                            change,
                            plan,
                            summary,
                            staged_files,
                            ingest_row,
                            archive_cache=archive_cache,
                        )
                        summary.upgraded_from = change.upgraded_from
            finally:
                # Tables can only refer to the workers' files once the commit has begun.
                if job.lake and not (change and change.has_begun):
                    for table in GAME_TABLES:
                        delete_staged_files(parse_location(job.lake) / table, job.token)
    summary.left = undeleted_files
    return summary


def _run_workers_and_collect_findings(
    source_files: Iterator[SourceFile],
    job: IngestJob,
    team: WorkerTeam,
    *,
    collector: "FindingsCollector",
    archive_cache: "UnchangedArchiveCache",
) -> list[StagedFiles]:
    """Decode all documents by workers, collect the findings, and return the staged files."""

    def read_and_record(source_file: SourceFile) -> Iterable[Document]:
        documents = job.iter_documents_of_file(
            source_file, lambda n_bytes: collector.report_progress(0, n_bytes)
        )
        return (
            archive_cache.iter_documents_and_record_archive(source_file, documents)
            if job.lake
            else documents
        )

    with team(job, source_files) as (workers, remaining_files):
        for findings in workers.run(
            split_into_tasks(remaining_files, read_and_record if workers.takes_documents else None)
        ):
            collector.add_findings(findings)
        staged_files = workers.finish()
    for worker_files in staged_files:
        collector.add_findings(worker_files.findings)
    return staged_files


def _commit_ingest(
    change: Transaction,
    plan: "IngestPlan",
    summary: IngestSummary,
    staged_files: list[StagedFiles],
    ingest_row: dict[str, object],
    *,
    archive_cache: "UnchangedArchiveCache",
) -> None:
    """Write and commit all rows that an ingest adds and removes, with the workers' files."""
    _check_skipped_games_still_in_lake(plan)
    outdated_games = plan.superseded_or_relocated_ids
    for table in GAME_TABLES if outdated_games else ():
        if game_ids := outdated_games if table == "games" else plan.superseded_ids:
            change.remove_committed_rows(table, _row_removal_of_games(game_ids))
    if len(outdated_games) > len(plan.superseded_ids):
        change.write_rows("games", plan.iter_relocated_game_rows())
    for worker, worker_files in enumerate(staged_files):
        games_not_to_add = plan.load_ids_of_games_not_to_add(worker)
        for table in GAME_TABLES:
            files = worker_files.files[table]
            if games_not_to_add:
                files = change.remove_rows_from_staged_files(
                    table, files, _row_removal_of_games(games_not_to_add)
                )
            change.add_files(table, files)
    write_roles(change, summary.games["game_type"])
    archive_rows = plan.select_and_register_archive_rows(
        archive_cache.recorded_archive_rows(change.ingest_id)
    )
    change.write_rows("documents", plan.iter_new_document_rows(change.ingest_id))
    change.write_rows("archives", [archive_rows])
    if outdated := plan.quarantine_changes.outdated_rows_removal():
        change.remove_committed_rows("quarantine", outdated)
    change.write_rows("quarantine", plan.quarantine_changes.iter_new_rows(change.ingest_id))
    change.commit(
        ingest_row
        | {
            "n_documents": summary.n_seen,
            **{f"n_{status}": n for status, n in summary.statuses.items()},
            "n_superseded": summary.n_superseded,
            "tool_version": __version__,
        }
    )


def _check_game_definitions_unchanged(lake: StoredLake) -> None:
    """Raise LakeError if a game is defined differently than when its games were ingested."""
    if changed_types := lake.changed_game_types:
        raise LakeError(
            f"{lake.path}: roles or endings of {', '.join(changed_types)} are defined otherwise "
            "now than when its games were ingested: ingest all of them into a new lake"
        )


def write_roles(change: Transaction, game_types: pl.Series) -> None:
    """Write the roles of game types for which the lake has no roles or not all.

    Args:
        change: The transaction of the ingest.
        game_types: The game types of the new games.

    Raises:
        LakeError: If a game's definition differs from the one in the lake, which another ingest may
            have committed meanwhile.
    """
    _check_game_definitions_unchanged(change.lake)
    stored_roles = change.lake.roles
    roles = registered_roles().filter(pl.col("game_type").is_in(game_types.implode()))
    new_types = roles.join(stored_roles, on=roles.columns, how="anti")["game_type"].unique()
    if new_types.is_empty():
        return
    is_new = pl.col("game_type").is_in(new_types.implode())

    def mask(rows: pa.Table) -> RowMask:  # The strings are dictionary-encoded here.
        return pl.DataFrame(rows).cast(pl.String).select(is_new).to_series().to_numpy()

    if stored_roles.filter(is_new).height:
        change.remove_committed_rows(ROLES_TABLE, RowRemoval(("game_type",), mask))
    change.write_rows(ROLES_TABLE, [roles.filter(is_new)])


def _row_removal_of_games(game_ids: GameIds) -> RowRemoval:
    """Return an object that removes all rows of games from a table."""
    return RowRemoval(("game_id",), lambda rows: game_ids.contains_each_in_column(rows["game_id"]))


def _check_skipped_games_still_in_lake(plan: "IngestPlan") -> None:
    """Raise LakeError if another ingest has removed a game whose document was skipped as known."""
    removed_games = plan.locations_of_removed_known_games()
    if removed_games.height:
        raise LakeError(
            f"another ingest removed {removed_games.height} games in the meantime, for example the "
            f"one in {removed_games['location'][0]}; nothing was changed: run this ingest again"
        )


def _check_all_documents_have_status(summary: IngestSummary, n_documents_read: int) -> None:
    """Raise PipelineError if the number of statuses differs from the number of documents read."""
    if summary.n_seen != n_documents_read:
        raise PipelineError(
            f"{n_documents_read:,} documents were read but {summary.n_seen:,} are accounted for; "
            "nothing was changed. This is a bug in magic: please report it with these numbers"
        )
