"""Runs the simulations and writes their tables into docs/simulations.md; 1 if a limit is missed."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The longest first, since two run at a time.
NAMES = (
    *("false_alarms", "coverage", "differences", "margins"),
    *("plans", "rare_rates", "lost_games", "fewer_games", "areas", "variants"),
)


def run(name: str, options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """One of them, with what it prints."""
    command = [sys.executable, HERE / f"{name}.py", "--write", *options]
    return subprocess.run(command, check=False, text=True, capture_output=True)


def main() -> int:
    """Run all simulations, two at a time; return 1 if one misses a limit."""
    missed = []
    with ThreadPoolExecutor(2) as pool:
        for name, done in zip(
            NAMES, pool.map(lambda name: run(name, sys.argv[1:]), NAMES), strict=True
        ):
            print(f"{name}\n\n{done.stdout}\n{done.stderr}", flush=True)
            missed += [name] if done.returncode else []
    print(f"\nMissed: {', '.join(missed)}" if missed else "\nAll hold.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
