"""Runs the simulations and writes their tables into docs/statistics.md; 1 if a limit is missed."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("coverage", "differences", "false_alarms", "margins", "plans")


def main() -> int:
    missed = [
        name
        for name in NAMES
        if subprocess.run([sys.executable, HERE / f"{name}.py", "--write"], check=False).returncode
    ]
    print(f"\nMissed: {', '.join(missed)}" if missed else "\nAll hold.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
