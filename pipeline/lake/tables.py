"""Open the Delta tables of a lake, and compare each with the contents that an ingest recorded.

All modules that read or change a lake use it. It also manages the locks of processes that write
files, and the hashes in the names of data files.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import polars as pl
from msgspec import Struct

from pipeline.errors import (
    DAMAGE_HINT,
    DENIED_HINT,
    DeniedError,
    LakeError,
    is_permission_error,
    lake_read_error,
    one_line_message,
    one_line_message_without_path,
    raise_if_resources_exhausted,
)
from pipeline.events.contracts import table_schema
from pipeline.stores import File, Location
from pipeline.stores.local import STALE_SECONDS

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Contents of tables: as an ingest recorded them, and according to the table's log.
#
# A Delta log has no checksum: if a line of it is lost, the table still opens, but with other rows.
# Therefore each ingest records the contents of every table, and they are compared whenever a table
# is opened. The name of a data file ends in the SHA-256 hash of its bytes (as `sha256sum` prints
# it), so the log and its checkpoints contain the hashes of all files.

# A commit is first written as `NUMBER.json#1`, and renamed when it is complete.
_COMMIT_OR_CHECKPOINT_NAME = re.compile(r"\d{20}\.(json|checkpoint[^#]*)")
SUFFIX = ".parquet"
CATALOG_FILE_NAME = "magic.duckdb"
"""A DuckDB database beside the tables, for other tools. No reader of the lake opens it."""
DRAFT_SUFFIX = ".draft"
# An older draft of a catalogue belongs to a process that was killed.
_DRAFT_HOURS = 1
WRITER_LOCKS_FOLDER = ".writing"
"""The folder of the locks of processes that write files before they commit them."""
_BLOCK_BYTES = 2**20
_HASH = re.compile(rf"-([0-9a-f]{{64}}){re.escape(SUFFIX)}$")


def delete_abandoned_drafts(folder: Location, final_name: str) -> None:
    """Delete the old drafts of a file, which killed processes left in a local folder.

    Args:
        folder: The folder with the drafts.
        final_name: The name that the file has when it is finished.
    """
    if not folder.is_local:
        return
    since = datetime.now(UTC) - timedelta(hours=_DRAFT_HOURS)
    for file in folder.list_files():
        is_draft = file.name.startswith(f".{final_name}.") and DRAFT_SUFFIX in file.name
        if is_draft and file.modified_at < since:
            (folder / file.name).delete_file(missing_ok=True)


class TableContents(Struct, frozen=True):
    """A table's contents at one version: numbers of files and rows, and a hash of the file names.

    Attributes:
        n_files: Number of files.
        n_rows: Number of rows; None if the log lacks counts, which other tools may omit.
        files_sha256: Hash of the sorted file names. As a file's name contains the hash of its
            bytes, tables with equal hashes are equal.
    """

    n_files: int
    n_rows: int | None
    files_sha256: str

    def __str__(self) -> str:
        rows = "" if self.n_rows is None else f" with {self.n_rows:,} rows"
        return f"{self.n_files:,} files{rows}"


def contents_of_files(row_counts_by_file: Mapping[str, int | None]) -> TableContents:
    """Return the contents of a table, given the number of rows of each file by file name."""
    return TableContents(
        n_files=len(row_counts_by_file),
        n_rows=None
        if None in row_counts_by_file.values()
        else sum(filter(None, row_counts_by_file.values())),
        files_sha256=sha256("\n".join(sorted(row_counts_by_file)).encode()).hexdigest(),
    )


EMPTY = contents_of_files({})


def has_nonempty_log(table_folder: Location) -> bool:
    """Return whether a table's Delta log has a commit or checkpoint that is not an empty file.

    A killed writer may leave empty files.
    """
    return any(not _is_empty_file(file) for file in _commit_and_checkpoint_files(table_folder))


def empty_log_file_names(table_folder: Location, last_version: int | None = None) -> list[str]:
    """Return the names of the empty files in a table's Delta log.

    A power failure can leave such files. Delta reads them as commits that change nothing.

    Args:
        table_folder: The folder of the table.
        last_version: The last version whose file is examined; None for all versions.
    """
    names = [
        file.name for file in _commit_and_checkpoint_files(table_folder) if _is_empty_file(file)
    ]
    return [name for name in names if last_version is None or int(name[:20]) <= last_version]


def _commit_and_checkpoint_files(table_folder: Location) -> list[File]:
    return [
        file
        for file in (table_folder / "_delta_log").list_files()
        if _COMMIT_OR_CHECKPOINT_NAME.fullmatch(file.name)
    ]


def _is_empty_file(file: File) -> bool:
    return file.n_bytes <= 1


def file_name_with_hash(draft_name: str, draft: Path) -> str:
    """Return the final name of a data file: the name of its draft and the SHA-256 of its bytes."""
    return f"{draft_name.removesuffix(SUFFIX)}-{hash_file(draft)}{SUFFIX}"


def hash_in_file_name(file_name: str) -> str | None:
    """Return the SHA-256 in the name of a data file; None if another tool named the file."""
    match = _HASH.search(file_name)
    return match[1] if match else None


def hash_file(file: Location | Path) -> str:
    """Return the SHA-256 of a file's bytes as hexadecimal digits."""
    digest = sha256()
    with file.open("rb") if isinstance(file, Path) else file.open() as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


# Locks of processes that write files before they commit them.
#
# Such a process holds a lock in the lake while it writes, and the names of its files contain the
# lock's name, the token. So `maintain` can distinguish these files from files of killed processes
# without comparing the clocks of two machines.

_LOCK_SECONDS = 2 * STALE_SECONDS


@contextmanager
def hold_writer_lock(
    lake_folder: Location, token: str, on_lock_left: Callable[[str], None] = lambda message: None
) -> Iterator[None]:
    """Hold a lock in the lake while this process writes files that are not committed yet.

    The lock shows `magic maintain` that it must not delete files with the token in their names.

    Args:
        lake_folder: The lake's folder.
        token: The unique token in the names of the files.
        on_lock_left: Called with a message if the lock's file cannot be deleted at the end. This
            is no error, because `magic maintain` deletes the file later.
    """
    raise_if_clock_before_1970()
    folder = lake_folder / WRITER_LOCKS_FOLDER
    folder.create_folder()
    with (folder / token).lock(_LOCK_SECONDS):
        try:
            yield
        finally:
            try:
                (folder / token).delete_file(missing_ok=True)
            except OSError as error:
                on_lock_left(
                    f"{folder / token}: could not be deleted: "
                    f"{one_line_message_without_path(error)}"
                )


def raise_if_clock_before_1970() -> None:
    """Raise LakeError if the clock is before 1970, because Delta cannot store such a time."""
    if time.time() < 0:
        raise LakeError("the clock of this machine shows a time before 1970: set it")


def delete_stale_locks_and_find_writers(lake_folder: Location) -> set[str]:
    """Delete the locks of killed processes, and return the tokens of processes that are writing.

    A process that writes holds a lock whose name is its token.
    """
    folder = lake_folder / WRITER_LOCKS_FOLDER
    return {
        file.name
        for file in folder.list_files()
        if not _delete_lock_unless_held(folder / file.name)
    }


def _delete_lock_unless_held(lock: Location) -> bool:
    """Delete a lock unless a running process holds it; return whether it was deleted."""
    # On an object store, only an unchanged lock shows that its process was killed.
    seconds = 0 if lock.is_local else 1.5 * STALE_SECONDS
    try:
        with lock.lock(seconds):
            lock.delete_file(missing_ok=True)
    except TimeoutError:
        return False
    return True


VERSION_KEY = "magic.contractVersion"
COMMITS_TABLE = "ingests"
ROLES_TABLE = "roles"
# Reading and committing tables mostly waits for a disk or an object store.
_N_THREADS = 8

# The names of magic's operations in deltalake. Other tools merge files, delete rows, and so on.
_OWN_OPERATIONS = ("CREATE TABLE", "WRITE", "RESTORE")
# Any table may list these features; they have no effect unless a property enables them.
_HARMLESS_FEATURES = {"appendOnly", "invariants"}
# The feature that each writer version of the protocol adds, if the protocol lists no features.
_FEATURE_BY_WRITER_VERSION = {
    3: "checkConstraints",
    4: "changeDataFeed",
    5: "columnMapping",
    6: "identityColumns",
}

T = TypeVar("T")


class TableState(NamedTuple):
    """The version of a table in one state of a lake, and its contents.

    Attributes:
        version: The version of the Delta table.
        contents: The contents that the ingest recorded for this version.
    """

    version: int
    contents: TableContents


def parse_table_states(versions: Iterable[Mapping[str, Any]]) -> dict[str, TableState]:
    """Return the state of each table by name, parsed from a row's `versions` in `ingests`."""
    return {
        entry["table"]: TableState(
            entry["version"],
            TableContents(entry["n_files"], entry["n_rows"], entry["files_sha256"]),
        )
        for entry in versions
    }


def map_tables_in_parallel(function: Callable[[str], T], tables: Iterable[str]) -> list[T]:
    """Call a function for each table in parallel threads; return the results in order."""
    with ThreadPoolExecutor(_N_THREADS) as pool:
        return list(pool.map(function, tables))


RENAMED_VALUES: dict[str, dict[str, str]] = {}
"""For each column whose values were renamed: the new value by the old value in older lakes."""


def renamed_values_by_column(table: str) -> dict[str, dict[str, str]]:
    """Return a map from old to new values for each column of a table whose values were renamed."""
    schema = table_schema(table)
    return {column: values for column, values in RENAMED_VALUES.items() if column in schema}


def renamed_value_columns(table: str) -> list[pl.Expr]:
    """Return the columns of a table whose values were renamed, with the new values."""
    return [
        pl.col(column).replace(new_values)
        for column, new_values in renamed_values_by_column(table).items()
    ]


def scan_files(table: str, files: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of Parquet files of a table as a LazyFrame with the contract's columns.

    Columns that older files lack are null, and renamed values have their new names.
    """
    # The schema is a dict, because the first release of polars 2 rejects other mappings.
    rows = pl.scan_parquet(
        list(files), schema=dict(table_schema(table)), glob=False, missing_columns="insert"
    )
    return rows.with_columns(renamed_value_columns(table))


def fill_missing_row_counts(
    table_folder: Location, logged_counts: Mapping[str, int | None]
) -> dict[str, int]:
    """Return the number of rows by file name, read from the file's footer if the log has None."""
    return {
        name: _read_row_count_from_footer(table_folder / name) if n_rows is None else n_rows
        for name, n_rows in logged_counts.items()
    }


def _read_row_count_from_footer(parquet_file: Location) -> int:
    """Return the number of rows in a Parquet file; raise LakeError if it cannot be read."""
    # Imported here, because most readers do not need Arrow, which also imports numpy.
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        with parquet_file.open() as stream:
            return int(read_metadata(stream).num_rows)
    except (OSError, ArrowException) as error:
        raise lake_read_error(error, str(parquet_file).split("/")[-2]) from None


class OpenTable:
    """A Delta table at one version, with the values that its log stores about its files.

    Attributes:
        delta: The table as opened by deltalake.
    """

    def __init__(self, table_folder: Location, version: int | None = None) -> None:
        """Open the table.

        Args:
            table_folder: The folder of the table.
            version: The version to open; the newest if None.

        Raises:
            LakeError: If the table is damaged, or has a feature of Delta that magic does not use.
        """
        self.delta = open_delta_table(table_folder, version)
        self._files = self.delta.get_add_actions(flatten=True)
        _raise_if_table_has_unsupported_feature(table_folder, self.delta)

    def log_values_by_file(self, column: str) -> dict[str, Any]:
        """Return what the table's log stores about each of its files.

        Args:
            column: A column of deltalake's flat add actions, such as `num_records`.

        Returns:
            The value of this column by file name; None if the log has no value.
        """
        names = self._files.column("path").to_pylist()
        if column not in self._files.column_names:
            return dict.fromkeys(names)
        return dict(zip(names, self._files.column(column).to_pylist(), strict=True))


def open_table_and_check_contents(table_folder: Location, recorded_state: TableState) -> OpenTable:
    """Open a table at the version that an ingest recorded, and compare its contents.

    Args:
        table_folder: The folder of the table.
        recorded_state: The version and contents that the ingest recorded.

    Raises:
        LakeError: If the table's log contradicts the recorded contents, or is damaged.
    """
    table = OpenTable(table_folder, recorded_state.version)
    contents, recorded = (
        contents_of_files(table.log_values_by_file("num_records")),
        recorded_state.contents,
    )
    has_same_files = contents.files_sha256 == recorded.files_sha256
    if not has_same_files or contents.n_rows not in (None, recorded.n_rows):
        raise LakeError(
            f"{table_folder}: the lake is damaged: the table's log names {contents} at version "
            f"{recorded_state.version}, but the ingest left {recorded}"
            f"{_empty_commits_hint(table_folder, recorded_state.version)}; {DAMAGE_HINT}"
        )
    return table


def open_commits_table_and_check_row_count(
    table_folder: Location, version: int | None
) -> OpenTable:
    """Open the table `ingests`, and compare its number of rows with the commits in its log.

    Each commit of magic adds one row. Commits of other tools, such as `OPTIMIZE`, add none.

    Args:
        table_folder: The folder of the table.
        version: The version to open; the newest if None.

    Raises:
        LakeError: If the numbers contradict each other, or if the log is damaged.
    """
    table = OpenTable(table_folder, version)
    n_rows = sum(
        fill_missing_row_counts(table_folder, table.log_values_by_file("num_records")).values()
    )
    n_ingests = table.delta.version()
    foreign_commits = foreign_commit_descriptions(table.delta) if n_rows != n_ingests else []
    if n_rows != n_ingests - len(foreign_commits):
        raise LakeError(
            f"{table_folder}: the lake is damaged: the table's log names {n_rows:,} ingests, but "
            f"there were {n_ingests - len(foreign_commits):,}"
            f"{_empty_commits_hint(table_folder, n_ingests)}"
            f"{foreign_commits_hint(foreign_commits)}; {DAMAGE_HINT}"
        )
    return table


def foreign_commit_descriptions(delta: "DeltaTable") -> list[str]:
    """Return the operation and file of each commit that another tool made, newest first.

    An example is `OPTIMIZE in 00000000000000000012.json`.
    """
    return [
        f"{commit['operation']} in {commit['version']:020d}.json"
        for commit in delta.history()
        if not _is_own_commit(commit)
    ]


def may_have_newer_own_commits(table_folder: Location, version: int) -> bool:
    """Return whether magic has changed a table after a version; True if a commit is unreadable."""
    if not (table_folder / "_delta_log" / f"{version + 1:020d}.json").exists():
        return False
    from deltalake.exceptions import DeltaError

    try:
        delta = open_delta_table(table_folder)
        return any(map(_is_own_commit, delta.history(delta.version() - version)))
    except (LakeError, DeltaError):
        return True  # perhaps the commit of a process that was killed


def _is_own_commit(commit: Mapping[str, Any]) -> bool:
    return commit.get("operation") in (None, *_OWN_OPERATIONS)


def foreign_commits_hint(commit_descriptions: Sequence[str]) -> str:
    """Return the part of an error message that names commits of other tools; empty if none."""
    if not commit_descriptions:
        return ""
    rest = f" and {len(commit_descriptions) - 1:,} more" if commit_descriptions[1:] else ""
    return f" (another tool changed the table: {commit_descriptions[0]}{rest})"


def _raise_if_table_has_unsupported_feature(table_folder: Location, delta: "DeltaTable") -> None:
    """Raise LakeError if another tool has enabled a feature of Delta that magic does not use.

    With such a feature, the Parquet files alone do not determine the rows, or magic's changes would
    be wrong. For example, a merge would restore rows that a deletion vector hides.
    """
    protocol = delta.protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    features -= _HARMLESS_FEATURES
    if protocol.min_writer_version in _FEATURE_BY_WRITER_VERSION:
        features.add(_FEATURE_BY_WRITER_VERSION[protocol.min_writer_version])
    if delta.metadata().configuration.get("delta.appendOnly") == "true":
        features.add("appendOnly")
    if features:
        raise LakeError(
            f"{table_folder}: the table has features of Delta that magic does not use: "
            f"{', '.join(sorted(features))}. Another tool changed it: restore the lake from a "
            "copy, or ingest the logs into a new lake"
        )


def _empty_commits_hint(table_folder: Location, version: int) -> str:
    """Return the part of an error message about empty commit files; empty if there are none."""
    names = empty_log_file_names(table_folder, version)
    if not names:
        return ""
    is_last = names == [f"{version:020d}.json"] and str(table_folder).endswith(f"/{COMMITS_TABLE}")
    advice = "; delete it and run the last ingest again" if is_last else ""
    return f" (the commit {names[0]} is empty, perhaps after a power loss{advice})"


@cache
def _remember_first_process_id() -> int:
    """Return the id of the process that first called this; forked processes inherit the cache."""
    return os.getpid()


def raise_if_forked() -> None:
    """Raise LakeError in a process that was forked from one that had already opened a lake.

    The libraries that read a lake use threads. A forked process does not inherit them, so it would
    wait for them forever.
    """
    if os.getpid() != _remember_first_process_id():
        raise LakeError(
            "this process was forked from one that had opened a lake, and would wait forever: "
            'start processes with multiprocessing.get_context("spawn"), or open lakes only in the '
            "forked processes"
        )


def open_delta_table(table_folder: Location, version: int | None = None) -> "DeltaTable":
    """Open a Delta table at a version, by default the newest.

    Raises DeniedError without permission to read it, and LakeError if it is damaged.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    raise_if_forked()
    try:
        return DeltaTable(str(table_folder), version=version)
    except (DeltaError, OSError) as error:
        raise_if_resources_exhausted(error)
        if is_permission_error(error):
            raise DeniedError(
                f"{table_folder}: the table may not be read: {one_line_message(error)}; "
                f"{DENIED_HINT}"
            ) from None
        reason = one_line_message(error)
        # The library's message for this case is hard to understand.
        if not has_nonempty_log(table_folder):
            reason = f"{'its log' if table_folder.exists() else 'the folder'} is missing"
        raise LakeError(
            f"{table_folder}: the lake is damaged, the table cannot be opened: {reason}; "
            f"{DAMAGE_HINT}"
        ) from None
