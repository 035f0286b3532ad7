"""The same work on Spark: a session, an ingest's workers, and the lake's tables and views in it.

The only part that imports pyspark, and only once Spark is asked for: it comes with the extra
`spark`.
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
    one_line_message,
    read_error,
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
from pipeline.lake.tables import renamed_words
from pipeline.plugins import check_extra
from pipeline.processes import delay_interrupts
from pipeline.sql_files import SqlView, quote_literal
from pipeline.warehouse.statements import viewed_table_select

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SparkViews", "open_session", "spark_cluster"]

# One Spark session a process: the one that runs already, or a new one on a master.

MASTER = "SPARK_MASTER"
"""The environment's variable that names a master."""

_HERE = Path(__file__).parent
_EXTRA = ("pyspark", "sqlglot", "pandas")
_MASTERS = ("local", "spark://", "k8s://", "yarn")
_LOOPBACK = "127.0.0.1"
_SECONDS = 10


def open_session(master: str | None = None) -> "SparkSession":
    """Return the Spark session of this process, or start one on the master.

    The master is the one given, else $SPARK_MASTER, else this machine with all its cores. Raises
    PipelineError without the extra; UsageError without Java, for a master that does not answer, and
    for another master than that of the session that runs.
    """
    check_extra("Spark", "spark", _EXTRA)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None:
        return _start_session(master or os.environ.get(MASTER) or "local[*]")
    its = running.conf.get("spark.master")
    if master not in (None, its):
        raise UsageError(f"Spark already runs on {its} in this process: stop it to use {master}")
    return running


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=f"{home}/bin" if home else None):
        where = f"$JAVA_HOME, {home}, has no bin/java" if home else "there is no `java` on the PATH"
        raise UsageError(f"Spark needs Java 17 or newer: {where}; install it or set JAVA_HOME")


def _check_master_is_reachable(master: str) -> None:
    """Raise UsageError if no address of a cluster can be reached; Spark would wait a minute."""
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
        with _temporary_environment(master):
            with delay_interrupts():
                stderr = {"stderr": _java_stderr_target()}
                gateway = launch_gateway(popen_kwargs=stderr)  # type: ignore[no-untyped-call]
            atexit.register(_terminate_java, gateway.proc, applications)
            with _make_wait_interruptible():
                context = SparkContext(gateway=gateway, conf=settings)
    except (PySparkException, Py4JError) as error:
        raise UsageError(f"Spark does not start on {master}: {one_line_message(error)}") from None
    # py4j logs with a traceback what is also raised.
    logging.getLogger().addFilter(lambda record: record.module != "java_gateway")
    applications.append(str(context.applicationId))
    atexit.register(_stop_session, context)
    return SparkSession(context)


def _stop_session(context: "SparkContext") -> None:
    """Stop the session with its executors, before Java ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Java ended before
        context.stop()


def _terminate_java(java: Popen[bytes], applications: Sequence[str]) -> None:
    """Terminate Java, which would only end by itself if it is not busy.

    What executors of a local cluster wrote, beside Spark's own files, goes as well.
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
    with suppress(OSError):  # another one runs, or it is not ours
        work.rmdir()


def _java_stderr_target() -> int | None:
    """Return where Java's stderr goes: to /dev/null, or to stderr if that is requested.

    What goes wrong is raised, in one line; Spark's log tells of it a second time, in a hundred. Who
    wants that has a `log4j2.properties` of their own.
    """
    home = os.environ.get("SPARK_HOME", "")
    folder = os.environ.get("SPARK_CONF_DIR", f"{home}/conf")
    return None if (Path(folder) / "log4j2.properties").is_file() else DEVNULL


@contextmanager
def cancel_jobs_on_interrupt(context: "SparkContext") -> Iterator[None]:
    """Cancel all Spark jobs at Ctrl-C, because a cluster would continue them."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(Exception):  # Java may be gone
            context.cancelAllJobs()
        raise


@contextmanager
def _make_wait_interruptible() -> Iterator[None]:
    """Let Ctrl-C end the wait for a Spark master."""
    handler = signal.getsignal(signal.SIGINT)
    # polars handles signals, too, and by its settings a call that is waiting goes on waiting.
    signal.siginterrupt(signal.SIGINT, True)
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)  # py4j logs the interruption with its traceback
    try:
        yield
    finally:
        logging.disable(level)
        if current_thread() is main_thread():  # Spark's own asks Java in the midst of asking it
            signal.signal(signal.SIGINT, handler)
            signal.siginterrupt(signal.SIGINT, True)


def is_local_master(master: str) -> bool:
    """Return whether the master is this machine: `local`, `local[4]`, `local-cluster[2,1,1024]`."""
    return master.startswith("local")


def _session_settings(master: str) -> dict[str, str]:
    """Return the settings of a new session; a cluster's own settings are not changed."""
    settings = {"spark.ui.showConsoleProgress": "false"}
    if is_local_master(master):
        settings |= {
            # A checkout is on no interpreter's path but ours.
            "spark.executorEnv.PYTHONPATH": str(_HERE.parent.parent),
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.ui.enabled": "false",
        }
    return settings


@contextmanager
def _temporary_environment(master: str) -> Iterator[None]:
    """Set the environment variables that Spark needs, unless they are set."""
    # Executors run this very interpreter, which has what we need.
    wanted = {"PYSPARK_PYTHON": sys.executable}
    if is_local_master(master):
        # A local cluster's own processes listen there, too.
        wanted["SPARK_LOCAL_IP"] = _LOOPBACK
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


# The lake's tables as Spark's, and our SQL, which is DuckDB's, in Spark's dialect.

# While one query is planned, or waits for its last task, others have the executors.
_AT_ONCE = 8


class SparkViews:
    """The lake's tables in one state, and views, as Spark views that are created when used.

    They are temporary views of a session of their own, so that another lake's, or those of whom the
    session belongs to, stay what they are. The executors read the lake's files where they are: its
    path or URL is the same on each of them. What is in an object store they read as we do.
    """

    def __init__(
        self, session: "SparkSession", lake: StoredLake, views: Mapping[str, SqlView]
    ) -> None:
        self.session = session.newSession()
        self.session.conf.set("spark.sql.session.timeZone", "UTC")
        # The one function of our SQL that Spark lacks.
        self.session.udf.register("nfc_normalize", _nfc)
        self._lake = lake
        self._views = views
        self._made: set[str] = set()

    def run_query(self, sql: str) -> pl.DataFrame:
        """Return the result of a query in magic's SQL dialect."""
        return self.run_queries([sql])[0]

    def run_queries(self, sqls: Sequence[str]) -> list[pl.DataFrame]:
        """Return the results of several queries, which the cluster runs in parallel.

        Raises QueryError where it fails to, and LakeError where an executor cannot read the lake's
        files.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            frames = [self.session.sql(self._translated(sql)) for sql in sqls]
            with (
                cancel_jobs_on_interrupt(self.session.sparkContext),
                ThreadPoolExecutor(_AT_ONCE) as pool,
            ):
                return list(pool.map(lambda frame: pl.DataFrame(frame.toArrow()), frames))
        except (PySparkException, Py4JError) as error:
            if ".parquet" in str(error):  # plans do not name files
                raise read_error(error) from None
            raise QueryError(f"Spark cannot compute this: {one_line_message(error)}") from None

    def _translated(self, sql: str) -> str:
        """The query for Spark, with every table and view made that it names."""
        import sqlglot

        tree = sqlglot.parse_one(sql, read="duckdb")
        for table in tree.find_all(sqlglot.exp.Table):
            name = f"{table.db}.{table.name}".removeprefix("main.").removeprefix(".")
            self._make(name)
            table.set("db", None)  # a temporary view has no schema
            table.set("this", sqlglot.exp.to_identifier(view_name_without_schema(name)))
        return tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE)

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        self._made.add(name)
        if name in self._views:
            view = self.session.sql(self._translated(self._views[name].select))
            view.createOrReplaceTempView(view_name_without_schema(name))
        elif name in TABLES:
            rows = viewed_table_select(self._lake, name, self._select)
            self.session.sql(self._translated(rows)).createOrReplaceTempView(name)

    def _select(self, name: str) -> str:
        """The SELECT of one of the lake's tables as it is stored, which has a view of its own."""
        table = self.session.createDataFrame(arrow_schema(name).empty_table())
        if files := self._lake.table_files(name):
            if self._lake.path.is_local:
                # Their names are meant as they are, and not on the cluster's default file system.
                reader = self.session.read.schema(table.schema).option("__globPaths__", "false")
                table = reader.parquet(*(f"file://{file}" for file in files))
            else:
                table = self._of_store(list(files), table.schema)
            for column, words in renamed_words(name).items():
                table = table.replace(dict[Any, Any](words), subset=[column])
            if self._lake.has_rows_of_other_systems(name):
                table = table.where(f"system = {quote_literal(str(self._lake.system))}")
        table.createOrReplaceTempView(f"stored_{name}")
        return f"SELECT * FROM stored_{name}"

    def _of_store(self, files: list[str], schema: "StructType") -> "DataFrame":
        """The rows of files in an object store, which Spark itself reads with jars alone."""
        from pyspark.sql.pandas.types import to_arrow_schema

        names = self.session.sparkContext.parallelize([(file,) for file in files], len(files))
        wanted = to_arrow_schema(schema, timezone="UTC")

        def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for file in batch.column(0).to_pylist():
                    yield from _iter_batches_of_file(file, wanted)

        return self.session.createDataFrame(names, "file string").mapInArrow(rows, schema)


def _iter_batches_of_file(file: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file, some at a time. Runs on an executor."""
    from pipeline.stores import open_file

    with open_file(file) as opened:
        for batch in pq.ParquetFile(opened).iter_batches(columns=schema.names):
            yield batch.select(schema.names).cast(schema)


def _nfc(text: str | None) -> str | None:
    return None if text is None else normalize("NFC", text)


def view_name_without_schema(name: str) -> str:
    """The name of a view, without a schema."""
    return name.replace(".", "__")


# An ingest's workers on Spark: one stage without a shuffle, a worker for each of its partitions.
#
# Executors read the sources and write the lake's files where they are: both have the same path, or
# URL, on each of them. Only the files that come back are committed, so an attempt that was killed,
# or that another overtook, leaves no more than orphans for `magic maintain`.

# A worker's files should be neither many nor small; and lost work is what has to be done again.
PARTITION_BYTES = 256 * 2**20


def spark_cluster(master: str | None = None) -> WorkerTeam:
    """The workers of a Spark cluster, by its master as `open_session` takes it."""

    @contextmanager
    def team(
        job: IngestJob, units: Iterator[SourceFile]
    ) -> Iterator[tuple[Workers, Iterator[SourceFile]]]:
        yield _Cluster(open_session(master).sparkContext, job), units

    return team


class _Part(NamedTuple):
    """What one partition does: its worker's number and the tasks."""

    number: int
    tasks: list[WorkerTask]


class _Cluster:
    """Takes all tasks before the first is done, since Spark wants a whole stage."""

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
        job, known = self._job, None
        if job.known:
            known = self._context.broadcast(Path(job.known).read_bytes())

        def work(
            of_partition: Iterable[_Part],
        ) -> Iterator[tuple[int, list[WorkerFindings], list[StagedFiles]]]:
            return (
                _run_tasks_of_part(job, known.value if known else None, part)
                for part in of_partition
            )

        try:
            with cancel_jobs_on_interrupt(self._context):
                done = self._context.parallelize(parts, len(parts)).mapPartitions(work).collect()
        except (PySparkException, Py4JError) as error:
            raise PipelineError(
                f"the ingest failed on Spark: {one_line_message(error)}; nothing was changed; "
                "fix the cause and run the same command again"
            ) from None
        for _, results, staged in sorted(done, key=lambda item: item[0]):
            yield from results
            self._staged += staged

    def finish(self) -> list[StagedFiles]:
        return self._staged

    def stop(self) -> None:
        """Leaves the session to the process, which may have other uses for it."""


def _run_tasks_of_part(
    job: IngestJob, known: bytes | None, part: _Part
) -> tuple[int, list[WorkerFindings], list[StagedFiles]]:
    """Runs on an executor: one worker, from its first task to its files."""
    with TemporaryDirectory(prefix="magic-") as scratch:
        if known is not None:
            file = Path(scratch) / "known.npy"
            file.write_bytes(known)
            job = replace(job, known=str(file))
        worker = Worker(job, part.number)
        try:
            results = [worker.run_task(task) for task in part.tasks]
            return part.number, results, worker.finish()
        finally:
            worker.stop()


def split_into_balanced_parts(tasks: list[WorkerTask], n_least: int) -> list[_Part]:
    """The tasks dealt out by their bytes, the largest first, each to whoever has least."""
    n_bytes = sum(_n_bytes(task) for task in tasks)
    n_parts = min(len(tasks), max(n_least, -(-n_bytes // PARTITION_BYTES)))
    parts = [(0, number, _Part(number, [])) for number in range(n_parts)]
    for task in sorted(tasks, key=_n_bytes, reverse=True):
        n_dealt, number, part = heapq.heappop(parts)
        part.tasks.append(task)
        heapq.heappush(parts, (n_dealt + _n_bytes(task), number, part))
    for _, _, part in parts:
        part.tasks.sort(key=lambda task: task.number)
    return [part for _, _, part in sorted(parts, key=lambda entry: entry[1])]


def _n_bytes(task: WorkerTask) -> int:
    return sum(unit.n_bytes for unit in task.units)
