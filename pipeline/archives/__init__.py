"""Where bytes come from: one iterator of documents over folders, files and archives.

A source is a folder, a log, or an archive, on this machine or on an object store. A file is one
document or is cut into several. Nothing is unpacked to disk, except a zip that is compressed again,
and one document at a time is in memory.
`source + "/" + path` names the same document however it was reached: through its folder, through a
folder above, or alone.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from pipeline.archives.compression import Expansion
from pipeline.archives.containers import HEAD_BYTES, Choose, Opened, Part, Reading, parts
from pipeline.archives.failures import UNREADABLE, check_size, moved_on, why
from pipeline.archives.names import PLAIN, Form, form_of, unlike_a_part, why_passed_over
from pipeline.archives.sources import Unit, resolved, units_in
from pipeline.archives.splitting import whole
from pipeline.stores import ChangedError, is_gone, is_regular, open_file, read_file, version

__all__ = [
    "MAX_DOCUMENT",
    "Choose",
    "Document",
    "OutsideDocument",
    "Unit",
    "documents",
    "measure",
    "named",
    "read_unit",
    "units",
]

MAX_DOCUMENT = 64 * 2**20
_NOT_REGULAR = "not a regular file"

Sources = str | Path | Sequence[str | Path]


def _by_name(path: str, head: bytes) -> None:
    """Leave it to a file's name how it is cut."""


class Document(NamedTuple):
    """One document, or one thing that is none; `reason` is null for a document to decode."""

    source: str
    path: str
    data: bytes | None
    reason: str | None = None
    is_broken: bool = False  # it should have been readable, and was not


class OutsideDocument(Document):
    """One that a link led to, out of the source: its bytes must not be kept."""


def documents(
    sources: Sources,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_document: int = MAX_DOCUMENT,
    max_expanded: int | None = None,
    choose: Choose = _by_name,
) -> Iterator[Document]:
    """Iterate over all documents of the sources, in the same order on every machine.

    Raises `SourceError` at once, for all unusable sources together. `on_bytes` is called with bytes
    on disk as they are read; in the end they add up to what `measure` gave. A document of
    more than `max_document` bytes is not read, and broken; so is what follows in a compressed file
    or an archive once more than `max_expanded` bytes came out of it, by default 200 times its size
    on disk, and between a gibibyte and a tebibyte. A file that is changed or taken away while it is
    read raises `SourceError`. `choose` says of a file's path and first bytes how it is cut; where
    it gives null the name decides: a line of `.jsonl` is a document, and so is a `.json` file.
    """
    return chain.from_iterable(
        read_unit(unit, max_document, on_bytes, max_expanded=max_expanded, choose=choose)
        for unit in units(sources)
    )


def units(sources: Sources) -> Iterator[Unit]:
    """Iterate over what the sources lead to on disk, with sizes: what there is to be dealt out.

    Raises `SourceError` at once, for all unusable sources together.
    """
    return chain.from_iterable(map(units_in, resolved(sources)))


def measure(sources: Sources) -> tuple[int, int]:
    """Count the files on disk and their bytes; an archive is one file of its own size."""
    sizes = [unit.n_bytes for unit in units(sources) if unit.file is not None]
    return len(sizes), sum(sizes)


def read_unit(
    unit: Unit,
    max_document: int = MAX_DOCUMENT,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_expanded: int | None = None,
    choose: Choose = _by_name,
) -> Iterator[Document]:
    """Iterate over the documents of one thing on disk; `on_bytes` is called with its size."""
    report = on_bytes or (lambda _: None)
    source, path, file, n_bytes, reason, is_broken, *_ = unit
    if file is None:
        yield Document(source, path, None, reason, is_broken)
        return
    name = file[file.rfind("/") + 1 :]
    reason = why_passed_over(name)
    form = form_of(name)
    # A large log in JSON can be one that a format cuts while it is read.
    if reason is None and (form != PLAIN or n_bytes > max_document):
        metered = _Metered(file, n_bytes, report)
        reading = Reading(path, choose, max_document, Expansion(n_bytes, max_expanded))
        yield from _parts(unit, file, metered, form, reading)
        metered.finish()
        return
    if n_bytes:
        report(n_bytes)
    if reason:
        yield Document(source, unlike_a_part(path), None, reason)
    else:
        yield from _log(unit, file, max_document, choose)


def _parts(
    unit: Unit, file: str, opened: Opened, form: Form, reading: Reading
) -> Iterator[Document]:
    """Yield what is in a file that is not one document as it is."""
    before, is_read = version(file), form.kind != "text"
    if is_regular(file):
        for part in parts(opened, form, reading):
            is_read |= part.data is not None
            yield _document(unit, part)
    else:
        yield Document(unit.source, unit.path, None, _NOT_REGULAR)
    # What programs write into a text that is no log does not matter.
    if is_read and (version(file) != before or is_gone(file)):
        raise moved_on(file)


def _log(unit: Unit, file: str, limit: int, choose: Choose) -> Iterator[Document]:
    """Yield the document that a file by itself is, or its parts."""
    source, path = unit.source, unit.path
    try:
        data = read_file(file, lambda n_bytes: check_size(n_bytes, limit))
        is_whole = data is None or choose(path, data[:HEAD_BYTES]) in (None, whole)
    except ChangedError:
        raise moved_on(file) from None
    except UNREADABLE as error:
        if is_gone(file):
            raise moved_on(file) from None
        yield Document(source, path, None, why(error), is_broken=True)
        return
    if data is None or is_whole:
        yield Document(source, path, data, _NOT_REGULAR if data is None else None)
        return
    reading = Reading(path, choose, limit, Expansion(len(data)))
    for part in parts(io.BytesIO(data), PLAIN, reading):
        yield _document(unit, part)


def named(unit: Unit, path: str) -> tuple[str, str]:
    """Return source and path of a part of a file, by what its own path continues with.

    Members of an archive that was itself given have it as source.
    """
    if unit.is_source and path.startswith("/"):
        return f"{unit.source}/{unit.path}", path[1:]
    return unit.source, unit.path + path


def _document(unit: Unit, part: Part) -> Document:
    return Document(*named(unit, part.path), part.data, part.reason, part.is_broken)


class _Metered:
    """A file, to be opened for reading once, that reports the bytes read: they add up to its size.

    A zip is read here and there, some of it twice, and a damaged archive not to its end.
    """

    def __init__(self, file: str, size: int, report: Callable[[int], None]) -> None:
        self._name = file
        self._left = size
        self._report = report

    def __enter__(self) -> Self:
        self._file: BinaryIO = open_file(self._name)
        self.seek, self.tell, self.seekable = self._file.seek, self._file.tell, self._file.seekable
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Read as any file, and report it."""
        data = self._file.read(size)
        self._add(len(data))
        return data

    def finish(self) -> None:
        """Report the bytes that were not read and no longer will be."""
        self._add(self._left)

    def _add(self, n_bytes: int) -> None:
        n_bytes = min(n_bytes, self._left)
        if n_bytes > 0:
            self._left -= n_bytes
            self._report(n_bytes)
