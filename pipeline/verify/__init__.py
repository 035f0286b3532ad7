"""Verification of a lake: its files against the logs of its tables, and its rows against rules.

All files and rows are checked in parts, so that memory stays bounded. Nothing is changed.
"""

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from pipeline import sql_files, warehouse
from pipeline.errors import (
    LakeError,
    UsageError,
    is_permission_error,
    one_line_message,
    one_line_message_without_path,
    raise_if_resources_exhausted,
)
from pipeline.events import contracts
from pipeline.events.contracts import GAME_TABLES, TABLES, PlayerRow, SeatActionRow, table_schema
from pipeline.lake import StoredLake, open_lake
from pipeline.lake.files import delta_statistics_json
from pipeline.lake.row_stream import iter_parquet_batches
from pipeline.lake.tables import (
    OpenTable,
    empty_log_file_names,
    hash_file,
    hash_in_file_name,
    renamed_value_columns,
    scan_files,
)
from pipeline.sql_files import fill_template, quote_identifier, read_select_with_shared_files
from pipeline.stores import Location
from pipeline.text_format import format_count

__all__ = ["CONTRADICTION", "DEFAULT_LIMIT", "ERROR", "FAULT_SCHEMA", "Verification", "verify"]

# An error is damage. A contradiction is in the log of a game, and was there before the ingest.
ERROR, CONTRADICTION, WARNING = "error", "contradiction", "warning"
DEFAULT_LIMIT = 20


class Finding(NamedTuple):
    """The rows that one check found, in one table or in several.

    Attributes:
        check: The name of the check.
        severity: `error`, `contradiction` or `warning`.
        finds: The description of what the check finds.
        table: The table; None if the check reads several.
        n_rows: The number of rows that the check found.
        rows: The first of these rows.
    """

    check: str
    severity: str
    finds: str
    table: str | None
    n_rows: int
    rows: list[dict[str, object]]


# Ingests that the table `ingests` lacks, so that no metric counts their games.

UNSEEN = "ingest_unseen"
UNSEEN_FINDS = "an ingest that is not in the numbers: the table `ingests` does not have it"
_TO_DO = (
    "unless it is still running, it was interrupted, or the table `ingests` lost its last commit: "
    "run the same `magic ingest` again"
)


def find_ingests_missing_from_ingests_table(lake: StoredLake) -> Finding | None:
    """Return the ingests that are in the table `documents` but not in `ingests`; None without any.

    They are left by an ingest that was killed in its commit, or by a lost commit of `ingests`.
    """
    folder = lake.table_folder("documents")
    try:
        modified_ms_by_file = OpenTable(folder).log_values_by_file("modification_time")
        new_files = modified_ms_by_file.keys() - lake.file_sizes_bytes("documents").keys()
        if not new_files:
            return None
        is_game = pl.col("status").is_in(["ingested", "replacing"])
        ingests = (
            scan_files("documents", [str(folder / name) for name in new_files])
            .filter(pl.col("ingest_id") > lake.ingest_id)
            .group_by("ingest_id")
            .agg(pl.len().alias("n_documents"), n_games=is_game.sum())
            .sort("ingest_id")
            .collect()
        )
    except (LakeError, OSError, pl.exceptions.PolarsError):
        return None  # other checks report what cannot be read
    if ingests.is_empty():
        return None
    last_time = datetime.fromtimestamp(
        max(modified_ms_by_file[name] for name in new_files) / 1000, UTC
    )
    n_games = int(ingests["n_games"].sum())
    is_single = ingests.height == 1
    subject = "an ingest of" if is_single else f"{ingests.height:,} ingests up to"
    finds = (
        f"{subject} {last_time:%Y-%m-%d %H:%M} UTC with {format_count(n_games, 'game')} "
        f"{'is' if is_single else 'are'} not in the numbers; {_TO_DO}"
    )
    return Finding(UNSEEN, ERROR, finds, "ingests", ingests.height, ingests.to_dicts())


# Checks of a table's files against its log, and of its rows against its contract, in batches.

BATCH_ROWS = 2**14
_BUFFER_BYTES = 2**22

DENIED = "denied"
# What each check of the files of a table finds, by the name of the check.
FILES_FIND = {
    "log": "a table whose log cannot be read, or names other files than the ingest left",
    "log_empty": "a commit of a table's log that is empty, as a power loss can leave it",
    "latest_version": "a version newer than the lake's state: from an ingest that is running or "
    "was killed, or from another tool",
    "file_missing": "a file that the log names, but that is missing",
    "file_size": "a file whose size differs from the log",
    "file_hash": "a file whose bytes have changed since it was committed",
    "file_damaged": "a file that cannot be read",
    "file_statistics": "a file whose footer differs from the log's statistics",
    DENIED: "a log or a file that this user may not read: it was not checked",
    "contract": "rows that break the contract of their table",
    "not_installed": "rows of games of a package that is not installed: their contract is unknown",
}
WARNINGS = ("latest_version", "log_empty", "not_installed")
_SEVERITIES = dict.fromkeys(FILES_FIND, ERROR) | dict.fromkeys(WARNINGS, WARNING)

# The errors of reading a damaged file. Some also occur if the machine lacks memory or handles.
_READ_ERRORS = (OSError, EOFError, ValueError, pa.ArrowException, pl.exceptions.PolarsError)


class FileFindings(Struct):
    """The errors found in the files of a table.

    Attributes:
        table: The name of the table.
        game_types_of_missing_packages: The game types whose rows cannot be checked.
        n_files: The number of files of the table.
        n_rows: The number of rows that were read.
        is_readable: Whether all files could be read.
        counts: The number of errors of each check.
        rows: The first rows that each check found.
    """

    table: str
    game_types_of_missing_packages: frozenset[str] = frozenset()
    n_files: int = 0
    n_rows: int = 0
    is_readable: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def count_errors_and_keep_row(
        self, check: str, row: Mapping[str, object], max_rows: int, n_errors: int = 1
    ) -> None:
        """Add errors to the count of a check, and keep their row unless the check has enough rows.

        Args:
            check: The name of the check.
            row: The first row with an error.
            max_rows: The maximum number of rows to keep for each check.
            n_errors: The number of errors.
        """
        self.counts[check] += n_errors
        rows = self.rows.setdefault(check, [])
        if len(rows) < max_rows:
            rows.append(dict(row))

    @property
    def findings(self) -> list[Finding]:
        return [
            Finding(check, _SEVERITIES[check], FILES_FIND[check], self.table, n, self.rows[check])
            for check, n in self.counts.items()
        ]


def check_files_of_table(lake: StoredLake, table: str, max_rows: int) -> FileFindings:
    """Check the log, all files and all rows of a table, and return the errors.

    Args:
        lake: The lake.
        table: The name of the table.
        max_rows: The maximum number of rows to keep for each check.
    """
    findings = FileFindings(table, _game_types_of_missing_packages(lake))
    try:
        logged_files = pl.DataFrame(lake.delta_table(table).get_add_actions(flatten=True))
        latest = lake.latest_version(table)
    except (LakeError, OSError) as error:
        raise_if_resources_exhausted(error)
        findings.is_readable = False
        findings.count_errors_and_keep_row(
            DENIED if is_permission_error(error) else "log", {"error": str(error)}, max_rows
        )
        return findings
    if latest != lake.delta_table(table).version():
        row = {"version": lake.delta_table(table).version(), "latest": latest}
        findings.count_errors_and_keep_row("latest_version", row, max_rows)
    folder, schema = lake.table_folder(table), pl.Schema(lake.file_schema(table))
    for name in empty_log_file_names(folder):
        findings.count_errors_and_keep_row("log_empty", {"commit": name}, max_rows)
    sizes = {file.name: file.n_bytes for file in folder.list_files()}
    for logged_file in logged_files.iter_rows(named=True):
        name = logged_file["path"]
        findings.n_files += 1
        if problem := _size_or_hash_problem(
            folder / name, sizes.get(name), logged_file["size_bytes"]
        ):
            check, columns = problem
            findings.is_readable = False
            findings.count_errors_and_keep_row(check, {"file": name, **columns}, max_rows)
        else:
            _check_contents_of_file(folder / name, logged_file, findings, max_rows, schema)
    return findings


def _size_or_hash_problem(
    file: Location, n_bytes: int | None, logged_n_bytes: int
) -> tuple[str, dict[str, object]] | None:
    """Return the check that a file fails by its size or hash, and the row to report; else None.

    Args:
        file: The file.
        n_bytes: The size of the file; None if the file is missing.
        logged_n_bytes: The size of the file in the log of its table.
    """
    if n_bytes is None:
        return "file_missing", {}
    if n_bytes != logged_n_bytes:
        return "file_size", {"n_bytes": n_bytes, "logged": logged_n_bytes}
    try:
        committed_sha256 = hash_in_file_name(str(file))
        if committed_sha256 is None or (sha256 := hash_file(file)) == committed_sha256:
            return None
    except OSError as error:
        raise_if_resources_exhausted(error)
        return DENIED if is_permission_error(error) else "file_damaged", {
            "error": one_line_message_without_path(error)
        }
    return "file_hash", {"sha256": sha256}


def _game_types_of_missing_packages(lake: StoredLake) -> frozenset[str]:
    """Return the game types of the lake whose packages are not installed; empty if unreadable."""
    try:
        return frozenset(lake.unknown_game_types)
    except (LakeError, *_READ_ERRORS) as error:
        raise_if_resources_exhausted(error)
        return frozenset()  # the table `roles`, which defines them, is checked too


def _check_contents_of_file(
    file: Location,
    logged_file: dict[str, Any],
    findings: FileFindings,
    max_rows: int,
    schema: pl.Schema,
) -> None:
    """Check the schema, rows and statistics of a Parquet file, and add the errors to `findings`."""
    contract = pl.Schema(table_schema(findings.table))
    try:
        with file.open() as opened_file:
            parquet = pq.ParquetFile(
                opened_file,
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES,
                page_checksum_verification=True,
            )
            for rows in map(pl.DataFrame, iter_parquet_batches(parquet, BATCH_ROWS)):
                if rows.schema != schema:
                    columns = ", ".join(f"{name} {dtype}" for name, dtype in rows.schema.items())
                    findings.is_readable = False
                    findings.count_errors_and_keep_row(
                        "contract", {"file": logged_file["path"], "columns": columns}, max_rows
                    )
                    return
                findings.n_rows += rows.height
                # As readers do: columns that files of an older lake lack are null, and old values
                # have their new names.
                complete_rows = rows.match_to_schema(
                    contract, missing_columns="insert"
                ).with_columns(renamed_value_columns(findings.table))
                _check_rows_against_contract(complete_rows, findings, max_rows)
            contradictions = list(
                _iter_footer_statistics_that_contradict_log(parquet.metadata, logged_file)
            )
    except _READ_ERRORS as error:
        raise_if_resources_exhausted(error)
        findings.is_readable = False
        findings.count_errors_and_keep_row(
            "file_damaged",
            {"file": logged_file["path"], "error": one_line_message(error)},
            max_rows,
        )
        return
    for contradiction in contradictions:
        findings.count_errors_and_keep_row(
            "file_statistics", {"file": logged_file["path"], **contradiction}, max_rows
        )


def _check_rows_against_contract(rows: pl.DataFrame, findings: FileFindings, max_rows: int) -> None:
    """Add rows that break the contract of their table, and rows that cannot be checked."""
    contract = TABLES[findings.table]
    key = [name for name in _KEY_COLUMNS if name in rows.columns]
    missing_game_types = findings.game_types_of_missing_packages
    if missing_game_types and "game_id" in rows.columns and "game_type" in rows.columns:
        is_unchecked = pl.col("game_type").is_in(missing_game_types)
        unchecked_rows = rows.filter(is_unchecked).select("game_type", *key)
        rows = rows.filter(~is_unchecked)
        if unchecked_rows.height:
            findings.count_errors_and_keep_row(
                "not_installed", unchecked_rows.row(0, named=True), max_rows, unchecked_rows.height
            )
    for rule, is_broken in contracts.broken_rules(contract, rows).items():
        broken_rows = rows.filter(is_broken).select(key)
        findings.count_errors_and_keep_row(
            "contract",
            {"rule": rule, **broken_rows.row(0, named=True)},
            max_rows,
            broken_rows.height,
        )


# The columns by which a user can find a row.
_KEY_COLUMNS = ("ingest_id", "game_id", "seat", "round", "message_index", "source", "path")


def _iter_footer_statistics_that_contradict_log(
    footer: pq.FileMetaData, logged_file: dict[str, Any]
) -> Iterator[dict[str, object]]:
    """Yield a row for each statistic in a file's footer that contradicts the log of the table.

    Minimum and maximum in the log are bounds, which the values of the file must not exceed.
    """
    statistics = json.loads(delta_statistics_json(footer))
    n_rows, logged_n_rows = statistics["numRecords"], logged_file["num_records"]
    if logged_n_rows not in (None, n_rows):
        yield {"statistic": "num_records", "found": n_rows, "logged": logged_n_rows}
    for statistic, value_by_column, agree in (
        ("null_count", statistics["nullCount"], operator.eq),
        ("min", statistics["minValues"], operator.le),
        ("max", statistics["maxValues"], operator.ge),
    ):
        for column, value in value_by_column.items():
            logged_value = logged_file.get(f"{statistic}.{column}")
            if logged_value is not None and not agree(logged_value, value):
                yield {
                    "statistic": f"{statistic}.{column}",
                    "found": value,
                    "logged": logged_value,
                }


# The checks in `sql/internal/checks`. Each is a SELECT of rows that break a rule.
#
# The header of a check has `finds`, a description of these rows, and `severity`. With `by`, each
# row depends only on rows of the same game or the same location of a document, so that the check
# can run on slices of the tables. With `tables`, the check runs separately on each table of this
# kind, as `${table}`. The files of `sql/audit` that have a `severity` are also checks: they find
# contradictions in the log of a game.

FOLDER = "internal/checks"
AUDIT = "audit"
SLICE_ROWS = 4 * 2**20
_WORD = re.compile(r"\w+")
_OF_DOCUMENTS = {"documents", "quarantine"}
# For each value of `by`: the key by which tables are divided into slices, and these tables.
_SLICE_KEY_AND_TABLES = {
    "game": ("game_id", {*GAME_TABLES, *_OF_DOCUMENTS}),
    "location": ("source || '/' || path", _OF_DOCUMENTS),
}


class Check(NamedTuple):
    """A check, as the header of its SQL file defines it, for one table or for the lake (None)."""

    name: str
    severity: str
    finds: str
    by: str
    table: str | None

    @property
    def sql_query(self) -> str:
        if self.name.startswith(f"{AUDIT}."):
            rows = read_select_with_shared_files(self.name.replace(".", "/"))
            return f"SELECT game_id, seat, round, logged, says FROM ({rows}) AS rows WHERE is_found"
        key = (
            ", ".join(map(quote_identifier, TABLES[self.table].primary_key())) if self.table else ""
        )
        return fill_template(f"{FOLDER}/{self.name}", table=self.table or "", key=key)


def all_checks() -> list[Check]:
    """Return all checks; a check of a kind of tables is returned once for each of these tables."""
    checks = []
    for name in sql_files.sql_file_names(FOLDER):
        header = sql_files.read_comment_header(f"{FOLDER}/{name}")
        tables = (
            [t for t in TABLES if _is_table_of_kind(t, header["tables"][0])]
            if "tables" in header
            else [None]
        )
        severity, finds, by = (header[key][0] for key in ("severity", "finds", "by"))
        checks += [Check(name, severity, finds, by, table) for table in tables]
    for name in sql_files.sql_file_names(AUDIT):
        header = sql_files.read_comment_header(f"{AUDIT}/{name}")
        for severity in header.get("severity", ()):
            checks.append(Check(f"{AUDIT}.{name}", severity, header["title"][0], "game", None))
    return checks


def _is_table_of_kind(name: str, kind: str) -> bool:
    """Return whether a table is of a kind, such as "of games", that the header of a check names."""
    table = TABLES[name]
    match kind:
        case "of games":
            return name in GAME_TABLES and name != "games"
        case "of players":  # the rows repeat columns of `players` for their seat
            return "seat" in table.columns() and issubclass(table, PlayerRow) and name != "players"
        case "of seats":  # the rows are read from messages of their seat
            return issubclass(table, SeatActionRow) and name != "eliminations"
        case "with a key":  # except tables with a separate check of their keys
            return bool(table.primary_key()) and f"keys_of_{name}" not in sql_files.sql_file_names(
                FOLDER
            )
    raise ValueError(f"no kind of tables `{kind}`")


def check_title(check: Check) -> str:
    """Return the name of a check, with its table if it has one, as in "keys of votes"."""
    return f"{check.name} of {check.table}" if check.table else check.name


def tables_read_by_check(check: Check) -> set[str]:
    """Return the names of the lake's tables that a check's query reads."""
    return set(_WORD.findall(check.sql_query)) & set(TABLES)


def run_checks(
    lake: StoredLake, checks: Sequence[Check], max_rows: int, on_progress: Callable[[str], None]
) -> list[Finding]:
    """Run checks on the lake, and return a finding for each check that found a row.

    Args:
        lake: The lake.
        checks: The checks.
        max_rows: The maximum number of rows in a finding.
        on_progress: Called with the title of each check before it runs.
    """
    findings = []
    # Only the tables that the checks read are opened, because the rest may be unreadable.
    tables = sorted({table for check in checks for table in tables_read_by_check(check)})
    n_rows_by_table = {table: sum(lake.row_counts_by_file(table).values()) for table in tables}
    with warehouse.connect_with_memory_limit(lake, {}, " ".join(tables)) as connection:
        for check in checks:
            on_progress(check_title(check))
            if check.table and not n_rows_by_table[check.table]:
                continue  # the check can only find rows of its table
            if finding := _run_check_in_slices(
                connection, check, _number_of_slices(n_rows_by_table, check), max_rows
            ):
                findings.append(finding)
    return findings


def _run_check_in_slices(
    connection: duckdb.DuckDBPyConnection, check: Check, n_slices: int, max_rows: int
) -> Finding | None:
    """Run a check on all slices of its tables; return its finding, or None if it found no row."""
    n_rows = 0
    rows: list[dict[str, object]] = []
    for slice_index in range(n_slices):
        query = _query_on_slice_of_tables(check, slice_index, n_slices)
        page_size = max(max_rows - len(rows), 1)
        page = warehouse.run_trusted_query(connection, f"{query}\nLIMIT {page_size}")
        n_rows_of_slice = page.height
        if n_rows_of_slice == page_size:
            (n_rows_of_slice,) = warehouse.run_trusted_query(
                connection, f"SELECT count(*) FROM ({query})"
            ).row(0)
        rows += page.to_dicts()
        n_rows += n_rows_of_slice
    if not n_rows:
        return None
    return Finding(check.name, check.severity, check.finds, check.table, n_rows, rows[:max_rows])


def _number_of_slices(n_rows_by_table: dict[str, int], check: Check) -> int:
    """Return the number of slices with which a check reads at most `SLICE_ROWS` rows of a table."""
    _, sliced_tables = _SLICE_KEY_AND_TABLES.get(check.by, ("", set()))
    tables = tables_read_by_check(check) & sliced_tables
    largest_n_rows = max((n_rows_by_table[table] for table in tables), default=0)
    return -(-largest_n_rows // SLICE_ROWS) or 1


def _query_on_slice_of_tables(check: Check, slice_index: int, n_slices: int) -> str:
    """Return the check's query in which table names mean one slice of the rows of each table."""
    query = f"SELECT * FROM (\n{check.sql_query}\n) AS found"
    key, sliced_tables = _SLICE_KEY_AND_TABLES.get(check.by, ("", set()))
    tables = tables_read_by_check(check) & sliced_tables if n_slices > 1 else ()
    condition = f"WHERE hash({key}) % {n_slices} = {slice_index}"
    slices = [
        f"{t} AS NOT MATERIALIZED (SELECT * FROM main.{t} {condition})" for t in sorted(tables)
    ]
    return f"WITH {', '.join(slices)}\n{query}" if slices else query


# `finds` describes what the check finds, and `n_rows` is the number of rows that it found. `row` is
# one of these rows as JSON.
FAULT_SCHEMA: dict[str, pl.DataType] = {
    "check": pl.String(),
    "severity": pl.String(),
    "table": pl.String(),
    "finds": pl.String(),
    "n_rows": pl.Int64(),
    "row": pl.String(),
}

_ENCODER = msgspec.json.Encoder()


class Verification(Struct):
    """The result of a verification.

    Attributes:
        faults: The errors, contradictions and warnings, as rows of `FAULT_SCHEMA`.
        n_checks: The number of checks.
        n_files: The number of files of all tables.
        n_rows: The number of rows of all tables that were read.
        skipped_checks: The titles of the checks that were skipped because a table cannot be read.
    """

    faults: pl.DataFrame
    n_checks: int
    n_files: int
    n_rows: int
    skipped_checks: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether all checks ran and found no error; warnings and contradictions are ignored."""
        return not self.skipped_checks and ERROR not in self.faults["severity"]

    @property
    def is_damaged(self) -> bool:
        """Whether a check found damage.

        Files that this user may not read and interrupted ingests are errors, but no damage.
        """
        is_damage = ~pl.col("check").is_in([DENIED, UNSEEN])
        return not self.faults.filter(is_damage, severity=ERROR).is_empty()

    @property
    def is_contradicted(self) -> bool:
        """Whether a check found that the log of a game contradicts itself."""
        return CONTRADICTION in self.faults["severity"]


def verify(
    path: str | Path | Location,
    *,
    limit: int = DEFAULT_LIMIT,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Check all files and all rows of a lake, without changing it.

    Args:
        path: The path or URL of the lake.
        limit: The maximum number of rows in the result for each check and table.
        on_progress: Called with the title of each check before it runs.

    Raises:
        LakeError: If there is no lake at the path, or it cannot be read.
        UsageError: If the limit is below 1.
    """
    if limit < 1:
        raise UsageError(f"the limit must be 1 or more, not {limit}")
    lake = open_lake(path)
    findings: list[Finding] = []
    n_files = n_rows = 0
    unreadable_tables = set()
    for table in lake.existing_tables:
        on_progress(f"files of {table}")
        file_findings = check_files_of_table(lake, table, limit)
        findings += file_findings.findings
        n_files += file_findings.n_files
        n_rows += file_findings.n_rows
        if not file_findings.is_readable:
            unreadable_tables.add(table)
    checks = all_checks()
    possible_checks = [
        check for check in checks if not tables_read_by_check(check) & unreadable_tables
    ]
    findings += run_checks(lake, possible_checks, limit, on_progress)
    # The lake is opened again, because an ingest may have ended in the meantime.
    findings += filter(None, [find_ingests_missing_from_ingests_table(open_lake(path))])
    left_out = [check_title(check) for check in checks if check not in possible_checks]
    rows = [
        (
            *(finding.check, finding.severity, finding.table, finding.finds, finding.n_rows),
            _ENCODER.encode(row).decode(),
        )
        for finding in findings
        for row in finding.rows
    ]
    return Verification(
        faults=pl.DataFrame(rows, FAULT_SCHEMA, orient="row"),
        n_checks=len(checks) + len(FILES_FIND) + len((UNSEEN,)),
        n_files=n_files,
        n_rows=n_rows,
        skipped_checks=left_out,
    )
