"""The lake against itself: its files against its log, its rows against each other.

Everything is looked at, a part at a time, so that memory stays bounded. Nothing is changed.
"""

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    error_reason,
    is_permission_error,
    one_line_message,
    raise_if_resources_exhausted,
)
from pipeline.events import contracts
from pipeline.events.contracts import GAME_TABLES, TABLES, PlayerRow, SeatActionRow, table_schema
from pipeline.lake import StoredLake, open_lake
from pipeline.lake.files import delta_statistics
from pipeline.lake.row_stream import iter_batches
from pipeline.lake.tables import (
    OpenTable,
    empty_commit_files,
    hash_file,
    hash_in_file_name,
    scan_files,
)
from pipeline.sql_files import fill_template, quote_identifier, read_select
from pipeline.stores import Location
from pipeline.text_format import format_count

__all__ = ["CONTRADICTION", "DEFAULT_LIMIT", "ERROR", "FAULT_SCHEMA", "Verification", "verify"]

# What a check found.

# An error is damage; a contradiction is in what a log says, and was there before it was ingested.
ERROR, CONTRADICTION, WARNING = "error", "contradiction", "warning"
DEFAULT_LIMIT = 20


class Finding(NamedTuple):
    """What one check found in one table, or in several: `rows` are the first of `n_rows`."""

    check: str
    severity: str
    finds: str
    table: str | None
    n_rows: int
    rows: list[dict[str, object]]


# Ingests that other tables have, and the table `ingests` has not: no number counts their games.

UNSEEN = "ingest_unseen"
UNSEEN_FINDS = "an ingest that is not in the numbers: the table `ingests` does not have it"
_TO_DO = (
    "unless it is still running, it was interrupted, or the table `ingests` lost its last commit: "
    "run the same `magic ingest` again"
)


def find_ingests_missing_from_table(lake: StoredLake) -> Finding | None:
    """Return a finding if `documents` has ingests after the lake's last commit, or None.

    An ingest that was killed in its commit leaves the same as a lost commit of `ingests`.
    """
    folder = lake.table_folder("documents")
    try:
        logged = OpenTable(folder).log_values("modification_time")
        new = logged.keys() - lake.file_sizes_bytes("documents").keys()
        if not new:
            return None
        rows = scan_files("documents", [str(folder / name) for name in new])
        counts = rows.filter(pl.col("ingest_id") > lake.ingest_id).group_by("ingest_id")
        is_game = pl.col("status").is_in(["ingested", "replacing"])
        later = counts.agg(pl.len().alias("n_documents"), n_games=is_game.sum())
        ingests = later.sort("ingest_id").collect()
    except (LakeError, OSError, pl.exceptions.PolarsError):
        return None  # what cannot be read is found by other checks
    if ingests.is_empty():
        return None
    ended = datetime.fromtimestamp(max(logged[name] for name in new) / 1000, UTC)
    n_games = int(ingests["n_games"].sum())
    one = ingests.height == 1
    what = "an ingest of" if one else f"{ingests.height:,} ingests up to"
    what = f"{what} {ended:%Y-%m-%d %H:%M} UTC"
    verb = "is" if one else "are"
    finds = f"{what} with {format_count(n_games, 'game')} {verb} not in the numbers; {_TO_DO}"
    return Finding(UNSEEN, ERROR, finds, "ingests", ingests.height, ingests.to_dicts())


# A table's files against its log and its contract, read a batch of rows at a time.

BATCH_ROWS = 2**14
_BUFFER_BYTES = 2**22

DENIED = "denied"
# What is looked for in the files of a table, by the name of the check.
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

# How reading a damaged file fails, and how any file where the machine lacks something.
_DAMAGED = (OSError, EOFError, ValueError, pa.ArrowException, pl.exceptions.PolarsError)


class FileFindings(Struct):
    """The errors found in the files of a table. `foreign` are game types of missing packages."""

    table: str
    foreign: frozenset[str] = frozenset()
    n_files: int = 0
    n_rows: int = 0
    is_readable: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def add_finding(self, check: str, row: Mapping[str, object], limit: int, n: int = 1) -> None:
        """Count errors of a check, and keep the row if fewer than `limit` rows are kept."""
        self.counts[check] += n
        rows = self.rows.setdefault(check, [])
        if len(rows) < limit:
            rows.append(dict(row))

    @property
    def findings(self) -> list[Finding]:
        return [
            Finding(check, _SEVERITIES[check], FILES_FIND[check], self.table, n, self.rows[check])
            for check, n in self.counts.items()
        ]


def check_files_of_table(lake: StoredLake, table: str, limit: int) -> FileFindings:
    """Check every file and every row of a table."""
    found = FileFindings(table, _game_types_of_missing_packages(lake))
    try:
        logged = pl.DataFrame(lake.delta_table(table).get_add_actions(flatten=True))
        latest = lake.latest_version(table)
    except (LakeError, OSError) as error:
        raise_if_resources_exhausted(error)
        found.is_readable = False
        found.add_finding(
            DENIED if is_permission_error(error) else "log", {"error": str(error)}, limit
        )
        return found
    if latest != lake.delta_table(table).version():
        row = {"version": lake.delta_table(table).version(), "latest": latest}
        found.add_finding("latest_version", row, limit)
    folder, schema = lake.table_folder(table), pl.Schema(lake.file_schema(table))
    for name in empty_commit_files(folder):
        found.add_finding("log_empty", {"commit": name}, limit)
    sizes = {file.name: file.n_bytes for file in folder.list_files()}
    for entry in logged.iter_rows(named=True):
        name = entry["path"]
        found.n_files += 1
        if difference := _size_or_hash_problem(folder / name, sizes.get(name), entry["size_bytes"]):
            check, columns = difference
            found.is_readable = False
            found.add_finding(check, {"file": name, **columns}, limit)
        else:
            _check_rows_of_file(folder / name, entry, found, limit, schema)
    return found


def _size_or_hash_problem(
    file: Location, n_bytes: int | None, logged: int
) -> tuple[str, dict[str, object]] | None:
    """Return how a file of `n_bytes` (None: no such file) differs from what its log says.

    The result is the check that finds it and its columns; None if size and hash are as logged.
    """
    if n_bytes is None:
        return "file_missing", {}
    if n_bytes != logged:
        return "file_size", {"n_bytes": n_bytes, "logged": logged}
    try:
        committed = hash_in_file_name(str(file))
        if committed is None or (sha256 := hash_file(file)) == committed:
            return None
    except OSError as error:
        raise_if_resources_exhausted(error)
        return DENIED if is_permission_error(error) else "file_damaged", {
            "error": error_reason(error)
        }
    return "file_hash", {"sha256": sha256}


def _game_types_of_missing_packages(lake: StoredLake) -> frozenset[str]:
    """Return the game types in the lake that belong to packages that are not installed."""
    try:
        return frozenset(lake.unknown_game_types)
    except (LakeError, *_DAMAGED) as error:
        raise_if_resources_exhausted(error)
        return frozenset()  # the table `roles` is itself looked at


def _check_rows_of_file(
    file: Location, logged: dict[str, Any], found: FileFindings, limit: int, schema: pl.Schema
) -> None:
    """Check the rows of one file, which must have the columns of `schema`."""
    contract = pl.Schema(table_schema(found.table))
    try:
        with file.open() as opened:
            parquet = pq.ParquetFile(
                opened,
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES,
                page_checksum_verification=True,
            )
            for rows in map(pl.DataFrame, iter_batches(parquet, BATCH_ROWS)):
                if rows.schema != schema:
                    columns = ", ".join(f"{name} {dtype}" for name, dtype in rows.schema.items())
                    found.is_readable = False
                    found.add_finding(
                        "contract", {"file": logged["path"], "columns": columns}, limit
                    )
                    return
                found.n_rows += rows.height
                # An older lake has null in columns that its files lack.
                whole_rows = rows.match_to_schema(contract, missing_columns="insert")
                _check_rows_against_contract(whole_rows, found, limit)
            unlike = list(_iter_footer_statistics_that_contradict_log(parquet.metadata, logged))
    except _DAMAGED as error:
        raise_if_resources_exhausted(error)
        found.is_readable = False
        found.add_finding(
            "file_damaged", {"file": logged["path"], "error": one_line_message(error)}, limit
        )
        return
    for row in unlike:
        found.add_finding("file_statistics", {"file": logged["path"], **row}, limit)


def _check_rows_against_contract(rows: pl.DataFrame, found: FileFindings, limit: int) -> None:
    """Check rows against their contract, except rows of games that only another package defines."""
    contract = TABLES[found.table]
    key = [name for name in _KEYS if name in rows.columns]
    if found.foreign and "game_id" in rows.columns and "game_type" in rows.columns:
        is_foreign = pl.col("game_type").is_in(found.foreign)
        foreign = rows.filter(is_foreign).select("game_type", *key)
        rows = rows.filter(~is_foreign)
        if foreign.height:
            found.add_finding("not_installed", foreign.row(0, named=True), limit, foreign.height)
    for rule, breaks in contracts.broken_rules(contract, rows).items():
        of_rule = rows.filter(breaks).select(key)
        (first,) = of_rule.head(1).to_dicts()
        found.add_finding("contract", {"rule": rule, **first}, limit, of_rule.height)


# The columns by which a row is found again.
_KEYS = ("ingest_id", "game_id", "seat", "round", "message_index", "source", "path")


def _iter_footer_statistics_that_contradict_log(
    footer: pq.FileMetaData, logged: dict[str, Any]
) -> Iterator[dict[str, object]]:
    """Return the statistics of a file's footer that contradict the log; ranges there are bounds."""
    of_file = json.loads(delta_statistics(footer))
    if of_file["numRecords"] != (expected := logged["num_records"]) and expected is not None:
        yield {"statistic": "num_records", "found": of_file["numRecords"], "logged": expected}
    for kind, by_column, agree in (
        ("null_count", of_file["nullCount"], operator.eq),
        ("min", of_file["minValues"], operator.le),
        ("max", of_file["maxValues"], operator.ge),
    ):
        for name, value in by_column.items():
            expected = logged.get(f"{kind}.{name}")
            if expected is not None and not agree(expected, value):
                yield {"statistic": f"{kind}.{name}", "found": value, "logged": expected}


# The checks in `sql/internal/checks`: each is a SELECT of the rows that should not be there.
#
# A check's header says what it `finds` and its `severity`. `by` says what its rows have in common:
# a check by game or by location (of a document) can run on a part of them at a time. `tables` names
# the kind of tables that the check runs on one by one, as `${table}`: the contracts say which these
# are. What a log says against itself, the kinds of `sql/audit` find: those with a `severity` are
# checks too.

FOLDER = "internal/checks"
AUDIT = "audit"
SLICE_ROWS = 4 * 2**20
_WORD = re.compile(r"\w+")
_OF_DOCUMENTS = {"documents", "quarantine"}
# By what the rows of a check have in common: the key that cuts tables into parts, and those tables.
_BY = {
    "game": ("game_id", {*GAME_TABLES, *_OF_DOCUMENTS}),
    "location": ("source || '/' || path", _OF_DOCUMENTS),
}


class Check(NamedTuple):
    """A check as defined by its file's header, for one table if `table` is not None."""

    name: str
    severity: str
    finds: str
    by: str
    table: str | None

    @property
    def sql_query(self) -> str:
        if self.name.startswith(f"{AUDIT}."):
            rows = read_select(self.name.replace(".", "/"))
            return f"SELECT game_id, seat, round, logged, says FROM ({rows}) AS rows WHERE is_found"
        key = (
            ", ".join(map(quote_identifier, TABLES[self.table].primary_key())) if self.table else ""
        )
        return fill_template(f"{FOLDER}/{self.name}", table=self.table or "", key=key)


def all_checks() -> list[Check]:
    """Return every check for every table that it applies to."""
    checks = []
    for name in sql_files.list_files(FOLDER):
        header = sql_files.read_header(f"{FOLDER}/{name}")
        tables = (
            [t for t in TABLES if _is_table_of_kind(header["tables"][0], t)]
            if "tables" in header
            else [None]
        )
        severity, finds, by = (header[key][0] for key in ("severity", "finds", "by"))
        checks += [Check(name, severity, finds, by, table) for table in tables]
    for kind in sql_files.list_files(AUDIT):
        header = sql_files.read_header(f"{AUDIT}/{kind}")
        for severity in header.get("severity", ()):
            checks.append(Check(f"{AUDIT}.{kind}", severity, header["title"][0], "game", None))
    return checks


def _is_table_of_kind(kind: str, name: str) -> bool:
    """Return whether a table is of the kind that the header of a check names."""
    table = TABLES[name]
    match kind:
        case "of games":
            return name in GAME_TABLES and name != "games"
        case "of players":  # whose rows repeat what `players` says of the seat
            return "seat" in table.columns() and issubclass(table, PlayerRow) and name != "players"
        case "of seats":  # whose rows were read from something that their seat said
            return issubclass(table, SeatActionRow) and name != "eliminations"
        case "with a key":  # some have a check of it that is their own
            return bool(table.primary_key()) and f"keys_of_{name}" not in sql_files.list_files(
                FOLDER
            )
    raise ValueError(f"no kind of tables `{kind}`")


def check_title(check: Check) -> str:
    """Return the check's name, with its table if it has one."""
    return f"{check.name} of {check.table}" if check.table else check.name


def tables_read_by_check(check: Check) -> set[str]:
    """Return the lake's tables that a check reads."""
    return set(_WORD.findall(check.sql_query)) & set(TABLES)


def run_checks(
    lake: StoredLake, chosen: Iterable[Check], limit: int, on_progress: Callable[[str], None]
) -> list[Finding]:
    """Run the checks and return their findings; a check without rows has no finding."""
    findings = []
    chosen = list(chosen)
    # Only the tables that are read: others may be unreadable.
    read = sorted({table for check in chosen for table in tables_read_by_check(check)})
    n_rows = {table: sum(lake.row_counts_by_file(table).values()) for table in read}
    with warehouse.connect_with_memory_limit(lake, {}, " ".join(read)) as connection:
        for check in chosen:
            on_progress(check_title(check))
            if check.table and not n_rows[check.table]:
                continue  # such a check gives rows of its table
            if finding := _run_check_in_slices(
                connection, check, _number_of_slices(n_rows, check), limit
            ):
                findings.append(finding)
    return findings


def _run_check_in_slices(
    connection: duckdb.DuckDBPyConnection, check: Check, n_slices: int, limit: int
) -> Finding | None:
    n_rows = 0
    rows: list[dict[str, object]] = []
    for number in range(n_slices):
        sliced = _query_on_slice_of_tables(check, number, n_slices)
        n_wanted = max(limit - len(rows), 1)
        page = warehouse.run_trusted_query(connection, f"{sliced}\nLIMIT {n_wanted}")
        n_found = page.height
        if n_found == n_wanted:
            (n_found,) = warehouse.run_trusted_query(
                connection, f"SELECT count(*) FROM ({sliced})"
            ).row(0)
        rows += page.to_dicts()
        n_rows += n_found
    if not n_rows:
        return None
    return Finding(check.name, check.severity, check.finds, check.table, n_rows, rows[:limit])


def _number_of_slices(n_rows: dict[str, int], check: Check) -> int:
    """Return the number of parts to run a check in, so that each reads a bounded number of rows."""
    _, sliced = _BY.get(check.by, ("", set()))
    most = max((n_rows[table] for table in tables_read_by_check(check) & sliced), default=0)
    return -(-most // SLICE_ROWS) or 1


def _query_on_slice_of_tables(check: Check, number: int, n_slices: int) -> str:
    """Return the check's query on one part of the tables; parts have the names of the tables."""
    query = f"SELECT * FROM (\n{check.sql_query}\n) AS found"
    key, sliced = _BY.get(check.by, ("", set()))
    tables = tables_read_by_check(check) & sliced if n_slices > 1 else ()
    rows = f"WHERE hash({key}) % {n_slices} = {number}"
    parts = [f"{t} AS NOT MATERIALIZED (SELECT * FROM main.{t} {rows})" for t in sorted(tables)]
    return f"WITH {', '.join(parts)}\n{query}" if parts else query


# `finds` is what the check looks for, `n_rows` how often it found that in all; `row` is one of
# these as JSON, its key and what contradicts something else.
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
    """The result of a verification: errors as rows of `FAULT_SCHEMA`, and how much was checked.

    `left_out` are the checks that could not be made, since a table cannot be read.
    """

    faults: pl.DataFrame
    n_checks: int
    n_files: int
    n_rows: int
    left_out: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged or missing; warnings and contradictions do not count."""
        return not self.left_out and ERROR not in self.faults["severity"]

    @property
    def is_damaged(self) -> bool:
        """Whether damage was found.

        If neither this nor `is_whole` is true, files may not be read, or an ingest did not end.
        """
        is_damage = ~pl.col("check").is_in([DENIED, UNSEEN])
        return not self.faults.filter(is_damage, severity=ERROR).is_empty()

    @property
    def is_contradicted(self) -> bool:
        """Whether logs contradict themselves."""
        return CONTRADICTION in self.faults["severity"]


def verify(
    path: str | Path | Location,
    *,
    limit: int = DEFAULT_LIMIT,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Check every row of the lake; `faults` has at most `limit` rows for each check and table.

    `on_progress` is called with what is checked next. Raises LakeError for what is no
    readable lake, and UsageError for a limit below 1.
    """
    if limit < 1:
        raise UsageError(f"the limit must be 1 or more, not {limit}")
    lake = open_lake(path)
    findings: list[Finding] = []
    n_files = n_rows = 0
    unreadable = set()
    for table in lake.existing_tables:
        on_progress(f"files of {table}")
        found = check_files_of_table(lake, table, limit)
        findings += found.findings
        n_files += found.n_files
        n_rows += found.n_rows
        if not found.is_readable:
            unreadable.add(table)
    known = all_checks()
    possible = [check for check in known if not tables_read_by_check(check) & unreadable]
    findings += run_checks(lake, possible, limit, on_progress)
    # Of the newest state, since an ingest may have ended meanwhile.
    findings += filter(None, [find_ingests_missing_from_table(open_lake(path))])
    left_out = [check_title(check) for check in known if check not in possible]
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
        n_checks=len(known) + len(FILES_FIND) + len((UNSEEN,)),
        n_files=n_files,
        n_rows=n_rows,
        left_out=left_out,
    )
