"""An ingest that goes on while a benchmark writes: nothing is read twice, and nothing is lost."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lakes import rows
from rawlogs import chameleon, encode, public_good

from pipeline.errors import SourceError
from pipeline.ingest import ingest, wait_for_settled_files

JOURNALS = ("ingests", "documents", "quarantine", "archives")


class Ended(Exception):
    """The benchmark has ended, and nothing is left to see."""


def writing(folder: Path, seed: int, n_logs: int) -> Iterator[None]:
    """Writes logs, a few steps apart: half of a log first, sometimes, or one more after it."""
    dice = random.Random(seed)
    for number in range(n_logs):
        made = chameleon() if number % 2 else public_good()
        whole = encode(made) + b" " * number
        file = folder / f"{number}.json"
        if dice.random() < 0.5:
            file.write_bytes(whole[: len(whole) // 2])
            yield from [None] * dice.randrange(1, 4)
        file.write_bytes(whole)
        yield from [None] * dice.randrange(4)
    yield from [None] * 3


def steps(of: Iterator[None]) -> Callable[[float], None]:
    def sleep(_seconds: float) -> None:
        if next(of, Ended) is Ended:
            raise Ended

    return sleep


@pytest.mark.slow
def test_what_is_written_meanwhile_is_read_once(tmp_path: Path) -> None:
    """Tables are as those of one ingest at the end; each reading found something to read."""
    (folder := tmp_path / "logs").mkdir()
    n_logs, n_ingests, n_new = 3, 0, []
    with pytest.raises(Ended):
        for _ in wait_for_settled_files([str(folder)], 1, steps(writing(folder, 1, n_logs))):
            n_ingests += 1
            report = ingest(folder, tmp_path / "watched")
            n_new.append(report.n_seen - report.statuses["unchanged"])
    ingest(folder, tmp_path / "once")
    assert n_ingests >= n_logs // 2
    assert all(n_new)
    assert rows(tmp_path / "watched", but_for=JOURNALS) == rows(tmp_path / "once", but_for=JOURNALS)
    assert not rows(tmp_path / "watched")["quarantine"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        next(wait_for_settled_files([str(tmp_path / "none")], 1))


def test_a_file_rewritten_with_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    """As `rsync --times` and archivers do: only the time of the inode's change tells."""
    (file := tmp_path / "0.json").write_bytes(b"{1}")
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns

    def rewriting() -> Iterator[None]:
        yield
        with file.open("r+b") as opened:
            opened.write(b"{2}")
        os.utime(file, ns=times)
        yield from [None] * 3

    readings = wait_for_settled_files([str(tmp_path)], 1, steps(rewriting()))
    contents: list[bytes] = []
    with pytest.raises(Ended):
        contents.extend(file.read_bytes() for _ in readings)
    assert contents == [b"{1}", b"{2}"]


def test_a_folder_that_is_moved_away_is_waited_for(tmp_path: Path) -> None:
    """It is told once; back with another file it is read, and unchanged it is not."""
    (folder := tmp_path / "logs").mkdir()
    (folder / "0.json").write_bytes(b"{}")
    away = tmp_path / "away"

    def moving() -> Iterator[None]:
        for is_changed in (False, True):
            yield
            folder.rename(away)
            yield from [None] * 3
            if is_changed:
                (away / "1.json").write_bytes(b"{}")
            away.rename(folder)
            yield from [None] * 3

    told: list[str] = []
    n_files: list[int] = []
    readings = wait_for_settled_files([str(folder)], 1, steps(moving()), told.append)
    with pytest.raises(Ended):
        n_files.extend(len(list(folder.iterdir())) for _ in readings)
    assert n_files == [1, 2]
    assert len(told) == 2
    assert all("no such path" in text for text in told)


def test_what_could_not_be_read_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_bytes(b"{}")
    readings = wait_for_settled_files([str(tmp_path)], 1, steps(iter([None] * 3)))
    next(readings)
    readings.send(True)
    with pytest.raises(Ended):
        readings.send(None)


@pytest.mark.slow
def test_ctrl_c_between_two_readings_is_the_end(tmp_path: Path) -> None:
    (folder := tmp_path / "logs").mkdir()
    (folder / "0.json").write_bytes(encode(chameleon()))
    command = [sys.executable, "-m", "pipeline", "ingest", str(folder), "--watch", "1"]
    lake = tmp_path / "lake"
    with subprocess.Popen(
        [*command, "--lake", str(lake)], stderr=subprocess.PIPE, text=True, env=os.environ
    ) as watching:
        assert watching.stderr
        assert any("waiting for logs" in line for line in watching.stderr)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
    assert len(rows(lake)["games"]) == 1
