"""The SQL files are found in a wheel, in an editable install and in a plain checkout."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from pipeline.extras import DISTRIBUTION

ROOT = Path(__file__).parent.parent
JUDGE = """
import pipeline, sys
from pipeline.ingest import ingest
from pipeline.sqlfiles import folder
ingest(sys.argv[1], "lake")
rows = pipeline.open_lake("lake").metrics(engine="duckdb", names=["judgement"])
assert rows.height, rows
print(folder())
"""


def sql_folder(cwd: Path, python_path: Path | None) -> Path:
    """Where an installation finds its SQL files, after it has used them."""
    sample = ROOT / "data" / "sample" / "results" / "undercover"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if python_path:
        environment["PYTHONPATH"] = str(python_path)
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(sample)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.mark.slow
def test_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    assert sql_folder(tmp_path, unpacked) == unpacked / "pipeline" / "sql"
    check_types(tmp_path, unpacked)


TYPED = """
from typing import assert_type
import polars as pl
import pipeline

lake = pipeline.open_lake("lake")
assert_type(lake, pipeline.Lake)
assert_type(lake.table("votes"), pl.LazyFrame)
assert_type(lake.metrics(by=["model"]), pl.DataFrame)
assert_type(lake.compare(("a", "b"), margin=0.1), pl.DataFrame)
assert_type(lake.find(game_type="chameleon"), pl.DataFrame)
assert_type(lake.game("x"), pipeline.Game)
assert_type(lake.game("x").players, pl.DataFrame)
assert_type(lake.verify().is_whole, bool)
rows = pipeline.Rows("votes", term=pl.lit("v"), what=pl.lit("w"), hit=pl.lit(1.0))
term = pipeline.Term("v", (pipeline.GameType.CHAMELEON,))
declared = pipeline.Metric(terms=(term,), rows=(rows,))
assert_type(lake.metric(declared, name="x"), pipeline.Lake)
"""


def check_types(folder: Path, package: Path) -> None:
    """A script outside of the project sees the types of what is installed, and what is wrong."""
    wrong = "lake.metrics(models=1)\nlake.metrics(nobody=1)\nlake.gone()\n"
    (folder / "right.py").write_text(TYPED)
    (folder / "wrong.py").write_text(TYPED + wrong)
    seen = {}
    for name in ("right", "wrong"):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--python-version=3.11", f"{name}.py"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
            check=False,
        )
        seen[name] = done.stdout
    assert seen["right"].startswith("Success"), seen["right"]
    for kind in ("arg-type", "call-arg", "attr-defined"):
        assert f"[{kind}]" in seen["wrong"]
    assert "Found 3 errors" in seen["wrong"]


@pytest.mark.slow
def test_checkout(tmp_path: Path) -> None:
    assert sql_folder(tmp_path, ROOT) == ROOT / "sql"


@pytest.mark.slow
def test_editable_install(tmp_path: Path) -> None:
    try:
        distribution(DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip(f"{DISTRIBUTION} is not installed here")
    assert sql_folder(tmp_path, None) == ROOT / "sql"
