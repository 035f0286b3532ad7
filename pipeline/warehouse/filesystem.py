"""A lake's files as DuckDB is shown them: under names of ours, to be read and nothing else."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from fsspec import AbstractFileSystem

from pipeline.errors import error_reason
from pipeline.lake import StoredLake
from pipeline.stores import Location
from pipeline.warehouse.statements import LAKE_URL_SCHEME

# DuckDB keeps what it read of a file for as long as this stays the same: they never change.
_MODIFIED_AT = datetime.fromtimestamp(0, UTC)


class LakeFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The Parquet files of the requested tables of a lake's state, and no others.

    Beside them are files that are on no disk: what is in them is computed when DuckDB opens them.
    What DuckDB would write it opens here first, and is refused.
    """

    protocol = LAKE_URL_SCHEME
    cachable = False

    def __init__(self, lake: StoredLake) -> None:
        super().__init__()
        self._lake = lake
        self._files: dict[str, tuple[Location, int]] = {}
        self._computed: dict[str, _LazyContent] = {}

    def register_table(self, table: str) -> list[str]:
        """The names of the table's files, which can be read from now on."""
        folder = self._lake.table_folder(table)
        files = {
            self._shown(folder / name): (folder / name, n_bytes)
            for name, n_bytes in self._lake.file_sizes_bytes(table).items()
        }
        self._files |= files
        return sorted(files)

    def computed(self, name: str, content: Callable[[], bytes]) -> str:
        """The name of a file with this content, which is computed once, when it is opened."""
        file = f"{LAKE_URL_SCHEME}://computed/{name}"
        self._computed[file] = _LazyContent(content)
        return file

    def _shown(self, file: Location) -> str:
        """The name of a file: its place in the lake."""
        table, name = str(file).split("/")[-2:]
        return f"{LAKE_URL_SCHEME}://{table}/{name}"

    def glob(self, path: str, **_: object) -> list[str]:
        self._check(path)
        return [path]

    def info(self, path: str, **_: object) -> dict[str, Any]:
        self._check(path)
        in_memory = self._computed.get(path)
        n_bytes = len(in_memory.content()) if in_memory else self._files[path][1]
        return {"name": path, "size": n_bytes, "type": "file"}

    def modified(self, path: str) -> datetime:
        self._check(path)
        return _MODIFIED_AT

    def open(self, path: str, mode: str = "rb", **_: object) -> "_RangeReader | BytesIO":
        if mode != "rb":
            raise PermissionError("the lake can only be read")
        self._check(path)
        if in_memory := self._computed.get(path):
            return BytesIO(in_memory.content())
        return _RangeReader(path, *self._files[path])

    def _check(self, path: str) -> None:
        if path not in self._files and path not in self._computed:
            raise FileNotFoundError("the lake's tables have no file of this name")


class LakeFilesByUrl(LakeFiles):
    """The same files by their own URLs, for a lake on an object store."""

    def __init__(self, lake: StoredLake) -> None:
        super().__init__(lake)
        self.protocol = str(lake.path).partition("://")[0]

    def _shown(self, file: Location) -> str:
        return str(file)


class _LazyContent:
    """What a file holds, computed once: one query opens it several times, in several threads."""

    def __init__(self, compute: Callable[[], bytes]) -> None:
        self._compute = compute
        # DuckDB's threads have another context, without the metrics that were added to the lake.
        self._context = copy_context()
        self._lock = threading.Lock()
        self._content: bytes | None = None

    def content(self) -> bytes:
        with self._lock:
            if self._content is None:
                self._content = self._context.run(self._compute)
            return self._content


class _RangeReader:
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
            raise OSError(f"{self._name}: {error_reason(error)}") from None
        if len(data) < min(n_bytes, self._n_bytes - self.tell()):
            raise OSError(f"{self._name}: cut short, it had {self._n_bytes} bytes")
        self._own.position = self.tell() + len(data)
        return data

    def close(self) -> None:
        """Nothing is held open between reads."""
