"""Archives of logs that other systems wrote: their documents, and what the metrics make of them."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.archives import iter_documents
from pipeline.ingest import IngestSummary, ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics

Key = tuple[str | None, ...]


class Archive(NamedTuple):
    """The JSON documents of an archive by path, and a lake that it was ingested into."""

    raw: dict[str, Any]
    report: IngestSummary
    lake: StoredLake


def ingested(archive: Path, folder: Path) -> Archive:
    raw = {
        document.path: json.loads(document.data)
        for document in iter_documents(archive)
        if document.data is not None and document.path.endswith(".json")
    }
    report = ingest(archive, folder / "lake", jobs=1)
    return Archive(raw, report, open_lake(folder / "lake"))


def statuses(archive: Archive) -> dict[str, int]:
    return {status: n for status, n in archive.report.statuses.items() if n}


def rows(archive: Archive, table: str) -> list[dict[str, Any]]:
    """The rows of a table, those of events with the path of their game; not to be changed."""
    return _rows(archive.lake, table)


@cache
def _rows(lake: StoredLake, table: str) -> list[dict[str, Any]]:
    found = lake.table(table)
    if table not in ("games", "documents", "quarantine"):
        games = lake.table("games").select("game_id", "path")
        found = found.join(games, on="game_id", maintain_order="left")
    return found.collect().to_dicts()


def values(archive: Archive, metric: str, by: Sequence[str], engine: str) -> dict[Key, float]:
    """The values of a metric by group, those left out that are undefined."""
    found = metrics(archive.lake, engine=engine, metric=[metric], by=by, confidence=None)
    found = found.filter(pl.col("value").is_not_null())
    return {tuple(key): value for *key, value in found.select(*by, "value").iter_rows()}


def shares(hits: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """The mean of the hits of each key, in plain Python."""
    of_key: dict[Key, list[float]] = {}
    for key, hit in hits:
        of_key.setdefault(key, []).append(hit)
    return {key: sum(all_of_it) / len(all_of_it) for key, all_of_it in of_key.items()}
