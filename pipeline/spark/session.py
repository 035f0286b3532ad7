"""One Spark session a process: the one that runs already, or a new one on a master."""

import atexit
import logging
import os
import shutil
import signal
import socket
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.extras import check_extra
from pipeline.library_errors import one_line
from pipeline.processes import uninterrupted

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

MASTER = "SPARK_MASTER"
"""The environment's variable that names a master."""

_HERE = Path(__file__).parent
_EXTRA = ("pyspark", "sqlglot", "pandas")
_MASTERS = ("local", "spark://", "k8s://", "yarn")
_LOOPBACK = "127.0.0.1"
_SECONDS = 10


def open_session(master: str | None = None) -> "SparkSession":
    """The session that runs in this process, or a new one on the master.

    The master is the one given, else $SPARK_MASTER, else this machine with all its cores. Raises
    PipelineError without the extra; UsageError without Java, for a master that does not answer, and
    for another master than that of the session that runs.
    """
    check_extra("Spark", "spark", _EXTRA)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None:
        return _started(master or os.environ.get(MASTER) or "local[*]")
    its = running.conf.get("spark.master")
    if master not in (None, its):
        raise UsageError(f"Spark already runs on {its} in this process: stop it to use {master}")
    return running


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=f"{home}/bin" if home else None):
        where = f"$JAVA_HOME, {home}, has no bin/java" if home else "there is no `java` on the PATH"
        raise UsageError(f"Spark needs Java 17 or newer: {where}; install it or set JAVA_HOME")


def _check_answers(master: str) -> None:
    """Raises UsageError if nothing listens at any address of a cluster; Spark asks for a minute."""
    addresses = [address.rpartition(":") for address in master.removeprefix("spark://").split(",")]
    reasons = []
    for host, _, port in addresses:
        try:
            socket.create_connection((host, int(port)), _SECONDS).close()
            return
        except (OSError, ValueError) as error:
            reasons.append(f"{host}:{port} ({getattr(error, 'strerror', None) or error})")
    raise UsageError(f"no Spark master answers: {', '.join(reasons)}")


def _check_master(master: str) -> None:
    if not master.startswith(_MASTERS):
        raise UsageError(
            f"no Spark master `{master}`: use one such as local[*], spark://HOST:7077, yarn, "
            "k8s://https://HOST:443"
        )


def _started(master: str) -> "SparkSession":
    _check_master(master)
    if master.startswith("spark://"):
        _check_answers(master)
    _check_java()
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    applications: list[str] = []
    settings = SparkConf().setMaster(master).setAppName("magic")
    settings.setAll([*_settings(master).items()])
    try:
        with _environment(master):
            with uninterrupted():
                stderr = {"stderr": _log_of_java()}
                gateway = launch_gateway(popen_kwargs=stderr)  # type: ignore[no-untyped-call]
            atexit.register(_end, gateway.proc, applications)
            with _interruptible():
                context = SparkContext(gateway=gateway, conf=settings)
    except (PySparkException, Py4JError) as error:
        raise UsageError(f"Spark does not start on {master}: {one_line(error)}") from None
    logging.getLogger().addFilter(_is_of_others)
    applications.append(str(context.applicationId))
    atexit.register(_stop, context)
    return SparkSession(context)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a record is not py4j's, which logs with a traceback what is also raised."""
    return record.module != "java_gateway"


def _stop(context: "SparkContext") -> None:
    """Ends the session, and with it its executors, before Java ends under them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Java ended before
        context.stop()


def _end(java: Popen[bytes], applications: Sequence[str]) -> None:
    """Ends Java, which ends by itself when nobody speaks to it, unless it is in the midst of it.

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


def _log_of_java() -> int | None:
    """Where Java's stderr goes: nowhere, or to ours where somebody asked for it.

    What goes wrong is raised, in one line; Spark's log tells of it a second time, in a hundred. Who
    wants that has a `log4j2.properties` of their own.
    """
    home = os.environ.get("SPARK_HOME", "")
    folder = os.environ.get("SPARK_CONF_DIR", f"{home}/conf")
    return None if (Path(folder) / "log4j2.properties").is_file() else DEVNULL


@contextmanager
def cancelling(context: "SparkContext") -> Iterator[None]:
    """Ends all jobs at Ctrl-C, which a cluster would go on with else."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(Exception):  # Java may be gone
            context.cancelAllJobs()
        raise


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the wait for a master, and any other as in the rest of Python."""
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


def is_local(master: str) -> bool:
    """Whether the master is this machine: `local`, `local[4]`, `local-cluster[2,1,1024]`."""
    return master.startswith("local")


def _settings(master: str) -> dict[str, str]:
    """What a session is started with; a cluster's own settings are its keeper's."""
    settings = {"spark.ui.showConsoleProgress": "false"}
    if is_local(master):
        settings |= {
            # A checkout is on no interpreter's path but ours.
            "spark.executorEnv.PYTHONPATH": str(_HERE.parent.parent),
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.ui.enabled": "false",
        }
    return settings


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """Sets what Spark takes from the environment alone, where nobody has set it."""
    # Executors run this very interpreter, which has what we need.
    wanted = {"PYSPARK_PYTHON": sys.executable}
    if is_local(master):
        # A local cluster's own processes listen there, too.
        wanted["SPARK_LOCAL_IP"] = _LOOPBACK
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
