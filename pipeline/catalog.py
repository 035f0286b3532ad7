"""`magic.duckdb`: a lake as other SQL tools see it, with comments on all that is in it.

It is a convenience, and never the truth: no part of this package reads it. Values with intervals
come from Python, so they are tables in it; all else is views over the lake's files.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from uuid import uuid4

import polars as pl

from pipeline.errors import DAMAGE_HINT, LakeError, may_be_read_error, one_line_message, read_error
from pipeline.lake import StoredLake, open_lake
from pipeline.lake.tables import CATALOG_FILE_NAME, DRAFT_SUFFIX, delete_old_drafts
from pipeline.metrics.registry import lake_method
from pipeline.reports.sql_views import all_views
from pipeline.stores import Location, parse_location
from pipeline.version import __version__
from pipeline.warehouse.database import write_database
from pipeline.warehouse.statements import ComputedView

# Metrics and leaderboard of so many games take a few seconds in all editions, and less memory than
# the ingest before.
MOST_GAMES = 250_000
RENEW = "run `magic catalog` on this lake to renew it"

_COLUMNS_OF_ABOUT = {
    "lake": "the lake: its path or URL when this database was made",
    "ingest_id": "the last ingest that is in it, 0 before the first",
    "ingested_at": "when that was committed, in UTC",
    "made_at": "when this database was made, in UTC",
    "tool_version": "the version of magic-pipeline that made it",
}


def rebuild_catalog(path: str | Path) -> StoredLake:
    """Writes the catalogue of the lake's newest state into its folder; gives that state."""
    while True:
        lake = open_lake(path)
        _write(lake, lake.path, CATALOG_FILE_NAME)
        # An ingest that ended meanwhile may have written its own before this older one.
        if open_lake(path).ingest_id == lake.ingest_id:
            return lake


def rebuild_catalog_after_ingest(path: str | Path) -> str | None:
    """Renews the catalogue; gives what to say if it could not, or if that would take long."""
    try:
        n_games = sum(open_lake(path).row_counts_by_file("games").values())
        if n_games > MOST_GAMES:
            return (
                f"{CATALOG_FILE_NAME} was not renewed, to save time with {n_games:,} games: {RENEW}"
            )
        rebuild_catalog(path)
    except Exception as error:  # whatever it is, the ingest is done
        reason = one_line_message(read_error(error) if may_be_read_error(error) else error)
        hint = "" if DAMAGE_HINT in reason else f"; {RENEW}"
        return f"{CATALOG_FILE_NAME} could not be renewed: {reason}{hint}"
    return None


@lake_method
def write_catalog(lake: StoredLake, file: str | Path) -> None:
    """Writes the catalogue of this state to a file, which is replaced if it exists."""
    path = Path(file).resolve()  # a link stays one
    if (path.exists() and not path.is_file()) or not path.parent.is_dir():
        raise LakeError(f"{file}: choose a file in a folder that exists")
    if "?" in str(path):  # DuckDB would write its log to another folder
        raise LakeError(f"{file}: a catalogue's path must not contain ?; choose another path")
    _write(lake, parse_location(path.parent), path.name)


def _write(lake: StoredLake, folder: Location, name: str) -> None:
    """Puts the catalogue in the folder, complete or not at all."""
    delete_old_drafts(folder, name)
    draft = folder.create_draft(f".{name}.{uuid4()}{DRAFT_SUFFIX}")
    try:
        draft.path.touch()  # the system says in its own words why it cannot be written
        draft.path.unlink()  # DuckDB takes no empty file
        write_database(draft.path, lake, {**all_views(), "about": _ABOUT})
        if folder.is_local:
            # It belongs to a database that is about to be replaced, and would be read with ours.
            (folder / f"{name}.wal").delete_file(missing_ok=True)
        draft.finish(name)
    finally:
        for file in (draft.path, draft.path.with_name(f"{draft.path.name}.wal")):
            file.unlink(missing_ok=True)


def _about(lake: StoredLake) -> pl.DataFrame:
    last = lake.last_ingest
    ingested_at = cast(datetime, last["finished_at"]) if last else None
    row = {
        "lake": str(lake.path),
        "ingest_id": lake.ingest_id,
        # Without a time zone: to show one, DuckDB's client for Python needs another package.
        "ingested_at": ingested_at.replace(tzinfo=None) if ingested_at else None,
        "made_at": datetime.now(UTC).replace(tzinfo=None),
        "tool_version": __version__,
    }
    return pl.DataFrame([row], schema=_SCHEMA)


_SCHEMA = pl.Schema(
    {
        "lake": pl.String(),
        "ingest_id": pl.Int64(),
        "ingested_at": pl.Datetime("us"),
        "made_at": pl.Datetime("us"),
        "tool_version": pl.String(),
    }
)
_ABOUT = ComputedView(
    _about, _SCHEMA, "the state of the lake that this database shows", _COLUMNS_OF_ABOUT
)
