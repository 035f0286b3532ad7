"""A member of an archive, whichever archive it is."""

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Member(NamedTuple):
    """A member of an archive; `open` gives its bytes, null for what is not a regular file."""

    name: str
    n_bytes: int = 0  # as its header has it, which can be wrong
    open: Callable[[], Iterator[bytes]] | None = None
