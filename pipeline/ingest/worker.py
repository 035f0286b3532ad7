"""A worker: decodes the documents of its tasks and writes files that nobody sees yet.

The same code runs in the process of the ingest, in processes of their own and on a cluster. What
it found goes back as columns in Arrow's format, the rows of the games only into files.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path

import polars as pl
from msgspec import Struct, field

from pipeline.archives import Document, Unit, read_unit
from pipeline.column import ID_LENGTH
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
_MOST_CANDIDATES = 100_000  # ids of documents by each model, at once


class Job(Struct, frozen=True):
    """What every worker of an ingest needs to know. `lake` is None where nothing is to be written.

    `models` are given to logs that name none; where there is none for a log, its game can be known
    by `earlier`, all that ingests before were given. `known` is the file of what the lake's games
    were known by when the ingest began, if any. `token` begins the names of the files written, so
    that they can be found if nobody is left to tell. `scratch` is the ingest's own folder on this
    machine.
    """

    lake: str | None
    scratch: str
    token: str
    models: Models
    known: str | None
    earlier: tuple[str, ...]
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
        return read_unit(
            unit, self.max_document, on_bytes, max_expanded=self.max_expanded, choose=splitter
        )


class Findings(Struct, frozen=True):
    """What a worker found since it was asked last: frames of documents and of faults, or nothing.

    `n_bytes` are those that the worker itself read on disk; `seen` and `faults` are in Arrow's
    format, or a Parquet file.
    """

    n_documents: int = 0
    n_bytes: int = 0
    seen: bytes | Path | None = None
    faults: bytes | Path | None = None


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
        self._documents: list[Document] = []
        self._source_orders: list[int] = []
        self._held = 0
        self._new = _Batch()
        self._is_finished = False

    def take(self, task: Task) -> Findings:
        """Reads a task's documents; gives what was found in those decoded since."""
        for order, document in enumerate(self._read(task), start=task.number << 32):
            self._documents.append(document)
            self._source_orders.append(order)
            self._held += len(document.data or b"")
            self._new.n_documents += 1
            if self._held >= self._job.batch_bytes or len(self._documents) >= BATCH_DOCUMENTS:
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
        batch, self._new = self._new, _Batch()
        return batch.packed()

    def _read(self, task: Task) -> Iterator[Document]:
        yield from task.documents
        for unit in task.units:
            yield from self._job.read(unit, self._add_bytes)

    def _add_bytes(self, n_bytes: int) -> None:
        self._new.n_bytes += n_bytes

    def _decode(self) -> None:
        if not self._documents:
            return
        with _no_collector():
            seen = [
                look(document, source_order)
                for document, source_order in zip(self._documents, self._source_orders, strict=True)
            ]
            self._mark_known(seen)
            batch = decode(self._documents, seen, self._job.models, self._decoded)
            self._new.seen.append(seen_frame(seen, self._number))
            if batch.faults:
                self._new.faults.append(fault_frame(batch.faults))
            for table, writer in self._writers.items():
                writer.write(batch.tables[table])
        self._documents, self._source_orders, self._held = [], [], 0

    def _mark_known(self, seen: list[Seen]) -> None:
        """Marks the documents whose game the lake has; only decoding would tell who is named."""
        if self._known is None:
            return
        there = [one for one in seen if one.sha256 is not None]
        # What a log says of its models goes before what is given.
        self._mark_if_of_one(there, lambda path: (None,))
        models, earlier = self._job.models, self._job.earlier
        is_given = self._known.has([str(one.sha256)[:ID_LENGTH] for one in there])
        given = [one for one in compress(there, is_given) if one.found != KNOWN]
        n_at_once = _MOST_CANDIDATES // (len(earlier) or 1) + 1
        for start in range(0, len(given), n_at_once):
            some = given[start : start + n_at_once]
            self._mark_if_of_one(some, lambda path: models.candidates(path, earlier))

    def _mark_if_of_one(
        self, seen: list[Seen], candidates: Callable[[str], Sequence[str | None]]
    ) -> None:
        """Marks those whose bytes are a game of one of their path's models, and of no other."""
        assert self._known is not None
        pairs = [(one, model) for one in seen for model in candidates(one.path)]
        ids = [game_id(str(one.sha256), one.game_index, model) for one, model in pairs]
        games: dict[int, list[tuple[str, str | None]]] = {}
        for (one, model), id_, is_known in zip(pairs, ids, self._known.has(ids), strict=True):
            if is_known:
                games.setdefault(id(one), []).append((id_, model))
        for one in seen:
            if len(found := games.get(id(one), [])) == 1:
                one.found, (one.game_id, one.assigned_model) = KNOWN, found[0]


class _Batch:
    """What was found and not reported yet."""

    def __init__(self) -> None:
        self.n_documents = self.n_bytes = 0
        self.seen: list[pl.DataFrame] = []
        self.faults: list[pl.DataFrame] = []

    def packed(self) -> Findings:
        return Findings(self.n_documents, self.n_bytes, packed(self.seen), packed(self.faults))


def _writers(job: Job, number: int) -> dict[str, TableWriter]:
    if job.lake is None:
        return {}
    lake, kind = location(job.lake), staged_kind(f"{job.token}-{number}")
    return {table: TableWriter(lake / table, table, kind) for table in GAME_TABLES}


def packed(frames: list[pl.DataFrame]) -> bytes | None:
    """The frames as one, in Arrow's format; None for none."""
    return pl.concat(frames).write_ipc_stream(None).getvalue() if frames else None


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
