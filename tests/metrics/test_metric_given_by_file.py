"""A metric in a file of its own: in Python, in the commands, in SQL and in the browser."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal
from rawlogs import write_logs

import pipeline
from pipeline.cli import main
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


Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def magic(lake: pipeline.Lake, queries_here: None, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command on the lake; its exit code, and what it printed and said."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([*map(str, arguments), "--lake", str(lake.path)])
        return (code, *capsys.readouterr())

    return run


def test_a_lake_that_is_given_a_file(lake: pipeline.Lake, file: Path) -> None:
    given = lake.with_metric_file(file)
    rows = given.metrics(metric="silence")
    assert rows["counted"].sum() > 0
    assert_frame_equal(given.metrics(metric="silence", engine="duckdb"), rows)
    with pytest.raises(MetricError, match="already has another metric `silence`"):
        given.with_metric_file(file)


@pytest.mark.slow
def test_the_commands_know_it(lake: pipeline.Lake, magic: Said, file: Path) -> None:
    given = lake.with_metric_file(file)
    expected = given.metrics(metric="silence", by=["model"])

    def rows(*asked: object) -> Any:
        _, out, _ = magic(*asked, "--metric-file", file, "--format", "json")
        return json.loads(out)

    for engine in ("polars", "duckdb"):
        found = rows("metrics", "--metric", "silence", "--by", "model", "--engine", engine)
        assert [row["value"] for row in found] == expected["value"].to_list()
    (row, _) = rows("leaderboard")
    assert row["silence"] == expected.filter(model=row["model"])["value"].item()
    of_sql = rows("sql", "FROM silence WHERE game_type = 'all' ORDER BY model")
    assert [row["value"] for row in of_sql] == expected["value"].to_list()


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


def test_a_file_that_is_not_there_or_no_python(
    lake: pipeline.Lake, magic: Said, tmp_path: Path
) -> None:
    with pytest.raises(MetricError, match="there is no such file"):
        lake.with_metric_file(tmp_path / "gone.py")
    with pytest.raises(MetricError, match="a metric's file is a Python file"):
        lake.with_metric_file(tmp_path / "own.sql")
    said = magic("metrics", "--metric-file", "gone.py")
    assert said == (1, "", "magic: gone.py: there is no such file\n")
