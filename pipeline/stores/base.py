"""What a location of files offers: a folder, or a prefix of an object store."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol


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


class Location(Protocol):
    """Where a file or folder is. `str` of it gives it back to `location`, also in another process.

    Its methods raise `OSError` with one line of text.
    """

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, so that any tool can open it by its path."""

    def __truediv__(self, name: str) -> "Location":
        """The file or folder of this name in it."""

    def files(self) -> list[File]:
        """The files directly within, none if there is no such folder."""

    def names(self) -> set[str]:
        """The names of the files and folders directly within."""

    def exists(self) -> bool:
        """Whether something is there."""

    def make(self) -> None:
        """Makes the folder, where folders need to be made."""

    def draft(self, name: str) -> Draft:
        """A new file in it with this name, until it is finished under another."""

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Deletes the file."""

    def open(self) -> BinaryIO:
        """The file opened for reading, at any position."""

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Some of the file's bytes, fewer where it ends."""

    def lock(self, seconds: float) -> AbstractContextManager[Callable[[], None]]:
        """Holds a lock of this name; raises TimeoutError if others hold it for that long.

        What it gives raises `OSError` if the lock was lost meanwhile.
        """
