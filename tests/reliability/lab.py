"""What the scripts of this folder share: logs, ingests as commands, and tables to be compared."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.simulate import simulate

TOP = Path(__file__).resolve().parents[2]
# A command of `magic`, as a program of its own; also for little it starts other processes.
PROGRAM = """
import importlib, sys
import pipeline.ingest.worker
pipeline.ingest.worker._MIN_BYTES_PER_PROCESS = 1
importlib.import_module("pipeline.ingest.worker").TASK_UNITS = 100
from pipeline.cli import main
print("ready", flush=True)
sys.exit(main())
"""
BROKEN = b'{"history": ['
# The exit code of a script that this machine cannot run.
NOT_POSSIBLE = 77
Tables = dict[str, pl.DataFrame]


def magic(*arguments: str | Path) -> "subprocess.Popen[str]":
    """Starts a command in a group of its own; what it says can be read from it."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(TOP)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def started(*arguments: str | Path) -> "subprocess.Popen[str]":
    """The same, once it is ready to begin."""
    process = magic(*arguments)
    process.stdout.readline()
    return process


def undisturbed(process: "subprocess.Popen[str]") -> float:
    """Lets a command come to its end, which has to be a good one; the seconds that it took."""
    began = time.monotonic()
    _, complaint = process.communicate()
    assert process.returncode == 0, complaint
    return time.monotonic() - began


def write_logs(folder: Path, n_games: int) -> Path:
    """Logs of about so many simulated games, with copies and broken ones among them."""
    results = simulate(folder, models=4, games=max(n_games // 28, 1), seed=1, jobs=1).results
    logs = sorted(results.rglob("*.json"))
    for log in logs[::50]:
        shutil.copy(log, log.with_name(f"copy-{log.name}"))
        log.with_name(f"torn-{log.name}").write_bytes(log.read_bytes()[:-9])
    return results


def change_logs(results: Path, every: int = 10, name: str = "changed") -> None:
    """Puts other games into some of the logs, and breaks and takes away a few."""
    logs = sorted(results.rglob("[0-9]*.json"))
    for number, log in enumerate(logs[::every]):
        if number % 10 == 1:
            log.write_bytes(BROKEN)
        elif number % 10 == 2:
            log.unlink()
        else:
            log.write_bytes(log.read_bytes().replace(b"sim-", f"{name}-".encode()))


def base_lake(results: Path, lake: Path) -> None:
    """A lake of a quarter of the logs, as they were before some changed, by two ingests."""
    for some in sorted(path for path in results.iterdir() if path.is_dir())[:2]:
        ingest(some, lake, jobs=1)


def tables(lake: Path, without: Sequence[str] = (), until: int | None = None) -> Tables:
    """Every table but `ingests`, its rows in order; `until` leaves later ingests' documents out."""
    opened = open_lake(lake)
    found = {}
    for name in TABLES:
        if name != "ingests":
            rows = opened.table(name).drop(without, strict=False)
            if name == "documents" and until is not None:
                rows = rows.filter(pl.col("ingest_id") <= until)
            found[name] = _ordered(rows.collect())
    return found


def _ordered(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(name for name, dtype in rows.schema.items() if not dtype.is_nested())


def differences(found: Tables, expected: Tables) -> list[str]:
    """The tables that are not equal."""
    return [name for name, rows in expected.items() if not found[name].equals(rows)]


def instant(dice: random.Random, seconds: float) -> float:
    """A moment of something that takes so long: half of them at its end, where it commits."""
    return dice.uniform(0 if dice.random() < 0.5 else 0.6 * seconds, 1.05 * seconds)
