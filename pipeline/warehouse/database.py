"""A lake as a DuckDB database in a file, for tools that know nothing of lakes."""

from pathlib import Path

import duckdb

from pipeline.errors import LakeError, raise_if_resources_exhausted
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.warehouse import new_database, register_rows
from pipeline.warehouse.filesystem import OwnUrls
from pipeline.warehouse.statements import (
    ComputedView,
    ViewsByName,
    comment,
    create_lake_view,
    create_schema,
    create_view,
    meanings,
    plain_message,
    quoted,
)

_ROWS = "stored_rows"


def write_database(file: Path, lake: StoredLake, views: ViewsByName) -> None:
    """Writes a new database: the lake's tables as views of its files, and the views.

    The files are named by absolute paths or URLs. What Python computes is a table, with its rows.
    All have comments.
    """
    known = meanings(TABLES, views)
    try:
        with new_database(file) as connection:
            connection.execute("BEGIN TRANSACTION")
            remote = None if lake.path.is_local else OwnUrls(lake)
            if remote:
                connection.register_filesystem(remote)
            for table in TABLES:
                create_lake_view(
                    connection, lake, table, remote.register_table if remote else lake.table_files
                )
            for name, view in views.items():
                if isinstance(view, ComputedView):
                    register_rows(connection, _ROWS, view.rows(lake))
                    create_schema(connection, name)
                    connection.execute(f"CREATE TABLE {quoted(name)} AS FROM {_ROWS}")
                    connection.unregister(_ROWS)
                    known[name] = known[name]._replace(kind="TABLE")
                else:
                    create_view(connection, name, view)
            comment(connection, known)
            connection.execute("COMMIT")
    except duckdb.Error as error:
        raise_if_resources_exhausted(error)
        raise LakeError(f"the catalogue cannot be made: {plain_message(error)}") from None
