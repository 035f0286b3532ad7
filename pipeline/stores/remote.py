"""Files of object stores, such as S3. Credentials and settings are those of the environment.

The same variables serve `deltalake` and `polars`, which read such a store by themselves.
"""

import io
import json
import os
import random
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from msgspec import Struct
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import ObjectStore, from_url

from pipeline.stores.local import STALE_SECONDS, Draft, File, new_temporary_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import RetryConfig

_BUFFER_BYTES = 4 * 2**20
_RETRIES: "RetryConfig" = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}


# What the library's errors come from, by a word in them.
_HINTS = {
    "169.254.169.254": "no credentials: set those of the store in the environment; for S3 these "
    "are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "HTTP error: builder error": "the endpoint is not https: set AWS_ALLOW_HTTP=true",
    "Unable to recognise URL": "no store of a kind known here: s3, gs, az, http and https are",
}


@dataclass(frozen=True)
class RemoteLocation:
    """An object or a prefix in an object store: its URL without a trailing slash."""

    url: str

    is_local = False

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "RemoteLocation":
        return RemoteLocation(f"{self.url}/{name}")

    def list_files(self) -> list[File]:
        """List the objects directly below the prefix."""
        with _reraise_as_os_error(self.url):
            listed = obstore.list_with_delimiter(self._store, self._key)
        return sorted(
            File(_last_path_part(entry["path"]), entry["size"], entry["last_modified"])
            for entry in listed["objects"]
        )

    def list_names(self) -> set[str]:
        """List the names of objects and prefixes directly below the prefix."""
        with _reraise_as_os_error(self.url):
            listed = obstore.list_with_delimiter(self._store, self._key)
        paths = [*listed["common_prefixes"], *(entry["path"] for entry in listed["objects"])]
        return {_last_path_part(path) for path in paths}

    def iter_objects(self) -> Iterator[tuple[str, int]]:
        """Iterate over the key and size of all objects below the prefix, sorted by key."""
        start = len(self._key) + 1 if self._key else 0
        with _reraise_as_os_error(self.url):
            for batch in obstore.list(self._store, self._key or None):
                for entry in batch:
                    yield entry["path"][start:], entry["size"]

    def size(self) -> int | None:
        """Return the object's size in bytes, or None if there is no such object."""
        if not self._key:
            return None
        try:
            with _reraise_as_os_error(self.url):
                return obstore.head(self._store, self._key)["size"]
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        """Return whether an object or prefix exists."""
        return bool(self.list_names()) or self.size() is not None

    def create_folder(self) -> None:
        """Do nothing, because object stores need no folders."""
        self.list_names()  # which fails where there is no such bucket

    def create_draft(self, name: str) -> Draft:
        """Create a local file that is uploaded when it is finished."""
        path = new_temporary_file()

        def finish(name: str) -> None:
            final = self / name
            try:
                with _reraise_as_os_error(final.url):
                    obstore.put(final._store, final._key, path)
            finally:
                path.unlink()

        return Draft(path, finish)

    def delete_file(self, *, missing_ok: bool = False) -> None:
        """Delete the object."""
        try:
            with _reraise_as_os_error(self.url):
                obstore.delete(self._store, self._key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def read(self, check_size: Callable[[int], None]) -> bytes:
        """Return the object's bytes; `check_size` may raise to refuse the size."""
        with _reraise_as_os_error(self.url):
            answer = obstore.get(self._store, self._key)
            check_size(answer.meta["size"])
            return bytes(answer.bytes())

    def open(self) -> BinaryIO:
        """Open the object for reading with random access."""
        size = self.size()
        if size is None:
            raise FileNotFoundError(f"{self.url}: no such object")
        return cast(BinaryIO, io.BufferedReader(_Ranges(self, size), _BUFFER_BYTES))

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Return bytes of the object from `start`, at most `n_bytes`."""
        with _reraise_as_os_error(self.url):
            return bytes(obstore.get_range(self._store, self._key, start=start, length=n_bytes))

    def lock(self, seconds: float) -> AbstractContextManager[Callable[[], None]]:
        """Hold the lock of this name; raise TimeoutError if others hold it for so many seconds."""
        return hold_lease(Lease(self._store, self._key, self.url), seconds)

    @property
    def _store(self) -> ObjectStore:
        return _store("/".join(self.url.split("/", 3)[:3]))

    @property
    def _key(self) -> str:
        return "/".join(self.url.split("/", 3)[3:])


@lru_cache
def _store(root: str) -> ObjectStore:
    with _reraise_as_os_error(root):
        return from_url(root, retry_config=_RETRIES)


def _last_path_part(path: str) -> str:
    return path.rpartition("/")[2]


class _Ranges(io.RawIOBase):
    """A file object that reads an object by byte ranges, so only the needed part is downloaded."""

    def __init__(self, location: RemoteLocation, size: int) -> None:
        self._location = location
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("a position before the beginning")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        target = memoryview(buffer).cast("B")
        n_bytes = min(len(target), self._size - self._position)
        if n_bytes <= 0:
            return 0
        data = self._location.read_range(self._position, n_bytes)
        target[: len(data)] = data
        self._position += len(data)
        return len(data)


@contextmanager
def _reraise_as_os_error(url: str) -> Iterator[None]:
    """Re-raise the library's errors as OSError with a message of one line."""
    try:
        yield
    except (FileNotFoundError, NotFoundError):
        raise FileNotFoundError(f"{url}: no such object") from None
    except (BaseError, ValueError) as error:  # the latter for keys that the library cannot hold
        raise OSError(f"{url}: {_error_reason(str(error))}") from None


def _error_reason(text: str) -> str:
    """Return the store's own error message, a hint, or the first line of the error."""
    for word, hint in _HINTS.items():
        if word in text:
            return hint
    code, message = (re.search(f"<{tag}>([^<]*)</{tag}>", text) for tag in ("Code", "Message"))
    if code:
        return f"{code[1]}: {message[1]}" if message and message[1] else code[1]
    line, *_ = text.splitlines() or ["unknown error"]
    return line.strip()


# A lock on an object store, by puts that succeed only where nobody else's came before.
#
# The lock is an object. Its holder writes it anew every few seconds; who waits takes it over once
# it has not changed for long, by its own clock, so that a killed process locks nobody out and no
# two machines need to agree on the time. Every step is a conditional put on what was seen last: of
# two that try, one succeeds.

BEAT_SECONDS = 10.0
POLL_SECONDS = 0.25

_FREE = b"free"
_LOST = (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError)


class Lease(Struct):
    """A lock object in the store; `tag` is the tag of the last write by this process."""

    store: ObjectStore
    key: str
    url: str
    tag: str | None = None
    is_lost: bool = False

    def acquire(self, seconds: float) -> None:
        """Acquire the lock; raise TimeoutError if others hold it for so many seconds."""
        end = time.monotonic() + seconds
        seen: str | None = None
        seen_at = time.monotonic()
        while True:
            tag, content = self._read_lock()
            if tag != seen:
                seen, seen_at = tag, time.monotonic()
            is_stale = time.monotonic() - seen_at > STALE_SECONDS
            if (tag is None or content == _FREE or is_stale) and self._write_if_unchanged(
                _unique_content(), tag
            ):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"{self.url}: locked for {seconds:.0f} seconds")
            time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))

    def renew(self) -> None:
        """Renew the lock, and detect if another process took it over."""
        self.is_lost = not self._write_if_unchanged(_unique_content(), self.tag)

    def release(self) -> None:
        """Release the lock, so that others can acquire it at once."""
        if not self.is_lost:
            self._write_if_unchanged(_FREE, self.tag)

    def raise_if_lost(self) -> None:
        """Raise OSError if the lock was lost."""
        if self.is_lost:
            raise OSError(
                f"{self.url}: the lock was lost because this process was paused for "
                "too long; run the same command again"
            )

    def _read_lock(self) -> tuple[str | None, bytes]:
        try:
            answer = obstore.get(self.store, self.key)
            return answer.meta["e_tag"], bytes(answer.bytes())
        except (FileNotFoundError, NotFoundError):
            return None, b""
        except BaseError as error:
            raise OSError(f"{self.url}: {error}") from None

    def _write_if_unchanged(self, content: bytes, tag: str | None) -> bool:
        """Write the object if it is unchanged since it was read; return whether it was."""
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


def _unique_content() -> bytes:
    """Return content that no other process writes, because a tag can be a hash of the content."""
    return json.dumps(
        {"host": socket.gethostname(), "process": os.getpid(), "beat": uuid.uuid4().hex}
    ).encode()


@contextmanager
def hold_lease(lease: Lease, seconds: float) -> Iterator[Callable[[], None]]:
    """Hold the lock; yield a function that raises OSError if the lock was lost."""
    lease.acquire(seconds)
    stop = threading.Event()
    beats = threading.Thread(target=_renew_lease, args=(lease, stop), daemon=True)
    beats.start()
    try:
        yield lease.raise_if_lost
    finally:
        stop.set()
        beats.join()
        with suppress(OSError):
            lease.release()


def _renew_lease(lease: Lease, stop: threading.Event) -> None:
    last = time.monotonic()
    while not lease.is_lost and not stop.wait(BEAT_SECONDS):
        try:
            lease.renew()
            last = time.monotonic()
        except OSError:  # of the network, perhaps for a moment
            lease.is_lost = time.monotonic() - last > STALE_SECONDS / 2
