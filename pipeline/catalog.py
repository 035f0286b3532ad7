"""Write the catalogue of a lake, `magic.duckdb`: a DuckDB database for other SQL tools.

Metric values with intervals are stored as tables, because Python computes them; everything else is
a view of the lake's files. This package never reads the database.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from uuid import uuid4

import polars as pl

from pipeline.errors import (
    DAMAGE_HINT,
    LakeError,
    lake_read_error,
    may_be_lake_read_error,
    one_line_message,
)
from pipeline.lake import StoredLake, open_lake
from pipeline.lake.tables import CATALOG_FILE_NAME, DRAFT_SUFFIX, delete_abandoned_drafts
from pipeline.metrics.registry import lake_method
from pipeline.reports.sql_views import all_views
from pipeline.stores import Location, parse_location
from pipeline.version import __version__
from pipeline.warehouse.database import write_database
from pipeline.warehouse.statements import ComputedView

# Above this number of games, an ingest does not rebuild the catalogue, because the metrics of all
# editions would take more than a few seconds.
MAX_GAMES = 250_000
REBUILD_HINT = "run `magic catalog` on this lake to renew it"

_ABOUT_COLUMNS = {
    "lake": "the lake: its path or URL when this database was made",
    "ingest_id": "the last ingest that is in it, 0 before the first",
    "ingested_at": "when that was committed, in UTC",
    "made_at": "when this database was made, in UTC",
    "tool_version": "the version of magic-pipeline that made it",
}


def rebuild_catalog(path: str | Path) -> StoredLake:
    """Write a DuckDB database of the lake's latest state to its folder, and return this state."""
    while True:
        lake = open_lake(path)
        _write_database_atomically(lake, lake.path, CATALOG_FILE_NAME)
        # A concurrent ingest may have written a newer catalogue, which this one replaced.
        if open_lake(path).ingest_id == lake.ingest_id:
            return lake


def rebuild_catalog_after_ingest(path: str | Path) -> str | None:
    """Write the lake's DuckDB database after an ingest; return a note if it could not be written.

    Errors are not raised, because the ingest itself has succeeded.

    Returns:
        None if the database was written; otherwise a message that says why it was not.
    """
    try:
        n_games = sum(open_lake(path).row_counts_by_file("games").values())
        if n_games > MAX_GAMES:
            reason = f"was not renewed, to save time with {n_games:,} games"
            return f"{CATALOG_FILE_NAME} {reason}: {REBUILD_HINT}"
        rebuild_catalog(path)
    except Exception as error:  # the ingest is committed, so no error may fail it
        reason = one_line_message(
            lake_read_error(error) if may_be_lake_read_error(error) else error
        )
        hint = "" if DAMAGE_HINT in reason else f"; {REBUILD_HINT}"
        return f"{CATALOG_FILE_NAME} could not be renewed: {reason}{hint}"
    return None


@lake_method
def write_catalog(lake: StoredLake, file: str | Path) -> None:
    """Write a DuckDB database with the tables and views of this state to a file.

    An existing file is replaced. Raises LakeError if the file cannot be written there.
    """
    path = Path(file).resolve()  # a symbolic link stays a link
    if (path.exists() and not path.is_file()) or not path.parent.is_dir():
        raise LakeError(
            f"{file} is no file in an existing folder: choose a file in a folder that exists"
        )
    if "?" in str(path):  # DuckDB would write its log to another folder
        raise LakeError(f"{file}: a catalogue's path must not contain ?; choose another path")
    _write_database_atomically(lake, parse_location(path.parent), path.name)


def _write_database_atomically(lake: StoredLake, folder: Location, file_name: str) -> None:
    delete_abandoned_drafts(folder, file_name)
    draft = folder.create_draft(f".{file_name}.{uuid4()}{DRAFT_SUFFIX}")
    try:
        draft.path.touch()  # raises an OSError if the folder is not writable
        draft.path.unlink()  # DuckDB refuses an empty file
        write_database(draft.path, lake, {**all_views(), "about": _ABOUT})
        if folder.is_local:
            # The write-ahead log of the replaced database would be applied to the new one.
            (folder / f"{file_name}.wal").delete_file(missing_ok=True)
        draft.finish(file_name)
    finally:
        for file in (draft.path, draft.path.with_name(f"{draft.path.name}.wal")):
            file.unlink(missing_ok=True)


def _about_table(lake: StoredLake) -> pl.DataFrame:
    last = lake.last_ingest
    ingested_at = cast(datetime, last["finished_at"]) if last else None
    row = {
        "lake": str(lake.path),
        "ingest_id": lake.ingest_id,
        # Without a time zone, because DuckDB's Python client needs another package to return one.
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
    _about_table, _SCHEMA, "the state of the lake that this database shows", _ABOUT_COLUMNS
)
