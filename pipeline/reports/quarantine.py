"""What an ingest could not use, and why."""

import polars as pl

from pipeline.lake import StoredLake

# Rows alike in all of these are alike in every column; the bytes are those of their hash.
ORDER = (
    *("source", "path", "json_path", "rule", "message"),
    *("ingest_id", "sha256", "game_id", "n_bytes"),
)
BRIEF = ("path", "json_path", "rule", "message")


def quarantine(lake: StoredLake, *, raw: bool = False) -> pl.DataFrame:
    """A row for each document, or part of a game, that an ingest could not use, sorted by place.

    Columns:

    - `source`, `path`: the source that was ingested, and the document's path in it.
    - `json_path`: the part of the document; `$` is the whole.
    - `rule`, `message`: the rule that it breaks, and how.

    If `raw`, all columns of the table `quarantine`: also the document's id, size and bytes
    (`lake.schema("quarantine")` lists them). All raw documents together can be larger than the
    memory. To ingest them again, use `pipeline.ingest.retry.retry`.

    >>> lake.quarantine().columns
    ['source', 'path', 'json_path', 'rule', 'message']
    """
    rows = lake.table("quarantine").sort(ORDER, nulls_last=True)
    return (rows if raw else rows.select("source", *BRIEF)).collect()
