"""Bytes as they come out of a file, a piece at a time, decompressed if need be."""

import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol

import zstandard

from pipeline.archives.expansion import Expansion
from pipeline.archives.failures import check_size

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# What comes out of one piece is in memory at once: 32,768 times as much at worst, of zstd. Pieces
# eight times as large read no faster.
_PIECE_BYTES = 1 << 10
_CHUNK_BYTES = 1 << 16
# What a header of xz may ask for: as much as is the rule for zstd, and twice what `xz -9` needs.
_XZ_MEMORY = 1 << 27


class Readable(Protocol):
    """Anything that bytes can be read from, file or member."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes, none at the end."""


class _Unit(Protocol):
    """A decoder of one gzip member, zstd frame or xz stream."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


_UNITS: dict[str, Callable[[], _Unit]] = {
    "gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
    "xz": partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY),
}


def chunks(source: Readable) -> Iterator[bytes]:
    """Yield what is left of a source."""
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def decompressed(
    pieces: Iterator[bytes], codec: str | None, expansion: Expansion
) -> Iterator[bytes]:
    """Return the pieces decompressed; raises `EOFError` where they are cut short.

    The readers of the libraries will not do: that of `zstandard` ends quietly at a cut.
    """
    if codec is None:
        return pieces
    return expansion.counted(_decompress(pieces, _UNITS[codec]))


def _decompress(pieces: Iterator[bytes], new_unit: Callable[[], _Unit]) -> Iterator[bytes]:
    """Yield the contents of all units, one after the other, with zeros between them as padding."""
    unit = new_unit()
    for piece in _small(pieces):
        left = piece
        while left:
            if unit.eof:
                left = left.lstrip(b"\0")
                if not left:
                    break
                unit = new_unit()
            yield unit.decompress(left)
            left = unit.unused_data
    if not unit.eof:
        raise EOFError("the compressed data is cut short")


def _small(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]


def read_whole(pieces: Iterator[bytes], limit: int) -> bytes:
    """Return all of a document; raises for one that is larger than the limit."""
    held: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        held.append(piece)
        n_bytes += len(piece)
        check_size(n_bytes, limit)
    return held[0] if len(held) == 1 else b"".join(held)


def read_lines(pieces: Iterator[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and text of each line that is not blank; null for one larger than the limit.

    Lines are counted as editors count them, so with blank ones. Those are passed over many at a
    time: a few hundred compressed bytes can hold millions.
    """
    lines = io.BufferedReader(_Raw(pieces), _CHUNK_BYTES)
    number = 0
    while line := lines.readline(limit + 1):
        number += 1
        if len(line) > limit:
            while line and not line.endswith(b"\n"):
                line = lines.readline(_CHUNK_BYTES)
            yield number, None
        elif line.strip():
            yield number, line
        else:
            number += _pass_blank(lines)


def _pass_blank(lines: "io.BufferedReader[_Raw]") -> int:
    """Go on to the next line with something on it, and return how many lines that passed."""
    n_lines = 0
    while ahead := lines.peek():
        blank = ahead[: len(ahead) - len(ahead.lstrip())]
        n_bytes = blank.rfind(b"\n") + 1
        lines.read(n_bytes)
        n_lines += blank.count(b"\n")
        if n_bytes < len(ahead):
            break
    return n_lines


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
