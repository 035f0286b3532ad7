"""One Spark session a process: the one that runs already, or a new one on a master."""

import atexit
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UsageError
from pipeline.extras import check_extra
from pipeline.library_errors import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "SPARK_MASTER"
"""The environment's variable that names a master."""

_HERE = Path(__file__).parent
_EXTRA = ("pyspark", "sqlglot", "pandas")
_MASTERS = ("local", "spark://", "k8s://", "yarn")
_LOOPBACK = "127.0.0.1"


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


def _check_master(master: str) -> None:
    if not master.startswith(_MASTERS):
        raise UsageError(
            f"no Spark master `{master}`: use one such as local[*], spark://HOST:7077, yarn, "
            "k8s://https://HOST:443"
        )


def _started(master: str) -> "SparkSession":
    _check_master(master)
    _check_java()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("magic")
    for key, value in _settings(master).items():
        builder = builder.config(key, value)
    try:
        with _environment(master), _interruptible():
            session = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise UsageError(f"Spark does not start on {master}: {one_line(error)}") from None
    # Else Java is ended under it, and each executor that is lost on the way looks like a failure.
    atexit.register(session.stop)
    return session


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the wait for a master, which is a minute where none answers."""
    # polars handles signals, too, and by its settings a call that is waiting goes on waiting.
    signal.siginterrupt(signal.SIGINT, True)
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)  # py4j logs the interruption with its traceback
    try:
        yield
    finally:
        logging.disable(level)


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
            "spark.driver.extraJavaOptions": (
                f"-Dlog4j2.configurationFile={(_HERE / 'log4j2.properties').as_uri()}"
            ),
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
