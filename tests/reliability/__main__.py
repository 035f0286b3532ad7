"""Runs the long forms of the tests of reliability, all or those named; `make torture` does.

    python tests/reliability [NAME...]

The exit code is 1 if any of them found fault.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Each is a script in this folder, and says with --help what it can be told.
SCRIPTS: dict[str, list[str]] = {
    "kills": ["--kills", "300", "--interrupts", "60", "--upkeeps", "120", "--games", "2016"],
    "writers": ["--writers", "4", "--rounds", "25", "--readers", "2"],
    "disk": [],
    "mutate": ["--documents", "20000"],
}


def main(names: list[str]) -> int:
    """Runs the scripts one after the other; 2 for a name that is none of theirs."""
    if strangers := set(names) - set(SCRIPTS):
        print(f"no script {', '.join(sorted(strangers))}: there are {', '.join(SCRIPTS)}")
        return 2
    failed = []
    for name in names or SCRIPTS:
        print(f"== {name} {' '.join(SCRIPTS[name])}", flush=True)
        command = [sys.executable, HERE / f"{name}.py", *SCRIPTS[name]]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll hold.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
