"""Ingests and queries on Spark: the session, the workers of an ingest, and views of a lake.

Only this module imports pyspark, which the extra `spark` installs, and only if Spark is requested.
"""

import atexit
import heapq
import logging
import os
import shutil
import signal
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from pipeline.archives import SourceFile
from pipeline.errors import (
    PipelineError,
    QueryError,
    UsageError,
    lake_read_error,
    one_line_message,
)
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES
from pipeline.ingest.worker import (
    IngestJob,
    StagedFiles,
    Worker,
    WorkerFindings,
    Workers,
    WorkerTask,
    WorkerTeam,
)
from pipeline.lake import StoredLake
from pipeline.lake.tables import renamed_values_by_column
from pipeline.plugins import check_extra_is_installed
from pipeline.processes import delay_interrupts
from pipeline.sql_files import SqlView
from pipeline.warehouse.statements import table_with_view_options_select

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SparkViews", "get_or_start_session", "spark_cluster"]

# Each process has one Spark session: the one that already runs, or a new one on a master.

MASTER = "SPARK_MASTER"
"""The environment variable that contains the URL of the Spark master."""

_HERE = Path(__file__).parent
_EXTRA = ("pyspark", "sqlglot", "pandas")
_MASTERS = ("local", "spark://", "k8s://", "yarn")
_LOOPBACK = "127.0.0.1"
_SECONDS = 10


def get_or_start_session(master: str | None = None) -> "SparkSession":
    """Return the running Spark session of this process, or start a new one.

    Args:
        master: The URL of the Spark master. The default is $SPARK_MASTER, or else all cores of this
            machine.

    Raises:
        PipelineError: If the extra `spark` is not installed.
        UsageError: If there is no Java, if the master does not answer, or if a session already runs
            on another master.
    """
    check_extra_is_installed("Spark", "spark", _EXTRA)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None:
        return _start_session(master or os.environ.get(MASTER) or "local[*]")
    running_master = running.conf.get("spark.master")
    if master not in (None, running_master):
        raise UsageError(
            f"Spark already runs on {running_master} in this process: stop it to use {master}"
        )
    return running


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=f"{home}/bin" if home else None):
        reason = (
            f"$JAVA_HOME, {home}, has no bin/java" if home else "there is no `java` on the PATH"
        )
        raise UsageError(f"Spark needs Java 17 or newer: {reason}; install it or set JAVA_HOME")


def _check_master_is_reachable(master: str) -> None:
    """Raise UsageError if no address of a `spark://` URL can be reached within 10 seconds."""
    addresses = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
    reasons = []
    for host, _, port in addresses:
        try:
            socket.create_connection((host, int(port)), _SECONDS).close()
            return
        except (OSError, ValueError) as error:
            reasons.append(f"{host}:{port} ({getattr(error, 'strerror', None) or error})")
    raise UsageError(f"no Spark master answers: {', '.join(reasons)}")


def _start_session(master: str) -> "SparkSession":
    if not master.startswith(_MASTERS):
        raise UsageError(
            f"no Spark master `{master}`: use one such as local[*], spark://HOST:7077, yarn, "
            "k8s://https://HOST:443"
        )
    if master.startswith("spark://"):
        _check_master_is_reachable(master)
    _check_java()
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    applications: list[str] = []
    settings = SparkConf().setMaster(master).setAppName("magic")
    settings.setAll([*_session_settings(master).items()])
    try:
        with _temporary_environment_variables(master):
            with delay_interrupts():
                stderr = {"stderr": _java_stderr_target()}
                gateway = launch_gateway(popen_kwargs=stderr)  # type: ignore[no-untyped-call]
            atexit.register(_terminate_java, gateway.proc, applications)
            with _make_wait_interruptible():
                context = SparkContext(gateway=gateway, conf=settings)
    except (PySparkException, Py4JError) as error:
        raise UsageError(f"Spark does not start on {master}: {one_line_message(error)}") from None
    # py4j logs every exception with its traceback, and also raises it.
    logging.getLogger().addFilter(lambda record: record.module != "java_gateway")
    applications.append(str(context.applicationId))
    atexit.register(_stop_session, context)
    return SparkSession(context)


def _stop_session(context: "SparkContext") -> None:
    """Stop the session and its executors without warnings; called before Java is terminated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Java may have ended before
        context.stop()


def _terminate_java(java: Popen[bytes], applications: Sequence[str]) -> None:
    """Wait for Java to end, or kill it, and delete the work files of local executors.

    Java does not end by itself while it is busy.

    Args:
        java: The process of Java.
        applications: The ids of the Spark applications that wrote work files.
    """
    import pyspark

    if java.stdin:
        java.stdin.close()
    try:
        java.wait(_SECONDS)
    except TimeoutExpired:
        java.kill()
    work = Path(pyspark.__file__).parent / "work"
    for application in applications:
        shutil.rmtree(work / application, ignore_errors=True)
    with suppress(OSError):  # another application uses the folder, or this user may not delete it
        work.rmdir()


def _java_stderr_target() -> int | None:
    """Return the `stderr` argument for Java's process: None if the user configures Spark's log.

    Without a `log4j2.properties` file the log is discarded, because errors are also raised.
    """
    home = os.environ.get("SPARK_HOME", "")
    folder = os.environ.get("SPARK_CONF_DIR", f"{home}/conf")
    return None if (Path(folder) / "log4j2.properties").is_file() else DEVNULL


@contextmanager
def cancel_jobs_on_interrupt(context: "SparkContext") -> Iterator[None]:
    """Cancel all Spark jobs if the body is interrupted with Ctrl-C; a cluster would go on."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(Exception):  # Java may be gone
            context.cancelAllJobs()
        raise


@contextmanager
def _make_wait_interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt the body, which waits for a Spark master, without a logged traceback."""
    handler = signal.getsignal(signal.SIGINT)
    # polars also handles signals, in a way that makes a waiting call wait on after a signal.
    signal.siginterrupt(signal.SIGINT, True)
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)  # py4j logs the interruption with its traceback
    try:
        yield
    finally:
        logging.disable(level)
        if current_thread() is main_thread():  # Spark's handler would call Java during another call
            signal.signal(signal.SIGINT, handler)
            signal.siginterrupt(signal.SIGINT, True)


def is_local_master(master: str) -> bool:
    """Return whether a master URL means this machine, such as `local[4]`."""
    return master.startswith("local")


def _session_settings(master: str) -> dict[str, str]:
    """Return the Spark settings of a new session; for a cluster these are only display settings."""
    settings = {"spark.ui.showConsoleProgress": "false"}
    if is_local_master(master):
        settings |= {
            # Executors cannot import `pipeline` from a checkout without its path.
            "spark.executorEnv.PYTHONPATH": str(_HERE.parent.parent),
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.ui.enabled": "false",
        }
    return settings


@contextmanager
def _temporary_environment_variables(master: str) -> Iterator[None]:
    """Set the environment variables that Spark needs during the body, unless the user set them."""
    # Executors run the interpreter of this process, in which all packages are installed.
    variables = {"PYSPARK_PYTHON": sys.executable}
    if is_local_master(master):
        # The processes of a local cluster also listen on this address.
        variables["SPARK_LOCAL_IP"] = _LOOPBACK
    unset_variables = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(unset_variables)
    try:
        yield
    finally:
        for name in unset_variables:
            del os.environ[name]


# Tables of a lake as Spark views, and the translation of DuckDB's SQL to Spark's dialect.

# Several queries run at the same time, so that executors are busy while another query is planned.
_MAX_PARALLEL_QUERIES = 8


class SparkViews:
    """The tables of a lake and views on them, as Spark views that are created at their first use.

    They are temporary views of a separate session, so that the user's views do not change. The lake
    must have the same path or URL on all executors, because they read its files.
    """

    def __init__(
        self, session: "SparkSession", lake: StoredLake, views: Mapping[str, SqlView]
    ) -> None:
        self.session = session.newSession()
        self.session.conf.set("spark.sql.session.timeZone", "UTC")
        # This is the only function in magic's SQL that Spark does not have.
        self.session.udf.register("nfc_normalize", _normalize_to_nfc)
        self._lake = lake
        self._views = views
        self._created: set[str] = set()

    def run_query(self, sql: str) -> pl.DataFrame:
        """Run a query in magic's SQL dialect, which is DuckDB's, and return the result.

        Args:
            sql: The query.
        """
        return self.run_queries([sql])[0]

    def run_queries(self, sqls: Sequence[str]) -> list[pl.DataFrame]:
        """Run several queries in parallel, and return their results in the same order.

        Args:
            sqls: The queries.

        Raises:
            QueryError: If Spark cannot run a query.
            LakeError: If an executor cannot read the lake's files.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            frames = [self.session.sql(self._translate_and_create_views(sql)) for sql in sqls]
            with (
                cancel_jobs_on_interrupt(self.session.sparkContext),
                ThreadPoolExecutor(_MAX_PARALLEL_QUERIES) as pool,
            ):
                return list(pool.map(lambda frame: pl.DataFrame(frame.toArrow()), frames))
        except (PySparkException, Py4JError) as error:
            if ".parquet" in str(error):  # only read errors name files
                raise lake_read_error(error) from None
            raise QueryError(f"Spark cannot compute this: {one_line_message(error)}") from None

    def _translate_and_create_views(self, sql: str) -> str:
        """Translate a query to Spark's dialect, and create the views that it uses."""
        import sqlglot

        tree = sqlglot.parse_one(sql, read="duckdb")
        for table in tree.find_all(sqlglot.exp.Table):
            name = f"{table.db}.{table.name}".removeprefix("main.").removeprefix(".")
            self._create_view_at_first_use(name)
            table.set("db", None)  # a temporary view has no schema
            table.set("this", sqlglot.exp.to_identifier(view_name_without_schema(name)))
        generator = sqlglot.Dialect.get_or_raise("spark").generator(
            unsupported_level=sqlglot.ErrorLevel.RAISE
        )
        # Spark has nested CTEs; moved to the top, two of them can have one name.
        generator.EXPRESSIONS_WITHOUT_NESTED_CTES = set()  # type: ignore[misc]
        return str(generator.generate(tree))

    def _create_view_at_first_use(self, name: str) -> None:
        if name in self._created:
            return
        self._created.add(name)
        if name in self._views:
            select = self._translate_and_create_views(self._views[name].select)
            self.session.sql(select).createOrReplaceTempView(view_name_without_schema(name))
        elif name in TABLES:
            select = self._translate_and_create_views(
                table_with_view_options_select(self._lake, name, self._create_view_of_stored_table)
            )
            self.session.sql(select).createOrReplaceTempView(name)

    def _create_view_of_stored_table(self, name: str) -> str:
        """Create the view `stored_NAME` of a table's files, and return a SELECT of its rows."""
        table = self.session.createDataFrame(arrow_schema(name).empty_table())
        if files := self._lake.table_files(name):
            if self._lake.path.is_local:
                # File names contain no patterns, and are not on the cluster's default file system.
                reader = self.session.read.schema(table.schema).option("__globPaths__", "false")
                table = reader.parquet(*(f"file://{file}" for file in files))
            else:
                table = self._read_files_in_object_store(list(files), table.schema)
            for column, words in renamed_values_by_column(name).items():
                table = table.replace(dict[Any, Any](words), subset=[column])
            if row_filter := self._lake.row_filter(name):
                if row_filter.is_on_games:
                    games_select = self._create_view_of_stored_table("games")
                    game_ids = self.session.sql(f"SELECT game_id FROM ({games_select})")
                    has_game = table.join(game_ids, on="game_id", how="left_semi")
                    table = table.where("game_id IS NULL").unionByName(has_game)
                else:
                    table = table.where(row_filter.condition)
        table.createOrReplaceTempView(f"stored_{name}")
        return f"SELECT * FROM stored_{name}"

    def _read_files_in_object_store(self, files: list[str], schema: "StructType") -> "DataFrame":
        """Return the rows of files that executors read with Python; Spark would need jars."""
        from pyspark.sql.pandas.types import to_arrow_schema

        names = self.session.sparkContext.parallelize([(file,) for file in files], len(files))
        file_schema = to_arrow_schema(schema, timezone="UTC")

        def iter_rows(name_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for name_batch in name_batches:
                for file in name_batch.column(0).to_pylist():
                    yield from _iter_batches_of_file(file, file_schema)

        return self.session.createDataFrame(names, "file string").mapInArrow(iter_rows, schema)


def _iter_batches_of_file(file: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in batches with this schema; runs on an executor."""
    from pipeline.stores import open_file

    with open_file(file) as opened_file:
        for batch in pq.ParquetFile(opened_file).iter_batches(columns=schema.names):
            yield batch.select(schema.names).cast(schema)


def _normalize_to_nfc(text: str | None) -> str | None:
    return None if text is None else normalize("NFC", text)


def view_name_without_schema(name: str) -> str:
    """Return the name of the Spark view for a name that may contain a schema, such as `a.b`.

    Args:
        name: The name of a table or view of the lake.
    """
    return name.replace(".", "__")


# The workers of an ingest on Spark: one stage without a shuffle, with one worker per partition.
#
# Executors read the sources and write the lake's files, so both must have the same path or URL on
# all executors. Only files that a completed task returns are committed. The files of a killed or
# repeated attempt remain until `magic maintain` deletes them.

# Large partitions write few large files; small ones lose less work if an executor is killed.
PARTITION_BYTES = 256 * 2**20


def spark_cluster(master: str | None = None) -> WorkerTeam:
    """Return the function that starts the workers of an ingest on a Spark cluster.

    Args:
        master: The URL of the Spark master, as for `open_session`.
    """

    @contextmanager
    def start_workers(
        job: IngestJob, source_files: Iterator[SourceFile]
    ) -> Iterator[tuple[Workers, Iterator[SourceFile]]]:
        yield _Cluster(get_or_start_session(master).sparkContext, job), source_files

    return start_workers


class _Part(NamedTuple):
    """The number and the tasks of one worker, which are one Spark partition."""

    number: int
    tasks: list[WorkerTask]


class _Cluster:
    """The workers of an ingest on Spark, which run as one stage after all tasks are known."""

    takes_documents = False

    def __init__(self, context: "SparkContext", job: IngestJob) -> None:
        self._context = context
        self._job = job
        self._staged: list[StagedFiles] = []

    def run(self, tasks: Iterable[WorkerTask]) -> Iterator[WorkerFindings]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        parts = split_into_balanced_parts(list(tasks), self._context.defaultParallelism)
        if not parts:
            return
        job, known_games = self._job, None
        if job.known_ids_file:
            known_games = self._context.broadcast(Path(job.known_ids_file).read_bytes())

        def run_partition(
            parts_of_partition: Iterable[_Part],
        ) -> Iterator[tuple[list[WorkerFindings], list[StagedFiles]]]:
            return (
                _run_tasks_of_part(job, known_games.value if known_games else None, part)
                for part in parts_of_partition
            )

        try:
            with cancel_jobs_on_interrupt(self._context):
                results = (
                    self._context.parallelize(parts, len(parts))
                    .mapPartitions(run_partition)
                    .collect()
                )
        except (PySparkException, Py4JError) as error:
            raise PipelineError(
                f"the ingest failed on Spark: {one_line_message(error)}; nothing was changed; "
                "fix the cause and run the same command again"
            ) from None
        for findings, staged_files in results:  # in the order of the parts
            yield from findings
            self._staged += staged_files

    def finish(self) -> list[StagedFiles]:
        return self._staged

    def stop(self) -> None:
        """Do nothing, because the Spark session can have other users in this process."""


def _run_tasks_of_part(
    job: IngestJob, known_games: bytes | None, part: _Part
) -> tuple[list[WorkerFindings], list[StagedFiles]]:
    """Run the tasks of one worker on an executor, and return its findings and the files it wrote.

    Args:
        job: The ingest.
        known_games: The contents of the file `job.known`, which the executor does not have.
        part: The number of the worker and its tasks.
    """
    with TemporaryDirectory(prefix="magic-") as folder:
        if known_games is not None:
            file = Path(folder) / "known.npy"
            file.write_bytes(known_games)
            job = replace(job, known_ids_file=str(file))
        worker = Worker(job, part.number)
        try:
            findings = [worker.run_task(task) for task in part.tasks]
            return findings, worker.finish()
        finally:
            worker.stop()


def split_into_balanced_parts(tasks: list[WorkerTask], min_parts: int) -> list[_Part]:
    """Divide the tasks of an ingest into parts with similar numbers of bytes.

    Args:
        tasks: The tasks. The largest comes first into the part that has the fewest bytes so far.
        min_parts: The minimum number of parts, if there are as many tasks.
    """
    n_bytes = sum(_n_bytes(task) for task in tasks)
    n_parts = min(len(tasks), max(min_parts, -(-n_bytes // PARTITION_BYTES)))
    parts = [(0, number, _Part(number, [])) for number in range(n_parts)]
    for task in sorted(tasks, key=_n_bytes, reverse=True):
        n_bytes_of_part, number, part = heapq.heappop(parts)
        part.tasks.append(task)
        heapq.heappush(parts, (n_bytes_of_part + _n_bytes(task), number, part))
    for _, _, part in parts:
        part.tasks.sort(key=lambda task: task.number)
    return [part for _, _, part in sorted(parts, key=lambda entry: entry[1])]


def _n_bytes(task: WorkerTask) -> int:
    return sum(unit.n_bytes for unit in task.source_files)
