"""Runs the benchmarks named, or all; the exit code is 1 if a limit is missed."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = {"__main__", "data", "measure"}
NAMES = sorted({path.stem for path in HERE.glob("*.py")} - SHARED)


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; return 1 if one fails and 2 for an unknown name."""
    if strangers := set(names) - set(NAMES):
        print(f"no benchmark {', '.join(strangers)}: there are {', '.join(NAMES)}")
        return 2
    missed = [
        name
        for name in names or NAMES
        if subprocess.run([sys.executable, HERE / f"{name}.py"], check=False).returncode
    ]
    print(f"\nMissed: {', '.join(missed)}" if missed else "\nAll hold.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
