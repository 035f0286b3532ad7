"""The views that a query needs: of the tables, and of what is made of them."""

import re
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake.schema import arrow_schema
from pipeline.sqlfiles import View, identifier, literal
from pipeline.warehouse.statements import code

_WORD = re.compile(r"\w+")
# Words by which a query asks what there is.
_CATALOGUE = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
# Functions that take a name, or a whole query, as a text.
_RUNNING = {"query", "query_table"}


def referenced(query: str | None, views: Mapping[str, View]) -> tuple[list[str], dict[str, View]]:
    """The tables and views that a query can name, and those that these are made of; None: all."""
    reached = {*TABLES, *views} if lists_names(query) else _reached(_words_in(query or ""), views)
    return (
        [table for table in TABLES if table in reached],
        {name: view for name, view in views.items() if name in reached},
    )


def lists_names(query: str | None) -> bool:
    """Whether the query asks what tables and views there are; without one, all may be asked."""
    return query is None or bool(_CATALOGUE & _words_in(query))


def _reached(words: set[str], views: Mapping[str, View]) -> set[str]:
    existing, reached = {*TABLES, *views}, set[str]()
    while unread := {name for name in existing - reached if words.issuperset(name.split("."))}:
        reached |= unread
        words = {word for name in unread & views.keys() for word in _words(views[name].select)}
    return reached


def descriptions(name: str, views: Mapping[str, View]) -> dict[str, str]:
    """What the columns of a view mean: its own descriptions, and those of what it is made of.

    A column that tables describe differently is left out.
    """
    tables, made_of = referenced(".".join(map(identifier, name.split("."))), views)
    alike: dict[str, set[str]] = {}
    for table in tables:
        for column, declared in TABLES[table].columns().items():
            alike.setdefault(column, set()).add(declared.description or "")
    found = {column: texts.pop() for column, texts in alike.items() if len(texts) == 1}
    for one in (*(one for one in made_of if one.startswith("shared.")), name):
        found |= views[one].columns
    return found


def create_view(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    views: Mapping[str, View],
    *,
    with_comments: bool,
) -> None:
    """Makes one of the views, and its schema."""
    *schema, _ = parts = [identifier(part) for part in name.split(".")]
    view = ".".join(parts)
    for one in schema:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {one}")
    connection.execute(f"CREATE VIEW {view} AS {views[name].select}")
    if not with_comments:
        return
    connection.execute(f"COMMENT ON VIEW {view} IS {literal(f'A row is {views[name].row}.')}")
    meaning = descriptions(name, views)
    for column in connection.sql(f"FROM {view} LIMIT 0").columns:
        if column in meaning:
            connection.execute(
                f"COMMENT ON COLUMN {view}.{identifier(column)} IS {literal(meaning[column])}"
            )


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
        columns = ", ".join(map(identifier, schema.names))
        rows = f"SELECT {columns} FROM read_parquet([{', '.join(map(literal, files))}])"
    else:
        types = connection.from_arrow(pa.Table.from_batches([], schema)).types
        nulls = zip(schema.names, types, strict=True)
        columns = ", ".join(f"CAST(NULL AS {dtype}) AS {identifier(name)}" for name, dtype in nulls)
        rows = f"SELECT {columns} LIMIT 0"
    connection.execute(f"CREATE VIEW {identifier(table)} AS {rows}")
    if not with_comments:
        return
    connection.execute(f"COMMENT ON VIEW {identifier(table)} IS {literal(row_meaning(table))}")
    for field in schema:
        comment = (field.metadata or {}).get(b"comment", b"").decode()
        connection.execute(
            f"COMMENT ON COLUMN {identifier(table)}.{identifier(field.name)} IS {literal(comment)}"
        )
