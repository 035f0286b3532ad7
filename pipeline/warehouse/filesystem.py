"""File systems through which DuckDB reads a lake's files, and nothing else.

Connections register them with DuckDB. They depend on fsspec and on the lake's stores.
"""

import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from fsspec import AbstractFileSystem

from pipeline.errors import one_line_message_without_path
from pipeline.lake import StoredLake
from pipeline.stores import Location
from pipeline.warehouse.statements import LAKE_URL_SCHEME

# DuckDB caches a file while its modification time is the same; files of a lake never change.
_MODIFIED_AT = datetime.fromtimestamp(0, UTC)


class LakeFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Read-only file system for DuckDB that contains only the registered files of a lake.

    The files are Parquet files of the lake's tables, and files in memory whose content is computed
    when DuckDB opens them. DuckDB opens a file here before writing, which raises PermissionError.
    """

    protocol = LAKE_URL_SCHEME
    cachable = False

    def __init__(self, lake: StoredLake) -> None:
        super().__init__()
        self._lake = lake
        self._files: dict[str, tuple[Location, int]] = {}
        self._lazy_contents: dict[str, _LazyContent] = {}

    def register_table(self, table: str) -> list[str]:
        """Let DuckDB read a table's files, and return their sorted names in DuckDB."""
        folder = self._lake.table_folder(table)
        files = {
            self._name_in_duckdb(folder / name): (folder / name, n_bytes)
            for name, n_bytes in self._lake.file_sizes_bytes(table).items()
        }
        self._files |= files
        return sorted(files)

    def register_computed_file(self, name: str, compute: Callable[[], bytes]) -> str:
        """Let DuckDB read a file in memory, whose content is computed when it is first needed.

        Args:
            name: Last part of the file's name.
            compute: Returns the content; it is called at most once.

        Returns:
            The full name of the file in DuckDB.
        """
        file = f"{LAKE_URL_SCHEME}://computed/{name}"
        self._lazy_contents[file] = _LazyContent(compute)
        return file

    def _name_in_duckdb(self, file: Location) -> str:
        """Return the name of a Parquet file in DuckDB: `lake://TABLE/FILE`."""
        table, name = str(file).split("/")[-2:]
        return f"{LAKE_URL_SCHEME}://{table}/{name}"

    def glob(self, path: str, **_: object) -> list[str]:
        """Return a list of the path itself; the names of registered files are not patterns.

        Raises FileNotFoundError if the path is not registered.
        """
        self._raise_if_not_registered(path)
        return [path]

    def info(self, path: str, **_: object) -> dict[str, Any]:
        """Return the name, size in bytes and type of a registered file, as fsspec requires."""
        self._raise_if_not_registered(path)
        lazy_content = self._lazy_contents.get(path)
        n_bytes = len(lazy_content.content()) if lazy_content else self._files[path][1]
        return {"name": path, "size": n_bytes, "type": "file"}

    def modified(self, path: str) -> datetime:
        """Return a constant modification time, because the files never change."""
        self._raise_if_not_registered(path)
        return _MODIFIED_AT

    def open(self, path: str, mode: str = "rb", **_: object) -> "_RangeReader | BytesIO":
        """Open a registered file for reading; raise PermissionError for any other mode."""
        if mode != "rb":
            raise PermissionError("the lake can only be read")
        self._raise_if_not_registered(path)
        if lazy_content := self._lazy_contents.get(path):
            return BytesIO(lazy_content.content())
        return _RangeReader(path, *self._files[path])

    def _raise_if_not_registered(self, path: str) -> None:
        if path not in self._files and path not in self._lazy_contents:
            raise FileNotFoundError("the lake's tables have no file of this name")


class LakeFilesByUrl(LakeFiles):
    """The files of a lake on an object store, under their own URLs."""

    def __init__(self, lake: StoredLake) -> None:
        super().__init__(lake)
        self.protocol = str(lake.path).partition("://")[0]

    def _name_in_duckdb(self, file: Location) -> str:
        return str(file)


class _LazyContent:
    """Content of a file, computed once because threads of a query open the file several times."""

    def __init__(self, compute: Callable[[], bytes]) -> None:
        self._compute = compute
        # Copied because DuckDB's threads lack the context with the metrics added to the lake.
        self._context = copy_context()
        self._lock = threading.Lock()
        self._content: bytes | None = None

    def content(self) -> bytes:
        with self._lock:
            if self._content is None:
                self._content = self._context.run(self._compute)
            return self._content


class _RangeReader:
    """Open file with a separate position for each thread, because DuckDB's threads share it."""

    def __init__(self, name: str, file: Location, n_bytes: int) -> None:
        self._name = name
        self._file = file
        self._n_bytes = n_bytes
        self._thread_local = threading.local()

    def seek(self, position: int) -> int:
        self._thread_local.position = position
        return position

    def tell(self) -> int:
        return getattr(self._thread_local, "position", 0)

    def read(self, n_bytes: int) -> bytes:
        try:
            data = self._file.read_range(self.tell(), n_bytes)
        except OSError as error:  # Its own message has the file's path on this machine.
            raise OSError(f"{self._name}: {one_line_message_without_path(error)}") from None
        if len(data) < min(n_bytes, self._n_bytes - self.tell()):
            raise OSError(f"{self._name}: the file is truncated; it had {self._n_bytes} bytes")
        self._thread_local.position = self.tell() + len(data)
        return data

    def close(self) -> None:
        """Do nothing, because no file stays open between reads."""
