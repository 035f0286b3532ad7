"""How a file is cut into documents: a splitter takes its bytes, and gives its parts as they come.

A part has its number in the file, from 1 on, or a name of its own; null stands for the file as a
whole. Its data are null where they are more than the limit. Only one part is in memory at a time,
except that `entries` holds the file, of which the limit is asked too.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.archives.sources import RejectedInputError, check_size, size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 1 << 16
_LINE_BYTES = 1 << 20  # of a longer line so many are looked at together
# Each row carries its header: with a longer one, a row could cost more than a document.
_HEADER_BYTES = 1 << 14
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# No end of a line can be in a text of JSON, so each is whole on its line.
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_CUT = "Input data was truncated"
_OF_NUMBER = b"0123456789.-+eE"


class DocumentPart(NamedTuple):
    """A part of a file, by its number or its name in it."""

    key: int | str | None
    data: bytes | None


Splitter = Callable[[Iterator[bytes], int], Iterator[DocumentPart]]


def read_whole_file(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield the file as one document; raises for one that is larger than the limit.

    Where reading fails after the end of a JSON object or list, that comes before the failure.
    """
    failures: list[Exception] = []
    data = read_whole(_until_failure(pieces, failures), limit)
    if not failures or (data.lstrip()[:1] in (b"{", b"[") and _why_no_value(data) is None):
        yield DocumentPart(None, data)
    if failures:
        raise failures[0]


def _until_failure(pieces: Iterator[bytes], failures: list[Exception]) -> Iterator[bytes]:
    try:
        yield from pieces
    except Exception as error:
        failures.append(error)


def iter_lines(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each line that is not blank.

    Lines are counted as editors count them, so with blank ones. Those are passed over many at a
    time: a few hundred compressed bytes can hold millions.
    """
    file = _as_file(pieces)
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) > limit:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK_BYTES)
            yield DocumentPart(number, None)
        elif not _is_blank(line):
            yield DocumentPart(number, line.rstrip(b"\r\n"))
        else:
            number += _pass_blank(file)


def iter_json_values(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each JSON value, over however many lines it goes; one alone is the file as a whole.

    A line that ends a value ends the part. Where brackets do not match, the rest is one part.
    """
    file, held, number, depth = _as_file(pieces), _Held(limit), 1, 0
    _pass_blank(file)
    while line := file.readline(limit + 1):
        if not depth and _is_blank(line):
            _pass_blank(file)
            continue
        held.append_bytes(line)
        bare = _TEXT.sub(b"", line)
        depth += bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
        if depth > 0:
            continue
        try:
            _pass_blank(file)
            is_alone = number == 1 and not file.peek()
        except Exception:
            yield from held.cut(number)
            raise
        yield from held.cut(None if is_alone else number)
        number, depth = number + 1, 0
    yield from held.cut(None if number == 1 else number)


def section_splitter(begin: re.Pattern[bytes]) -> Splitter:
    """Return a splitter whose parts begin at each line that the pattern matches.

    The pattern is tried at the start of a line, and sees the next line too: so a banner of two
    lines can be told from a rule. What comes before the first section is part 0, unless it is
    blank. Line ends after a section are not of it, so that the last one stays as it is when the
    file grows.
    """

    def split(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
        held, number = _Held(limit), 0
        for line, following, is_start in _pairs(_as_file(pieces)):
            if is_start and begin.match(line + following):
                yield from held.cut(number)
                number += 1
            held.append_bytes(line)
        yield from held.cut(number)

    return split


def rows(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield each row of a table in CSV below the table's header: a table of one row.

    A row can go over lines within quotes (RFC 4180), whatever its delimiter. Blank lines do not
    count.
    """
    records = _records(pieces, limit)
    header = next(records, b"")
    if header is None or len(header) > _HEADER_BYTES:
        raise RejectedInputError(f"the header of the table is larger than {size(_HEADER_BYTES)}")
    for number, record in enumerate(records, start=1):
        data = None if record is None else header + b"\n" + record
        yield DocumentPart(number, None if data is None or len(data) > limit else data)


def list_splitter(key: str | None = None) -> Splitter:
    """Return a splitter of the entries of the list at a key of a JSON object, or of a JSON list.

    A part is the entry's own bytes: what was logged is what is hashed and quarantined, and numbers
    and escapes stay as they are. JSON has its list's end at its end, so the file is read whole, and
    is itself subject to the limit. It stays one document if it is no such list.
    """

    def split(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
        data = read_whole(pieces, limit)
        json = data.removeprefix(BYTE_ORDER_MARK)
        try:
            listed = _LIST.decode(json if key is None else _OBJECT.decode(json)[key])
        except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
            yield DocumentPart(None, data)
            return
        for number, entry in enumerate(listed, start=1):
            yield DocumentPart(number, bytes(entry))

    return split


def read_whole(pieces: Iterator[bytes], limit: int) -> bytes:
    """Return all of a document; raises for one that is larger than the limit."""
    held: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        held.append(piece)
        n_bytes += len(piece)
        check_size(n_bytes, limit)
    return held[0] if len(held) == 1 else b"".join(held)


_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


_RAW = msgspec.json.Decoder(msgspec.Raw)


def is_multiline_json(head: bytes) -> bool:
    """Say whether JSON that begins so goes over several lines, as programs write it for people."""
    first, _, rest = head.removeprefix(BYTE_ORDER_MARK).lstrip().partition(b"\n")
    second = rest.partition(b"\n")[0].strip()
    return bool(second) and _why_no_value(first) == _CUT and _is_begun(first + second)


def starts_like_json(head: bytes) -> bool:
    """Say whether what begins so is a JSON object, or a list of such, or some of them in lines."""
    head = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    is_opened = head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip()[:1] == b"{")
    return is_opened and (_is_begun(head) or _is_begun(head.partition(b"\n")[0]))


def _is_begun(data: bytes) -> bool:
    """Say whether the data are a JSON value, or what one begins with, cut anywhere."""
    return _why_no_value(data) in (None, _CUT) or _why_no_value(data.rstrip(_OF_NUMBER)) == _CUT


def _why_no_value(data: bytes) -> str | None:
    """Return why the data are no JSON value; null if they are one."""
    try:
        _RAW.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    return None


class _Held:
    """What belongs to a part so far; it is let go where it becomes more than the limit."""

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

    def cut(self, number: int | None) -> Iterator[DocumentPart]:
        """Yield the part without its last line ends, unless it is blank, and begin the next.

        Its data are null where they are more than the limit.
        """
        data = None if self._n_bytes > self._limit else b"".join(self._pieces).rstrip(b"\r\n")
        self._pieces, self._n_bytes = [], 0
        if data is None or not _is_blank(data):
            yield DocumentPart(number, data)


def _is_blank(data: bytes) -> bool:
    """Say whether there is nothing in it but perhaps a mark of the byte order."""
    return not data.removeprefix(BYTE_ORDER_MARK).strip()


def _pairs(file: "io.BufferedReader[_Raw]") -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield each line with the one after it, and whether it is one from its start on."""
    is_start = True
    line = file.readline(_LINE_BYTES)
    while line:
        following = file.readline(_LINE_BYTES)
        yield line, following, is_start
        is_start = line.endswith(b"\n")
        line = following


def _records(pieces: Iterator[bytes], limit: int) -> Iterator[bytes | None]:
    """Yield the records of a table, null for one larger than the limit."""
    file, held = _as_file(pieces), _Held(limit)
    is_quoted = False
    while line := file.readline(_LINE_BYTES):
        held.append_bytes(line)
        # A quote within quotes is written twice, so an odd number leaves one open.
        is_quoted ^= line.count(b'"') % 2 == 1
        if line.endswith(b"\n") and not is_quoted:
            yield from (record for _, record in held.cut(0))
    yield from (record for _, record in held.cut(0))


def _pass_blank(file: "io.BufferedReader[_Raw]") -> int:
    """Go on to the next line with something on it, and return how many lines that passed."""
    n_lines = 0
    while ahead := file.peek():
        blank = ahead[: len(ahead) - len(ahead.lstrip())]
        n_bytes = blank.rfind(b"\n") + 1
        file.read(n_bytes)
        n_lines += blank.count(b"\n")
        if n_bytes < len(ahead):
            break
    return n_lines


def _as_file(pieces: Iterator[bytes]) -> "io.BufferedReader[_Raw]":
    return io.BufferedReader(_Raw(pieces), _CHUNK_BYTES)


class _Raw(io.RawIOBase):
    """The pieces of an iterator, to be read as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Say yes, or nothing would read it."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer from the current piece; 0 when there are no more."""
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ready = memoryview(piece)
        target = memoryview(buffer).cast("B")
        n_bytes = min(len(target), len(self._ready))
        target[:n_bytes] = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return n_bytes
