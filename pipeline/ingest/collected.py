"""What the workers of an ingest found, kept on disk until all is known."""

from io import BytesIO
from pathlib import Path

import polars as pl

from pipeline.ingest.worker import Findings

_ROWS_OF_FILE = 2**15
_BYTES_OF_FILE = 2**25


class Collected:
    """Collects findings in the folder `scratch`: workers need the memory until they end.

    `n_documents` is the number of documents that the workers read.
    """

    def __init__(self, scratch: Path) -> None:
        self.n_documents = 0
        self._seen = _Heap(scratch, "seen")
        self._faults = _Heap(scratch, "faults")

    def add(self, findings: Findings) -> None:
        """Takes in what a worker found."""
        self.n_documents += findings.n_documents
        self._seen.add(findings.seen)
        self._faults.add(findings.faults)

    def seen(self) -> list[Path]:
        """The Parquet files of all documents seen, in any order."""
        return self._seen.files()

    def faults(self) -> list[Path]:
        """The same of all faults."""
        return self._faults.files()


class _Heap:
    """Frames, written to a file of a name of ours once there are enough of them."""

    def __init__(self, scratch: Path, name: str) -> None:
        self._scratch = scratch
        self._name = name
        self._files: list[Path] = []
        self._waiting: list[pl.DataFrame] = []

    def add(self, rows: bytes | Path | None) -> None:
        if isinstance(rows, Path):
            self._files.append(rows)
        elif rows is not None:
            self._waiting.append(pl.read_ipc_stream(rows))
            n_rows = sum(frame.height for frame in self._waiting)
            n_bytes = sum(frame.estimated_size() for frame in self._waiting)
            if n_rows >= _ROWS_OF_FILE or n_bytes >= _BYTES_OF_FILE:
                self._write()

    def files(self) -> list[Path]:
        self._write()
        return self._files

    def _write(self) -> None:
        if self._waiting:
            self._files.append(self._scratch / f"{self._name}-{len(self._files)}.parquet")
            buffer = BytesIO()
            pl.concat(self._waiting).write_parquet(buffer, compression="lz4")
            # Written here, so that a full disk is the system's error and not one of polars.
            self._files[-1].write_bytes(buffer.getbuffer())
            self._waiting = []
