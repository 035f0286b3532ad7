"""The members of tar and zip archives, and decompressed bytes of a file up to a limit.

Names that come twice in an archive are made unique.
"""

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
    RejectedInputError,
    UnreadableArchiveError,
    describe_error,
    format_size,
    is_lfs_pointer,
)


class Member(NamedTuple):
    """A member of an archive; `open` returns its bytes, and is None if it is no regular file."""

    name: str
    n_bytes: int = 0  # as its header has it, which can be wrong
    open: Callable[[], Iterator[bytes]] | None = None


class UniqueNames:
    """Makes names unique by adding a number: the second `x.json` becomes `x.json (2)`."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._last_number_by_name: dict[str, int] = {}  # only of names that came twice

    def unique_name(self, name: str) -> str:
        """Return the name, with a number if it was used before."""
        if self._record_if_new(name):
            return name
        number = self._last_number_by_name.get(name, 1) + 1
        while not self._record_if_new(f"{name} ({number})"):
            number += 1
        self._last_number_by_name[name] = number
        return f"{name} ({number})"

    def _record_if_new(self, name: str) -> bool:
        """Return whether a name is new, and record it."""
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
_MAX_XZ_MEMORY_BYTES = 1 << 27
# Of 40 bytes of bzip2 46 MB can come: of a piece of it so much is taken at a time.
_MAX_PIECE_BYTES = 1 << 20
# By default a file may come to so many times its size on disk; logs come to some 10 to 60 times.
# A small result does no harm, however large the factor.
_DEFAULT_MAX_EXPANSION = 200
_MIN_EXPANDED_BYTES, _MAX_EXPANDED_BYTES = 2**30, 2**40


class Readable(Protocol):
    """An object with a method `read`, such as a file or an archive member."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; return no bytes at the end."""


class _StreamDecompressor(Protocol):
    """A decompressor of one gzip member, zstd frame, xz stream or bzip2 stream."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


_NEW_DECOMPRESSORS: dict[str, Callable[[], _StreamDecompressor]] = {
    "gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
    "xz": partial(lzma.LZMADecompressor, memlimit=_MAX_XZ_MEMORY_BYTES),
    "bz2": bz2.BZ2Decompressor,
}


class ExpansionLimit:
    """A limit of the decompressed bytes of one file, against decompression bombs."""

    def __init__(self, n_bytes: int, limit: int | None = None) -> None:
        self._limit = (
            min(max(n_bytes * _DEFAULT_MAX_EXPANSION, _MIN_EXPANDED_BYTES), _MAX_EXPANDED_BYTES)
            if limit is None
            else limit
        )
        self._n_remaining_bytes = self._limit

    def iter_within_limit(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces.

        Raises:
            UnreadableArchiveError: If the decompressed bytes exceed the limit.
        """
        return map(self._count_and_check, pieces)  # which holds none of them, and one can be large

    def _count_and_check(self, piece: bytes) -> bytes:
        self._n_remaining_bytes -= len(piece)
        if self._n_remaining_bytes < 0:
            raise UnreadableArchiveError(
                f"it expands to more than {format_size(self._limit)}; raise --max-expanded "
                "to read it"
            )
        return piece


def iter_chunks(source: Readable) -> Iterator[bytes]:
    """Yield the rest of a file in pieces."""
    return iter(partial(source.read, _CHUNK_BYTES), b"")


def decompress(
    pieces: Iterator[bytes], codec: str | None, expansion: ExpansionLimit
) -> Iterator[bytes]:
    """Yield the decompressed pieces.

    Raises:
        EOFError: If the compressed data are truncated.
    """
    if codec is None:
        return pieces
    return expansion.iter_within_limit(
        decompress_concatenated_streams(reject_lfs_pointer(pieces), codec)
    )


def reject_lfs_pointer(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, but raise RejectedInputError for a pointer file of Git LFS."""
    first = next(pieces, b"")
    if is_lfs_pointer(first):
        raise RejectedInputError(POINTER)
    return chain((first,), pieces)


def decompress_concatenated_streams(pieces: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Yield the contents of concatenated compressed streams, which may be padded with zeros."""
    new_unit = _NEW_DECOMPRESSORS[codec]
    unit = new_unit()
    for piece in _iter_small_pieces(pieces):
        left = piece
        while left:
            if unit.eof:
                left = left.lstrip(b"\0")
                if not left:
                    break
                unit = new_unit()
            yield from _iter_stream_contents(unit, left)
            left = unit.unused_data
    if not unit.eof:
        raise EOFError("the compressed data is cut short")


def _iter_stream_contents(unit: _StreamDecompressor, data: bytes) -> Iterator[bytes]:
    if not isinstance(unit, bz2.BZ2Decompressor):
        yield unit.decompress(data)
        return
    try:
        yield unit.decompress(data, _MAX_PIECE_BYTES)
        while not (unit.eof or unit.needs_input):
            yield unit.decompress(b"", _MAX_PIECE_BYTES)
    except OSError:  # that of bzip2, not of the disk
        raise RejectedInputError("the compressed data is damaged") from None


def _iter_small_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        # The checksum that gzip ends with comes by itself: if it is wrong, the rest is out already.
        end = max(len(piece) - _CHECKSUM_BYTES, 0)
        for start in range(0, end, _PIECE_BYTES):
            yield piece[start : min(start + _PIECE_BYTES, end)]
        yield piece[end:]


# The members of a tar in its own order, read once from front to back.

_MAX_TAR_HEADER_BYTES = 1 << 16
# Older releases of Python search a header of digits only for hours.
_HUNDRED_DIGITS = re.compile(rb"(?<!\d)\d{100}")


def iter_tar_members(pieces: Iterator[bytes], expansion: ExpansionLimit) -> Iterator[Member]:
    """Yield the members of a tar archive; read each one before requesting the next."""
    stream = _ForwardFile(pieces)
    with tarfile.TarFile(
        fileobj=cast(BinaryIO, stream),
        tarinfo=_StrictTarHeader,
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
                filled = expansion.iter_within_limit(iter_chunks(sparse))
                yield Member(header.name, header.size, partial(_reraise_as_tar_error, filled))
            else:
                content = partial(_reraise_as_tar_error, stream.iter_pieces(header.size))
                yield Member(header.name, header.size, content)
        if any(chunk.strip(b"\0") for chunk in iter_chunks(stream)):
            raise tarfile.ReadError("there is more data after the end of the archive")


def _reraise_as_tar_error(content: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a member's bytes; a read error is an error of the whole tar archive."""
    try:
        yield from content
    except UNREADABLE as error:
        raise UnreadableArchiveError(describe_error(error)) from error


class _ForwardFile:
    """A forward-only file over an iterator of pieces, as `tarfile` needs it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._position_in_piece = 0  # what is to be read next of the piece
        self._n_bytes_before_piece = 0  # bytes in the pieces before it

    def tell(self) -> int:
        return self._n_bytes_before_piece + self._position_in_piece

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        if size > _MAX_TAR_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        data = self._read_from_current_piece(size)
        if len(data) < size:
            held = [data]
            missing = size - len(data)
            while missing and (data := self._read_from_current_piece(missing)):
                held.append(data)
                missing -= len(data)
            data = b"".join(held)
        if size > tarfile.BLOCKSIZE and _HUNDRED_DIGITS.search(data):
            raise tarfile.ReadError("a header with a number of a hundred digits")
        return data

    def seek(self, position: int) -> None:
        """Skip forward to a position, at most to the end."""
        missing = position - self.tell()
        if missing < 0:
            raise tarfile.ReadError("a member that ends before it begins")
        while missing and (n_bytes := self._skip_within_current_piece(missing)):
            missing -= n_bytes

    def iter_pieces(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes in pieces.

        Raises:
            EOFError: If the data end too early.
        """
        while size > 0:
            data = self._read_from_current_piece(min(size, _MAX_PIECE_BYTES))
            if not data:
                raise tarfile.ReadError("the archive is cut short")
            size -= len(data)
            yield data

    def _read_from_current_piece(self, size: int) -> bytes:
        """Return bytes of the current piece; return no bytes only at the end."""
        n_bytes = self._skip_within_current_piece(size)
        return self._piece[self._position_in_piece - n_bytes : self._position_in_piece]

    def _skip_within_current_piece(self, size: int) -> int:
        """Advance within the pieces, and return the number of bytes that were skipped."""
        left = len(self._piece) - self._position_in_piece
        while not left:
            # The old piece is let go first: it can be large, and so can the next.
            self._n_bytes_before_piece, self._piece, self._position_in_piece = self.tell(), b"", 0
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece, left = piece, len(piece)
        n_bytes = min(size, left)
        self._position_in_piece += n_bytes
        return n_bytes


class _StrictTarHeader(tarfile.TarInfo):
    """A tar header that raises an error where a header is expected, but missing."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in a block; only a block of zeros marks the end of the archive."""
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
_IS_ENCRYPTED_OR_PATCH = 0x61  # encrypted in one way or another, or a patch
_ZIP_LOCAL_HEADER = struct.Struct("<4s22xHH")
_MAX_POINTER_BYTES = 1 << 10
_MAX_BYTES_IN_MEMORY = 1 << 26
_MAX_UNPACKED_BYTES = 1 << 32
_WRONG_SIZE_OR_CHECKSUM = "the member's size or checksum is wrong"


def iter_zip_members(file: BinaryIO, expansion: ExpansionLimit) -> Iterator[Member]:
    """Yield the members of a zip archive; a failure in one does not affect the others."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        if is_lfs_pointer(file.read(_MAX_POINTER_BYTES)):
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
                content = partial(_iter_zip_content, file, archive, entry, expansion)
                yield Member(name, entry.file_size, content)
            else:
                yield Member(name)


def _iter_zip_content(
    file: BinaryIO, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, expansion: ExpansionLimit
) -> Iterator[bytes]:
    is_plain = not entry.flag_bits & _IS_ENCRYPTED_OR_PATCH
    is_usual = is_plain and entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if is_usual and max(entry.compress_size, entry.file_size) <= _MAX_PIECE_BYTES:
        pieces = _iter_small_zip_member(file, entry)
    elif is_plain and entry.compress_type == _ZSTANDARD:
        pieces = _iter_zstandard_member(file, entry)
    else:
        pieces = _iter_member_pieces(archive, entry)
    return expansion.iter_within_limit(pieces)


def _iter_small_zip_member(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a small member in one piece, which is faster than the streams of `zipfile`."""
    file.seek(_offset_of_member_data(file, entry))
    data = file.read(entry.compress_size)
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.file_size + 1)
    if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
        raise zipfile.BadZipFile(_WRONG_SIZE_OR_CHECKSUM)
    yield data


def _offset_of_member_data(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Return the offset of a member's data in the file."""
    file.seek(entry.header_offset)
    signature, n_name, n_extra = _ZIP_LOCAL_HEADER.unpack(file.read(_ZIP_LOCAL_HEADER.size))
    if signature != b"PK\3\4":
        raise zipfile.BadZipFile("the directory points to a member that is not there")
    return entry.header_offset + _ZIP_LOCAL_HEADER.size + int(n_name) + int(n_extra)


def _iter_zstandard_member(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    n_bytes = checksum = 0
    for piece in decompress_concatenated_streams(_iter_compressed_member(file, entry), "zst"):
        n_bytes += len(piece)
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if (n_bytes, checksum) != (entry.file_size, entry.CRC):
        raise zipfile.BadZipFile(_WRONG_SIZE_OR_CHECKSUM)


def _iter_compressed_member(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member's compressed data in pieces; other members may be read in between."""
    place = _offset_of_member_data(file, entry)
    end = place + entry.compress_size
    while place < end:
        file.seek(place)
        piece = file.read(min(end - place, _MAX_PIECE_BYTES))
        if not piece:
            return
        yield piece
        place += len(piece)


def _iter_member_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    if entry.flag_bits & _IS_ENCRYPTED:
        raise NotImplementedError("encrypted")
    n_bytes = min(entry.file_size + 1, _MAX_PIECE_BYTES)
    with archive.open(entry) as member:
        while piece := member.read(n_bytes):
            yield piece


def write_to_temporary_file(pieces: Iterator[bytes]) -> BinaryIO:
    """Write the pieces to a temporary file, because a zip directory is at the end."""
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(_MAX_BYTES_IN_MEMORY))  # noqa: SIM115
    try:
        n_bytes = 0
        for piece in pieces:
            n_bytes += file.write(piece)
            if n_bytes > _MAX_UNPACKED_BYTES:
                raise RejectedInputError("a compressed zip of more than 4 GiB: decompress it first")
        return file
    except BaseException:
        file.close()
        raise
