"""DuckDB over a lake: a view for each table, and nothing else within reach.

The only module that opens DuckDB. DuckDB's settings alone do not keep it to reading: a folder that
is allowed can be written to, and a COPY inside of WITH passes as a SELECT. So the lake's files are
shown to it through `LakeFiles`, which has no way of writing, and it is allowed no other place.
"""

from collections.abc import Mapping

import duckdb
import polars as pl

from pipeline.errors import LakeError, QueryError
from pipeline.lake import Lake
from pipeline.machine import cores
from pipeline.sqlfiles import identifier
from pipeline.warehouse.files import SCHEME, LakeFiles
from pipeline.warehouse.statements import reading, told
from pipeline.warehouse.views import create_table_view, named

_NOWHERE = "nowhere"
# It fetches no extension, keeps nothing on disk, and takes no variable of Python for a table.
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "extension_directory": _NOWHERE,
    "home_directory": _NOWHERE,
    "secret_directory": _NOWHERE,
    "temp_directory": "",
}
# Once the views are made, in this order: each takes away what those before it need.
_LOCKS = (
    "SET TimeZone = 'UTC'",
    f"SET allowed_directories = ['{SCHEME}://']",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def connect(
    lake: Lake,
    views: Mapping[str, str],
    wanted: str | None = None,
    *,
    memory: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection that sees the lake's tables at its one state, and the views given.

    Only what the query `wanted` can name is made, since making all takes a second; None makes all.
    The connection can read the lake's files and nothing else, writes nothing, and its settings are
    locked. `memory` is how many bytes DuckDB may take, by default most of the machine's.
    """
    configuration = {**_CONFIGURATION, "threads": cores()}
    if memory is not None:
        configuration["memory_limit"] = f"{memory}B"
    connection = duckdb.connect(config=configuration)
    try:
        _make_views(connection, lake, views, wanted)
        for lock in _LOCKS:
            connection.execute(lock)
    except duckdb.Error as error:
        connection.close()
        raise LakeError(f"the lake is damaged: {told(error)}") from None
    return connection


def _make_views(
    connection: duckdb.DuckDBPyConnection, lake: Lake, views: Mapping[str, str], wanted: str | None
) -> None:
    files = LakeFiles(lake)
    connection.register_filesystem(files)
    tables, selects = named(wanted, views)
    for table in tables:
        create_table_view(connection, files.of(table), table, with_comments=wanted is None)
    for name, select in selects.items():
        connection.execute(f"CREATE VIEW {identifier(name)} AS {select}")


def keep(connection: duckdb.DuckDBPyConnection, name: str, select: str) -> None:
    """Computes the SELECT once and holds the result as a table of the connection's own."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(name)} AS {select}")


def hold(connection: duckdb.DuckDBPyConnection, name: str, rows: pl.DataFrame) -> None:
    """Lets queries on the connection read the rows by this name."""
    connection.register(name, rows.to_arrow())


def query(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """The result of one reading statement; raises QueryError for any other, or a wrong one."""
    try:
        statement = reading(connection, sql)
    except duckdb.Error as error:
        raise QueryError(told(error)) from None
    return answer(connection, statement)


def answer(connection: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    """The result of a statement that is known to be one that reads, such as our own."""
    try:
        return pl.DataFrame(connection.sql(statement).to_arrow_table())
    except pl.exceptions.DuplicateError as error:
        raise QueryError(f"two columns have one name, give them aliases: {error}") from None
    except pl.exceptions.PolarsError as error:
        raise QueryError(f"a column's type cannot be shown, cast it: {error}") from None
    except duckdb.Error as error:
        raise QueryError(told(error)) from None
