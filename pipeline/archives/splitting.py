"""How a file is cut into documents: a splitter takes its bytes, and gives its parts as they come.

A part has its number in the file, from 1 on, or a name of its own; null stands for the file as a
whole. Its data are null where they are more than the limit. Only one part is in memory at a time,
except that `list_splitter` holds the file, of which the limit is asked too.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.archives.sources import RejectedInputError, check_size, format_size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 1 << 16
_MAX_LINE_PIECE_BYTES = 1 << 20  # of a longer line so many are looked at together
# Each row carries its header: with a longer one, a row could cost more than a document.
_MAX_CSV_HEADER_BYTES = 1 << 14
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# No end of a line can be in a text of JSON, so each is whole on its line.
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_TRUNCATED_JSON_MESSAGE = "Input data was truncated"
_NUMBER_CHARACTERS = b"0123456789.-+eE"


class DocumentPart(NamedTuple):
    """A part of a file with its number or name."""

    key: int | str | None
    data: bytes | None


Splitter = Callable[[Iterator[bytes], int], Iterator[DocumentPart]]


def read_whole_file(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield the whole file as one document.

    Raises:
        RejectedInputError: If it is larger than the limit.
    """
    failures: list[Exception] = []
    data = read_bytes_within_limit(_iter_until_error(pieces, failures), limit)
    if not failures or (data.lstrip()[:1] in (b"{", b"[") and _json_error_message(data) is None):
        yield DocumentPart(None, data)
    if failures:
        raise failures[0]


def _iter_until_error(pieces: Iterator[bytes], failures: list[Exception]) -> Iterator[bytes]:
    try:
        yield from pieces
    except Exception as error:
        failures.append(error)


def iter_lines(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each line that is not blank as a document."""
    file = _file_over_pieces(pieces)
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) > limit:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK_BYTES)
            yield DocumentPart(number, None)
        elif not _has_only_whitespace(line):
            yield DocumentPart(number, line.rstrip(b"\r\n"))
        else:
            number += _skip_and_count_blank_lines(file)


def iter_json_values(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each JSON value of a file; a single value is the whole file."""
    file, held, number, depth = _file_over_pieces(pieces), _PartBuffer(limit), 1, 0
    _skip_and_count_blank_lines(file)
    while line := file.readline(limit + 1):
        if not depth and _has_only_whitespace(line):
            _skip_and_count_blank_lines(file)
            continue
        held.append_bytes(line)
        bare = _JSON_STRING.sub(b"", line)
        depth += bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
        if depth > 0:
            continue
        try:
            _skip_and_count_blank_lines(file)
            is_alone = number == 1 and not file.peek()
        except Exception:
            yield from held.take_part(number)
            raise
        yield from held.take_part(None if is_alone else number)
        number, depth = number + 1, 0
    yield from held.take_part(None if number == 1 else number)


def section_splitter(begin: re.Pattern[bytes]) -> Splitter:
    """Return a splitter that begins a part at each line that matches a pattern."""

    def split(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
        held, number = _PartBuffer(limit), 0
        for line, following, is_start in _iter_lines_with_next_line(_file_over_pieces(pieces)):
            if is_start and begin.match(line + following):
                yield from held.take_part(number)
                number += 1
            held.append_bytes(line)
        yield from held.take_part(number)

    return split


def iter_csv_rows(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each row of a CSV file, together with the header, as a document."""
    records = _iter_csv_records_within_limit(pieces, limit)
    header = next(records, b"")
    if header is None or len(header) > _MAX_CSV_HEADER_BYTES:
        raise RejectedInputError(
            f"the header of the table is larger than {format_size(_MAX_CSV_HEADER_BYTES)}"
        )
    for number, record in enumerate(records, start=1):
        data = None if record is None else header + b"\n" + record
        yield DocumentPart(number, None if data is None or len(data) > limit else data)


def list_splitter(key: str | None = None) -> Splitter:
    """Return a splitter of the entries of a JSON list, or of the list at a key of an object."""

    def split(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
        data = read_bytes_within_limit(pieces, limit)
        json = data.removeprefix(BYTE_ORDER_MARK)
        try:
            listed = _LIST_DECODER.decode(
                json if key is None else _OBJECT_DECODER.decode(json)[key]
            )
        except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
            yield DocumentPart(None, data)
            return
        for number, entry in enumerate(listed, start=1):
            yield DocumentPart(number, bytes(entry))

    return split


def read_bytes_within_limit(pieces: Iterator[bytes], limit: int) -> bytes:
    """Return the bytes of a document.

    Raises:
        RejectedInputError: If it is larger than the limit.
    """
    held: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        held.append(piece)
        n_bytes += len(piece)
        check_size(n_bytes, limit)
    return held[0] if len(held) == 1 else b"".join(held)


_LIST_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


_RAW_DECODER = msgspec.json.Decoder(msgspec.Raw)


def is_multiline_json(head: bytes) -> bool:
    """Return whether a JSON file has one value over several lines."""
    first, _, rest = head.removeprefix(BYTE_ORDER_MARK).lstrip().partition(b"\n")
    second = rest.partition(b"\n")[0].strip()
    return (
        bool(second)
        and _json_error_message(first) == _TRUNCATED_JSON_MESSAGE
        and _is_json_or_truncated_json(first + second)
    )


def starts_like_json(head: bytes) -> bool:
    """Return whether a file starts with a JSON object, a list of objects, or JSON Lines."""
    head = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    is_opened = head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip()[:1] == b"{")
    return is_opened and (
        _is_json_or_truncated_json(head) or _is_json_or_truncated_json(head.partition(b"\n")[0])
    )


def _is_json_or_truncated_json(data: bytes) -> bool:
    """Return whether the bytes are a JSON value or the truncated start of one."""
    return (
        _json_error_message(data) in (None, _TRUNCATED_JSON_MESSAGE)
        or _json_error_message(data.rstrip(_NUMBER_CHARACTERS)) == _TRUNCATED_JSON_MESSAGE
    )


def _json_error_message(data: bytes) -> str | None:
    """Return why the bytes are no JSON value, or None if they are one."""
    try:
        _RAW_DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    return None


class _PartBuffer:
    """The bytes of the current part, which are dropped if they exceed the limit."""

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
        """Yield the part without its final line breaks unless it is blank, and start the next."""
        data = None if self._n_bytes > self._limit else b"".join(self._pieces).rstrip(b"\r\n")
        self._pieces, self._n_bytes = [], 0
        if data is None or not _has_only_whitespace(data):
            yield DocumentPart(number, data)


def _has_only_whitespace(data: bytes) -> bool:
    """Return whether the bytes contain only whitespace or a byte order mark."""
    return not data.removeprefix(BYTE_ORDER_MARK).strip()


def _iter_lines_with_next_line(
    file: "io.BufferedReader[_IteratorFile]",
) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield each line with the next line, and whether the line is complete from its start."""
    is_start = True
    line = file.readline(_MAX_LINE_PIECE_BYTES)
    while line:
        following = file.readline(_MAX_LINE_PIECE_BYTES)
        yield line, following, is_start
        is_start = line.endswith(b"\n")
        line = following


def _iter_csv_records_within_limit(pieces: Iterator[bytes], limit: int) -> Iterator[bytes | None]:
    """Yield the records of a CSV file; None for one that is larger than the limit."""
    file, held = _file_over_pieces(pieces), _PartBuffer(limit)
    is_quoted = False
    while line := file.readline(_MAX_LINE_PIECE_BYTES):
        held.append_bytes(line)
        # A quote within quotes is written twice, so an odd number leaves one open.
        is_quoted ^= line.count(b'"') % 2 == 1
        if line.endswith(b"\n") and not is_quoted:
            yield from (record for _, record in held.take_part(0))
    yield from (record for _, record in held.take_part(0))


def _skip_and_count_blank_lines(file: "io.BufferedReader[_IteratorFile]") -> int:
    """Skip blank lines, and return their number."""
    n_lines = 0
    while ahead := file.peek():
        blank = ahead[: len(ahead) - len(ahead.lstrip())]
        n_bytes = blank.rfind(b"\n") + 1
        file.read(n_bytes)
        n_lines += blank.count(b"\n")
        if n_bytes < len(ahead):
            break
    return n_lines


def _file_over_pieces(pieces: Iterator[bytes]) -> "io.BufferedReader[_IteratorFile]":
    return io.BufferedReader(_IteratorFile(pieces), _CHUNK_BYTES)


class _IteratorFile(io.RawIOBase):
    """A readable file over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._unread_bytes = memoryview(b"")

    def readable(self) -> bool:
        """Return True, as `io` requires it."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer from the current piece; return 0 at the end."""
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
