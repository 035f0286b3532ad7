"""What goes wrong outside: sources that move under an ingest, lakes that are damaged when read."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import a_file, cut, log_of, lose, lose_table, tear_log
from lakes import parquet_files, rows
from rawlogs import write_logs

from pipeline.cli import main
from pipeline.errors import SourceError
from pipeline.ingest import ingest
from pipeline.simulate import simulate

# Sources that change or vanish while they are read


def grow(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


def replace(file: Path) -> None:
    other = file.with_name("other")
    shutil.copy(file, other)
    other.rename(file)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that takes several reads."""
    return simulate(
        tmp_path_factory.mktemp("moving"), models=2, games=2, seed=1, archive="tar"
    ).results


@pytest.mark.slow
@pytest.mark.parametrize(("move", "jobs"), [(grow, 1), (replace, 2)])
def test_an_archive_that_moves_while_it_is_read(
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    move: Callable[[Path], None],
    jobs: int,
) -> None:
    """Nothing of it is visible, and the same command does all of it once it stands still."""
    monkeypatch.setattr("pipeline.ingest.worker._MIN_BYTES_PER_PROCESS", 1)
    source, lake = tmp_path / "a.tar", tmp_path / "lake"
    shutil.copy(archive, source)
    ingest(write_logs(tmp_path / "first", "first"), lake)
    before, lying = rows(lake, but_for=()), parquet_files(lake)
    monkeypatch.setattr("pipeline.ingest.worker.LARGE_ARCHIVE_BYTES", 1)
    has_moved = False

    def watch(n_documents: int, n_bytes: int) -> None:
        nonlocal has_moved
        if n_bytes and not has_moved:
            has_moved = True
            move(source)

    with pytest.raises(SourceError, match="changed or removed while it was being read"):
        ingest(source, lake, jobs=jobs, on_progress=watch)
    assert rows(lake, but_for=()) == before
    assert parquet_files(lake) == lying
    shutil.copy(archive, source)
    assert ingest(source, lake).statuses["ingested"] == 28


@pytest.mark.some(1)
@pytest.mark.parametrize("what", ["file", "folder"])
def test_logs_that_vanish_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Listed, and then not there."""
    root = write_logs(tmp_path / "logs", "first")
    (root / "z").mkdir()
    shutil.copy(root / "0.json", root / "z" / "0.json")
    monkeypatch.setattr("pipeline.ingest.worker.TASK_UNITS", 1)

    def watch(n_documents: int, n_bytes: int) -> None:
        if (root / "z").exists():
            shutil.rmtree(root / "z") if what == "folder" else (root / "4.json").unlink(True)

    with pytest.raises(SourceError, match="changed or removed"):
        ingest(root, tmp_path / "lake", on_progress=watch)
    assert rows(tmp_path / "lake", but_for=()) == {
        name: [] for name in rows(tmp_path / "lake", but_for=())
    }


# Damaged lakes, read by every command


@pytest.fixture(scope="session")
def read_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("damaged")
    ingest(simulate(top / "logs", models=2, games=1, seed=1).results, top / "lake")
    return top / "lake"


def overwrite(lake: Path, table: str) -> None:
    file = a_file(lake, table)
    file.write_bytes(b"\x00" * file.stat().st_size)


def scramble(lake: Path, table: str) -> None:
    """Damage that leaves size and last bytes as they were: only the hash shows which file it is."""
    file = a_file(lake, table)
    data = bytearray(file.read_bytes())
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[start:-8] = b"\xff" * (len(data) - 8 - start)
    file.write_bytes(data)


def empty(lake: Path, table: str) -> None:
    a_file(lake, table).write_bytes(b"")


def empty_log(lake: Path, table: str) -> None:
    log_of(lake, table).write_bytes(b"")


def binary_log(lake: Path, table: str) -> None:
    log_of(lake, table).write_bytes(bytes(range(256)))


DAMAGE = {
    "metrics": ("results", overwrite),
    "leaderboard": ("results", tear_log),
    "leaderboard --engine duckdb": ("votes", empty),
    "evidence judgement": ("votes", lose),
    "compare --all-pairs": ("results", cut),
    "show game": ("games", scramble),
    "diff": ("results", empty_log),
    "tables": ("results", binary_log),
    "maintain": ("results", lose),
    "quarantine": ("ingests", lose_table),
    "sql FROM\tresults": ("results", cut),
    "metrics --engine duckdb": ("results", scramble),
}


@pytest.mark.some(4)
@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize("command", DAMAGE)
def test_a_damaged_lake_is_told_of_in_a_line(
    read_lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    lake = shutil.copytree(read_lake, tmp_path / "lake")
    table, damage = DAMAGE[command]
    damage(lake, table)
    words = [word.replace("\t", " ") for word in command.split(" ")]
    code = main([*words, *([str(lake)] * 2 if command == "diff" else ["--lake", str(lake)])])
    result = capsys.readouterr().err
    assert code == 1, result
    assert result.startswith("magic: ")
    assert result.count("\n") == 1, result
    if damage in (cut, overwrite, scramble, empty, lose):
        again = "run the command again, and " if damage is lose else "run "
        assert f"{again}`magic verify" in result
        assert "POLARS" not in result


@pytest.mark.slow
def test_a_loss_of_power_in_the_last_step_of_an_ingest(
    read_lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the error says to do leads back to the state before, and from there on."""
    lake = tmp_path / "lake"
    shutil.copytree(read_lake, lake)
    before = rows(lake, but_for=())
    more = write_logs(tmp_path / "more", "more")
    ingest(more, lake)
    after = rows(lake, but_for=["ingests"])
    empty_log(lake, "ingests")
    assert main(["tables", "--lake", str(lake)]) == 1
    assert "delete it and run the last ingest again" in capsys.readouterr().err
    log_of(lake, "ingests").unlink()
    assert rows(lake, but_for=()) == before
    ingest(more, lake)
    assert rows(lake, but_for=["ingests"]) == after
