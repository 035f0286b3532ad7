"""How far a file was read, for progress bars."""

from collections.abc import Callable
from typing import BinaryIO


class Meter:
    """Reports the bytes of one file, each once: in the end they add up to its size.

    A zip is read here and there, some of it twice, and a damaged archive not to its end.
    """

    def __init__(self, size: int, report: Callable[[int], None]) -> None:
        self._left = size
        self._report = report

    def add(self, n_bytes: int) -> None:
        """Report bytes just read."""
        n_bytes = min(n_bytes, self._left)
        if n_bytes > 0:
            self._left -= n_bytes
            self._report(n_bytes)

    def finish(self) -> None:
        """Report the bytes that were not read and no longer will be."""
        self.add(self._left)


class Metered:
    """A file opened for reading that tells the meter what is read of it."""

    def __init__(self, file: BinaryIO, meter: Meter) -> None:
        self._file = file
        self._meter = meter
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1, /) -> bytes:
        """Read as any file, and report."""
        data = self._file.read(size)
        self._meter.add(len(data))
        return data

    def __enter__(self) -> "Metered":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
