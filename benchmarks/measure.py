"""What all benchmarks share: alternating runs, medians, memory, and the section that each writes.

A script measures cases against a named baseline in the same run, so that its figures are ratios,
which other machines can be held to as well.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
MAGIC = (sys.executable, "-m", "pipeline")
LIBRARIES = ("polars", "duckdb", "pyarrow", "deltalake", "msgspec")
SAMPLE_SECONDS = 0.05


class Row(NamedTuple):
    """A line of a table of ratios: what was measured, of what, and the most that it may be."""

    case: str
    value: float
    baseline: float
    limit: float | None = None
    unit: str = "s"
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """The value divided by the baseline."""
        return self.value / self.baseline

    @property
    def holds(self) -> bool:
        """Whether the ratio is within the limit, or there is no limit."""
        if self.limit is None:
            return True
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def parser(doc: str, *, games: int, runs: int = 5) -> argparse.ArgumentParser:
    """The options that every script has; small numbers try it out."""
    found = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--games", type=int, default=games, help="games (default: %(default)s)")
    found.add_argument("--runs", type=int, default=runs, help="of each case (default: %(default)s)")
    found.add_argument(
        "--results", type=Path, default=HERE / "results.md", help="the file to write a section of"
    )
    return found


def medians(
    cases: Mapping[str, Callable[[], object]],
    runs: int,
    *,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Each case's median wall time in seconds, the cases taking turns after a round to warm up.

    `before` runs ahead of each case, unmeasured. `clock` can be that of the processor instead.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(runs + 1):
        for name, case in cases.items():
            before()
            started = clock()
            case()
            if turn:
                seconds[name].append(clock() - started)
    return {name: statistics.median(found) for name, found in seconds.items()}


def processor_medians(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Each command's median processor time in seconds, the commands taking turns as in `medians`.

    Other work on the machine bears less on it than on wall time.
    """
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            before = _processor_seconds()
            run(command)
            if turn:
                seconds[name].append(_processor_seconds() - before)
    return {name: statistics.median(found) for name, found in seconds.items()}


def _processor_seconds() -> float:
    """What all children that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def magic(*arguments: object) -> None:
    """Runs `magic` in a process of its own; raises where it fails."""
    run([*MAGIC, *map(str, arguments)])


def run(command: Sequence[str]) -> None:
    """Runs a command in silence; raises with what it said where it fails."""
    done = subprocess.run(
        command, cwd=TOP, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr or done.stdout}")


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(TOP)}


def peak_memory(command: Sequence[str]) -> tuple[float, int]:
    """Wall time of a command in seconds, and the most bytes that it and its children held at once.

    Memory is the proportional set size, in which what processes share counts once.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=TOP, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, held_by(process.pid))
        time.sleep(SAMPLE_SECONDS)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, peak


def held_by(process: int) -> int:
    """The bytes that a process and all that it started hold now."""
    return sum(map(_held, _tree(process)))


def _tree(root: int) -> list[int]:
    """The process and all that it started, as far as they still are."""
    found = [root]
    for process in found:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:  # the task has ended
                continue
    return found


def _held(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def report(  # noqa: PLR0917 (each part of the section once)
    name: str, doc: str, baseline: str, rows: Sequence[Row], results: Path, notes: str = ""
) -> int:
    """Prints the table of ratios and writes it as a section of the results; 1 if a limit is missed.

    The first line of `doc` is the question, `baseline` says what the ratios are of.
    """
    table = _table(rows)
    title = doc.strip().splitlines()[0]
    section = "\n\n".join(
        part
        for part in (f"## {name}", title, f"Baseline: {baseline}.", table, notes, _machine())
        if part
    )
    print(section, flush=True)
    _write(results, name, section)
    return int(not all(row.holds for row in rows))


def _table(rows: Sequence[Row]) -> str:
    lines = ["| case | measured | baseline | ratio | limit | holds |", "|---|--:|--:|--:|--:|---|"]
    for row in rows:
        limit, holds = "", ""
        if row.limit is not None:
            limit = f"{'≥' if row.at_least else '≤'} {row.limit:g}"
            holds = "yes" if row.holds else "**no**"
        lines.append(
            f"| {row.case} | {row.value:.3g} {row.unit} | {row.baseline:.3g} {row.unit} "
            f"| {row.ratio:.2f} | {limit} | {holds} |"
        )
    return "\n".join(lines)


def _machine() -> str:
    """The machine and the versions, as far as they bear on the figures."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {cores} cores, {_cpu()}, {memory:.0f} GiB; "
        f"Python {platform.python_version()}, {libraries}."
    )


def _cpu() -> str:
    result = Path("/proc/cpuinfo")
    lines = result.read_text().splitlines() if result.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _write(results: Path, name: str, section: str) -> None:
    """Puts the section in the place of the one of its name, the sections by name."""
    old = results.read_text(encoding="utf-8") if results.exists() else ""
    found = {part.partition("\n")[0]: part.strip() for part in old.split("\n## ")[1:]}
    found[name] = section.removeprefix("## ")
    pages = "[docs/benchmarks.md](../docs/benchmarks.md)"
    head = f"# Results of the benchmarks\n\nWritten by `make bench`; {pages} says what they are.\n"
    parts = [f"\n## {found[key]}\n" for key in sorted(found)]
    results.write_text(head + "".join(parts), encoding="utf-8")
