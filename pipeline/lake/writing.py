"""Which processes write files that no commit names yet.

Such a process holds a lock in the lake for as long as it writes, and its files' names have the
lock's name in them. So `maintain` knows them from files that a killed process left behind, without
comparing the clocks of two machines.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.errors import LakeError
from pipeline.lake.contents import WRITING
from pipeline.library_errors import reason
from pipeline.stores import Location
from pipeline.stores.leases import STALE_SECONDS

_LOCK_SECONDS = 2 * STALE_SECONDS


@contextmanager
def writing(
    lake: Location, token: str, on_left: Callable[[str], None] = lambda text: None
) -> Iterator[None]:
    """Shows, until it ends, that the files with this token in their names are being written.

    `on_left` is called with what to say if the lock's file cannot be deleted: what was done in the
    meantime is done all the same, and `maintain` deletes the file later.
    """
    check_clock()
    folder = lake / WRITING
    folder.make()
    with (folder / token).lock(_LOCK_SECONDS):
        try:
            yield
        finally:
            try:
                (folder / token).unlink(missing_ok=True)
            except OSError as error:
                on_left(f"{folder / token}: could not be deleted: {reason(error)}")


def check_clock() -> None:
    """Raises LakeError where no commit can be dated: a log counts milliseconds since 1970."""
    if time.time() < 0:
        raise LakeError("the clock of this machine shows a time before 1970: set it")


def tokens(lake: Location) -> set[str]:
    """The tokens of the processes that are writing; removes the locks of those that were killed."""
    return {file.name for file in (lake / WRITING).files() if _is_held(lake / WRITING / file.name)}


def _is_held(lock: Location) -> bool:
    # A killed process's lock on an object store is only known by not changing for a while.
    seconds = 0 if lock.is_local else 1.5 * STALE_SECONDS
    try:
        with lock.lock(seconds):
            lock.unlink(missing_ok=True)
    except TimeoutError:
        return True
    return False
