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

from pipeline.archives.inspect_log import iter_zipped_samples
from pipeline.archives.members import (
    ExpansionLimit,
    Member,
    Readable,
    UniqueNames,
    decompress,
    iter_chunks,
    iter_tar_members,
    iter_zip_members,
    reject_lfs_pointer,
    write_to_temporary_file,
)
from pipeline.archives.sources import (
    INSPECT,
    PLAIN,
    UNREADABLE,
    FileType,
    SourceFile,
    UnreadableArchiveError,
    check_size,
    describe_error,
    detect_wide_encoding,
    file_type,
    is_lfs_pointer,
    iter_files_of_source,
    mark_as_file_if_like_part,
    printable_member_name,
    reason_to_skip_by_name,
    resolve_sources,
    source_changed_error,
    too_large_message,
    unclaimed_text_reason,
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


class FilePart(NamedTuple):
    """A document or failure within a file.

    Attributes:
        path: The path of the part within the file.
        data: The bytes, or None if they could not be read.
        reason: Why there is no document, or None.
        is_broken: Whether reading failed, as opposed to a file that is no log.
    """

    path: str
    data: bytes | None = None
    reason: str | None = None
    is_broken: bool = False


_NOTHING = "no document in it"
_NOT_INSPECT_LOG = "not a log: the name ends in .eval"
_NESTED_ARCHIVE = (
    "an archive inside an archive is not opened: unpack the outer one, and ingest the folder"
)

FileContext = AbstractContextManager[Readable]
# Of the path and the first bytes of a file: how it is to be cut; null where nobody asks for it.
Choose = Callable[[str, bytes], Splitter | None]

# What a format is shown of a file; where none asks for it, the form of JSON is told by less.
HEAD_BYTES = 1 << 16
_JSON_SNIFF_BYTES = 1 << 12


class ReadOptions(NamedTuple):
    """How to read a file: its path, the choice of its splitter, and limits of sizes in bytes."""

    path: str
    choose_splitter: Choose
    max_document_bytes: int
    expansion_limit: ExpansionLimit


def iter_parts_of_open_file(
    opened: FileContext, form: FileType, reading: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents in an open file; if reading fails, yield a broken part last."""
    last: str | None = None
    try:
        with opened as file:
            for part in (
                _iter_parts_of_all_members(file, form, reading)
                if form.is_archive
                else _iter_parts_of_unarchived_file(iter_chunks(file), "", form, reading)
            ):
                last = part.path
                yield part
        if last is None:
            yield FilePart("", reason=_NOTHING)
    except (*UNREADABLE, UnreadableArchiveError) as error:
        yield _broken_part_after_error("", last, error)


def _broken_part_after_error(path: str, last: str | None, error: BaseException) -> FilePart:
    """Return the broken part that stands for the rest of a file after a read error."""
    reason = describe_error(error)
    if last is not None:
        reason = f"everything after {last.lstrip('/') or 'the document'} is lost: {reason}"
    # A file that was read as one document is in the lake by its own path.
    return FilePart(f"{path}#2" if last == "" else path, None, reason, is_broken=True)


def _iter_parts_of_unarchived_file(
    pieces: Iterator[bytes], path: str, form: FileType, reading: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents of a file that is not an archive."""
    head, content = _read_head_and_restore_stream(
        decompress(pieces, form.codec, reading.expansion_limit)
    )
    splitter, head = reading.choose_splitter(reading.path + path, head), head[:_JSON_SNIFF_BYTES]
    splitter = splitter or _splitter_for_unclaimed_json(form, head)
    if splitter is None:
        yield FilePart(mark_as_file_if_like_part(path), reason=unclaimed_text_reason(head))
        return
    for key, data in splitter(content, reading.max_document_bytes):
        place = path if key is None else f"{path}{'/' if isinstance(key, str) else '#'}{key}"
        if data is None:
            yield FilePart(
                place, None, too_large_message(reading.max_document_bytes), is_broken=True
            )
        else:
            yield FilePart(place, data)


def _splitter_for_unclaimed_json(form: FileType, head: bytes) -> Splitter | None:
    """Return the splitter for a JSON file that no format claims; None for other files."""
    if form.kind == "json" or is_lfs_pointer(head):
        return read_whole_file
    if form.kind == "jsonl":
        return (
            read_whole_file
            if detect_wide_encoding(head)
            else iter_json_values
            if is_multiline_json(head)
            else iter_lines
        )
    return iter_json_values if starts_like_json(head) else None


def _read_head_and_restore_stream(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a stream, and an iterator over the whole stream."""
    head = b""
    try:
        for piece in pieces:
            head += piece
            if len(head) >= HEAD_BYTES:
                break
    except (*UNREADABLE, UnreadableArchiveError) as error:
        if not head:
            raise
        return head, _iter_then_raise(head, error)
    return head[:HEAD_BYTES], chain((head,), pieces)


def _iter_then_raise(head: bytes, error: Exception) -> Iterator[bytes]:
    yield head
    raise error


def _iter_parts_of_all_members(
    file: Readable, form: FileType, reading: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents of all members of an archive, each with a unique path."""
    distinct = UniqueNames()
    if form == INSPECT:
        head = file.read(_JSON_SNIFF_BYTES)
        cast(BinaryIO, file).seek(0)
        if not head.startswith(b"PK") and not is_lfs_pointer(head):
            yield FilePart(mark_as_file_if_like_part(""), reason=_NOT_INSPECT_LOG)
            return
    for member in _iter_members(file, form, reading):
        name = member.name.removeprefix("./")
        yield from _iter_parts_of_member(
            member, name, distinct.unique_name("/" + printable_member_name(name)), reading
        )


def _iter_members(file: Readable, form: FileType, reading: ReadOptions) -> Iterator[Member]:
    expansion = reading.expansion_limit
    is_inspect = form.kind == INSPECT.kind
    in_zip = (
        partial(iter_zipped_samples, limit=reading.max_document_bytes)
        if is_inspect
        else iter_zip_members
    )
    if form.kind == "tar":
        pieces = reject_lfs_pointer(iter_chunks(file))
        yield from iter_tar_members(decompress(pieces, form.codec, expansion), expansion)
    elif form.codec is None:
        yield from in_zip(cast(BinaryIO, file), expansion)
    else:
        with write_to_temporary_file(
            decompress(iter_chunks(file), form.codec, expansion)
        ) as unpacked:
            yield from in_zip(unpacked, expansion)


def _iter_parts_of_member(
    member: Member, name: str, path: str, reading: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents of one member of an archive."""
    form = file_type(name)
    if member.open is None:
        yield FilePart(mark_as_file_if_like_part(path), reason="not a regular file")
    elif reason := reason_to_skip_by_name(name):
        yield FilePart(mark_as_file_if_like_part(path), reason=reason)
    elif form.is_archive:
        yield FilePart(path, None, _NESTED_ARCHIVE, is_broken=True)
    else:
        last: str | None = None
        try:
            if form == PLAIN:
                check_size(member.n_bytes, reading.max_document_bytes)
            for part in _iter_parts_of_unarchived_file(member.open(), path, form, reading):
                last = part.path.removeprefix(path)
                yield part
            if last is None:
                yield FilePart(path, reason=_NOTHING)
        except UNREADABLE as error:
            yield _broken_part_after_error(path, last, error)


__all__ = [
    "MAX_DOCUMENT_BYTES",
    "Choose",
    "Document",
    "ExternalDocument",
    "SourceFile",
    "count_files_and_bytes",
    "iter_documents",
    "iter_file_documents",
    "iter_source_files",
    "source_and_path_of_part",
]

MAX_DOCUMENT_BYTES = 64 * 2**20
_NOT_REGULAR = "not a regular file"

Sources = str | Path | Sequence[str | Path]


def _choose_no_splitter(path: str, head: bytes) -> None:
    """Return no splitter, so that the file name selects it."""


class Document(NamedTuple):
    """A document, or a file that is none.

    Attributes:
        source: The source that the user named.
        path: The path within the source.
        data: The bytes, or None.
        reason: Why there is nothing to decode; None for a document.
        is_broken: Whether reading failed.
    """

    source: str
    path: str
    data: bytes | None
    reason: str | None = None
    is_broken: bool = False  # it should have been readable, and was not


class ExternalDocument(Document):
    """A document outside of its source, found by a symbolic link; its bytes are not stored."""


def iter_documents(
    sources: Sources,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_document: int = MAX_DOCUMENT_BYTES,
    max_expanded: int | None = None,
    choose: Choose = _choose_no_splitter,
) -> Iterator[Document]:
    """Iterate over all documents of the sources, in the same order on every machine.

    Raises `SourceError` at once, for all unusable sources together. `on_bytes` is called with bytes
    on disk as they are read; in the end they add up to what `count_files_and_bytes` gives. A
    document of more than `max_document` bytes is not read, and broken; so is what follows in a
    compressed file or an archive once more than `max_expanded` bytes came out of it, by default 200
    times its size on disk, and between a gibibyte and a tebibyte. A file that is changed or taken
    away while it is read raises `SourceError`. `choose` says of a file's path and first bytes how
    it is cut; where it gives null the name decides: a line of `.jsonl` is a document, and so is a
    `.json` file.
    """
    return chain.from_iterable(
        iter_file_documents(unit, max_document, on_bytes, max_expanded=max_expanded, choose=choose)
        for unit in iter_source_files(sources)
    )


def iter_source_files(sources: Sources) -> Iterator[SourceFile]:
    """Yield the files of the sources with their sizes, as units of work."""
    return chain.from_iterable(map(iter_files_of_source, resolve_sources(sources)))


def count_files_and_bytes(sources: Sources) -> tuple[int, int]:
    """Return the number of files of the sources and their total size; an archive is one file."""
    sizes = [unit.n_bytes for unit in iter_source_files(sources) if unit.file is not None]
    return len(sizes), sum(sizes)


def iter_file_documents(
    unit: SourceFile,
    max_document: int = MAX_DOCUMENT_BYTES,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_expanded: int | None = None,
    choose: Choose = _choose_no_splitter,
) -> Iterator[Document]:
    """Iterate over the documents of one thing on disk; `on_bytes` is called with its size."""
    report = on_bytes or (lambda _: None)
    source, path, file, n_bytes, reason, is_broken, *_ = unit
    if file is None:
        yield Document(source, path, None, reason, is_broken)
        return
    name = file[file.rfind("/") + 1 :]
    reason = reason_to_skip_by_name(name)
    form = file_type(name)
    # A large log in JSON can be one that a format cuts while it is read.
    if reason is None and (form != PLAIN or n_bytes > max_document):
        metered = _ProgressFile(file, n_bytes, report)
        reading = ReadOptions(path, choose, max_document, ExpansionLimit(n_bytes, max_expanded))
        yield from _iter_split_or_unpacked_documents(unit, file, metered, form, reading)
        metered.report_unread_bytes()
        return
    if n_bytes:
        report(n_bytes)
    if reason:
        yield Document(source, mark_as_file_if_like_part(path), None, reason)
    else:
        yield from _iter_documents_of_plain_json(unit, file, max_document, choose)


def _iter_split_or_unpacked_documents(
    unit: SourceFile, file: str, opened: FileContext, form: FileType, reading: ReadOptions
) -> Iterator[Document]:
    """Yield the documents of a file that has to be split, decompressed or unpacked."""
    before, is_read = file_version(file), form.kind != "text"
    if is_regular_file(file):
        for part in iter_parts_of_open_file(opened, form, reading):
            is_read |= part.data is not None
            yield _document_of_part(unit, part)
    else:
        yield Document(unit.source, unit.path, None, _NOT_REGULAR)
    # What programs write into a text that is no log does not matter.
    if is_read and (file_version(file) != before or was_deleted(file)):
        raise source_changed_error(file)


def _iter_documents_of_plain_json(
    unit: SourceFile, file: str, limit: int, choose: Choose
) -> Iterator[Document]:
    """Yield the document of a plain file, or its parts if a format splits it."""
    source, path = unit.source, unit.path
    try:
        data = read_file(file, lambda n_bytes: check_size(n_bytes, limit))
        is_whole = data is None or choose(path, data[:HEAD_BYTES]) in (None, read_whole_file)
    except ChangedError:
        raise source_changed_error(file) from None
    except UNREADABLE as error:
        if was_deleted(file):
            raise source_changed_error(file) from None
        yield Document(source, path, None, describe_error(error), is_broken=True)
        return
    if data is None or is_whole:
        yield Document(source, path, data, _NOT_REGULAR if data is None else None)
        return
    reading = ReadOptions(path, choose, limit, ExpansionLimit(len(data)))
    for part in iter_parts_of_open_file(io.BytesIO(data), PLAIN, reading):
        yield _document_of_part(unit, part)


def source_and_path_of_part(unit: SourceFile, path: str) -> tuple[str, str]:
    """Return the source and the path of a part of a file."""
    if unit.is_source and path.startswith("/"):
        return f"{unit.source}/{unit.path}", path[1:]
    return unit.source, unit.path + path


def _document_of_part(unit: SourceFile, part: FilePart) -> Document:
    return Document(
        *source_and_path_of_part(unit, part.path), part.data, part.reason, part.is_broken
    )


class _ProgressFile:
    """A file that reports how many bytes were read; the reports add up to its size."""

    def __init__(self, file: str, size: int, report: Callable[[int], None]) -> None:
        self._name = file
        self._n_unreported_bytes = size
        self._report = report

    def __enter__(self) -> Self:
        self._file: BinaryIO = open_file(self._name)
        self.seek, self.tell, self.seekable = self._file.seek, self._file.tell, self._file.seekable
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Read from the file, and report the number of bytes."""
        data = self._file.read(size)
        self._report_up_to_size(len(data))
        return data

    def report_unread_bytes(self) -> None:
        """Report the bytes that were not read."""
        self._report_up_to_size(self._n_unreported_bytes)

    def _report_up_to_size(self, n_bytes: int) -> None:
        n_bytes = min(n_bytes, self._n_unreported_bytes)
        if n_bytes > 0:
            self._n_unreported_bytes -= n_bytes
            self._report(n_bytes)
