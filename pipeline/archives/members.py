"""A member of an archive, whichever archive it is, and names made unique where they come twice."""

from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

_FREE = 0
_FIRST_SLOTS = 1 << 10


class Member(NamedTuple):
    """A member of an archive; `open` gives its bytes, null for what is not a regular file."""

    name: str
    n_bytes: int = 0  # as its header has it, which can be wrong
    open: Callable[[], Iterator[bytes]] | None = None


class Distinct:
    """Gives each name once: a second `x.json` is `x.json (2)`.

    It keeps 64 bits of a name, at 8 to 16 bytes each: of an archive of millions of members, a set
    of the names themselves would be the largest thing in memory. Two names that share them are as
    unlikely as a broken disk, and would cost the second one a needless number.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * _FIRST_SLOTS))
        self._n_names = 0
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
        """Say whether a name is new, and note it."""
        if not _note(self._slots, hash(name) & 0xFFFF_FFFF_FFFF_FFFF or 1):
            return False
        self._n_names += 1
        if 2 * self._n_names > len(self._slots):
            self._grow()
        return True

    def _grow(self) -> None:
        slots = array("Q", bytes(16 * len(self._slots)))
        for key in self._slots:
            if key != _FREE:
                _note(slots, key)
        self._slots = slots


def _note(slots: "array[int]", key: int) -> bool:
    """Put a key into the first free slot from its own on; say whether it was not there yet."""
    mask = len(slots) - 1
    place = key & mask
    while (held := slots[place]) != _FREE:
        if held == key:
            return False
        place = (place + 1) & mask
    slots[place] = key
    return True
