"""How reading fails where the bytes are at fault, and how to say so."""

import lzma
import struct
import tarfile
import zipfile
import zlib

import zstandard

# What the libraries raise on bytes that are cut short or damaged: each its own, and a few of
# Python's where they trust a length or a number. Anything else is a defect of ours.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    NotImplementedError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def why(error: BaseException) -> str:
    """Return what went wrong in a few words; an `OSError` without its path, which is a label's."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
