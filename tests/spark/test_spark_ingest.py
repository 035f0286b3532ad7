"""An ingest's work on a cluster gives the lake that one machine makes, whatever becomes of it."""

import os
import signal
import time
from importlib import import_module
from pathlib import Path
from threading import Thread

import pytest
from event_tables import assert_same
from hypothesis import given, strategies as st
from lakes import check, nonzero, parquet_files, rows

from pipeline.archives import SourceFile
from pipeline.cli import main
from pipeline.ingest import IngestSummary, ingest
from pipeline.ingest.worker import WorkerTask
from pipeline.lake import open_lake
from pipeline.metrics import metrics
from pipeline.spark import spark_cluster, split_into_balanced_parts

TOP = Path(__file__).resolve().parent.parent.parent
SAMPLE = TOP / "data" / "sample" / "results"
TASKS = import_module("pipeline.ingest.worker")
CLUSTER = import_module("pipeline.spark")


def on_spark(source: object, lake: Path) -> IngestSummary:
    return ingest(source, lake, team=spark_cluster())


def assert_same_lake(left: Path, right: Path) -> None:
    """Their rows are the same in every table, and so are the metrics of them."""
    # Executors read archives themselves, so none is noted.
    but_for = ["archives", "ingests"]
    assert rows(left, but_for=but_for) == rows(right, but_for=but_for)
    assert_same(*(metrics(open_lake(lake)) for lake in (left, right)))
    check(left)


# The same lake


@pytest.mark.slow
def test_public_games(spark, shared, public_lake, tmp_path):
    archive = shared / "corpus" / "magic-public.tar.zst"
    report = on_spark(archive, tmp_path)
    assert nonzero(report) == {"ingested": 1430, "ignored": 103}
    assert report.n_bytes > 10**7
    assert_same_lake(tmp_path, public_lake.path)
    # What the lake holds is known to the executors, which decode none of it again.
    files = parquet_files(tmp_path)
    assert nonzero(on_spark(archive, tmp_path)) == {"unchanged": 1430, "ignored": 103}
    assert {file.parent.name for file in parquet_files(tmp_path) - files} == {"ingests"}


# Failing


def children(process: int) -> list[int]:
    """The process and all that it started, as far as they still are."""
    found = [process]
    for one in found:
        for thread in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, thread.read_text().split())
            except OSError:  # it has ended
                continue
    return found


def executors() -> list[int]:
    """The cluster's processes that run tasks, each with Python processes of its own."""
    return [
        process
        for process in children(os.getpid())
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes()
        and b"CoarseGrainedExecutorBackend" not in _parent(process)
    ]


def _parent(process: int) -> bytes:
    stat = Path(f"/proc/{process}/stat").read_text()
    return Path(f"/proc/{stat.rpartition(')')[2].split()[1]}/cmdline").read_bytes()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
def test_an_executor_is_killed(spark, monkeypatch, tmp_path):
    """With all that it started, as when its machine fails, while both have files unfinished."""
    spark_lake, local_lake = tmp_path / "spark", tmp_path / "local"
    for lake in (spark_lake, local_lake):
        ingest(SAMPLE / "undercover", lake)
    expected = ingest(SAMPLE, local_lake)
    earlier, killed = set(spark_lake.glob("messages/*.parquet")), []

    def kill() -> None:
        while len(set(spark_lake.glob("messages/*.parquet")) - earlier) < 2:
            time.sleep(0.01)
        killed.extend(children(executors()[0]))
        for process in killed:
            os.kill(process, signal.SIGKILL)

    monkeypatch.setattr("pipeline.ingest._MAX_BATCH_BYTES", 1)  # slow: each document is a batch
    monkeypatch.setattr(TASKS, "TASK_UNITS", 60)
    killer = Thread(target=kill, daemon=True)
    killer.start()
    assert on_spark(SAMPLE, spark_lake).statuses == expected.statuses
    killer.join()
    assert len(killed) >= 2  # Java's process and Python's
    assert_same_lake(spark_lake, local_lake)


# The command


def test_a_master_without_its_engine(tmp_path, capsys):
    asked = ["ingest", str(SAMPLE), "--lake", str(tmp_path / "lake"), "--master", "local[2]"]
    assert main(asked) == 2
    assert "only with --engine spark" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


# What a partition is

SIZES = st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=4), max_size=30)


@given(sizes=SIZES, n_least=st.integers(1, 8))
def test_tasks_are_dealt_out_by_their_bytes(sizes, n_least):
    """Each to one part, in order, no part with more than its share and one task besides."""
    tasks = [
        WorkerTask(
            number,
            tuple(SourceFile("/logs", f"{n}.json", None, size) for n, size in enumerate(units)),
        )
        for number, units in enumerate(sizes)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CLUSTER, "PARTITION_BYTES", 1000)
        parts = split_into_balanced_parts(tasks, n_least)
    assert [part.number for part in parts] == list(range(len(parts)))
    assert sorted(task for part in parts for task in part.tasks) == tasks
    n_bytes = sum(map(sum, sizes))
    assert len(parts) == min(len(tasks), max(n_least, -(-n_bytes // 1000)))
    for part in parts:
        assert part.tasks == sorted(part.tasks)
        held = sum(sum(sizes[task.number]) for task in part.tasks)
        assert held <= n_bytes / len(parts) + max(map(sum, sizes))
