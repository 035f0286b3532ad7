"""Games known by their ids alone: 16 bytes each, where a set of texts would take 120."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.events import arrow

_ID = np.dtype("S16")
"""An id as bytes, which NumPy compares and sorts as such."""


class GameIds:
    """A set of ids that grows, or one in a file, which several processes share."""

    def __init__(self, *runs: NDArray[np.bytes_]) -> None:
        self._runs = list(runs)

    @classmethod
    def save(cls, batches: Iterable[pa.Table], file: Path) -> None:
        """Writes the file from batches of one column: ids in order, as text."""
        with file.open("wb") as opened:
            for batch in batches:
                opened.write(_run(batch.column(0).to_pylist()).tobytes())

    @classmethod
    def load(cls, file: str | Path) -> Self:
        """The ids in such a file, at least one, which has to stay as long as they are used."""
        return cls(np.memmap(file, _ID, mode="r"))

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def has(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each of the ids is there. Only what is asked for is read of a file."""
        wanted, found = _run(ids), np.zeros(len(ids), np.bool_)
        for run in self._runs:
            found |= run[np.searchsorted(run, wanted).clip(max=len(run) - 1)] == wanted
        return found

    def has_each(self, column: pa.ChunkedArray) -> NDArray[np.bool_]:
        """The same of a column of ids, kept as a dictionary and the number of each row's id."""
        parts = [np.zeros(0, np.bool_)]
        for chunk in column.chunks:
            # By polars, since Arrow would import pandas, where it is there.
            numbers = arrow.series("id", chunk.indices).to_numpy()
            parts.append(self.has(chunk.dictionary.to_pylist())[numbers])
        return np.concatenate(parts)

    def add(self, ids: Sequence[str]) -> None:
        """Takes in ids that are not there."""
        new = np.sort(_run(ids))
        # Each id is merged with others but a few times, however many come.
        while self._runs and len(self._runs[-1]) < 2 * len(new):
            new = np.sort(np.concatenate([self._runs.pop(), new]))
        self._runs += [new] if len(new) else []


def _run(ids: Sequence[str]) -> NDArray[np.bytes_]:
    return np.frombuffer(bytes.fromhex("".join(ids)), _ID)
