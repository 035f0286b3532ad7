"""What an export wrote, and what several kinds of exports do likewise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct, json

from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.lake.stream import are_long, with_texts

GROUP_ROWS = 100_000
GROUP_BYTES = 2**25


class Exported(Struct, frozen=True):
    """What an export wrote: its file or folder, and how many rows, or values and samples.

    `notes` say what was left out. `pseudonyms` has the name that each model got, where any did.
    """

    path: Path
    n_rows: int
    notes: tuple[str, ...] = ()
    pseudonyms: Mapping[str, str] = {}

    @property
    def n_bytes(self) -> int:
        """The bytes of all its files."""
        files = (self.path, *self.path.rglob("*"))
        return sum(file.stat().st_size for file in files if file.is_file())


def instant(lake: StoredLake, date: str | None) -> datetime:
    """The instant that files have, in UTC: the one given, or else that of the last ingest.

    Raises UsageError for a text that is no date.
    """
    last = (lake.last_ingest or {}).get("finished_at", "1970-01-01")
    try:
        at = datetime.fromisoformat(date or str(last))
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{date!r} is no date: write one such as 2026-11-27") from None


def write_json(file: Path, value: Any) -> None:
    """Writes a value as JSON for people."""
    file.write_bytes(json.format(json.encode(value), indent=1) + b"\n")


def content(lake: StoredLake) -> str:
    """The texts of `messages` in a SELECT for `sorted_parts`: of long ones, their lengths."""
    return "strlen(messages.content)" if are_long(lake) else "messages.content"


def sorted_parts(
    lake: StoredLake, select: str, *, has_content: bool = False
) -> Iterator[pl.DataFrame]:
    """The rows of a SELECT of our own, some at a time; at least one part.

    What memory cannot sort goes to the disk. `has_content` says that they have texts of messages.
    """
    # Imported here, so that what is exported without DuckDB does not wait for it.
    from pipeline.warehouse import bounded, parts

    with bounded(lake, {}, select, sorts_texts=True) as connection:
        rows = parts(connection, select)
        yield from with_texts(lake, rows) if has_content else rows


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
    held: list[pl.DataFrame] = []
    is_last = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).last()) for key in keys)
    for rows in parts:
        together = pl.concat([*held, rows])
        yield together.filter(~is_last)
        held = [together.filter(is_last)]
    yield from held
