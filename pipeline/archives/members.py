"""A member of an archive, whichever archive it is, and names made unique where they come twice."""

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Member(NamedTuple):
    """A member of an archive; `open` gives its bytes, null for what is not a regular file."""

    name: str
    n_bytes: int = 0  # as its header has it, which can be wrong
    open: Callable[[], Iterator[bytes]] | None = None


class Distinct:
    """Gives each name once: a second `x.json` is `x.json (2)`.

    It keeps the hashes of the names, because in an archive of millions of members the names
    themselves would be the largest thing in memory. Two names with one hash are as unlikely as a
    broken disk, and would give the second one a needless number.
    """

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._times: dict[str, int] = {}  # only of names that came twice

    def name(self, name: str) -> str:
        """Return the name, with a number if it was given before."""
        if self._is_new(name):
            return name
        number = self._times.get(name, 1) + 1
        while not self._is_new(f"{name} ({number})"):
            number += 1
        self._times[name] = number
        return f"{name} ({number})"

    def _is_new(self, name: str) -> bool:
        """Return whether a name is new, and remember it."""
        n_before = len(self._hashes)
        self._hashes.add(hash(name))
        return len(self._hashes) > n_before
