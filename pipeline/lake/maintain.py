"""Merge the small files of a lake into large sorted files, and delete unreachable files.

`magic maintain` calls `maintain`. A merge is committed like an ingest without documents: readers
keep the state that they opened, and if an ingest changes a table meanwhile, its merge is dropped.
Rows are merged in chunks, so that memory use stays bounded.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError
from pipeline.events.contracts import table_schema
from pipeline.lake import open_lake
from pipeline.lake.files import (
    MAX_FILE_BYTES,
    MAX_FILE_ROWS,
    SORTED_FILE_PREFIX,
    TEXTS,
    DataFile,
    TableWriter,
    row_counts_and_text_bytes_by_group,
)
from pipeline.lake.stored_lake import StoredLake
from pipeline.lake.tables import (
    CATALOG_FILE_NAME,
    COMMITS_TABLE,
    TableState,
    delete_abandoned_drafts,
    delete_stale_locks_and_find_writers,
    hold_writer_lock,
    open_table_and_check_contents,
    parse_table_states,
    scan_files,
)
from pipeline.lake.transaction import begin_transaction, hold_lake_lock, reraise_as_lake_error
from pipeline.stores import File, Location
from pipeline.version import __version__

KEEP_DAYS = 7.0
OLDER_THAN_HOURS = 24.0
CHUNK_BYTES = 384 * 2**20  # of column data; sorting and writing need twice as much in addition
ESTIMATED_ROW_BYTES = 384  # estimated size of a row without its long texts
ROUND_CHUNKS = 32  # each chunk scans all files of its round
MAX_COMMIT_FILES = 16

# Rows are sorted by these columns (if the table has them), so that queries for one game type or
# model read adjacent rows. Otherwise the order is kept, because consecutive logs are similar and
# compress well: rows sorted by game id need 50 % more space.
SORT_COLUMNS = ("game_type", "model", "ingest_id")

# Columns: table, files and bytes before and after, and the files and bytes deleted.
MAINTENANCE_SCHEMA: dict[str, type[pl.DataType]] = {
    "table": pl.String,
    "files_before": pl.Int64,
    "files_after": pl.Int64,
    "bytes_before": pl.Int64,
    "bytes_after": pl.Int64,
    "files_deleted": pl.Int64,
    "bytes_deleted": pl.Int64,
}


class _Merge(Struct):
    """Files of one table to replace, and the sorted files with the same rows.

    Attributes:
        table: The table's name.
        old: Names of the files to replace.
        new: The sorted files; empty after a transaction has taken them over.
    """

    table: str
    old_names: list[str]
    new_files: list[DataFile]


def maintain(
    path: str | Path | Location,
    *,
    keep_days: float = KEEP_DAYS,
    older_than_hours: float = OLDER_THAN_HOURS,
    dry_run: bool = False,
    on_merged: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """Merge a lake's small files, and delete the files that no recent state of the lake needs.

    Files of a running ingest, and locks of running processes, are never deleted.

    Args:
        path: The lake's folder.
        keep_days: Keep the files of every state that was current in the last `keep_days` days.
        older_than_hours: Delete only files that were modified more than this many hours ago.
        dry_run: Whether to change nothing and to estimate the result.
        on_merged: Called after the merge and before files are deleted; not called with `dry_run`.

    Returns:
        One row for each table, with the columns of `MAINTENANCE_SCHEMA`. With `dry_run`,
        `files_after` is an estimate, and `bytes_after` is null if a merge would write files.

    Raises:
        LakeError: If the path is not a lake, or if the lake is damaged or cannot be written.
        UsageError: If `keep_days` or `older_than_hours` is negative or not a number.
    """
    if not (keep_days >= 0 and older_than_hours >= 0):
        raise UsageError("--keep-days and --older-than-hours must be 0 or more")
    lake = open_lake(path)
    files_before = {
        table: _sizes_and_row_counts_of_files(lake, table) for table in lake.existing_tables
    }
    replaced_names = {
        table: _names_of_files_to_merge(table, files) for table, files in files_before.items()
    }
    sizes_after: Mapping[str, Mapping[str, int | None]]
    if dry_run:
        sizes_after = _estimate_file_sizes_after_merge(files_before, replaced_names)
        # Replaced files are deleted at once if no old state is kept; `ingests` has no old states.
        replaced_names = {
            table: replaced_names[table]
            for table in (lake.existing_tables if not keep_days else [COMMITS_TABLE])
        }
    else:
        _merge_and_commit(
            lake, {t: names for t, names in replaced_names.items() if names and t != COMMITS_TABLE}
        )
        lake = open_lake(path)
        sizes_after = {table: lake.file_sizes_bytes(table) for table in lake.existing_tables}
        replaced_names = {}
    # Computed now, so that the newest state stays even if an ingest commits in the meantime.
    kept_since = _utc_time_before_now(days=keep_days)
    modified_before = _utc_time_before_now(hours=older_than_hours)
    if not dry_run:
        on_merged()
        delete_abandoned_drafts(lake.path, CATALOG_FILE_NAME)
    rows = []
    for table in lake.existing_tables:
        deleted_files = (
            _old_unreachable_files(
                lake, table, kept_since, modified_before, replaced_names.get(table, ())
            )
            if dry_run
            else _delete_unreachable_files_and_stale_locks(path, table, kept_since, modified_before)
        )
        sizes = [*sizes_after[table].values()]
        # The upgrade adds tables that the lake lacked.
        files = files_before.get(table, _NO_FILES)
        rows.append(
            (
                table,
                files.height,
                len(sizes_after[table]),
                files["n_bytes"].sum(),
                None if None in sizes else sum(filter(None, sizes)),
                len(deleted_files),
                sum(file.n_bytes for file in deleted_files),
            )
        )
    return pl.DataFrame(rows, schema=MAINTENANCE_SCHEMA, orient="row")


_NO_FILES = pl.DataFrame(schema={"name": pl.String, "n_bytes": pl.Int64, "n_rows": pl.Int64})


def _sizes_and_row_counts_of_files(lake: StoredLake, table: str) -> pl.DataFrame:
    sizes, counts = lake.file_sizes_bytes(table), lake.row_counts_by_file(table)
    rows = [(name, n_bytes, counts[name]) for name, n_bytes in sizes.items()]
    return pl.DataFrame(rows, _NO_FILES.schema, orient="row")


def _names_of_files_to_merge(table: str, files_with_sizes: pl.DataFrame) -> list[str]:
    """Return the names of unsorted or small files; none if a merge would not change the table."""
    if table == COMMITS_TABLE:
        return (
            files_with_sizes["name"].to_list() if files_with_sizes.height > MAX_COMMIT_FILES else []
        )
    is_sorted = pl.col("name").str.starts_with(SORTED_FILE_PREFIX)
    is_full = (pl.col("n_bytes") >= MAX_FILE_BYTES / 2) | (pl.col("n_rows") >= MAX_FILE_ROWS / 2)
    names = files_with_sizes.filter(~(is_sorted & is_full))["name"].sort().to_list()
    return [] if len(names) == 1 and names[0].startswith(SORTED_FILE_PREFIX) else names


def _estimate_file_sizes_after_merge(
    files_by_table: Mapping[str, pl.DataFrame], merged_names: Mapping[str, Collection[str]]
) -> dict[str, dict[str, int | None]]:
    """Return for each table the size of each file after a merge; None for new files."""
    sizes_after: dict[str, dict[str, int | None]] = {}
    for table, files in files_by_table.items():
        is_replaced = pl.col("name").is_in(merged_names[table])
        n_new = files.filter(is_replaced).select(
            (pl.sum("n_bytes") / MAX_FILE_BYTES).ceil(), (pl.sum("n_rows") / MAX_FILE_ROWS).ceil()
        )
        sizes_after[table] = dict(files.filter(~is_replaced).select("name", "n_bytes").iter_rows())
        sizes_after[table] |= {f"new {number}": None for number in range(int(max(n_new.row(0))))}
    if any(merged_names.values()):
        sizes_after[COMMITS_TABLE]["new commit"] = None
    return sizes_after


def _merge_and_commit(lake: StoredLake, names_by_table: dict[str, list[str]]) -> None:
    """Merge the files with these names into sorted files, and commit the merges.

    A merge is dropped if an ingest has replaced one of its files in the meantime.
    """
    started_at = datetime.now(UTC)
    if not names_by_table and len(lake.table_files(COMMITS_TABLE)) <= MAX_COMMIT_FILES:
        return
    merges: list[_Merge] = []
    token = uuid4().hex
    with hold_writer_lock(lake.path, token):
        try:
            for table, names in names_by_table.items():
                merge = _Merge(table, names, [])
                merges.append(merge)
                _write_sorted_files(lake, merge, token)
            _commit_merges_of_unchanged_files(lake, merges, started_at)
        finally:
            # A transaction that took files over deletes them itself, unless its commit has begun.
            for merge in merges:
                for file in merge.new_files:
                    (lake.table_folder(merge.table) / file.name).delete_file(missing_ok=True)


def _commit_merges_of_unchanged_files(
    lake: StoredLake, merges: list[_Merge], started_at: datetime
) -> None:
    """Commit the merges whose old files are still files of the table; merge `ingests` too."""
    with begin_transaction(lake.path) as transaction:
        for merge in merges:
            if set(merge.old_names) <= set(transaction.lake.file_sizes_bytes(merge.table)):
                transaction.replace_files(merge.table, merge.old_names, merge.new_files)
                merge.new_files = []
        commits = list(transaction.lake.file_sizes_bytes(COMMITS_TABLE))
        if len(commits) > MAX_COMMIT_FILES:
            rows = transaction.lake.table(COMMITS_TABLE).sort("ingest_id").collect()
            transaction.write_rows(COMMITS_TABLE, [rows])
            transaction.replace_files(COMMITS_TABLE, commits, [])
        count_columns = [name for name in table_schema(COMMITS_TABLE) if name.startswith("n_")]
        transaction.commit(
            {
                "started_at": started_at,
                "sources": [],
                **dict.fromkeys(count_columns, 0),
                "tool_version": __version__,
            }
        )


def _write_sorted_files(lake: StoredLake, merge: _Merge, token: str) -> None:
    """Write the rows of `merge.old_names` to sorted files, and set `merge.new_files` to these."""
    folder = lake.table_folder(merge.table)
    sort_columns = [name for name in SORT_COLUMNS if name in table_schema(merge.table)]
    bytes_by_file = {
        str(folder / name): sum(
            n_rows * ESTIMATED_ROW_BYTES + text_bytes
            for n_rows, text_bytes in row_counts_and_text_bytes_by_group(folder / name)
        )
        for name in merge.old_names
    }
    name_prefix = f"{SORTED_FILE_PREFIX}-{token}"
    with TableWriter(folder, merge.table, name_prefix).close_or_delete_on_error() as writer:
        for paths in _iter_file_groups_by_bytes(bytes_by_file, ROUND_CHUNKS * CHUNK_BYTES):
            rows = scan_files(merge.table, paths)
            for chunk_filter in _iter_chunk_filters(rows, sort_columns, CHUNK_BYTES):
                chunk = rows.filter(chunk_filter).collect(engine="streaming")
                sorted_rows = chunk.sort(sort_columns, nulls_last=False, maintain_order=True)
                with reraise_as_lake_error(lake.path):
                    writer.write(sorted_rows)
        with reraise_as_lake_error(lake.path):
            writer.close()
    merge.new_files = writer.files


def _iter_file_groups_by_bytes(
    bytes_by_file: dict[str, int], max_bytes: int
) -> Iterator[list[str]]:
    """Yield lists of files of at most `max_bytes` in total; a larger file is a list of its own."""
    paths: list[str] = []
    n_bytes = 0
    for path, file_bytes in bytes_by_file.items():
        if paths and n_bytes + file_bytes > max_bytes:
            yield paths
            paths, n_bytes = [], 0
        paths.append(path)
        n_bytes += file_bytes
    if paths:
        yield paths


def _iter_chunk_filters(
    rows: pl.LazyFrame, key_columns: list[str], max_bytes: int
) -> Iterator[pl.Expr]:
    """Yield filters that select successive chunks of about `max_bytes`, sorted by `key_columns`."""
    first_column, *_ = key_columns
    text_columns = pl.col([name for name in TEXTS if name in rows.collect_schema()])
    n_bytes = pl.len() * ESTIMATED_ROW_BYTES + pl.sum_horizontal(
        text_columns.cast(pl.Binary).bin.size().sum(), 0
    )
    sizes = rows.group_by(key_columns).agg(n_bytes=n_bytes).sort(key_columns, nulls_last=False)
    chunk_keys: list[dict[str, object]] = []
    chunk_bytes = 0
    for row in sizes.collect(engine="streaming").iter_rows(named=True):
        key_bytes = row.pop("n_bytes")
        is_full = chunk_bytes + key_bytes > max_bytes
        if chunk_keys and (is_full or row[first_column] != chunk_keys[-1][first_column]):
            yield _rows_with_keys_filter(chunk_keys)
            chunk_keys, chunk_bytes = [], 0
        if key_bytes > max_bytes:
            n_parts = -(-key_bytes // max_bytes)
            yield from (
                _rows_with_keys_filter([row]) & part
                for part in _iter_hash_part_filters(rows, n_parts)
            )
        else:
            chunk_keys.append(row)
            chunk_bytes += key_bytes
    if chunk_keys:
        yield _rows_with_keys_filter(chunk_keys)


def _rows_with_keys_filter(keys: list[dict[str, object]]) -> pl.Expr:
    """Return a filter for rows with one of the keys, which must have the same first value."""
    first_column, *other_columns = keys[0]
    has_key = pl.col(first_column).eq_missing(pl.lit(keys[0][first_column]))
    for name in other_columns:
        values = pl.Series([key[name] for key in keys], dtype=pl.String)
        has_key &= pl.col(name).is_in(values.implode(), nulls_equal=True)
    return has_key


def _iter_hash_part_filters(rows: pl.LazyFrame, n_parts: int) -> Iterator[pl.Expr]:
    """Yield filters that split rows by a hash into `n_parts` parts, without splitting a game."""
    columns = rows.collect_schema()
    key = next(name for name in ("path", "prefix", "game_id", "role") if name in columns)
    for number in range(n_parts):
        yield pl.col(key).hash() % n_parts == number


def _utc_time_before_now(**duration: float) -> datetime:
    """Return the current time minus a duration, which is passed as to `timedelta`.

    A duration that is too long gives the earliest time that Python can represent.
    """
    try:
        return datetime.now(UTC) - timedelta(**duration)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _delete_unreachable_files_and_stale_locks(
    path: str | Path | Location, table: str, kept_since: datetime, modified_before: datetime
) -> list[File]:
    """Delete a table's old files that no kept state needs, and the locks of killed processes.

    Locks are deleted only if the table has such files. The lake's lock is held, so that no commit
    refers to a file between the check and its deletion. It is released after each table, because an
    ingest may wait for it.

    Returns:
        The deleted files, without the locks.
    """
    with hold_lake_lock(path):
        lake = open_lake(path)
        files = _old_unreachable_files(lake, table, kept_since, modified_before)
        # Read after the files were listed, so that every listed file's writer is among the tokens.
        tokens = delete_stale_locks_and_find_writers(lake.path) if files else ()
        files = [file for file in files if not any(token in file.name for token in tokens)]
        for file in files:
            (lake.table_folder(table) / file.name).delete_file(missing_ok=True)
    return files


def _old_unreachable_files(
    lake: StoredLake,
    table: str,
    kept_since: datetime,
    modified_before: datetime,
    replaced_names: Collection[str] = (),
) -> list[File]:
    """Return the files of a table that no kept state needs and that are old enough to delete.

    Args:
        lake: The lake in its newest state, which is always kept.
        table: The table's name.
        kept_since: All states that were current at this time or later are kept.
        modified_before: Only files that were modified before this time are returned.
        replaced_names: Names of files that no state is assumed to need.
    """
    folder = lake.table_folder(table)
    needed_names = set(lake.file_sizes_bytes(table))
    for state in _kept_older_states(lake, table, kept_since):
        needed_names |= set(
            open_table_and_check_contents(folder, state).log_values_by_file("size_bytes")
        )
    return [
        file
        for file in folder.list_files()
        if file.name not in needed_names - set(replaced_names)
        and file.modified_at < modified_before
    ]


def _kept_older_states(lake: StoredLake, table: str, kept_since: datetime) -> set[TableState]:
    """Return a table's states that were current at `kept_since` or later, except the newest."""
    if table == COMMITS_TABLE:
        return set()
    ingests = lake.table(COMMITS_TABLE).sort("ingest_id").collect()
    # The last ingest before that time is included, because its state was current then.
    first = max(ingests.filter(pl.col("finished_at") <= kept_since).height - 1, 0)
    states = {parse_table_states(versions).get(table) for versions in ingests[first:]["versions"]}
    # None is the state of ingests before the lake had the table.
    return {state for state in states if state is not None} - {lake.states[table]}
