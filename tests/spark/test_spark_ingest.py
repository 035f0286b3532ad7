"""An ingest's work on a cluster gives the lake that one machine makes, whatever becomes of it."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from uuid import UUID

import pytest
from event_tables import assert_same
from hypothesis import given, strategies as st
from lakes import check, nonzero, parquet_files, rows, table
from rawlogs import GAMES, chameleon, encode

from pipeline.archives import SourceFile
from pipeline.cli import main
from pipeline.errors import PipelineError
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.ingest import IngestSummary, ingest
from pipeline.ingest.worker import WorkerTask
from pipeline.lake import open_lake
from pipeline.lake.maintain import maintain
from pipeline.metrics import metrics
from pipeline.simulate import simulate
from pipeline.spark import spark_cluster, split_into_balanced_parts

TOP = Path(__file__).resolve().parent.parent.parent
SAMPLE = TOP / "data" / "sample" / "results"
TASKS = import_module("pipeline.ingest.worker")
CLUSTER = import_module("pipeline.spark")
DAY = 86_400
BROKEN = b'{"history": ['


def on_spark(source: object, lake: Path) -> IngestSummary:
    return ingest(source, lake, team=spark_cluster())


def assert_same_lake(left: Path, right: Path) -> None:
    """Their rows are the same in every table, and so are the metrics of them."""
    # Executors read archives themselves, so none is noted.
    but_for = ["archives", "ingests"]
    assert rows(left, but_for=but_for) == rows(right, but_for=but_for)
    assert_same(*(metrics(open_lake(lake)) for lake in (left, right)))
    check(left)


@pytest.fixture
def scattered(monkeypatch) -> None:
    """Each file is a task, and each task is a partition of its own."""
    monkeypatch.setattr(TASKS, "TASK_UNITS", 1)
    monkeypatch.setattr(CLUSTER, "PARTITION_BYTES", 1)


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


@pytest.mark.long
def test_simulated_games_of_a_folder_and_archives(spark, scattered, monkeypatch, tmp_path):
    """2,016 of them; `benchmarks/spark.py` does it with more."""
    monkeypatch.setattr(TASKS, "TASK_UNITS", 300)
    monkeypatch.setattr(TASKS, "LARGE_ARCHIVE_BYTES", 1)
    made = [
        simulate(tmp_path / str(n_games), games=n_games, seed=n_games, archive=archive, jobs=1)
        for n_games, archive in ((36, None), (19, "tar.zst"), (17, "zip"))
    ]
    sources = [one.results for one in made]
    spark_lake, local_lake = tmp_path / "spark", tmp_path / "local"
    report = on_spark(sources, spark_lake)
    assert report.statuses == ingest(sources, local_lake).statuses
    assert report.statuses["ingested"] == sum(one.n_games for one in made)
    # Each archive is a partition, and the folder is several.
    assert len(open_lake(spark_lake).table_files("games")) > 2 + 1
    assert_same_lake(spark_lake, local_lake)


@pytest.mark.long
def test_copies_and_broken_documents_of_many_partitions(spark, scattered, tmp_path):
    """The first copy is the game, once; what is refused keeps its bytes."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, build in GAMES.items():
        (logs / f"{name}.json").write_bytes(encode(build()))
    partly = chameleon(model="x")
    del partly["consistency_metric"]
    for name in "abc":
        (logs / f"{name}.json").write_bytes(encode(partly))
    refused = {f"{name}.json": BROKEN + name.encode() * 1000 for name in "xy"}
    for path, data in refused.items():
        (logs / path).write_bytes(data)
    with zipfile.ZipFile(logs / "more.zip", "w") as archive:
        archive.write(logs / "a.json", "copy.json")
        archive.writestr("z.json", BROKEN)
    spark_lake, local_lake = tmp_path / "spark", tmp_path / "local"
    report = on_spark(logs, spark_lake)
    assert nonzero(report) == {"ingested": len(GAMES) + 1, "duplicate": 3, "quarantined": 3}
    assert len(open_lake(spark_lake).table_files("games")) >= len(GAMES)
    raw = dict(table(spark_lake, "quarantine").select("path", "raw").iter_rows())
    assert raw.items() >= refused.items()
    ingest(logs, local_lake)
    assert_same_lake(spark_lake, local_lake)


@pytest.mark.long
def test_nothing_to_do(spark, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "setting.json").write_bytes(b"{}")
    assert nonzero(on_spark(tmp_path / "logs", tmp_path / "lake")) == {"ignored": 1}
    check(tmp_path / "lake")


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
    before = rows(spark_lake)

    lake = open_lake(spark_lake)
    named = {Path(file) for name in TABLES for file in lake.table_files(name)}
    orphans = parquet_files(spark_lake) - named
    assert {file.parent.name for file in orphans} <= set(GAME_TABLES)
    assert "messages" in {file.parent.name for file in orphans}
    for file in orphans:
        os.utime(file, (time.time() - 2 * DAY,) * 2)
    maintain(spark_lake)
    assert not orphans & parquet_files(spark_lake)
    assert rows(spark_lake) == before


@pytest.mark.long
def test_a_lake_that_executors_cannot_write(spark, monkeypatch, tmp_path, capfd):
    lake = tmp_path / "lake"
    ingest(SAMPLE / "undercover", lake)
    before, files = rows(lake, but_for=[]), parquet_files(lake)
    # What an attempt leaves whose executor was killed.
    monkeypatch.setattr("pipeline.ingest.uuid", SimpleNamespace(uuid4=lambda: UUID(int=7)))
    (lake / "games" / f"part-{UUID(int=7).hex}-0-killed.parquet").write_bytes(b"PAR1")

    def hide_and_deal(tasks, n_least):
        (lake / "messages").rename(tmp_path / "hidden")
        return split_into_balanced_parts(tasks, n_least)

    monkeypatch.setattr(CLUSTER, "split_into_balanced_parts", hide_and_deal)
    with pytest.raises(PipelineError) as failed:
        on_spark(SAMPLE / "chameleon", lake)
    (tmp_path / "hidden").rename(lake / "messages")
    said = str(failed.value)
    assert said.startswith("the ingest failed on Spark: FileNotFoundError: ")
    assert "lake/messages/part-" in said
    assert said.endswith("; nothing was changed; fix the cause and run the same command again")
    assert "\n" not in said
    assert capfd.readouterr().err == ""
    assert parquet_files(lake) == files
    assert rows(lake, but_for=[]) == before
    check(lake)


# The command


def test_a_master_without_its_engine(tmp_path, capsys):
    asked = ["ingest", str(SAMPLE), "--lake", str(tmp_path / "lake"), "--master", "local[2]"]
    assert main(asked) == 2
    assert "only with --engine spark" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


@pytest.mark.long
def test_command(spark, sample_lake, tmp_path):
    """In a process of its own, which starts Spark and ends it, with no word but one of Java's.

    And those of any ingest: what is no log.
    """
    asked = ["ingest", SAMPLE, "--lake", tmp_path / "lake", "--format", "csv"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *asked, "--engine", "spark", "--master", "local[2]"],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        timeout=120,
    )
    said = ("incubator modules", " ignored: not a log: ")
    result = [line for line in done.stderr.splitlines() if not any(one in line for one in said)]
    assert (done.returncode, result) == (0, [])
    assert "documents,ingested,112\n" in done.stdout
    assert rows(tmp_path / "lake") == rows(sample_lake.path)


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
