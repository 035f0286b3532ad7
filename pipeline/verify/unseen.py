"""Ingests that other tables have, and the table `ingests` has not: no number counts their games."""

from datetime import UTC, datetime

import polars as pl

from pipeline.cells import counted
from pipeline.errors import LakeError
from pipeline.lake import StoredLake
from pipeline.lake.tables import OpenTable, scan
from pipeline.verify.finding import ERROR, Finding

UNSEEN = "ingest_unseen"
FINDS = "an ingest that is not in the numbers: the table `ingests` does not have it"
_TO_DO = (
    "unless it is still running, it was interrupted, or the table `ingests` lost its last commit: "
    "run the same `magic ingest` again"
)


def unseen(lake: StoredLake) -> Finding | None:
    """What the newest version of `documents` has of ingests after the lake's last.

    An ingest that was killed in its commit leaves the same as a lost commit of `ingests`.
    """
    folder = lake.folder("documents")
    try:
        logged = OpenTable(folder).logged("modification_time")
        new = logged.keys() - lake.sizes("documents").keys()
        rows = _ingests(lake, [str(folder / name) for name in new]) if new else []
    except (LakeError, OSError, pl.exceptions.PolarsError):
        return None  # what cannot be read is found by other checks
    if not rows:
        return None
    ended = datetime.fromtimestamp(max(logged[name] for name in new) / 1000, UTC)
    n_games = int(pl.DataFrame(rows)["n_games"].sum())
    one = len(rows) == 1
    what = f"{'an ingest of' if one else f'{len(rows):,} ingests up to'} {ended:%Y-%m-%d %H:%M} UTC"
    verb = "is" if one else "are"
    finds = f"{what} with {counted(n_games, 'game')} {verb} not in the numbers; {_TO_DO}"
    return Finding(UNSEEN, ERROR, finds, "ingests", len(rows), rows)


def _ingests(lake: StoredLake, files: list[str]) -> list[dict[str, object]]:
    """The ingests after the lake's last that these files of `documents` have rows of."""
    later = scan("documents", files).filter(pl.col("ingest_id") > lake.ingest_id)
    is_game = pl.col("status").is_in(["ingested", "replacing"])
    counts = later.group_by("ingest_id").agg(pl.len().alias("n_documents"), n_games=is_game.sum())
    return counts.sort("ingest_id").collect().to_dicts()
