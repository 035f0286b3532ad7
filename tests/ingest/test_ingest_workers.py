"""Several processes make the lake that one makes, and leave nothing behind when they fail.

What is patched is patched in the ingest's own process, where the work is cut and dealt out; the
first tasks go to the two workers in turn.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lakes import Lab, nonzero, parquet_files, rows
from rawlogs import GAMES, chameleon, chatarena, encode, prisoners_dilemma, public_good
from test_archives import zipped

from pipeline.archives import SourceFile
from pipeline.errors import PipelineError, UsageError
from pipeline.ingest import MIN_MEMORY_BYTES, IngestSummary, ingest, worker
from pipeline.lake import open_lake

BROKEN = b'{"history": ['
ALL: Any = {"but_for": ()}


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Little is given to processes too, a document a task; gives those started."""
    monkeypatch.setattr("pipeline.ingest.worker._MIN_BYTES_PER_PROCESS", 1)
    monkeypatch.setattr(worker, "TASK_UNITS", 1)
    started = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr("subprocess.Popen", Recorded)
    return started


@pytest.fixture
def staged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each document is a batch, so that workers have files before they are asked to end."""
    monkeypatch.setattr("pipeline.ingest._MAX_BATCH_BYTES", 1)


def alone(lab: Lab, **options: Any) -> IngestSummary:
    """Takes in the folder by this process."""
    return ingest(lab.root, lab.lake, jobs=1, **options)


def by_two(lab: Lab, **options: Any) -> IngestSummary:
    """Takes in the folder by two processes."""
    return ingest(lab.root, lab.lake, jobs=2, **options)


def faulty(model: str) -> dict[str, Any]:
    """A game of which a part is missing."""
    log = chameleon(model=model)
    del log["consistency_metric"]
    return log


def write_all(lab: Lab) -> None:
    """Games of each type, copies with and without an index, transcripts, and what is refused."""
    for name, build in GAMES.items():
        lab.write(f"{name}/0.json", build())
        lab.write(f"{name}/1.json", build(model="m-pgm"))
        lab.write(f"copies/{name}.json", build())
    for name in "abcd":  # of the first tasks, which both workers get
        lab.write(f"as faulty/{name}.json", faulty("x"))
    lab.write("faulty/c.json", faulty("y"))
    lab.write("talk.json", chatarena())
    for number in range(4):
        lab.write(f"torn/{number}.json", BROKEN + b" " * number)
    lab.write("notes.txt", b"not a log")
    packed = {f"{name}.json": encode(build(model="packed")) for name, build in GAMES.items()}
    lab.write("logs.zip", zipped(packed | {"setting.json": encode({"topic": "Rivers"})}))


def change_some(lab: Lab) -> None:
    """Games replaced, moved and mended, and one broken."""
    for name in ("chameleon", "undercover"):
        lab.write(f"{name}/0.json", GAMES[name](model="another"))
        (lab.root / f"copies/{name}.json").unlink()
    lab.write("copies/undercover.json", GAMES["undercover"](model="another"))
    lab.write("public_good/0.json", GAMES["cost_sharing"](model="m-pgm"))
    lab.write("faulty/c.json", chameleon(model="y"))
    lab.write("torn/0.json", prisoners_dilemma(model="mended"))
    lab.write("torn/1.json", b"[")
    lab.write("cost_sharing/1.json", BROKEN)
    lab.write("logs.zip", zipped({"0.json": encode(chameleon(model="packed"))}))


# The same lake


@pytest.mark.slow(seconds=10)
def test_two_processes_make_the_lake_that_one_makes(
    lab: Lab, pooled: list[Any], empty_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New, replaced, superseded, copied, moved, mended, refused: whatever becomes of a document.

    A large archive is dealt out while it is read, a few documents at a time.
    """
    monkeypatch.setattr(worker, "LARGE_ARCHIVE_BYTES", 1)
    monkeypatch.setattr(worker, "TASK_BYTES", 2**13)
    other = lab.lake.parent / "other"
    shutil.copytree(empty_lake, other)
    for change in (write_all, change_some):
        change(lab)
        expected = alone(Lab(lab.root, other), model="talker")
        assert pooled == []
        told: list[tuple[int, int]] = []
        report = by_two(lab, model="talker", on_progress=lambda *one, told=told: told.append(one))
        assert len(pooled) == 2
        pooled.clear()
        assert rows(lab.lake, but_for=["ingests"]) == rows(other, but_for=["ingests"])
        place = ["path", "json_path"]
        assert report.statuses == expected.statuses
        assert report.games.equals(expected.games)
        assert (report.n_superseded, report.n_bytes) == (expected.n_superseded, expected.n_bytes)
        assert report.faults.sort(place).equals(expected.faults.sort(place))
        assert sum(n for n, _ in told) == sum(report.statuses.values())
        assert sum(n for _, n in told) == sum(
            file.stat().st_size for file in lab.root.rglob("*") if file.is_file()
        )
    assert expected.n_superseded > 0
    assert {"ingested", "replacing", "duplicate", "quarantined"} < set(nonzero(expected))
    # What both have written is in the lake, one file for each.
    assert len(open_lake(lab.lake).table_files("games")) >= 2


@pytest.mark.parametrize(
    ("n_bytes", "n_started"), [(95, 0), (96, 2), (143, 2), (144, 3), (1000, 4)]
)
def test_as_many_processes_as_the_work_is_worth(
    monkeypatch: pytest.MonkeyPatch, n_bytes: int, n_started: int
) -> None:
    """One for 48 MiB of logs, four at most here; none beside this one for less than two's."""
    started = []

    class Team:
        def __init__(self, job: object, n_workers: int) -> None:
            started.append(n_workers)

        def stop(self) -> None:
            pass

    monkeypatch.setattr(worker, "ProcessPool", Team)
    monkeypatch.setattr(worker, "Worker", Team)  # this process alone is worker number 0
    logs = [SourceFile("/logs", f"{n}.json", f"/logs/{n}.json", 2**20) for n in range(n_bytes)]
    job: Any = None
    with worker.start_processes_or_use_this_one(4, job, iter(logs)) as (_, units):
        assert list(units) == logs
    assert started == [n_started]


# What goes wrong


def when_files_are_staged(lab: Lab, act: Callable[[], object]) -> Callable[[int, int], None]:
    """A watcher of progress that acts once, as soon as a game is in a file of the lake's folder."""
    lying = parquet_files(lab.lake)
    has_acted = False

    def watch(n_documents: int, n_bytes: int) -> None:
        nonlocal has_acted
        if not has_acted and parquet_files(lab.lake) > lying:
            has_acted = True
            act()

    return watch


def begin(lab: Lab) -> tuple[Any, set[Path]]:
    """A lake that holds something, and a folder with more; the lake's rows and files."""
    lab.write("a.json", faulty("x"))
    lab.write("b.json", public_good())
    lab.write("c.json", BROKEN)
    alone(lab)
    lab.write("a.json", chameleon(model="x"))
    for number in range(20):
        lab.write(f"new/{number}.json", prisoners_dilemma(model=f"new {number}"))
    return rows(lab.lake, **ALL), parquet_files(lab.lake)


@pytest.mark.slow
@pytest.mark.usefixtures("staged_at_once")
def test_a_worker_that_is_killed(lab: Lab, pooled: list[Any]) -> None:
    """It is told how it ended, nothing of the ingest stays, and the next one does it all."""
    before, lying = begin(lab)
    kill = when_files_are_staged(lab, lambda: pooled[0].send_signal(signal.SIGKILL))
    with pytest.raises(PipelineError, match=r"(?s)ended by signal 9; nothing was changed.*again"):
        by_two(lab, on_progress=kill)
    assert pooled[0].returncode == -signal.SIGKILL
    assert pooled[1].returncode is not None
    assert parquet_files(lab.lake) == lying
    assert rows(lab.lake, **ALL) == before


@pytest.mark.usefixtures("staged_at_once")
@pytest.mark.slow
def test_an_ingest_that_fails_ends_its_workers(lab: Lab, pooled: list[Any]) -> None:
    before, lying = begin(lab)

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_two(lab, on_progress=when_files_are_staged(lab, fail))
    assert len(pooled) == 2
    assert None not in [process.returncode for process in pooled]
    assert parquet_files(lab.lake) == lying
    assert rows(lab.lake, **ALL) == before


# Runs an ingest by two processes that kills itself as soon as a file is staged, and tells of them.
_KILLED = """
import os, signal, sys
from pathlib import Path
import pipeline.ingest, pipeline.ingest.worker
root, lake, n_files = sys.argv[1], sys.argv[2], int(sys.argv[3])
pipeline.ingest.worker._MIN_BYTES_PER_PROCESS = 1
pipeline.ingest._MAX_BATCH_BYTES = 1
pipeline.ingest.worker.TASK_UNITS = 1
def watch(n_documents, n_bytes):
    if sum(1 for _ in Path(lake).rglob("*.parquet")) > n_files:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        print(children, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
pipeline.ingest.ingest(root, lake, jobs=2, on_progress=watch)
"""


def is_running(process: int) -> bool:
    """Whether there is such a process, and it is not merely waiting to be asked how it ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in ("Z", "X")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
def test_workers_whose_ingest_is_killed_take_their_files_away(lab: Lab) -> None:
    before, lying = begin(lab)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, lab.root, lab.lake, str(len(lying))],
        check=False,
        stdout=subprocess.PIPE,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        | {"TMPDIR": str(lab.root.parent)},
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    children = [int(child) for child in killed.stdout.split()]
    assert len(children) == 2
    deadline = time.monotonic() + 20
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [child for child in children if is_running(child)] == []
    assert parquet_files(lab.lake) == lying
    assert rows(lab.lake, **ALL) == before


def test_too_little_memory(lab: Lab) -> None:
    lab.write("a.json", public_good())
    nowhere = lab.root.parent / "nowhere"
    with pytest.raises(UsageError, match=f"at least {MIN_MEMORY_BYTES >> 20} MiB"):
        ingest(lab.root, nowhere, memory=MIN_MEMORY_BYTES - 1)
    assert not nowhere.exists()
    assert nonzero(ingest(lab.root, lab.lake, memory=MIN_MEMORY_BYTES)) == {"ingested": 1}
