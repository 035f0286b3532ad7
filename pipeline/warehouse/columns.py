"""The error for a column that a query names and that does not exist."""

import re
from collections.abc import Callable, Collection

import duckdb

from pipeline.errors import in_quotes, nearest
from pipeline.warehouse.statements import code

Advise = Callable[[str, Collection[str]], str | None]
"""What somebody should do who asks for a column of these tables and views, none of which has it."""

_MISSING = re.compile(
    r'Binder Error: (?:(?:Values list|Table) "[^"]*" does not have a column named|'
    r'(?:Referenced column|Column)(?= "[^"]*" (?:in \w+ list )?(?:not found|does not exist))) '
    r'"(?P<name>[^"]+)"'
)
_CANDIDATES = re.compile(r"Candidate bindings: ([^\n]*)")
_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_COLUMNS = """SELECT DISTINCT concat_ws('.', nullif(schema_name, 'main'), table_name), column_name
FROM duckdb_columns()
WHERE database_name = current_database() AND NOT internal"""


def missing_column(
    connection: duckdb.DuckDBPyConnection,
    error: duckdb.Error,
    statement: str,
    advise: Advise | None = None,
) -> str | None:
    """What is wrong, and what may be meant, if a column does not exist; else None.

    DuckDB's own message lists columns that are hardly alike, and none for a column after a point.
    """
    if not (match := _MISSING.match(str(error))):
        return None
    name = match["name"]
    columns = _columns(connection, statement)
    advice = advise(name.lower(), columns) if advise else None
    known = {column for names_of in columns.values() for column in names_of} | _candidates(error)
    hint = advice or nearest([name.lower()], sorted(known))
    if hint is None and columns:
        quotes = f"; {in_quotes(name)}" if f'"{name}"' in statement else ""
        hint = f"run `magic schema {' '.join(sorted(columns))}` to list those there are{quotes}"
    return f"no column `{name}`: {hint}" if hint else None


def _candidates(error: duckdb.Error) -> set[str]:
    """The columns that DuckDB names, which may be those of a subquery, without their tables."""
    match = _CANDIDATES.search(str(error))
    names = re.findall(r'"([^"]+)"', match[1]) if match else []
    return {name.rpartition(".")[2] for name in names}


def _columns(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, list[str]]:
    """The tables and views that the statement names, with their columns."""
    plain = code(statement).replace('"', "")
    named = {name.removeprefix("main.") for name in _DOTTED.findall(plain)}
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_COLUMNS).fetchall():
        if table.lower() in named:
            columns.setdefault(table, []).append(column)
    return columns
