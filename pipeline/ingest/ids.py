"""Games known by their ids alone: 16 bytes each, where a set of texts would take 120."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.events import arrow

# An id is two numbers. A row of each, in the order of the first.
_Run = NDArray[np.uint64]


class GameIds:
    """A set of ids that grows, or one in a file, which several processes share.

    It is a few runs in order, each at least twice as long as the next.
    """

    def __init__(self, *runs: _Run) -> None:
        self._runs = list(runs)

    @classmethod
    def save(cls, n_ids: int, batches: Iterable[pa.Table], file: Path) -> None:
        """Writes the file from batches of one column: ids in order, as text, at least one."""
        start = 0
        with file.open("wb") as opened:
            for batch in batches:
                for number, numbers in enumerate(_run(batch.column(0).to_pylist())):
                    opened.seek((number * n_ids + start) * numbers.itemsize)
                    opened.write(numbers.tobytes())
                start += batch.num_rows

    @classmethod
    def load(cls, file: str | Path) -> Self:
        """The ids in such a file, which has to stay as long as they are used."""
        return cls(np.memmap(file, np.uint64, mode="r").reshape(2, -1))

    def __len__(self) -> int:
        return sum(run.shape[1] for run in self._runs)

    def has(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each of the ids is there. Only what is asked for is read of a file."""
        wanted = _run(ids)
        found = np.zeros(len(ids), np.bool_)
        for first, second in self._runs:
            index = np.searchsorted(first, wanted[0])
            # Hardly ever more than once: ids that differ in their second number alone.
            while (is_near := _are(first, index, wanted[0])).any():
                found |= is_near & _are(second, index, wanted[1])
                index = np.where(is_near, index + 1, len(first))
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
        if not ids:
            return
        new = _sorted(_run(ids))
        # Each id is merged with others but a few times, however many come.
        while self._runs and self._runs[-1].shape[1] < 2 * new.shape[1]:
            new = _sorted(np.concatenate([self._runs.pop(), new], axis=1))
        self._runs.append(new)


def _run(ids: Sequence[str]) -> _Run:
    numbers = np.frombuffer(bytes.fromhex("".join(ids)), ">u8")
    return numbers.reshape(-1, 2).T.astype(np.uint64)


def _sorted(run: _Run) -> _Run:
    return run[:, np.argsort(run[0], kind="stable")]


def _are(
    numbers: NDArray[np.uint64], indices: NDArray[np.intp], wanted: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Whether the numbers at the places are those wanted; there is none past the end."""
    is_there = indices < len(numbers)
    found: NDArray[np.bool_] = numbers[np.where(is_there, indices, 0)] == wanted
    return is_there & found
