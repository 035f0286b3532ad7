"""Merge the small files of a lake into large sorted files, and delete unreachable files.

`magic maintain` calls `maintain`. A merge is committed like an ingest without documents: readers
keep the state that they opened, and if an ingest changes a table meanwhile, its merge is dropped.
Rows are merged in chunks, so that memory use stays bounded.
"""

import math
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
    delete_old_drafts,
    delete_stale_locks_and_find_writers,
    mark_as_writing,
    open_table_and_check_contents,
    parse_table_states,
    scan_files,
)
from pipeline.lake.transaction import begin_transaction, hold_lake_lock, name_lake_in_errors
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
    """Merge small files, delete unreachable files, and return one row for each table.

    Files are kept if a state of the last `keep_days` refers to them, if a running process is
    writing them, or if they are younger than `older_than_hours`.

    Args:
        path: The lake's folder.
        keep_days: Files of all states of the last `keep_days` days are kept.
        older_than_hours: Only files that were last modified earlier than this are deleted.
        dry_run: Whether to change nothing and to estimate the result.
        on_merged: Called after the merge and before unreachable files are deleted; not called with
            `dry_run`.

    Returns:
        One row for each table, with the columns of `MAINTENANCE_SCHEMA`. With `dry_run`,
        `files_after` is an estimate, and `bytes_after` is null if a merge would write files.

    Raises:
        LakeError: If the path is not a lake, or if the lake is damaged or cannot be written.
        UsageError: If `keep_days` is negative, or if one of the durations is not a number.
    """
    if not keep_days >= 0 or math.isnan(older_than_hours):
        raise UsageError("--keep-days and --older-than-hours must be 0 or more")
    lake = open_lake(path)
    before = {table: _sizes_and_row_counts_of_files(lake, table) for table in lake.existing_tables}
    replaced = {table: _names_of_files_to_merge(table, files) for table, files in before.items()}
    after: Mapping[str, Mapping[str, int | None]]
    if dry_run:
        after = _estimate_file_sizes_after_merge(before, replaced)
        # Replaced files are deleted at once if no old state is kept; `ingests` has no old states.
        replaced = {
            table: replaced[table]
            for table in (lake.existing_tables if not keep_days else [COMMITS_TABLE])
        }
    else:
        _merge_and_commit(
            lake, {t: names for t, names in replaced.items() if names and t != COMMITS_TABLE}
        )
        lake = open_lake(path)
        after = {table: lake.file_sizes_bytes(table) for table in lake.existing_tables}
        replaced = {}
    # Computed now, so that the newest state stays even if an ingest commits in the meantime.
    kept_since, young_since = (
        _utc_time_before_now(days=keep_days),
        _utc_time_before_now(hours=older_than_hours),
    )
    if not dry_run:
        on_merged()
        delete_old_drafts(lake.path, CATALOG_FILE_NAME)
    rows = []
    for table in lake.existing_tables:
        dead = (
            _old_unreachable_files(lake, table, kept_since, young_since, replaced.get(table, ()))
            if dry_run
            else _delete_unreachable_files_and_stale_locks(path, table, kept_since, young_since)
        )
        sizes = [*after[table].values()]
        rows.append(
            (
                table,
                before[table].height,
                len(after[table]),
                before[table]["n_bytes"].sum(),
                None if None in sizes else sum(filter(None, sizes)),
                len(dead),
                sum(file.n_bytes for file in dead),
            )
        )
    return pl.DataFrame(rows, schema=MAINTENANCE_SCHEMA, orient="row")


def _sizes_and_row_counts_of_files(lake: StoredLake, table: str) -> pl.DataFrame:
    """Return name, n_bytes and n_rows of each file of a table."""
    sizes, counts = lake.file_sizes_bytes(table), lake.row_counts_by_file(table)
    rows = [(name, n_bytes, counts[name]) for name, n_bytes in sizes.items()]
    schema = {"name": pl.String, "n_bytes": pl.Int64, "n_rows": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


def _names_of_files_to_merge(table: str, files: pl.DataFrame) -> list[str]:
    """Return the files that are unsorted or small; none if a merge would change nothing."""
    if table == COMMITS_TABLE:
        return files["name"].to_list() if files.height > MAX_COMMIT_FILES else []
    is_sorted = pl.col("name").str.starts_with(SORTED_FILE_PREFIX)
    is_full = (pl.col("n_bytes") >= MAX_FILE_BYTES / 2) | (pl.col("n_rows") >= MAX_FILE_ROWS / 2)
    names = files.filter(~(is_sorted & is_full))["name"].sort().to_list()
    return [] if len(names) == 1 and names[0].startswith(SORTED_FILE_PREFIX) else names


def _estimate_file_sizes_after_merge(
    before: Mapping[str, pl.DataFrame], replaced: Mapping[str, Collection[str]]
) -> dict[str, dict[str, int | None]]:
    """Estimate which files each table will have; their sizes are unknown until they are written."""
    after: dict[str, dict[str, int | None]] = {}
    for table, files in before.items():
        is_replaced = pl.col("name").is_in(replaced[table])
        n_new = files.filter(is_replaced).select(
            (pl.sum("n_bytes") / MAX_FILE_BYTES).ceil(), (pl.sum("n_rows") / MAX_FILE_ROWS).ceil()
        )
        after[table] = dict(files.filter(~is_replaced).select("name", "n_bytes").iter_rows())
        after[table] |= {f"new {number}": None for number in range(int(max(n_new.row(0))))}
    if any(replaced.values()):
        after[COMMITS_TABLE]["new commit"] = None
    return after


def _merge_and_commit(lake: StoredLake, small: dict[str, list[str]]) -> None:
    """Merge small files into sorted files, and commit the merges that no ingest has overtaken."""
    started_at = datetime.now(UTC)
    if not small and len(lake.table_files(COMMITS_TABLE)) <= MAX_COMMIT_FILES:
        return
    merges: list[_Merge] = []
    token = uuid4().hex
    with mark_as_writing(lake.path, token):
        try:
            for table, names in small.items():
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
    """Commit the merges whose old files still exist, and drop the new files of the other merges."""
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
        counts = [name for name in table_schema(COMMITS_TABLE) if name.startswith("n_")]
        transaction.commit(
            {
                "started_at": started_at,
                "sources": [],
                **dict.fromkeys(counts, 0),
                "tool_version": __version__,
            }
        )


def _write_sorted_files(lake: StoredLake, merge: _Merge, token: str) -> None:
    """Write the rows of the merge's old files, sorted, to new files."""
    folder = lake.table_folder(merge.table)
    order = [name for name in SORT_COLUMNS if name in table_schema(merge.table)]
    groups = {
        str(folder / name): row_counts_and_text_bytes_by_group(folder / name)
        for name in merge.old_names
    }
    files = {
        file: sum(n * ESTIMATED_ROW_BYTES + texts for n, texts in groups[file]) for file in groups
    }
    with TableWriter(
        folder, merge.table, f"{SORTED_FILE_PREFIX}-{token}"
    ).close_or_delete_on_error() as writer:
        for paths in _iter_file_groups_by_bytes(files, ROUND_CHUNKS * CHUNK_BYTES):
            rows = scan_files(merge.table, paths)
            for chunk_filter in _iter_chunk_filters(rows, order, CHUNK_BYTES):
                chunk = rows.filter(chunk_filter).collect(engine="streaming")
                sorted_rows = chunk.sort(order, nulls_last=False, maintain_order=True)
                with name_lake_in_errors(lake.path):
                    writer.write(sorted_rows)
        with name_lake_in_errors(lake.path):
            writer.close()
    merge.new_files = writer.files


def _iter_file_groups_by_bytes(files: dict[str, int], max_bytes: int) -> Iterator[list[str]]:
    """Split files into lists of at most `max_bytes`; a larger file is a list of its own."""
    paths: list[str] = []
    n_bytes = 0
    for path, file_bytes in files.items():
        if paths and n_bytes + file_bytes > max_bytes:
            yield paths
            paths, n_bytes = [], 0
        paths.append(path)
        n_bytes += file_bytes
    if paths:
        yield paths


def _iter_chunk_filters(rows: pl.LazyFrame, keys: list[str], max_bytes: int) -> Iterator[pl.Expr]:
    """Iterate over filters, in sort order, that split rows into chunks of about `max_bytes`."""
    first, *_ = keys
    texts = pl.col([name for name in TEXTS if name in rows.collect_schema()])
    n_bytes = pl.len() * ESTIMATED_ROW_BYTES + pl.sum_horizontal(
        texts.cast(pl.Binary).bin.size().sum(), 0
    )
    sizes = rows.group_by(keys).agg(n_bytes=n_bytes).sort(keys, nulls_last=False)
    chunk_keys: list[dict[str, object]] = []
    chunk_bytes = 0
    for row in sizes.collect(engine="streaming").iter_rows(named=True):
        key_bytes = row.pop("n_bytes")
        is_full = chunk_bytes + key_bytes > max_bytes
        if chunk_keys and (is_full or row[first] != chunk_keys[-1][first]):
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
    """Return a filter for rows with one of the keys, which have the same first value."""
    first, *rest = keys[0]
    has_key = pl.col(first).eq_missing(pl.lit(keys[0][first]))
    for name in rest:
        values = pl.Series([key[name] for key in keys], dtype=pl.String)
        has_key &= pl.col(name).is_in(values.implode(), nulls_equal=True)
    return has_key


def _iter_hash_part_filters(rows: pl.LazyFrame, n_parts: int) -> Iterator[pl.Expr]:
    """Iterate over filters that split rows into parts of similar size, without splitting a game."""
    columns = rows.collect_schema()
    key = next(name for name in ("path", "prefix", "game_id", "role") if name in columns)
    for part in range(n_parts):
        yield pl.col(key).hash() % n_parts == part


def _utc_time_before_now(**span: float) -> datetime:
    """Return the current time minus a duration, or the earliest possible time if it is too long."""
    try:
        return datetime.now(UTC) - timedelta(**span)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _delete_unreachable_files_and_stale_locks(
    path: str | Path | Location, table: str, kept_since: datetime, younger_than: datetime
) -> list[File]:
    """Delete the files of a table that no kept state uses, and return them.

    The lake's lock is held, so that no commit refers to a file between the check and its deletion.
    It is released after each table, because an ingest may wait for it.
    """
    with hold_lake_lock(path):
        lake = open_lake(path)
        dead = _old_unreachable_files(lake, table, kept_since, younger_than)
        # Read after the files were listed, so that every listed file's writer is among the tokens.
        alive = delete_stale_locks_and_find_writers(lake.path) if dead else ()
        dead = [file for file in dead if not any(token in file.name for token in alive)]
        for file in dead:
            (lake.table_folder(table) / file.name).delete_file(missing_ok=True)
    return dead


def _old_unreachable_files(
    lake: StoredLake,
    table: str,
    kept_since: datetime,
    younger_than: datetime,
    replaced: Collection[str] = (),
) -> list[File]:
    """Return the files of a table that no kept state uses and that are old enough to delete.

    Files in `replaced` count as unused even if a kept state refers to them.
    """
    folder = lake.table_folder(table)
    live = set(lake.file_sizes_bytes(table)) - set(replaced)
    for state in _kept_older_states(lake, table, kept_since):
        live |= set(open_table_and_check_contents(folder, state).log_values("size_bytes")) - set(
            replaced
        )
    return [
        file
        for file in folder.list_files()
        if file.name not in live and file.modified_at < younger_than
    ]


def _kept_older_states(lake: StoredLake, table: str, since: datetime) -> set[TableState]:
    """Return the states of a table that were current at any time since `since`."""
    if table == COMMITS_TABLE:
        return set()
    ingests = lake.table(COMMITS_TABLE).sort("ingest_id").collect()
    # The last ingest before `since` is included, because its state was current at `since`.
    first = max(ingests.filter(pl.col("finished_at") <= since).height - 1, 0)
    states = {parse_table_states(versions)[table] for versions in ingests[first:]["versions"]}
    return states - {lake.states[table]}
