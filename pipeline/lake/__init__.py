"""The lake: the event tables as Delta Lake tables, and the only code that knows where they are."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar, overload

import polars as pl

from pipeline.errors import (
    DENIED_HINT,
    DeniedError,
    LakeError,
    error_reason,
    is_permission_error,
    one_line_message,
)
from pipeline.events.contracts import OLDEST_VERSION, TABLES, VERSION, row_description
from pipeline.lake.stored_lake import StoredLake
from pipeline.lake.tables import (
    CATALOG_FILE_NAME,
    COMMITS_TABLE,
    VERSION_KEY,
    WRITING,
    OpenTable,
    check_clock,
    has_log,
    map_tables,
    raise_if_forked,
)
from pipeline.stores import Location, parse_location

# Lakes by their paths: opened at a state, made anew, or refused with a reason.

LOCK = ".lock"
LOCK_SECONDS = 600
# In a URL, which deltalake makes of a path, and DuckDB of a file that it writes, these have another
# meaning: the files would be in another folder.
_NOT_IN_PATHS = "%?\\"


def is_lake(path: str | Path | Location) -> bool:
    """Return whether the path contains a lake of any version."""
    try:
        return has_log(parse_location(path) / COMMITS_TABLE)
    except OSError as error:
        if isinstance(error, NotADirectoryError):
            raise LakeError(f"{path}: not a lake: a lake is a folder, and this is a file") from None
        if is_permission_error(error):
            denied = f"{error.filename or path}: {error_reason(error)}"
            raise DeniedError(f"{denied}; {DENIED_HINT}") from None
        raise _unreadable_path_error(path, error) from None


def _unreadable_path_error(path: str | Path | Location, error: OSError) -> LakeError:
    """Return the error for a path that cannot be read.

    The message of an object store names the path.
    """
    return LakeError(f"{path}: {error.strerror}" if error.strerror else one_line_message(error))


def _parse_folder(path: str | Path | Location) -> Location:
    try:
        folder = parse_location(path)
        str(folder).encode()
    except UnicodeEncodeError:
        raise LakeError(f"{str(path)!a}: a lake's path must be valid UTF-8") from None
    except OSError as error:
        raise _unreadable_path_error(path, error) from None
    for sign in _NOT_IN_PATHS if folder.is_local else f"{_NOT_IN_PATHS}#":
        if sign in str(folder):
            raise LakeError(f"{path}: a lake's path must not contain {sign}; choose another path")
    return folder


L = TypeVar("L", bound=StoredLake)


@overload
def open_lake(path: str | Path | Location, as_of: int | None = None) -> StoredLake: ...


@overload
def open_lake(path: str | Path | Location, as_of: int | None, kind: type[L]) -> L: ...


def open_lake(
    path: str | Path | Location, as_of: int | None = None, kind: type[StoredLake] = StoredLake
) -> StoredLake:
    """Open the lake at the path in its latest state, or in its state after the ingest `as_of`.

    `kind` is the class of what is returned. Raises LakeError where there is none, or where
    `maintain` has deleted files of that state.
    """
    folder = _parse_folder(path)
    if not is_lake(folder):
        if not folder.exists():
            raise LakeError(
                f"{path}: no such lake; create it with `magic ingest SOURCE --lake {path}`"
            )
        _raise_if_commits_table_missing(folder)
        if not _foreign_names(folder):
            raise LakeError(
                f"{path}: not a lake yet: nothing was ingested here; run `magic ingest SOURCE "
                f"--lake {path}`"
            )
        raise LakeError(
            f"{path}: not a lake: it has no table `{COMMITS_TABLE}`; choose a folder that `magic "
            "ingest` created"
        )
    lake = kind(folder, as_of)
    readable = [str(version) for version in range(OLDEST_VERSION, VERSION + 1)]
    if lake.contract_version not in readable:
        raise LakeError(
            f"{path}: the lake has contract version {lake.contract_version}, but this version of "
            f"magic reads {' and '.join(readable)}; ingest the logs again into a new folder, or "
            "use the version of magic that wrote the lake"
        )
    if as_of is not None and lake.ingest_id != as_of:
        raise LakeError(
            f"{path}: no ingest {as_of}: `magic sql 'SELECT ingest_id, started_at FROM ingests'` "
            "lists them"
        )
    lake.states  # noqa: B018 (read now: this is the state that the lake is opened at)
    if as_of is not None:
        _raise_if_files_deleted(lake, as_of)
    return lake


def reopen_lake(lake: L, as_of: int | None = None) -> L:
    """Open the lake again, with the same view options, in its latest state or after `as_of`."""
    seen = {"names": lake.names, "failures": lake.failures, "_added": lake._added}
    opened = open_lake(lake.path, as_of, type(lake))._copy_with(**seen)
    return opened if lake.system is None else opened.for_system(lake.system)


def _raise_if_files_deleted(lake: StoredLake, as_of: int) -> None:
    """Raise LakeError if files of an old state were deleted although the newest state is complete.

    Otherwise the lake is damaged, and whoever reads the files reports that.
    """
    there = {
        table: {file.name for file in lake.table_folder(table).list_files()}
        for table in lake.existing_tables
    }
    newest = StoredLake(lake.path)
    if _has_all_files(lake, there) or not _has_all_files(newest, there):
        return
    later = sorted(
        newest.table(COMMITS_TABLE).filter(pl.col("ingest_id") > as_of).collect()["ingest_id"]
    )
    # The oldest go first, so that not all have to be looked at.
    left = bisect_left(
        later, True, key=lambda id_: _has_all_files(StoredLake(lake.path, id_), there)
    )
    raise LakeError(
        f"{lake.path}: the state after ingest {as_of} is gone: `magic maintain` deleted its "
        f"files; the oldest state left is the one after ingest {later[left]}"
    )


def _has_all_files(lake: StoredLake, there: Mapping[str, set[str]]) -> bool:
    """Return whether all files of a state exist."""
    return all(
        set(lake.file_sizes_bytes(table)) <= names
        for table, names in there.items()
        if table != COMMITS_TABLE
    )


def create_lake(path: str | Path | Location) -> StoredLake:
    """Create a lake with empty tables; raise LakeError if the folder contains anything else."""
    from deltalake.exceptions import DeltaError

    folder = _parse_folder(path)
    check_clock()
    try:
        folder.create_folder()
        if _foreign_names(folder):
            raise LakeError(
                f"{path}: not a lake and not empty; choose a lake, or an empty or new folder"
            )
        with (folder / LOCK).lock(LOCK_SECONDS):
            _raise_if_commits_table_missing(folder)
            create_tables(folder, TABLES)
    except (OSError, DeltaError) as error:
        hint = f"; {DENIED_HINT}" if is_permission_error(error) else ""
        raise LakeError(
            f"{path}: cannot create a lake here: {one_line_message(error)}{hint}"
        ) from None
    return StoredLake(folder)


def _foreign_names(folder: Location) -> set[str]:
    """Return the names in the folder that do not belong to a lake."""
    names = {name for name in folder.list_names() if CATALOG_FILE_NAME not in name}
    return names - {*TABLES, LOCK, WRITING}


def _raise_if_commits_table_missing(folder: Location) -> None:
    """Raise LakeError if tables have rows but the table of commits is missing.

    That table is created last.

    With a new one, all that they hold would count as left behind by an ingest that was killed.
    """
    used = [] if is_lake(folder) else [table for table in TABLES if _has_rows(folder / table)]
    # Asked again: an ingest that makes the lake may have ended since.
    if used and not is_lake(folder):
        raise LakeError(
            f"{folder}: the lake is damaged: its table `{COMMITS_TABLE}` is gone, but {len(used)} "
            "other tables have rows; restore it from a copy, or ingest the logs again into a "
            "new folder"
        )


def _has_rows(folder: Location) -> bool:
    """Return whether a table has files with rows, or an unreadable log that may name some."""
    if not has_log(folder):
        return False
    try:
        return bool(OpenTable(folder).log_values("path"))
    except DeniedError:
        raise
    except LakeError:
        return True


def create_tables(folder: Location, tables: Collection[str]) -> None:
    """Create the missing ones of these tables, without rows."""
    from deltalake import CommitProperties, DeltaTable

    # Imported here, so that whoever reads does not wait for Arrow, which loads numpy.
    from pipeline.events.arrow import arrow_schema

    raise_if_forked()

    class Unopened(DeltaTable):
        """What is created; to open it as well would take as long."""

        def __init__(self, **_: object) -> None:
            pass

    def create(table: str) -> None:
        if not has_log(folder / table):
            # An empty commit, as a power loss leaves, would count as the table's first.
            for file in (log := folder / table / "_delta_log").list_files():
                (log / file.name).delete_file(missing_ok=True)
        Unopened.create(
            str(folder / table),
            schema=arrow_schema(table),
            mode="ignore",
            name=table,
            description=row_description(table),
            # The log of old versions stays: the last row of `ingests` may name one of them.
            configuration={
                VERSION_KEY: str(VERSION),
                "delta.enableExpiredLogCleanup": "false",
            },
            raise_if_key_not_exists=False,
            # Where a store's answer is lost, a second try would make a second version.
            commit_properties=CommitProperties(max_commit_retries=0),
        )

    map_tables(create, [table for table in tables if table != COMMITS_TABLE])
    if COMMITS_TABLE in tables:  # last: by it a lake is known
        create(COMMITS_TABLE)


def concat_by_system(lake: L, rows: Callable[[L], pl.DataFrame]) -> pl.DataFrame:
    """Call a function for each system, and concatenate the rows with a column `system`."""
    return pl.concat(
        rows(part).with_columns(system=pl.lit(part.system, pl.String))
        for part in lake.split_by_system()
    )


__all__ = [
    "StoredLake",
    "concat_by_system",
    "create_lake",
    "is_lake",
    "open_lake",
    "reopen_lake",
]
