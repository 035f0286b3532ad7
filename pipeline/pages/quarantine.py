"""What could not be used, and why."""

import json
from collections.abc import Iterable

import polars as pl

from pipeline.api import Lake
from pipeline.cells import spelt
from pipeline.metrics.paging import last_key, start_of
from pipeline.pages.content import ROWS, Address, Content
from pipeline.pages.evidence import key
from pipeline.reports.quarantine import KEY, ORDER

LANE = "quick"
RAW_SHOWN = 600


class Parameters(Address, frozen=True, kw_only=True):
    rule: str = ""
    after: str = ""


class QuarantineContent(Content, frozen=True, kw_only=True):
    """`rows` are those of the table, with the beginning of the `raw` bytes as text."""

    after: str | None


def content(lake: Lake, asked: Parameters) -> QuarantineContent:
    """A page of the rows, sorted by the place of the document."""
    rows = _asked(lake, asked)
    after = key(asked.after)
    start = start_of(after, KEY)
    if start.values is not None:
        rows = rows.filter(_is_from(*map(str, start.values)))
    found = rows.sort(ORDER, nulls_last=True).slice(start.n_shown, ROWS + 1).collect()
    shown = found.head(ROWS)
    is_more = found.height > ROWS
    return QuarantineContent(
        title="Quarantine",
        rows=shown.with_columns(raw=_beginning(shown["raw"])),
        after=json.dumps(last_key(shown, KEY, after)) if is_more else None,
    )


def whole(lake: Lake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All rows, whatever the page."""
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    rows = _asked(lake, asked).sort(ORDER, nulls_last=True).with_columns(raw).collect()
    return [rows.with_columns(raw=_beginning(rows["raw"]))]


def _asked(lake: Lake, asked: Parameters) -> pl.LazyFrame:
    rows = lake.table("quarantine")
    return rows.filter(rule=asked.rule) if asked.rule else rows


def _is_from(source: str, path: str, json_path: str) -> pl.Expr:
    """Whether a row has these values in the columns of `KEY`, or comes later."""
    is_later = pl.col("path") > path
    is_there = (pl.col("path") == path) & (pl.col("json_path") >= json_path)
    is_of_source = (pl.col("source") == source) & (is_later | is_there)
    return (pl.col("source") > source) | is_of_source


def _beginning(raw: pl.Series) -> pl.Series:
    texts = [None if one is None else spelt(one[:RAW_SHOWN]) for one in raw]
    return pl.Series("raw", texts, pl.String)
