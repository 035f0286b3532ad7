"""DuckDB over a lake: a view for each table, and for what users ask nothing else within reach.

The only module that opens DuckDB. DuckDB's settings alone do not keep it to reading: a folder that
is allowed can be written to, and a COPY inside of WITH passes as a SELECT. So the lake's files are
shown to it through `LakeFiles`, which has no way of writing, and `connect` allows no other place.
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

with delay_interrupts():  # it ends Python by itself where its loading is broken off
    import duckdb

from pipeline.errors import (
    LakeError,
    MachineError,
    QueryError,
    is_file_missing_error,
    raise_if_resources_exhausted,
    read_error,
)
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.lake.tables import map_tables
from pipeline.plugins import PluginError
from pipeline.processes import available_cores
from pipeline.sql_files import SqlView, quote_identifier, quote_literal
from pipeline.warehouse.statements import (
    LAKE_URL_SCHEME,
    Advise,
    ComputedView,
    ViewsByName,
    add_comments,
    as_polars,
    can_list_views,
    check_parameter_values,
    count_lines_before_statement,
    create_computed_view,
    create_lake_view,
    create_table_view,
    create_view,
    format_duckdb_error,
    missing_column_message,
    parse_read_statement,
    query_error,
    quote_qualified_name,
    referenced_views,
    view_descriptions,
)

if TYPE_CHECKING:
    from pipeline.warehouse.filesystem import LakeFiles

T = TypeVar("T")

# What DuckDB needs for each of its threads, to sort and join more than it can hold.
THREAD_MEMORY_BYTES = 2**28
# Memory for our own queries whose results grow with the lake; the rest goes to the disk.
BOUNDED_MEMORY = 2**30
BATCH_ROWS = 10_000
# Bytes of messages up to which further threads cost more than they give: each makes the patterns
# and tables of a query for itself.
_MIN_BYTES_FOR_THREADS = 2**23
_POLL_SECONDS = 0.1
_MAX_CACHED_CONNECTIONS = 16
_MAX_CONCURRENT_QUERIES = 64  # one more waits
_MISSING_FOLDER = "nowhere"
# It fetches no extension, keeps nothing on disk, and takes no variable of Python for a table.
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "extension_directory": _MISSING_FOLDER,
    "home_directory": _MISSING_FOLDER,
    "secret_directory": _MISSING_FOLDER,
    "temp_directory": "",
}
# Of a database in a file.
_DATABASE_FILE_CONFIGURATION: dict[str, str | int] = {
    "storage_compatibility_version": "v1.4.0",  # the oldest that the tests open it with
    "default_block_size": 2**14,  # the least: there are many columns, and few rows
}
# After the views are created, in this order: each removes what those before it need.
_LOCKDOWN_STATEMENTS = (
    "SET TimeZone = 'UTC'",
    f"SET allowed_directories = ['{LAKE_URL_SCHEME}://']",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def connect(
    lake: StoredLake,
    views: ViewsByName,
    wanted: str | None = None,
    *,
    memory: int | None = None,
    scratch: Path | None = None,
    threads: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection that sees the lake's tables at its one state, and these views.

    Only views that the query `wanted` can name are created, since all take a second; None: all.
    The connection can read the lake's files and nothing else, writes nothing, and its settings are
    locked. `memory` is how many bytes DuckDB may take, by default most of the machine's; what is
    more goes to the folder `scratch`, if there is one.
    """
    connection = _open_connection(threads or available_cores(), memory, scratch)
    try:
        with _reraise_keyboard_interrupt():
            # Global, so that cursors have it too: a query for one game reads little but footers.
            connection.execute("SET GLOBAL parquet_metadata_cache = true")
            _create_views(connection, lake, views, wanted)
            for lock in _LOCKDOWN_STATEMENTS:
                connection.execute(lock)
    except PluginError:
        connection.close()
        raise
    except duckdb.Error as error:
        connection.close()
        raise_if_resources_exhausted(error)
        raise read_error(QueryError(format_duckdb_error(error))) from None
    return connection


# To make a connection takes longer than many a query; those that were used last are kept.
_cached_connections: OrderedDict[tuple[object, ...], duckdb.DuckDBPyConnection] = OrderedDict()


@atexit.register
def _clear_cached_connections() -> None:
    # DuckDB complains of a connection that outlives the interpreter.
    _cached_connections.clear()


def query_small(
    lake: StoredLake, views: ViewsByName, select: str, wanted: str | None = None
) -> pl.DataFrame:
    """The rows of a SELECT of our own, which are few, by a connection that is kept for the state.

    It sees what `wanted` can name, by default the SELECT. Where its memory is not enough, the rows
    come from one as by `connect_with_memory_limit`.
    """
    tables, needed = referenced_views(wanted or select, views)
    key = (lake.state, *tables, *((name, str(view)) for name, view in needed.items()))
    connection = _cached_connections.pop(key, None) or connect(
        lake, views, wanted or select, memory=BOUNDED_MEMORY, threads=1
    )
    _cached_connections[key] = connection
    while len(_cached_connections) > _MAX_CACHED_CONNECTIONS:
        _cached_connections.popitem(last=False)
    cursor = connection.cursor()
    try:
        rows = _run_interruptibly(cursor, lambda: cursor.sql(select).to_arrow_table())
    except duckdb.OutOfMemoryException:
        with connect_with_memory_limit(lake, views, select) as anew:
            return pl.concat(iter_parts(anew, select))
    except duckdb.Error as error:
        raise query_error(error, select, tables) from None
    return pl.DataFrame(rows)


@contextmanager
def connect_with_memory_limit(
    lake: StoredLake, views: ViewsByName, wanted: str, *, sorts_texts: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection as by `connect` that takes `BOUNDED_MEMORY` bytes, whatever the lake's size.

    What is more goes to a temporary folder. Only for statements of our own. Raises MachineError
    where neither has room.
    """
    # A sort holds the texts of 122,880 rows in each thread, so one thread has the most room.
    is_alone = (
        sorts_texts or sum(lake.file_sizes_bytes("messages").values()) < _MIN_BYTES_FOR_THREADS
    )
    threads = 1 if is_alone else _n_threads_for_memory(BOUNDED_MEMORY)
    with (
        TemporaryDirectory(prefix="magic-") as scratch,
        connect(
            lake,
            views,
            wanted,
            memory=BOUNDED_MEMORY,
            scratch=Path(scratch),
            threads=threads,
        ) as connection,
    ):
        try:
            yield connection
        except (duckdb.Error, QueryError) as error:
            cause = error.__context__ if isinstance(error, QueryError) else error
            if isinstance(cause, duckdb.OutOfMemoryException):
                raise MachineError(
                    "not enough memory, or no room in the temporary folder: ask for less, as by "
                    "--model, or name a larger folder by TMPDIR"
                ) from None
            raise_if_resources_exhausted(cause or error)
            raise


def view_columns(name: str, views: ViewsByName) -> pl.Schema:
    """The columns of one of the views; no lake is needed."""
    if isinstance(view := views[name], ComputedView):
        return view.schema
    tables, needed = referenced_views(quote_qualified_name(name), views)
    with _open_connection(1, None) as connection:
        connection.execute(_LOCKDOWN_STATEMENTS[0])
        for table in tables:
            create_table_view(connection, [], table)
        for of_view, made_of in needed.items():
            if isinstance(made_of, SqlView):
                create_view(connection, of_view, made_of)
        rows = connection.sql(f"FROM {quote_qualified_name(name)} LIMIT 0")
        return pl.DataFrame(rows.to_arrow_table()).schema


@contextmanager
def ingest_connection(
    lake: StoredLake | None, tables: Sequence[str], scratch: Path, memory: int
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for statements of our own, over some tables of the lake: empty ones for None.

    What is more than `memory` bytes goes to the folder `scratch`. Raises LakeError for what goes
    wrong as long as it is open.
    """
    try:
        with (
            _reraise_keyboard_interrupt(),
            _open_connection(_n_threads_for_memory(memory), memory, scratch) as connection,
        ):
            connection.execute("SET preserve_insertion_order = false")
            has_files = lake and any(map_tables(lake.file_sizes_bytes, tables))
            files = _register_lake_files(connection, lake) if lake and has_files else None
            for table in tables:
                names = files.register_table(table) if files else []
                create_table_view(connection, names, table)
            yield connection
    except duckdb.OutOfMemoryException:
        raise LakeError(
            "memory or temporary disk space ran out during the commit; nothing was changed: "
            f"raise --memory, or set TMPDIR to a larger folder than {scratch.parent}"
        ) from None
    except (duckdb.Error, QueryError) as error:
        cause = error.__context__ or error if isinstance(error, QueryError) else error
        raise_if_resources_exhausted(cause)
        if lake and is_file_missing_error(cause):
            raise read_error(error) from None
        raise LakeError(
            "the results of the ingest could not be merged; nothing was changed: "
            f"{format_duckdb_error(error) if isinstance(error, duckdb.Error) else error}"
        ) from None


def create_database_file(file: Path) -> duckdb.DuckDBPyConnection:
    """A connection to a new database in the file, for statements of our own."""
    return duckdb.connect(
        file, config={**_CONFIGURATION, **_DATABASE_FILE_CONFIGURATION, "threads": 1}
    )


def _n_threads_for_memory(memory: int) -> int:
    """How many threads this memory is enough for; with more, DuckDB could not spill to disk."""
    return max(1, min(available_cores(), memory // THREAD_MEMORY_BYTES))


def _open_connection(
    threads: int, memory: int | None, scratch: Path | None = None
) -> duckdb.DuckDBPyConnection:
    configuration = {**_CONFIGURATION, "threads": threads}
    if memory is not None:
        configuration["memory_limit"] = f"{memory}B"
    if scratch is not None:
        configuration["temp_directory"] = str(scratch)
    connection = duckdb.connect(config=configuration)
    # It would be drawn on stdout, among the results. In a notebook it is drawn as a widget, and
    # DuckDB refuses the setting if there are none.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    return connection


def _create_views(
    connection: duckdb.DuckDBPyConnection, lake: StoredLake, views: ViewsByName, wanted: str | None
) -> None:
    tables, needed = referenced_views(wanted, views)
    map_tables(lake.file_sizes_bytes, tables)  # opened here, several at once; below they are known
    files = _register_lake_files(connection, lake)
    for table in tables:
        create_lake_view(connection, lake, table, files.register_table)
    for name, view in needed.items():
        if isinstance(view, ComputedView):
            file = files.computed(f"{name}.json", partial(_to_json_lines, view, lake))
            create_computed_view(connection, name, view, file)
        else:
            try:
                create_view(connection, name, view)
            except duckdb.Error as error:
                if not view.package:
                    raise
                what = f"the SQL of {name}, of the package {view.package}, fails"
                raise PluginError(f"{what}: {format_duckdb_error(error)}") from None
    if can_list_views(wanted):
        add_comments(connection, view_descriptions(tables, needed))


def _register_lake_files(connection: duckdb.DuckDBPyConnection, lake: StoredLake) -> "LakeFiles":
    """The lake's files, for the connection to read."""
    # Imported here: fsspec takes 20 ms to load, and the first ingest into a lake has no files yet.
    from pipeline.warehouse.filesystem import LakeFiles

    files = LakeFiles(lake)
    connection.register_filesystem(files)
    return files


def _to_json_lines(view: ComputedView, lake: StoredLake) -> bytes:
    rows = view.rows(lake)
    if rows.schema != view.schema:  # DuckDB would read other types as null
        raise TypeError(f"the columns are not those declared: {rows.schema}")
    file = BytesIO()
    rows.write_ndjson(file)
    return file.getvalue()


@contextmanager
def _reraise_keyboard_interrupt() -> Iterator[None]:
    """Ends by Ctrl-C what it ended in the main thread, where DuckDB has an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


def _run_interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """The result of the work, done in a thread: while DuckDB works, it does not look for Ctrl-C."""
    working = None
    try:
        with delay_interrupts():  # else it might run with nobody to end it
            working = _query_thread_pool().submit(work)
        # Where polars is loaded, Ctrl-C does not wake a thread that waits without end.
        while not wait([working], _POLL_SECONDS).done:
            pass
        return working.result()
    except BaseException:
        # More than once: DuckDB ignores an interrupt that comes before the query has begun. And
        # whatever else comes: a connection that is busy cannot be closed.
        with delay_interrupts():
            while working and not wait([working], _POLL_SECONDS).done:
                connection.interrupt()
        raise


@cache
def _query_thread_pool() -> ThreadPoolExecutor:
    """The threads, which are kept: starting one takes longer than many queries."""
    return ThreadPoolExecutor(_MAX_CONCURRENT_QUERIES, "duckdb")


def define_user_view(connection: duckdb.DuckDBPyConnection, name: str, select: str) -> None:
    """Lets queries on the locked connection call a user's SELECT by this name.

    Raises QueryError for what is not one reading statement, or a wrong one.
    """
    try:
        create_query_view(connection, name, parse_read_statement(connection, select))
    except duckdb.Error as error:
        text = missing_column_message(connection, error, select)
        raise query_error(error, select, text=text) from None


def create_query_view(connection: duckdb.DuckDBPyConnection, name: str, select: str) -> None:
    """Lets queries on the connection call the SELECT by this name."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quote_identifier(name)} AS {select}")


def register_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: pl.DataFrame) -> None:
    """Lets queries on the connection read the rows by this name."""
    connection.register(name, rows.to_arrow())


def write_parquet(connection: duckdb.DuckDBPyConnection, select: str, file: Path) -> None:
    """Writes the result of a SELECT of our own to a Parquet file for our own use."""
    copy = f"COPY ({select}) TO {quote_literal(str(file))} (FORMAT parquet, COMPRESSION lz4)"
    _run_interruptibly(connection, lambda: connection.execute(copy))


def parquet_files_select(files: Sequence[Path]) -> str:
    """A SELECT of all rows in Parquet files of our own, at least one."""
    return f"FROM read_parquet([{', '.join(quote_literal(str(file)) for file in files)}])"


def iter_batches(
    connection: duckdb.DuckDBPyConnection, select: str, rows: int
) -> Iterator[pa.Table]:
    """The result of a SELECT of our own, so many rows at a time; the first has none of them."""
    reader = _run_interruptibly(connection, lambda: connection.sql(select).to_arrow_reader(rows))
    # A query for the columns alone would be planned again, which can take longer than the rows.
    yield pa.Table.from_batches([], reader.schema)
    while (batch := _run_interruptibly(connection, lambda: next(reader, None))) is not None:
        yield pa.Table.from_batches([batch])


def run_query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    names: Collection[str] = tuple(TABLES),
    parameters: Mapping[str, str] | None = None,
    advise: Advise | None = None,
) -> pl.DataFrame:
    """The result of one reading statement; raises QueryError for any other, or a wrong one.

    `names` are the tables and views that the statement could have named, and `parameters` the
    values of those that it writes as in `$model`. `advise` returns a hint for a missing column.
    """
    try:
        statement = parse_read_statement(connection, sql)
        check_parameter_values(connection, statement, parameters or {})
    except duckdb.Error as error:
        raise query_error(error, sql) from None
    above = count_lines_before_statement(statement, sql)
    return run_trusted_query(connection, statement, names, parameters, above=above, advise=advise)


def check_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises QueryError as `run_query` does for what is wrong before it runs; nothing is run."""
    statement = sql
    try:
        statement = parse_read_statement(connection, sql)
        _bind_statement(connection, statement, None)
    except duckdb.Error as error:
        raise query_error(
            error, statement, above=count_lines_before_statement(statement, sql)
        ) from None


def run_trusted_query(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    names: Collection[str] = tuple(TABLES),
    parameters: Mapping[str, str] | None = None,
    *,
    above: int = 0,
    advise: Advise | None = None,
) -> pl.DataFrame:
    """The result of a statement that is known to read only, such as our own.

    `above` is how many lines are above it in the text that it is from, `advise` as in
    `run_query`.
    """
    try:
        return _run_interruptibly(
            connection, lambda: _fetch_rows(connection, statement, parameters)
        )
    except pl.exceptions.PolarsError as error:
        raise QueryError(f"the type of a column cannot be displayed; cast it: {error}") from None
    except duckdb.Error as error:
        text = missing_column_message(connection, error, statement, advise)
        raise query_error(error, statement, names, above, text) from None


def _fetch_rows(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str] | None
) -> pl.DataFrame:
    rows = _bind_statement(connection, statement, parameters)
    if len(set(rows.columns)) < len(rows.columns):
        rows = rows.project("*")  # which numbers columns of one name: seat, seat_1
    return as_polars(rows)


def _bind_statement(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str] | None
) -> duckdb.DuckDBPyRelation:
    """The rows of a statement, which are computed when they are fetched."""
    values = dict(parameters) if parameters else None
    try:
        return connection.sql(statement, params=values)
    except (duckdb.BinderException, duckdb.CatalogException):
        connection.execute(statement, values)  # which fails likewise, and says at which place
        raise


def iter_parts(connection: duckdb.DuckDBPyConnection, select: str) -> Iterator[pl.DataFrame]:
    """The result of a SELECT of our own as it comes, some rows at a time; at least one part."""
    yield from map(pl.DataFrame, iter_batches(connection, select, BATCH_ROWS))
