"""How reading fails where the bytes are at fault, and how to say so."""

import lzma
import struct
import tarfile
import zipfile
import zlib

import zstandard

from pipeline.archives.names import printable
from pipeline.errors import SourceError

# What the libraries raise on bytes that are cut short or damaged: each its own, and a few of
# Python's where they trust a length or a number. Anything else is a defect of ours.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def moved_on(file: str) -> SourceError:
    """Return the error for a source that somebody changes or takes away while it is read."""
    return SourceError(
        f"{printable(file)}: it was changed or removed while it was being read; nothing was "
        "ingested; run the same command again when no other program writes there"
    )


class LostArchiveError(Exception):
    """An archive failed as a whole: what went wrong is no member's own, and nothing can follow."""


class UnfitError(ValueError):
    """What we refuse ourselves, in our own words."""


# What these say is about the file. Of other errors the text is about Python's own functions.
_OF_THE_FILE = (
    OSError,
    LostArchiveError,
    UnfitError,
    EOFError,
    NotImplementedError,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def why(error: BaseException) -> str:
    """Return what went wrong in a few words; an `OSError` without its path, which is a label's."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _OF_THE_FILE) and str(error):
        return str(error)
    if isinstance(error, EOFError):
        return "it is cut short"
    if isinstance(error, zlib.error):
        return "the compressed data is damaged"
    return "a header in it is damaged"


def check_size(n_bytes: int, limit: int) -> None:
    """Refuse what would fill the memory: a few kilobytes can decompress to terabytes."""
    if n_bytes > limit:
        raise UnfitError(too_large(limit))


def too_large(limit: int) -> str:
    """Say that a document is larger than it may be, and what to do."""
    return f"the document is larger than {size(limit)}; raise --max-document to read it"


def size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    n_mib, rest = divmod(n_bytes, 1 << 20)
    return f"{n_bytes:,} bytes" if rest else f"{n_mib:,} MiB"
