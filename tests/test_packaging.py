"""The SQL files are found in a wheel, in an editable install and in a plain checkout."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pipeline
from pipeline.plugins import DISTRIBUTION

ROOT = Path(__file__).parent.parent
JUDGE = """
import pipeline, sys
from pipeline.ingest import ingest
from pipeline.sql_files import sql_folder
ingest(sys.argv[1], "lake")
rows = pipeline.open_lake("lake").metrics(engine="duckdb", metric="judgement")
assert rows.height, rows
print(sql_folder())
"""
IMPORTS = """
import jupyterlab, nbclient, pyspark, starlette, vl_convert, xlsxwriter
import pipeline
assert "site-packages" in pipeline.__file__
assert pipeline.open_lake().metrics(metric="judgement").height
"""
EXTRAS = ("view", "notebooks", "spark", "excel", "ratings")


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow(seconds=8)
def test_wheel(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    assert sql_folder(tmp_path, installed) == installed / "pipeline" / "sql"
    assert (installed / "pipeline" / "py.typed").is_file()
    check_types(tmp_path, installed)


TYPED = """
from typing import assert_type
import polars as pl
import pipeline

lake = pipeline.open_lake("lake")
assert_type(lake, pipeline.Lake)
assert_type(lake.table("votes"), pl.LazyFrame)
assert_type(lake.metrics(by=["model"]), pl.DataFrame)
assert_type(lake.compare(("a", "b"), margin=0.1), pl.DataFrame)
assert_type(lake.games(game_type="chameleon"), pl.DataFrame)
assert_type(lake.game("x"), pipeline.Game)
assert_type(lake.game("x").players, pl.DataFrame)
assert_type(lake.verify().is_whole, bool)
rows = pipeline.Rows("votes", term=pl.lit("v"), what=pl.lit("w"), hit=pl.lit(1.0))
term = pipeline.Term("v", (pipeline.GameType.CHAMELEON,))
declared = pipeline.Metric(terms=(term,), rows=(rows,))
assert_type(lake.with_metric(declared, name="x"), pipeline.Lake)
"""


def check_types(folder: Path, package: Path) -> None:
    """A script outside of the project sees the types of what is installed, and what is wrong."""
    wrong = "lake.metrics(model=1)\nlake.metrics(nobody=1)\nlake.gone()\n"
    (folder / "right.py").write_text(TYPED)
    (folder / "wrong.py").write_text(TYPED + wrong)
    # What `make lint` knows of the libraries is true of them here, if the settings are the same: to
    # read them all takes most of the time. It is copied, since the package is elsewhere.
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    settings = ["--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, "right.py", "wrong.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Found 3 errors in 1 file (checked 2 source files)" in done.stdout, done.stdout
    for kind in ("arg-type", "call-arg", "attr-defined"):
        assert re.search(rf"^wrong\.py:.*\[{kind}\]$", done.stdout, re.MULTILINE), done.stdout


def locked_versions() -> str:
    """The versions of dev.txt as constraints: with their hashes pip would want one of the wheel."""
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    return "".join(f"{pin}\n" for pin in re.findall(r"^\S+==[^\n\\]+", lock, re.MULTILINE))


@pytest.mark.long
def test_wheel_with_all_extras_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    (tmp_path / "constraints.txt").write_text(locked_versions())
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(program: str, *arguments: str) -> str:
        done = subprocess.run(
            [tmp_path / "venv" / "bin" / program, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    install = ["-m", "pip", "install", "--quiet", "--no-compile"]
    run("python", *install, "-c", "constraints.txt", f"{DISTRIBUTION}[all] @ {wheel.as_uri()}")
    run("python", "-m", "pip", "check")
    # What the errors advise needs no index: an installed project is taken as it is.
    run("python", *install, "--no-index", *(f"{DISTRIBUTION}[{extra}]" for extra in EXTRAS))
    assert run("magic", "--version").split()[-1] == pipeline.__version__
    assert " 112\n" in run("magic", "ingest", str(ROOT / "data" / "sample" / "results"))
    assert "Judgement" in run("magic", "leaderboard")
    run("magic", "report", "-o", "report.html")
    assert (tmp_path / "report.html").stat().st_size > 100_000
    run("python", "-c", IMPORTS)
