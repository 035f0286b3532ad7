"""Read the members of tar and zip archives, and decompress files up to a limit.

Repeated names in an archive are numbered.
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
    """A member of an archive.

    Attributes:
        name: The name in the archive.
        n_bytes: The size according to the header, which can be wrong.
        open: Returns the bytes; None if the member is not a regular file.
    """

    name: str
    n_bytes: int = 0
    open: Callable[[], Iterator[bytes]] | None = None


class UniqueNames:
    """Makes names unique by adding a number: the second `x.json` becomes `x.json (2)`."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._last_number_by_name: dict[str, int] = {}  # Only names that were repeated.

    def unique_name(self, name: str) -> str:
        """Return a name that was not returned before, with a number if necessary.

        Args:
            name: The name.
        """
        if self._record_if_new(name):
            return name
        number = self._last_number_by_name.get(name, 1) + 1
        while not self._record_if_new(f"{name} ({number})"):
            number += 1
        self._last_number_by_name[name] = number
        return f"{name} ({number})"

    def _record_if_new(self, name: str) -> bool:
        n_before = len(self._hashes)
        self._hashes.add(hash(name))
        return len(self._hashes) > n_before


# The bytes of a file are read in pieces, and decompressed up to a limit.

# The decompressed bytes of a piece are in memory at once; zstd can expand it by a factor of 32,768.
# Pieces of eight times this size are not read faster.
_PIECE_BYTES = 1 << 10
_CHUNK_BYTES = 1 << 16
_CHECKSUM_BYTES = 8
# The memory that a header of xz may request, the same as for zstd; `xz -9` needs half of it.
_MAX_XZ_MEMORY_BYTES = 1 << 27
# 40 bytes of bzip2 can expand to 46 MB, so the output is also taken in pieces.
_MAX_PIECE_BYTES = 1 << 20
# By default, a file may expand to this multiple of its size; logs expand to 10 to 60 times theirs.
# A small result is harmless however large the factor is.
_DEFAULT_MAX_EXPANSION = 200
_MIN_EXPANDED_BYTES, _MAX_EXPANDED_BYTES = 2**30, 2**40


class Readable(Protocol):
    """An object with a method `read`, such as a file or an archive member."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; no bytes at the end of the file."""


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
    """A limit for the decompressed bytes of one file, against decompression bombs."""

    def __init__(self, n_bytes: int, limit: int | None = None) -> None:
        self._limit = (
            min(max(n_bytes * _DEFAULT_MAX_EXPANSION, _MIN_EXPANDED_BYTES), _MAX_EXPANDED_BYTES)
            if limit is None
            else limit
        )
        self._n_remaining_bytes = self._limit

    def iter_within_limit(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Return an iterator of decompressed pieces that counts their bytes.

        Args:
            pieces: The pieces.

        Raises:
            UnreadableArchiveError: While iterating, if all bytes exceed the limit.
        """
        return map(
            self._count_and_check, pieces
        )  # It keeps no reference to a piece, which can be large.

    def _count_and_check(self, piece: bytes) -> bytes:
        self._n_remaining_bytes -= len(piece)
        if self._n_remaining_bytes < 0:
            raise UnreadableArchiveError(
                f"it expands to more than {format_size(self._limit)}; raise --max-expanded "
                "to read it"
            )
        return piece


def iter_chunks(source: Readable) -> Iterator[bytes]:
    """Return an iterator over the rest of a file in pieces."""
    return iter(partial(source.read, _CHUNK_BYTES), b"")


def decompress(
    pieces: Iterator[bytes], codec: str | None, expansion_limit: ExpansionLimit
) -> Iterator[bytes]:
    """Return an iterator of decompressed bytes; without a codec, of the same bytes.

    Raises:
        EOFError: While iterating, if the compressed data are truncated.
    """
    if codec is None:
        return pieces
    return expansion_limit.iter_within_limit(
        decompress_concatenated_streams(reject_lfs_pointer(pieces), codec)
    )


def reject_lfs_pointer(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return an equal iterator; raise RejectedInputError if the file is a Git LFS pointer."""
    first_piece = next(pieces, b"")
    if is_lfs_pointer(first_piece):
        raise RejectedInputError(POINTER)
    return chain((first_piece,), pieces)


def decompress_concatenated_streams(pieces: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Yield the decompressed contents of one or more streams, between which zeros are skipped.

    Args:
        pieces: The compressed bytes.
        codec: `gz`, `zst`, `xz` or `bz2`.

    Raises:
        EOFError: If the last stream is truncated.
    """
    new_decompressor = _NEW_DECOMPRESSORS[codec]
    decompressor = new_decompressor()
    for piece in _iter_small_pieces(pieces):
        compressed = piece
        while compressed:
            if decompressor.eof:
                compressed = compressed.lstrip(b"\0")
                if not compressed:
                    break
                decompressor = new_decompressor()
            yield from _iter_stream_contents(decompressor, compressed)
            compressed = decompressor.unused_data
    if not decompressor.eof:
        raise EOFError("the compressed data is cut short")


def _iter_stream_contents(decompressor: _StreamDecompressor, data: bytes) -> Iterator[bytes]:
    if not isinstance(decompressor, bz2.BZ2Decompressor):
        yield decompressor.decompress(data)
        return
    try:
        yield decompressor.decompress(data, _MAX_PIECE_BYTES)
        while not (decompressor.eof or decompressor.needs_input):
            yield decompressor.decompress(b"", _MAX_PIECE_BYTES)
    except OSError:  # Raised by bzip2, not by the disk.
        raise RejectedInputError("the compressed data is damaged") from None


def _iter_small_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        # The checksum at the end of gzip is a piece by itself, so that the content before a wrong
        # checksum has already been yielded.
        end = max(len(piece) - _CHECKSUM_BYTES, 0)
        for start in range(0, end, _PIECE_BYTES):
            yield piece[start : min(start + _PIECE_BYTES, end)]
        yield piece[end:]


# The members of a tar archive are read once, in their order.

_MAX_TAR_HEADER_BYTES = 1 << 16
# Older releases of Python search a header that consists of digits for hours.
_HUNDRED_DIGITS = re.compile(rb"(?<!\d)\d{100}")


def iter_tar_members(pieces: Iterator[bytes], expansion_limit: ExpansionLimit) -> Iterator[Member]:
    """Yield the members of a tar archive; read each member before requesting the next one."""
    stream = _ForwardFile(pieces)
    with tarfile.TarFile(
        fileobj=cast(BinaryIO, stream),
        tarinfo=_StrictTarHeader,
        encoding="utf-8",
        errors="surrogateescape",
    ) as tar:
        while header := tar.next():
            tar.members.clear()  # type: ignore[attr-defined]  # It keeps every header.
            if header.isdir():
                continue
            if not header.isfile():
                yield Member(header.name)
            elif header.issparse():
                sparse_file = cast(Readable, tar.extractfile(header))
                # Holes take no space in the archive, but are read as zeros.
                expanded_pieces = expansion_limit.iter_within_limit(iter_chunks(sparse_file))
                yield Member(
                    header.name, header.size, partial(_reraise_as_tar_error, expanded_pieces)
                )
            else:
                content = partial(_reraise_as_tar_error, stream.iter_pieces(header.size))
                yield Member(header.name, header.size, content)
        if any(chunk.strip(b"\0") for chunk in iter_chunks(stream)):
            raise tarfile.ReadError("there is more data after the end of the archive")


def _reraise_as_tar_error(content: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a member's bytes; a read error makes the rest of the tar archive unreadable."""
    try:
        yield from content
    except UNREADABLE as error:
        raise UnreadableArchiveError(describe_error(error)) from error


class _ForwardFile:
    """A forward-only file over an iterator of pieces, as `tarfile` needs it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._position_in_piece = 0
        self._n_bytes_before_piece = 0

    def tell(self) -> int:
        return self._n_bytes_before_piece + self._position_in_piece

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end of the file."""
        if size > _MAX_TAR_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        data = self._read_from_current_piece(size)
        if len(data) < size:
            pieces = [data]
            n_missing_bytes = size - len(data)
            while n_missing_bytes and (data := self._read_from_current_piece(n_missing_bytes)):
                pieces.append(data)
                n_missing_bytes -= len(data)
            data = b"".join(pieces)
        if size > tarfile.BLOCKSIZE and _HUNDRED_DIGITS.search(data):
            raise tarfile.ReadError("a header with a number of a hundred digits")
        return data

    def seek(self, position: int) -> None:
        """Skip forward to a position; going back raises an error."""
        n_missing_bytes = position - self.tell()
        if n_missing_bytes < 0:
            raise tarfile.ReadError("a member that ends before it begins")
        while n_missing_bytes and (n_bytes := self._skip_within_current_piece(n_missing_bytes)):
            n_missing_bytes -= n_bytes

    def iter_pieces(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes in pieces.

        Raises:
            ReadError: If the data end too early.
        """
        while size > 0:
            data = self._read_from_current_piece(min(size, _MAX_PIECE_BYTES))
            if not data:
                raise tarfile.ReadError("the archive is cut short")
            size -= len(data)
            yield data

    def _read_from_current_piece(self, size: int) -> bytes:
        """Return at most `size` bytes; no bytes only at the end of the file."""
        n_bytes = self._skip_within_current_piece(size)
        return self._piece[self._position_in_piece - n_bytes : self._position_in_piece]

    def _skip_within_current_piece(self, size: int) -> int:
        """Skip at most `size` bytes, and return their number; 0 only at the end of the file."""
        n_remaining_bytes = len(self._piece) - self._position_in_piece
        while not n_remaining_bytes:
            # Release the old piece first, because pieces can be large.
            self._n_bytes_before_piece, self._piece, self._position_in_piece = self.tell(), b"", 0
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece, n_remaining_bytes = piece, len(piece)
        n_bytes = min(size, n_remaining_bytes)
        self._position_in_piece += n_bytes
        return n_bytes


class _StrictTarHeader(tarfile.TarInfo):
    """A tar header that raises an error where a header is expected, but missing."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in a block; raise ReadError for anything but a header or zeros."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(b"\0") == tarfile.BLOCKSIZE:
                raise
            is_cut = len(buf) < tarfile.BLOCKSIZE
            raise tarfile.ReadError("the archive is cut short" if is_cut else str(error)) from error


# The members of a zip archive are read in the order of the directory at its end.

_ZSTANDARD = 93  # The standard library reads it from Python 3.14 on.
_IS_ENCRYPTED = 1  # A bit of a zip member's flags.
_IS_ENCRYPTED_OR_PATCH = 0x61
_ZIP_LOCAL_HEADER = struct.Struct("<4s22xHH")
_MAX_POINTER_BYTES = 1 << 10
_MAX_BYTES_IN_MEMORY = 1 << 26
_MAX_UNPACKED_BYTES = 1 << 32
_WRONG_SIZE_OR_CHECKSUM = "the member's size or checksum is wrong"


def iter_zip_members(file: BinaryIO, expansion_limit: ExpansionLimit) -> Iterator[Member]:
    """Yield the members of a zip archive; a damaged member does not affect other members."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        if is_lfs_pointer(file.read(_MAX_POINTER_BYTES)):
            raise RejectedInputError(POINTER)
        raise zipfile.BadZipFile(
            "no directory at its end: it is cut short, or it is not a zip file"
        )
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            # Some tools for Windows write backslashes, which the format does not allow.
            name = entry.filename.replace("\\", "/")
            if name.endswith("/"):
                continue
            if stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG):
                content = partial(_iter_zip_content, file, archive, entry, expansion_limit)
                yield Member(name, entry.file_size, content)
            else:
                yield Member(name)


def _iter_zip_content(
    file: BinaryIO,
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    expansion_limit: ExpansionLimit,
) -> Iterator[bytes]:
    is_plain = not entry.flag_bits & _IS_ENCRYPTED_OR_PATCH
    is_stored_or_deflated = is_plain and entry.compress_type in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    )
    if is_stored_or_deflated and max(entry.compress_size, entry.file_size) <= _MAX_PIECE_BYTES:
        pieces = _iter_small_zip_member(file, entry)
    elif is_plain and entry.compress_type == _ZSTANDARD:
        pieces = _iter_zstandard_member(file, entry)
    else:
        pieces = _iter_member_pieces(archive, entry)
    return expansion_limit.iter_within_limit(pieces)


def _iter_small_zip_member(file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a small member in one piece, which is faster than a stream of `zipfile`."""
    file.seek(_offset_of_member_data(file, entry))
    data = file.read(entry.compress_size)
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.file_size + 1)
    if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
        raise zipfile.BadZipFile(_WRONG_SIZE_OR_CHECKSUM)
    yield data


def _offset_of_member_data(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
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
    """Yield a member's compressed bytes; other members may be read between the pieces."""
    offset = _offset_of_member_data(file, entry)
    end = offset + entry.compress_size
    while offset < end:
        file.seek(offset)
        piece = file.read(min(end - offset, _MAX_PIECE_BYTES))
        if not piece:
            return
        yield piece
        offset += len(piece)


def _iter_member_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    if entry.flag_bits & _IS_ENCRYPTED:
        raise NotImplementedError("encrypted")
    n_bytes = min(entry.file_size + 1, _MAX_PIECE_BYTES)
    with archive.open(entry) as member:
        while piece := member.read(n_bytes):
            yield piece


def write_to_temporary_file(pieces: Iterator[bytes]) -> BinaryIO:
    """Write pieces to a temporary file in memory or on disk, because a zip needs seeking."""
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
