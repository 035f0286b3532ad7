"""DuckDB over a lake: a view for each table, and nothing else within reach.

The only module that opens DuckDB.
"""

import re
from collections.abc import Mapping

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

from pipeline.errors import QueryError
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import Lake
from pipeline.lake.schema import arrow_schema
from pipeline.sqlfiles import identifier, literal

_WORD = re.compile(r"\w+")
# Words by which a query asks what there is.
_CATALOGUE = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
# Functions that take a name, or a whole query, as a text.
_RUNNING = {"query", "query_table"}
_EXPLAIN = re.compile(r"^\s*explain(?:\s+analyze\b|\s*\([^)]*\))?", re.IGNORECASE)
_TEXTS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
# Words by which what parses as a SELECT can write all the same.
_WRITING = {"copy", "json_execute_serialized_sql"}


def connect(
    lake: Lake, views: Mapping[str, str], wanted: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection that sees the lake's tables at its one state, and the views given.

    Only what the query `wanted` can name is made, since making all takes a second; None makes all.
    The connection can read the lake's folder and nothing else, and its settings are locked.
    """
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute("SET TimeZone = 'UTC'")
    named = set(TABLES) | set(views) if wanted is None else _named(wanted, views)
    for table in TABLES:
        if table in named:
            _create_table_view(connection, lake, table, with_comments=wanted is None)
    for name, select in views.items():
        if name in named:
            connection.execute(f"CREATE VIEW {identifier(name)} AS {select}")
    if lake.path.is_local:
        connection.execute(f"SET allowed_directories = [{literal(str(lake.path))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _named(query: str, views: Mapping[str, str]) -> set[str]:
    """The tables and views that a query can name, and those that these are made of."""
    existing = set(TABLES) | set(views)
    if _CATALOGUE & _words(query):
        return existing
    found: set[str] = set()
    unread = existing & _names_in(query)
    while unread:
        found |= unread
        unread = {word for name in unread for word in _words(views.get(name, ""))}
        unread = (unread & existing) - found
    return found


def _names_in(query: str) -> set[str]:
    """The words that can be names: not those in comments, nor in texts unless these are run."""
    text = query.encode()
    tokens = duckdb.tokenize(query)  # places are those of bytes
    ends = [*(start for start, _ in tokens[1:]), len(text)]
    by_kind = [
        (kind, text[start:end].decode()) for (start, kind), end in zip(tokens, ends, strict=True)
    ]
    names = {
        word
        for kind, token in by_kind
        if kind not in (duckdb.token_type.comment, duckdb.token_type.string_const)
        for word in _words(token)
    }
    return names | _words(query) if names & _RUNNING else names


def _words(query: str) -> set[str]:
    return set(_WORD.findall(query.lower()))


def _create_table_view(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, *, with_comments: bool
) -> None:
    files = lake.files(table)
    columns = ", ".join(map(identifier, arrow_schema(table).names))
    if files and lake.path.is_local:
        names = ", ".join(map(literal, files))
        select = f"SELECT {columns} FROM read_parquet([{names}])"
    else:
        connection.register(f"rows_of_{table}", _rows(lake, table))
        select = f"SELECT {columns} FROM {identifier(f'rows_of_{table}')}"
    connection.execute(f"CREATE VIEW {identifier(table)} AS {select}")
    if not with_comments:
        return
    connection.execute(f"COMMENT ON VIEW {identifier(table)} IS {literal(row_meaning(table))}")
    for field in arrow_schema(table):
        comment = (field.metadata or {}).get(b"comment", b"").decode()
        connection.execute(
            f"COMMENT ON COLUMN {identifier(table)}.{identifier(field.name)} IS {literal(comment)}"
        )


def _rows(lake: Lake, table: str) -> pa.Table | ds.Dataset:
    """A table that is empty, or on an object store, where DuckDB cannot go by itself."""
    if not lake.files(table):
        return arrow_schema(table).empty_table()
    return lake.delta(table).to_pyarrow_dataset()


def keep(connection: duckdb.DuckDBPyConnection, name: str, select: str) -> None:
    """Computes the SELECT once and holds the result as a table of the connection's own."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {select}")


def query(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """The result of one reading statement; raises QueryError for any other, or a wrong one."""
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1:
            raise QueryError(f"give one statement at a time, not {len(statements)}")
        _refuse_writing(connection, statements[0])
        return pl.DataFrame(connection.sql(statements[0].query).to_arrow_table())
    except pl.exceptions.DuplicateError as error:
        raise QueryError(f"two columns have one name, give them aliases: {error}") from None
    except pl.exceptions.PolarsError as error:
        raise QueryError(f"a column's type cannot be shown, cast it: {error}") from None
    except duckdb.Error as error:
        raise QueryError(_one_line(error)) from None


def _refuse_writing(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> None:
    kinds = {statement.type}
    if statement.type is duckdb.StatementType.EXPLAIN:
        # With ANALYZE it runs what it explains.
        explained = _EXPLAIN.sub("", statement.query)
        kinds = {inner.type for inner in connection.extract_statements(explained)}
    if kinds != {duckdb.StatementType.SELECT}:
        kind = ", ".join(sorted(kind.name for kind in kinds))
        raise QueryError(f"only reading is possible here, and this is {kind}: use SELECT")
    if found := _WRITING & _code_words(statement.query):
        raise QueryError(f"only reading is possible here: `{found.pop()}` may not be used")


def _code_words(query: str) -> set[str]:
    """The query's words, but for those in its texts and comments."""
    return _words(_TEXTS.sub(" ", query))


def _one_line(error: duckdb.Error) -> str:
    """DuckDB's message without its drawing of the query."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("LINE ", "^"))]
    return " ".join(told)
