"""A lake as a DuckDB database in a file, for tools that know nothing of lakes."""

from pathlib import Path

import duckdb

from pipeline.errors import LakeError, raise_if_resources_exhausted
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.warehouse import create_database_file, register_rows
from pipeline.warehouse.filesystem import LakeFilesByUrl
from pipeline.warehouse.statements import (
    ComputedView,
    ViewsByName,
    add_comments,
    create_lake_view,
    create_schema,
    create_view,
    format_duckdb_error,
    quote_qualified_name,
    view_descriptions,
)

_ROWS_NAME = "stored_rows"


def write_database(file: Path, lake: StoredLake, views: ViewsByName) -> None:
    """Writes a new database: the lake's tables as views of its files, and the views.

    The files are named by absolute paths or URLs. What Python computes is a table, with its rows.
    All have comments.
    """
    known = view_descriptions(TABLES, views)
    try:
        with create_database_file(file) as connection:
            connection.execute("BEGIN TRANSACTION")
            remote = None if lake.path.is_local else LakeFilesByUrl(lake)
            if remote:
                connection.register_filesystem(remote)
            for table in TABLES:
                create_lake_view(
                    connection, lake, table, remote.register_table if remote else lake.table_files
                )
            for name, view in views.items():
                if isinstance(view, ComputedView):
                    register_rows(connection, _ROWS_NAME, view.rows(lake))
                    create_schema(connection, name)
                    connection.execute(
                        f"CREATE TABLE {quote_qualified_name(name)} AS FROM {_ROWS_NAME}"
                    )
                    connection.unregister(_ROWS_NAME)
                    known[name] = known[name]._replace(kind="TABLE")
                else:
                    create_view(connection, name, view)
            add_comments(connection, known)
            connection.execute("COMMIT")
    except duckdb.Error as error:
        raise_if_resources_exhausted(error)
        raise LakeError(f"the catalogue cannot be made: {format_duckdb_error(error)}") from None
