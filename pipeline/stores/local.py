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
    """Raised if a file has changed since its reading began."""


class File(NamedTuple):
    """A file in a folder."""

    name: str
    n_bytes: int
    modified_at: datetime


class Draft(NamedTuple):
    """A file being written at `path`, on this machine; `finish` gives it its name in the folder."""

    path: Path
    finish: Callable[[str], None]


STALE_SECONDS = 60.0
"""After that long without a change, others take over a lock on an object store."""

# A pipe is opened without waiting for its writer, and then refused.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class LocalLocation:
    """A path on this machine. Its methods raise `OSError` with one line of text.

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
        """The file or folder of this name in it."""
        return LocalLocation(self.path / name)

    def list_files(self) -> list[File]:
        """The files directly within, none if there is no such folder."""
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
        """The names of the files and folders directly within."""
        return {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()

    def exists(self) -> bool:
        """Whether something is there."""
        return self.path.exists()

    def create_folder(self) -> None:
        """Makes the folder, where folders need to be made."""
        self.path.mkdir(parents=True, exist_ok=True)

    def create_draft(self, name: str) -> Draft:
        """A new file in it with this name, until it is finished under another."""
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
        """Deletes the file."""
        self.path.unlink(missing_ok=missing_ok)

    def open(self) -> BinaryIO:
        """The file opened for reading, at any position."""
        return self.path.open("rb")

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Some of the file's bytes, fewer where it ends."""
        handle = os.open(self.path, _FLAGS)
        try:
            return os.pread(handle, n_bytes, start)
        finally:
            os.close(handle)

    @contextmanager
    def lock(self, seconds: float) -> Iterator[Callable[[], None]]:
        """Holds a lock of this name; raises TimeoutError if others hold it for that long.

        What it gives raises `OSError` if the lock was lost meanwhile.
        """
        # Imported here, so that whoever only reads does not wait for it.
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path, timeout=seconds):
                yield lambda: None
        except Timeout:
            raise TimeoutError(f"{self.path}: locked for {seconds:.0f} seconds") from None


def read_file(file: str, check_size: Callable[[int], None]) -> bytes | None:
    """Return a file's bytes, null for a pipe and such; `check_size` can refuse by raising.

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
            data = _rest(handle, data, check_size)
        after = os.fstat(handle)
        if after.st_mtime_ns != status.st_mtime_ns or after.st_size != status.st_size:
            raise ChangedError
        return data
    finally:
        os.close(handle)


def open_file(file: str) -> io.BufferedReader | io.BytesIO:
    """Return a file opened for reading; as an empty one if it has no size, as in /proc."""
    opened = open(os.open(file, _FLAGS), "rb")  # noqa: PTH123, SIM115
    if os.fstat(opened.fileno()).st_size:
        return opened
    opened.close()
    return io.BytesIO()


def _rest(handle: int, data: bytes, check_size: Callable[[int], None]) -> bytes:
    """Return the data with what follows, for a file that is being written or read in parts."""
    parts = [data]
    n_bytes = len(data)
    while data and (data := os.read(handle, 1 << 20)):
        parts.append(data)
        n_bytes += len(data)
        check_size(n_bytes)
    return b"".join(parts)


def version(file: str) -> tuple[int, ...] | None:
    """Return a key of the file's state, which changes with its content; null if it is missing."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    # A program can set the time of the last change back, but not that of the inode's.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_gone(file: str) -> bool:
    """Say whether there is nothing of this name, not even a link that leads nowhere.

    False for a path that cannot be examined, for example because it is too long.
    """
    try:
        os.lstat(file)
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def is_regular(file: str) -> bool:
    """Say whether opening the file cannot wait forever; a missing one fails when it is opened."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return True


def new_temporary_file() -> Path:
    """Return a new empty file that nobody else uses."""
    handle, name = tempfile.mkstemp(prefix="magic-", suffix=".parquet")
    os.close(handle)
    return Path(name)
