"""Ends each command that writes a lake at every instant: what opens then, and what a rerun gives.

A step makes, fills, links, renames or deletes a file; between two of them a kill leaves the same.
The lake has to open as before the command or as after it, `magic.duckdb` has to work if it is
there, and the same command given again has to leave what an undisturbed one does. Nothing is
killed: `instants.c` stops the command at each step, while a copy of the lake is tried.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
from lab import NOT_POSSIBLE, TOP, Tables, change_logs, differences, tables, write_logs

from pipeline.catalog import rebuild_catalog
from pipeline.errors import LakeError, PipelineError
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.maintain import maintain
from pipeline.lake.tables import CATALOG_FILE_NAME
from pipeline.verify import verify

HERE = Path(__file__).resolve().parent
_VERIFY_EVERY = 5
_NO_LAKE = ("no such lake", "not a lake yet")


class Trial(NamedTuple):
    """A command, the same as a function of the lake's path, and the lake before it, if any."""

    name: str
    arguments: list[str | Path]
    again: Callable[[Path], object]
    base: Path | None


def main(arguments: list[str] | None = None) -> int:
    """Tries every instant, or each of so many; 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="try each N-th instant alone")
    parser.add_argument("--games", type=int, default=28)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-instants-") as folder:
        top = Path(folder)
        library = built(top)
        if library is None:
            print("this needs Linux and a C compiler named cc")
            return NOT_POSSIBLE
        wrong = 0
        for trial in _trials(top, asked.games):
            n_instants, faults = _run(library, top, trial, asked.every)
            wrong += len(faults)
            print(f"{trial.name}: {n_instants} instants, {len(faults)} differences", flush=True)
            print("".join(f"  {fault}\n" for fault in faults), end="", flush=True)
        print(f"{wrong} differences")
        return int(bool(wrong))


def built(folder: Path) -> Path | None:
    """The library that stops a program at each step; None where it cannot be built."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        return None
    library = folder / "instants.so"
    command = ["cc", "-shared", "-fPIC", "-o", library, HERE / "instants.c", "-ldl"]
    return None if subprocess.run(command, check=False).returncode else library


def steps(library: Path, lake: Path, program: list[str | Path]) -> Iterator[str]:
    """Runs a program of Python; yields before each of its steps in the lake what comes next."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, *map(str, program)],
            env={
                **os.environ,
                "PYTHONPATH": str(TOP),
                "LD_PRELOAD": str(library),
                "INSTANTS_OF": str(lake),
                "INSTANTS_TO": str(theirs.fileno()),
            },
            pass_fds=[theirs.fileno()],
            stdout=subprocess.DEVNULL,
        )
    with ours, ours.makefile() as lines, process:
        for line in lines:
            yield line.strip().replace(str(lake), "lake")
            ours.send(b".")
    assert process.returncode == 0


def _trials(top: Path, n_games: int) -> Iterator[Trial]:
    results = write_logs(top / "logs", n_games)
    into = partial(ingest, results, jobs=1)
    yield Trial("first ingest", ["ingest", results, "--jobs", "1"], into, None)
    base = top / "base"
    ingest(sorted(path for path in results.iterdir() if path.is_dir())[:2], base, jobs=1)
    rebuild_catalog(base)
    change_logs(results, every=3)
    yield Trial("second ingest", ["ingest", results, "--jobs", "1"], into, base)
    into(base)
    yield Trial("catalog", ["catalog"], rebuild_catalog, base)
    now = ["--keep-days", "0", "--older-than-hours", "0"]
    upkeep = partial(maintain, keep_days=0, older_than_hours=0)
    yield Trial("maintain", ["maintain", *now], upkeep, base)


def _run(library: Path, top: Path, trial: Trial, every: int) -> tuple[int, list[str]]:
    """How many instants a command has, and what is wrong after a kill at one of them."""
    lake, copy, whole = top / "lake", top / "copy", top / "whole"
    before = tables(trial.base) if trial.base else None
    for place in (lake, whole):
        shutil.rmtree(place, ignore_errors=True)
        if trial.base:
            shutil.copytree(trial.base, place)
    trial.again(whole)
    after, n_ingests = tables(whole), open_lake(whole).ingest_id
    faults = []
    n_instants = n_tried = 0
    last: object = None
    for step in steps(library, lake, ["-m", "pipeline", *trial.arguments, "--lake", lake]):
        n_instants += 1
        if n_instants % every == 0 and (now := _listing(lake)) != last:
            last = now
            n_tried += 1
            shutil.rmtree(copy, ignore_errors=True)
            if lake.exists():
                shutil.copytree(lake, copy)
            found = _faults(
                copy, trial, before, after, n_ingests, is_verified=n_tried % _VERIFY_EVERY == 0
            )
            faults += [f"before {step}: {fault}" for fault in found]
    return n_instants, faults


def _listing(lake: Path) -> list[tuple[str, int, int]]:
    files = [(str(file), file.stat()) for file in lake.rglob("*")]
    return sorted((name, status.st_size, status.st_mtime_ns) for name, status in files)


def _faults(
    lake: Path,
    trial: Trial,
    before: Tables | None,
    after: Tables,
    n_ingests: int,
    *,
    is_verified: bool,
) -> Iterator[str]:
    """What is wrong with a lake that a kill left."""
    yield from _state(lake, before, after)
    yield from _catalog(lake)
    try:
        trial.again(lake)
    except PipelineError as error:
        yield f"the second run failed: {error}"
        return
    if wrong := differences(tables(lake, until=n_ingests), after):
        yield f"the second run differs in {', '.join(wrong)}"
    if is_verified and not (verified := verify(lake)).is_whole:
        yield f"magic verify: {verified.faults['check'].to_list()}"


def _state(lake: Path, before: Tables | None, after: Tables) -> Iterator[str]:
    """What differs if the lake is neither as before the command nor as after it."""
    try:
        found = tables(lake)
    except LakeError as error:
        if before is not None or not any(text in str(error) for text in _NO_LAKE):
            yield f"it does not open: {error}"
        return
    is_empty = before is None and found["documents"].is_empty()
    if (
        not is_empty
        and differences(found, before or after)
        and (wrong := differences(found, after))
    ):
        yield f"torn in {', '.join(wrong)}"


def _catalog(lake: Path) -> Iterator[str]:
    """What is wrong with the catalogue, if there is one."""
    if not (lake / CATALOG_FILE_NAME).exists():
        return
    try:
        with closing(duckdb.connect(str(lake / CATALOG_FILE_NAME), read_only=True)) as catalog:
            catalog.execute("SELECT sum(length(content)) FROM messages").fetchall()
    except duckdb.Error as error:
        yield f"{CATALOG_FILE_NAME}: {str(error).splitlines()[0]}"


if __name__ == "__main__":
    sys.exit(main())
