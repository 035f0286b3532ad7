"""What is wrong with bytes, in few words: how reading fails, and what no format reads.

An ingest counts the documents of each reason, so that many share one.
"""

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
EMPTY = "not a log: it is empty"
BINARY = "not a log: binary data"
TEXT = "not a log: text that no format reads"
POINTER = (
    "a Git LFS pointer in place of the file: run `git lfs pull` in its repository, then ingest it"
)
_BEGIN_OF_POINTER = (b"version https://git-lfs", b"version https://hawser")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Without a mark: which of the first four bytes are not zero, if two letters stand there, or one.
_WIDE = {(0, 2): "UTF-16LE", (1, 3): "UTF-16BE", (0,): "UTF-32LE", (3,): "UTF-32BE"}


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


def is_pointer(head: bytes) -> bool:
    """Say whether what begins so stands for a file that Git LFS has not fetched."""
    return head.startswith(_BEGIN_OF_POINTER)


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text that is not in UTF-8 but in one with zeros; else null."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    first = head[:4]
    letters = first.replace(b"\0", b"")
    is_text = len(first) == 4 and letters.isascii() and letters.decode().isprintable()
    return _WIDE.get(tuple(n for n, byte in enumerate(first) if byte)) if is_text else None


def why_no_utf8(head: bytes) -> str | None:
    """Return why what begins so cannot be read, and what to do; null where it may be UTF-8."""
    if is_pointer(head):
        return POINTER
    if packed := next((name for sign, name in _PACKED.items() if head.startswith(sign)), None):
        return f"still compressed with {packed}: unpack it, or name it so, then ingest it"
    if encoding := encoding_of(head):
        return f"text in {encoding}: convert it by `iconv -f {encoding} -t UTF-8`, then ingest it"
    return None


def why_unclaimed(head: bytes) -> str:
    """Return why what begins so is no log, where it is not JSON."""
    if not head.strip():
        return EMPTY
    if why := why_no_utf8(head):
        return f"not a log: {why}"
    return BINARY if b"\0" in head else TEXT
