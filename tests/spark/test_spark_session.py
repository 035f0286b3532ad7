"""The session: one a process, on a cluster whose executors can run our code; else a clear word."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

import pipeline
from pipeline import spark as session
from pipeline.errors import PipelineError, UsageError, one_line_message
from pipeline.plugins import install_command
from pipeline.spark import get_or_start_session

TOP = Path(__file__).resolve().parent.parent.parent
INSTALL = install_command("spark")


def test_without_the_extra(monkeypatch):
    monkeypatch.setattr("pipeline.plugins.find_spec", lambda name: None)
    with pytest.raises(PipelineError, match=rf"^Spark needs [^\n]*{re.escape(INSTALL)}[^\n]*$"):
        get_or_start_session()


@pytest.mark.parametrize("home", [None, "/no/such/place"])
def test_without_java(home, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    with pytest.raises(UsageError, match=rf"^Spark needs Java 17 or newer: [^\n]*{home or 'PATH'}"):
        session._check_java()


def test_a_master_that_is_none():
    with pytest.raises(UsageError, match=r"^no Spark master `head:7077`: use one such as local"):
        session._start_session("head:7077")


def of_spark(text: str) -> Exception:
    """An error with the text, from a module of Spark's."""
    return type("Py4JError", (Exception,), {"__module__": "py4j.protocol"})(text)


PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    run()
    ^^^^^
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 3, in main
    write()
FileNotFoundError: [Errno 2] no such file: 'x.parquet'

\tat org.apache.spark.api.python.BasePythonRunner...
"""


def test_what_an_executor_raised():
    said = "FileNotFoundError: [Errno 2] no such file: 'x.parquet'"
    assert one_line_message(of_spark(PYTHON)) == said


def test_what_an_error_says_first():
    error = of_spark(
        "An error occurred while calling None.Context.\n"
        ": org.apache.spark.SparkException: Could not parse Master URL: 'x'\n\tat org.apache..."
    )
    assert one_line_message(error) == (
        "org.apache.spark.SparkException: Could not parse Master URL: 'x'"
    )


@pytest.mark.slow
def test_there_is_one_session(spark, monkeypatch):
    running = spark.sparkContext
    assert get_or_start_session().sparkContext is running
    assert get_or_start_session(running.master).sparkContext is running
    monkeypatch.setenv(session.MASTER, "local[1]")
    assert get_or_start_session().sparkContext is running
    with pytest.raises(
        UsageError, match=r"Spark already runs on local-cluster.*stop it to use local\[1\]"
    ):
        get_or_start_session("local[1]")


WAITING = """
import os, signal, socket, threading, time
import polars
from pipeline.spark import _make_wait_interruptible
here, there = socket.socketpair()
threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
threading.Timer(3, there.send, [b"an answer"]).start()
began = time.monotonic()
try:
    with _make_wait_interruptible():
        here.recv(9)
except KeyboardInterrupt:
    print("interrupted" if time.monotonic() - began < 2 else "interrupted too late", flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_wait_for_a_master_can_be_interrupted():
    command = [sys.executable, "-c", WAITING]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("interrupted\n", "")


def test_a_master_that_does_not_answer():
    began = time.monotonic()
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # and does not listen
        master = f"spark://127.0.0.1:{reserved.getsockname()[1]}"
        with pytest.raises(UsageError, match=r"^no Spark master answers: 127[^\n]*refused\)$"):
            session._start_session(master)
    assert time.monotonic() - began < 5


def magic_on_a_cluster(*arguments: str, **options: object) -> subprocess.Popen:
    """A command that starts a cluster of its own."""
    command = [*arguments, "--engine", "spark", "--master", "local-cluster[2,1,1024]"]
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", *command],
        env=os.environ | {"PYTHONPATH": str(Path(pipeline.__file__).parent.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def left_by_executors() -> set[str]:
    import pyspark

    return {path.name for path in (Path(pyspark.__file__).parent / "work").glob("app-*")}


@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_an_interrupted_command_says_so_in_a_line_and_leaves_nothing(sample_lake):
    before = left_by_executors()
    command = ["metrics", "--lake", str(sample_lake.path)]
    running = magic_on_a_cluster(*command, start_new_session=True)
    time.sleep(8)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (130, "magic: interrupted\n")
    with pytest.raises(ProcessLookupError):  # Java and the executors are gone
        for _ in range(300):
            os.killpg(running.pid, 0)
            time.sleep(0.1)
    assert left_by_executors() == before


@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_a_lake_in_an_object_store(monkeypatch):
    """Its executors are started with the credentials, as a cluster's keeper would do it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    names = {"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "secret"}
    names |= {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    store = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    store.create_bucket(Bucket="spark")
    url = "s3://spark/lake"
    done = magic_on_a_cluster("ingest", str(TOP / "data" / "sample" / "results"), "--lake", url)
    _, errors = done.communicate()
    assert done.returncode == 0, errors
    for report in (["metrics"], ["leaderboard"], ["evidence", "judgement"]):
        running = magic_on_a_cluster(*report, "--lake", url, "--format", "csv")
        found, errors = running.communicate()
        assert running.returncode == 0, errors
        assert "WARN" not in errors and "Exception" not in errors, errors
        command = [sys.executable, "-m", "pipeline", *report, "--lake", url, "--format", "csv"]
        of_duckdb = [*command, "--engine", "duckdb"]
        assert found == subprocess.run(of_duckdb, capture_output=True, check=True, text=True).stdout
    server.stop()
