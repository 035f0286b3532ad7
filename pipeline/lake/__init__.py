"""Open and create lakes: folders with the event tables as Delta Lake tables.

Commands, ingest and the Python interface open lakes here. Only this package knows where the tables
are; it depends on `pipeline.stores` and on the contracts of the tables.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar, overload

import polars as pl
from msgspec import structs

from pipeline.errors import (
    DENIED_HINT,
    DeniedError,
    LakeError,
    is_permission_error,
    one_line_message,
    one_line_message_without_path,
)
from pipeline.events.contracts import OLDEST_VERSION, TABLES, VERSION, row_description
from pipeline.lake.stored_lake import StoredLake
from pipeline.lake.tables import (
    CATALOG_FILE_NAME,
    COMMITS_TABLE,
    VERSION_KEY,
    WRITER_LOCKS_FOLDER,
    OpenTable,
    has_nonempty_log,
    map_tables_in_parallel,
    raise_if_clock_before_1970,
    raise_if_forked,
)
from pipeline.stores import Location, parse_location

LOCK_FILE_NAME = ".lock"
LOCK_SECONDS = 600
# deltalake and DuckDB convert paths to URLs, in which these characters have another meaning. Files
# would be written to another folder.
_FORBIDDEN_CHARACTERS = "%?\\"


def is_lake(path: str | Path | Location) -> bool:
    """Return whether the folder at the path contains a lake.

    Raises LakeError if the path is a file or cannot be read.
    """
    try:
        return has_nonempty_log(parse_location(path) / COMMITS_TABLE)
    except OSError as error:
        if isinstance(error, NotADirectoryError):
            raise LakeError(f"{path}: not a lake: a lake is a folder, and this is a file") from None
        if is_permission_error(error):
            denied = f"{error.filename or path}: {one_line_message_without_path(error)}"
            raise DeniedError(f"{denied}; {DENIED_HINT}") from None
        raise _unreadable_path_error(path, error) from None


def _unreadable_path_error(path: str | Path | Location, error: OSError) -> LakeError:
    # Errors of object stores have no `strerror`, and their message already contains the path.
    return LakeError(f"{path}: {error.strerror}" if error.strerror else one_line_message(error))


def _parse_lake_folder(path: str | Path | Location) -> Location:
    """Return the location of a lake's folder; raise LakeError if a lake cannot have this path."""
    try:
        folder = parse_location(path)
        str(folder).encode()
    except UnicodeEncodeError:
        raise LakeError(f"{str(path)!a}: a lake's path must be valid UTF-8") from None
    except OSError as error:
        raise _unreadable_path_error(path, error) from None
    for character in f"{_FORBIDDEN_CHARACTERS}{'' if folder.is_local else '#'}":
        if character in str(folder):
            raise LakeError(
                f"{path}: a lake's path must not contain {character}; choose another path"
            )
    return folder


L = TypeVar("L", bound=StoredLake)


@overload
def open_lake(path: str | Path | Location, as_of: int | None = None) -> StoredLake: ...


@overload
def open_lake(path: str | Path | Location, as_of: int | None, lake_class: type[L]) -> L: ...


def open_lake(
    path: str | Path | Location,
    as_of: int | None = None,
    lake_class: type[StoredLake] = StoredLake,
) -> StoredLake:
    """Open a lake in its latest state, or as it was after an earlier ingest.

    Args:
        path: The lake's folder.
        as_of: Number of the ingest that left the state to open; the latest state if None.
        lake_class: Class of the returned lake.

    Returns:
        The lake, with the contents of all tables fixed at this state.

    Raises:
        LakeError: If there is no lake, if this version of magic cannot read it, or if
            `magic maintain` has deleted files of the state.
    """
    folder = _parse_lake_folder(path)
    if not is_lake(folder):
        if not folder.exists():
            raise LakeError(
                f"{path}: no such lake; create it with `magic ingest SOURCE --lake {path}`"
            )
        _raise_if_only_commits_table_missing(folder)
        if not _names_not_belonging_to_lake(folder):
            raise LakeError(
                f"{path}: not a lake yet: nothing was ingested here; run `magic ingest SOURCE "
                f"--lake {path}`"
            )
        raise LakeError(
            f"{path}: not a lake: it has no table `{COMMITS_TABLE}`; choose a folder that `magic "
            "ingest` created"
        )
    lake = lake_class(folder, as_of)
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
            "lists the ingests"
        )
    lake.states  # noqa: B018 - read now, because later commits must not change the state
    if as_of is not None:
        _raise_if_files_of_old_state_deleted(lake, as_of)
    return lake


def reopen_lake(lake: L, as_of: int | None = None) -> L:
    """Open a lake again to see later commits, with the same view options.

    Args:
        lake: An open lake.
        as_of: Number of the ingest that left the state to open; the latest state if None.
    """
    reopened = open_lake(lake.path, as_of, type(lake))._copy_with(_added=lake._added)
    if lake.system is not None:
        reopened = reopened.for_system(lake.system)  # which raises if the state has no such game
    return reopened.with_view(**structs.asdict(lake.view))


def _raise_if_files_of_old_state_deleted(lake: StoredLake, as_of: int) -> None:
    """Raise LakeError if `magic maintain` has deleted files of the state after ingest `as_of`.

    If files of the newest state are missing too, the lake is damaged. Then nothing is raised here,
    because reading the lake raises a better error.
    """
    existing_files = {
        table: {file.name for file in lake.table_folder(table).list_files()}
        for table in lake.existing_tables
    }
    newest = StoredLake(lake.path)
    if _has_all_files_except_commits(lake, existing_files) or not _has_all_files_except_commits(
        newest, existing_files
    ):
        return
    later_ids = sorted(
        newest.table(COMMITS_TABLE).filter(pl.col("ingest_id") > as_of).collect()["ingest_id"]
    )
    # A binary search is possible, because the files of the oldest states are deleted first.
    oldest = bisect_left(
        later_ids,
        True,
        key=lambda id_: _has_all_files_except_commits(StoredLake(lake.path, id_), existing_files),
    )
    raise LakeError(
        f"{lake.path}: the state after ingest {as_of} is gone: `magic maintain` deleted its "
        f"files; the oldest state left is the one after ingest {later_ids[oldest]}"
    )


def _has_all_files_except_commits(lake: StoredLake, existing_files: Mapping[str, set[str]]) -> bool:
    """Return whether all files of the lake's state exist; the table `ingests` is not checked."""
    return all(
        set(lake.file_sizes_bytes(table)) <= names
        for table, names in existing_files.items()
        if table != COMMITS_TABLE
    )


def open_or_create_lake(path: str | Path | Location) -> StoredLake:
    """Create a lake with empty tables in a folder, or open the lake that is already there.

    Args:
        path: The lake's folder, which is created if it is missing.

    Returns:
        The new lake, or the existing lake in its latest state.

    Raises:
        LakeError: If the folder contains other files, or if the lake is damaged or cannot be
            written.
    """
    from deltalake.exceptions import DeltaError

    folder = _parse_lake_folder(path)
    raise_if_clock_before_1970()
    try:
        folder.create_folder()
        if _names_not_belonging_to_lake(folder):
            raise LakeError(
                f"{path}: not a lake and not empty; choose a lake, or an empty or new folder"
            )
        with (folder / LOCK_FILE_NAME).lock(LOCK_SECONDS):
            _raise_if_only_commits_table_missing(folder)
            create_missing_tables(folder, TABLES)
    except (OSError, DeltaError) as error:
        hint = f"; {DENIED_HINT}" if is_permission_error(error) else ""
        raise LakeError(
            f"{path}: cannot create a lake here: {one_line_message(error)}{hint}"
        ) from None
    return StoredLake(folder)


def _names_not_belonging_to_lake(lake_folder: Location) -> set[str]:
    """Return the names of files and folders in the folder that are not part of a lake."""
    names = {name for name in lake_folder.list_names() if CATALOG_FILE_NAME not in name}
    return names - {*TABLES, LOCK_FILE_NAME, WRITER_LOCKS_FOLDER}


def _raise_if_only_commits_table_missing(lake_folder: Location) -> None:
    """Raise LakeError if the table `ingests` is missing although other tables have rows.

    If `ingests` were created again, the next ingest would remove these rows, because it would
    treat them as written by a killed ingest.
    """
    tables = (
        []
        if is_lake(lake_folder)
        else [table for table in TABLES if _may_have_rows(lake_folder / table)]
    )
    # Checked again, because an ingest may have created the lake in the meantime.
    if tables and not is_lake(lake_folder):
        raise LakeError(
            f"{lake_folder}: the lake is damaged: its table `{COMMITS_TABLE}` is gone, but "
            f"{len(tables)} other tables have rows; restore it from a copy, or ingest the logs "
            "again into a new folder"
        )


def _may_have_rows(table_folder: Location) -> bool:
    """Return whether a table's log lists files; True if the log exists but cannot be read."""
    if not has_nonempty_log(table_folder):
        return False
    try:
        return bool(OpenTable(table_folder).log_values_by_file("path"))
    except DeniedError:
        raise
    except LakeError:
        return True


def create_missing_tables(lake_folder: Location, tables: Collection[str]) -> None:
    """Create the tables that do not exist yet, without rows.

    Args:
        lake_folder: The lake's folder.
        tables: Names of the tables. `ingests` is created last, because `is_lake` looks for it.
    """
    from deltalake import CommitProperties, DeltaTable

    # Imported here, because most readers do not need Arrow, which also imports numpy.
    from pipeline.events.arrow import arrow_schema

    raise_if_forked()

    class Unopened(DeltaTable):
        """A table that is not opened after its creation, which would double the time."""

        def __init__(self, **_: object) -> None:
            pass

    def create(table: str) -> None:
        if not has_nonempty_log(lake_folder / table):
            # Empty commits, which a power failure can leave, would count as the first version.
            for file in (log := lake_folder / table / "_delta_log").list_files():
                (log / file.name).delete_file(missing_ok=True)
        Unopened.create(
            str(lake_folder / table),
            schema=arrow_schema(table),
            mode="ignore",
            name=table,
            description=row_description(table),
            # Old versions stay in the log, because the last row of `ingests` may refer to them.
            configuration={
                VERSION_KEY: str(VERSION),
                "delta.enableExpiredLogCleanup": "false",
            },
            raise_if_key_not_exists=False,
            # If a store's response were lost, a retry would create a second version.
            commit_properties=CommitProperties(max_commit_retries=0),
        )

    map_tables_in_parallel(create, [table for table in tables if table != COMMITS_TABLE])
    if COMMITS_TABLE in tables:
        create(COMMITS_TABLE)


def concat_by_system(lake: L, compute_rows: Callable[[L], pl.DataFrame]) -> pl.DataFrame:
    """Compute rows separately for each system that ran games, and concatenate them.

    Args:
        lake: The lake, with games of one or several systems.
        compute_rows: Returns the rows for a lake that is restricted to one system.

    Returns:
        The rows with a column `system`; the system with the most games is first.
    """
    return pl.concat(
        compute_rows(system_lake).with_columns(system=pl.lit(system_lake.system, pl.String))
        for system_lake in lake.split_by_system()
    )


__all__ = [
    "StoredLake",
    "concat_by_system",
    "is_lake",
    "open_lake",
    "open_or_create_lake",
    "reopen_lake",
]
