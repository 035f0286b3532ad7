"""Ask an advisory service about every version that a lock pins.

    python requirements/audit.py LOCK [OPTION OF PIP-AUDIT ...]

A service that knows nothing also finds nothing, so it is asked first about a release whose faults
are long known. Ends with 0 where every pinned version was looked up and none has a known fault.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KNOWN = "django==3.2"  # CVE-2021-31542; a package that no lock has


def asked(requirements: Path, options: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip_audit", "--strict", "--disable-pip", "--no-deps"]
    return subprocess.run(
        [*command, "--requirement", str(requirements), *options, *more],
        capture_output=True,
        text=True,
        check=False,
    )


def knows_faults(options: list[str]) -> bool:
    """Whether the service can be reached, and knows of the faults of `KNOWN`."""
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "known.txt"
        requirements.write_text(f"{KNOWN}\n")
        done = asked(requirements, options, "--format", "json")
    try:
        return any(found["vulns"] for found in json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        return False


def main(lock: str, *options: str) -> int:
    if not knows_faults(list(options)):
        print(
            f"audit: nothing was audited: no advisory service that knows of {KNOWN} was reached",
            file=sys.stderr,
        )
        return 1
    done = asked(HERE / f"{lock}.txt", list(options))
    print(done.stdout or done.stderr.strip())
    if done.returncode:
        print("audit: failed: a pinned version has a fault, or was not found", file=sys.stderr)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
