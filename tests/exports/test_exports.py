"""What holds of every kind of export: whole or not there, the same bytes, nobody's folders."""

import getpass
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import pipeline
from pipeline.atomic_files import atomic_new_folder
from pipeline.cli import main
from pipeline.errors import PipelineError, UsageError
from pipeline.exports import EXPORT_KINDS
from pipeline.lake import open_or_create_lake

TOP = Path(__file__).parents[2]


def named(kind: str, folder: Path) -> Path:
    return folder / ("battles.csv" if kind == "battles" else kind)


def contents(path: Path) -> dict[str, bytes]:
    """The bytes of each file."""
    files = path.rglob("*") if path.is_dir() else [path]
    return {
        str(file.relative_to(path.parent)): file.read_bytes() for file in files if file.is_file()
    }


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", EXPORT_KINDS)
def test_the_same_lake_gives_the_same_bytes(
    arena: pipeline.Lake, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command and from Python."""
    (tmp_path / "command").mkdir()
    place = named(kind, tmp_path / "command")
    assert main(["export", kind, str(place), "--lake", str(arena.path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"wrote {place} (")
    exported = arena.export(kind, named(kind, tmp_path))
    files = contents(exported.path)
    assert files == contents(place)
    assert sum(map(len, files.values())) == exported.n_bytes
    assert set(exported.notes) <= set(captured.err.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXPORT_KINDS)
def test_no_folder_and_no_user_is_named(sample_lake: Path, tmp_path: Path, kind: str) -> None:
    lake = pipeline.open_lake(sample_lake)
    (source,) = lake.table("games").collect()["source"].unique()
    exported = lake.export(kind, named(kind, tmp_path))
    words = [str(tmp_path), str(sample_lake), source, str(Path.home()), f"/{getpass.getuser()}/"]
    for file, data in contents(exported.path).items():
        is_table = file.endswith(".parquet")
        rows = pl.read_parquet(tmp_path / file).write_json() if is_table else ""
        assert not [word for word in words if word.encode() in data + rows.encode()], file


@pytest.mark.parametrize("kind", EXPORT_KINDS)
def test_what_is_there_is_not_replaced(arena: pipeline.Lake, tmp_path: Path, kind: str) -> None:
    place = named(kind, tmp_path)
    place.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        arena.export(kind, place)
    assert place.read_text() == "mine"
    place.unlink()
    place.mkdir()
    (place / "mine").touch()
    with pytest.raises(UsageError, match="exists already"):
        arena.export(kind, place)
    assert [one.name for one in tmp_path.rglob("*")] == [place.name, "mine"]
    with pytest.raises(PipelineError, match="there is no folder"):
        arena.export(kind, named(kind, tmp_path / "nowhere"))


def test_an_empty_folder_is_filled(arena: pipeline.Lake, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert arena.export("inspect-scout", tmp_path / "out").n_bytes
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("kind", EXPORT_KINDS)
def test_a_failure_leaves_nothing(
    arena: pipeline.Lake, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for place in ("battles", "dataset", "inspect_scout"):
        monkeypatch.setattr(f"pipeline.exports.{place}.write_parquet", full)
    monkeypatch.setattr("pipeline.exports.battles.iter_csv", full)
    monkeypatch.setattr("pipeline.exports.every_eval_ever.write_json_file", full)
    with pytest.raises(PipelineError, match="cannot be written: No space left on device"):
        arena.export(kind, named(kind, tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    with atomic_new_folder(tmp_path / "out") as draft:
        (draft / "file").touch()
        assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "file"]
    (tmp_path / "out" / "file").unlink()
    with (
        pytest.raises(PipelineError, match="cannot be written: Directory not empty"),
        atomic_new_folder(tmp_path / "out") as draft,
    ):
        (tmp_path / "out" / "another").touch()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["another"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle_it_leaves_no_name(
    sample_lake: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """After SIGKILL there is a draft, and nothing under the name; otherwise not even that."""
    script = (
        "import sys, time, pipeline.exports.dataset as module; from pipeline.cli import main\n"
        "module.card = lambda *_: (print('ready', flush=True), time.sleep(60))\n"
        f"sys.argv[1:] = ['export', 'dataset', 'out', '--lake', {str(sample_lake)!r}]\n"
        "raise SystemExit(main())  # only the program handles SIGTERM"
    )
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".magic-*/data/votes.parquet")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(60)
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.iterdir())) == (number == signal.SIGKILL)


@pytest.mark.parametrize(
    ("kind", "options", "complaint"),
    [
        ("battle", {}, "no export `battle`: did you mean `battles`"),
        ("battles", {"edition": "audited"}, "the export battles has no option edition"),
        ("inspect-scout", {"redact_names": True}, "inspect-scout has no option redact_names"),
        ("dataset", {"date": "yesterday"}, "'yesterday' is not a date"),
        ("every-eval-ever", {"edition": "new"}, "no edition `new`"),
        ("every-eval-ever", {"confidence": 2.0}, "the confidence must be between 0 and 1"),
        ("every-eval-ever", {"confidence": 0.0}, "the confidence must be between 0 and 1"),
    ],
)
def test_wrong_options(
    arena: pipeline.Lake, tmp_path: Path, kind: str, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        arena.export(kind, tmp_path / "x.csv", **options)
    assert not list(tmp_path.iterdir())


def test_games_are_as_logs_have_them(arena: pipeline.Lake, tmp_path: Path) -> None:
    """None can be a loss in them; values say so themselves."""
    lake = arena.with_failures("loss")
    for kind in ("inspect-scout", "battles", "dataset"):
        with pytest.raises(UsageError, match="contains games as logged"):
            lake.export(kind, named(kind, tmp_path))
    place = tmp_path / "every-eval-ever"
    assert lake.export("every-eval-ever", place, without_samples=True).path == place


def test_a_lake_without_games(tmp_path: Path) -> None:
    open_or_create_lake(tmp_path / "lake")
    for kind in EXPORT_KINDS:
        exported = pipeline.open_lake(tmp_path / "lake").export(kind, named(kind, tmp_path))
        assert exported.n_rows == (kind == "dataset" and exported.n_rows)
        assert named(kind, tmp_path).exists()


@pytest.mark.slow
def test_of_several_systems_values_and_battles_are_of_one(
    lake_of_formats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others have the games of all, or of the one that is named."""
    lake = pipeline.open_lake(lake_of_formats)
    largest, *others = lake.systems
    lake.export("battles", tmp_path / "battles.parquet")
    assert set(pl.read_parquet(tmp_path / "battles.parquet")["system"]) <= {largest}
    lake.export("dataset", tmp_path / "all")
    assert set(pl.read_parquet(tmp_path / "all" / "data" / "games.parquet")["system"]) == {
        *lake.systems
    }
    command = ["export", "dataset", str(tmp_path / "one"), "--lake", str(lake_of_formats)]
    assert main([*command, "--system", others[0]]) == 0
    one = pl.read_parquet(tmp_path / "one" / "data" / "games.parquet")
    assert set(one["system"]) == {others[0]}
    capsys.readouterr()
    main(["export", "battles", str(tmp_path / "b.csv"), "--lake", str(lake_of_formats)])
    assert f"only the games of {largest};" in capsys.readouterr().err
