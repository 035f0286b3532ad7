"""A lock on an object store, by puts that succeed only where nobody else's came before.

The lock is an object. Its holder writes it anew every few seconds; who waits takes it over once it
has not changed for long, by its own clock, so that a killed process locks nobody out and no two
machines need to agree on the time. Every step is a conditional put on what was seen last: of two
that try, one succeeds.
"""

import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import obstore
from msgspec import Struct
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import ObjectStore

BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
POLL_SECONDS = 0.25

_FREE = b"free"
_LOST = (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError)


class Lease(Struct):
    """The lock object; `tag` is that of our own last put."""

    store: ObjectStore
    key: str
    url: str
    tag: str | None = None
    is_lost: bool = False

    def acquire(self, seconds: float) -> None:
        """Takes the lock; raises TimeoutError if others hold it for that long."""
        end = time.monotonic() + seconds
        seen: str | None = None
        seen_at = time.monotonic()
        while True:
            tag, content = self._look()
            if tag != seen:
                seen, seen_at = tag, time.monotonic()
            is_stale = time.monotonic() - seen_at > STALE_SECONDS
            if (tag is None or content == _FREE or is_stale) and self._put(_ours(), tag):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"{self.url}: locked for {seconds:.0f} seconds")
            time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))

    def beat(self) -> None:
        """Shows that the holder lives; finds out if it was taken for dead."""
        self.is_lost = not self._put(_ours(), self.tag)

    def release(self) -> None:
        if not self.is_lost:
            self._put(_FREE, self.tag)

    def check(self) -> None:
        """Raises OSError if the lock was lost."""
        if self.is_lost:
            raise OSError(
                f"{self.url}: the lock was lost because this process was paused for "
                "too long; run the same command again"
            )

    def _look(self) -> tuple[str | None, bytes]:
        try:
            answer = obstore.get(self.store, self.key)
            return answer.meta["e_tag"], bytes(answer.bytes())
        except (FileNotFoundError, NotFoundError):
            return None, b""
        except BaseError as error:
            raise OSError(f"{self.url}: {error}") from None

    def _put(self, content: bytes, tag: str | None) -> bool:
        """Writes the object if it is as it was seen; says whether it was."""
        try:
            done = obstore.put(
                self.store, self.key, content, mode={"e_tag": tag} if tag else "create"
            )
        except _LOST:
            return False
        except BaseError as error:
            raise OSError(f"{self.url}: {error}") from None
        self.tag = done["e_tag"]
        return True


def _ours() -> bytes:
    """Content that nobody else writes, since a tag can be a hash of the content."""
    return json.dumps(
        {"host": socket.gethostname(), "process": os.getpid(), "beat": uuid.uuid4().hex}
    ).encode()


@contextmanager
def holding(lease: Lease, seconds: float) -> Iterator[Callable[[], None]]:
    """Holds the lock; gives what raises `OSError` if it was lost."""
    lease.acquire(seconds)
    stop = threading.Event()
    beats = threading.Thread(target=_beat, args=(lease, stop), daemon=True)
    beats.start()
    try:
        yield lease.check
    finally:
        stop.set()
        beats.join()
        with suppress(OSError):
            lease.release()


def _beat(lease: Lease, stop: threading.Event) -> None:
    last = time.monotonic()
    while not lease.is_lost and not stop.wait(BEAT_SECONDS):
        try:
            lease.beat()
            last = time.monotonic()
        except OSError:  # of the network, perhaps for a moment
            lease.is_lost = time.monotonic() - last > STALE_SECONDS / 2
