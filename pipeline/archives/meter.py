"""How far a file was read, for progress bars."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_BUFFER_BYTES = 1 << 16


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


def open_metered(file: str, meter: Meter) -> io.BufferedReader:
    """Return a file opened for reading that tells the meter what is read of it."""
    return io.BufferedReader(_MeteredFile(file, meter), _BUFFER_BYTES)


class _MeteredFile(io.FileIO):
    def __init__(self, file: str, meter: Meter) -> None:
        super().__init__(file)
        self._meter = meter

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read into the buffer, as any raw stream, and report."""
        n_bytes = super().readinto(buffer) or 0
        self._meter.add(n_bytes)
        return n_bytes
