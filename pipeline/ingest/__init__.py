"""Ingest: documents of any source become rows of a lake, all of them or none.

Workers decode documents a batch at a time into files that nobody sees yet; one transaction at the
end decides what each document is and makes the files part of the lake.
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
from pipeline.events.contracts import GAME_TABLES, registered_roles
from pipeline.ingest.decode import AssignedModels, GameIds, IngestSummary, ModelsOf
from pipeline.ingest.worker import (
    IngestJob,
    StagedFiles,
    WorkerTeam,
    process_team,
    split_into_tasks,
)
from pipeline.lake import StoredLake, create_lake, is_lake, open_lake
from pipeline.lake.files import delete_staged_files
from pipeline.lake.tables import ROLES_TABLE, mark_as_writing
from pipeline.lake.transaction import (
    RowMask,
    RowRemoval,
    Transaction,
    begin_transaction,
    check_writable,
    name_lake_in_errors,
)
from pipeline.processes import available_cores
from pipeline.stores import file_version, parse_location
from pipeline.version import __version__

if TYPE_CHECKING:
    from pipeline.ingest.resolve import FindingsCollector, IngestPlan, UnchangedArchiveCache

# When to read what a benchmark still writes: whenever it has changed and then stood still.
#
# A file that is read half written is quarantined, and replaced as soon as it is whole: to wait only
# spares that. Nothing is kept between the readings, since an ingest knows what the lake has.


def wait_for_settled_files(
    sources: Sequence[str],
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    on_missing: Callable[[str], None] = lambda text: None,
) -> Generator[None, bool | None]:
    """Yield each time that the source files have changed and then stayed unchanged for an interval.

    A file that is read while it is written would be quarantined, and replaced by the next ingest.
    The generator never ends. It yields again if the files changed while the caller read them.

    Args:
        sources: Paths or URLs of files and folders.
        seconds: Interval between two checks, in seconds.
        sleep: Called with `seconds` between two checks.
        on_missing: Called with a message each time that the sources disappear; they can come back.

    Yields:
        None. The caller sends True if the sources could not be read; they are then yielded again.

    Raises:
        SourceError: If a source does not exist at the first check.
    """
    read, before, is_missing = b"", None, False
    while True:
        try:
            now, is_missing = _hash_source_files(sources), False
        except SourceError as error:
            if before is None:
                raise
            if not is_missing:
                on_missing(str(error))
            now, is_missing = b"", True
        if now and now != read and (not read or now == before):
            read = read if (yield) else now
        before = now
        sleep(seconds)


def _hash_source_files(sources: Sequence[str]) -> bytes:
    """Return a hash of the files' names, sizes and (local) versions; empty without files."""
    digest = sha256()
    try:
        for unit in iter_source_files(sources):
            seen = None if unit.file is None else file_version(unit.file)
            digest.update(repr((unit.source, unit.path, unit.n_bytes, seen)).encode())
    except SourceError:
        if all(Path(source).is_dir() for source in sources):
            return b""
        raise
    return digest.digest()


MEMORY = 2 * 2**30
MIN_MEMORY_BYTES = 2**29
# Of a job's memory, the part that a batch of documents may have: decoded, it takes about ten times
# as much as its bytes. Smaller batches than the least are slow, larger than the most no faster.
_BATCH_MEMORY_DIVISOR = 16
_MIN_BATCH_BYTES, _MAX_BATCH_BYTES = 2 * 2**20, 32 * 2**20

_MAX_JOBS_PER_CORE = 8  # of a core


Progress = Callable[[int, int], None]


def ingest(
    sources: str | Path | Sequence[str | Path],
    lake: str | Path,
    *,
    model: str | ModelsOf | None = None,
    dry_run: bool = False,
    jobs: int | None = None,
    memory: int = MEMORY,
    max_document: int = MAX_DOCUMENT_BYTES,
    max_expanded: int | None = None,
    team: WorkerTeam | None = None,
    reread: bool = False,
    on_progress: Progress | None = None,
) -> IngestSummary:
    """Read every document of the sources into the lake, which is created if it does not exist.

    Args:
        sources: Paths or URLs of files, archives and folders.
        lake: Path or URL of the lake.
        model: Who played, for logs that do not say it: a model, or models by pattern of the
            document's path, of which the first match applies. In a pattern's value, players can
            have a model each.
        dry_run: Whether to write nothing.
        jobs: Number of worker processes; None for one per core. A small ingest runs in this
            process.
        memory: Approximate memory of all processes together, in bytes.
        max_document: A document with more bytes is quarantined unread.
        max_expanded: Maximum number of bytes to extract from a compressed file or an archive; the
            rest is quarantined. None for 200 times its size, at least 1 GiB.
        team: Workers that are not processes of this machine, such as those of `pipeline.spark`.
        reread: Whether to read unchanged large archives again, and games of which a part is in
            quarantine; such a game replaces its earlier version.
        on_progress: Called with the number of documents seen and of bytes read from disk since the
            last call.

    Returns:
        The counts of documents and games, and the errors.

    Raises:
        UsageError: If an argument is invalid, for example too little memory.
        SourceError: If a source cannot be read at all.
        LakeError: If the lake cannot be written.
    """
    # Here, since workers import this module and not what decides: that loads DuckDB.
    from pipeline.ingest.resolve import (
        FindingsCollector,
        IngestDatabase,
        UnchangedArchiveCache,
        plan_ingest,
        write_known_game_ids,
    )

    if memory < MIN_MEMORY_BYTES:
        raise UsageError(f"an ingest needs at least {MIN_MEMORY_BYTES >> 20} MiB of memory")
    given = AssignedModels.from_argument(model)
    jobs = jobs or available_cores()
    if jobs > (most := _MAX_JOBS_PER_CORE * available_cores()):
        raise UsageError(f"{jobs:,} processes are too many for this machine: use at most {most:,}")
    tell = on_progress or (lambda n_documents, n_bytes: None)
    names = resolve_sources(sources)
    started_at = datetime.now(UTC)
    is_there = is_lake(lake)
    opened = open_lake(lake) if is_there else None if dry_run else create_lake(lake)
    if opened and is_there:
        check_writable(opened)
        _check_game_definitions(opened)
    left: list[str] = []
    with (
        name_lake_in_errors(lake),
        # Whatever becomes of its own folder, an ingest that is committed is done.
        tempfile.TemporaryDirectory(prefix="magic-", ignore_cleanup_errors=True) as scratch,
    ):
        database = IngestDatabase(Path(scratch), memory, reread)
        known = write_known_game_ids(database, opened)
        job = IngestJob(
            lake=None if dry_run or opened is None else str(opened.path),
            scratch=scratch,
            token=uuid.uuid4().hex,
            models=given,
            known=str(known) if known else None,
            max_document=max_document,
            max_expanded=max_expanded,
            batch_bytes=min(
                max(memory // jobs // _BATCH_MEMORY_DIVISOR, _MIN_BATCH_BYTES), _MAX_BATCH_BYTES
            ),
        )
        collected = FindingsCollector(database.scratch, tell)
        # Workers elsewhere read archives themselves, and may have others under the same names.
        recall = UnchangedArchiveCache(
            job, None if team else opened, collected.add_findings, database, rereads=reread
        )
        with (
            mark_as_writing(parse_location(job.lake), job.token, left.append)
            if job.lake
            else nullcontext()
        ):
            change: Transaction | None = None
            try:
                unread = recall.unread(iter_source_files(names))
                chosen = team or partial(process_team, jobs)
                staged = _run_workers(unread, job, chosen, collected=collected, recall=recall)
                files = collected.files("seen"), collected.files("faults")
                with (
                    begin_transaction(job.lake) if job.lake else nullcontext() as change,
                    plan_ingest(database, change.lake if change else opened, *files) as found,
                ):
                    report = found.summary(change.ingest_id if change else None)
                    _check_document_counts(report, collected.n_documents)
                    if change:
                        began = {
                            "started_at": started_at,
                            "sources": list(map(to_valid_utf8, names)),
                            **job.settings(),
                        }
                        _commit_ingest(change, found, report, staged, began, recall=recall)
                        report.upgraded_from = change.upgraded_from
            finally:
                # Tables may name the workers' files once the commit has begun, and never do else.
                if job.lake and not (change and change.has_begun):
                    for table in GAME_TABLES:
                        delete_staged_files(parse_location(job.lake) / table, job.token)
    report.left = left
    return report


def _run_workers(
    found: Iterator[SourceFile],
    job: IngestJob,
    team: WorkerTeam,
    *,
    collected: "FindingsCollector",
    recall: "UnchangedArchiveCache",
) -> list[StagedFiles]:
    """Decode all documents, collect the findings, and return each worker's staged files."""

    def read(unit: SourceFile) -> Iterable[Document]:
        documents = job.read(unit, lambda n_bytes: collected.tell(0, n_bytes))
        return recall.iter_and_record(unit, documents) if job.lake else documents

    with team(job, found) as (workers, dealt):
        for findings in workers.run(
            split_into_tasks(dealt, read if workers.takes_documents else None)
        ):
            collected.add_findings(findings)
        staged = workers.finish()
    for left in staged:
        collected.add_findings(left.findings)
    return staged


def _commit_ingest(
    change: Transaction,
    resolution: "IngestPlan",
    report: IngestSummary,
    staged: list[StagedFiles],
    began: dict[str, object],
    *,
    recall: "UnchangedArchiveCache",
) -> None:
    """Write all rows that the ingest adds and removes, with the workers' files, and commit them."""
    _check_known_games_remain(resolution)
    outdated_games = resolution.superseded_or_moved
    for table in GAME_TABLES if outdated_games else ():
        if gone := outdated_games if table == "games" else resolution.superseded:
            change.remove_rows(table, _removal_of_games(gone))
    if len(outdated_games) > len(resolution.superseded):
        change.write_rows("games", resolution.moved_games())
    for worker, left in enumerate(staged):
        surplus = resolution.surplus(worker)
        for table in GAME_TABLES:
            files = left.files[table]
            if surplus:
                files = change.staged_without_rows(table, files, _removal_of_games(surplus))
            change.add_files(table, files)
    write_roles(change, report.games["game_type"])
    noted = resolution.noted(recall.archives(change.ingest_id))
    change.write_rows("documents", resolution.iter_document_rows(change.ingest_id))
    change.write_rows("archives", [noted])
    if outdated := resolution.refusals.outdated():
        change.remove_rows("quarantine", outdated)
    change.write_rows("quarantine", resolution.refusals.iter_new_rows(change.ingest_id))
    change.commit(
        began
        | {
            "n_documents": report.n_seen,
            **{f"n_{status}": n for status, n in report.statuses.items()},
            "n_superseded": report.n_superseded,
            "tool_version": __version__,
        }
    )


def _check_game_definitions(lake: StoredLake) -> None:
    """Raise LakeError if a game's definition has changed since its games were ingested."""
    if changed := lake.changed_game_types:
        raise LakeError(
            f"{lake.path}: roles or endings of {', '.join(changed)} are declared otherwise now "
            "than when its games were ingested: ingest all of them into a new lake"
        )


def write_roles(change: Transaction, game_types: pl.Series) -> None:
    """Write the roles of the game types that the lake does not have yet, or has incompletely.

    Args:
        change: The transaction of the ingest.
        game_types: The game types of the new games.

    Raises:
        LakeError: If a game's definition differs from the one in the lake, which another ingest may
            have committed meanwhile.
    """
    _check_game_definitions(change.lake)
    stored = change.lake.roles
    wanted = registered_roles().filter(pl.col("game_type").is_in(game_types.implode()))
    new = wanted.join(stored, on=wanted.columns, how="anti")["game_type"].unique()
    if new.is_empty():
        return
    is_new = pl.col("game_type").is_in(new.implode())

    def mask(rows: pa.Table) -> RowMask:  # a removal has texts as dictionaries
        return pl.DataFrame(rows).cast(pl.String).select(is_new).to_series().to_numpy()

    if stored.filter(is_new).height:
        change.remove_rows(ROLES_TABLE, RowRemoval(("game_type",), mask))
    change.write_rows(ROLES_TABLE, [wanted.filter(is_new)])


def _removal_of_games(ids: GameIds) -> RowRemoval:
    """Return the removal of all rows of these games from a table."""
    return RowRemoval(("game_id",), lambda rows: ids.has_each(rows["game_id"]))


def _check_known_games_remain(resolution: "IngestPlan") -> None:
    """Raise LakeError if another ingest removed a game whose document was skipped as known."""
    lost = resolution.lost()
    if lost.height:
        raise LakeError(
            f"another ingest removed {lost.height} games in the meantime, for example the one "
            f"in {lost['location'][0]}; nothing was changed: run this ingest again"
        )


def _check_document_counts(report: IngestSummary, n_read: int) -> None:
    """Raise PipelineError if some documents that were read have no status."""
    if report.n_seen != n_read:
        raise PipelineError(
            f"{n_read:,} documents were read but {report.n_seen:,} are accounted for; nothing was "
            "changed. This is a bug in magic: please report it with these numbers"
        )
