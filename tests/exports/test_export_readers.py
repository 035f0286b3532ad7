"""Each export is opened by its own reader, in an environment of its own.

Name Pythons that have the packages of readers.txt and readers-of-values.txt in $READERS_PYTHON and
$VALUES_PYTHON; otherwise both are installed, which takes minutes.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipeline

HERE = Path(__file__).parent
pytestmark = pytest.mark.long


def environment(variable: str, requirements: str, folder: Path) -> str:
    """A Python with the readers: the one named, or one of a new environment."""
    if variable in os.environ:
        return os.environ[variable]
    pythons = ("python3.12", "python3.13")
    works = (one for one in pythons if shutil.which(one) and not run(one, "-c", "").returncode)
    if (python := next(works, None)) is None:
        pytest.skip(f"no {' and no '.join(pythons)}: install one, or name one in ${variable}")
    assert not run(python, "-m", "venv", folder / "venv").returncode
    installed = str(folder / "venv" / "bin" / "python")
    done = run(installed, "-m", "pip", "install", "--quiet", "-r", HERE / requirements)
    assert not done.returncode, done.stderr
    return installed


def run(*command: str | Path, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def readers(tmp_path_factory: pytest.TempPathFactory) -> str:
    return environment("READERS_PYTHON", "readers.txt", tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="session")
def values_reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("values")
    return environment("VALUES_PYTHON", "readers-of-values.txt", folder)


@pytest.fixture(params=["sample", "hostile"])
def lake(request: pytest.FixtureRequest) -> pipeline.Lake:
    if request.param == "hostile":
        hostile: pipeline.Lake = request.getfixturevalue("hostile")
        return hostile
    return pipeline.open_lake(request.getfixturevalue("sample_lake"))


def said(python: str, kind: str, path: Path) -> Any:
    """What the reader says of an export."""
    done = run(python, HERE / "reading.py", kind, path)
    assert not done.returncode, done.stderr
    *_, last = done.stdout.splitlines()
    print(kind, json.loads(last)["versions"])
    return json.loads(last)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_battles(readers: str, sample_lake: Path, tmp_path: Path, ending: str) -> None:
    """Both rate all models that met others, in the same order."""
    file = tmp_path / f"battles.{ending}"
    exported = pipeline.open_lake(sample_lake).export("battles", file)
    found = said(readers, "battles", file)
    assert found["n_rows"] == exported.n_rows
    one, other = (sorted(found[name], key=found[name].get) for name in ("evalica", "arena_rank"))
    rows = pl.read_parquet(file) if ending == "parquet" else pl.read_csv(file)
    assert set(one) == set(other) == {*rows["model_a"], *rows["model_b"]}
    assert (one[0], one[-1]) == (other[0], other[-1])


def test_transcripts(readers: str, lake: pipeline.Lake, tmp_path: Path) -> None:
    """As many as tested seats, with the messages as they are in the lake."""
    lake.export("inspect-scout", tmp_path / "out")
    found = said(readers, "inspect-scout", tmp_path / "out")
    assert found["faults"] == []
    seats = lake.table("players").filter("is_tested").collect()
    assert len(found["transcripts"]) == seats.height
    messages = lake.table("messages").collect()
    for game_id, seat, model, role in seats.select("game_id", "seat", "model", "role").rows():
        one = found["transcripts"][f"{game_id}-{seat}"]
        assert (one["model"], one["role"], one["trust_content"]) == (model, role, False)
        own = messages.filter(game_id=game_id, seat=seat).sort("message_index")["content"]
        texts = [text for kind, text in one["messages"] if kind == "assistant"]
        assert texts == own.to_list()


def test_dataset(readers: str, lake: pipeline.Lake, tmp_path: Path) -> None:
    """Nothing is missing, and the tables have the lake's rows."""
    lake.export("dataset", tmp_path / "out", license="CC-BY-4.0", redact=["messages.msg_type"])
    found = said(readers, "dataset", tmp_path / "out")
    assert (found["errors"], found["warnings"]) == ([], [])
    rows = {name: lake.table(name).select(pl.len()).collect().item() for name in found["rows"]}
    assert found["rows"] == rows


def test_values(values_reader: str, lake: pipeline.Lake, tmp_path: Path) -> None:
    """Valid; only names without a developer are warned of."""
    lake.export("every-eval-ever", tmp_path / "out")
    command = [values_reader, "-m", "every_eval_ever", "validate", "--format", "json"]
    done = run(*command, "data/*/*/*/*.json*", folder=tmp_path / "out")
    reports = json.loads(done.stdout)
    assert len(reports) == 2 * lake.metrics().drop_nulls(["model", "value"])["model"].n_unique()
    assert [one["errors"] for one in reports if one["errors"]] == []
    warnings = {warning["loc"] for one in reports for warning in one["warnings"]}
    assert warnings == {"model_info"}
    assert done.returncode == 2
