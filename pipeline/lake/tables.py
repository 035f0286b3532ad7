"""The Delta tables of a lake, each opened at one version and held against what was recorded."""

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
    error_reason,
    is_permission_error,
    one_line_message,
    raise_if_resources_exhausted,
    read_error,
)
from pipeline.events.contracts import table_schema
from pipeline.stores import File, Location
from pipeline.stores.local import STALE_SECONDS

if TYPE_CHECKING:
    from deltalake import DeltaTable

# What a table consists of, as an ingest records it and as the table's log says.
#
# A Delta log has no checksum: if a line of it is lost, the table still opens, with other rows. So
# each ingest records what every table consists of, and whoever opens a table compares. A data
# file's name ends in the hash of its bytes, so whatever names the file also has its hash: the log,
# its checkpoints, and the commits of a merge or a cluster. `sha256sum` gives the same 64 digits.

# A commit is written under another name, `NUMBER.json#1`, and takes its own when it is whole.
_LOGGED = re.compile(r"\d{20}\.(json|checkpoint[^#]*)")
SUFFIX = ".parquet"
CATALOG_FILE_NAME = "magic.duckdb"
"""A DuckDB database beside the tables, for other tools. No reader of the lake opens it."""
DRAFT_SUFFIX = ".draft"
# A draft of a catalogue that is older was left by a process that was killed.
_DRAFT_HOURS = 1
WRITING = ".writing"
"""A folder of locks, held by processes that write files which no commit names yet."""
_BLOCK_BYTES = 2**20
_HASH = re.compile(rf"-([0-9a-f]{{64}}){re.escape(SUFFIX)}$")


def delete_old_drafts(folder: Location, name: str) -> None:
    """Delete the unfinished catalogue files that killed processes left in a folder."""
    if not folder.is_local:
        return
    since = datetime.now(UTC) - timedelta(hours=_DRAFT_HOURS)
    for file in folder.list_files():
        is_draft = file.name.startswith(f".{name}.") and DRAFT_SUFFIX in file.name
        if is_draft and file.modified_at < since:
            (folder / file.name).delete_file(missing_ok=True)


class Contents(Struct, frozen=True):
    """A table's contents at one version: numbers of files and rows, and a hash of the file names.

    A file's name has the hash of its bytes, so equal hashes of names mean equal tables. `n_rows` is
    null where a log has no counts: another tool can leave them out of a checkpoint.
    """

    n_files: int
    n_rows: int | None
    files_sha256: str

    def __str__(self) -> str:
        rows = "" if self.n_rows is None else f" with {self.n_rows:,} rows"
        return f"{self.n_files:,} files{rows}"


def table_contents(counts: Mapping[str, int | None]) -> Contents:
    """Return the contents of a table that consists of files with these row counts."""
    known = [n_rows for n_rows in counts.values() if n_rows is not None]
    return Contents(
        n_files=len(counts),
        n_rows=sum(known) if len(known) == len(counts) else None,
        files_sha256=sha256("\n".join(sorted(counts)).encode()).hexdigest(),
    )


EMPTY = table_contents({})


def has_log(folder: Location) -> bool:
    """Return whether a table's log has a complete version.

    A killed writer may leave an incomplete one.
    """
    return any(not _is_empty(file) for file in _log_files(folder))


def empty_commit_files(folder: Location, version: int | None = None) -> list[str]:
    """Return the names of the log's commits without an action, which a power failure can leave.

    Delta takes such a file for a commit that changes nothing.
    """
    names = [file.name for file in _log_files(folder) if _is_empty(file)]
    return [name for name in names if version is None or int(name[:20]) <= version]


def _log_files(folder: Location) -> list[File]:
    """Return the commits and checkpoints of a table's log."""
    return [file for file in (folder / "_delta_log").list_files() if _LOGGED.fullmatch(file.name)]


def _is_empty(file: File) -> bool:
    return file.n_bytes <= 1


def final_file_name(begun: str, file: Path) -> str:
    """Return the final name of a file that was written with the name `begun`."""
    return f"{begun.removesuffix(SUFFIX)}-{hash_file(file)}{SUFFIX}"


def hash_in_file_name(name: str) -> str | None:
    """Return the hash in a file's name, or None for a file that another tool wrote."""
    match = _HASH.search(name)
    return match[1] if match else None


def hash_file(file: Location | Path) -> str:
    """Return the hash of the file's current bytes."""
    digest = sha256()
    with file.open("rb") if isinstance(file, Path) else file.open() as opened:
        while block := opened.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


# Which processes write files that no commit names yet.
#
# Such a process holds a lock in the lake for as long as it writes, and its files' names have the
# lock's name in them. So `maintain` knows them from files that a killed process left behind,
# without comparing the clocks of two machines.

_LOCK_SECONDS = 2 * STALE_SECONDS


@contextmanager
def mark_as_writing(
    lake: Location, token: str, on_left: Callable[[str], None] = lambda text: None
) -> Iterator[None]:
    """Hold a lock that shows that files with this token in their names are being written.

    `on_left` is called with what to say if the lock's file cannot be deleted: what was done in the
    meantime is done all the same, and `maintain` deletes the file later.
    """
    check_clock()
    folder = lake / WRITING
    folder.create_folder()
    with (folder / token).lock(_LOCK_SECONDS):
        try:
            yield
        finally:
            try:
                (folder / token).delete_file(missing_ok=True)
            except OSError as error:
                on_left(f"{folder / token}: could not be deleted: {error_reason(error)}")


def check_clock() -> None:
    """Raise LakeError if the clock is before 1970, where a log cannot date a commit."""
    if time.time() < 0:
        raise LakeError("the clock of this machine shows a time before 1970: set it")


def active_tokens(lake: Location) -> set[str]:
    """Return the tokens of processes that are writing, and delete the locks of killed processes."""
    return {
        file.name
        for file in (lake / WRITING).list_files()
        if _is_lock_held(lake / WRITING / file.name)
    }


def _is_lock_held(lock: Location) -> bool:
    # A killed process's lock on an object store is only known by not changing for a while.
    seconds = 0 if lock.is_local else 1.5 * STALE_SECONDS
    try:
        with lock.lock(seconds):
            lock.delete_file(missing_ok=True)
    except TimeoutError:
        return True
    return False


VERSION_KEY = "magic.contractVersion"
COMMITS_TABLE = "ingests"
ROLES_TABLE = "roles"
# Most of what is done with a table is to wait for a disk, or for an object store.
_AT_ONCE = 8

# As deltalake names what magic has it do; others merge files, delete old ones or rows, and so on.
_OWN_OPERATIONS = ("CREATE TABLE", "WRITE", "RESTORE")
# Any table may name these; it needs nothing for them as long as no property turns them on.
_KNOWN_FEATURES = {"appendOnly", "invariants"}
_APPEND_ONLY = "delta.appendOnly"
# The feature for which a protocol has this version for writers, if it does not list its features.
_FEATURES = {3: "checkConstraints", 4: "changeDataFeed", 5: "columnMapping", 6: "identityColumns"}

T = TypeVar("T")


class TableState(NamedTuple):
    """The version of a table in one state of a lake, and its contents."""

    version: int
    contents: Contents


def table_states(versions: Iterable[Mapping[str, Any]]) -> dict[str, TableState]:
    """Parse the state of each table from the column `versions` of `ingests`."""
    return {
        entry["table"]: TableState(
            entry["version"],
            Contents(entry["n_files"], entry["n_rows"], entry["files_sha256"]),
        )
        for entry in versions
    }


def map_tables(work: Callable[[str], T], tables: Iterable[str]) -> list[T]:
    """Return the function's result for each table, in order; tables are processed in parallel."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, tables))


RENAMED_WORDS: dict[str, dict[str, str]] = {}
"""By column of a closed vocabulary: its words in older lakes, and what they are called now."""


def renamed_words(table: str) -> dict[str, dict[str, str]]:
    """Return the part of `RENAMED_WORDS` that is about the columns of a table."""
    schema = table_schema(table)
    return {column: words for column, words in RENAMED_WORDS.items() if column in schema}


def scan_files(table: str, files: Sequence[str]) -> pl.LazyFrame:
    """Scan files of a table as a LazyFrame with the columns and types of its contract."""
    # The first release of polars 2 takes no other mapping.
    rows = pl.scan_parquet(
        list(files), schema=dict(table_schema(table)), glob=False, missing_columns="insert"
    )
    renamed = renamed_words(table).items()
    return rows.with_columns(pl.col(name).replace(words) for name, words in renamed)


def row_counts(folder: Location, logged: Mapping[str, int | None]) -> dict[str, int]:
    """Return the number of rows of each file, from its footer if the log does not state it."""
    return {
        name: _count_footer_rows(folder / name) if n_rows is None else n_rows
        for name, n_rows in logged.items()
    }


def _count_footer_rows(file: Location) -> int:
    """Return the number of rows of a file; raise LakeError if its footer cannot be read."""
    # Imported here, so that whoever reads does not wait for Arrow, which loads numpy.
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        with file.open() as opened:
            return int(read_metadata(opened).num_rows)
    except (OSError, ArrowException) as error:
        raise read_error(error, str(file).split("/")[-2]) from None


class OpenTable:
    """A Delta table at one version, and what its log says about its files.

    Raises LakeError where it has a feature of Delta that another tool turned on.
    """

    def __init__(self, folder: Location, version: int | None = None) -> None:
        self.delta = open_table(folder, version)
        self._files = self.delta.get_add_actions(flatten=True)
        _raise_if_unsupported_feature(folder, self.delta)

    def log_values(self, column: str) -> dict[str, Any]:
        """Return the log's value of each file; null if the log has none."""
        names = self._files.column("path").to_pylist()
        is_there = column in self._files.column_names
        values = self._files.column(column).to_pylist() if is_there else [None] * len(names)
        return dict(zip(names, values, strict=True))


def open_recorded_table(folder: Location, state: TableState) -> OpenTable:
    """Open a table at a recorded state; raise LakeError if the table's log contradicts it."""
    table = OpenTable(folder, state.version)
    contents, recorded = table_contents(table.log_values("num_records")), state.contents
    is_same = contents.files_sha256 == recorded.files_sha256
    if not is_same or contents.n_rows not in (None, recorded.n_rows):
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {contents} at version "
            f"{state.version}, but the ingest left {recorded}"
            f"{_empty_commits_hint(folder, state.version)}; {DAMAGE_HINT}"
        )
    return table


def open_commits_table(folder: Location, version: int | None) -> OpenTable:
    """Open the table `ingests`; each of its versions adds a row, so its own log verifies it.

    Only those do not that another tool added to arrange its files anew, or to delete old ones.
    """
    table = OpenTable(folder, version)
    n_rows = sum(row_counts(folder, table.log_values("num_records")).values())
    n_ingests = table.delta.version()
    foreign = foreign_commits(table.delta) if n_rows != n_ingests else []
    if n_rows != n_ingests - len(foreign):
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {n_rows:,} ingests, but there "
            f"were {n_ingests - len(foreign):,}{_empty_commits_hint(folder, n_ingests)}"
            f"{foreign_commits_hint(foreign)}; {DAMAGE_HINT}"
        )
    return table


def foreign_commits(delta: "DeltaTable") -> list[str]:
    """Return the commits that only other tools make, such as `OPTIMIZE`, newest first."""
    return [
        f"{commit['operation']} in {commit['version']:020d}.json"
        for commit in delta.history()
        if not _is_own_commit(commit)
    ]


def has_newer_commits(folder: Location, version: int) -> bool:
    """Return whether magic wrote to a table after a version."""
    if not (folder / "_delta_log" / f"{version + 1:020d}.json").exists():
        return False
    from deltalake.exceptions import DeltaError

    try:
        delta = open_table(folder)
        return any(map(_is_own_commit, delta.history(delta.version() - version)))
    except (LakeError, DeltaError):
        return True  # a commit that was killed


def _is_own_commit(commit: Mapping[str, Any]) -> bool:
    return commit.get("operation") in (None, *_OWN_OPERATIONS)


def foreign_commits_hint(commits: Sequence[str]) -> str:
    """Return the hint for an error about a table with commits of other tools."""
    if not commits:
        return ""
    more = f" and {len(commits) - 1:,} more" if commits[1:] else ""
    return f" (another tool changed the table: {commits[0]}{more})"


def _raise_if_unsupported_feature(folder: Location, delta: "DeltaTable") -> None:
    """Raise LakeError for a table with a feature of Delta that magic does not use.

    Such a table is more than its Parquet files, all their rows and names, or cannot be changed as
    magic does: a merge, for one, would bring back rows that a vector of deletions hides.
    """
    protocol = delta.protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    features -= _KNOWN_FEATURES
    if protocol.min_writer_version in _FEATURES:
        features.add(_FEATURES[protocol.min_writer_version])
    if delta.metadata().configuration.get(_APPEND_ONLY) == "true":
        features.add("appendOnly")
    if features:
        raise LakeError(
            f"{folder}: the table has features of Delta that magic does not use: "
            f"{', '.join(sorted(features))}. Another tool changed it: restore the lake from a "
            "copy, or ingest the logs into a new lake"
        )


def _empty_commits_hint(folder: Location, version: int) -> str:
    """Return the hint for an error if commits of the log are empty files."""
    names = empty_commit_files(folder, version)
    if not names:
        return ""
    is_last = names == [f"{version:020d}.json"] and str(folder).endswith(f"/{COMMITS_TABLE}")
    mend = "; delete it and run the last ingest again" if is_last else ""
    return f" (the commit {names[0]} is empty, perhaps after a power loss{mend})"


@cache
def _first_process_id() -> int:
    """Return the id of the process that first opened a lake; a forked process inherits it."""
    return os.getpid()


def raise_if_forked() -> None:
    """Raise LakeError in a process that was forked after its parent had opened a lake.

    The libraries that read a lake use threads, which a fork does not have: it would wait for ever.
    """
    if os.getpid() != _first_process_id():
        raise LakeError(
            "this process was forked from one that had opened a lake, and would wait for ever: "
            'start processes with multiprocessing.get_context("spawn"), or open lakes only in the '
            "forked ones"
        )


def open_table(folder: Location, version: int | None = None) -> "DeltaTable":
    """Open a Delta table at a version, by default the newest; raise LakeError if it is damaged."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    raise_if_forked()
    try:
        return DeltaTable(str(folder), version=version)
    except (DeltaError, OSError) as error:
        raise_if_resources_exhausted(error)
        if is_permission_error(error):
            raise DeniedError(
                f"{folder}: the table may not be read: {one_line_message(error)}; {DENIED_HINT}"
            ) from None
        why = one_line_message(error)
        if not has_log(folder):  # of which the library's text is hard to read
            why = f"{'its log' if folder.exists() else 'the folder'} is missing"
        raise LakeError(
            f"{folder}: the lake is damaged, the table cannot be opened: {why}; {DAMAGE_HINT}"
        ) from None
