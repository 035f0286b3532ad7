"""Split files into documents.

A splitter takes the bytes of a file and a limit, and yields the parts of the file. The key of a
part is its number, from 1, or its name; None stands for the whole file. Its data are None if they
exceed the limit. Only one part is in memory at a time, except that `list_splitter` reads the whole
file, which must not exceed the limit.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.archives.sources import RejectedInputError, check_size, format_size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 1 << 16
_MAX_LINE_PIECE_BYTES = 1 << 20  # A longer line is read in pieces.
# Each row repeats the header, so a large header would make all rows large.
_MAX_CSV_HEADER_BYTES = 1 << 14
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A JSON string contains no line break, so each string is complete on its line.
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_TRUNCATED_JSON_MESSAGE = "Input data was truncated"
_NUMBER_CHARACTERS = b"0123456789.-+eE"


class DocumentPart(NamedTuple):
    """A part of a file.

    Attributes:
        key: The number or name of the part; None for the whole file.
        data: The bytes; None if they exceed the limit.
    """

    key: int | str | None
    data: bytes | None


Splitter = Callable[[Iterator[bytes], int], Iterator[DocumentPart]]


def read_whole_file(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
    """Yield the whole file as one document.

    Raises:
        RejectedInputError: If the file has more bytes than the limit.
    """
    failures: list[Exception] = []
    data = read_bytes_within_limit(_iter_until_error(pieces, failures), max_document_bytes)
    if not failures or (data.lstrip()[:1] in (b"{", b"[") and _json_error_message(data) is None):
        yield DocumentPart(None, data)
    if failures:
        raise failures[0]


def _iter_until_error(pieces: Iterator[bytes], failures: list[Exception]) -> Iterator[bytes]:
    try:
        yield from pieces
    except Exception as error:
        failures.append(error)


def iter_lines(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
    """Yield each line of a file as a document, except for blank lines."""
    file = _file_over_pieces(pieces)
    number = 0
    while line := file.readline(max_document_bytes + 1):
        number += 1
        if len(line) > max_document_bytes:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK_BYTES)
            yield DocumentPart(number, None)
        elif not _has_only_whitespace(line):
            yield DocumentPart(number, line.rstrip(b"\r\n"))
        else:
            number += _skip_and_count_blank_lines(file)


def iter_json_values(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
    """Yield each JSON value of a file as a document; a value can span several lines.

    The only value of a file is yielded as the whole file.
    """
    file, part_buffer, number, depth = (
        _file_over_pieces(pieces),
        _PartBuffer(max_document_bytes),
        1,
        0,
    )
    _skip_and_count_blank_lines(file)
    while line := file.readline(max_document_bytes + 1):
        if not depth and _has_only_whitespace(line):
            _skip_and_count_blank_lines(file)
            continue
        part_buffer.append_bytes(line)
        line_without_strings = _JSON_STRING.sub(b"", line)
        depth += (
            line_without_strings.count(b"{")
            + line_without_strings.count(b"[")
            - line_without_strings.count(b"}")
            - line_without_strings.count(b"]")
        )
        if depth > 0:
            continue
        try:
            _skip_and_count_blank_lines(file)
            is_only_value = number == 1 and not file.peek()
        except Exception:
            yield from part_buffer.take_part(number)
            raise
        yield from part_buffer.take_part(None if is_only_value else number)
        number, depth = number + 1, 0
    yield from part_buffer.take_part(None if number == 1 else number)


def section_splitter(begin: re.Pattern[bytes]) -> Splitter:
    """Return a splitter that starts a new document at each line that matches a pattern.

    Args:
        begin: The pattern; it is matched with the line and the next one.
    """

    def split(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
        part_buffer, number = _PartBuffer(max_document_bytes), 0
        for line, next_line, is_line_start in _iter_line_and_next_line_and_is_start(
            _file_over_pieces(pieces)
        ):
            if is_line_start and begin.match(line + next_line):
                yield from part_buffer.take_part(number)
                number += 1
            part_buffer.append_bytes(line)
        yield from part_buffer.take_part(number)

    return split


def iter_csv_rows(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
    """Yield each row of a CSV file as a document, with the header of the file before it.

    Raises:
        RejectedInputError: If the header is too large.
    """
    header, records = _csv_header_and_records(pieces, max_document_bytes)
    for number, record in enumerate(records, start=1):
        data = None if record is None else header + b"\n" + record
        yield DocumentPart(number, None if data is None or len(data) > max_document_bytes else data)


def csv_group_splitter(column: str) -> Splitter:
    """Return a splitter that joins the CSV rows with equal values in a column to one document.

    Each document has the header of the file. The splitter raises RejectedInputError if the file
    lacks the column, if a row exceeds the limit, or if other rows are between rows of one value.

    Args:
        column: The name of the column, for example of the game's id.
    """

    def split(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
        header, records = _csv_header_and_records(pieces, max_document_bytes)
        names = _parse_csv_record(header.removeprefix(BYTE_ORDER_MARK))
        if column not in names:
            raise RejectedInputError(f"the table has no column `{column}` to group its rows by")

        def value_in_column(record: bytes | None) -> str:
            if record is None:
                raise RejectedInputError(
                    f"a row is larger than {format_size(max_document_bytes)}, so its `{column}` is "
                    "unknown"
                )
            return dict(zip(names, _parse_csv_record(record), strict=False)).get(column, "")

        part_buffer = _PartBuffer(max_document_bytes)
        # Hashes, because a table can have millions of values.
        earlier_values: set[int] = set()
        for number, (value, group) in enumerate(groupby(records, value_in_column), start=1):
            if hash(value) in earlier_values:
                raise RejectedInputError(
                    f"rows with `{column}` {value[:100]!r} are not together: sort the table "
                    "by this column"
                )
            earlier_values.add(hash(value))
            part_buffer.append_bytes(header)
            for record in group:
                part_buffer.append_bytes(b"\n" + (record or b""))
            yield from part_buffer.take_part(number)

    return split


def _csv_header_and_records(
    pieces: Iterator[bytes], max_document_bytes: int
) -> tuple[bytes, Iterator[bytes | None]]:
    records = _iter_csv_records_within_limit(pieces, max_document_bytes)
    header = next(records, b"")
    if header is None or len(header) > _MAX_CSV_HEADER_BYTES:
        raise RejectedInputError(
            f"the header of the table is larger than {format_size(_MAX_CSV_HEADER_BYTES)}"
        )
    return header, records


def _parse_csv_record(record: bytes) -> list[str]:
    """Return the values of a CSV record; bytes that are not UTF-8 are replaced."""
    csv.field_size_limit(max(csv.field_size_limit(), len(record)))
    text = io.StringIO(record.decode("utf-8", "replace"), newline="")
    return next(csv.reader(text), [])


def list_splitter(key: str | None = None) -> Splitter:
    """Return a splitter that yields each element of a JSON list as a document.

    Args:
        key: The key of the list if the file contains an object; None if the file is a list.
    """

    def split(pieces: Iterator[bytes], max_document_bytes: int) -> Iterator[DocumentPart]:
        data = read_bytes_within_limit(pieces, max_document_bytes)
        json = data.removeprefix(BYTE_ORDER_MARK)
        try:
            entries = _LIST_DECODER.decode(
                json if key is None else _OBJECT_DECODER.decode(json)[key]
            )
        except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
            yield DocumentPart(None, data)
            return
        for number, entry in enumerate(entries, start=1):
            yield DocumentPart(number, bytes(entry))

    return split


def read_bytes_within_limit(pieces: Iterator[bytes], max_document_bytes: int) -> bytes:
    """Return all bytes of a document.

    Raises:
        RejectedInputError: If it has more bytes than the limit.
    """
    chunks: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        chunks.append(piece)
        n_bytes += len(piece)
        check_size(n_bytes, max_document_bytes)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


_LIST_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


_RAW_DECODER = msgspec.json.Decoder(msgspec.Raw)


def is_multiline_json(head: bytes) -> bool:
    """Return whether a file begins with a JSON value that spans at least two lines.

    Args:
        head: The first bytes of the file.
    """
    first_line, _, rest = head.removeprefix(BYTE_ORDER_MARK).lstrip().partition(b"\n")
    second_line = rest.partition(b"\n")[0].strip()
    return (
        bool(second_line)
        and _json_error_message(first_line) == _TRUNCATED_JSON_MESSAGE
        and _is_json_or_truncated_json(first_line + second_line)
    )


def starts_like_json(head: bytes) -> bool:
    """Return whether a file begins with a JSON object or a list of objects.

    Args:
        head: The first bytes of the file, which can be truncated.
    """
    head = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    is_opened = head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip()[:1] == b"{")
    return is_opened and (
        _is_json_or_truncated_json(head) or _is_json_or_truncated_json(head.partition(b"\n")[0])
    )


def _is_json_or_truncated_json(data: bytes) -> bool:
    return (
        _json_error_message(data) in (None, _TRUNCATED_JSON_MESSAGE)
        or _json_error_message(data.rstrip(_NUMBER_CHARACTERS)) == _TRUNCATED_JSON_MESSAGE
    )


def _json_error_message(data: bytes) -> str | None:
    """Return why bytes are not a JSON value; None if they are one."""
    try:
        _RAW_DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    return None


class _PartBuffer:
    """Collects the bytes of a part; they are discarded if they exceed the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._n_bytes = 0

    def append_bytes(self, piece: bytes) -> None:
        self._n_bytes += len(piece)
        if self._n_bytes > self._limit:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def take_part(self, number: int | None) -> Iterator[DocumentPart]:
        """Yield the collected part unless it is blank, and start a new one.

        Line breaks at the end are removed. The data are None if they exceed the limit.
        """
        data = None if self._n_bytes > self._limit else b"".join(self._pieces).rstrip(b"\r\n")
        self._pieces, self._n_bytes = [], 0
        if data is None or not _has_only_whitespace(data):
            yield DocumentPart(number, data)


def _has_only_whitespace(data: bytes) -> bool:
    """Return whether bytes are blank apart from a byte order mark."""
    return not data.removeprefix(BYTE_ORDER_MARK).strip()


def _iter_line_and_next_line_and_is_start(
    file: "io.BufferedReader[_IteratorFile]",
) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield each line, the next line, and whether the first is the start of a line.

    Long lines are yielded in pieces.
    """
    is_line_start = True
    line = file.readline(_MAX_LINE_PIECE_BYTES)
    while line:
        next_line = file.readline(_MAX_LINE_PIECE_BYTES)
        yield line, next_line, is_line_start
        is_line_start = line.endswith(b"\n")
        line = next_line


def _iter_csv_records_within_limit(
    pieces: Iterator[bytes], max_document_bytes: int
) -> Iterator[bytes | None]:
    """Yield the records of a CSV file; None for a record that exceeds the limit."""
    file, part_buffer = _file_over_pieces(pieces), _PartBuffer(max_document_bytes)
    is_quoted = False
    while line := file.readline(_MAX_LINE_PIECE_BYTES):
        part_buffer.append_bytes(line)
        # Quotes within quotes are doubled, so an odd number of quotes leaves one open.
        is_quoted ^= line.count(b'"') % 2 == 1
        if line.endswith(b"\n") and not is_quoted:
            yield from (record for _, record in part_buffer.take_part(0))
    yield from (record for _, record in part_buffer.take_part(0))


def _skip_and_count_blank_lines(file: "io.BufferedReader[_IteratorFile]") -> int:
    n_lines = 0
    while buffered := file.peek():
        blank = buffered[: len(buffered) - len(buffered.lstrip())]
        n_bytes = blank.rfind(b"\n") + 1
        file.read(n_bytes)
        n_lines += blank.count(b"\n")
        if n_bytes < len(buffered):
            break
    return n_lines


def _file_over_pieces(pieces: Iterator[bytes]) -> "io.BufferedReader[_IteratorFile]":
    return io.BufferedReader(_IteratorFile(pieces), _CHUNK_BYTES)


class _IteratorFile(io.RawIOBase):
    """A file that reads from an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._unread_bytes = memoryview(b"")

    def readable(self) -> bool:
        """Return True, as `io` requires it."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill a buffer from the current piece; return the number of bytes, 0 at the end."""
        while not self._unread_bytes:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._unread_bytes = memoryview(piece)
        target = memoryview(buffer).cast("B")
        n_bytes = min(len(target), len(self._unread_bytes))
        target[:n_bytes] = self._unread_bytes[:n_bytes]
        self._unread_bytes = self._unread_bytes[n_bytes:]
        return n_bytes
