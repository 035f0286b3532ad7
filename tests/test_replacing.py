"""A file of results is whole or as it was, whatever the disk and the system refuse."""

import os
import resource
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from pipeline.atomic_files import atomic_write
from pipeline.cli.app import main
from pipeline.errors import PipelineError

TOP = Path(__file__).resolve().parents[1]
MAGIC = [sys.executable, "-m", "pipeline"]
OLD = b"what was there before\n" * 1000
SELECT = ["sql", "SELECT * FROM messages", "-o"]
COMMANDS = [
    ["report", "-o", "report.html"],
    *([*SELECT, f"rows.{ending}"] for ending in ("csv", "parquet", "xlsx")),
    [*SELECT, "safe.csv", "--format", "csv", "--safe"],
    ["catalog", "-o", "mine.duckdb"],
]
FULL_AT = 1 << 12  # bytes of a file: less than any of these has


def on_a_full_disk(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command where no file can grow beyond a few bytes, as on a disk that is full."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (FULL_AT, FULL_AT))
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_leaves_the_old_file(
    command: list[str], sample_lake: Path, tmp_path: Path
) -> None:
    out = tmp_path / next(one for one in command if "." in one)
    out.write_bytes(OLD)
    run = on_a_full_disk([*MAGIC, *command, "--lake", str(sample_lake)], tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("magic: ")
    assert run.stderr.count("\n") == 1
    refused = "cannot be written: File too large; the file is as it was\n"
    assert run.stderr.endswith("File too large\n" if command[0] == "catalog" else refused)
    assert out.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tar.zst", "zip"])
def test_an_archive_that_is_not_whole_is_none(kind: str, tmp_path: Path) -> None:
    simulate = ["simulate", "--games", "1", "--models", "2", "--out", "out", "--archive", kind]
    run = on_a_full_disk([*MAGIC, *simulate], tmp_path)
    assert run.returncode == 1
    assert run.stderr == f"magic: out/results.{kind}: cannot be written: File too large\n"
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["truth.json"]


def test_a_file_keeps_its_permissions_and_a_link_its_target(tmp_path: Path) -> None:
    (tmp_path / "private.md").touch(mode=0o600)
    link = tmp_path / "link.md"
    link.symlink_to("private.md")
    with atomic_write(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "private.md").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "private.md").stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_pipe_is_written_to(sample_lake: Path, tmp_path: Path) -> None:
    """As in `-o >(gzip)`; a device would even be gone, had a file taken its place."""
    pipe = tmp_path / "report.md"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    assert main(["report", "--lake", str(sample_lake), "-o", str(pipe)]) == 0
    reader.join()
    assert read[0].startswith("# ")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert main(["catalog", "--lake", str(sample_lake), "-o", str(pipe)]) == 1
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_error_leaves_the_file_and_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(OLD)
    with pytest.raises(ZeroDivisionError), atomic_write(file) as draft:
        draft.write_text("half")
        _ = 1 / 0
    refused = pytest.raises(PipelineError, match=r"rows\.csv: cannot be written: Disk quota")
    with refused, atomic_write(file):
        raise OSError(122, "Disk quota exceeded")
    assert file.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [file]
