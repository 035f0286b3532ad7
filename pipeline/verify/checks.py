"""The checks in `sql/internal/checks`: each is a SELECT of the rows that should not be there.

A check's header says what it `finds` and its `severity`. `by` says what its rows have in common: a
check by game or by location (of a document) can run on a part of them at a time.
`tables` names the kind of tables that the check runs on one by one, as `${table}`: the contracts
say which these are. What a log says against itself, the kinds of `sql/audit` find: those with a
`severity` are checks too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import duckdb

from pipeline import sqlfiles, warehouse
from pipeline.events.contracts import GAME_TABLES, TABLES, OfPlayer, OfSeat
from pipeline.lake import StoredLake
from pipeline.sqlfiles import filled, identifier, whole
from pipeline.verify.finding import Finding

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
    """A check as its file's header declares it, made for one table where `table` is not null."""

    name: str
    severity: str
    finds: str
    by: str
    table: str | None

    @property
    def query(self) -> str:
        if self.name.startswith(f"{AUDIT}."):
            rows = whole(self.name.replace(".", "/"))
            return f"SELECT game_id, seat, round, logged, says FROM ({rows}) AS rows WHERE is_found"
        key = ", ".join(map(identifier, TABLES[self.table].primary_key())) if self.table else ""
        return filled(f"{FOLDER}/{self.name}", table=self.table or "", key=key)


def all_checks() -> list[Check]:
    """Every check there is, for every table that it is made for."""
    return [*(check for name in sqlfiles.names(FOLDER) for check in _declared(name)), *_of_logs()]


def _declared(name: str) -> Iterator[Check]:
    header = sqlfiles.header(f"{FOLDER}/{name}")
    tables = _TABLES[header["tables"][0]]() if "tables" in header else [None]
    severity, finds, by = (header[key][0] for key in ("severity", "finds", "by"))
    for table in tables:
        yield Check(name, severity, finds, by, table)


def _of_logs() -> Iterator[Check]:
    """The kinds of `magic audit` by which a log contradicts itself."""
    for kind in sqlfiles.names(AUDIT):
        header = sqlfiles.header(f"{AUDIT}/{kind}")
        for severity in header.get("severity", ()):
            yield Check(f"{AUDIT}.{kind}", severity, header["title"][0], "game", None)


def _of_games() -> list[str]:
    return [name for name in GAME_TABLES if name != "games"]


def _of_players() -> list[str]:
    """The tables whose rows repeat what `players` says of the seat."""
    seated = [name for name in _of_games() if "seat" in TABLES[name].columns()]
    return [name for name in seated if issubclass(TABLES[name], OfPlayer) and name != "players"]


def _of_seats() -> list[str]:
    """The tables whose rows were read from something that their seat said."""
    acts = [name for name in GAME_TABLES if issubclass(TABLES[name], OfSeat)]
    return [name for name in acts if name != "eliminations"]


def _with_a_key() -> list[str]:
    """The tables with a primary key; some have a check of it that is their own."""
    files = sqlfiles.names(FOLDER)
    keyed = [name for name, table in TABLES.items() if table.primary_key()]
    return [name for name in keyed if f"keys_of_{name}" not in files]


_TABLES: dict[str, Callable[[], list[str]]] = {
    "of games": _of_games,
    "of players": _of_players,
    "of seats": _of_seats,
    "with a key": _with_a_key,
}


def title(check: Check) -> str:
    """The check's name, with its table where it has one."""
    return f"{check.name} of {check.table}" if check.table else check.name


def tables_of(check: Check) -> set[str]:
    """The lake's tables that a check reads."""
    return set(_WORD.findall(check.query)) & set(TABLES)


def run(
    lake: StoredLake, chosen: Iterable[Check], limit: int, on_progress: Callable[[str], None]
) -> list[Finding]:
    """The findings of the checks; a check without rows has none."""
    findings = []
    chosen = list(chosen)
    # Only the tables that are read: others may be unreadable.
    read = sorted({table for check in chosen for table in tables_of(check)})
    n_rows = {table: sum(lake.counts(table).values()) for table in read}
    with warehouse.bounded(lake, {}, " ".join(read)) as connection:
        for check in chosen:
            on_progress(title(check))
            if check.table and not n_rows[check.table]:
                continue  # such a check gives rows of its table
            if finding := _finding(connection, check, _n_slices(n_rows, check), limit):
                findings.append(finding)
    return findings


def _finding(
    connection: duckdb.DuckDBPyConnection, check: Check, n_slices: int, limit: int
) -> Finding | None:
    n_rows = 0
    rows: list[dict[str, object]] = []
    for number in range(n_slices):
        sliced = _sliced(check, number, n_slices)
        n_wanted = max(limit - len(rows), 1)
        page = warehouse.answer(connection, f"{sliced}\nLIMIT {n_wanted}")
        n_found = page.height
        if n_found == n_wanted:
            (n_found,) = warehouse.answer(connection, f"SELECT count(*) FROM ({sliced})").row(0)
        rows += page.to_dicts()
        n_rows += n_found
    if not n_rows:
        return None
    return Finding(check.name, check.severity, check.finds, check.table, n_rows, rows[:limit])


def _n_slices(n_rows: dict[str, int], check: Check) -> int:
    """In how many parts to run a check, so that each reads a bounded number of rows."""
    _, sliced = _BY.get(check.by, ("", set()))
    most = max((n_rows[table] for table in tables_of(check) & sliced), default=0)
    return -(-most // SLICE_ROWS) or 1


def _sliced(check: Check, number: int, n_slices: int) -> str:
    """The check's query on one part of the tables: the parts take the names of the whole tables."""
    query = f"SELECT * FROM (\n{check.query}\n) AS found"
    key, sliced = _BY.get(check.by, ("", set()))
    tables = tables_of(check) & sliced if n_slices > 1 else ()
    rows = f"WHERE hash({key}) % {n_slices} = {number}"
    parts = [f"{t} AS NOT MATERIALIZED (SELECT * FROM main.{t} {rows})" for t in sorted(tables)]
    return f"WITH {', '.join(parts)}\n{query}" if parts else query
