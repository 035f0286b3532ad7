"""Kills and interrupts ingests and upkeeps at random instants: what opens, what a rerun gives.

Each kill is of the command's own process, of one worker, or of all at once, in turn; an interrupt
is Ctrl-C, and has to end all within two seconds. The lake has to open and to be as before, or as
after if the command had committed; the same command given again has to give the tables of an
undisturbed run, row by row. An upkeep changes which files hold the rows, and no row.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from lab import (
    Tables,
    base_lake,
    change_logs,
    differences,
    instant,
    started,
    tables,
    undisturbed,
    write_logs,
)

from pipeline.lake import open_lake
from pipeline.verify import verify

COORDINATOR = "coordinator"
TARGETS = (COORDINATOR, "worker", "all")
INTERRUPTED = "Ctrl-C"
_SECONDS_TO_END = 60
_VERIFY_EVERY = 10


class Trial(NamedTuple):
    """A command, the tables before it and after it undisturbed, and how long it then takes."""

    arguments: list[str | Path]
    before: Tables
    after: Tables
    ingest_id: int
    seconds: float


def main(arguments: list[str] | None = None) -> int:
    """Kills as often as asked for; 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300, help="of an ingest")
    parser.add_argument("--interrupts", type=int, default=60, help="of an ingest")
    parser.add_argument("--upkeeps", type=int, default=120, help="half killed, half interrupted")
    parser.add_argument("--patience", type=float, default=2.0, help="seconds to end after Ctrl-C")
    parser.add_argument("--games", type=int, default=2016)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-kills-") as folder:
        return run(Path(folder), asked)


def run(top: Path, asked: argparse.Namespace) -> int:
    """Ends an ingest of so many games, and an upkeep of the same lake, as often as asked for."""
    dice = random.Random(asked.seed)
    results = write_logs(top / "logs", asked.games)
    base_lake(results, top / "base")
    change_logs(results)
    ingest = _trial(top, ["ingest", results, "--jobs", "2"])
    upkeep = _trial(top, ["maintain"])
    ends = [(ingest, TARGETS[number % len(TARGETS)]) for number in range(asked.kills)]
    ends += [(ingest, INTERRUPTED)] * asked.interrupts
    ends += [(upkeep, (COORDINATOR, INTERRUPTED)[number % 2]) for number in range(asked.upkeeps)]
    result: Counter[str] = Counter()
    wrong = []
    for number, (trial, target) in enumerate(ends):
        lake = top / "lake"
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(top / "base", lake)
        at = instant(dice, trial.seconds)
        faults, took = _end(trial, lake, target, at)
        if target == INTERRUPTED and took > asked.patience:
            faults.append(f"it took {took:.1f} s to end")
        state, found = _state(lake, trial)
        faults += found
        faults += _again(trial, lake, is_verified=number % _VERIFY_EVERY == 0)
        name = f"{trial.arguments[0]}, {target}"
        result[f"{name}, {state}"] += 1
        if faults:
            wrong.append(f"{number}, {name} after {at:.2f} s: {'; '.join(faults)}")
            print(wrong[-1], flush=True)
    for kind, n in sorted(result.items()):
        print(f"{n:5} {kind}")
    print(f"{len(ends)} commands ended, {len(wrong)} differences")
    return int(bool(wrong))


def _trial(top: Path, arguments: list[str | Path]) -> Trial:
    """Runs a command on a copy of the lake, to compare with."""
    lake = top / "undisturbed"
    shutil.rmtree(lake, ignore_errors=True)
    shutil.copytree(top / "base", lake)
    seconds = undisturbed(started(*arguments, "--lake", lake))
    print(f"{arguments[0]}: {seconds:.1f} s undisturbed", flush=True)
    return Trial(arguments, tables(top / "base"), tables(lake), open_lake(lake).ingest_id, seconds)


def _end(trial: Trial, lake: Path, target: str, at: float) -> tuple[list[str], float]:
    """Ends a command at an instant; what is wrong with how its processes end, and their seconds."""
    coordinator = started(*trial.arguments, "--lake", lake)
    time.sleep(at)
    workers = _children(coordinator.pid)
    began = time.monotonic()
    if target == INTERRUPTED:
        _send(-coordinator.pid, signal.SIGINT)
    else:
        whom = {COORDINATOR: [coordinator.pid], "worker": workers[:1]}
        for process in whom.get(target, [coordinator.pid, *workers]):
            _send(process, signal.SIGKILL)
    try:
        _, complaint = coordinator.communicate(timeout=_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        coordinator.kill()
        return ["the command goes on"], time.monotonic() - began
    deadline = time.monotonic() + _SECONDS_TO_END
    while (left := [w for w in workers if _is_running(w)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    took = time.monotonic() - began
    faults = [f"worker {process} goes on" for process in left]
    result = _faults(target, coordinator.returncode, complaint, has_begun=bool(workers))
    return faults + result, took


def _faults(target: str, code: int, complaint: str, *, has_begun: bool) -> list[str]:
    """What is wrong with what a command that was ended says."""
    if "Traceback" in complaint:
        return [f"a traceback: {complaint}"]
    if target == "worker" and code not in (0, 1):
        return [f"exit code {code}"]
    # While the command line is read, nobody knows yet what there is to go on with.
    is_bare = complaint == "magic: interrupted\n" and not has_begun
    is_told = is_bare or "run the same" in complaint
    # Python ends by the signal itself where that comes when all is done and it is taken down.
    is_ended = code in (0, -signal.SIGINT) or (code == 130 and is_told)
    if target == INTERRUPTED and not is_ended:
        return [f"exit code {code}: {complaint}"]
    return []


def _send(process: int, what: signal.Signals) -> None:
    """Sends a signal to a process, or to a group by its negative number."""
    try:
        os.kill(process, what)
    except ProcessLookupError:
        return


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in text.split()]


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in ("Z", "X")


def _state(lake: Path, trial: Trial) -> tuple[str, list[str]]:
    """Whether the lake is as before the command or as after it, and what differs if neither."""
    found = tables(lake)
    if not (wrong := differences(found, trial.after)):
        return "as after it", []
    if not differences(found, trial.before):
        return "as before it", []
    return "torn", [f"torn in {', '.join(wrong)}"]


def _again(trial: Trial, lake: Path, *, is_verified: bool) -> list[str]:
    """Gives the same command again; says what is wrong then."""
    second = started(*trial.arguments, "--lake", lake)
    _, complaint = second.communicate()
    if second.returncode:
        return [f"the second run failed: {complaint}"]
    faults = differences(tables(lake, until=trial.ingest_id), trial.after)
    if is_verified and not (verified := verify(lake)).is_whole:
        faults.append(f"magic verify: {verified.faults['check'].to_list()}")
    return [f"the second run differs in {', '.join(faults)}"] if faults else []


if __name__ == "__main__":
    sys.exit(main())
