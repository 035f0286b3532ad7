"""What the workers of an ingest found, kept on disk until all is known."""

from collections import defaultdict
from io import BytesIO
from pathlib import Path

import polars as pl

from pipeline.ingest.worker import Findings

_BYTES_OF_FILE = 2**24


class Collected:
    """Collects findings in the folder `scratch`: workers need the memory until they end.

    `n_documents` is the number of documents that the workers read.
    """

    def __init__(self, scratch: Path) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self._files: dict[str, list[Path]] = defaultdict(list)
        self._waiting: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add(self, findings: Findings) -> None:
        """Takes in what a worker found; frames wait until there are enough for a file."""
        self.n_documents += findings.n_documents
        for name, rows in findings.rows.items():
            if isinstance(rows, Path):
                self._files[name].append(rows)
                continue
            waiting = self._waiting[name]
            waiting.append(pl.read_ipc_stream(rows))
            if sum(frame.estimated_size() for frame in waiting) >= _BYTES_OF_FILE:
                self._write(name)

    def files(self, name: str) -> list[Path]:
        """The Parquet files of all that was `seen`, or of all `faults`, in any order."""
        if self._waiting[name]:
            self._write(name)
        return self._files[name]

    def _write(self, name: str) -> None:
        file = self._scratch / f"{name}-{len(self._files[name])}.parquet"
        buffer = BytesIO()
        pl.concat(self._waiting.pop(name)).write_parquet(buffer, compression="lz4")
        # Written here, so that a full disk is the system's error and not one of polars.
        file.write_bytes(buffer.getbuffer())
        self._files[name].append(file)
