"""A member of an archive, whichever archive it is, and names made unique where they come twice."""

import bz2
import lzma
import re
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO, NamedTuple, Protocol, Self, cast

import zstandard

from pipeline.archives.sources import (
    POINTER,
    UNREADABLE,
    LostArchiveError,
    RejectedInputError,
    is_lfs_pointer,
    size,
    why,
)


class Member(NamedTuple):
    """A member of an archive; `open` gives its bytes, null for what is not a regular file."""

    name: str
    n_bytes: int = 0  # as its header has it, which can be wrong
    open: Callable[[], Iterator[bytes]] | None = None


class Distinct:
    """Gives each name once: a second `x.json` is `x.json (2)`.

    It keeps the hashes of the names, because in an archive of millions of members the names
    themselves would be the largest thing in memory. Two names with one hash are as unlikely as a
    broken disk, and would give the second one a needless number.
    """

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._times: dict[str, int] = {}  # only of names that came twice

    def unique_name(self, name: str) -> str:
        """Return the name, with a number if it was given before."""
        if self._is_new(name):
            return name
        number = self._times.get(name, 1) + 1
        while not self._is_new(f"{name} ({number})"):
            number += 1
        self._times[name] = number
        return f"{name} ({number})"

    def _is_new(self, name: str) -> bool:
        """Return whether a name is new, and remember it."""
        n_before = len(self._hashes)
        self._hashes.add(hash(name))
        return len(self._hashes) > n_before


# Bytes as they come out of a file, a piece at a time, decompressed if need be, up to a limit.

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

    def iter_within_limit(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
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
    """Return what is left of a source, piece by piece."""
    return iter(partial(source.read, _CHUNK_BYTES), b"")


def decompressed(
    pieces: Iterator[bytes], codec: str | None, expansion: Expansion
) -> Iterator[bytes]:
    """Return the pieces decompressed; raises `EOFError` where they are cut short.

    The readers of the libraries will not do: that of `zstandard` ends quietly at a cut.
    """
    if codec is None:
        return pieces
    return expansion.iter_within_limit(units(fetched(pieces), codec))


def fetched(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the pieces; raises `UnfitError` where they are a pointer to a file not fetched."""
    first = next(pieces, b"")
    if is_lfs_pointer(first):
        raise RejectedInputError(POINTER)
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
        raise RejectedInputError("the compressed data is damaged") from None


def _small(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        # The checksum that gzip ends with comes by itself: if it is wrong, the rest is out already.
        end = max(len(piece) - _CHECKSUM_BYTES, 0)
        for start in range(0, end, _PIECE_BYTES):
            yield piece[start : min(start + _PIECE_BYTES, end)]
        yield piece[end:]


# The members of a tar in its own order, read once from front to back.

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
                filled = expansion.iter_within_limit(chunks(sparse))
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


# The members of a zip in the order of its directory, which stands at its end.

_ZSTANDARD = 93  # Python's own library reads it from 3.14 on
_IS_ENCRYPTED = 1  # bit of a zip member's flags
_IS_SPECIAL = 0x61  # encrypted in one way or another, or a patch
_HEADER = struct.Struct("<4s22xHH")
_LONGEST_POINTER = 1 << 10
_MOST_IN_MEMORY = 1 << 26
_MOST_UNPACKED = 1 << 32
_WRONG = "the member's size or checksum is wrong"


def zip_members(file: BinaryIO, expansion: Expansion) -> Iterator[Member]:
    """Yield the members; a failure in one is its own, the next one is read from its place."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        if is_lfs_pointer(file.read(_LONGEST_POINTER)):
            raise RejectedInputError(POINTER)
        raise zipfile.BadZipFile(
            "no directory at its end: it is cut short, or it is not a zip file"
        )
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            # Some tools for Windows ignore the format's rule for names.
            name = entry.filename.replace("\\", "/")
            if name.endswith("/"):
                continue
            if stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG):
                content = partial(_content, file, archive, entry, expansion)
                yield Member(name, entry.file_size, content)
            else:
                yield Member(name)


def _content(
    file: BinaryIO, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, expansion: Expansion
) -> Iterator[bytes]:
    is_plain = not entry.flag_bits & _IS_SPECIAL
    is_usual = is_plain and entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if is_usual and max(entry.compress_size, entry.file_size) <= _MOST_AT_ONCE:
        pieces = _small_zip(file, entry)
    elif is_plain and entry.compress_type == _ZSTANDARD:
        pieces = _of_zstandard(file, entry)
    else:
        pieces = _pieces(archive, entry)
    return expansion.iter_within_limit(pieces)


def _small_zip(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member in one piece, in six tenths of the time that the library's streams take."""
    file.seek(_start(file, entry))
    data = file.read(entry.compress_size)
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.file_size + 1)
    if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
        raise zipfile.BadZipFile(_WRONG)
    yield data


def _start(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Return where the member's data begins."""
    file.seek(entry.header_offset)
    signature, n_name, n_extra = _HEADER.unpack(file.read(_HEADER.size))
    if signature != b"PK\3\4":
        raise zipfile.BadZipFile("the directory points to a member that is not there")
    return entry.header_offset + _HEADER.size + int(n_name) + int(n_extra)


def _of_zstandard(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    n_bytes = checksum = 0
    for piece in units(_packed(file, entry), "zst"):
        n_bytes += len(piece)
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if (n_bytes, checksum) != (entry.file_size, entry.CRC):
        raise zipfile.BadZipFile(_WRONG)


def _packed(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the member as it lies in the file, in pieces; others may read the file in between."""
    place = _start(file, entry)
    end = place + entry.compress_size
    while place < end:
        file.seek(place)
        piece = file.read(min(end - place, _MOST_AT_ONCE))
        if not piece:
            return
        yield piece
        place += len(piece)


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    if entry.flag_bits & _IS_ENCRYPTED:
        raise NotImplementedError("encrypted")
    n_bytes = min(entry.file_size + 1, _MOST_AT_ONCE)
    with archive.open(entry) as member:
        while piece := member.read(n_bytes):
            yield piece


def spooled(pieces: Iterator[bytes]) -> BinaryIO:
    """Return a file with what was decompressed: a zip's directory is at its end, and says where."""
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY))  # noqa: SIM115
    try:
        n_bytes = 0
        for piece in pieces:
            n_bytes += file.write(piece)
            if n_bytes > _MOST_UNPACKED:
                raise RejectedInputError("a compressed zip of more than 4 GiB: decompress it first")
        return file
    except BaseException:
        file.close()
        raise
