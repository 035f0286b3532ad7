"""What an export wrote, and what all kinds of exports write likewise."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError
from pipeline.lake import StoredLake

GROUP_ROWS = 100_000
GROUP_BYTES = 2**25


class Exported(Struct, frozen=True):
    """What an export wrote.

    `n_rows` counts the rows of its tables, or its values and what they count; `notes` say what was
    left out. `pseudonyms` has the name that each model got instead of its own, where any did.
    """

    path: Path
    n_rows: int
    notes: tuple[str, ...] = ()
    pseudonyms: Mapping[str, str] = {}

    @property
    def n_bytes(self) -> int:
        """The bytes of all its files."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files if file.is_file())


def instant(lake: StoredLake, date: str | None) -> datetime:
    """The instant that files have, in UTC: the one given, or else that of the last ingest.

    Raises UsageError for a text that is no date.
    """
    if date is None:
        last = (lake.last_ingest or {}).get("finished_at")
        return last if isinstance(last, datetime) else datetime.fromtimestamp(0, UTC)
    try:
        at = datetime.fromisoformat(date)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{date!r} is no date: write one such as 2026-11-27") from None


def write_json(file: Path, value: Any) -> None:
    """Writes a value as JSON for people."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=1)
    file.write_bytes(text + b"\n")


def sorted_parts(
    lake: StoredLake, select: str, change: Callable[[pl.DataFrame], pl.DataFrame] | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of a SELECT of our own, some at a time; what memory cannot sort goes to the disk.

    The first part has no rows, but all columns.
    """
    # Imported here, so that what is exported without DuckDB does not wait for it.
    from pipeline.warehouse import bounded, parts

    with bounded(lake, {}, select, sorts_texts=True) as connection:
        for rows in parts(connection, select):
            yield rows if change is None else change(rows)


def grouped(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The rows in parts that are as large as row groups should be; the last one may be smaller."""
    held: list[pl.DataFrame] = []
    for rows in parts:
        held.append(rows)
        n_rows = sum(one.height for one in held)
        if n_rows >= GROUP_ROWS or sum(one.estimated_size() for one in held) >= GROUP_BYTES:
            yield pl.concat(held)
            held = [rows.clear()]
    yield pl.concat(held)


def whole(parts: Iterable[pl.DataFrame], keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Sorted rows in parts that have all rows of each of their keys."""
    last: pl.DataFrame | None = None
    for rows in parts:
        held = rows if last is None else pl.concat([last, rows])
        is_last = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).last()) for key in keys)
        last = held.filter(is_last)
        yield held.filter(~is_last)
    if last is not None:
        yield last
