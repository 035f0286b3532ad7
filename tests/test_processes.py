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
from pipeline.processes import parent_connection
import signal
parent_connection().send(signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""

ASK = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from pipeline.warehouse import (
    iter_arrow_batches,
    open_ingest_connection,
    run_trusted_query,
    write_parquet,
)
endless = "SELECT sum(n % 7) AS total FROM range(1000000000000) AS numbers(n)"
asked = {
    "answer": lambda connection: run_trusted_query(connection, endless),
    "batches": lambda connection: list(iter_arrow_batches(connection, endless, 10)),
    "write": lambda connection: write_parquet(connection, endless, scratch / "written.parquet"),
}
with TemporaryDirectory() as folder:
    scratch = Path(folder)
    try:
        with open_ingest_connection(None, (), scratch, 2**28) as connection:
            print("asking", flush=True)
            asked[sys.argv[1]](connection)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""

HOLD = """
import os, signal
from pipeline.processes import delay_interrupts
handled = []
for handler in (signal.SIG_IGN, lambda *_: handled.append("handled"), signal.default_int_handler):
    signal.signal(signal.SIGINT, handler)
    try:
        with delay_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            handled.append("held")
    except KeyboardInterrupt:
        handled.append("interrupted")
print(*handled)
"""

END = """
import os, signal
from pipeline.cli.app import _call_ctrl_c_handler
from pipeline.processes import delay_interrupts
signal.signal(signal.SIGTERM, _call_ctrl_c_handler)
for handler in (signal.SIG_IGN, lambda *_: print("handled"), signal.default_int_handler):
    signal.signal(signal.SIGINT, handler)
    try:
        with delay_interrupts():
            os.kill(os.getpid(), signal.SIGTERM)
            print("held")
    except KeyboardInterrupt:
        print("interrupted")
"""

TAKE = """
import mmap
from pipeline.processes import limit_memory_of_this_process, parent_connection
limit_memory_of_this_process(2**28)
kept = [mmap.mmap(-1, 2**33, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0), bytearray(2**26)]
try:
    kept.append(bytearray(2**29))
except MemoryError:
    parent_connection().send("only reserved")
else:
    parent_connection().send("taken")
"""


def test_memory_that_is_only_reserved_is_not_counted() -> None:
    """As allocators do, by gigabytes: a query ended for it now and then."""
    process, connection = processes.start_python_process(TAKE)
    with connection:
        assert connection.recv() == "only reserved"
    assert process.wait(60) == 0


def test_ctrl_c_is_for_us_alone() -> None:
    """From its first instant on, while it still starts, a process has no traceback to show."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    process, connection = processes.start_python_process(SAY)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before == set()
    with connection:
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        assert connection.recv() == {signal.SIGINT}
    assert process.wait(60) == 0


def test_a_process_that_cannot_begin_says_so_in_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    """As a library's text of many lines that there is no memory for it."""
    process, connection = processes.start_python_process(
        "raise ImportError('advice\\n\\nno memory\\n')"
    )
    with connection:
        assert process.wait(60) == 1
    assert capfd.readouterr().err == "magic: no memory\n"


@pytest.mark.slow
def test_ctrl_c_ends_a_simulation_with_one_line(tmp_path: Path) -> None:
    """A terminal sends it to all processes: those that write logs for us have none to show."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pipeline", "simulate", "--out", out, "--jobs", "2"]
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
    result = process.communicate(timeout=60)
    line = f"magic: interrupted: {out} is incomplete; delete it and run the command again\n"
    assert (process.returncode, *result) == (130, "", line)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_as_ctrl_c_does(sent: signal.Signals, tmp_path: Path) -> None:
    """With the folder for what is worked out taken away, which nobody else knows of."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pipeline", "simulate", "--out", tmp_path / "out"]
    subprocess.run([*command, "--models", "4", "--games", "100"], check=True, capture_output=True)
    command = [sys.executable, "-m", "pipeline", "ingest", tmp_path / "out"]
    process = subprocess.Popen(
        [*command, "--lake", tmp_path / "lake"],
        env=os.environ | {"TMPDIR": str(scratch)},
        # Not ignored, as `nohup` would have it.
        preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL),  # noqa: PLW1509 - no thread here
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not any(scratch.iterdir()):
        time.sleep(0.01)
    process.send_signal(sent)
    line = "magic: interrupted: the lake is intact; run the same command again\n"
    assert (*process.communicate(timeout=60), process.returncode) == ("", line, 130)
    assert not any(scratch.iterdir())


def test_a_closed_stderr_fails_no_command(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m pipeline schema votes 2>&-'
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 0


def test_ctrl_c_that_waited_is_handled_as_it_would_have_been() -> None:
    """Which may be not at all, as in a command in the background."""
    command = [sys.executable, "-c", HOLD]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "held held handled held interrupted\n"


def test_a_signal_to_end_does_what_ctrl_c_would() -> None:
    """Also in a command in the background, which a shell lets ignore Ctrl-C itself."""
    command = [sys.executable, "-c", END]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["interrupted", "held", "handled", "held", "interrupted"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["answer", "batches", "write"])
def test_ctrl_c_ends_a_query(what: str) -> None:
    """DuckDB itself looks for it only here and there."""
    command = [sys.executable, "-c", ASK, what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "asking\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=60) == ("interrupted\n", "")
    finally:
        process.kill()  # its query has no end
