"""What docs/adding.md shows is all that it takes: the examples go the whole way in a copy."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rawlogs import encode, prisoners_dilemma

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
_PATH = re.compile(r"^`(?P<path>[\w/.]+)`:$")
_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.slow


class Example(NamedTuple):
    """A block of the page: a new file, or a change of one."""

    path: str
    kind: str
    text: str


def _is_of_magic(block: re.Match[str]) -> bool:
    """Whether a block is a file of the project: a game as data is outside of it."""
    return block["kind"] not in ("toml", "sh")


def examples() -> Iterator[Example]:
    """The page's blocks in order; one belongs to the path in the last line that is only a path."""
    path, end = "", 0
    for block in filter(_is_of_magic, _BLOCK.finditer(PAGE)):
        for line in PAGE[end : block.start()].splitlines():
            if named := _PATH.match(line):
                path = named["path"]
        yield Example(path, block["kind"], block["text"])
        end = block.end()


def add(example: Example, top: Path) -> None:
    """Does what the page shows."""
    file = top / example.path
    if example.kind != "diff":
        assert not file.exists(), f"{example.path} is there already"
        file.write_text(example.text, encoding="utf-8")
        return
    lines = [(line[:1] or " ", line[1:]) for line in example.text.splitlines()]
    before, after = (
        "\n".join(text for mark, text in lines if mark in marks) + "\n" for marks in (" -", " +")
    )
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{example.path} has not the lines around the change:\n{before}"
    file.write_text(text.replace(before, after), encoding="utf-8")


# A process of the copy for all commands: each by itself would take a second to start.
ANSWERS = """
import contextlib, io, json, sys
import pipeline.query_processes, sandboxes
from pipeline.cli import main
pipeline.query_processes.start_python_process = sandboxes.start
for line in sys.stdin:
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(printed):
        code = main(json.loads(line))
    print(json.dumps([code, printed.buffer.getvalue().decode()]), flush=True)
"""


class Copy(NamedTuple):
    """A copy of the project, and the process that runs its commands."""

    top: Path
    process: subprocess.Popen[str]

    def magic(self, *arguments: str) -> str:
        """What a command prints, which has to succeed."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps(arguments), file=self.process.stdin, flush=True)
        code, printed = json.loads(self.process.stdout.readline())
        assert code == 0, printed
        return printed

    def rows(self, *arguments: str) -> list[dict]:
        return json.loads(self.magic(*arguments, "--format", "json"))


def environment(top: Path) -> dict[str, str]:
    paths = f"{top}{os.pathsep}{top / 'tests'}"
    return {**os.environ, "PYTHONPATH": paths, "MAGIC_LAKE": str(top / "lake")}


def run(top: Path, *command: str) -> str:
    """What a Python module prints in the copy, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=top,
        env=environment(top),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy of the project with every example added, and a lake of the sample and the new logs."""
    top = tmp_path_factory.mktemp("copy")
    for folder in ("pipeline", "sql", "tests"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", top)
    for example in examples():
        add(example, top)
    logs = top / "logs"
    logs.mkdir()
    (logs / "1.json").write_bytes(encode(stag_hunt()))
    (data,) = runpy.run_path(str(top / "tests/logs/pgg.py"))["LOGS"]
    (logs / "2.json").write_bytes(data.replace(b'"scores"', b'"fines": [[2, 1, 3]], "scores"'))
    command = [sys.executable, "-c", ANSWERS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=top, env=environment(top), **pipes) as process:
        copied = Copy(top, process)
        copied.magic("ingest", str(ROOT / "data" / "sample" / "results"), str(logs), "--strict")
        yield copied


def stag_hunt() -> dict:
    """A log of the page's game: that of a Prisoner's Dilemma with another setting."""
    log = prisoners_dilemma()
    del log["game_setting"]["topic_values"]
    log["game_setting"] |= {"stag": 4, "hare": 1}
    return log


def test_the_page_has_an_example_of_each() -> None:
    found = {example.path for example in examples()}
    assert {
        "clue_length.py",
        "sql/metrics/silence.sql",
        "pipeline/metrics/silence.py",
        "tests/cases/silence.py",
        "pipeline/formats/pgg.py",
        "tests/logs/pgg.py",
        "pipeline/games/stag_hunt.py",
        "pipeline/formats/magic/stag_hunt.py",
        "pipeline/action_tables.py",
        "pipeline/game_record.py",
        "pipeline/reports/talk.py",
        "pipeline/registry.py",
        "pipeline/lake_methods.py",
    } == found


def test_a_metric_in_a_unit_of_its_own(copy: Copy) -> None:
    file = str(copy.top / "clue_length.py")
    asked = ("metrics", "--metric", "clue_length", "--metric-file", file)
    values = [row["value"] for row in copy.rows(*asked, "--by", "model")]
    assert min(value for value in values if value is not None) > 1


def test_the_metric(copy: Copy) -> None:
    asked = ("--metric", "silence")
    values = copy.rows("metrics", *asked)
    assert {row["metric"] for row in values} == {"silence"}
    exact = ("model", "game_type", "value", "hits", "counted", "n_games", "n_unreadable", "reason")
    of_duckdb = copy.rows("metrics", *asked, "--engine", "duckdb")
    assert [[row[name] for name in exact] for row in of_duckdb] == [
        [row[name] for name in exact] for row in values
    ]
    over_all = [row for row in values if row["game_type"] == "all"]
    counted = sum(row["counted"] for row in over_all)
    assert counted > 0
    assert len(copy.rows("evidence", "silence")) == counted
    (view,) = copy.rows("sql", "SELECT sum(counted) AS n FROM silence WHERE game_type = 'all'")
    assert view["n"] == counted
    assert "silence" in copy.rows("leaderboard")[0]


def test_the_metric_is_not_in_what_is_frozen(copy: Copy) -> None:
    assert "silence" not in {row["metric"] for row in copy.rows("metrics", "--edition", "release")}
    model = copy.rows("leaderboard")[0]["model"]
    asked = ("--edition", "release", "--model", model, "--format", "magic-json")
    (line,) = json.loads(copy.magic("metrics", *asked))
    assert len(line["train_split"]) == 9


def test_the_format_the_game_and_the_table(copy: Copy) -> None:
    games = copy.rows("sql", "SELECT game_id, format, game_type FROM games ORDER BY ALL")
    ids = {(row["format"], row["game_type"]): row["game_id"] for row in games}
    new = {("pgg", "public_good"), ("magic", "stag_hunt")}
    assert new <= ids.keys()
    for key in new:
        assert ids[key] in copy.magic("show", ids[key])
    assert "Ann" in copy.magic("show", ids["pgg", "public_good"])
    fines = copy.rows("sql", "SELECT player, round, paid, parse_status FROM fines")
    assert fines == [{"player": "Bo", "round": 1, "paid": 3.0, "parse_status": "ok"}]
    hares = copy.rows("sql", "SELECT player, round, weight, game_type FROM hares")
    assert hares and {(row["weight"], row["game_type"]) for row in hares} == {(1.0, "stag_hunt")}
    assert "hares" in copy.magic("show", ids["magic", "stag_hunt"], "--format", "json")
    (kind,) = copy.rows("sql", "SELECT role, side FROM roles WHERE game_type = 'stag_hunt'")
    assert kind == {"role": "player", "side": "none"}
    results = copy.rows("metrics", "--metric", "win_rate", "--game-type", "stag_hunt")
    assert [row["counted"] for row in results] == [1]


def test_the_report_is_a_command_a_page_and_a_method(copy: Copy) -> None:
    said = copy.rows("talk", "--game-type", "chameleon", "--longer", "20")
    assert {"sim-atlas", "sim-delta"} <= {row["model"] for row in said}
    assert "Only messages of more than N" in copy.magic("talk", "--help")
    assert "talk " in copy.magic("--help")
    script = """
import json, pipeline
lake = pipeline.open_lake("lake")
page = lake.page("talk", game_type="chameleon", longer=20)
assert page.rows.equals(lake.talk(game_type="chameleon", longer=20))
assert "mean length" in page.html
assert lake.present("talk").rows.height == lake.talk().height
for wrong in ({"game_type": "chess"}, {"longer": -1}, {"longer": "x"}):
    for ask in (lake.talk, lambda **wrong: lake.page("talk", **wrong)):
        try:
            ask(**wrong)
        except pipeline.errors.UsageError:
            continue
        raise AssertionError(wrong)
print(json.dumps(page.rows.to_dicts()))
"""
    (copy.top / "asked.py").write_text(script, encoding="utf-8")
    assert json.loads(run(copy.top, "asked")) == said


def test_the_lake_is_whole(copy: Copy) -> None:
    assert copy.rows("verify") == []


@pytest.mark.long
def test_the_projects_own_tests_pass_with_them(copy: Copy) -> None:
    """Those that run over all metrics, and those that run over all formats."""
    files = ("metrics/test_metric_cases.py", "formats/test_format_contract.py")
    run(copy.top, "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/{file}" for file in files))
