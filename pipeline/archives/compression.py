"""Decompressed streams that notice when they are cut short."""

import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# What comes out of one piece is in memory at once, and can be some ten thousand times as much.
_PIECE_BYTES = 1 << 13
_CHUNK_BYTES = 1 << 16
_LIMIT_BYTES = 1 << 30


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
    "xz": lzma.LZMADecompressor,
}


class Stream(io.RawIOBase):
    """The bytes of an iterator, to be read as a file.

    Unbuffered, so that a failure loses nothing of what came before it.
    """

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


def decompressed(source: Readable, codec: str) -> Stream:
    """Return the decompressed stream; reading it raises `EOFError` where the source is cut short.

    The readers of the libraries will not do: that of `zstandard` ends quietly at a cut.
    """
    return Stream(_decompress(source, _UNITS[codec]))


def _decompress(source: Readable, new_unit: Callable[[], _Unit]) -> Iterator[bytes]:
    """Yield the contents of all units, one after the other, with zeros between them as padding."""
    unit = new_unit()
    while piece := source.read(_PIECE_BYTES):
        while piece:
            if unit.eof:
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                unit = new_unit()
            yield unit.decompress(piece)
            piece = unit.unused_data
    if not unit.eof:
        raise EOFError("the compressed data is cut short")


def chunks(source: Readable) -> Iterator[bytes]:
    """Yield what is left of a source."""
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def read_whole(source: Readable) -> bytes:
    """Return all of a source; raises `ValueError` for what is too large to be one document."""
    held: list[bytes] = []
    n_bytes = 0
    for chunk in chunks(source):
        held.append(chunk)
        n_bytes += len(chunk)
        check_size(n_bytes)
    return b"".join(held)


def read_lines(source: Readable) -> Iterator[bytes]:
    """Yield the lines of a source, their ends included."""
    lines = io.BufferedReader(Stream(chunks(source)), _CHUNK_BYTES)
    while line := lines.readline(_LIMIT_BYTES + 1):
        check_size(len(line))
        yield line


def check_size(n_bytes: int) -> None:
    """Refuse what would fill the memory: a few kilobytes can decompress to terabytes."""
    if n_bytes > _LIMIT_BYTES:
        raise ValueError(f"a document of more than {_LIMIT_BYTES} bytes")
