"""One commit to a lake, visible in all tables or in none.

Commits are serialised by a lock. Under it every table is first put back to the state that the last
row of `ingests` names, since an ingest that was killed may have got half way; then each table is
committed, and last the row that makes them visible.
"""

import errno
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast
from uuid import uuid4

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction
from msgspec.structs import asdict
from numpy.typing import NDArray

from pipeline.errors import (
    DAMAGE_HINT,
    DENIED_HINT,
    LakeError,
    PipelineError,
    is_file_missing_error,
    is_permission_error,
    one_line_message,
    raise_if_resources_exhausted,
    read_error,
)
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import GAME_TYPE_TABLES, TABLES, VERSION, table_schema
from pipeline.lake import LOCK, LOCK_SECONDS, create_tables, open_lake
from pipeline.lake.files import TEXTS, DataFile, TableWriter, remove_action
from pipeline.lake.stored_lake import StoredLake
from pipeline.lake.tables import (
    COMMITS_TABLE,
    EMPTY,
    VERSION_KEY,
    TableState,
    check_clock,
    foreign_commits,
    foreign_commits_hint,
    map_tables,
    scan_files,
    table_contents,
)
from pipeline.stores import Location, open_file, parse_location

# Rows taken out of a table: what a file keeps is written to a new one, a row group at a time.

RowMask = NDArray[np.bool_]


class RowRemoval(NamedTuple):
    """The rows to remove: `mask` marks them in a frame with the columns `columns`."""

    columns: tuple[str, ...]
    mask: Callable[[pa.Table], RowMask]


def rewrite_files(
    folder: Location, table: str, files: Iterable[str], removal: RowRemoval
) -> tuple[list[str], list[DataFile]]:
    """Return the files that contain rows to remove, and new files with their remaining rows.

    Raises LakeError for a file that is damaged.
    """
    schema = arrow_schema(table)
    encoded = [f.name for f in schema if f.type == pa.string() and f.name not in TEXTS]
    changed = []
    with TableWriter(folder, table).complete_or_delete() as writer:
        for file in files:
            with _open_parquet(file, table, encoded) as parquet:
                groups = range(parquet.num_row_groups)
                masks = [
                    removal.mask(parquet.read_row_group(n, list(removal.columns))) for n in groups
                ]
                if not any(mask.any() for mask in masks):
                    continue
                changed.append(file)
                for number, mask in enumerate(masks):
                    if not mask.all():
                        rows = _add_missing_columns(parquet.read_row_group(number), schema)
                        if mask.any():
                            # Decoded, so that no dictionary keeps what only removed rows had.
                            rows = rows.filter(pl.Series(~mask).to_arrow()).cast(schema)
                        writer.write(rows)
    return changed, writer.files


@contextmanager
def _open_parquet(file: str, table: str, encoded: Sequence[str]) -> Iterator[pq.ParquetFile]:
    try:
        with open_file(file) as opened:
            metadata = pq.read_metadata(opened)
            known = metadata.schema.to_arrow_schema().names
            dictionaries = [name for name in encoded if name in known]
            yield pq.ParquetFile(opened, metadata=metadata, read_dictionary=dictionaries)
    except pa.ArrowInvalid as error:
        raise read_error(error, table) from None


def _add_missing_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with nulls in the columns that an older file lacks."""
    lacking = pa.schema([field for field in schema if field.name not in rows.column_names])
    nothing = pa.Table.from_batches([], lacking)
    return pa.concat_tables([rows, nothing], promote_options="default").select(schema.names)


@contextmanager
def begin_transaction(path: str | Path | Location) -> Iterator["Transaction"]:
    """Start a transaction on the lake's newest state, and hold the lake's lock."""
    with name_lake_in_errors(path), ExitStack() as stack:
        check_lock = stack.enter_context(lake_lock(path))
        change = Transaction(open_lake(path), check_lock)
        stack.callback(change.delete_written_files)
        yield change


@contextmanager
def name_lake_in_errors(path: str | Path | Location) -> Iterator[None]:
    """Re-raise errors of writing, such as a full disk, as LakeError with the lake's path.

    Raises MachineError where memory or open files ran out.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        if is_file_missing_error(error):
            raise read_error(error) from None
        if not isinstance(error, (OSError, DeltaError)):
            raise_if_resources_exhausted(error)
            raise
        hint = f"; {DENIED_HINT}" if is_permission_error(error) else ""
        if getattr(error, "errno", None) == errno.ENOSPC:
            hint = f", there or in {tempfile.gettempdir()} (TMPDIR)"
        raise LakeError(
            f"{path}: the lake could not be written: {one_line_message(error)}{hint}"
        ) from error


@contextmanager
def lake_lock(path: str | Path | Location) -> Iterator[Callable[[], None]]:
    """Hold the lake's lock; yield a function that raises OSError if the lock was lost.

    Only here does a `TimeoutError` tell of the lock: that of a disk or a network is another.
    """
    check_clock()
    with ExitStack() as stack:
        try:
            check = stack.enter_context((parse_location(path) / LOCK).lock(LOCK_SECONDS))
        except TimeoutError:
            raise LakeError(
                f"{path}: another ingest or `magic maintain` still holds the lock; try again later"
            ) from None
        yield check


class Transaction:
    """Changes to the tables of a lake; nothing is visible before `commit`."""

    def __init__(self, lake: StoredLake, check_lock: Callable[[], None] = lambda: None) -> None:
        self.lake = lake
        self._check_lock = check_lock
        self.ingest_id = lake.ingest_id + 1
        stored = lake.contract_version
        self.upgraded_from = None if stored == str(VERSION) else stored
        # Whether nothing can refuse the commit any more, so that tables may name its files.
        self.has_begun = False
        self._added: dict[str, list[DataFile]] = {}
        self._removed: dict[str, list[str]] = {}
        self._written: list[Location] = []
        check_writable(lake)
        # Those of packages that were installed since.
        missing = [table for table in TABLES if table not in lake.existing_tables]
        create_tables(lake.path, missing)
        lake.states.update(dict.fromkeys(missing, TableState(0, EMPTY)))
        map_tables(
            lambda table: _restore_table(lake, table, lake.states[table].version), lake.states
        )
        # Those that lack columns, or nulls in them, which are written anew with what changes.
        self._outdated = [table for table in lake.states if _is_outdated(lake, table)]

    def add_files(self, table: str, files: Sequence[DataFile]) -> None:
        """Add files that are already in the table's folder."""
        self._added.setdefault(table, []).extend(files)

    def write_rows(self, table: str, frames: Iterable[pl.DataFrame | pa.Table]) -> None:
        """Write the rows of frames to new files, with one frame in memory at a time."""
        with TableWriter(self.lake.table_folder(table), table).complete_or_delete() as writer:
            for rows in frames:
                writer.write(rows)
        self._delete_if_abandoned(table, writer.files)
        self.add_files(table, writer.files)

    def remove_rows(self, table: str, removal: RowRemoval) -> None:
        """Remove rows that were committed before."""
        old, new = rewrite_files(
            self.lake.table_folder(table), table, self.lake.table_files(table), removal
        )
        self.replace_files(table, list(map(_file_name, old)), new)

    def replace_files(self, table: str, old: Sequence[str], new: Sequence[DataFile]) -> None:
        """Replace the old files of these names by new files.

        The new ones are this transaction's from here on, to be deleted by it alone.
        """
        self._delete_if_abandoned(table, new)
        self.add_files(table, new)
        self._removed.setdefault(table, []).extend(old)

    def remove_rows_from_staged_files(
        self, table: str, staged: Sequence[DataFile], removal: RowRemoval
    ) -> list[DataFile]:
        """Return staged files without the rows to remove, rewritten if needed."""
        folder = self.lake.table_folder(table)
        by_path = {str(folder / file.name): file for file in staged}
        old, new = rewrite_files(folder, table, by_path, removal)
        self._delete_if_abandoned(table, new)
        for path in old:
            (folder / _file_name(path)).delete_file()
        return [file for path, file in by_path.items() if path not in old] + new

    def _delete_if_abandoned(self, table: str, files: Sequence[DataFile]) -> None:
        self._written += [self.lake.table_folder(table) / file.name for file in files]

    def delete_written_files(self) -> None:
        """Delete the written files, unless a commit has begun. A table may refer to them then."""
        for path in () if self.has_begun else self._written:
            path.delete_file(missing_ok=True)

    def commit(self, row: dict[str, object]) -> None:
        """Commit all changes.

        `row` is the row of `ingests` without the columns that the transaction fills.

        Raises LakeError where files that were added are not there any more.
        """
        self._check_lock()
        for table in self._outdated:
            self._rewrite_older_files(table)
        map_tables(self._raise_if_file_lost, self._added)
        self.has_begun = True
        after = map_tables(self._commit_contents, sorted(self.lake.states))
        row |= {
            "ingest_id": self.ingest_id,
            # A clock that is set back must not make an ingest end before it began.
            "finished_at": max(cast(datetime, row["started_at"]), datetime.now(UTC)),
            "contract_version": VERSION,
            "versions": after,
        }
        self.write_rows(COMMITS_TABLE, [pl.DataFrame([row], schema=table_schema(COMMITS_TABLE))])
        self._commit_table(COMMITS_TABLE)

    def _rewrite_older_files(self, table: str) -> None:
        """Rewrite older files, with nulls in the columns that they lack."""
        removed = self._removed.setdefault(table, [])
        old = [file for file in self.lake.table_files(table) if _file_name(file) not in removed]
        self.write_rows(table, (scan_files(table, [file]).collect() for file in old))
        removed += map(_file_name, old)

    def _raise_if_file_lost(self, table: str) -> None:
        """Raise LakeError before any change if an added file is not as it was written."""
        folder, added = self.lake.table_folder(table), self._added[table]
        sizes = {file.name: file.n_bytes for file in folder.list_files()} if added else {}
        lost = [file.name for file in added if sizes.get(file.name) != file.n_bytes]
        if lost:
            raise LakeError(
                f"{folder}: {len(lost):,} files that were written for this ingest are gone or cut, "
                f"for example {lost[0]}; nothing was changed: run the same command again"
            )

    def _commit_contents(self, table: str) -> dict[str, object]:
        """Commit what changes in a table; return its entry in the column `versions`.

        What the table is to consist of follows from what was there and what changes, not from its
        log.
        """
        removed = self._removed.get(table, ())
        counts = {
            n: rows for n, rows in self.lake.row_counts_by_file(table).items() if n not in removed
        }
        counts |= {file.name: file.n_rows for file in self._added.get(table, ())}
        return {
            "table": table,
            **asdict(table_contents(counts)),
            "version": self._commit_table(table),
        }

    def _commit_table(self, table: str) -> int:
        self._check_lock()
        delta = self.lake.delta_table(table)
        added = [file.add_action() for file in self._added.get(table, ())]
        # Only an overwrite changes the columns in the log; it removes all that was there itself.
        is_outdated = table in self._outdated
        gone = () if is_outdated else self._removed.get(table, ())
        actions: list[AddAction | RemoveAction] = [*added, *map(remove_action, gone)]
        version = delta.version()
        try:
            if table == COMMITS_TABLE and self.upgraded_from:
                self._commit_upgrade(delta)
            elif actions or is_outdated:
                delta.create_write_transaction(
                    actions,
                    mode="overwrite" if is_outdated else "append",
                    schema=arrow_schema(table),
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
                delta.update_incremental()
        except (OSError, DeltaError):
            # A store can have written a commit whose answer was lost; nobody else writes here.
            delta.update_incremental()
            names = set(delta.get_add_actions(flatten=True).column("path").to_pylist())
            is_committed = names.issuperset(file.path for file in added) and names.isdisjoint(gone)
            if delta.version() != version + 1 or not is_committed:
                raise
        return delta.version()

    def _commit_upgrade(self, delta: DeltaTable) -> None:
        """Commit the row of `ingests` and the new contract version together.

        Earlier versions of magic compare the commits of `ingests` with its rows before they look
        at the contract version, so a commit without a row looks like damage to them. deltalake
        changes a table's properties only in such a commit.
        """
        now = int(time.time() * 1000)
        old = delta.metadata()
        metadata = {
            "id": old.id,
            "name": old.name,
            "description": old.description,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": Schema.from_arrow(arrow_schema(COMMITS_TABLE)).to_json(),
            "partitionColumns": old.partition_columns,
            "createdTime": old.created_time,
            "configuration": old.configuration | {VERSION_KEY: str(VERSION)},
        }
        change = {"dataChange": True, "partitionValues": {}}
        actions = [
            {"commitInfo": {"timestamp": now, "operation": "WRITE", "operationParameters": {}}},
            {"metaData": metadata},
            *(
                {
                    "add": change
                    | {"path": file.name, "size": file.n_bytes, "stats": file.stats}
                    | {"modificationTime": now}
                }
                for file in self._added[COMMITS_TABLE]
            ),
            *(
                {"remove": change | {"path": name, "deletionTimestamp": now}}
                for name in self._removed.get(COMMITS_TABLE, ())
            ),
        ]
        log = self.lake.table_folder(COMMITS_TABLE) / "_delta_log"
        draft = log.create_draft(f"_{uuid4()}.json.tmp")
        draft.path.write_bytes(b"\n".join(map(msgspec.json.encode, actions)))
        draft.finish(f"{delta.version() + 1:020d}.json")
        delta.update_incremental()


def check_writable(lake: StoredLake) -> None:
    """Raise LakeError if the lake can be read but not written."""
    if lake.unknown_tables:
        raise LakeError(
            f"{lake.path}: the lake has tables of a package that is not installed: "
            f"{', '.join(lake.unknown_tables)}; install the package to change the lake"
        )
    own = [table for table in GAME_TYPE_TABLES if table in lake.existing_tables]
    map_tables(partial(_check_columns, lake), own)


def _check_columns(lake: StoredLake, table: str) -> None:
    """Raise LakeError if a game type has other columns now than when its table was created."""
    there = {
        field.name: field.type for field in pa.schema(lake.delta_table(table).schema().to_arrow())
    }
    wanted = {field.name: field.type for field in arrow_schema(table)}
    if there != wanted:
        names = sorted(n for n in there.keys() | wanted.keys() if there.get(n) != wanted.get(n))
        raise LakeError(
            f"{lake.path}: the lake was made with other columns of the table `{table}` "
            f"({', '.join(names)}), perhaps by another version of the package that has this game: "
            "use that version, or ingest the logs into a new lake"
        )


def _is_outdated(lake: StoredLake, table: str) -> bool:
    """Return whether the table's log lacks a column, or a column may have nulls now."""
    nullable = {field.name for field in lake.delta_table(table).schema().fields if field.nullable}
    return any(field.nullable and field.name not in nullable for field in arrow_schema(table))


def _file_name(file: str) -> str:
    return file.rpartition("/")[2]


def _restore_table(lake: StoredLake, table: str, version: int) -> None:
    delta = lake.delta_table(table)
    delta.update_incremental()
    if delta.version() == version:
        return
    try:
        # What another tool turned on in the meantime goes with its commits.
        delta.restore(version, protocol_downgrade_allowed=True)
    except DeltaError as error:
        raise LakeError(
            f"{lake.table_folder(table)}: the table cannot be restored to its version {version}: "
            f"{one_line_message(error)}{foreign_commits_hint(foreign_commits(delta))}; "
            f"{DAMAGE_HINT}"
        ) from None
    delta.update_incremental()
