"""The views that a query needs: of the tables, and of other views."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa

from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES, polars_schema, row_meaning
from pipeline.lake import StoredLake
from pipeline.lake.joining import failed_results, joined_select
from pipeline.lake.tables import ROLES, renamed_words
from pipeline.sqlfiles import View, identifier, literal
from pipeline.vocabulary import LOSS
from pipeline.warehouse.statements import code

# How the names begin under which DuckDB is shown a lake's files.
SCHEME = "lake"
_WORD = re.compile(r"\w+")
# Words by which a query asks what there is.
_LISTINGS = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
_COLUMNS = """SELECT schema_name, table_name, column_name
FROM duckdb_columns()
WHERE database_name = current_database() AND NOT internal"""
# Functions that take a name, or a whole query, as a text.
_RUNNING = {"query", "query_table"}


class Computed(NamedTuple):
    """A view whose rows Python computes from the lake, which is done when a query reads them.

    `schema` has its columns with their types. `row` and `columns` are those of a `View`.
    """

    rows: Callable[[StoredLake], pl.DataFrame]
    schema: pl.Schema
    row: str
    columns: Mapping[str, str]


Views = Mapping[str, View | Computed]


def referenced(query: str | None, views: Views) -> tuple[list[str], dict[str, View | Computed]]:
    """The tables and views that a query can name, and those that they use; None: all."""
    reached = {*TABLES, *views} if lists_names(query) else _reached(_words_in(query or ""), views)
    return (
        [table for table in TABLES if table in reached],
        {name: view for name, view in views.items() if name in reached},
    )


def lists_names(query: str | None) -> bool:
    """Whether the query lists tables and views; without a query, it may."""
    return query is None or bool(_LISTINGS & _words_in(query))


def _reached(words: set[str], views: Views) -> set[str]:
    existing, reached = {*TABLES, *views}, set[str]()
    while unread := {name for name in existing - reached if words.issuperset(name.split("."))}:
        reached |= unread
        made_of = [view.select for name in unread if isinstance(view := views.get(name), View)]
        words = {word for select in made_of for word in _words(select)}
    return reached


def descriptions(name: str, views: Views) -> dict[str, str]:
    """What the columns of a view mean: its own descriptions, and those of what it uses.

    A column that tables describe differently is left out.
    """
    tables, made_of = referenced(quoted(name), views)
    alike: dict[str, set[str]] = {}
    # A view of rows of players asks `roles` only which games are meant.
    for table in [table_or_view for table_or_view in tables if table_or_view != ROLES] or tables:
        for column, declared in TABLES[table].columns().items():
            alike.setdefault(column, set()).add(declared.description or "")
    texts_of = {column: texts.pop() for column, texts in alike.items() if len(texts) == 1}
    for table_or_view in (
        *(table_or_view for table_or_view in made_of if table_or_view.startswith("shared.")),
        name,
    ):
        texts_of |= views[table_or_view].columns
    return texts_of


def create_view(connection: duckdb.DuckDBPyConnection, name: str, view: View) -> None:
    """Makes a view, and its schema."""
    create_schema(connection, name)
    connection.execute(f"CREATE VIEW {quoted(name)} AS {view.select}")


def create_computed_view(
    connection: duckdb.DuckDBPyConnection, name: str, view: Computed, file: str
) -> None:
    """Makes a view of the rows in a file, a JSON object on each line, and its schema.

    The view names the columns, so that DuckDB opens the file only to read its rows.
    """
    types = connection.from_arrow(view.schema.to_frame().to_arrow()).types
    of_columns = zip(view.schema, map(str, types), strict=True)
    columns = ", ".join(f"{identifier(name)}: {literal(dtype)}" for name, dtype in of_columns)
    options = f"format = 'newline_delimited', columns = {{{columns}}}"
    create_schema(connection, name)
    connection.execute(
        f"CREATE VIEW {quoted(name)} AS SELECT * FROM read_json({literal(file)}, {options})"
    )


def create_schema(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Makes the schema of a table or view of this name, if it has one."""
    for schema in name.split(".")[:-1]:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}")


def quoted(name: str) -> str:
    """The name with its schema, if it has one, as SQL."""
    return ".".join(map(identifier, name.split(".")))


class Meaning(NamedTuple):
    """What a row of a table or view is, in a sentence, and what its columns are."""

    row: str
    columns: Mapping[str, str]
    kind: str = "VIEW"


def meanings(tables: Iterable[str], views: Views) -> dict[str, Meaning]:
    """The meaning of each of these tables, which are views here, and of each of the views."""
    of_tables = {
        table: Meaning(
            row_meaning(table),
            {name: column.description for name, column in TABLES[table].columns().items()},
        )
        for table in tables
    }
    return of_tables | {
        name: Meaning(f"A row is {view.row}.", descriptions(name, views))
        for name, view in views.items()
    }


def comment(connection: duckdb.DuckDBPyConnection, known: Mapping[str, Meaning]) -> None:
    """Stores the meanings as comments, at once: there are a thousand columns."""
    comments = [
        f"COMMENT ON {meaning.kind} {quoted(name)} IS {literal(meaning.row)}"
        for name, meaning in known.items()
    ]
    for schema, table, column in connection.execute(_COLUMNS).fetchall():
        name = table if schema == "main" else f"{schema}.{table}"
        text = known[name].columns.get(column) if name in known else None
        if text:
            place = f"{quoted(name)}.{identifier(column)}"
            comments.append(f"COMMENT ON COLUMN {place} IS {literal(text)}")
    connection.execute(";\n".join(comments))


def _words_in(query: str) -> set[str]:
    """The words that can be names: not those in comments, nor in texts unless these are run."""
    words = _words(code(query))
    return words | _words(query) if words & _RUNNING else words


def _words(query: str) -> set[str]:
    return set(_WORD.findall(query.lower()))


def create_lake_view(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    files: Callable[[str], Sequence[str]],
) -> None:
    """Makes the view of one of the lake's tables; `files` gives the names of their files here."""
    rows = seen(lake, table, lambda one: _stored(connection, lake, one, files))
    connection.execute(f"CREATE VIEW {identifier(table)} AS {rows}")


def seen(lake: StoredLake, table: str, stored: Callable[[str], str]) -> str:
    """The SELECT of a table's rows as the lake is seen; `stored` gives that of a stored table."""

    def named(one: str) -> str:
        if not lake.names or "model" not in polars_schema(one):
            return stored(one)
        return joined_select(one, stored(one), stored("players"), lake.names)

    if table != "results" or lake.failures != LOSS:
        return named(table)
    columns = ", ".join(map(identifier, polars_schema(table)))
    return f"SELECT {columns} FROM ({failed_results(named)}) AS failed"


def _stored(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    files: Callable[[str], Sequence[str]],
) -> str:
    """The SELECT of the rows of one of the lake's tables as they are stored."""
    is_own = f"system = {literal(str(lake.system))}"
    wanted = is_own if lake.is_mixed(table) else None
    if lake.has_others(table):
        own = f"SELECT game_id FROM {_parquet(files('games'))} WHERE {is_own}"
        wanted = f"game_id IS NULL OR game_id IN ({own})"
    return _rows(connection, files(table), table, wanted, lake.file_schema(table))


def create_table_view(
    connection: duckdb.DuckDBPyConnection, files: Sequence[str], table: str
) -> None:
    """Makes the view of a table, which are these files."""
    rows = _rows(connection, files, table)
    connection.execute(f"CREATE VIEW {identifier(table)} AS {rows}")


def _rows(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    table: str,
    wanted: str | None = None,
    known: Collection[str] | None = None,
) -> str:
    """The SELECT of a table, which are these files, or the rows in them that are `wanted`.

    `known` are the columns of the files where they lack some: the others are null.
    """
    schema = arrow_schema(table)
    read = {name: identifier(name) for name in schema.names}
    for name, words in renamed_words(table).items():
        cases = [f"WHEN {literal(old)} THEN {literal(new)}" for old, new in words.items()]
        column = identifier(name)
        read[name] = f"CASE {column} {' '.join(cases)} ELSE {column} END AS {column}"
    if lacking := [name for name in read if not files or (known is not None and name not in known)]:
        # Not its own `empty_table`, which would load pandas.
        nothing = pa.Table.from_batches([], schema).select(lacking)
        types = connection.from_arrow(nothing).types
        for name, dtype in zip(lacking, types, strict=True):
            read[name] = f"CAST(NULL AS {dtype}) AS {identifier(name)}"
    rows = f"SELECT {', '.join(read.values())} {f'FROM {_parquet(files)}' if files else 'LIMIT 0'}"
    if wanted is not None:
        rows = f"FROM ({rows}) WHERE {wanted}"
    return rows


def _parquet(files: Iterable[str]) -> str:
    # Without the option a folder such as `model=x` above the lake would become a column.
    return f"read_parquet([{', '.join(map(literal, files))}], hive_partitioning = false)"
