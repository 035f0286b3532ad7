"""Where bytes come from: one iterator of documents over folders, files and archives.

A source is a folder, a log, or an archive. Nothing is unpacked to disk, and one document at a time
is in memory, but for a compressed zip, which is there as a whole. `source + "/" + path` names the
same document however it was reached: through its folder, through a folder above, or alone.
"""

import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.archives.containers import Part, parts
from pipeline.archives.meter import Meter, open_metered
from pipeline.archives.names import form_of, why_passed_over
from pipeline.archives.sources import Found, found_in, resolved

__all__ = ["Document", "documents", "measure"]

Sources = str | Path | Sequence[str | Path]


class Document(NamedTuple):
    """One document, or one thing that is none; `reason` is null for a document to decode."""

    source: str
    path: str
    data: bytes | None
    reason: str | None = None
    is_broken: bool = False  # it should have been readable, and was not


def documents(
    sources: Sources, on_bytes: Callable[[int], None] | None = None
) -> Iterator[Document]:
    """Iterate over all documents of the sources, in the same order on every machine.

    Raises `SourceError` at once, for all unusable sources together. `on_bytes` is told of bytes
    on disk as they are consumed; in the end they add up to what `measure` foretold.
    """
    roots = resolved(sources)
    report = on_bytes or (lambda _: None)
    return (
        document for root in roots for found in found_in(root) for document in _read(found, report)
    )


class Unit(NamedTuple):
    """One thing on disk to be read, small enough to be sent to another process.

    `n_bytes` is its size on disk; `is_archive` says that it may hold many documents.
    """

    found: Found
    n_bytes: int
    is_archive: bool


def units(sources: Sources) -> Iterator[Unit]:
    """Everything that the sources lead to, in order; raises SourceError at once."""
    roots = resolved(sources)
    return (_unit(found) for root in roots for found in found_in(root))


def _unit(found: Found) -> Unit:
    if found.file is None:
        return Unit(found, 0, is_archive=False)
    kind = form_of(found.file.name).kind
    return Unit(found, _size(found.file), is_archive=kind in ("tar", "zip", "jsonl"))


def read_unit(
    unit: Unit, on_bytes: Callable[[int], None] | None = None, max_document: int = 64 * 2**20
) -> Iterator[Document]:
    """The documents of one unit."""
    return _read(unit.found, on_bytes or (lambda _: None))


def measure(sources: Sources) -> tuple[int, int]:
    """Count the files on disk and their bytes; an archive is one file of its own size."""
    files = [
        _size(found.file)
        for root in resolved(sources)
        for found in found_in(root)
        if found.file is not None
    ]
    return len(files), sum(files)


def _size(file: Path) -> int:
    """Return the bytes on disk, 0 for a file that is gone: reading it will tell of that."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _read(found: Found, report: Callable[[int], None]) -> Iterator[Document]:
    """Yield the documents of one thing on disk, and account for all of its bytes."""
    if found.file is None:
        yield Document(found.source, found.path, None, found.reason, found.is_broken)
        return
    meter = Meter(_size(found.file), report)
    for part in _parts(found.file, meter):
        yield _document(found, part)
    meter.finish()


def _parts(file: Path, meter: Meter) -> Iterator[Part]:
    """Yield what is in one file, or why it was not opened."""
    reason = why_passed_over(file.name) or _why_not_regular(file)
    if reason:
        return iter([Part("", reason=reason)])
    return parts(lambda: open_metered(file, meter), form_of(file.name))


def _why_not_regular(file: Path) -> str | None:
    """Say so if opening the file could wait forever, as a pipe does; a missing one fails later."""
    try:
        return None if stat.S_ISREG(file.stat().st_mode) else "not a regular file"
    except OSError:
        return None


def _document(found: Found, part: Part) -> Document:
    """Name a part of a file; members of an archive that was itself given have it as source."""
    source, path = found.source, found.path + part.path
    if found.is_given and part.path.startswith("/"):
        source, path = f"{source}/{found.path}", part.path[1:]
    return Document(source, path, part.data, part.reason, part.is_broken)
