"""A lake's files as DuckDB is shown them: under names of ours, to be read and nothing else."""

import threading
from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from pipeline.lake import Lake
from pipeline.stores import Location

SCHEME = "lake"
# DuckDB keeps what it read of a file for as long as this stays the same: they never change.
_MODIFIED_AT = datetime.fromtimestamp(0, UTC)


class LakeFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The Parquet files of those tables of a lake's state that were asked for, and no others.

    What DuckDB would write it opens here first, and is refused.
    """

    protocol = SCHEME
    cachable = False

    def __init__(self, lake: Lake) -> None:
        super().__init__()
        self._lake = lake
        self._files: dict[str, tuple[Location, int]] = {}

    def of(self, table: str) -> list[str]:
        """The names of the table's files, which can be read from now on."""
        folder = self._lake.folder(table)
        found = {
            self._shown(folder / name): (folder / name, n_bytes)
            for name, n_bytes in self._lake.sizes(table).items()
        }
        self._files |= found
        return sorted(found)

    def _shown(self, file: Location) -> str:
        """The name of a file: its place in the lake."""
        table, name = str(file).split("/")[-2:]
        return f"{SCHEME}://{table}/{name}"

    def glob(self, path: str, **_: object) -> list[str]:
        self._file(path)
        return [path]

    def info(self, path: str, **_: object) -> dict[str, Any]:
        return {"name": path, "size": self._file(path)[1], "type": "file"}

    def modified(self, path: str) -> datetime:
        self._file(path)
        return _MODIFIED_AT

    def open(self, path: str, mode: str = "rb", **_: object) -> "_Reader":
        if mode != "rb":
            raise PermissionError("the lake can only be read")
        return _Reader(path, *self._file(path))

    def _file(self, path: str) -> tuple[Location, int]:
        if path not in self._files:
            raise FileNotFoundError("the lake's tables have no file of this name")
        return self._files[path]


class OwnUrls(LakeFiles):
    """The same files by their own URLs, for a lake on an object store."""

    def __init__(self, lake: Lake) -> None:
        super().__init__(lake)
        self.protocol = str(lake.path).partition("://")[0]

    def _shown(self, file: Location) -> str:
        return str(file)


class _Reader:
    """An open file. DuckDB's threads share it, and each first seeks, then reads."""

    def __init__(self, name: str, file: Location, n_bytes: int) -> None:
        self._name = name
        self._file = file
        self._n_bytes = n_bytes
        self._own = threading.local()

    def seek(self, position: int) -> int:
        self._own.position = position
        return position

    def tell(self) -> int:
        return getattr(self._own, "position", 0)

    def read(self, n_bytes: int) -> bytes:
        try:
            data = self._file.read_range(self.tell(), n_bytes)
        except OSError as error:  # whose text has the place on this machine
            raise OSError(f"{self._name}: {error.strerror or error}") from None
        if len(data) < min(n_bytes, self._n_bytes - self.tell()):
            raise OSError(f"{self._name}: cut short, it had {self._n_bytes} bytes")
        self._own.position = self.tell() + len(data)
        return data

    def close(self) -> None:
        """Nothing is held open between reads."""
