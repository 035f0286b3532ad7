"""Where bytes come from: one iterator of documents over folders, files and archives.

A source is a folder, a log, or an archive, on this machine or on an object store. A file is one
document or is cut into several. Nothing is unpacked to disk, except a zip that is compressed again,
and one document at a time is in memory.
`source + "/" + path` names the same document however it was reached: through its folder, through a
folder above, or alone.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self, cast

from pipeline.archives.inspect_log import sample_members
from pipeline.archives.members import (
    Distinct,
    Expansion,
    Member,
    Readable,
    chunks,
    decompressed,
    fetched,
    spooled,
    tar_members,
    zip_members,
)
from pipeline.archives.sources import (
    INSPECT,
    PLAIN,
    UNREADABLE,
    Form,
    LostArchiveError,
    Unit,
    check_size,
    encoding_of,
    file_type,
    is_lfs_pointer,
    label,
    moved_on,
    resolve_sources,
    too_large,
    unclaimed_text_reason,
    units_in,
    unlike_a_part,
    why,
    why_passed_over,
)
from pipeline.archives.splitting import (
    Splitter,
    is_multiline_json,
    iter_json_values,
    iter_lines,
    read_whole_file,
    starts_like_json,
)
from pipeline.stores import (
    ChangedError,
    file_version,
    is_regular_file,
    open_file,
    read_file,
    was_deleted,
)

# What is in one file: a document, several parts of it, or the members of an archive.


class Part(NamedTuple):
    """A part of a file, and `path` what its own path continues with.

    That is empty for the file as a whole, `#3` for a line or other part, `/x/0.json` for a member
    or a part that has a name.
    """

    path: str
    data: bytes | None = None
    reason: str | None = None
    is_broken: bool = False


_NOTHING = "no document in it"
_NO_INSPECT = "not a log: the name ends in .eval"
_NESTED = "an archive inside an archive is not opened: unpack the outer one, and ingest the folder"

Opened = AbstractContextManager[Readable]
# Of the path and the first bytes of a file: how it is to be cut; null where nobody asks for it.
Choose = Callable[[str, bytes], Splitter | None]

# What a format is shown of a file; where none asks for it, the form of JSON is told by less.
HEAD_BYTES = 1 << 16
_FORM_BYTES = 1 << 12


class Reading(NamedTuple):
    """How a file is read: no document of more bytes than the limit, no more than it may expand to.

    `path` is the file's.
    """

    path: str
    choose: Choose
    limit: int
    expansion: Expansion


def parts(opened: Opened, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the parts of a file, and where reading fails, last the file itself as broken.

    A document that is too large is named and not read; where more comes out of the file than its
    expansion allows, reading fails.
    """
    last: str | None = None
    try:
        with opened as file:
            for part in (
                _archived(file, form, reading)
                if form.is_archive
                else _logs(chunks(file), "", form, reading)
            ):
                last = part.path
                yield part
        if last is None:
            yield Part("", reason=_NOTHING)
    except (*UNREADABLE, LostArchiveError) as error:
        yield _lost("", last, error)


def _lost(path: str, last: str | None, error: BaseException) -> Part:
    """Return what is lost of a file: all, or what comes after the last part that could be read."""
    reason = why(error)
    if last is not None:
        reason = f"everything after {last.lstrip('/') or 'the document'} is lost: {reason}"
    # A file that was read as one document is in the lake by its own path.
    return Part(f"{path}#2" if last == "" else path, None, reason, is_broken=True)


def _logs(pieces: Iterator[bytes], path: str, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the documents of what is no archive, at a path within the file."""
    head, content = _with_head(decompressed(pieces, form.codec, reading.expansion))
    splitter, head = reading.choose(reading.path + path, head), head[:_FORM_BYTES]
    splitter = splitter or _by_form(form, head)
    if splitter is None:
        yield Part(unlike_a_part(path), reason=unclaimed_text_reason(head))
        return
    for key, data in splitter(content, reading.limit):
        place = path if key is None else f"{path}{'/' if isinstance(key, str) else '#'}{key}"
        if data is None:
            yield Part(place, None, too_large(reading.limit), is_broken=True)
        else:
            yield Part(place, data)


def _by_form(form: Form, head: bytes) -> Splitter | None:
    """Return how a file that no format asks for is cut; null where it is no JSON."""
    if form.kind == "json" or is_lfs_pointer(head):
        return read_whole_file
    if form.kind == "jsonl":
        return (
            read_whole_file
            if encoding_of(head)
            else iter_json_values
            if is_multiline_json(head)
            else iter_lines
        )
    return iter_json_values if starts_like_json(head) else None


def _with_head(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return what the pieces begin with, and all of them.

    Where reading fails so early, what was read until then comes before the failure.
    """
    head = b""
    try:
        for piece in pieces:
            head += piece
            if len(head) >= HEAD_BYTES:
                break
    except (*UNREADABLE, LostArchiveError) as error:
        if not head:
            raise
        return head, _then_fail(head, error)
    return head[:HEAD_BYTES], chain((head,), pieces)


def _then_fail(head: bytes, error: Exception) -> Iterator[bytes]:
    yield head
    raise error


def _archived(file: Readable, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the parts of all members of an archive, no two with the same path."""
    distinct = Distinct()
    if form == INSPECT:
        head = file.read(_FORM_BYTES)
        cast(BinaryIO, file).seek(0)
        if not head.startswith(b"PK") and not is_lfs_pointer(head):
            yield Part(unlike_a_part(""), reason=_NO_INSPECT)
            return
    for member in _members(file, form, reading):
        name = member.name.removeprefix("./")
        yield from _member(member, name, distinct.unique_name("/" + label(name)), reading)


def _members(file: Readable, form: Form, reading: Reading) -> Iterator[Member]:
    expansion = reading.expansion
    is_inspect = form.kind == INSPECT.kind
    in_zip = partial(sample_members, limit=reading.limit) if is_inspect else zip_members
    if form.kind == "tar":
        pieces = fetched(chunks(file))
        yield from tar_members(decompressed(pieces, form.codec, expansion), expansion)
    elif form.codec is None:
        yield from in_zip(cast(BinaryIO, file), expansion)
    else:
        with spooled(decompressed(chunks(file), form.codec, expansion)) as unpacked:
            yield from in_zip(unpacked, expansion)


def _member(member: Member, name: str, path: str, reading: Reading) -> Iterator[Part]:
    """Yield the parts of a member of an archive."""
    form = file_type(name)
    if member.open is None:
        yield Part(unlike_a_part(path), reason="not a regular file")
    elif reason := why_passed_over(name):
        yield Part(unlike_a_part(path), reason=reason)
    elif form.is_archive:
        yield Part(path, None, _NESTED, is_broken=True)
    else:
        last: str | None = None
        try:
            if form == PLAIN:
                check_size(member.n_bytes, reading.limit)
            for part in _logs(member.open(), path, form, reading):
                last = part.path.removeprefix(path)
                yield part
            if last is None:
                yield Part(path, reason=_NOTHING)
        except UNREADABLE as error:
            yield _lost(path, last, error)


__all__ = [
    "MAX_DOCUMENT_BYTES",
    "Choose",
    "Document",
    "ExternalDocument",
    "Unit",
    "count_files_and_bytes",
    "document_location",
    "iter_documents",
    "iter_file_documents",
    "iter_source_files",
]

MAX_DOCUMENT_BYTES = 64 * 2**20
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


class ExternalDocument(Document):
    """One that a link led to, out of the source: its bytes must not be kept."""


def iter_documents(
    sources: Sources,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_document: int = MAX_DOCUMENT_BYTES,
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
        iter_file_documents(unit, max_document, on_bytes, max_expanded=max_expanded, choose=choose)
        for unit in iter_source_files(sources)
    )


def iter_source_files(sources: Sources) -> Iterator[Unit]:
    """Iterate over what the sources lead to on disk, with sizes: what there is to be dealt out.

    Raises `SourceError` at once, for all unusable sources together.
    """
    return chain.from_iterable(map(units_in, resolve_sources(sources)))


def count_files_and_bytes(sources: Sources) -> tuple[int, int]:
    """Count the files on disk and their bytes; an archive is one file of its own size."""
    sizes = [unit.n_bytes for unit in iter_source_files(sources) if unit.file is not None]
    return len(sizes), sum(sizes)


def iter_file_documents(
    unit: Unit,
    max_document: int = MAX_DOCUMENT_BYTES,
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
    form = file_type(name)
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
    before, is_read = file_version(file), form.kind != "text"
    if is_regular_file(file):
        for part in parts(opened, form, reading):
            is_read |= part.data is not None
            yield _document(unit, part)
    else:
        yield Document(unit.source, unit.path, None, _NOT_REGULAR)
    # What programs write into a text that is no log does not matter.
    if is_read and (file_version(file) != before or was_deleted(file)):
        raise moved_on(file)


def _log(unit: Unit, file: str, limit: int, choose: Choose) -> Iterator[Document]:
    """Yield the document that a file by itself is, or its parts."""
    source, path = unit.source, unit.path
    try:
        data = read_file(file, lambda n_bytes: check_size(n_bytes, limit))
        is_whole = data is None or choose(path, data[:HEAD_BYTES]) in (None, read_whole_file)
    except ChangedError:
        raise moved_on(file) from None
    except UNREADABLE as error:
        if was_deleted(file):
            raise moved_on(file) from None
        yield Document(source, path, None, why(error), is_broken=True)
        return
    if data is None or is_whole:
        yield Document(source, path, data, _NOT_REGULAR if data is None else None)
        return
    reading = Reading(path, choose, limit, Expansion(len(data)))
    for part in parts(io.BytesIO(data), PLAIN, reading):
        yield _document(unit, part)


def document_location(unit: Unit, path: str) -> tuple[str, str]:
    """Return source and path of a part of a file, by what its own path continues with.

    Members of an archive that was itself given have it as source.
    """
    if unit.is_source and path.startswith("/"):
        return f"{unit.source}/{unit.path}", path[1:]
    return unit.source, unit.path + path


def _document(unit: Unit, part: Part) -> Document:
    return Document(*document_location(unit, part.path), part.data, part.reason, part.is_broken)


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
