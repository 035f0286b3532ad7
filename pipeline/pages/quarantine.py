"""What could not be used, and why."""

import json
from collections.abc import Iterable

import polars as pl

from pipeline.api import Lake
from pipeline.cells import spelt
from pipeline.pages.content import ROWS, Address, Content
from pipeline.pages.evidence import key
from pipeline.reports.quarantine import KEY

LANE = "quick"
RAW_SHOWN = 600


class Parameters(Address, frozen=True, kw_only=True):
    rule: str = ""
    after: str = ""


class Quarantine(Content, frozen=True, kw_only=True):
    """`rows` are those of the table, with the beginning of the `raw` bytes as text."""

    after: str | None


def content(lake: Lake, asked: Parameters) -> Quarantine:
    """A page of the rows, sorted by the place of the document."""
    rows = _asked(lake, asked)
    if last := key(asked.after):
        source, path, json_path = (str(one) for one in [*last, "", "", ""][:3])
        same = pl.col("source") == source
        later = (pl.col("path") > path) | (
            (pl.col("path") == path) & (pl.col("json_path") > json_path)
        )
        rows = rows.filter((pl.col("source") > source) | (same & later))
    found = rows.sort(KEY).head(ROWS + 1).collect()
    shown = found.head(ROWS)
    is_more = found.height > ROWS
    return Quarantine(
        title="Quarantine",
        rows=shown.with_columns(raw=_beginning(shown["raw"])),
        after=json.dumps(shown.select(KEY).row(-1)) if is_more else None,
    )


def whole(lake: Lake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All rows, whatever the page."""
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    rows = _asked(lake, asked).sort(KEY).with_columns(raw).collect()
    return [rows.with_columns(raw=_beginning(rows["raw"]))]


def _asked(lake: Lake, asked: Parameters) -> pl.LazyFrame:
    rows = lake.table("quarantine")
    return rows.filter(rule=asked.rule) if asked.rule else rows


def _beginning(raw: pl.Series) -> pl.Series:
    texts = [None if one is None else spelt(one[:RAW_SHOWN]) for one in raw]
    return pl.Series("raw", texts, pl.String)
