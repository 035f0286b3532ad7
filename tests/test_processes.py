"""Processes of our own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline import processes

SAY = """
from pipeline.processes import theirs
import signal
theirs().send(signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""

ASK = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from pipeline.warehouse import answer, batches, keep, workshop, write
endless = "SELECT sum(n % 7) AS total FROM range(1000000000000) AS numbers(n)"
asked = {
    "answer": lambda connection: answer(connection, endless),
    "batches": lambda connection: list(batches(connection, endless, 10)),
    "keep": lambda connection: keep(connection, "kept", endless),
    "write": lambda connection: write(connection, endless, scratch / "written.parquet"),
}
with TemporaryDirectory() as folder:
    scratch = Path(folder)
    try:
        with workshop(None, (), scratch, 2**28) as connection:
            print("asking", flush=True)
            asked[sys.argv[1]](connection)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_is_for_us_alone() -> None:
    """From its first instant on, while it still starts, a process has no traceback to show."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    process, connection = processes.start(SAY)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before == set()
    with connection:
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        assert connection.recv() == {signal.SIGINT}
    assert process.wait(60) == 0


def test_ctrl_c_ends_a_simulation_with_one_line(tmp_path: Path) -> None:
    """A terminal sends it to all processes: those that write logs for us have none to show."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pipeline.cli", "simulate", "--out", out, "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--models", "8", "--games", "2000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    while process.poll() is None and not any(out.glob("results/*/*")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate(timeout=60)
    line = f"magic: interrupted: {out} is incomplete; delete it and run the command again\n"
    assert (process.returncode, *told) == (130, "", line)


@pytest.mark.parametrize("what", ["answer", "batches", "keep", "write"])
def test_ctrl_c_ends_a_query(what: str) -> None:
    """DuckDB itself looks for it only here and there."""
    command = [sys.executable, "-c", ASK, what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "asking\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n", "")
