"""A log that is a file by itself: opened, read and closed, since there are millions of them."""

import os
import stat

from pipeline.archives.failures import check_size

# A pipe is opened without waiting for its writer, and then found to be none.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_regular(file: str) -> bool:
    """Say whether opening the file cannot wait forever; a missing one fails when it is opened."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True


def read_file(file: str, limit: int) -> bytes | None:
    """Return the file's bytes, null for a pipe and such; raises for more bytes than the limit."""
    handle = os.open(file, _FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        check_size(status.st_size, limit)
        data = os.read(handle, status.st_size + 1)
        return data if len(data) == status.st_size else _rest(handle, data, limit)
    finally:
        os.close(handle)


def _rest(handle: int, data: bytes, limit: int) -> bytes:
    """Return the data with what follows, for a file that is being written or read in parts."""
    held = [data]
    n_bytes = len(data)
    while data and (data := os.read(handle, 1 << 20)):
        held.append(data)
        n_bytes += len(data)
        check_size(n_bytes, limit)
    return b"".join(held)
