"""Split an ingest into tasks, and run the workers that decode documents into staged files.

Workers run in the process of the ingest, in processes of their own, or on a cluster. They return
their findings as Arrow data, but write the rows of games to files.
"""

import gc
import os
import pickle
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, compress, count, groupby, starmap
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import polars as pl
from msgspec import Struct, field

from pipeline.archives import Document, ExternalDocument, SourceFile, iter_file_documents
from pipeline.errors import PipelineError
from pipeline.events.contracts import GAME_TABLES
from pipeline.events.readings import game_id
from pipeline.formats import find_splitter
from pipeline.ingest.decode import (
    KNOWN,
    AssignedModels,
    GameIds,
    ScannedDocument,
    decode_documents,
    quarantine_frame,
    scan_document,
    scanned_documents_frame,
)
from pipeline.lake.files import DataFile, TableWriter, staged_file_prefix
from pipeline.lake.tables import map_tables_in_parallel
from pipeline.processes import (
    available_cores,
    describe_exit_code,
    parent_connection,
    start_python_process,
)
from pipeline.provenance import hash_ingest_code
from pipeline.stores import parse_location

# A task names plain files and small archives, which the worker reads. A large archive is read by
# the ingest while workers decode the documents that were read so far.
TASK_BYTES = 8 * 2**20
TASK_UNITS = 1000
# A larger archive can hold more than one task, so it is divided among the workers.
LARGE_ARCHIVE_BYTES = 2**20


class WorkerTask(NamedTuple):
    """A part of an ingest for one worker: either source files or documents.

    Attributes:
        number: Number of the task, in the order of the sources.
        units: Source files that the worker reads.
        documents: Documents of a large archive that the ingest has read.
    """

    number: int
    source_files: tuple[SourceFile, ...] = ()
    documents: tuple[Document, ...] = ()


ReadArchive = Callable[[SourceFile], Iterable[Document]]


def split_into_tasks(
    source_files: Iterable[SourceFile], read_large_archive: ReadArchive | None
) -> Iterator[WorkerTask]:
    """Yield tasks that are small enough for one worker to hold in memory.

    Args:
        source_files: The source files.
        read_large_archive: Returns the documents of a large archive, which are divided into tasks;
            None if workers read large archives themselves.

    Yields:
        The tasks, in the order of the sources.
    """
    numbers = count()
    for is_large, group in groupby(source_files, _is_large_archive):
        if not is_large:
            for batch in _iter_batches_of_task_size(group, lambda source_file: source_file.n_bytes):
                yield WorkerTask(next(numbers), source_files=batch)
            continue
        for source_file in group:
            if read_large_archive is None:
                yield WorkerTask(next(numbers), source_files=(source_file,))
                continue
            for documents in _iter_batches_of_task_size(
                read_large_archive(source_file), lambda document: len(document.data or b"")
            ):
                yield WorkerTask(next(numbers), documents=documents)


def _is_large_archive(source_file: SourceFile) -> bool:
    """Return whether a file is an archive of so many bytes that it is split into several tasks."""
    return source_file.n_bytes >= LARGE_ARCHIVE_BYTES and source_file.can_hold_many_documents


T = TypeVar("T")


def _iter_batches_of_task_size(
    items: Iterable[T], item_size_bytes: Callable[[T], int]
) -> Iterator[tuple[T, ...]]:
    """Yield batches of at most `TASK_UNITS` items and about `TASK_BYTES` bytes."""
    batch: list[T] = []
    n_bytes = 0
    for item in items:
        batch.append(item)
        n_bytes += item_size_bytes(item)
        if n_bytes >= TASK_BYTES or len(batch) >= TASK_UNITS:
            yield tuple(batch)
            batch, n_bytes = [], 0
    if batch:
        yield tuple(batch)


BATCH_DOCUMENTS = 20_000


class IngestJob(Struct, frozen=True):
    """The settings of an ingest that every worker needs.

    Attributes:
        lake: Path or URL of the lake; None if nothing is written.
        scratch: Temporary folder of the ingest on this machine.
        token: Prefix of the names of staged files, by which they are found and deleted if the
            ingest fails.
        models: Models for logs that name none.
        known: File with the ids of the games that the lake had when the ingest began; None if it
            had no games.
        max_document: A document with more bytes is quarantined unread.
        max_expanded: Maximum number of bytes to extract from a file; None for the default.
        batch_bytes: Size of a batch of documents in bytes.
    """

    lake: str | None
    scratch: str
    token: str
    models: AssignedModels
    known_ids_file: str | None
    max_document: int
    max_expanded: int | None
    batch_bytes: int

    def reading_settings(self) -> dict[str, object]:
        """Return the settings that affect how documents are read, by column of `ingests`."""
        return {
            "code_sha256": hash_ingest_code(),
            "assigned_model": self.models.as_name_or_json,
            "max_document": self.max_document,
            "max_expanded": self.max_expanded,
        }

    def iter_documents_of_file(
        self, source_file: SourceFile, on_bytes: Callable[[int], None]
    ) -> Iterator[Document]:
        """Return an iterator over the documents in a source file.

        Args:
            source_file: The source file.
            on_bytes: Called with the number of bytes read from disk since its last call.
        """
        documents = iter_file_documents(
            source_file,
            self.max_document,
            on_bytes,
            max_expanded=self.max_expanded,
            choose=find_splitter,
        )
        return starmap(ExternalDocument, documents) if source_file.is_outside else documents


class WorkerFindings(Struct, frozen=True):
    """The documents and errors that a worker has found since its last findings.

    Attributes:
        n_documents: Number of documents read.
        n_bytes: Number of bytes that the worker itself read from disk.
        rows: Rows of `seen` (documents) and `faults`, each as an Arrow stream or a Parquet file.
    """

    n_documents: int
    n_bytes: int
    rows: Mapping[str, bytes | Path]


class StagedFiles(Struct, frozen=True):
    """The last findings of a worker, and the files of rows that it wrote.

    Attributes:
        findings: The last findings.
        files: The files by name of the table; the commit of the ingest adds them to the lake.
    """

    findings: WorkerFindings
    files: dict[str, list[DataFile]] = field(default_factory=dict)


class Worker:
    """Decodes documents in batches, and writes the rows of their games to files.

    It also implements `Workers` for an ingest with only one worker, in the same process.
    """

    takes_documents = True

    def __init__(self, job: IngestJob, number: int) -> None:
        self._job = job
        self._number = number
        self._known_ids = GameIds.open_ids_file(job.known_ids_file) if job.known_ids_file else None
        self._decoded_ids = GameIds()
        self._writers: dict[str, TableWriter] = {}
        if job.lake is not None:
            lake, file_prefix = (
                parse_location(job.lake),
                staged_file_prefix(f"{job.token}-{number}"),
            )
            self._writers = {
                table: TableWriter(lake / table, table, file_prefix) for table in GAME_TABLES
            }
        self._waiting: list[tuple[int, Document]] = []
        self._waiting_bytes = 0
        self._n_documents = self._n_bytes = 0  # Since the last report, like the frames.
        self._frames: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self._is_finished = False

    def run_task(self, task: WorkerTask) -> WorkerFindings:
        """Read the documents of a task, and decode waiting documents whenever they fill a batch.

        Args:
            task: The task.

        Returns:
            The findings in the documents that were decoded since the last call.
        """
        documents_of_files = chain.from_iterable(
            self._job.iter_documents_of_file(unit, self._add_bytes) for unit in task.source_files
        )
        for position, document in enumerate(
            chain(task.documents, documents_of_files), start=task.number << 32
        ):
            self._waiting.append((position, document))
            self._waiting_bytes += len(document.data or b"")
            self._n_documents += 1
            if (
                self._waiting_bytes >= self._job.batch_bytes
                or len(self._waiting) >= BATCH_DOCUMENTS
            ):
                self._decode_waiting_documents()
        return self._return_and_clear_findings()

    def run(self, tasks: Iterable[WorkerTask]) -> Iterator[WorkerFindings]:
        """Return an iterator that runs the tasks one after another and yields their findings."""
        return map(self.run_task, tasks)

    def finish(self) -> list[StagedFiles]:
        """Decode the remaining documents, and close the files of rows.

        Returns:
            A list with only this worker's files and last findings.
        """
        self._decode_waiting_documents()
        map_tables_in_parallel(lambda table: self._writers[table].close(), self._writers)
        self._is_finished = True
        files = {table: writer.files for table, writer in self._writers.items()}
        return [StagedFiles(self._return_and_clear_findings(), files)]

    def stop(self) -> None:
        """Delete the files of rows, unless `finish` has returned them."""
        for writer in () if self._is_finished else self._writers.values():
            writer.delete_files()

    def _return_and_clear_findings(self) -> WorkerFindings:
        rows = {
            name: pl.concat(frames).write_ipc_stream(None).getvalue()
            for name, frames in self._frames.items()
        }
        findings = WorkerFindings(self._n_documents, self._n_bytes, rows)
        self._n_documents = self._n_bytes = 0
        self._frames.clear()
        return findings

    def _add_bytes(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes

    def _decode_waiting_documents(self) -> None:
        if not self._waiting:
            return
        was_enabled = gc.isenabled()
        gc.disable()  # Decoded data has no reference cycles, and searching it for some is slow.
        try:
            documents = [document for _, document in self._waiting]
            scanned_documents = [
                scan_document(document, order) for order, document in self._waiting
            ]
            self._mark_known_documents(scanned_documents)
            batch = decode_documents(
                documents, scanned_documents, self._job.models, self._decoded_ids
            )
            self._frames["seen"].append(scanned_documents_frame(scanned_documents, self._number))
            if batch.quarantine_rows:
                self._frames["faults"].append(quarantine_frame(batch.quarantine_rows))
            for table, writer in self._writers.items():
                writer.write(batch.tables[table])
        finally:
            if was_enabled:
                gc.enable()
        self._waiting, self._waiting_bytes = [], 0

    def _mark_known_documents(self, documents: list[ScannedDocument]) -> None:
        """Mark the documents whose games the lake has, so that they are not decoded again."""
        if self._known_ids is None:
            return
        # First without a model, because models that a log names take precedence.
        documents_without_model = [
            (document, None) for document in documents if document.sha256 is not None
        ]
        unmarked_documents = self._mark_documents_with_known_ids(
            self._known_ids, documents_without_model
        )
        self._mark_documents_with_known_ids(
            self._known_ids,
            [
                (document, model)
                for document in unmarked_documents
                if (model := self._job.models.model_at_path(document.path))
            ],
        )

    @staticmethod
    def _mark_documents_with_known_ids(
        known_ids: GameIds, documents_with_models: Sequence[tuple[ScannedDocument, str | None]]
    ) -> list[ScannedDocument]:
        """Mark documents as known if the id of their game with the paired model is known.

        Returns:
            The other documents.
        """
        ids = [
            game_id(str(document.sha256), document.game_index, model)
            for document, model in documents_with_models
        ]
        is_known = known_ids.contains_each(ids)
        for (document, model), id_ in compress(
            zip(documents_with_models, ids, strict=True), is_known
        ):
            document.status_alone, document.game_id, document.assigned_model = KNOWN, id_, model
        return [document for document, _ in compress(documents_with_models, ~is_known)]


# Worker processes are started, not forked, and import only what a worker needs. The ingest handles
# interrupts and errors. A worker whose ingest has terminated deletes its files and exits.

_TERMINATE_TIMEOUT_SECONDS = 5
_FINISH_SIGNAL = None
# Memory that polars and Arrow free after a batch is kept for the next one, because returning it to
# the system and clearing it again takes 5 % of the processor time.
_ALLOCATOR_ENVIRONMENT = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:-1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
# Garbage collection during the imports would take 35 ms and find nothing.
_WORKER_PROGRAM = "import gc; gc.disable(); from pipeline.ingest.worker import main; main()"


# A process starts in a second, in which another decodes this many bytes. With less than twice as
# many, one process is faster than two. Compressed files count as several times their size.
_MIN_BYTES_PER_PROCESS = 48 * 2**20
_ASSUMED_EXPANSION = 8


class Workers(Protocol):
    """One or more workers, in this or other processes, that run the tasks of an ingest.

    Attributes:
        takes_documents: Whether the ingest reads large archives and sends the documents.
    """

    takes_documents: bool

    def run(self, tasks: Iterable[WorkerTask]) -> Iterator[WorkerFindings]:
        """Run each task by one of the workers.

        Args:
            tasks: The tasks.

        Yields:
            The findings of the tasks, in any order.
        """

    def finish(self) -> list[StagedFiles]:
        """Decode the remaining documents, and return the files of each worker by its number."""

    def stop(self) -> None:
        """Stop the workers at once, and delete files that `finish` has not returned."""


# Starts the workers for a job, and returns them with the source files (some may be consumed).
WorkerTeam = Callable[
    [IngestJob, Iterator[SourceFile]], AbstractContextManager[tuple[Workers, Iterator[SourceFile]]]
]


@contextmanager
def start_processes_or_use_this_one(
    max_processes: int, job: IngestJob, source_files: Iterator[SourceFile]
) -> Iterator[tuple[Workers, Iterator[SourceFile]]]:
    """Start worker processes, or use one worker in this process if there is little to decode.

    Args:
        max_processes: Maximum number of processes.
        job: The settings of the ingest.
        source_files: The source files.

    Yields:
        The workers, and an iterator over all source files, of which some were consumed to estimate
        the work.
    """
    examined_files: list[SourceFile] = []
    n_bytes = 0
    for source_file in source_files if max_processes > 1 else ():
        examined_files.append(source_file)
        n_bytes += source_file.n_bytes * (_ASSUMED_EXPANSION if source_file.is_compressed else 1)
        if n_bytes >= max_processes * _MIN_BYTES_PER_PROCESS:
            break
    n_workers = min(max_processes, n_bytes // _MIN_BYTES_PER_PROCESS)
    workers: Workers = ProcessPool(job, n_workers) if n_workers > 1 else Worker(job, 0)
    try:
        yield workers, chain(examined_files, source_files)
    finally:
        workers.stop()


class ProcessPool:
    """Workers in processes of their own."""

    takes_documents = True

    def __init__(self, job: IngestJob, n_workers: int) -> None:
        self._workers = [_WorkerProcess(job, number, n_workers) for number in range(n_workers)]

    def run(self, tasks: Iterable[WorkerTask]) -> Iterator[WorkerFindings]:
        """Send each task to an idle worker process, and yield findings as soon as they arrive."""
        for task in tasks:
            while all(worker.is_busy for worker in self._workers):
                yield from self._iter_findings_of_ready_workers()
            next(worker for worker in self._workers if not worker.is_busy).send_task(task)
        while any(worker.is_busy for worker in self._workers):
            yield from self._iter_findings_of_ready_workers()

    def finish(self) -> list[StagedFiles]:
        """Return the files of each worker, in the order of the workers' numbers."""
        for worker in self._workers:
            worker.send_task(_FINISH_SIGNAL)
        return [staged for worker in self._workers for staged in worker.receive_answer()]

    def stop(self) -> None:
        """Terminate all worker processes."""
        for worker in self._workers:
            worker.terminate_or_kill()

    def _iter_findings_of_ready_workers(self) -> Iterator[WorkerFindings]:
        """Wait until at least one busy worker has finished its task, and yield the findings."""
        worker_by_connection = {
            worker.connection: worker for worker in self._workers if worker.is_busy
        }
        for connection in wait(list(worker_by_connection)):
            yield worker_by_connection[cast(Connection, connection)].receive_answer()


class _WorkerProcess:
    """A process that runs one worker, with a connection to it."""

    def __init__(self, job: IngestJob, number: int, n_workers: int) -> None:
        self.is_busy = False
        threads = str(max(1, available_cores() // n_workers))
        # Temporary files of the worker are deleted with the ingest's folder, however it terminates.
        self._process, self.connection = start_python_process(
            _WORKER_PROGRAM,
            POLARS_MAX_THREADS=threads,
            OMP_NUM_THREADS=threads,
            TMPDIR=job.scratch,
            **_ALLOCATOR_ENVIRONMENT,
        )
        self.connection.send((job, number))

    def send_task(self, task: WorkerTask | None) -> None:
        """Send a task to the process; raise PipelineError if the process has terminated."""
        try:
            self.connection.send(task)
        except OSError:
            raise self._unexpected_termination_error() from None
        self.is_busy = True

    def receive_answer(self) -> Any:
        """Wait for the findings or files from the process, or raise the exception of its worker."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._unexpected_termination_error() from None
        self.is_busy = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def terminate_or_kill(self) -> None:
        """Terminate the process; kill it if it does not terminate within a few seconds."""
        self.connection.close()
        self._process.terminate()
        try:
            self._process.wait(_TERMINATE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _unexpected_termination_error(self) -> PipelineError:
        exit_description = describe_exit_code(self._process.wait())
        return PipelineError(
            f"a worker process ended {exit_description}; nothing was changed. If memory ran out, "
            "use a smaller --memory or fewer --jobs, and run the same command again"
        )


def main() -> None:
    """Run a worker that receives its tasks from the parent process and returns its findings."""
    gc.freeze()  # Excludes the modules from later collections, too.
    gc.enable()
    connection = parent_connection()
    job, number = connection.recv()
    worker = Worker(job, number)
    try:
        is_over = False
        while not is_over:
            task = connection.recv()
            connection.send(_run_task_or_return_error(worker, task))
            is_over = task is _FINISH_SIGNAL
    except (EOFError, OSError):
        pass  # The ingest has terminated, so the files are not needed.
    finally:
        worker.stop()
    os._exit(0)  # Skips the clean-up of modules, which takes 0.1 s.


def _run_task_or_return_error(worker: Worker, task: WorkerTask | None) -> object:
    """Run a task and return the findings, or return the exception that it raises.

    The ingest raises the exception. One that cannot be sent to it is replaced by a RuntimeError.
    """
    try:
        return worker.finish() if task is _FINISH_SIGNAL else worker.run_task(task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError(f"{type(error).__name__}: {error}")
        return error
