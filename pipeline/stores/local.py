"""Files, folders and locks of this machine.

`pipeline.stores` calls it for all paths that are not URLs. It defines the types of files and drafts
that `pipeline.stores.remote` uses too.
"""

import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple


class ChangedError(Exception):
    """Raised if a file changes while it is read."""


class File(NamedTuple):
    """A file in a folder.

    Attributes:
        name: The file's name without its folder.
        n_bytes: Size of the file.
        modified_at: Time of the last change, in UTC.
    """

    name: str
    n_bytes: int
    modified_at: datetime


class Draft(NamedTuple):
    """A local file that is being written.

    Attributes:
        path: The path to write to.
        finish: Moves the file to its folder under the final name that is passed to it.
    """

    path: Path
    finish: Callable[[str], None]


STALE_SECONDS = 60.0
"""An object store's lock that is unchanged for this time may be taken over."""

# Opening a pipe must not wait for its writer; pipes are refused afterwards.
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class LocalLocation:
    """A path on this machine.

    Its methods raise `OSError` with a message of one line. `parse_location` returns an equal
    location for its `str`, also in another process. `RemoteLocation` has the same methods.

    Attributes:
        path: The absolute path.
        is_local: Always true: any tool can open the file by its path.
    """

    path: Path

    is_local = True

    def __str__(self) -> str:
        return str(self.path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> "LocalLocation":
        """Return the location of the file or folder with this name in the folder."""
        return LocalLocation(self.path / name)

    def list_files(self) -> list[File]:
        """Return the files in the folder, sorted by name; none if the folder does not exist.

        Files in its subfolders are not included.
        """
        try:
            entries = list(self.path.iterdir())
        except FileNotFoundError:
            return []
        files = []
        for entry in entries:
            with suppress(FileNotFoundError):  # a file that was just deleted, or a broken link
                status = entry.stat()
                if stat.S_ISREG(status.st_mode):
                    modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
                    files.append(File(entry.name, status.st_size, modified_at))
        return sorted(files)

    def list_names(self) -> set[str]:
        """Return the names of the files and folders in the folder; none if it does not exist."""
        return {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()

    def exists(self) -> bool:
        """Return whether the path exists."""
        return self.path.exists()

    def create_folder(self) -> None:
        """Create the folder and its parents, unless it exists."""
        self.path.mkdir(parents=True, exist_ok=True)

    def create_draft(self, name: str) -> Draft:
        """Return a draft for a new file in the folder.

        Its `finish` syncs the file to disk and renames it.

        Args:
            name: The file's name until the draft is finished.
        """
        path = self.path / name

        def finish(name: str) -> None:
            # Synced first, so that after a power failure no log refers to an empty file.
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            path.rename(self.path / name)

        return Draft(path, finish)

    def delete_file(self, *, missing_ok: bool = False) -> None:
        """Delete the file; with `missing_ok`, do nothing if it is missing."""
        self.path.unlink(missing_ok=missing_ok)

    def open(self) -> BinaryIO:
        """Open the file for reading with random access."""
        return self.path.open("rb")

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Return `n_bytes` bytes of the file from the position `start`, or fewer at its end."""
        handle = os.open(self.path, _OPEN_FLAGS)
        try:
            return os.pread(handle, n_bytes, start)
        finally:
            os.close(handle)

    @contextmanager
    def lock(self, timeout_seconds: float) -> Iterator[Callable[[], None]]:
        """Hold a lock with the path of this file, which is created if it is missing.

        Args:
            timeout_seconds: Maximum time to wait for the lock.

        Yields:
            A function that does nothing, because a local lock cannot be lost.

        Raises:
            TimeoutError: If another process still holds the lock after `timeout_seconds`.
        """
        # Imported here, because only writers need it.
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path, timeout=timeout_seconds):
                yield lambda: None
        except Timeout:
            raise TimeoutError(f"{self.path}: locked for {timeout_seconds:.0f} seconds") from None


def read_regular_local_file(file: str, check_size: Callable[[int], None]) -> bytes | None:
    """Return the bytes of a file on this machine; None for pipes and devices, which are not read.

    File descriptors are used directly, because archives can have millions of files.

    Args:
        file: The path of the file.
        check_size: Called with the size in bytes before the file is read; may raise to refuse it.

    Raises:
        OSError: If the file cannot be read.
        ChangedError: If the file changes while it is read.
    """
    handle = os.open(file, _OPEN_FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        check_size(status.st_size)
        # A file of size 0 is not read, because reading a kernel file can block or never end.
        data = os.read(handle, status.st_size + 1) if status.st_size else b""
        if len(data) != status.st_size:
            data = _read_to_end(handle, data, check_size)
        new_status = os.fstat(handle)
        if (new_status.st_mtime_ns, new_status.st_size) != (status.st_mtime_ns, status.st_size):
            raise ChangedError
        return data
    finally:
        os.close(handle)


def open_local_file_or_empty(file: str) -> io.BufferedReader | io.BytesIO:
    """Open a file for reading; an empty file is returned if its size is 0, as in /proc."""
    stream = open(os.open(file, _OPEN_FLAGS), "rb")  # noqa: PTH123, SIM115
    if os.fstat(stream.fileno()).st_size:
        return stream
    stream.close()
    return io.BytesIO()


def _read_to_end(handle: int, first_bytes: bytes, check_size: Callable[[int], None]) -> bytes:
    """Read the rest of a file, unless `first_bytes` is empty; return `first_bytes` and the rest."""
    parts = [first_bytes]
    n_bytes = len(first_bytes)
    while parts[-1] and (block := os.read(handle, 1 << 20)):
        parts.append(block)
        n_bytes += len(block)
        check_size(n_bytes)
    return b"".join(parts)


def local_file_change_key(file: str) -> tuple[int, ...] | None:
    """Return numbers that change if the file is changed or replaced; None if it is missing."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    # Programs can reset `st_mtime`, but not `st_ctime`.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def does_not_exist(file: str) -> bool:
    """Return whether there is no file, folder or link with this path.

    False for a path that cannot be examined, for example because it is too long.
    """
    try:
        os.lstat(file)
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def is_regular_local_file(file: str) -> bool:
    """Return whether the path is a regular file, not a pipe or device; True if it is missing."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True


def create_temporary_parquet_file() -> Path:
    """Create an empty file with a unique name in the temporary folder, and return its path."""
    handle, name = tempfile.mkstemp(prefix="magic-", suffix=".parquet")
    os.close(handle)
    return Path(name)
