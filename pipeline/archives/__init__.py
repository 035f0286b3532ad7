"""Iterate over the documents in any folders, files and archives.

A source is a folder, a log or an archive, on this machine or in an object store. A file contains
one document or is split into several. Nothing is unpacked to disk, except for a compressed zip, and
only one document at a time is in memory. `source + "/" + path` names the same document whether it
is found by its own path, its folder, or a folder above.
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
    unrecognized_text_reason,
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
    can_open_without_waiting,
    file_change_key,
    is_missing_local_file,
    open_file,
    read_regular_file,
)

# The parts of one file: a document, several documents, or the members of an archive.


class FilePart(NamedTuple):
    """A document within a file, or a reason why there is none.

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
# Returns the splitter for a file from its path and first bytes; None if no format recognizes it.
Choose = Callable[[str, bytes], Splitter | None]

# The first bytes of a file from which formats recognize it. Fewer bytes tell if it is JSON.
HEAD_BYTES = 1 << 16
_JSON_SNIFF_BYTES = 1 << 12


class ReadOptions(NamedTuple):
    """How to read a file.

    Attributes:
        path: The path of the file within its source.
        choose_splitter: Returns the splitter for a file from its path and first bytes.
        max_document_bytes: Maximum size of a document.
        expansion_limit: The limit of bytes to extract from the file.
    """

    path: str
    choose_splitter: Choose
    max_document_bytes: int
    expansion_limit: ExpansionLimit


def iter_parts_of_open_file(
    file_context: FileContext, filetype: FileType, options: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents in an open file; if reading fails, the last part describes the error."""
    last_path: str | None = None
    try:
        with file_context as file:
            for part in (
                _iter_parts_of_all_members(file, filetype, options)
                if filetype.is_archive
                else _iter_parts_of_unarchived_file(iter_chunks(file), "", filetype, options)
            ):
                last_path = part.path
                yield part
        if last_path is None:
            yield FilePart("", reason=_NOTHING)
    except (*UNREADABLE, UnreadableArchiveError) as error:
        yield _broken_part_after_error("", last_path, error)


def _broken_part_after_error(path: str, last_path: str | None, error: BaseException) -> FilePart:
    """Return the part that reports a read error after the part at `last_path`."""
    reason = describe_error(error)
    if last_path is not None:
        reason = f"everything after {last_path.lstrip('/') or 'the document'} is lost: {reason}"
    # The path of the file already names its document if it has only one.
    return FilePart(f"{path}#2" if last_path == "" else path, None, reason, is_broken=True)


def _iter_parts_of_unarchived_file(
    pieces: Iterator[bytes], path: str, filetype: FileType, options: ReadOptions
) -> Iterator[FilePart]:
    head, content = _read_head_and_restore_stream(
        decompress(pieces, filetype.codec, options.expansion_limit)
    )
    splitter, head = options.choose_splitter(options.path + path, head), head[:_JSON_SNIFF_BYTES]
    splitter = splitter or _json_splitter_for_unrecognized_file(filetype, head)
    if splitter is None:
        yield FilePart(mark_as_file_if_like_part(path), reason=unrecognized_text_reason(head))
        return
    for key, data in splitter(content, options.max_document_bytes):
        part_path = path if key is None else f"{path}{'/' if isinstance(key, str) else '#'}{key}"
        if data is None:
            yield FilePart(
                part_path, None, too_large_message(options.max_document_bytes), is_broken=True
            )
        else:
            yield FilePart(part_path, data)


def _json_splitter_for_unrecognized_file(filetype: FileType, head: bytes) -> Splitter | None:
    """Return the splitter for a file that no format recognizes; None if it is not JSON."""
    if filetype.kind == "json" or is_lfs_pointer(head):
        return read_whole_file
    if filetype.kind == "jsonl":
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
    file: Readable, filetype: FileType, options: ReadOptions
) -> Iterator[FilePart]:
    """Yield the documents of all members of an archive; repeated names are numbered."""
    unique_names = UniqueNames()
    if filetype == INSPECT:
        head = file.read(_JSON_SNIFF_BYTES)
        cast(BinaryIO, file).seek(0)
        if not head.startswith(b"PK") and not is_lfs_pointer(head):
            yield FilePart(mark_as_file_if_like_part(""), reason=_NOT_INSPECT_LOG)
            return
    for member in _iter_members(file, filetype, options):
        name = member.name.removeprefix("./")
        yield from _iter_parts_of_member(
            member, name, unique_names.unique_name("/" + printable_member_name(name)), options
        )


def _iter_members(file: Readable, filetype: FileType, options: ReadOptions) -> Iterator[Member]:
    expansion = options.expansion_limit
    is_inspect = filetype.kind == INSPECT.kind
    iter_members_of_zip = (
        partial(iter_zipped_samples, max_document_bytes=options.max_document_bytes)
        if is_inspect
        else iter_zip_members
    )
    if filetype.kind == "tar":
        pieces = reject_lfs_pointer(iter_chunks(file))
        yield from iter_tar_members(decompress(pieces, filetype.codec, expansion), expansion)
    elif filetype.codec is None:
        yield from iter_members_of_zip(cast(BinaryIO, file), expansion)
    else:
        with write_to_temporary_file(
            decompress(iter_chunks(file), filetype.codec, expansion)
        ) as unpacked_file:
            yield from iter_members_of_zip(unpacked_file, expansion)


def _iter_parts_of_member(
    member: Member, member_name: str, path: str, options: ReadOptions
) -> Iterator[FilePart]:
    filetype = file_type(member_name)
    if member.open is None:
        yield FilePart(mark_as_file_if_like_part(path), reason="not a regular file")
    elif reason := reason_to_skip_by_name(member_name):
        yield FilePart(mark_as_file_if_like_part(path), reason=reason)
    elif filetype.is_archive:
        yield FilePart(path, None, _NESTED_ARCHIVE, is_broken=True)
    else:
        last_path: str | None = None
        try:
            if filetype == PLAIN:
                check_size(member.n_bytes, options.max_document_bytes)
            for part in _iter_parts_of_unarchived_file(member.open(), path, filetype, options):
                last_path = part.path.removeprefix(path)
                yield part
            if last_path is None:
                yield FilePart(path, reason=_NOTHING)
        except UNREADABLE as error:
            yield _broken_part_after_error(path, last_path, error)


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


def _select_splitter_by_file_name(path: str, head: bytes) -> None:
    """Return None, so that the name of the file selects the splitter."""


class Document(NamedTuple):
    """A document of a source, or a file that is not a document.

    Attributes:
        source: The path or URL of the source.
        path: The path within the source.
        data: The bytes; None if they were not read.
        reason: Why the file is not a document; None for a document.
        is_broken: Whether reading failed, as opposed to a file that is no log.
    """

    source: str
    path: str
    data: bytes | None
    reason: str | None = None
    is_broken: bool = False


class ExternalDocument(Document):
    """A document outside of its source, to which a symbolic link points; it is not stored."""


def iter_documents(
    sources: Sources,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_document: int = MAX_DOCUMENT_BYTES,
    max_expanded: int | None = None,
    choose: Choose = _select_splitter_by_file_name,
) -> Iterator[Document]:
    """Iterate over all documents of the sources, in the same order on each machine.

    Args:
        sources: Paths or URLs of folders, files and archives.
        on_bytes: Called with numbers of bytes on disk as they are read. Their sum is the size that
            `count_files_and_bytes` returns.
        max_document: A document with more bytes is not read, and broken.
        max_expanded: Maximum number of bytes to extract from a compressed file or an archive; the
            rest is broken. None for 200 times its size on disk, but at least 1 GiB and at most 1
            TiB.
        choose: Returns the splitter for a file from its path and first bytes. If it returns None,
            the file extension decides: each line of `.jsonl` is a document, and so is a `.json`
            file.

    Returns:
        An iterator of the documents, and of files that are no documents.

    Raises:
        SourceError: At once, if a source cannot be used; while the iterator runs, if a file is
            changed or removed while it is read.
    """
    return chain.from_iterable(
        iter_file_documents(unit, max_document, on_bytes, max_expanded=max_expanded, choose=choose)
        for unit in iter_source_files(sources)
    )


def iter_source_files(sources: Sources) -> Iterator[SourceFile]:
    """Yield each file of the sources with its size, without reading it.

    Args:
        sources: Paths or URLs of folders, files and archives.
    """
    return chain.from_iterable(map(iter_files_of_source, resolve_sources(sources)))


def count_files_and_bytes(sources: Sources) -> tuple[int, int]:
    """Return the number of files in the sources and their total size; an archive is one file.

    Args:
        sources: Paths or URLs of folders, files and archives.
    """
    sizes = [
        source_file.n_bytes
        for source_file in iter_source_files(sources)
        if source_file.file is not None
    ]
    return len(sizes), sum(sizes)


def iter_file_documents(
    unit: SourceFile,
    max_document: int = MAX_DOCUMENT_BYTES,
    on_bytes: Callable[[int], None] | None = None,
    *,
    max_expanded: int | None = None,
    choose: Choose = _select_splitter_by_file_name,
) -> Iterator[Document]:
    """Iterate over the documents in one source file.

    Args:
        unit: The source file.
        max_document: A document with more bytes is not read, and broken.
        on_bytes: Called with numbers of bytes as they are read; their sum is the size of the file.
        max_expanded: Maximum number of bytes to extract, as for `iter_documents`.
        choose: Returns the splitter for the file, as for `iter_documents`.

    Yields:
        The documents. A file that is no document is yielded with the reason.

    Raises:
        SourceError: If the file is changed or removed while it is read.
    """
    report_bytes = on_bytes or (lambda _: None)
    source, path, file, n_bytes, reason, is_broken, *_ = unit
    if file is None:
        yield Document(source, path, None, reason, is_broken)
        return
    file_name = file[file.rfind("/") + 1 :]
    reason = reason_to_skip_by_name(file_name)
    filetype = file_type(file_name)
    # A format can split a large JSON file while it is read.
    if reason is None and (filetype != PLAIN or n_bytes > max_document):
        progress_file = _ProgressFile(file, n_bytes, report_bytes)
        options = ReadOptions(path, choose, max_document, ExpansionLimit(n_bytes, max_expanded))
        yield from _iter_split_or_unpacked_documents(unit, file, progress_file, filetype, options)
        progress_file.report_unread_bytes()
        return
    if n_bytes:
        report_bytes(n_bytes)
    if reason:
        yield Document(source, mark_as_file_if_like_part(path), None, reason)
    else:
        yield from _iter_documents_of_plain_json(unit, file, max_document, choose)


def _iter_split_or_unpacked_documents(
    source_file: SourceFile,
    file: str,
    file_context: FileContext,
    filetype: FileType,
    options: ReadOptions,
) -> Iterator[Document]:
    version_before, is_read = file_change_key(file), filetype.kind != "text"
    if can_open_without_waiting(file):
        for part in iter_parts_of_open_file(file_context, filetype, options):
            is_read |= part.data is not None
            yield _document_of_part(source_file, part)
    else:
        yield Document(source_file.source, source_file.path, None, _NOT_REGULAR)
    # A text that is no log may change while it is read.
    if is_read and (file_change_key(file) != version_before or is_missing_local_file(file)):
        raise source_changed_error(file)


def _iter_documents_of_plain_json(
    source_file: SourceFile, file: str, max_document_bytes: int, choose_splitter: Choose
) -> Iterator[Document]:
    """Yield a JSON file as one document, or its parts if its format splits it."""
    source, path = source_file.source, source_file.path
    try:
        data = read_regular_file(file, lambda n_bytes: check_size(n_bytes, max_document_bytes))
        is_whole = data is None or choose_splitter(path, data[:HEAD_BYTES]) in (
            None,
            read_whole_file,
        )
    except ChangedError:
        raise source_changed_error(file) from None
    except UNREADABLE as error:
        if is_missing_local_file(file):
            raise source_changed_error(file) from None
        yield Document(source, path, None, describe_error(error), is_broken=True)
        return
    if data is None or is_whole:
        yield Document(source, path, data, _NOT_REGULAR if data is None else None)
        return
    options = ReadOptions(path, choose_splitter, max_document_bytes, ExpansionLimit(len(data)))
    for part in iter_parts_of_open_file(io.BytesIO(data), PLAIN, options):
        yield _document_of_part(source_file, part)


def source_and_path_of_part(source_file: SourceFile, part_path: str) -> tuple[str, str]:
    """Return the source and the path of a document within a source file.

    Args:
        source_file: The source file.
        part_path: The path of the document within the file; it begins with a slash in an archive.
    """
    if source_file.is_source and part_path.startswith("/"):
        return f"{source_file.source}/{source_file.path}", part_path[1:]
    return source_file.source, source_file.path + part_path


def _document_of_part(source_file: SourceFile, part: FilePart) -> Document:
    return Document(
        *source_and_path_of_part(source_file, part.path), part.data, part.reason, part.is_broken
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
        """Read at most `size` bytes, and report their number."""
        data = self._file.read(size)
        self._report_up_to_size(len(data))
        return data

    def report_unread_bytes(self) -> None:
        """Report the bytes that were not read, so that the reports add up to the size."""
        self._report_up_to_size(self._n_unreported_bytes)

    def _report_up_to_size(self, n_bytes: int) -> None:
        n_bytes = min(n_bytes, self._n_unreported_bytes)
        if n_bytes > 0:
            self._n_unreported_bytes -= n_bytes
            self._report(n_bytes)
