"""Bytes as they come out of a file, a piece at a time, decompressed if need be, up to a limit."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Protocol

import zstandard

from pipeline.archives.failures import POINTER, LostArchiveError, UnfitError, is_pointer, size

# What comes out of one piece is in memory at once: 32,768 times as much at worst, of zstd. Pieces
# eight times as large read no faster.
_PIECE_BYTES = 1 << 10
_CHUNK_BYTES = 1 << 16
_CHECKSUM_BYTES = 8
# What a header of xz may ask for: as much as is the rule for zstd, and twice what `xz -9` needs.
_XZ_MEMORY = 1 << 27
# Of 40 bytes of bzip2 46 MB can come: of a piece of it so much is taken at a time.
_MOST_AT_ONCE = 1 << 20
# By default a file may come to so many times its size on disk; logs come to some 10 to 60 times.
# A small result does no harm, however large the factor.
_MOST_TIMES = 200
_LEAST, _MOST = 2**30, 2**40


class Readable(Protocol):
    """Anything that bytes can be read from, file or member."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes, none at the end."""


class _Unit(Protocol):
    """A decoder of one gzip member, zstd frame, or xz or bzip2 stream."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


_UNITS: dict[str, Callable[[], _Unit]] = {
    "gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
    "xz": partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY),
    "bz2": bz2.BZ2Decompressor,
}


class Expansion:
    """Counts the expanded bytes of one file, and stops reading it at the limit."""

    def __init__(self, n_bytes: int, limit: int | None = None) -> None:
        self._limit = min(max(n_bytes * _MOST_TIMES, _LEAST), _MOST) if limit is None else limit
        self._left = self._limit

    def counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Return the pieces; raises `LostArchiveError` where they are more than may come."""
        return map(self._count, pieces)  # which holds none of them, and one can be large

    def _count(self, piece: bytes) -> bytes:
        self._left -= len(piece)
        if self._left < 0:
            raise LostArchiveError(
                f"it expands to more than {size(self._limit)}; raise --max-expanded to read it"
            )
        return piece


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
    return expansion.counted(units(fetched(pieces), codec))


def fetched(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the pieces; raises `UnfitError` where they are a pointer to a file not fetched."""
    first = next(pieces, b"")
    if is_pointer(first):
        raise UnfitError(POINTER)
    return chain((first,), pieces)


def units(pieces: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Yield the contents of all units, one after the other, with zeros between them as padding."""
    new_unit = _UNITS[codec]
    unit = new_unit()
    for piece in _small(pieces):
        left = piece
        while left:
            if unit.eof:
                left = left.lstrip(b"\0")
                if not left:
                    break
                unit = new_unit()
            yield from _contents(unit, left)
            left = unit.unused_data
    if not unit.eof:
        raise EOFError("the compressed data is cut short")


def _contents(unit: _Unit, data: bytes) -> Iterator[bytes]:
    if not isinstance(unit, bz2.BZ2Decompressor):
        yield unit.decompress(data)
        return
    try:
        yield unit.decompress(data, _MOST_AT_ONCE)
        while not (unit.eof or unit.needs_input):
            yield unit.decompress(b"", _MOST_AT_ONCE)
    except OSError:  # that of bzip2, not of the disk
        raise UnfitError("the compressed data is damaged") from None


def _small(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        # The checksum that gzip ends with comes by itself: if it is wrong, the rest is out already.
        end = max(len(piece) - _CHECKSUM_BYTES, 0)
        for start in range(0, end, _PIECE_BYTES):
            yield piece[start : min(start + _PIECE_BYTES, end)]
        yield piece[end:]
