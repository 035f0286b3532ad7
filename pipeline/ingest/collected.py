"""What the workers of an ingest found, collected until all is known.

In memory is only what decides what each document is; the bytes of faulty ones wait on disk.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pipeline.ingest.decode import fault_frame, seen_frame
from pipeline.ingest.worker import Found


class Collected:
    """Grows by what is found; `scratch` is a folder for what need not be in memory.

    `n_documents` is the number of documents that the workers read.
    """

    def __init__(self, scratch: Path) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self._seen = [seen_frame([])]
        self._faults = [fault_frame([]).drop("raw")]

    def add(self, found: Found) -> None:
        """Takes in what a worker told."""
        self.n_documents += found.n_documents
        if found.seen is not None:
            self._seen.append(pl.read_ipc_stream(found.seen))
        if found.faults is not None:
            # The first frame has no bytes and no file.
            self._file(len(self._faults)).write_bytes(found.faults)
            self._faults.append(pl.read_ipc_stream(found.faults).drop("raw"))

    def seen(self) -> pl.DataFrame:
        """All documents seen, in any order."""
        return pl.concat(self._seen)

    def faults(self) -> pl.DataFrame:
        """All faults, without the bytes."""
        return pl.concat(self._faults)

    def whole_faults(self, chosen: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The faults, bytes and all, of those documents that the chosen faults are of."""
        key = ["source", "path", "sha256"]
        for number in range(1, len(self._faults)):
            faults = pl.read_ipc_stream(self._file(number))
            yield faults.join(chosen, on=key, how="semi", nulls_equal=True)

    def _file(self, number: int) -> Path:
        return self._scratch / f"faults-{number}.arrows"
