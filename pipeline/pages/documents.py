"""What became of each document: what was not read, and why."""

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.cells import spelt
from pipeline.column import schema
from pipeline.metrics.paging import order_by
from pipeline.pages.content import ROWS, Content, Faults, Sorted, key, paged
from pipeline.reports.documents import COLUMNS, KEY, STATUSES
from pipeline.reports.quarantine import ORDER

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
    faults, after, is_counted = Faults(), None, not _is_narrowed(asked)
    rows = pl.DataFrame(schema=schema(COLUMNS))
    with faults.of("status"):
        after = key(asked.after)
        rows = lake.document_counts() if is_counted else _documents(lake, asked, after, ROWS + 1)
    shown, next_key = rows, None
    if not is_counted:
        shown, next_key = paged(rows, order_by(asked.sort, KEY), after)
    return DocumentsContent(
        title="Documents",
        rows=shown,
        statuses=STATUSES,
        is_counted=is_counted,
        refused=_refused(lake, shown) if not is_counted else pl.DataFrame(),
        after=next_key,
        faults=faults,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All documents that meet the conditions, whatever the page; without any, the counts."""
    if not _is_narrowed(asked):
        return [lake.document_counts()]
    return [_documents(lake, asked, None, None)]


def _is_narrowed(asked: Parameters) -> bool:
    return any((asked.status, asked.source, asked.reason, asked.path, asked.sort, asked.after))


def _documents(
    lake: AnsweringLake, asked: Parameters, after: Sequence[object] | None, limit: int | None
) -> pl.DataFrame:
    return lake.documents(
        status=asked.status or None,
        source=asked.source or None,
        reason=asked.reason or None,
        path=asked.path or None,
        sort=asked.sort or None,
        descending=asked.order == "down",
        after=after,
        limit=limit,
    )


def _refused(lake: AnsweringLake, documents: pl.DataFrame) -> pl.DataFrame:
    """What is refused of these documents, in order."""
    location = pl.concat_str("source", pl.lit("/"), "path")
    places = documents.select(location)["source"].implode()
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    rows = (
        lake.table("quarantine")
        .filter(location.is_in(places))
        .select(*ORDER, raw=raw, location=location)
        .sort(ORDER, nulls_last=True)
        .collect()
    )
    texts = [None if one is None else spelt(one) for one in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))
