"""A metric that somebody is adding: what it lacks is said in one line, by every command."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCS = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
SQL = re.search(r"```sql\n(.*?)```", DOCS, re.DOTALL)[1]
MODULE = re.search(r"```python\n(.*?)```", DOCS, re.DOTALL)[1]
SQL_FILE, MODULE_FILE = "sql/metrics/silence.sql", "pipeline/metrics/silence.py"
RELEASE_FILE = "sql/metrics/release/silence.sql"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the package and its SQL, with a lake of the sample."""
    top = tmp_path_factory.mktemp("checkout")
    for folder in ("pipeline", "sql"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", top)
    done = magic(top, "ingest", str(ROOT / "data" / "sample" / "results" / "undercover"))
    assert done.returncode == 0, done.stderr
    return top


def magic(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(top)}
    command = [sys.executable, "-m", "pipeline", *arguments]
    return subprocess.run(
        command, cwd=top, env=environment, capture_output=True, text=True, check=False
    )


HALVES = {
    "SQL alone": ({SQL_FILE: SQL}, "has no definition in Python: define PAPER in " + MODULE_FILE),
    "an empty module": (
        {SQL_FILE: SQL, MODULE_FILE: ""},
        "has no definition in Python: define PAPER in " + MODULE_FILE,
    ),
    "release in SQL alone": (
        {SQL_FILE: SQL, MODULE_FILE: MODULE, RELEASE_FILE: SQL},
        f"{RELEASE_FILE} has no definition in Python: define RELEASE in {MODULE_FILE}",
    ),
    "no place": (
        {SQL_FILE: SQL.replace("-- order: 9\n", ""), MODULE_FILE: MODULE},
        "sql/metrics/silence.sql has no `-- order: ...` in its header",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("half", HALVES)
def test_a_metric_that_is_half_written_is_one_line(half: str, checkout: Path) -> None:
    files, message = HALVES[half]
    for name, text in files.items():
        (checkout / name).write_text(text, encoding="utf-8")
    try:
        edition = "release" if RELEASE_FILE in files else "paper"
        result = magic(checkout, "leaderboard", "--edition", edition)
    finally:
        for name in files:
            (checkout / name).unlink()
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("magic: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
