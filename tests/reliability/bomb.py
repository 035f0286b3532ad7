"""A `.tar.zst` of a megabyte that holds a game and 10 GiB: what does it cost to refuse it?

Measured is the whole command, with the start of the program, and what it takes beyond an ingest of
the game alone. How fast a machine is should not fail a test, nor how much of the libraries' code
it keeps in memory, which counts as the command's: so that sets other limits of the whole.
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import zstandard
from lab import NOT_POSSIBLE, TOP, write_logs

from pipeline.lake import open_lake

SELF = Path("/proc/self/status")  # `getrusage` counts the parent's memory, too
UNIT = 2**26
UNITS = 160
PROGRAM = rf"""
import re, sys, time
from pathlib import Path
from pipeline.cli import main
code = main(sys.argv[1:])
peak = re.search(r"VmHWM:\s*(\d+)", Path("{SELF}").read_text())[1]
print(code, time.process_time(), peak, file=sys.stderr)
"""


def main(arguments: list[str]) -> int:
    """Ingests a small log, and the bomb; 1 where the bomb costs more than the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--megabytes", type=float, default=300)
    parser.add_argument("--more-megabytes", type=float, default=50)
    limits = parser.parse_args(arguments)
    if not SELF.exists():
        print("not possible: memory is told by /proc")
        return NOT_POSSIBLE
    with tempfile.TemporaryDirectory(prefix="magic-bomb-") as folder:
        return run(Path(folder), limits)


def run(top: Path, limits: argparse.Namespace) -> int:
    """Ingests both under the folder; 1 where something differs or is above the limits."""
    log = next(write_logs(top / "logs", 28).rglob("[0-9]*.json"))
    _, megabytes_of_log = cost(log, top / "little")
    bomb = top / "bomb.tar.zst"
    bomb.write_bytes(compressed(log))
    assert 0.9e6 < bomb.stat().st_size < 1.4e6
    seconds, megabytes = cost(bomb, top / "lake")
    seen = open_lake(top / "lake").table("documents").select("path", "status").collect()
    wrong = []
    if dict(seen.iter_rows()) != {
        "game.json": "ingested",
        "bomb.json": "quarantined",
        bomb.name: "quarantined",
    }:
        wrong.append(f"found {seen.rows()}")
    if seconds > limits.seconds or megabytes > limits.megabytes:
        wrong.append(f"more than {limits.seconds:g} s or {limits.megabytes:g} MB")
    if megabytes - megabytes_of_log > limits.more_megabytes:
        wrong.append(f"more than {limits.more_megabytes:g} MB beyond the log's")
    for fault in wrong:
        print(fault)
    print(f"{len(wrong)} differences")
    return int(bool(wrong))


def compressed(log: Path) -> bytes:
    """A tar of the log and of a member of 10 GiB, noise at the start of each 64 MiB of it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(log, "game.json")
        game = file.getvalue()
    header = tarfile.TarInfo("bomb.json")
    header.size = UNITS * UNIT
    noise = os.urandom(6_000)
    unit = zstandard.compress(noise + bytes(UNIT - len(noise)))
    return zstandard.compress(game + header.tobuf(tarfile.GNU_FORMAT)) + unit * UNITS


def cost(source: Path, lake: Path) -> tuple[float, float]:
    """Processor time in seconds and the largest memory in MB of an ingest that succeeds."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "ingest", source, "--lake", lake],
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, seconds, kilobytes = done.stderr.splitlines()[-1].split()
    assert code == "0"
    size = f"{source.stat().st_size / 1e6:.3f} MB"
    print(f"{source.name}, {size}: {float(seconds):.2f} s, {int(kilobytes) / 1000:.0f} MB")
    return float(seconds), int(kilobytes) / 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
