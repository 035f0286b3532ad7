"""What reaches stdout: a command's results, and nothing that a library prints."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.lake import open_lake

TOP = Path(__file__).resolve().parents[1]
SAMPLE = TOP / "data" / "sample" / "results"
MAGIC = [sys.executable, "-m", "pipeline"]
NOISE = "noise of a library"
# Python runs it as it starts, in every process: from then on the first import of each library
# prints, as Python does and as C does.
LOUD = f"""
import os, sys

class Loud:
    def find_spec(self, name, path=None, target=None):
        if name in ("duckdb", "polars", "pyarrow", "deltalake", "numpy"):
            print({NOISE!r}, flush=True)
            os.write(1, b"{NOISE}\\n")

sys.meta_path.insert(0, Loud())
"""
SLOW = "SELECT count(*) FROM range(100000) AS a(n), range(6000) AS b(n) WHERE hash(a.n, b.n) = 7"
ENDLESS = SLOW.replace("6000", "6000000000")
COMMANDS = [
    ["leaderboard", "--lake", "{lake}"],
    ["ingest", str(SAMPLE), "--jobs", "2", "--lake", "{scratch}/lake"],
    ["sql", "SELECT sum(seat) AS n FROM votes", "--lake", "{lake}"],
    ["metrics", "--engine", "duckdb", "--lake", "{lake}"],
]


@pytest.fixture
def loud(tmp_path: Path) -> dict[str, str]:
    """An environment whose Python prints noise."""
    (tmp_path / "sitecustomize.py").write_text(LOUD)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(TOP)])}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_libraries_print_is_no_result(
    command: list[str], sample_lake: Path, loud: dict[str, str], tmp_path: Path
) -> None:
    filled = [one.format(lake=sample_lake, scratch=tmp_path) for one in command]
    run = subprocess.run(
        [*MAGIC, *filled, "--format", "json"],
        env=loud,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert NOISE not in run.stdout
    assert NOISE in run.stderr
    assert json.loads(run.stdout)


@pytest.mark.slow
def test_a_process_of_ours_has_no_stdout(loud: dict[str, str]) -> None:
    """Also where it is started from Python, without the command line."""
    start = (
        "from pipeline.processes import start_python_process as start\n"
        "start('import os, polars')[0].wait()"
    )
    run = subprocess.run(
        [sys.executable, "-c", start], env=loud, capture_output=True, text=True, check=True
    )
    assert run.stdout == ""


@pytest.mark.slow
def test_a_long_query_answers_and_no_more(sample_lake: Path) -> None:
    """DuckDB draws a progress bar on stdout for a query of more than two seconds."""
    command = [*MAGIC, "sql", SLOW, "--lake", str(sample_lake), "--format", "csv"]
    run = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("count_star()\n0\n", "")


@pytest.mark.slow
def test_a_long_query_shows_on_a_terminal_that_it_runs(sample_lake: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*MAGIC, "sql", ENDLESS, "--lake", str(sample_lake), "--format", "csv", "--timeout", "3"],
        cwd=TOP,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as run:
        os.close(theirs)
        drawn = b""
        with suppress(OSError):  # how a terminal's end is read
            while piece := os.read(ours, 65536):
                drawn += piece
        os.close(ours)
        assert run.stdout is not None
        assert run.stdout.read() == b""
    assert b"running the query" in drawn


@pytest.mark.slow
def test_results_that_cannot_be_written_are_one_line(sample_lake: Path) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [*MAGIC, "tables", "--lake", str(sample_lake), "--format", "csv"],
            cwd=TOP,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.stderr == (
        "magic: the result cannot be written to stdout: No space left on device\n"
    )
    assert run.returncode == 1


@pytest.mark.some(1)
@pytest.mark.parametrize("form", ["table", "parquet"])
def test_a_closed_stdout_takes_no_results(sample_lake: Path, form: str) -> None:
    command = " ".join([*MAGIC, "metrics", "--lake", str(sample_lake), "--format", form, ">&-"])
    run = subprocess.run(command, shell=True, cwd=TOP, capture_output=True, text=True, check=False)
    assert run.stderr == "magic: the result cannot be written to stdout: it is closed\n"
    assert run.returncode == 1


@pytest.mark.slow
def test_a_command_without_results_needs_no_stdout(sample_lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "votes.parquet"
    command = " ".join(
        [*MAGIC, "sql", "'FROM votes'", "--lake", str(sample_lake), "-o", str(out), ">&-"]
    )
    subprocess.run(command, shell=True, cwd=TOP, check=True)
    assert out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_notes_that_nobody_takes_fail_nothing(sample_lake: Path, to: str) -> None:
    command = " ".join([*MAGIC, "verify", "--lake", str(sample_lake), to])
    run = subprocess.run(command, shell=True, cwd=TOP, capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("to", [">/dev/full", ">&-"])
def test_an_ingest_without_its_report_is_committed_and_says_so(tmp_path: Path, to: str) -> None:
    place = tmp_path / "lake"
    command = " ".join([*MAGIC, "ingest", str(SAMPLE), "--lake", str(place), to])
    run = subprocess.run(command, shell=True, cwd=TOP, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("magic: ingest 1 is committed, and only this failed: the result ")
    assert run.stderr.count("\n") == 1
    assert open_lake(place).ingest_id == 1
