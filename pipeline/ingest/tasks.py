"""The work of an ingest cut into tasks, each small enough for one process to hold.

Plain files are only named, and read where they are decoded; so are archives, unless they are large:
those are read here, while others decode what was read of them so far.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pipeline.archives import Document, Unit

TASK_BYTES = 8 * 2**20
TASK_UNITS = 1000
# It may hold more than a task: while one process decoded all of it, others might be idle.
LARGE_ARCHIVE_BYTES = 2**20


class Task(NamedTuple):
    """A piece of work: things to read, or documents that were read already, never both.

    Tasks are numbered in the order of the sources.
    """

    number: int
    units: tuple[Unit, ...] = ()
    documents: tuple[Document, ...] = ()


Read = Callable[[Unit], Iterable[Document]]


def deal(units: Iterable[Unit], read: Read | None) -> Iterator[Task]:
    """The tasks of an ingest. `read` reads large archives; without it they are named as well."""
    for number, part in enumerate(_parts(units, read)):
        yield part._replace(number=number)


def _parts(units: Iterable[Unit], read: Read | None) -> Iterator[Task]:
    named: list[Unit] = []
    n_bytes = 0
    for unit in units:
        if unit.n_bytes >= LARGE_ARCHIVE_BYTES and unit.holds_many:
            if named:
                yield Task(0, units=tuple(named))
                named, n_bytes = [], 0
            yield from _read(read(unit)) if read else [Task(0, units=(unit,))]
            continue
        named.append(unit)
        n_bytes += unit.n_bytes
        if n_bytes >= TASK_BYTES or len(named) >= TASK_UNITS:
            yield Task(0, units=tuple(named))
            named, n_bytes = [], 0
    if named:
        yield Task(0, units=tuple(named))


def _read(documents: Iterable[Document]) -> Iterator[Task]:
    held: list[Document] = []
    n_bytes = 0
    for document in documents:
        held.append(document)
        n_bytes += len(document.data or b"")
        if n_bytes >= TASK_BYTES or len(held) >= TASK_UNITS:
            yield Task(0, documents=tuple(held))
            held, n_bytes = [], 0
    if held:
        yield Task(0, documents=tuple(held))
