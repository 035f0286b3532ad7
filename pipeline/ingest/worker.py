"""A worker: decodes the documents of its tasks and writes files that nobody sees yet.

The same code runs in the process of the ingest, in processes of their own and on a cluster. What
it found goes back as columns in Arrow's format, the rows of the games only into files.
"""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress, starmap
from pathlib import Path

import polars as pl
from msgspec import Struct, field

from pipeline.archives import Document, OutsideDocument, Unit, read_unit
from pipeline.events.contracts import GAME_TABLES
from pipeline.events.identity import game_id
from pipeline.formats import splitter
from pipeline.ingest.decode import KNOWN, Seen, decode, fault_frame, look, seen_frame
from pipeline.ingest.ids import GameIds
from pipeline.ingest.models import Models
from pipeline.ingest.tasks import Task
from pipeline.lake.files import DataFile, TableWriter, staged_kind
from pipeline.lake.tables import of_each
from pipeline.provenance import code_sha256
from pipeline.stores import location

BATCH_DOCUMENTS = 20_000


class Job(Struct, frozen=True):
    """What every worker of an ingest needs to know. `lake` is None where nothing is to be written.

    `models` are given to logs that name none. `known` is the file of the ids of the lake's games
    when the ingest began, if any. `token` begins the names of the files written, so that they can
    be found if nobody is left to tell. `scratch` is the ingest's own folder on this machine.
    """

    lake: str | None
    scratch: str
    token: str
    models: Models
    known: str | None
    max_document: int
    max_expanded: int | None
    batch_bytes: int

    def settings(self) -> dict[str, object]:
        """What decides how documents are read: columns of `ingests`."""
        return {
            "code_sha256": code_sha256(),
            "assigned_model": self.models.text,
            "max_document": self.max_document,
            "max_expanded": self.max_expanded,
        }

    def read(self, unit: Unit, on_bytes: Callable[[int], None]) -> Iterator[Document]:
        """The documents of a unit; `on_bytes` is called with bytes on disk as they are read."""
        documents = read_unit(
            unit, self.max_document, on_bytes, max_expanded=self.max_expanded, choose=splitter
        )
        return starmap(OutsideDocument, documents) if unit.is_outside else documents


class Findings(Struct, frozen=True):
    """What a worker found since it was asked last.

    `n_bytes` are those that the worker itself read on disk. `rows` are those of `seen`, documents,
    and of `faults`, in Arrow's format or a Parquet file each.
    """

    n_documents: int
    n_bytes: int
    rows: Mapping[str, bytes | Path]


class Staged(Struct, frozen=True):
    """What a worker leaves behind: its last findings, and its files by table."""

    findings: Findings
    files: dict[str, list[DataFile]] = field(default_factory=dict)


class Worker:
    """Takes tasks one by one, decodes when enough is at hand, and ends with its files."""

    def __init__(self, job: Job, number: int) -> None:
        self._job = job
        self._number = number
        self._known = GameIds.load(job.known) if job.known else None
        self._decoded = GameIds()
        self._writers = _writers(job, number)
        self._waiting: list[tuple[int, Document]] = []
        self._held = 0
        self._n_documents = self._n_bytes = 0  # of what was not told yet, as are the frames
        self._frames: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self._is_finished = False

    def take(self, task: Task) -> Findings:
        """Reads a task's documents; gives what was found in those decoded since."""
        for order, document in enumerate(self._read(task), start=task.number << 32):
            self._waiting.append((order, document))
            self._held += len(document.data or b"")
            self._n_documents += 1
            if self._held >= self._job.batch_bytes or len(self._waiting) >= BATCH_DOCUMENTS:
                self._decode()
        return self._tell()

    def finish(self) -> Staged:
        """Decodes what is left and ends the files."""
        self._decode()
        of_each(lambda table: self._writers[table].close(), self._writers)
        self._is_finished = True
        files = {table: writer.files for table, writer in self._writers.items()}
        return Staged(self._tell(), files)

    def stop(self) -> None:
        """Takes away the files written, unless `finish` has handed them over."""
        for writer in () if self._is_finished else self._writers.values():
            writer.abandon()

    def _tell(self) -> Findings:
        rows = {
            name: pl.concat(frames).write_ipc_stream(None).getvalue()
            for name, frames in self._frames.items()
        }
        findings = Findings(self._n_documents, self._n_bytes, rows)
        self._n_documents = self._n_bytes = 0
        self._frames.clear()
        return findings

    def _read(self, task: Task) -> Iterator[Document]:
        yield from task.documents
        for unit in task.units:
            yield from self._job.read(unit, self._add_bytes)

    def _add_bytes(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes

    def _decode(self) -> None:
        if not self._waiting:
            return
        with _no_collector():
            documents = [document for _, document in self._waiting]
            seen = [look(document, order) for order, document in self._waiting]
            self._mark_known(seen)
            batch = decode(documents, seen, self._job.models, self._decoded)
            self._frames["seen"].append(seen_frame(seen, self._number))
            if batch.faults:
                self._frames["faults"].append(fault_frame(batch.faults))
            for table, writer in self._writers.items():
                writer.write(batch.tables[table])
        self._waiting, self._held = [], 0

    def _mark_known(self, seen: list[Seen]) -> None:
        """Marks the documents whose game the lake has; only decoding would tell who is named."""
        if self._known is None:
            return
        # What a log says of its models goes before what is given.
        hashed = [(one, None) for one in seen if one.sha256 is not None]
        left = self._mark(self._known, hashed)
        self._mark(self._known, [(one, m) for one in left if (m := self._job.models.at(one.path))])

    @staticmethod
    def _mark(known: GameIds, asked: Sequence[tuple[Seen, str | None]]) -> list[Seen]:
        """Marks those that are known as logs of this model; gives the others."""
        ids = [game_id(str(one.sha256), one.game_index, model) for one, model in asked]
        is_known = known.has(ids)
        for (one, model), id_ in compress(zip(asked, ids, strict=True), is_known):
            one.found, one.game_id, one.assigned_model = KNOWN, id_, model
        return [one for one, _ in compress(asked, ~is_known)]


def _writers(job: Job, number: int) -> dict[str, TableWriter]:
    if job.lake is None:
        return {}
    lake, kind = location(job.lake), staged_kind(f"{job.token}-{number}")
    return {table: TableWriter(lake / table, table, kind) for table in GAME_TABLES}


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without Python's search for cycles: nothing decoded has any, and it looks at all of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
