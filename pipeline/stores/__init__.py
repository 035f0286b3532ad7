"""Access files on this machine or in object stores (`s3://`, `gs://`, `az://`, `https://`).

Lakes and archives use the same functions for both. The library for object stores is imported only
if a path is a URL.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, Union
from urllib.parse import unquote

from pipeline.errors import EMPTY_PATH_HINT, UsageError
from pipeline.stores import local
from pipeline.stores.local import ChangedError, Draft, File, LocalLocation

if TYPE_CHECKING:
    from pipeline.stores.remote import RemoteLocation

__all__ = [
    "ChangedError",
    "Draft",
    "File",
    "Location",
    "can_open_without_waiting",
    "file_change_key",
    "is_missing_local_file",
    "is_remote",
    "iter_objects",
    "local_path",
    "object_size",
    "open_file",
    "parse_location",
    "read_regular_file",
]

# `Union`, because `|` does not accept the name of a class that is not imported yet.
Location: TypeAlias = Union[LocalLocation, "RemoteLocation"]
AnyLocation: TypeAlias = str | Path | Location


def parse_location(path: AnyLocation) -> Location:
    """Return the location of a file or folder on this machine or in an object store.

    Args:
        path: A path, a URL or a location; a leading `~` is replaced by the home directory.

    Returns:
        The location. Local paths are absolute, without symbolic links.

    Raises:
        UsageError: If the path is empty, for example because a shell variable is not set.
        OSError: If a URL has an empty part or a part `.` or `..`.
    """
    if not str(path).strip():
        raise UsageError(f"the path of the lake {EMPTY_PATH_HINT}")
    if is_remote(path):
        return _parse_remote_location(str(path))
    # Like shells, `expanduser` leaves `./~name` and names of unknown users unchanged.
    expanded = os.path.expanduser(local_path(str(path)))  # noqa: PTH111
    return LocalLocation(Path(os.path.realpath(expanded)))


def is_remote(path: AnyLocation) -> bool:
    """Return whether the path is a URL of an object store."""
    text = str(path)
    return "://" in text and not text.startswith("file://")


def read_regular_file(file: str, check_size: Callable[[int], None]) -> bytes | None:
    """Return the bytes of a file or object; None for pipes and devices, which are not read.

    Args:
        file: A local path or a URL.
        check_size: Called with the size in bytes before the file is read; may raise to refuse it.

    Raises:
        OSError: If the file cannot be read.
        ChangedError: If a local file changes while it is read.
    """
    if is_remote(file):
        return _parse_remote_location(file).read(check_size)
    return local.read_regular_local_file(file, check_size)


def open_file(file: str) -> BinaryIO:
    """Open a file or object for reading with random access."""
    return (
        _parse_remote_location(file).open()
        if is_remote(file)
        else local.open_local_file_or_empty(file)
    )


def can_open_without_waiting(file: str) -> bool:
    """Return whether a file can be opened without waiting: it is not a pipe or device.

    True for URLs and for missing files, for which opening fails at once.
    """
    return is_remote(file) or local.is_regular_local_file(file)


def file_change_key(file: str) -> tuple[int, ...] | None:
    """Return numbers that change if a local file is changed; None if it is missing or a URL."""
    return None if is_remote(file) else local.local_file_change_key(file)


def is_missing_local_file(file: str) -> bool:
    """Return whether a local path does not exist; False for URLs."""
    return not is_remote(file) and local.does_not_exist(file)


def iter_objects(url: str) -> Iterator[tuple[str, int]]:
    """Yield the key and the size in bytes of each object below a URL, sorted by key.

    Keys do not contain the URL.
    """
    return _parse_remote_location(url).iter_objects()


def object_size(url: str) -> int | None:
    """Return the size in bytes of the object at a URL; None if there is no such object."""
    return _parse_remote_location(url).size()


def _parse_remote_location(url: str) -> "RemoteLocation":
    """Return the location of a URL; raise OSError if a part of it is empty, `.` or `..`."""
    from pipeline.stores.remote import RemoteLocation

    _, *names = url.rstrip("/").partition("://")[2].split("/")
    if not {"", ".", ".."}.isdisjoint(names):
        raise OSError(f"{url}: the parts of a URL between slashes must not be empty, `.` or `..`")
    return RemoteLocation(url.rstrip("/"))


def local_path(path: str) -> str:
    """Return the path of a `file://` URL; return any other string unchanged."""
    return unquote(path.removeprefix("file://")) if path.startswith("file://") else path
