"""The scripts of this folder in little, so that none rots; `make torture` runs them whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab import NOT_POSSIBLE

HERE = Path(__file__).resolve().parent
SCRIPTS = {
    "kills": "--kills 2 --interrupts 1 --upkeeps 2 --games 70 --patience 30",
    "writers": "--writers 2 --rounds 2 --readers 1 --games 56",
    "disk": "128 8192",
    "mutate": "magic chatarena --documents 60",
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
    assert "0 differences" in done.stdout or "0 failures, 0 unaccounted" in done.stdout
