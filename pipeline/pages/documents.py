"""What became of each document: what was not read, and why."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.cells import spelt
from pipeline.pages.content import Content, Sorted, choices, listing
from pipeline.reports.documents import COLUMNS, KEY, ORDER_OF_FAULTS, STATUSES

LANE = "quick"
RAW_SHOWN = 600


class Parameters(Sorted, frozen=True, kw_only=True):
    status: str = ""
    source: str = ""
    reason: str = ""
    path: str = ""


class DocumentsContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `documents`, a page of them, or those of `document_counts`.

    The counts are shown where nothing is asked for. `refused` are the rows of the quarantine that
    are about the documents shown, with the beginning of the `raw` bytes as text.
    """

    statuses: tuple[str, ...]
    is_counted: bool
    refused: pl.DataFrame
    after: str | None


def content(lake: AnsweringLake, asked: Parameters) -> DocumentsContent:
    """The counts, or a page of the documents that meet all conditions, sorted by place."""
    is_counted = not _is_narrowed(asked)
    if is_counted:
        listed: dict[str, Any] = {"rows": lake.document_counts(), "after": None}
    else:
        listed = listing(asked, "status", COLUMNS, KEY, partial(_documents, lake, asked))
    return DocumentsContent(
        title="Documents",
        statuses=STATUSES,
        is_counted=is_counted,
        refused=pl.DataFrame() if is_counted else _refused(lake, listed["rows"]),
        **listed,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All documents that meet the conditions, whatever the page; without any, the counts."""
    if not _is_narrowed(asked):
        return [lake.document_counts()]
    return [_documents(lake, asked)]


def _is_narrowed(asked: Parameters) -> bool:
    return any((asked.status, asked.source, asked.reason, asked.path, asked.sort, asked.after))


def _documents(
    lake: AnsweringLake,
    asked: Parameters,
    after: Sequence[object] | None = None,
    limit: int | None = None,
) -> pl.DataFrame:
    wanted = choices(asked, "status", "source", "reason", "path")
    return lake.documents(**wanted, after=after, limit=limit)


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
