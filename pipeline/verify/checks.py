"""The checks in `sql/checks`: each is a SELECT of the rows that ought not to be there.

A check's header says what it finds and how grave that is; `tables` are those that it is made for
one by one, as `${table}`. `by` says what its rows have in common: a check by game or by place (of a
document) can be made for a part of the games or places at a time.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import duckdb

from pipeline import sqlfiles, warehouse
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.lake import Lake
from pipeline.sqlfiles import filled, identifier
from pipeline.verify.finding import Finding

FOLDER = "internal/checks"
SLICE_ROWS = 4 * 2**20
_WORD = re.compile(r"\w+")
_OF_DOCUMENTS = ("documents", "quarantine")
_PLACE = "hash(source || '/' || path)"
_IDS = 16**4  # a game's id is a random number; this many slices of them are told apart


class Check(NamedTuple):
    """A check as its file's header declares it, made for one table where `table` is not null."""

    name: str
    severity: str
    finds: str
    by: str
    table: str | None

    @property
    def query(self) -> str:
        key = ", ".join(map(identifier, TABLES[self.table].primary_key())) if self.table else ""
        return filled(f"{FOLDER}/{self.name}", table=self.table or "", key=key)


def all_checks() -> list[Check]:
    """Every check there is, for every table that it is made for."""
    return [check for name in sqlfiles.names(FOLDER) for check in _declared(name)]


def _declared(name: str) -> Iterator[Check]:
    header = sqlfiles.header(f"{FOLDER}/{name}")
    tables = header["tables"][0].split(", ") if "tables" in header else [None]
    for table in tables:
        yield Check(name, header["severity"][0], header["finds"][0], header["by"][0], table)


def title(check: Check) -> str:
    """The check's name, with its table where it has one."""
    return f"{check.name} of {check.table}" if check.table else check.name


def tables_of(check: Check) -> set[str]:
    """The lake's tables that a check reads."""
    return set(_WORD.findall(check.query)) & set(TABLES)


def run(
    lake: Lake, chosen: Iterable[Check], most: int, on_progress: Callable[[str], None]
) -> list[Finding]:
    """What the checks find, those that find nothing left out."""
    found = []
    chosen = list(chosen)
    # Only the tables that are read: others may be unreadable.
    read = sorted({table for check in chosen for table in tables_of(check)})
    n_rows = {table: sum(lake.counts(table).values()) for table in read}
    with warehouse.connect(lake, {}, " ".join(read)) as connection:
        for check in chosen:
            on_progress(title(check))
            if finding := _made(connection, check, _n_slices(n_rows, check), most):
                found.append(finding)
    return found


def _made(
    connection: duckdb.DuckDBPyConnection, check: Check, n_slices: int, most: int
) -> Finding | None:
    n_rows = 0
    rows: list[dict[str, object]] = []
    for number in range(n_slices):
        sliced = _sliced(check, number, n_slices)
        n_wanted = max(most - len(rows), 1)
        found = warehouse.answer(connection, f"{sliced}\nLIMIT {n_wanted}")
        n_found = found.height
        if n_found == n_wanted:
            (n_found,) = warehouse.answer(connection, f"SELECT count(*) FROM ({sliced})").row(0)
        rows += found.to_dicts()
        n_rows += n_found
    if not n_rows:
        return None
    return Finding(check.name, check.severity, check.finds, check.table, n_rows, rows[:most])


def _n_slices(n_rows: dict[str, int], check: Check) -> int:
    """In how many parts a check is to be made, so that each reads a bounded number of rows."""
    most = max((n_rows[table] for table in tables_of(check) & _sliced_tables(check)), default=0)
    return min(-(-most // SLICE_ROWS), _IDS) or 1


def _sliced_tables(check: Check) -> set[str]:
    if check.by == "game":
        return {*GAME_TABLES, *_OF_DOCUMENTS}
    return set(_OF_DOCUMENTS) if check.by == "place" else set()


def _sliced(check: Check, number: int, n_slices: int) -> str:
    """The check's query over one part of the tables: these stand in for the whole ones by name."""
    query = f"SELECT * FROM (\n{check.query}\n) AS found"
    if n_slices == 1:
        return query
    if check.by == "game":
        first, end = (f"{_IDS * part // n_slices:04x}" for part in (number, number + 1))
        is_last = number == n_slices - 1
        chosen = f"game_id >= '{first}'" + ("" if is_last else f" AND game_id < '{end}'")
    else:
        chosen = f"{_PLACE} % {n_slices} = {number}"
    parts = ",\n".join(
        f"{table} AS NOT MATERIALIZED (SELECT * FROM main.{table} WHERE {chosen})"
        for table in sorted(tables_of(check) & _sliced_tables(check))
    )
    return f"WITH {parts}\n{query}"
