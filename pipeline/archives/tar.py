"""The members of a tar in its own order, read once from front to back."""

import re
import tarfile
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Self, cast

from pipeline.archives.compression import Expansion, Readable, chunks
from pipeline.archives.failures import UNREADABLE, LostArchiveError, why
from pipeline.archives.members import Member

_MOST_AT_ONCE = 1 << 20
_MOST_OF_A_HEADER = 1 << 16
# Older releases of Python search a header of digits only for hours.
_DIGITS = re.compile(rb"(?<!\d)\d{100}")


def tar_members(pieces: Iterator[bytes], expansion: Expansion) -> Iterator[Member]:
    """Yield the members; each is read before the next is asked for, or not at all."""
    stream = _Forward(pieces)
    with tarfile.TarFile(
        fileobj=cast(BinaryIO, stream),
        tarinfo=_Header,
        encoding="utf-8",
        errors="surrogateescape",
    ) as tar:
        while header := tar.next():
            tar.members.clear()  # type: ignore[attr-defined]  # it would hold every header
            if header.isdir():
                continue
            if not header.isfile():
                yield Member(header.name)
            elif header.issparse():
                sparse = cast(Readable, tar.extractfile(header))
                # Its holes take no place in the tar, and come out as zeros.
                filled = expansion.counted(chunks(sparse))
                yield Member(header.name, header.size, partial(_unlost, filled))
            else:
                content = partial(_unlost, stream.pieces(header.size))
                yield Member(header.name, header.size, content)
        if any(chunk.strip(b"\0") for chunk in chunks(stream)):
            raise tarfile.ReadError("there is more data after the end of the archive")


def _unlost(content: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a member's bytes; if reading fails, that is the whole tar's failure."""
    try:
        yield from content
    except UNREADABLE as error:
        raise LostArchiveError(why(error)) from error


class _Forward:
    """Pieces as a file that only goes forward, which is all that the library asks of it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._next = 0  # what is to be read next of the piece
        self._n_before = 0  # bytes in the pieces before it

    def tell(self) -> int:
        return self._n_before + self._next

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end."""
        if size > _MOST_OF_A_HEADER:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        data = self._some(size)
        if len(data) < size:
            held = [data]
            missing = size - len(data)
            while missing and (data := self._some(missing)):
                held.append(data)
                missing -= len(data)
            data = b"".join(held)
        if size > tarfile.BLOCKSIZE and _DIGITS.search(data):
            raise tarfile.ReadError("a header with a number of a hundred digits")
        return data

    def seek(self, position: int) -> None:
        """Go forward, at most to the end."""
        missing = position - self.tell()
        if missing < 0:
            raise tarfile.ReadError("a member that ends before it begins")
        while missing and (n_bytes := self._pass(missing)):
            missing -= n_bytes

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the next so many bytes as they come; raises where they end too soon."""
        while size > 0:
            data = self._some(min(size, _MOST_AT_ONCE))
            if not data:
                raise tarfile.ReadError("the archive is cut short")
            size -= len(data)
            yield data

    def _some(self, size: int) -> bytes:
        """Return bytes of one piece, none only at the end."""
        n_bytes = self._pass(size)
        return self._piece[self._next - n_bytes : self._next]

    def _pass(self, size: int) -> int:
        """Go on within the piece, or the next one if it is used up, and return how far."""
        left = len(self._piece) - self._next
        while not left:
            # The old piece is let go first: it can be large, and so can the next.
            self._n_before, self._piece, self._next = self.tell(), b"", 0
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece, left = piece, len(piece)
        n_bytes = min(size, left)
        self._next += n_bytes
        return n_bytes


class _Header(tarfile.TarInfo):
    """A header that, where it should be and is not, ends the reading with an error.

    Past the first member the library takes a damaged header, or none, for the archive's end.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in a block; let only a block of zeros, the end marker, end it all."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(b"\0") == tarfile.BLOCKSIZE:
                raise
            is_cut = len(buf) < tarfile.BLOCKSIZE
            raise tarfile.ReadError("the archive is cut short" if is_cut else str(error)) from error
