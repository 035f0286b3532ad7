"""A limit for what one compressed file expands to: a megabyte can hold gigabytes."""

from collections.abc import Iterator

from pipeline.archives.failures import LostArchiveError, size

# By default a file may come to so many times its size on disk; logs come to some 10 to 60 times.
# A small result does no harm, however large the factor.
_MOST_TIMES = 200
_LEAST, _MOST = 2**30, 2**40


class Expansion:
    """Counts the expanded bytes of one file, and stops reading it at the limit."""

    def __init__(self, n_bytes: int, limit: int | None = None) -> None:
        self._limit = min(max(n_bytes * _MOST_TIMES, _LEAST), _MOST) if limit is None else limit
        self._left = self._limit

    def counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Return the pieces; raises `LostArchiveError` where they are more than may come."""
        return map(self._count, pieces)  # which holds none of them, and one can be large

    def _count(self, piece: bytes) -> bytes:
        self._left -= len(piece)
        if self._left < 0:
            raise LostArchiveError(
                f"it expands to more than {size(self._limit)}; raise --max-expanded to read it"
            )
        return piece
