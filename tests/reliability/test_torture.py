"""The scripts of this folder in little, so that none rots; `make torture` runs them whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab import NOT_POSSIBLE

from pipeline.formats import available_formats

HERE = Path(__file__).resolve().parent
SCRIPTS = {
    "kills": "--kills 2 --interrupts 1 --games 70 --patience 30",
    "instants": "--every 60 --games 28",
    "upkeeps": "--times 2 --games 56",
    "writers": "--writers 2 --rounds 2 --readers 1 --games 56",
    "disk": "128 8192",
    "bomb": "--seconds 60 --megabytes 400",
    "clicks": "--seconds 15 --pause 0.1 --ending 10",
}


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / f"{name}.py", *SCRIPTS[name].split()],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[1], HERE))),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NOT_POSSIBLE:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differences" in done.stdout


@pytest.mark.long
def test_damaged_logs_of_every_format_are_accounted_for(tmp_path: Path) -> None:
    command = [sys.executable, HERE / "formats.py", "--documents", "60", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(available_formats())
    assert all("; 0 failures, 0 unaccounted" in line for line in lines)
