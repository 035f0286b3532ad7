"""What became of each document: read, the same as another, no log, or refused; and why."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.lake import StoredLake
from pipeline.metrics.paging import page_of
from pipeline.metrics.request import check_words, chosen
from pipeline.vocabulary import DocumentStatus

# Rows alike in all of these are alike in every column; the bytes are those of their hash.
ORDER_OF_FAULTS = (
    *("source", "path", "json_path", "rule", "message"),
    *("ingest_id", "sha256", "game_id", "n_bytes"),
)
BRIEF = ("path", "json_path", "rule", "message")
# What was not read comes first.
_UNREAD = (DocumentStatus.QUARANTINED, DocumentStatus.IGNORED, DocumentStatus.DUPLICATE)
STATUSES = tuple(map(str, dict.fromkeys([*_UNREAD, *DocumentStatus])))
KEY = ("source", "path", "sha256", "status")
COLUMNS: Mapping[str, column.Column] = {
    "source": column.text("the folder or archive that it is in"),
    "path": column.text("its path within the source"),
    "status": column.word(
        STATUSES, f"what the ingest did with it that found it so: {', '.join(STATUSES)}"
    ),
    "reason": column.text(
        "why it was not used; of a game with faulty parts, the rule that the first breaks",
        nullable=True,
    ),
    "detail": column.text(
        "what it has instead; of a duplicate, the document that holds the same game", nullable=True
    ),
    "n_faulty_parts": column.count(
        "parts of its game that could not be used: `lake.quarantine()` has them"
    ).shown("faulty parts"),
    "format": column.text("the log format, null if it is not a log", nullable=True),
    "game_id": column.identifier("the game that it holds", nullable=True),
    "n_bytes": column.Column(
        pl.Int64(), "its size in bytes, null if it was not read", nullable=True, unit="bytes"
    ).shown("size"),
    "ingest_id": column.count("the ingest that found it so", low=1).shown("ingest"),
}
COUNT_COLUMNS: Mapping[str, column.Column] = {
    "source": COLUMNS["source"],
    "status": COLUMNS["status"],
    "reason": COLUMNS["reason"],
    "n_documents": column.count("documents of this status and reason").shown("documents"),
    "example": column.text("the path of the first of them"),
}
REPEATS = "the same game as "
REPEATED = f"{REPEATS}another document"
BREAKS = "broken rule: "
# Where a document is, as 128 bits: the texts of millions would take gigabytes.
_LOCATION = {
    name: pl.concat_str("source", pl.lit("/"), "path").hash(seed)
    for seed, name in enumerate(("location", "location_too"))
}


@column.listed(COLUMNS)
def documents(
    lake: StoredLake,
    *,
    status: str | Sequence[str] | None = None,
    source: str | Sequence[str] | None = None,
    reason: str | Sequence[str] | None = None,
    path: str | None = None,
    sort: str | None = None,
    descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> pl.DataFrame:
    """A row for each document that meets all conditions, sorted by place, at most `limit`.

    A document is as it was last seen to be. `path` is a part of its path. Rows are
    sorted by the column `sort` first, nulls last; the first `offset` are left out.

    Raises UsageError for an unknown status, and for a column that rows cannot be sorted by.

    >>> lake.documents(status="ignored").select("path", "format").rows()[0]
    ('prisoner/setting/0.json', None)
    """
    rows = _asked(lake, {"status": status, "source": source, "reason": reason})
    if path is not None:
        rows = rows.filter(pl.col("path").str.contains(path, literal=True))
    page = page_of(rows, COLUMNS, KEY, offset=offset, limit=limit, sort=sort, descending=descending)
    return page.select(*COLUMNS).collect(engine="streaming")


@column.listed(COUNT_COLUMNS)
def document_counts(lake: StoredLake, *, source: str | Sequence[str] | None = None) -> pl.DataFrame:
    """A row for each source, status and reason, with its number of documents.

    The documents, their status and their reason are those of `documents`.

    >>> lake.document_counts().filter(status="ingested")["n_documents"].item()
    112
    """
    counts = (
        _asked(lake, {"source": source})
        .group_by("source", "status", "reason")
        .agg(n_documents=pl.len().cast(pl.Int64), example=pl.col("path").min())
        .collect(engine="streaming")
    )
    place = pl.col("status").replace_strict({name: at for at, name in enumerate(STATUSES)})
    order = ["source", place, -pl.col("n_documents"), "reason"]
    return counts.sort(order, nulls_last=True).select(*COUNT_COLUMNS)


def quarantine(lake: StoredLake, *, raw: bool = False) -> pl.DataFrame:
    """A row for each document, or part of a game, that an ingest could not use, sorted by place.

    Columns:

    - `source`, `path`: the source that was ingested, and the document's path in it.
    - `json_path`: the part of the document; `$` is the whole.
    - `rule`, `message`: the rule that it breaks, and how.

    If `raw`, all columns of the table `quarantine`: also the document's id, size and bytes
    (`lake.schema("quarantine")` lists them). All raw documents together can be larger than the
    memory. To read them again, run `magic ingest` on their source again.

    >>> lake.quarantine().columns
    ['source', 'path', 'json_path', 'rule', 'message']
    """
    rows = lake.table("quarantine").sort(ORDER_OF_FAULTS, nulls_last=True)
    return (rows if raw else rows.select("source", *BRIEF)).collect()


def _asked(lake: StoredLake, asked: Mapping[str, str | Sequence[str] | None]) -> pl.LazyFrame:
    """The documents that have one of the values in each column; a column without values has any."""
    check_words("status", asked.get("status"), STATUSES)
    return _seen(lake).filter(chosen(**asked))


def _seen(lake: StoredLake) -> pl.LazyFrame:
    """Each document as it was last seen to be, with what is refused of it now."""
    seen = lake.table("documents").with_columns(**_LOCATION)
    if lake.ingest_id > 1:
        last = seen.group_by(*_LOCATION).agg(pl.col("ingest_id").max())
        seen = seen.join(last, on=[*_LOCATION, "ingest_id"], how="semi")
    is_copy = pl.col("status") == str(DocumentStatus.DUPLICATE)
    broken = pl.concat_str(pl.lit(BREAKS), "rule")
    original = pl.col("reason").str.strip_prefix(REPEATS)
    rows = seen.join(_faults(lake), on=[*_LOCATION, "sha256"], how="left", nulls_equal=True)
    # What could not be opened, and could be later, is a document no more: what is in it is.
    is_refused = pl.col("status") == str(DocumentStatus.QUARANTINED)
    is_opened = is_refused & pl.all_horizontal(pl.col("sha256", "rule").is_null())
    return rows.filter(~is_opened).with_columns(
        detail=pl.when(is_copy).then(original).otherwise("message"),
        reason=pl.when(is_copy).then(pl.lit(REPEATED)).otherwise(pl.coalesce(broken, "reason")),
        n_faulty_parts=pl.col("n_faulty_parts").fill_null(0),
    )


def _faults(lake: StoredLake) -> pl.LazyFrame:
    """The first fault of each document that has any, and how many parts of games have one."""
    # Not of all columns: of each refused document there are up to 64 KiB.
    return (
        lake.table("quarantine")
        .select(*ORDER_OF_FAULTS)
        .sort(ORDER_OF_FAULTS, nulls_last=True)
        .with_columns(**_LOCATION)
        .group_by(*_LOCATION, "sha256", maintain_order=True)
        .agg(
            pl.col("rule", "message").first(),
            n_faulty_parts=pl.col("game_id").count().cast(pl.Int64),
        )
    )
