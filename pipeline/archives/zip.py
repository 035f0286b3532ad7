"""The members of a zip in the order of its directory, which stands at its end."""

import stat
import tempfile
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, cast

from pipeline.archives.member import Member

_IS_ENCRYPTED = 1  # bit of a zip member's flags
_MOST_AT_ONCE = 1 << 20
_MOST_IN_MEMORY = 1 << 26
_MOST_UNPACKED = 1 << 32


def zip_members(file: BinaryIO) -> Iterator[Member]:
    """Yield the members; a failure in one is its own, the next one is read from its place."""
    if not zipfile.is_zipfile(file):
        raise zipfile.BadZipFile("no directory at its end: it is cut short, or no zip")
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            # Some tools for Windows ignore the format's rule for names.
            name = entry.filename.replace("\\", "/")
            if name.endswith("/"):
                continue
            if stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG):
                yield Member(name, entry.file_size, partial(_pieces, archive, entry))
            else:
                yield Member(name)


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
                raise ValueError("a compressed zip of more than 4 GiB: decompress it first")
        return file
    except BaseException:
        file.close()
        raise
