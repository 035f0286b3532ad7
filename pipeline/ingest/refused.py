"""What is in quarantine, with its bytes: those of a bounded number of rows at a time.

All else that is known of each document is in memory, about a kilobyte: its rows can be anywhere.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl
import pyarrow.parquet as pq

from pipeline.game import Fault
from pipeline.lake import StoredLake
from pipeline.stores import open_file

# A row has no more than 64 KiB of bytes.
_BATCH_ROWS = 256

# What distinguishes a document from others.
Key = tuple[str, str, str | None]


class Refused(NamedTuple):
    """A document with something in quarantine; `raw` can be cut, or null if it was not read.

    `game_id` is null where all of it was refused, and not only parts.
    """

    key: Key
    game_id: str | None
    n_bytes: int | None
    raw: bytes | None
    faults: tuple[Fault, ...]

    @property
    def is_whole(self) -> bool:
        return self.raw is not None and len(self.raw) == self.n_bytes


def refused(lake: StoredLake) -> Iterator[Refused]:
    """Every document with something in quarantine, once."""
    faults = _faults(lake)
    seen = set()
    for rows in _batches(lake):
        for source, path, sha256, game_id, n_bytes, raw in rows.iter_rows():
            key = (source, path, sha256)
            if key not in seen:
                seen.add(key)
                yield Refused(key, game_id, n_bytes, raw, faults[key])


def _faults(lake: StoredLake) -> dict[Key, tuple[Fault, ...]]:
    rows = lake.table("quarantine").select(*_KEY, "json_path", "rule", "message").collect()
    found: dict[Key, tuple[Fault, ...]] = {}
    for source, path, sha256, *fault in rows.iter_rows():
        key = (source, path, sha256)
        found[key] = (*found.get(key, ()), Fault(*fault))
    return found


_KEY = ("source", "path", "sha256")


def _batches(lake: StoredLake) -> Iterator[pl.DataFrame]:
    for file in lake.files("quarantine"):
        with open_file(file) as opened:
            parquet = pq.ParquetFile(opened)
            for batch in parquet.iter_batches(
                _BATCH_ROWS, columns=[*_KEY, "game_id", "n_bytes", "raw"]
            ):
                yield pl.DataFrame(batch).select(*_KEY, "game_id", "n_bytes", "raw")
