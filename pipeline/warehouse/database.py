"""A lake as a DuckDB database in a file, for tools that know nothing of lakes."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.sqlfiles import View
from pipeline.warehouse import new_database, register
from pipeline.warehouse.filesystem import OwnUrls
from pipeline.warehouse.statements import plain_message
from pipeline.warehouse.views import (
    Meaning,
    comment,
    create_lake_view,
    create_schema,
    create_view,
    meanings,
    quoted,
)

_ROWS = "stored_rows"


class Stored(NamedTuple):
    """Rows that are a table of the database, what one of them is, and what the columns are."""

    rows: pl.DataFrame
    row: str
    columns: Mapping[str, str]


def write_database(
    file: Path, lake: StoredLake, views: Mapping[str, View], stored: Mapping[str, Stored]
) -> None:
    """Writes a new database: the lake's tables as views of its files, the views, and `stored`.

    The files are named by absolute paths or URLs. All have comments.
    """
    try:
        with new_database(file) as connection:
            connection.execute("BEGIN TRANSACTION")
            _make_views(connection, lake, views)
            _store(connection, stored)
            comment(connection, meanings(TABLES, views) | _meanings_of(stored))
            connection.execute("COMMIT")
    except duckdb.Error as error:
        raise LakeError(f"the catalogue cannot be made: {plain_message(error)}") from None


def _make_views(
    connection: duckdb.DuckDBPyConnection, lake: StoredLake, views: Mapping[str, View]
) -> None:
    remote = None if lake.path.is_local else OwnUrls(lake)
    if remote:
        connection.register_filesystem(remote)
    for table in TABLES:
        create_lake_view(connection, lake, table, remote.of if remote else lake.files)
    for name, view in views.items():
        create_view(connection, name, view)


def _store(connection: duckdb.DuckDBPyConnection, stored: Mapping[str, Stored]) -> None:
    for name, table in stored.items():
        register(connection, _ROWS, table.rows)
        create_schema(connection, name)
        connection.execute(f"CREATE TABLE {quoted(name)} AS FROM {_ROWS}")
        connection.unregister(_ROWS)


def _meanings_of(stored: Mapping[str, Stored]) -> dict[str, Meaning]:
    return {
        name: Meaning(f"A row is {table.row}.", table.columns, "TABLE")
        for name, table in stored.items()
    }
