"""Files and folders of this machine."""

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
    """The name and size of a file in a folder."""

    name: str
    n_bytes: int
    modified_at: datetime


class Draft(NamedTuple):
    """A local file that is being written at `path`; `finish` moves it to its final name."""

    path: Path
    finish: Callable[[str], None]


STALE_SECONDS = 60.0
"""After that long without a change, others take over a lock on an object store."""

# A pipe is opened without waiting for its writer, and then refused.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class LocalLocation:
    """A path on this machine.

    Its methods raise `OSError` with a message of one line.

    `parse_location` makes it again of its `str`, also in another process. `is_local` says that any
    tool can open it by its path. `RemoteLocation` has the same methods for an object store.
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
        """List the files directly in the folder; none if the folder does not exist."""
        try:
            listed = list(self.path.iterdir())
        except FileNotFoundError:
            return []
        files = []
        for entry in listed:
            with suppress(FileNotFoundError):  # it was deleted since, or is a broken link
                status = entry.stat()
                if stat.S_ISREG(status.st_mode):
                    modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
                    files.append(File(entry.name, status.st_size, modified_at))
        return sorted(files)

    def list_names(self) -> set[str]:
        """List the names of files and folders directly in the folder."""
        return {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()

    def exists(self) -> bool:
        """Return whether the path exists."""
        return self.path.exists()

    def create_folder(self) -> None:
        """Create the folder; object stores need no folders."""
        self.path.mkdir(parents=True, exist_ok=True)

    def create_draft(self, name: str) -> Draft:
        """Create a file in the folder with a temporary name."""
        begun = self.path / name

        def finish(name: str) -> None:
            # To the disk first: after a power loss, a log must not name a file that is empty.
            handle = os.open(begun, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            begun.rename(self.path / name)

        return Draft(begun, finish)

    def delete_file(self, *, missing_ok: bool = False) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=missing_ok)

    def open(self) -> BinaryIO:
        """Open the file for reading with random access."""
        return self.path.open("rb")

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Return bytes of the file from `start`, at most `n_bytes`."""
        handle = os.open(self.path, _FLAGS)
        try:
            return os.pread(handle, n_bytes, start)
        finally:
            os.close(handle)

    @contextmanager
    def lock(self, seconds: float) -> Iterator[Callable[[], None]]:
        """Hold the lock of this name; raise TimeoutError if others hold it for so many seconds.

        What it gives raises `OSError` if the lock was lost meanwhile.
        """
        # Imported here, so that whoever only reads does not wait for it.
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path, timeout=seconds):
                yield lambda: None
        except Timeout:
            raise TimeoutError(f"{self.path}: locked for {seconds:.0f} seconds") from None


def read_local_file(file: str, check_size: Callable[[int], None]) -> bytes | None:
    """Return a file's bytes, or None for pipes and devices.

    `check_size` may raise to refuse a size.

    Opened, read and closed by handle, since there are millions of them.
    """
    handle = os.open(file, _FLAGS)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        check_size(status.st_size)
        # The kernel's own files have no size, and reading one can wait forever or never end.
        data = os.read(handle, status.st_size + 1) if status.st_size else b""
        if len(data) != status.st_size:
            data = _read_rest(handle, data, check_size)
        after = os.fstat(handle)
        if after.st_mtime_ns != status.st_mtime_ns or after.st_size != status.st_size:
            raise ChangedError
        return data
    finally:
        os.close(handle)


def open_local_file(file: str) -> io.BufferedReader | io.BytesIO:
    """Open a file for reading; a file without a size, as in /proc, is opened as an empty file."""
    opened = open(os.open(file, _FLAGS), "rb")  # noqa: PTH123, SIM115
    if os.fstat(opened.fileno()).st_size:
        return opened
    opened.close()
    return io.BytesIO()


def _read_rest(handle: int, data: bytes, check_size: Callable[[int], None]) -> bytes:
    """Return the data and all bytes after it, for a file that is read in parts."""
    parts = [data]
    n_bytes = len(data)
    while data and (data := os.read(handle, 1 << 20)):
        parts.append(data)
        n_bytes += len(data)
        check_size(n_bytes)
    return b"".join(parts)


def local_file_version(file: str) -> tuple[int, ...] | None:
    """Return a key that changes with the file's content, or None if the file is missing."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    # A program can set the time of the last change back, but not that of the inode's.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def does_not_exist(file: str) -> bool:
    """Return whether the path does not exist, not even as a broken link.

    False for a path that cannot be examined, for example because it is too long.
    """
    try:
        os.lstat(file)
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def is_regular_local_file(file: str) -> bool:
    """Return whether opening the file cannot block; opening a missing file fails."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True


def new_temporary_file() -> Path:
    """Create an empty temporary file with a unique name."""
    handle, name = tempfile.mkstemp(prefix="magic-", suffix=".parquet")
    os.close(handle)
    return Path(name)
