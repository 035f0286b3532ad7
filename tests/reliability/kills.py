"""Kills and interrupts ingests at random instants: what opens afterwards, and what a rerun gives.

Each kill is of the ingest's own process, of one worker, or of all at once, in turn; an interrupt is
Ctrl-C, and has to end all within two seconds. The lake has to open and to be as before, or as after
if the ingest had committed; the same command given again has to give the tables of an undisturbed
run, row by row.
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

TARGETS = ("coordinator", "worker", "all")
INTERRUPTED = "Ctrl-C"
_SECONDS_TO_END = 60
_VERIFY_EVERY = 10


def main(arguments: list[str] | None = None) -> int:
    """Kills as often as asked for; 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--interrupts", type=int, default=60)
    parser.add_argument("--patience", type=float, default=2.0, help="seconds to end after Ctrl-C")
    parser.add_argument("--games", type=int, default=2016)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-kills-") as folder:
        targets = [TARGETS[number % len(TARGETS)] for number in range(asked.kills)]
        targets += [INTERRUPTED] * asked.interrupts
        return run(Path(folder), targets, asked.games, asked.seed, asked.patience)


def run(top: Path, targets: list[str], n_games: int, seed: int, patience: float) -> int:
    """Ends an ingest of so many games for each of the targets."""
    dice = random.Random(seed)
    results = write_logs(top / "logs", n_games)
    base_lake(results, top / "base")
    change_logs(results)
    before = tables(top / "base")
    shutil.copytree(top / "base", top / "undisturbed")
    seconds = undisturbed(_ingest(results, top / "undisturbed"))
    after = tables(top / "undisturbed")
    print(f"{after['games'].height} games, {seconds:.1f} s undisturbed, seed {seed}", flush=True)
    result: Counter[str] = Counter()
    wrong = []
    slowest = 0.0
    for number, target in enumerate(targets):
        lake = top / "lake"
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(top / "base", lake)
        at = instant(dice, seconds)
        faults, took = _end(results, lake, target, at)
        if target == INTERRUPTED:
            slowest = max(slowest, took)
            faults += [f"it took {took:.1f} s to end"] if took > patience else []
        state, found = _state(lake, before, after)
        faults += found
        faults += _again(results, lake, after, is_verified=number % _VERIFY_EVERY == 0)
        result[f"{target}, {state}"] += 1
        if faults:
            wrong.append(f"{number}, {target} after {at:.2f} s: {'; '.join(faults)}")
            print(wrong[-1], flush=True)
    for kind, n in sorted(result.items()):
        print(f"{n:5} {kind}")
    print(f"at most {slowest:.2f} s from Ctrl-C to the end")
    print(f"{len(targets)} ingests ended, {len(wrong)} differences")
    return int(bool(wrong))


def _ingest(results: Path, lake: Path) -> "subprocess.Popen[str]":
    return started("ingest", results, "--lake", lake, "--jobs", "2")


def _end(results: Path, lake: Path, target: str, at: float) -> tuple[list[str], float]:
    """Ends an ingest at an instant; what is wrong with how its processes end, and their seconds."""
    coordinator = _ingest(results, lake)
    time.sleep(at)
    workers = _children(coordinator.pid)
    began = time.monotonic()
    if target == INTERRUPTED:
        _send(-coordinator.pid, signal.SIGINT)
    else:
        whom = {"coordinator": [coordinator.pid], "worker": workers[:1]}
        for process in whom.get(target, [coordinator.pid, *workers]):
            _send(process, signal.SIGKILL)
    try:
        _, complaint = coordinator.communicate(timeout=_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        coordinator.kill()
        return ["the ingest goes on"], time.monotonic() - began
    deadline = time.monotonic() + _SECONDS_TO_END
    while (left := [w for w in workers if _is_running(w)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    took = time.monotonic() - began
    faults = [f"worker {process} goes on" for process in left]
    result = _faults(target, coordinator.returncode, complaint, has_begun=bool(workers))
    return faults + result, took


def _faults(target: str, code: int, complaint: str, *, has_begun: bool) -> list[str]:
    """What is wrong with what an ingest that was ended says."""
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


def _state(lake: Path, before: Tables, after: Tables) -> tuple[str, list[str]]:
    """Whether the lake is as before the ingest or as after it, and what differs if neither."""
    found = tables(lake)
    if not differences(found, before):
        return "nothing visible", []
    if not (wrong := differences(found, after)):
        return "all visible", []
    return "torn", [f"torn in {', '.join(wrong)}"]


def _again(results: Path, lake: Path, after: Tables, *, is_verified: bool) -> list[str]:
    """Gives the same command again; says what is wrong then."""
    second = _ingest(results, lake)
    _, complaint = second.communicate()
    if second.returncode:
        return [f"the second run failed: {complaint}"]
    faults = differences(tables(lake, until=2), after)
    if open_lake(lake).ingest_id not in (2, 3):
        faults.append("ingests")
    if is_verified and not (verified := verify(lake)).is_whole:
        faults.append(f"magic verify: {verified.faults['check'].to_list()}")
    return [f"the second run differs in {', '.join(faults)}"] if faults else []


if __name__ == "__main__":
    sys.exit(main())
