"""Write a lake as a DuckDB database file, for tools that cannot read a lake.

The catalogue of a lake uses it; it depends on the connections and views of this package.
"""

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
    create_lake_view,
    create_schema_of_qualified_name,
    create_view,
    format_duckdb_error,
    quote_qualified_name,
    store_descriptions_as_comments,
    table_and_view_descriptions,
)

_ROWS_NAME = "stored_rows"


def write_database(database_file: Path, lake: StoredLake, views: ViewsByName) -> None:
    """Write a DuckDB database file whose views show the lake's tables and the given views.

    The views read the lake's files by absolute paths or URLs. The rows of a view that Python
    computes are stored in a table. All tables, views and columns have comments.

    Args:
        database_file: Path of the new database.
        lake: The lake, at one state.
        views: The views by name.

    Raises:
        LakeError: If DuckDB cannot create the database.
    """
    descriptions = table_and_view_descriptions(TABLES, views)
    try:
        with create_database_file(database_file) as connection:
            connection.execute("BEGIN TRANSACTION")
            file_system = None if lake.path.is_local else LakeFilesByUrl(lake)
            if file_system:
                connection.register_filesystem(file_system)
            for table in TABLES:
                create_lake_view(
                    connection,
                    lake,
                    table,
                    file_system.register_table if file_system else lake.table_files,
                )
            for name, view in views.items():
                if isinstance(view, ComputedView):
                    register_rows(connection, _ROWS_NAME, view.rows(lake))
                    create_schema_of_qualified_name(connection, name)
                    connection.execute(
                        f"CREATE TABLE {quote_qualified_name(name)} AS FROM {_ROWS_NAME}"
                    )
                    connection.unregister(_ROWS_NAME)
                    descriptions[name] = descriptions[name]._replace(kind="TABLE")
                else:
                    create_view(connection, name, view)
            store_descriptions_as_comments(connection, descriptions)
            connection.execute("COMMIT")
    except duckdb.Error as error:
        raise_if_resources_exhausted(error)
        raise LakeError(f"the catalogue cannot be created: {format_duckdb_error(error)}") from None
