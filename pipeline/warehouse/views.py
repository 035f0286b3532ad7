"""The views that a query needs: of the tables, and of what is made of them."""

import re
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake.schema import arrow_schema
from pipeline.sqlfiles import identifier, literal
from pipeline.warehouse.statements import code

_WORD = re.compile(r"\w+")
# Words by which a query asks what there is.
_CATALOGUE = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
# Functions that take a name, or a whole query, as a text.
_RUNNING = {"query", "query_table"}


def named(query: str | None, views: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The tables and views that a query can name, and those that these are made of; None: all."""
    existing = set(TABLES) | set(views)
    found = existing if query is None else _reached(_words_in(query), views, existing)
    return (
        [table for table in TABLES if table in found],
        {name: select for name, select in views.items() if name in found},
    )


def _reached(words: set[str], views: Mapping[str, str], existing: set[str]) -> set[str]:
    if _CATALOGUE & words:
        return existing
    found: set[str] = set()
    unread = existing & words
    while unread:
        found |= unread
        unread = {word for name in unread for word in _words(views.get(name, ""))}
        unread = (unread & existing) - found
    return found


def _words_in(query: str) -> set[str]:
    """The words that can be names: not those in comments, nor in texts unless these are run."""
    words = _words(code(query))
    return words | _words(query) if words & _RUNNING else words


def _words(query: str) -> set[str]:
    return set(_WORD.findall(query.lower()))


def create_table_view(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    table: str,
    *,
    with_comments: bool,
) -> None:
    """Makes the view of a table, which are these files."""
    schema = arrow_schema(table)
    if files:
        rows = f"read_parquet([{', '.join(map(literal, files))}])"
    else:
        rows = identifier(f"rows_of_{table}")
        # `empty_table` imports pandas, where it is there.
        connection.register(f"rows_of_{table}", pa.Table.from_batches([], schema))
    columns = ", ".join(map(identifier, schema.names))
    connection.execute(f"CREATE VIEW {identifier(table)} AS SELECT {columns} FROM {rows}")
    if not with_comments:
        return
    connection.execute(f"COMMENT ON VIEW {identifier(table)} IS {literal(row_meaning(table))}")
    for field in schema:
        comment = (field.metadata or {}).get(b"comment", b"").decode()
        connection.execute(
            f"COMMENT ON COLUMN {identifier(table)}.{identifier(field.name)} IS {literal(comment)}"
        )
