"""What became of each document: what was not read, and why."""

from collections.abc import Iterable
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.cells import spelt
from pipeline.pages.address import AFTER, Field, address, given, sorting, text, word
from pipeline.pages.content import Content, listing, sort_of
from pipeline.reports.documents import COLUMNS, KEY, ORDER_OF_FAULTS, STATUSES

LANE = "quick"
RAW_SHOWN = 600
_CONDITIONS = ("status", "source", "reason", "path")
Parameters = address(
    *sorting(),
    AFTER,
    word("status", "Status", lambda *_: STATUSES, nothing="any"),
    Field("source"),
    Field("reason"),
    text("path", "File contains", "path"),
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The counts, or a page of the documents that meet all conditions, sorted by place.

    The counts are shown where nothing is asked for. `refused` are the rows of the quarantine that
    are about the documents shown, with the beginning of the `raw` bytes as text.
    """
    parts = {"is_counted": True, "refused": pl.DataFrame()}
    if not _is_narrowed(asked):
        return Content(title="Documents", rows=lake.document_counts(), parts=parts)
    fields = {name: given(asked, name) for name in _CONDITIONS} | {"sort": sort_of(asked)}
    shown = listing(asked, COLUMNS, KEY, lake.documents, fields, title="Documents")
    return replace(shown, parts={"is_counted": False, "refused": _refused(lake, shown.rows)})


def whole(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All documents that meet the conditions, whatever the page; without any, the counts."""
    if not _is_narrowed(asked):
        return [lake.document_counts()]
    return [lake.documents(**given(asked, *_CONDITIONS), **sort_of(asked))]


def _is_narrowed(asked: Any) -> bool:
    return any(getattr(asked, name) for name in (*_CONDITIONS, "sort", "after"))


def _refused(lake: AnsweringLake, documents: pl.DataFrame) -> pl.DataFrame:
    """What is refused of these documents, in order."""
    location = pl.concat_str("source", pl.lit("/"), "path")
    places = documents.select(location)["source"].implode()
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    rows = (
        lake.table("quarantine")
        .filter(location.is_in(places))
        .select(*ORDER_OF_FAULTS, raw=raw, location=location)
        .sort(ORDER_OF_FAULTS, nulls_last=True)
        .collect()
    )
    texts = [None if one is None else spelt(one) for one in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))
