"""A table's files against its log and its contract, read a batch of rows at a time."""

import json
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from pipeline.errors import LakeError
from pipeline.events import checks
from pipeline.events.contracts import TABLES, polars_schema
from pipeline.lake import StoredLake
from pipeline.lake.contents import empty_commits
from pipeline.lake.damage import DENIED, difference
from pipeline.lake.files import statistics
from pipeline.lake.stream import batches
from pipeline.library_errors import check_machine, is_denied, one_line
from pipeline.stores import Location
from pipeline.verify.finding import ERROR, WARNING, Finding

BATCH_ROWS = 2**14
_BUFFER_BYTES = 2**22

# What is looked for in the files of a table, by the name of the check.
FINDS = {
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
_SEVERITIES = dict.fromkeys(FINDS, ERROR) | dict.fromkeys(WARNINGS, WARNING)

# How reading a damaged file fails, and how any file where the machine lacks something.
_DAMAGED = (OSError, EOFError, ValueError, pa.ArrowException, pl.exceptions.PolarsError)


class Looked(Struct):
    """What was found in the files of a table. `foreign` are game types unknown here."""

    table: str
    foreign: frozenset[str] = frozenset()
    n_files: int = 0
    n_rows: int = 0
    is_readable: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def add(self, check: str, row: Mapping[str, object], limit: int, n: int = 1) -> None:
        """Notes what a check found, the first of it with the row."""
        self.counts[check] += n
        rows = self.rows.setdefault(check, [])
        if len(rows) < limit:
            rows.append(dict(row))

    @property
    def findings(self) -> list[Finding]:
        return [
            Finding(check, _SEVERITIES[check], FINDS[check], self.table, n, self.rows[check])
            for check, n in self.counts.items()
        ]


def look(lake: StoredLake, table: str, limit: int) -> Looked:
    """Looks at every file of a table, and at every row."""
    looked = Looked(table, _foreign(lake))
    try:
        logged = pl.DataFrame(lake.delta(table).get_add_actions(flatten=True))
        latest = lake.latest_version(table)
    except (LakeError, OSError) as error:
        check_machine(error)
        looked.is_readable = False
        looked.add(DENIED if is_denied(error) else "log", {"error": str(error)}, limit)
        return looked
    if latest != lake.delta(table).version():
        row = {"version": lake.delta(table).version(), "latest": latest}
        looked.add("latest_version", row, limit)
    folder, schema = lake.folder(table), pl.Schema(lake.file_schema(table))
    for name in empty_commits(folder):
        looked.add("log_empty", {"commit": name}, limit)
    sizes = {file.name: file.n_bytes for file in folder.files()}
    for entry in logged.iter_rows(named=True):
        name = entry["path"]
        looked.n_files += 1
        if unlike := difference(folder, name, sizes.get(name), entry["size_bytes"], read=True):
            looked.is_readable = False
            looked.add(unlike.check, {"file": name, **unlike.columns}, limit)
        else:
            _look_into(folder / name, entry, looked, limit, schema)
    return looked


def _foreign(lake: StoredLake) -> frozenset[str]:
    """The game types whose roles the lake has, of packages that are not installed."""
    try:
        return frozenset(lake.unknown_types)
    except (LakeError, *_DAMAGED) as error:
        check_machine(error)
        return frozenset()  # the table `roles` is itself looked at


def _look_into(
    file: Location, logged: dict[str, Any], looked: Looked, limit: int, schema: pl.Schema
) -> None:
    """Looks at the rows of one file, which are to have these columns."""
    name = logged["path"]
    try:
        for rows in _batches(file):
            if rows.schema != schema:
                looked.is_readable = False
                looked.add("contract", {"file": name, "columns": _types(rows)}, limit)
                return
            looked.n_rows += rows.height
            _look_at(_whole(rows, looked.table), looked, limit)
        with file.open() as opened:
            unlike = list(_unlike(pq.read_metadata(opened), logged))
    except _DAMAGED as error:
        check_machine(error)
        looked.is_readable = False
        looked.add("file_damaged", {"file": name, "error": one_line(error)}, limit)
        return
    for row in unlike:
        looked.add("file_statistics", {"file": name, **row}, limit)


def _batches(file: Location) -> Iterator[pl.DataFrame]:
    with file.open() as opened:
        parquet = pq.ParquetFile(
            opened,
            pre_buffer=False,
            buffer_size=_BUFFER_BYTES,
            page_checksum_verification=True,
        )
        yield from map(pl.DataFrame, batches(parquet, BATCH_ROWS))


def _whole(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """The rows with all columns of the contract: null where an older lake has none."""
    return rows.match_to_schema(pl.Schema(polars_schema(table)), missing_columns="insert")


def _look_at(rows: pl.DataFrame, looked: Looked, limit: int) -> None:
    """Holds rows against their contract, but those of games that only another package knows."""
    contract = TABLES[looked.table]
    key = [name for name in _KEYS if name in rows.columns]
    if looked.foreign and "game_id" in rows.columns and "game_type" in rows.columns:
        is_foreign = pl.col("game_type").is_in(looked.foreign)
        foreign = rows.filter(is_foreign).select("game_type", *key)
        rows = rows.filter(~is_foreign)
        if foreign.height:
            looked.add("not_installed", foreign.row(0, named=True), limit, foreign.height)
    for rule, breaks in checks.broken(contract, rows).items():
        of_rule = rows.filter(breaks).select(key)
        (first,) = of_rule.head(1).to_dicts()
        looked.add("contract", {"rule": rule, **first}, limit, of_rule.height)


# The columns by which a row is found again.
_KEYS = ("ingest_id", "game_id", "seat", "round", "message_index", "source", "path")


def _unlike(footer: pq.FileMetaData, logged: dict[str, Any]) -> Iterator[dict[str, object]]:
    """The statistics of a file's footer that differ from the log's; ranges there are bounds."""
    of_file = json.loads(statistics(footer))
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


def _types(rows: pl.DataFrame) -> str:
    return ", ".join(f"{name} {dtype}" for name, dtype in rows.schema.items())
