"""How far a file was read, for progress bars."""

from collections.abc import Callable
from typing import BinaryIO, Self

from pipeline.stores import open_file


class Metered:
    """A file, to be opened for reading once, that reports the bytes read: they add up to its size.

    A zip is read here and there, some of it twice, and a damaged archive not to its end.
    """

    def __init__(self, file: str, size: int, report: Callable[[int], None]) -> None:
        self._name = file
        self._left = size
        self._report = report

    def __enter__(self) -> Self:
        self._file: BinaryIO = open_file(self._name)
        self.seek, self.tell, self.seekable = self._file.seek, self._file.tell, self._file.seekable
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Read as any file, and report it."""
        data = self._file.read(size)
        self._add(len(data))
        return data

    def finish(self) -> None:
        """Report the bytes that were not read and no longer will be."""
        self._add(self._left)

    def _add(self, n_bytes: int) -> None:
        n_bytes = min(n_bytes, self._left)
        if n_bytes > 0:
            self._left -= n_bytes
            self._report(n_bytes)
