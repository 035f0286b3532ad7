"""Files and locks of object stores, such as S3.

Lakes and archives with a URL use it through `pipeline.stores`. Credentials and settings are
environment variables; `deltalake` and `polars`, which also access the store, read the same ones.
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

from pipeline.stores.local import STALE_SECONDS, Draft, File, create_temporary_parquet_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import RetryConfig

_BUFFER_BYTES = 4 * 2**20
_RETRY_CONFIG: "RetryConfig" = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}

# Explanations of the library's error messages that contain a string.
_HINT_BY_ERROR_PART = {
    "169.254.169.254": "no credentials: set those of the store in the environment; for S3 these "
    "are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "HTTP error: builder error": "the endpoint is not https: set AWS_ALLOW_HTTP=true",
    "Unable to recognise URL": "unknown object store: the schemes s3, gs, az, http and https are "
    "supported",
}


@dataclass(frozen=True)
class RemoteLocation:
    """An object or a prefix in an object store.

    Attributes:
        url: The URL without a trailing slash.
        is_local: Always false.
    """

    url: str

    is_local = False

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "RemoteLocation":
        return RemoteLocation(f"{self.url}/{name}")

    def list_files(self) -> list[File]:
        """Return the objects directly below the prefix, sorted by name."""
        with _reraise_as_os_error(self.url):
            listing = obstore.list_with_delimiter(self._store, self._key)
        return sorted(
            File(_last_path_part(entry["path"]), entry["size"], entry["last_modified"])
            for entry in listing["objects"]
        )

    def list_names(self) -> set[str]:
        """Return the names of the objects and prefixes directly below the prefix."""
        with _reraise_as_os_error(self.url):
            listing = obstore.list_with_delimiter(self._store, self._key)
        paths = [*listing["common_prefixes"], *(entry["path"] for entry in listing["objects"])]
        return {_last_path_part(path) for path in paths}

    def iter_objects(self) -> Iterator[tuple[str, int]]:
        """Yield all objects below the prefix, sorted by key.

        Yields:
            A pair (key without the prefix, size in bytes).
        """
        start = len(self._key) + 1 if self._key else 0
        with _reraise_as_os_error(self.url):
            for batch in obstore.list(self._store, self._key or None):
                for entry in batch:
                    yield entry["path"][start:], entry["size"]

    def size(self) -> int | None:
        """Return the object's size in bytes; None if there is no such object."""
        if not self._key:
            return None
        try:
            with _reraise_as_os_error(self.url):
                return obstore.head(self._store, self._key)["size"]
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        """Return whether there is an object with this URL, or below it."""
        return bool(self.list_names()) or self.size() is not None

    def create_folder(self) -> None:
        """Create nothing, because object stores need no folders; raise OSError without access."""
        self.list_names()

    def create_draft(self, name: str) -> Draft:
        """Return a draft for a new object below the prefix.

        The draft is a temporary local file, which its `finish` uploads and deletes.

        Args:
            name: Not used; local locations need it.
        """
        path = create_temporary_parquet_file()

        def finish(name: str) -> None:
            location = self / name
            try:
                with _reraise_as_os_error(location.url):
                    obstore.put(location._store, location._key, path)
            finally:
                path.unlink()

        return Draft(path, finish)

    def delete_file(self, *, missing_ok: bool = False) -> None:
        """Delete the object; with `missing_ok`, do nothing if it is missing."""
        try:
            with _reraise_as_os_error(self.url):
                obstore.delete(self._store, self._key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def read(self, check_size: Callable[[int], None]) -> bytes:
        """Return the object's bytes.

        Args:
            check_size: Called with the size in bytes before the object is read; may raise to refuse
                it.
        """
        with _reraise_as_os_error(self.url):
            response = obstore.get(self._store, self._key)
            check_size(response.meta["size"])
            return bytes(response.bytes())

    def open(self) -> BinaryIO:
        """Open the object for reading with random access."""
        size = self.size()
        if size is None:
            raise FileNotFoundError(f"{self.url}: no such object")
        return cast(BinaryIO, io.BufferedReader(_RangeReader(self, size), _BUFFER_BYTES))

    def read_range(self, start: int, n_bytes: int) -> bytes:
        """Return `n_bytes` bytes of the object from the position `start`, or fewer at its end."""
        with _reraise_as_os_error(self.url):
            return bytes(obstore.get_range(self._store, self._key, start=start, length=n_bytes))

    def lock(self, timeout_seconds: float) -> AbstractContextManager[Callable[[], None]]:
        """Hold a lock with the URL of this object, which is created if it is missing.

        Args:
            timeout_seconds: Maximum time to wait for the lock.

        Returns:
            A context manager that yields a function, which raises OSError if the lock was lost.

        Raises:
            TimeoutError: If another process still holds the lock after `timeout_seconds`.
        """
        return hold_lease(Lease(self._store, self._key, self.url), timeout_seconds)

    @property
    def _store(self) -> ObjectStore:
        return _store("/".join(self.url.split("/", 3)[:3]))

    @property
    def _key(self) -> str:
        return "/".join(self.url.split("/", 3)[3:])


@lru_cache
def _store(root: str) -> ObjectStore:
    with _reraise_as_os_error(root):
        return from_url(root, retry_config=_RETRY_CONFIG)


def _last_path_part(path: str) -> str:
    return path.rpartition("/")[2]


class _RangeReader(io.RawIOBase):
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
            raise ValueError("the position is before the beginning of the file")
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
    """Re-raise the store library's errors as OSError with the URL and a message of one line."""
    try:
        yield
    except (FileNotFoundError, NotFoundError):
        raise FileNotFoundError(f"{url}: no such object") from None
    except (BaseError, ValueError) as error:  # ValueError: a key that the library rejects
        raise OSError(f"{url}: {_shorten_error_message(str(error))}") from None


def _shorten_error_message(error_text: str) -> str:
    """Shorten the text of a store's error to one line.

    It is a hint from `_HINT_BY_ERROR_PART`, the store's own message, or the first line.
    """
    for error_part, hint in _HINT_BY_ERROR_PART.items():
        if error_part in error_text:
            return hint
    code, message = (
        re.search(f"<{tag}>([^<]*)</{tag}>", error_text) for tag in ("Code", "Message")
    )
    if code:
        return f"{code[1]}: {message[1]}" if message and message[1] else code[1]
    line, *_ = error_text.splitlines() or ["unknown error"]
    return line.strip()


# Locks on an object store.
#
# The lock is an object that its holder rewrites every few seconds. A waiting process takes the lock
# over if the object has not changed for `STALE_SECONDS` of the waiting process's clock. So a killed
# process blocks nobody, and clocks need not agree. Each write is conditional: it succeeds only if
# the object is unchanged since it was read, so only one of several processes gets the lock.

RENEWAL_SECONDS = 10.0
POLL_SECONDS = 0.25

_FREE_LOCK_CONTENT = b"free"
_LOCK_CHANGED_ERRORS = (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError)


class Lease(Struct):
    """A lock in an object store, which its holder must renew regularly.

    Attributes:
        store: The object store.
        key: The key of the lock object.
        url: The URL of the lock object, for messages.
        tag: The entity tag of this process's last write; None before the first write.
        is_lost: Whether another process has taken the lock over.
    """

    store: ObjectStore
    key: str
    url: str
    tag: str | None = None
    is_lost: bool = False

    def acquire(self, timeout_seconds: float) -> None:
        """Wait for the lock and take it; raise TimeoutError after `timeout_seconds`."""
        deadline = time.monotonic() + timeout_seconds
        last_tag: str | None = None
        changed_at = time.monotonic()
        while True:
            tag, content = self._read_tag_and_content()
            if tag != last_tag:
                last_tag, changed_at = tag, time.monotonic()
            is_stale = time.monotonic() - changed_at > STALE_SECONDS
            if (
                tag is None or content == _FREE_LOCK_CONTENT or is_stale
            ) and self._write_if_unchanged(_unique_lock_content(), tag):
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.url}: locked for {timeout_seconds:.0f} seconds")
            time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))

    def renew_or_mark_lost(self) -> None:
        """Rewrite the lock object; set `is_lost` if another process has taken the lock over."""
        self.is_lost = not self._write_if_unchanged(_unique_lock_content(), self.tag)

    def release(self) -> None:
        """Mark the lock object as free, so that other processes can acquire it without waiting."""
        if not self.is_lost:
            self._write_if_unchanged(_FREE_LOCK_CONTENT, self.tag)

    def raise_if_lost(self) -> None:
        """Raise OSError if `is_lost` is set."""
        if self.is_lost:
            raise OSError(
                f"{self.url}: the lock was lost because this process was paused for "
                "too long; run the same command again"
            )

    def _read_tag_and_content(self) -> tuple[str | None, bytes]:
        """Return the lock object's entity tag and content; None and no bytes if it is missing."""
        try:
            response = obstore.get(self.store, self.key)
            return response.meta["e_tag"], bytes(response.bytes())
        except (FileNotFoundError, NotFoundError):
            return None, b""
        except BaseError as error:
            raise OSError(f"{self.url}: {error}") from None

    def _write_if_unchanged(self, content: bytes, expected_tag: str | None) -> bool:
        """Write the lock object if it still has this tag (None: if it is missing).

        Returns whether it was written.
        """
        try:
            result = obstore.put(
                self.store,
                self.key,
                content,
                mode={"e_tag": expected_tag} if expected_tag else "create",
            )
        except _LOCK_CHANGED_ERRORS:
            return False
        except BaseError as error:
            raise OSError(f"{self.url}: {error}") from None
        self.tag = result["e_tag"]
        return True


def _unique_lock_content() -> bytes:
    """Return content that is never written twice, because a tag can be a hash of the content."""
    return json.dumps(
        {"host": socket.gethostname(), "process": os.getpid(), "beat": uuid.uuid4().hex}
    ).encode()


@contextmanager
def hold_lease(lease: Lease, timeout_seconds: float) -> Iterator[Callable[[], None]]:
    """Acquire a lock, renew it in a thread while the block runs, and release it.

    Args:
        lease: The lock to acquire.
        timeout_seconds: Maximum time to wait for the lock.

    Yields:
        A function that raises OSError if the lock was lost.

    Raises:
        TimeoutError: If another process still holds the lock after `seconds`.
    """
    lease.acquire(timeout_seconds)
    stop = threading.Event()
    renewal = threading.Thread(target=_renew_lease_until_stopped, args=(lease, stop), daemon=True)
    renewal.start()
    try:
        yield lease.raise_if_lost
    finally:
        stop.set()
        renewal.join()
        with suppress(OSError):
            lease.release()


def _renew_lease_until_stopped(lease: Lease, stop: threading.Event) -> None:
    """Renew a lock every `RENEWAL_SECONDS` until `stop` is set or the lock is lost."""
    renewed_at = time.monotonic()
    while not lease.is_lost and not stop.wait(RENEWAL_SECONDS):
        try:
            lease.renew_or_mark_lost()
            renewed_at = time.monotonic()
        except OSError:  # perhaps the network failed only for a moment
            lease.is_lost = time.monotonic() - renewed_at > STALE_SECONDS / 2
