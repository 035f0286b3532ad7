"""Open DuckDB connections to a lake, and run queries of users and of this package on them.

Metrics, reports, `magic sql` and the ingest use it; no other module opens DuckDB. DuckDB's settings
do not make it read-only: it can write to any allowed folder, and a COPY inside WITH passes as a
SELECT. Therefore DuckDB reads the lake only through `LakeFiles`, a file system that cannot write.
"""

import atexit
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import polars as pl
import pyarrow as pa

from pipeline.processes import delay_interrupts

with delay_interrupts():  # DuckDB ends the process if Ctrl-C interrupts its import.
    import duckdb

from pipeline.errors import (
    LakeError,
    MachineError,
    QueryError,
    is_missing_parquet_file_error,
    lake_read_error,
    raise_if_resources_exhausted,
)
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.lake.tables import map_tables_in_parallel
from pipeline.plugins import PluginError
from pipeline.processes import available_cores
from pipeline.sql_files import SqlView, quote_identifier, quote_literal
from pipeline.warehouse.statements import (
    LAKE_URL_SCHEME,
    AdviseOnColumn,
    ComputedView,
    ViewsByName,
    check_parameter_names,
    count_lines_before_statement,
    create_computed_view,
    create_lake_view,
    create_table_view_of_parquet_files,
    create_view,
    extract_single_read_statement,
    format_duckdb_error,
    may_read_catalog,
    missing_column_message,
    query_error_with_position,
    quote_qualified_name,
    referenced_tables_and_views,
    store_descriptions_as_comments,
    table_and_view_descriptions,
    to_polars_without_decimals,
)

if TYPE_CHECKING:
    from pipeline.warehouse.filesystem import LakeFiles

T = TypeVar("T")

# DuckDB needs this much memory per thread to sort and join data that exceeds the memory.
THREAD_MEMORY_BYTES = 2**28
# Memory limit of trusted queries whose results grow with the lake; other data goes to disk.
BOUNDED_MEMORY = 2**30
BATCH_ROWS = 10_000
# A lake with fewer bytes of messages is read in one thread, because each thread compiles a query's
# regular expressions and builds its tables again, which then takes longer than it saves.
_MIN_BYTES_FOR_THREADS = 2**23
_POLL_SECONDS = 0.1
_MAX_CACHED_CONNECTIONS = 16
_MAX_CONCURRENT_QUERIES = 64  # Further queries wait.
_NONEXISTENT_FOLDER = "nowhere"
# DuckDB must not fetch extensions, write to disk, or read a Python variable as a table.
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "extension_directory": _NONEXISTENT_FOLDER,
    "home_directory": _NONEXISTENT_FOLDER,
    "secret_directory": _NONEXISTENT_FOLDER,
    "temp_directory": "",
}
# Further settings of a database in a file.
_DATABASE_FILE_CONFIGURATION: dict[str, str | int] = {
    "storage_compatibility_version": "v1.4.0",  # The tests open the file with this version too.
    "default_block_size": 2**14,  # The minimum, because there are many columns and few rows.
}
# Executed in this order after the views are created, because each statement removes a permission
# that the previous ones need.
_LOCKDOWN_STATEMENTS = (
    "SET TimeZone = 'UTC'",
    f"SET allowed_directories = ['{LAKE_URL_SCHEME}://']",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def connect(
    lake: StoredLake,
    views: ViewsByName,
    query: str | None = None,
    *,
    memory: int | None = None,
    scratch_folder: Path | None = None,
    threads: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a read-only DuckDB connection with the lake's tables and views.

    The connection can read only the lake's files, and its settings are locked.

    Args:
        lake: The lake, at one state.
        views: The views by name.
        query: SQL; only the tables and views that it can name are created, because creating all
            takes a second. None creates all.
        memory: Memory limit in bytes; None for DuckDB's default, most of the machine's memory.
        scratch_folder: Folder for data that exceeds the memory; None for no such folder.
        threads: Number of DuckDB's threads; None for one per available core.

    Raises:
        PluginError: If the SQL of a view of another package fails.
        QueryError: If DuckDB cannot create the views.
    """
    connection = _open_connection(threads or available_cores(), memory, scratch_folder)
    try:
        with _reraise_keyboard_interrupt():
            # The setting is global so that it also applies to cursors. A query for one game reads
            # mostly footers, so caching them makes it much faster.
            connection.execute("SET GLOBAL parquet_metadata_cache = true")
            _create_tables_and_views_for_query(connection, lake, views, query)
            for lock in _LOCKDOWN_STATEMENTS:
                connection.execute(lock)
    except PluginError:
        connection.close()
        raise
    except duckdb.Error as error:
        connection.close()
        raise_if_resources_exhausted(error)
        raise lake_read_error(QueryError(format_duckdb_error(error))) from None
    return connection


# The most recently used connections, because opening one takes longer than many queries.
_cached_connections: OrderedDict[tuple[object, ...], duckdb.DuckDBPyConnection] = OrderedDict()


@atexit.register
def _clear_cached_connections() -> None:
    # DuckDB reports an error for a connection that outlives the interpreter.
    _cached_connections.clear()


def query_on_cached_connection(
    lake: StoredLake, views: ViewsByName, select: str, query: str | None = None
) -> pl.DataFrame:
    """Run a trusted SELECT with a small result on a cached connection, and return its rows.

    The connection stays open for later queries. If its memory limit is too low, the query runs
    again on a connection from `connect_with_memory_limit`, which can use the disk.

    Args:
        lake: The lake, at one state.
        views: The views by name.
        select: The SELECT, which is written by us and not by a user.
        query: SQL that names the tables and views that the connection has; None for `select`.

    Raises:
        QueryError: If the query fails.
    """
    tables, needed_views = referenced_tables_and_views(query or select, views)
    key = (lake.state, *tables, *((name, str(view)) for name, view in needed_views.items()))
    connection = _cached_connections.pop(key, None) or connect(
        lake, views, query or select, memory=BOUNDED_MEMORY, threads=1
    )
    _cached_connections[key] = connection
    while len(_cached_connections) > _MAX_CACHED_CONNECTIONS:
        _cached_connections.popitem(last=False)
    cursor = connection.cursor()
    try:
        rows = _run_interruptibly(cursor, lambda: cursor.sql(select).to_arrow_table())
    except duckdb.OutOfMemoryException:
        with connect_with_memory_limit(lake, views, select) as new_connection:
            return pl.concat(iter_polars_batches(new_connection, select))
    except duckdb.Error as error:
        raise query_error_with_position(error, select, tables) from None
    return pl.DataFrame(rows)


@contextmanager
def connect_with_memory_limit(
    lake: StoredLake, views: ViewsByName, query: str, *, sorts_texts: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection that uses at most `BOUNDED_MEMORY` bytes of memory, and then the disk.

    Only for trusted statements, which are written by us and not by a user.

    Args:
        lake: The lake, at one state.
        views: The views by name.
        query: SQL; only the tables and views that it can name are created.
        sorts_texts: Whether a statement sorts rows with long texts; then one thread is used.

    Yields:
        The connection, as opened by `connect`.

    Raises:
        MachineError: If neither the memory nor the temporary folder has enough room.
    """
    # Sorting holds the texts of 122,880 rows in memory for each thread, so one thread is used.
    is_single_threaded = (
        sorts_texts or sum(lake.file_sizes_bytes("messages").values()) < _MIN_BYTES_FOR_THREADS
    )
    threads = 1 if is_single_threaded else _n_threads_for_memory(BOUNDED_MEMORY)
    with (
        TemporaryDirectory(prefix="magic-") as scratch_folder,
        connect(
            lake,
            views,
            query,
            memory=BOUNDED_MEMORY,
            scratch_folder=Path(scratch_folder),
            threads=threads,
        ) as connection,
    ):
        try:
            yield connection
        except (duckdb.Error, QueryError) as error:
            cause = error.__context__ if isinstance(error, QueryError) else error
            if isinstance(cause, duckdb.OutOfMemoryException):
                raise MachineError(
                    "not enough memory, or no space in the temporary folder: select fewer "
                    "games, for example with --model, or set TMPDIR to a larger folder"
                ) from None
            raise_if_resources_exhausted(cause or error)
            raise


def view_schema(view_name: str, views: ViewsByName) -> pl.Schema:
    """Return the column names and types of a view, without reading a lake.

    Args:
        view_name: Name of the view.
        views: The views by name.

    Raises:
        KeyError: If there is no such view.
    """
    if isinstance(view := views[view_name], ComputedView):
        return view.schema
    tables, needed_views = referenced_tables_and_views(quote_qualified_name(view_name), views)
    with _open_connection(1, None) as connection:
        connection.execute(_LOCKDOWN_STATEMENTS[0])
        for table in tables:
            create_table_view_of_parquet_files(connection, [], table)
        for needed_name, needed_view in needed_views.items():
            if isinstance(needed_view, SqlView):
                create_view(connection, needed_name, needed_view)
        rows = connection.sql(f"FROM {quote_qualified_name(view_name)} LIMIT 0")
        return pl.DataFrame(rows.to_arrow_table()).schema


@contextmanager
def open_ingest_connection(
    lake: StoredLake | None, tables: Sequence[str], scratch_folder: Path, memory_bytes: int
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection for the ingest, with the rows of some tables of the lake.

    Args:
        lake: The lake before the ingest; None for empty tables.
        tables: Names of the tables.
        scratch_folder: Folder for data that exceeds the memory.
        memory_bytes: Memory limit.

    Yields:
        The connection, with one view per table.

    Raises:
        LakeError: If a statement fails while the connection is open, for example without memory.
    """
    try:
        with (
            _reraise_keyboard_interrupt(),
            _open_connection(
                _n_threads_for_memory(memory_bytes), memory_bytes, scratch_folder
            ) as connection,
        ):
            connection.execute("SET preserve_insertion_order = false")
            has_files = lake and any(map_tables_in_parallel(lake.file_sizes_bytes, tables))
            files = _register_lake_file_system(connection, lake) if lake and has_files else None
            for table in tables:
                names = files.register_table(table) if files else []
                create_table_view_of_parquet_files(connection, names, table)
            yield connection
    except duckdb.OutOfMemoryException:
        raise LakeError(
            "memory or temporary disk space ran out during the commit; nothing was changed: "
            f"raise --memory, or set TMPDIR to a larger folder than {scratch_folder.parent}"
        ) from None
    except (duckdb.Error, QueryError) as error:
        cause = error.__context__ or error if isinstance(error, QueryError) else error
        raise_if_resources_exhausted(cause)
        if lake and is_missing_parquet_file_error(cause):
            raise lake_read_error(error) from None
        raise LakeError(
            "the results of the ingest could not be merged; nothing was changed: "
            f"{format_duckdb_error(error) if isinstance(error, duckdb.Error) else error}"
        ) from None


def create_database_file(file: Path) -> duckdb.DuckDBPyConnection:
    """Create a DuckDB database file, and return a connection to it."""
    return duckdb.connect(
        file, config={**_CONFIGURATION, **_DATABASE_FILE_CONFIGURATION, "threads": 1}
    )


def _n_threads_for_memory(memory_bytes: int) -> int:
    """Return how many threads DuckDB can run with this memory limit, at least 1.

    Each thread needs `THREAD_MEMORY_BYTES` to sort and join data that is spilled to disk.
    """
    return max(1, min(available_cores(), memory_bytes // THREAD_MEMORY_BYTES))


def _open_connection(
    n_threads: int, memory_bytes: int | None, scratch_folder: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a connection without tables; its settings can still be changed."""
    configuration = {**_CONFIGURATION, "threads": n_threads}
    if memory_bytes is not None:
        configuration["memory_limit"] = f"{memory_bytes}B"
    if scratch_folder is not None:
        configuration["temp_directory"] = str(scratch_folder)
    connection = duckdb.connect(config=configuration)
    # The progress bar would be printed on stdout among the results. In a notebook it is a widget,
    # and DuckDB rejects the setting if there are no widgets.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    return connection


def _create_tables_and_views_for_query(
    connection: duckdb.DuckDBPyConnection, lake: StoredLake, views: ViewsByName, query: str | None
) -> None:
    """Create the tables and views that a query can name; add comments if it can list them."""
    tables, needed_views = referenced_tables_and_views(query, views)
    map_tables_in_parallel(
        lake.file_sizes_bytes, tables
    )  # Opens the tables in parallel; lake caches the sizes.
    files = _register_lake_file_system(connection, lake)
    for table in tables:
        create_lake_view(connection, lake, table, files.register_table)
    for name, view in needed_views.items():
        if isinstance(view, ComputedView):
            file = files.register_computed_file(
                f"{name}.json", partial(_computed_rows_as_json_lines, view, lake)
            )
            create_computed_view(connection, name, view, file)
        else:
            try:
                create_view(connection, name, view)
            except duckdb.Error as error:
                if not view.package:
                    raise
                failure = f"the SQL of {name}, of the package {view.package}, fails"
                raise PluginError(f"{failure}: {format_duckdb_error(error)}") from None
    if may_read_catalog(query):
        store_descriptions_as_comments(
            connection, table_and_view_descriptions(tables, needed_views)
        )


def _register_lake_file_system(
    connection: duckdb.DuckDBPyConnection, lake: StoredLake
) -> "LakeFiles":
    """Register a file system for the lake's files with the connection, and return it."""
    # Imported here because fsspec loads in 20 ms, and the first ingest into a lake needs no files.
    from pipeline.warehouse.filesystem import LakeFiles

    files = LakeFiles(lake)
    connection.register_filesystem(files)
    return files


def _computed_rows_as_json_lines(view: ComputedView, lake: StoredLake) -> bytes:
    """Compute a view's rows, and return them as JSON with one row per line."""
    rows = view.rows(lake)
    if rows.schema != view.schema:  # DuckDB would read values of other types as null.
        raise TypeError(f"the columns differ from the view's schema: {rows.schema}")
    buffer = BytesIO()
    rows.write_ndjson(buffer)
    return buffer.getvalue()


@contextmanager
def _reraise_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of the error that DuckDB raises after Ctrl-C."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


def _run_interruptibly(connection: duckdb.DuckDBPyConnection, function: Callable[[], T]) -> T:
    """Call a function that runs a query in a thread, so that Ctrl-C can interrupt the query.

    Returns the function's result.
    """
    future = None
    try:
        with delay_interrupts():  # Otherwise the query could start without a future to cancel.
            future = _cached_thread_pool().submit(function)
        # The wait has a timeout, because Ctrl-C does not wake a waiting thread if polars is loaded.
        while not wait([future], _POLL_SECONDS).done:
            pass
        return future.result()
    except BaseException:
        # Repeated, because DuckDB ignores an interrupt before the query has begun. Done after any
        # exception, because a busy connection cannot be closed.
        with delay_interrupts():
            while future and not wait([future], _POLL_SECONDS).done:
                connection.interrupt()
        raise


@cache
def _cached_thread_pool() -> ThreadPoolExecutor:
    """Return a thread pool that is kept, because starting a thread is slower than many queries."""
    return ThreadPoolExecutor(_MAX_CONCURRENT_QUERIES, "duckdb")


def create_checked_user_view(
    connection: duckdb.DuckDBPyConnection, view_name: str, select: str
) -> None:
    """Check a user's SELECT, and create a temporary view of it.

    Args:
        connection: The connection, as opened by `connect`.
        view_name: Name of the view.
        select: The user's SELECT.

    Raises:
        QueryError: If the text is not exactly one statement that reads, or if it is invalid.
    """
    try:
        create_or_replace_view(
            connection, view_name, extract_single_read_statement(connection, select)
        )
    except duckdb.Error as error:
        message = missing_column_message(connection, error, select)
        raise query_error_with_position(error, select, message=message) from None


def create_or_replace_view(
    connection: duckdb.DuckDBPyConnection, view_name: str, select: str
) -> None:
    """Create a temporary view of a trusted SELECT; a view with this name is replaced."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quote_identifier(view_name)} AS {select}")


def register_rows(
    connection: duckdb.DuckDBPyConnection, table_name: str, rows: pl.DataFrame
) -> None:
    """Make a polars frame available to SQL as a table with this name."""
    connection.register(table_name, rows.to_arrow())


def write_parquet(connection: duckdb.DuckDBPyConnection, select: str, parquet_file: Path) -> None:
    """Write the result of a trusted SELECT to a Parquet file."""
    statement = (
        f"COPY ({select}) TO {quote_literal(str(parquet_file))} (FORMAT parquet, COMPRESSION lz4)"
    )
    _run_interruptibly(connection, lambda: connection.execute(statement))


def parquet_files_select(parquet_files: Sequence[Path]) -> str:
    """Return a SELECT of the rows of all these Parquet files."""
    return f"FROM read_parquet([{', '.join(quote_literal(str(file)) for file in parquet_files)}])"


def iter_arrow_batches(
    connection: duckdb.DuckDBPyConnection, select: str, max_rows: int
) -> Iterator[pa.Table]:
    """Yield the rows of a trusted SELECT as Arrow tables of at most `max_rows` rows.

    Args:
        connection: The connection.
        select: The SELECT, which is written by us and not by a user.
        max_rows: Maximum number of rows in a batch.

    Yields:
        First a table without rows, which has the result's schema, then tables with rows.
    """
    reader = _run_interruptibly(
        connection, lambda: connection.sql(select).to_arrow_reader(max_rows)
    )
    # The schema comes with the rows, because planning a second query can take longer than both.
    yield pa.Table.from_batches([], reader.schema)
    while (batch := _run_interruptibly(connection, lambda: next(reader, None))) is not None:
        yield pa.Table.from_batches([batch])


def run_query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    known_names: Collection[str] = tuple(TABLES),
    parameters: Mapping[str, str] | None = None,
    advise: AdviseOnColumn | None = None,
) -> pl.DataFrame:
    """Check that a user's SQL is one statement that only reads, run it, and return its rows.

    Args:
        connection: The connection, as opened by `connect`.
        sql: The text of the statement.
        known_names: The tables and views that the statement can name, for hints in messages.
        parameters: Values by parameter name, for example of `model` if the statement has `$model`.
        advise: Returns a hint for a missing column, given its name and the tables' columns.

    Returns:
        The rows, with the types that `to_polars_without_decimals` describes.

    Raises:
        QueryError: If the text is not exactly one statement that reads, or if it is invalid.
    """
    try:
        statement = extract_single_read_statement(connection, sql)
        check_parameter_names(connection, statement, parameters or {})
    except duckdb.Error as error:
        raise query_error_with_position(error, sql) from None
    n_lines_above = count_lines_before_statement(statement, sql)
    return run_trusted_query(
        connection, statement, known_names, parameters, n_lines_above=n_lines_above, advise=advise
    )


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise QueryError unless a user's SQL is one valid statement that only reads.

    The statement is not run.

    Args:
        connection: The connection, as opened by `connect`.
        sql: The text of the statement.

    Raises:
        QueryError: If the text is not exactly one statement that reads, or if it is invalid.
    """
    statement = sql
    try:
        statement = extract_single_read_statement(connection, sql)
        _bind_statement(connection, statement, None)
    except duckdb.Error as error:
        raise query_error_with_position(
            error, statement, n_lines_above=count_lines_before_statement(statement, sql)
        ) from None


def run_trusted_query(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    known_names: Collection[str] = tuple(TABLES),
    parameters: Mapping[str, str] | None = None,
    *,
    n_lines_above: int = 0,
    advise: AdviseOnColumn | None = None,
) -> pl.DataFrame:
    """Run a statement without checking that it only reads, and return its rows.

    Args:
        connection: The connection.
        statement: The statement, which was checked before or is written by us.
        known_names: The tables and views that the statement can name, for hints in messages.
        parameters: Values of the statement's parameters by name.
        n_lines_above: Number of lines above the statement in the user's text, for error positions.
        advise: Returns a hint for a missing column, given its name and the tables' columns.

    Returns:
        The rows, with the types that `to_polars_without_decimals` describes.

    Raises:
        QueryError: If the statement fails, or if polars has no type for a column.
    """
    try:
        return _run_interruptibly(
            connection, lambda: _fetch_rows(connection, statement, parameters)
        )
    except pl.exceptions.PolarsError as error:
        raise QueryError(f"the type of a column cannot be displayed; cast it: {error}") from None
    except duckdb.Error as error:
        message = missing_column_message(connection, error, statement, advise)
        raise query_error_with_position(
            error, statement, known_names, n_lines_above, message
        ) from None


def _fetch_rows(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str] | None
) -> pl.DataFrame:
    """Run a statement and return its rows; duplicate column names are numbered."""
    rows = _bind_statement(connection, statement, parameters)
    if len(set(rows.columns)) < len(rows.columns):
        rows = rows.project("*")  # This numbers duplicate column names: seat, seat_1.
    return to_polars_without_decimals(rows)


def _bind_statement(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str] | None
) -> duckdb.DuckDBPyRelation:
    """Check a statement's names and types, and return a relation that computes its rows later."""
    values = dict(parameters) if parameters else None
    try:
        return connection.sql(statement, params=values)
    except (duckdb.BinderException, duckdb.CatalogException):
        connection.execute(statement, values)  # Fails too, and its error has the position.
        raise


def iter_polars_batches(
    connection: duckdb.DuckDBPyConnection, select: str
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a trusted SELECT as polars frames of at most `BATCH_ROWS` rows.

    Args:
        connection: The connection.
        select: The SELECT, which is written by us and not by a user.

    Yields:
        First a frame without rows, which has the result's schema, then frames with rows.
    """
    yield from map(pl.DataFrame, iter_arrow_batches(connection, select, BATCH_ROWS))
