"""Runs the long scripts of this folder named, or all; the exit code is 1 if anything differs."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("kills", "writers", "disk")


def main(names: list[str]) -> int:
    if strangers := set(names) - set(SCRIPTS):
        print(f"no script {', '.join(strangers)}: there are {', '.join(SCRIPTS)}")
        return 2
    failed = []
    for name in names or SCRIPTS:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, HERE / f"{name}.py"], check=False).returncode:
            failed.append(name)
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll hold.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
