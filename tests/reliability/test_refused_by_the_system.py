"""What the system refuses, each in one line: which path, why, and what to do. None is damage."""

import ctypes
import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

import pipeline
from pipeline.cli.app import main
from pipeline.errors import DENIED_HINT, DeniedError, LakeError
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.maintain import maintain
from pipeline.verify import verify

TOP = Path(__file__).resolve().parents[2]
SAMPLE = TOP / "data" / "sample" / "results"
MAGIC = [sys.executable, "-m", "pipeline"]
_DROP_CAPABILITY = 24
# Of root: to read and write whatever the permissions are, and to search folders.
_BEYOND_PERMISSIONS = (1, 2)
# What in a lake is closed, and a command to which that matters.
CLOSED = [
    (".", "tables"),
    ("votes", "metrics"),
    ("votes/_delta_log", "tables"),
    ("votes/_delta_log/*1.json", "verify"),
    ("votes/*.parquet", "metrics"),
    ("ingests/*.parquet", "verify"),
    (".lock", "maintain"),
]


@pytest.fixture(scope="module")
def lake(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("refused") / "lake"
    shutil.copytree(sample_lake, place)
    return place


def _drop() -> None:
    for capability in _BEYOND_PERMISSIONS:
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, capability, 0, 0, 0)


def as_user(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user whom permissions bind, which root is not."""
    return subprocess.run(
        [*MAGIC, *arguments],
        cwd=TOP,
        preexec_fn=_drop,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def closed(file: Path, to: int = 0) -> Iterator[None]:
    mode = file.stat().st_mode
    file.chmod(to)
    try:
        yield
    finally:
        file.chmod(mode)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "command"), CLOSED)
def test_a_lake_that_may_not_be_read_is_not_damaged(what: str, command: str, lake: Path) -> None:
    (file,) = lake.glob(what) if "*" in what else [lake / what]
    with closed(file):
        run = as_user(command, "--lake", str(lake))
    assert run.returncode == 1, run.stdout
    assert "Permission denied" in run.stdout + run.stderr
    assert "damaged" not in run.stdout + run.stderr
    # Polars names the file that may not be read, whose name has its hash, and not its folder.
    folder = lake.name if what == "." else what.partition("/")[0]
    named = file.stem[-64:] if file.suffix == ".parquet" else folder
    assert named in run.stdout + run.stderr
    if command != "verify" or what in (".", "ingests/*.parquet"):
        assert run.stderr.endswith(f"; {DENIED_HINT}\n")
        assert run.stderr.count("\n") == 1


# What a library raises where the machine lacks something, by what calls it.
LACKING = {
    "pyarrow.parquet.ParquetFile.iter_batches": [
        (pa.ArrowMemoryError("realloc of size 2147483648 failed"), "not enough memory"),
        (OSError("ZSTD decompression failed: Allocation error : not enough memory"), "not enough"),
        (OSError(errno.ENFILE, "Too many open files in system"), "too many files are open"),
    ],
    "pipeline.verify.contracts.broken_rules": [(MemoryError(), "not enough memory")],
    "pipeline.verify.hash_file": [(OSError(errno.ENOMEM, "x"), "not enough memory")],
    "deltalake.DeltaTable": [
        (DeltaError("Kernel error: Cannot allocate memory (os error 12)"), "not enough memory"),
        (DeltaError("Generic LocalFileSystem error: Too many open files"), "too many files are"),
    ],
    "polars.LazyFrame.collect": [
        (pl.exceptions.ComputeError("No space left on device (os error 28)"), "a disk is full"),
        (pl.exceptions.PanicException("Os { code: 11 }: os error 11"), "not enough memory"),
    ],
    "pipeline.warehouse._create_tables_and_views_for_query": [
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to pin"), "not enough memory")
    ],
    "pipeline.warehouse._fetch_rows": [
        (duckdb.OutOfMemoryException("failed to pin block"), "not enough memory"),
        (duckdb.IOException("Could not write: No space left on device"), "a disk is full"),
    ],
}


@pytest.mark.parametrize(
    ("called", "case"), [(called, case) for called, cases in LACKING.items() for case in cases]
)
def test_what_a_machine_lacks_is_no_damage(
    called: str, case: tuple[BaseException, str], lake: Path, monkeypatch, capsys
) -> None:
    error, text = case

    def fails(*_: object, **__: object) -> None:
        raise type(error)(*error.args)  # a new one, whose traceback goes with it

    monkeypatch.setattr(called, fails)
    assert main(["verify", "--lake", str(lake)]) == 1
    written = capsys.readouterr()
    assert written.err.startswith(f"magic: {text}")
    assert written.err.count("\n") == 1
    assert "damage" not in written.out + written.err


@pytest.mark.slow
@pytest.mark.parametrize(("command", "most"), [("verify", 18), (f"ingest {SAMPLE}", 24)])
def test_too_few_open_files_are_no_damage(
    command: str, most: int, lake: Path, tmp_path: Path
) -> None:
    """With so few files, it is a library that meets the limit, while it reads a log or rows."""
    shutil.copytree(lake, tmp_path / "lake")
    limited = f"ulimit -n {most}; exec {' '.join(MAGIC)} {command} --lake {tmp_path}/lake"
    run = subprocess.run(
        ["bash", "-c", limited], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert "damaged" not in run.stdout + run.stderr.replace("undamaged", "")
    assert run.returncode == 0 or re.search("(?i)too many (files are )?open", run.stderr)


@pytest.mark.slow
def test_python_tells_them_apart(lake: Path) -> None:
    log = next((lake / "votes" / "_delta_log").glob("*1.json"))
    program = f"import pipeline; pipeline.open_lake({str(lake)!r}).table('votes')"
    with closed(log):
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=TOP,
            preexec_fn=_drop,
            capture_output=True,
            text=True,
            check=False,
        )
    assert f"{DeniedError.__name__}: {lake}/votes: the table may not be read" in run.stderr


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("command", "folder"),
    [(["ingest", str(SAMPLE)], ".writing"), (["maintain"], ".writing"), (["catalog"], ".")],
)
def test_a_lake_that_may_not_be_written(command: list[str], folder: str, lake: Path) -> None:
    with closed(lake / folder, 0o500):
        run = as_user(*command, "--lake", str(lake))
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert re.search(
        rf"{re.escape(str(lake))}/\.\S+: Permission denied; {DENIED_HINT}\n$", run.stderr
    )


@pytest.mark.slow
def test_a_clock_before_1970(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading needs no clock; a commit cannot be dated, and a library panics over it."""
    monkeypatch.setattr("pipeline.lake.tables.time.time", lambda: -1e9)
    new = tmp_path / "lake"
    for change in (
        lambda: ingest(SAMPLE, new),
        lambda: ingest(SAMPLE, lake),
        lambda: maintain(lake),
    ):
        with pytest.raises(LakeError, match=r"^the clock of this machine shows a time before 1970"):
            change()
    assert not new.exists()
    assert open_lake(lake).ingest_id == 1
    assert verify(lake).is_whole


@pytest.mark.parametrize("sign", ["\\", "?", "%"])
def test_a_path_that_libraries_read_otherwise(sign: str, tmp_path: Path) -> None:
    place = tmp_path / f"a{sign}b"
    with pytest.raises(LakeError) as refused:
        ingest(SAMPLE, place)
    expected = f"{place}: a lake's path must not contain {sign}; choose another path"
    assert str(refused.value) == expected
    assert list(tmp_path.iterdir()) == []


def test_a_catalogue_that_would_be_written_elsewhere(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"must not contain \?"):
        pipeline.open_lake(lake).write_catalog(tmp_path / "a?b.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["tables", "ingest logs --lake {lake}"])
def test_a_current_folder_that_was_deleted(command: str, lake: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = subprocess.run(
        f"rmdir {gone}; exec {' '.join(MAGIC)} {command.format(lake=lake)}",
        shell=True,
        cwd=gone,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (1, 2)
    assert run.stderr.startswith("magic: ")
    assert run.stderr.count("\n") == 1
    assert run.stderr.endswith("; the current folder was deleted: change to one that exists\n")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EOFError("marshal data too short"), "magic: a compiled Python file is truncated"),
        (ImportError("duckdb.so: failed to map segment from shared object"), "magic: not enough"),
    ],
)
def test_what_is_not_ctrl_c(
    error: Exception, expected: str, lake: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("pipeline.lake.open_lake", fails)
    assert main(["tables", "--lake", str(lake)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(expected)
    assert told.count("\n") == 1
