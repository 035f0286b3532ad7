"""A metric in a file of its own: in Python, in the commands, in SQL and in the browser."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from rawlogs import write_logs

import pipeline
from pipeline.errors import MetricError
from pipeline.ingest import ingest

sys.path.append(str(Path(__file__).parents[1] / "pages"))
from servers import start, stop

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "adding.md").read_text(encoding="utf-8")
(SQL,) = re.findall(r"```sql\n(-- metric: silence\n.*?)```", PAGE, re.DOTALL)
(PYTHON,) = re.findall(r'```python\n("""Silence.*?)```', PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def lake(two_models: pipeline.Lake) -> pipeline.Lake:
    return two_models


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module and the SQL of docs/adding.md, as they are, outside of the package."""
    file = tmp_path_factory.mktemp("own") / "silence.py"
    file.write_text(PYTHON)
    file.with_suffix(".sql").write_text(SQL)
    return file


def magic(lake: pipeline.Lake, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline.cli", *map(str, arguments), "--lake", str(lake.path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=TOP, check=False)


def test_a_lake_that_is_given_a_file(lake: pipeline.Lake, file: Path) -> None:
    given = lake.with_metric_file(file)
    rows = given.metrics(metric="silence")
    assert rows["counted"].sum() > 0
    assert_frame_equal(given.metrics(metric="silence", engine="duckdb"), rows)
    with pytest.raises(MetricError, match="has a metric `silence` from elsewhere"):
        given.with_metric_file(file)


@pytest.mark.slow
def test_the_commands_know_it(lake: pipeline.Lake, file: Path) -> None:
    given = lake.with_metric_file(file)
    expected = given.metrics(metric="silence", by=["model"])
    asked = ("--metric-file", file, "--format", "json")
    for engine in ("polars", "duckdb"):
        said = magic(
            lake, "metrics", "--metric", "silence", "--by", "model", "--engine", engine, *asked
        )
        rows = json.loads(said.stdout)
        assert [row["value"] for row in rows] == expected["value"].to_list()
    (row, _) = json.loads(magic(lake, "leaderboard", *asked).stdout)
    assert row["silence"] == expected.filter(model=row["model"])["value"].item()
    evidence = json.loads(magic(lake, "evidence", "silence", *asked).stdout)
    assert len(evidence) == expected["counted"].sum()
    assert json.loads(magic(lake, "compare", "--all-pairs", "--metric", "silence", *asked).stdout)
    assert json.loads(magic(lake, "diff", lake.path, *asked).stdout)
    of_sql = magic(lake, "sql", "FROM silence WHERE game_type = 'all' ORDER BY model", *asked)
    assert [row["value"] for row in json.loads(of_sql.stdout)] == expected["value"].to_list()


@pytest.mark.slow
def test_the_pages_know_it_also_after_a_new_ingest(
    lake: pipeline.Lake, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "lake"
    ingest(write_logs(tmp_path / "first", "gpt-4"), path)
    served = start(path, "--metric-file", str(file))
    try:
        board = served.json("/leaderboard.json")["rows"]
        assert board[0]["silence"] is not None
        ingest(write_logs(tmp_path / "second", "cohere"), path)
        board = served.json("/leaderboard.json")["rows"]
        assert [row["silence"] is None for row in board] == [False, False]
        assert served.get("/evidence?metric=silence").status == 200
        assert served.get("/sql.csv?query=FROM+silence").text.startswith("system,model,")
    finally:
        stop(served)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("x = 1\n", "it needs `PAPER = Metric(...)`"),
        ("import math\n\nmath.sqrt(-1)\n", "own.py, line 3: ValueError: "),
        ("x = (\n", "own.py, line 1: SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)\n", "own.py, line 1: SystemExit: 3"),
        ("def f():\n    g()\n\n\nf()\n", "own.py, line 2: NameError: name 'g' is not defined"),
        (
            PYTHON.replace('"votes",\n', '"votes",\n            where=1,\n', 1),
            "own` cannot be counted by polars: invalid",
        ),
    ],
)
def test_a_file_that_declares_no_metric(
    lake: pipeline.Lake, tmp_path: Path, text: str, refusal: str
) -> None:
    file = tmp_path / "own.py"
    file.write_text(text)
    with pytest.raises(MetricError) as raised:
        lake.with_metric_file(file)
    assert refusal in str(raised.value)


def test_a_file_that_is_not_there_or_no_python(lake: pipeline.Lake, tmp_path: Path) -> None:
    with pytest.raises(MetricError, match="there is no such file"):
        lake.with_metric_file(tmp_path / "gone.py")
    with pytest.raises(MetricError, match="a metric's file is a Python file"):
        lake.with_metric_file(tmp_path / "own.sql")
    said = magic(lake, "metrics", "--metric-file", "gone.py")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "magic: gone.py: there is no such file\n"
