"""What the workers of an ingest found, collected on disk until all is known.

In memory are only the faults, without the bytes of their documents.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import polars as pl

from pipeline.ingest.decode import fault_frame
from pipeline.ingest.worker import Found

_ROWS_OF_FILE = 2**15


class Collected:
    """Grows by what is found, in `scratch`, a folder: workers need the memory until they end.

    `n_documents` is the number of documents that the workers read.
    """

    def __init__(self, scratch: Path) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self._seen: list[Path] = []
        self._waiting: list[pl.DataFrame] = []
        self._faults = [fault_frame([]).drop("raw")]

    def add(self, found: Found) -> None:
        """Takes in what a worker told."""
        self.n_documents += found.n_documents
        if isinstance(found.seen, Path):
            self._seen.append(found.seen)
        elif found.seen is not None:
            self._waiting.append(pl.read_ipc_stream(found.seen))
            if sum(frame.height for frame in self._waiting) >= _ROWS_OF_FILE:
                self._write()
        if found.faults is not None:
            # The first frame has no bytes and no file.
            self._file("faults", len(self._faults)).write_bytes(found.faults)
            self._faults.append(pl.read_ipc_stream(found.faults).drop("raw"))

    def seen(self) -> list[Path]:
        """The Parquet files of all documents seen, in any order."""
        self._write()
        return self._seen

    def faults(self) -> pl.DataFrame:
        """All faults, without the bytes."""
        return pl.concat(self._faults)

    def whole_faults(self, chosen: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The faults, bytes and all, of those documents that the chosen faults are of."""
        key = ["source", "path", "sha256"]
        for number in range(1, len(self._faults)):
            faults = pl.read_ipc_stream(self._file("faults", number))
            yield faults.join(chosen, on=key, how="semi", nulls_equal=True)

    def _write(self) -> None:
        if self._waiting:
            self._seen.append(self._scratch / f"seen-{len(self._seen)}.parquet")
            buffer = BytesIO()
            pl.concat(self._waiting).write_parquet(buffer, compression="lz4")
            # Written here, so that a full disk is the system's error and not one of polars.
            self._seen[-1].write_bytes(buffer.getbuffer())
            self._waiting = []

    def _file(self, what: str, number: int) -> Path:
        return self._scratch / f"{what}-{number}.arrows"
