"""The Delta tables of a lake, each opened at one version and held against what was recorded."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import polars as pl

from pipeline.errors import DAMAGE_HINT, DENIED_HINT, DeniedError, LakeError
from pipeline.events.contracts import polars_schema
from pipeline.lake.contents import Contents, contents_of, empty_commits, has_log
from pipeline.library_errors import check_machine, is_denied, one_line
from pipeline.stores import Location

if TYPE_CHECKING:
    from deltalake import DeltaTable

VERSION_KEY = "magic.contractVersion"
COMMITS = "ingests"
ROLES = "roles"
# Most of what is done with a table is to wait for a disk, or for an object store.
_AT_ONCE = 8

# As deltalake names what magic has it do; others merge files, delete old ones or rows, and so on.
_OWN_OPERATIONS = ("CREATE TABLE", "WRITE", "RESTORE")
# Any table may name these; it needs nothing for them.
_KNOWN_FEATURES = {"appendOnly", "invariants"}

T = TypeVar("T")


class TableState(NamedTuple):
    """A table at one state of a lake: its version, and what it consists of."""

    version: int
    contents: Contents


def table_states(versions: Iterable[Mapping[str, Any]]) -> dict[str, TableState]:
    """The state of each table, as a row of `ingests` has them in its column `versions`."""
    return {
        entry["table"]: TableState(
            entry["version"],
            Contents(entry["n_files"], entry["n_rows"], entry["files_sha256"]),
        )
        for entry in versions
    }


def of_each(work: Callable[[str], T], tables: Iterable[str]) -> list[T]:
    """What the function gives for each table, in their order; several tables are done at once."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, tables))


RENAMED_WORDS: dict[str, dict[str, str]] = {}
"""By column of a closed vocabulary: its words in older lakes, and what they are called now."""


def renamed_words(table: str) -> dict[str, dict[str, str]]:
    """Return the part of `RENAMED_WORDS` that is about the columns of a table."""
    schema = polars_schema(table)
    return {column: words for column, words in RENAMED_WORDS.items() if column in schema}


def scan(table: str, files: Sequence[str]) -> pl.LazyFrame:
    """The rows of some files of a table, with the columns, types and words of its contract."""
    # The first release of polars 2 takes no other mapping.
    rows = pl.scan_parquet(
        list(files), schema=dict(polars_schema(table)), glob=False, missing_columns="insert"
    )
    renamed = renamed_words(table).items()
    return rows.with_columns(pl.col(name).replace(words) for name, words in renamed)


def known_rows(folder: Location, logged: Mapping[str, int | None]) -> dict[str, int]:
    """The rows of each file, from its footer where the log does not say."""
    return {
        name: _footer_rows(folder / name) if n_rows is None else n_rows
        for name, n_rows in logged.items()
    }


def _footer_rows(file: Location) -> int:
    """How many rows a file has; raises LakeError where its footer cannot be read."""
    # Imported here, so that whoever reads does not wait for Arrow, which loads numpy.
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        with file.open() as opened:
            return int(read_metadata(opened).num_rows)
    except (OSError, ArrowException) as error:
        check_machine(error)
        raise LakeError(f"{file}: {one_line(error)}; {DAMAGE_HINT}") from None


class OpenTable:
    """A Delta table at one version, and what its log says of its files there.

    Raises LakeError where rows are not just those of its files, as another tool can have it.
    """

    def __init__(self, folder: Location, version: int | None = None) -> None:
        self.delta = open_table(folder, version)
        self._files = self.delta.get_add_actions(flatten=True)
        _refuse_features(folder, self.delta, is_empty=not self._files.num_rows)

    def logged(self, column: str) -> dict[str, Any]:
        """What the log says of each file, null where it does not say."""
        names = self._files.column("path").to_pylist()
        is_there = column in self._files.column_names
        values = self._files.column(column).to_pylist() if is_there else [None] * len(names)
        return dict(zip(names, values, strict=True))


def opened_at(folder: Location, state: TableState) -> OpenTable:
    """A table at a recorded state; raises LakeError where its log says otherwise."""
    table = OpenTable(folder, state.version)
    contents = contents_of(table.logged("num_records"))
    if not contents.agrees(state.contents):
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {contents} at version "
            f"{state.version}, but the ingest left {state.contents}"
            f"{_emptied(folder, state.version)}; {DAMAGE_HINT}"
        )
    return table


def opened_journal(folder: Location, version: int | None) -> OpenTable:
    """The table `ingests`. Each version of it adds a row, so its own log is enough to check it.

    Only those do not that another tool added to arrange its files anew, or to delete old ones.
    """
    table = OpenTable(folder, version)
    n_rows = sum(known_rows(folder, table.logged("num_records")).values())
    n_ingests = table.delta.version()
    foreign = foreign_commits(table.delta) if n_rows != n_ingests else []
    if n_rows != n_ingests - len(foreign):
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {n_rows:,} ingests, but there "
            f"were {n_ingests - len(foreign):,}{_emptied(folder, n_ingests)}{by_others(foreign)}; "
            f"{DAMAGE_HINT}"
        )
    return table


def foreign_commits(delta: "DeltaTable") -> list[str]:
    """The commits of a table that only another tool makes, the newest first, as in `OPTIMIZE`."""
    return [
        f"{commit['operation']} in {commit['version']:020d}.json"
        for commit in delta.history()
        if not _is_own(commit)
    ]


def has_gone_on(folder: Location, version: int) -> bool:
    """Whether a table was written to after a version, if not by another tool alone."""
    if not (folder / "_delta_log" / f"{version + 1:020d}.json").exists():
        return False
    from deltalake.exceptions import DeltaError

    try:
        delta = open_table(folder)
        return any(map(_is_own, delta.history(delta.version() - version)))
    except (LakeError, DeltaError):
        return True  # a commit that was killed


def _is_own(commit: Mapping[str, Any]) -> bool:
    return commit.get("operation") in (None, *_OWN_OPERATIONS)


def by_others(commits: Sequence[str]) -> str:
    """What to add to an error about a table with such commits."""
    if not commits:
        return ""
    more = f" and {len(commits) - 1:,} more" if commits[1:] else ""
    return f" (another tool changed the table: {commits[0]}{more})"


def _refuse_features(folder: Location, delta: "DeltaTable", *, is_empty: bool) -> None:
    """Raises LakeError for a table that is more than its Parquet files, all their rows and names.

    No table is made so; a vector of deleted rows, for one, would come to life in a merge.
    """
    protocol = delta.protocol()
    named = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if unknown := sorted(named - _KNOWN_FEATURES):
        what = f"features of Delta that magic does not know: {', '.join(unknown)}"
    elif protocol.min_reader_version == 2 or 2 < protocol.min_writer_version < 7:
        what = "a newer protocol of Delta than magic knows"
    elif not is_empty and _has_deletion_vectors(delta):
        what = "deletion vectors, so some rows of its files do not count"
    else:
        return
    raise LakeError(
        f"{folder}: the table has {what}. Another tool changed it: restore the lake from a copy, "
        "or ingest the logs into a new lake"
    )


def _has_deletion_vectors(delta: "DeltaTable") -> bool:
    from deltalake.exceptions import DeltaError

    try:
        return any(batch.num_rows for batch in delta.deletion_vectors())
    except DeltaError:  # there is one, and its file cannot be read
        return True


def _emptied(folder: Location, version: int) -> str:
    """What to add to an error if commits of the log are empty."""
    names = empty_commits(folder, version)
    if not names:
        return ""
    is_last = names == [f"{version:020d}.json"] and str(folder).endswith(f"/{COMMITS}")
    mend = "; delete it and run the last ingest again" if is_last else ""
    return f" (the commit {names[0]} is empty, perhaps after a power loss{mend})"


@cache
def _first_process() -> int:
    """The process that opened the first lake; a fork of it has the same."""
    return os.getpid()


def refuse_forked() -> None:
    """Raises LakeError in a process that was forked from one that had opened a lake before.

    The libraries that read a lake use threads, which a fork does not have: it would wait for ever.
    """
    if os.getpid() != _first_process():
        raise LakeError(
            "this process was forked from one that had opened a lake, and would wait for ever: "
            'start processes with multiprocessing.get_context("spawn"), or open lakes only in the '
            "forked ones"
        )


def open_table(folder: Location, version: int | None = None) -> "DeltaTable":
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    refuse_forked()
    try:
        return DeltaTable(str(folder), version=version)
    except (DeltaError, OSError) as error:
        check_machine(error)
        if is_denied(error):
            raise DeniedError(
                f"{folder}: the table may not be read: {one_line(error)}; {DENIED_HINT}"
            ) from None
        raise LakeError(
            f"{folder}: the lake is damaged, the table cannot be opened: {_reason(folder, error)}; "
            f"{DAMAGE_HINT}"
        ) from None


def _reason(folder: Location, error: Exception) -> str:
    """Why a table cannot be opened; the library's text of a missing folder is hard to read."""
    if not folder.exists():
        return "the folder is missing"
    if not has_log(folder):
        return "its log is missing"
    return one_line(error)
