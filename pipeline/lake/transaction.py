"""Transactions: changes to several tables of a lake that become visible together or not at all.

Ingest and `magic maintain` write through `begin_transaction`, which holds the lake's lock. It first
restores each table to the version that the last row of `ingests` names, because a killed ingest may
have committed some tables. A commit then changes each table, and finally adds the row of `ingests`
that makes the changes visible.
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
    is_missing_parquet_file_error,
    is_permission_error,
    lake_read_error,
    one_line_message,
    raise_if_resources_exhausted,
)
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import GAME_TYPE_TABLES, TABLES, VERSION, table_schema
from pipeline.lake import LOCK_FILE_NAME, LOCK_SECONDS, create_missing_tables, open_lake
from pipeline.lake.files import TEXTS, DataFile, TableWriter, delta_remove_action
from pipeline.lake.stored_lake import StoredLake
from pipeline.lake.tables import (
    COMMITS_TABLE,
    EMPTY,
    VERSION_KEY,
    TableState,
    contents_of_files,
    foreign_commit_descriptions,
    foreign_commits_hint,
    map_tables_in_parallel,
    raise_if_clock_before_1970,
    scan_files,
)
from pipeline.stores import Location, open_file, parse_location

RowMask = NDArray[np.bool_]


class RowRemoval(NamedTuple):
    """A condition for the rows to remove from a table.

    Attributes:
        columns: Names of the columns that `mask` needs.
        mask: Returns for each row of an Arrow table with these columns whether to remove it.
    """

    columns: tuple[str, ...]
    mask: Callable[[pa.Table], RowMask]


def rewrite_files_with_removed_rows(
    table_folder: Location, table: str, files: Iterable[str], rows_to_remove: RowRemoval
) -> tuple[list[str], list[DataFile]]:
    """Write a copy, without the rows to remove, of each file that contains such rows.

    The old files are not deleted. One row group is in memory at a time.

    Args:
        table_folder: The folder of the table.
        table: The table's name.
        files: Paths of the files that may contain rows to remove.
        rows_to_remove: The condition for the rows to remove.

    Returns:
        A pair: the paths of the files that contain rows to remove, and the new files with the
        remaining rows of these files.

    Raises:
        LakeError: If a file is damaged.
    """
    schema = arrow_schema(table)
    encoded = [f.name for f in schema if f.type == pa.string() and f.name not in TEXTS]
    changed_files = []
    with TableWriter(table_folder, table).close_or_delete_on_error() as writer:
        for file in files:
            with _open_parquet(file, table, encoded) as parquet:
                groups = range(parquet.num_row_groups)
                masks = [
                    rows_to_remove.mask(parquet.read_row_group(n, list(rows_to_remove.columns)))
                    for n in groups
                ]
                if not any(mask.any() for mask in masks):
                    continue
                changed_files.append(file)
                for number, mask in enumerate(masks):
                    if not mask.all():
                        rows = _add_missing_columns_as_nulls(parquet.read_row_group(number), schema)
                        if mask.any():
                            # Decoded, so that no dictionary keeps values of removed rows.
                            rows = rows.filter(pl.Series(~mask).to_arrow()).cast(schema)
                        writer.write(rows)
    return changed_files, writer.files


@contextmanager
def _open_parquet(file: str, table: str, encoded: Sequence[str]) -> Iterator[pq.ParquetFile]:
    try:
        with open_file(file) as stream:
            metadata = pq.read_metadata(stream)
            columns = metadata.schema.to_arrow_schema().names
            dictionaries = [name for name in encoded if name in columns]
            yield pq.ParquetFile(stream, metadata=metadata, read_dictionary=dictionaries)
    except pa.ArrowInvalid as error:
        raise lake_read_error(error, table) from None


def _add_missing_columns_as_nulls(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    missing_columns = pa.schema([field for field in schema if field.name not in rows.column_names])
    no_rows = pa.Table.from_batches([], missing_columns)
    return pa.concat_tables([rows, no_rows], promote_options="default").select(schema.names)


@contextmanager
def begin_transaction(path: str | Path | Location) -> Iterator["Transaction"]:
    """Open a lake for changes in its newest state, and hold its lock until the block ends.

    First, missing tables are created, and changes that a killed ingest committed to only some
    tables are undone. If the block ends without a commit, the files that it wrote are deleted.

    Yields:
        The transaction, which changes nothing before its `commit` is called.
    """
    with reraise_as_lake_error(path), ExitStack() as stack:
        check_lock = stack.enter_context(hold_lake_lock(path))
        transaction = Transaction(open_lake(path), check_lock)
        stack.callback(transaction.delete_written_files_unless_committing)
        yield transaction


@contextmanager
def reraise_as_lake_error(path: str | Path | Location) -> Iterator[None]:
    """Re-raise errors of the block, such as a full disk, as LakeError with the lake's path.

    Raises MachineError if the machine has no memory or open files left.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        if is_missing_parquet_file_error(error):
            raise lake_read_error(error) from None
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
def hold_lake_lock(path: str | Path | Location) -> Iterator[Callable[[], None]]:
    """Hold the lock of a lake, so that no other process changes the lake in the meantime.

    Yields:
        A function that raises OSError if the lock was lost.

    Raises:
        LakeError: If another process holds the lock for `LOCK_SECONDS`.
    """
    raise_if_clock_before_1970()
    with ExitStack() as stack:
        try:
            check_lock = stack.enter_context(
                (parse_location(path) / LOCK_FILE_NAME).lock(LOCK_SECONDS)
            )
        except TimeoutError:  # not caught around the yield, where a disk or network can raise it
            raise LakeError(
                f"{path}: another ingest or `magic maintain` still holds the lock; try again later"
            ) from None
        yield check_lock


class Transaction:
    """Changes to several tables of a lake; readers see none of them before `commit`.

    Attributes:
        lake: The lake before the changes.
        ingest_id: The number that the commit will have in `ingests`.
        upgraded_from: The lake's contract version if the commit will change it; otherwise None.
        has_begun: Whether all checks of a commit have passed, so that tables may already refer to
            the written files.
    """

    def __init__(self, lake: StoredLake, check_lock: Callable[[], None] = lambda: None) -> None:
        self.lake = lake
        self._check_lock = check_lock
        self.ingest_id = lake.ingest_id + 1
        version = lake.contract_version
        self.upgraded_from = None if version == str(VERSION) else version
        self.has_begun = False
        self._added: dict[str, list[DataFile]] = {}
        self._removed: dict[str, list[str]] = {}
        self._written: list[Location] = []
        check_tables_match_packages(lake)
        # Tables of packages that were installed after the last commit.
        missing_tables = [table for table in TABLES if table not in lake.existing_tables]
        create_missing_tables(lake.path, missing_tables)
        lake.states.update(dict.fromkeys(missing_tables, TableState(0, EMPTY)))
        map_tables_in_parallel(
            lambda table: _undo_commits_after_version(lake, table, lake.states[table].version),
            lake.states,
        )
        # Tables whose schema in the log is older; their files are rewritten by the commit.
        self._outdated = [table for table in lake.states if _has_outdated_schema(lake, table)]

    def add_files(self, table: str, files: Sequence[DataFile]) -> None:
        """Add files to a table when the transaction commits; they are already in its folder."""
        self._added.setdefault(table, []).extend(files)

    def write_rows(self, table: str, row_frames: Iterable[pl.DataFrame | pa.Table]) -> None:
        """Write rows to new files now, and add the files to a table when the transaction commits.

        One frame is in memory at a time.
        """
        with TableWriter(self.lake.table_folder(table), table).close_or_delete_on_error() as writer:
            for rows in row_frames:
                writer.write(rows)
        self._delete_files_on_failure(table, writer.files)
        self.add_files(table, writer.files)

    def remove_committed_rows(self, table: str, rows_to_remove: RowRemoval) -> None:
        """Remove rows of earlier commits from a table when the transaction commits.

        The remaining rows of the files that contain them are written to new files now.
        """
        old_paths, new_files = rewrite_files_with_removed_rows(
            self.lake.table_folder(table), table, self.lake.table_files(table), rows_to_remove
        )
        self.replace_files(table, list(map(_last_path_part, old_paths)), new_files)

    def replace_files(
        self, table: str, old_names: Sequence[str], new_files: Sequence[DataFile]
    ) -> None:
        """Replace files of a table by new files when the transaction commits.

        If the transaction fails, it deletes the new files, so the caller must not delete them.

        Args:
            table: The table's name.
            old_names: Names of the files to replace.
            new_files: The new files, which are already in the table's folder.
        """
        self._delete_files_on_failure(table, new_files)
        self.add_files(table, new_files)
        self._removed.setdefault(table, []).extend(old_names)

    def remove_rows_from_staged_files(
        self, table: str, staged_files: Sequence[DataFile], rows_to_remove: RowRemoval
    ) -> list[DataFile]:
        """Remove rows from files that are not committed yet.

        Files that contain such rows are deleted and replaced by new files.

        Args:
            table: The table's name.
            staged_files: Files in the table's folder that are not committed yet.
            rows_to_remove: The condition for the rows to remove.

        Returns:
            The unchanged files, followed by the new files.
        """
        folder = self.lake.table_folder(table)
        by_path = {str(folder / file.name): file for file in staged_files}
        old_paths, new_files = rewrite_files_with_removed_rows(
            folder, table, by_path, rows_to_remove
        )
        self._delete_files_on_failure(table, new_files)
        for path in old_paths:
            (folder / _last_path_part(path)).delete_file()
        return [file for path, file in by_path.items() if path not in old_paths] + new_files

    def _delete_files_on_failure(self, table: str, files: Sequence[DataFile]) -> None:
        self._written += [self.lake.table_folder(table) / file.name for file in files]

    def delete_written_files_unless_committing(self) -> None:
        """Delete the written files; do nothing if a commit has begun and tables may need them."""
        for path in () if self.has_begun else self._written:
            path.delete_file(missing_ok=True)

    def commit(self, commit_row: dict[str, object]) -> None:
        """Make all changes of the transaction visible to readers.

        Args:
            commit_row: The row to add to `ingests`, without the columns `ingest_id`, `finished_at`,
                `contract_version` and `versions`, which are added here.

        Raises:
            LakeError: If an added file is missing or truncated.
            OSError: If the lock was lost or a file cannot be written.
        """
        self._check_lock()
        for table in self._outdated:
            self._rewrite_files_with_missing_columns(table)
        map_tables_in_parallel(self._raise_if_added_files_changed, self._added)
        self.has_begun = True
        versions = map_tables_in_parallel(
            self._commit_table_and_describe_contents, sorted(self.lake.states)
        )
        commit_row |= {
            "ingest_id": self.ingest_id,
            # The clock may have been set back since the ingest started.
            "finished_at": max(cast(datetime, commit_row["started_at"]), datetime.now(UTC)),
            "contract_version": VERSION,
            "versions": versions,
        }
        self.write_rows(
            COMMITS_TABLE, [pl.DataFrame([commit_row], schema=table_schema(COMMITS_TABLE))]
        )
        self._commit_table(COMMITS_TABLE)

    def _rewrite_files_with_missing_columns(self, table: str) -> None:
        """Write new files with nulls in the missing columns, in place of all files of a table."""
        removed_names = self._removed.setdefault(table, [])
        old_paths = [
            file
            for file in self.lake.table_files(table)
            if _last_path_part(file) not in removed_names
        ]
        self.write_rows(table, (scan_files(table, [file]).collect() for file in old_paths))
        removed_names += map(_last_path_part, old_paths)

    def _raise_if_added_files_changed(self, table: str) -> None:
        """Raise LakeError if a file to add is missing or has another size than when written."""
        folder, added_files = self.lake.table_folder(table), self._added[table]
        sizes = {file.name: file.n_bytes for file in folder.list_files()} if added_files else {}
        lost_names = [file.name for file in added_files if sizes.get(file.name) != file.n_bytes]
        if lost_names:
            raise LakeError(
                f"{folder}: {len(lost_names):,} files that were written for this ingest are "
                f"missing or truncated, for example {lost_names[0]}; nothing was changed: run the "
                "same command again"
            )

    def _commit_table_and_describe_contents(self, table: str) -> dict[str, object]:
        """Commit the changes of a table; return its entry for the column `versions` of `ingests`.

        The contents in this entry are computed from the previous contents and the changes, not from
        the table's log, so that they can verify the log.
        """
        removed_names = self._removed.get(table, ())
        row_counts = {
            name: n_rows
            for name, n_rows in self.lake.row_counts_by_file(table).items()
            if name not in removed_names
        }
        row_counts |= {file.name: file.n_rows for file in self._added.get(table, ())}
        return {
            "table": table,
            **asdict(contents_of_files(row_counts)),
            "version": self._commit_table(table),
        }

    def _commit_table(self, table: str) -> int:
        self._check_lock()
        delta = self.lake.delta_table(table)
        add_actions = [file.delta_add_action() for file in self._added.get(table, ())]
        # Only an overwrite changes the schema in the log, and it removes all previous files itself.
        is_outdated = table in self._outdated
        removed_names = () if is_outdated else self._removed.get(table, ())
        actions: list[AddAction | RemoveAction] = [
            *add_actions,
            *map(delta_remove_action, removed_names),
        ]
        version = delta.version()
        try:
            if table == COMMITS_TABLE and self.upgraded_from:
                self._commit_row_and_contract_version(delta)
            elif actions or is_outdated:
                delta.create_write_transaction(
                    actions,
                    mode="overwrite" if is_outdated else "append",
                    schema=arrow_schema(table),
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
                delta.update_incremental()
        except (OSError, DeltaError):
            # The store may have written the commit although its response was lost. No other process
            # can have written it, because this one holds the lock.
            delta.update_incremental()
            names = set(delta.get_add_actions(flatten=True).column("path").to_pylist())
            is_committed = names.isdisjoint(removed_names) and names.issuperset(
                file.path for file in add_actions
            )
            if delta.version() != version + 1 or not is_committed:
                raise
        return delta.version()

    def _commit_row_and_contract_version(self, delta: DeltaTable) -> None:
        """Commit the row of `ingests` and the lake's new contract version in one Delta commit.

        Earlier versions of magic compare the number of commits of `ingests` with its number of rows
        before they read the contract version, so they report a commit without a row as damage. The
        commit is written here, because deltalake changes properties only in a commit without rows.
        """
        now = int(time.time() * 1000)
        previous = delta.metadata()
        metadata = {
            "id": previous.id,
            "name": previous.name,
            "description": previous.description,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": Schema.from_arrow(arrow_schema(COMMITS_TABLE)).to_json(),
            "partitionColumns": previous.partition_columns,
            "createdTime": previous.created_time,
            "configuration": previous.configuration | {VERSION_KEY: str(VERSION)},
        }
        file_fields = {"dataChange": True, "partitionValues": {}}
        actions = [
            {"commitInfo": {"timestamp": now, "operation": "WRITE", "operationParameters": {}}},
            {"metaData": metadata},
            *(
                {
                    "add": file_fields
                    | {"path": file.name, "size": file.n_bytes, "stats": file.stats}
                    | {"modificationTime": now}
                }
                for file in self._added[COMMITS_TABLE]
            ),
            *(
                {"remove": file_fields | {"path": name, "deletionTimestamp": now}}
                for name in self._removed.get(COMMITS_TABLE, ())
            ),
        ]
        log = self.lake.table_folder(COMMITS_TABLE) / "_delta_log"
        draft = log.create_draft(f"_{uuid4()}.json.tmp")
        draft.path.write_bytes(b"\n".join(map(msgspec.json.encode, actions)))
        draft.finish(f"{delta.version() + 1:020d}.json")
        delta.update_incremental()


def check_tables_match_packages(lake: StoredLake) -> None:
    """Raise LakeError if the lake's tables do not fit the game packages that are installed now.

    The lake must not have tables of other packages, nor other columns in the tables of games.
    """
    if lake.unknown_tables:
        raise LakeError(
            f"{lake.path}: the lake has tables of a package that is not installed: "
            f"{', '.join(lake.unknown_tables)}; install the package to change the lake"
        )
    tables = [table for table in GAME_TYPE_TABLES if table in lake.existing_tables]
    map_tables_in_parallel(partial(_raise_if_columns_changed, lake), tables)


def _raise_if_columns_changed(lake: StoredLake, table: str) -> None:
    """Raise LakeError if a table of the lake has other columns than its definition now."""
    stored_types = {
        field.name: field.type for field in pa.schema(lake.delta_table(table).schema().to_arrow())
    }
    expected_types = {field.name: field.type for field in arrow_schema(table)}
    if stored_types != expected_types:
        names = sorted(
            name
            for name in stored_types.keys() | expected_types.keys()
            if stored_types.get(name) != expected_types.get(name)
        )
        raise LakeError(
            f"{lake.path}: the lake was created with other columns of the table `{table}` "
            f"({', '.join(names)}), perhaps by another version of the package that has this game: "
            "use that version, or ingest the logs into a new lake"
        )


def _has_outdated_schema(lake: StoredLake, table: str) -> bool:
    """Return whether a table's log lacks a column or forbids nulls that its definition allows."""
    nullable = {field.name for field in lake.delta_table(table).schema().fields if field.nullable}
    return any(field.nullable and field.name not in nullable for field in arrow_schema(table))


def _last_path_part(file: str) -> str:
    return file.rpartition("/")[2]


def _undo_commits_after_version(lake: StoredLake, table: str, version: int) -> None:
    delta = lake.delta_table(table)
    delta.update_incremental()
    if delta.version() == version:
        return
    try:
        # Another tool may have enabled features in the commits that are undone here.
        delta.restore(version, protocol_downgrade_allowed=True)
    except DeltaError as error:
        raise LakeError(
            f"{lake.table_folder(table)}: the table cannot be restored to its version {version}: "
            f"{one_line_message(error)}{foreign_commits_hint(foreign_commit_descriptions(delta))}; "
            f"{DAMAGE_HINT}"
        ) from None
    delta.update_incremental()
