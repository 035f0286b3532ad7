"""What docs/adding.md shows is all that it takes: the examples go the whole way in a copy."""

import json
import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from forked import Told, commands, program
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


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with every example added, and a lake of the sample and the new logs."""
    top = tmp_path_factory.mktemp("adding") / "copy"
    for folder in ("pipeline", "sql", "tests"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", top)
    for example in examples():
        add(example, top)
    logs = top.parent / "logs"
    logs.mkdir()
    (logs / "hunt.json").write_bytes(encode(stag_hunt()))
    (data,) = runpy.run_path(str(top / "tests/logs/pgg.py"))["LOGS"]
    (logs / "pgg.json").write_bytes(data.replace(b'"scores"', b'"fines": [[2, 1, 3]], "scores"'))
    (ingested,) = commands(top, ("ingest", ROOT / "data" / "sample" / "results", logs, "--strict"))
    assert ingested.text
    return top


JSON = ("--format", "json")
OF_SILENCE = ("metrics", "--metric", "silence", *JSON)
ASKED = {
    "clue_length": ("metrics", "--metric", "clue_length", "--metric-file", "copy/clue_length.py"),
    "polars": OF_SILENCE,
    "duckdb": (*OF_SILENCE, "--engine", "duckdb"),
    "evidence": ("evidence", "silence"),
    "view": ("sql", "SELECT sum(counted) AS n FROM silence WHERE game_type = 'all'"),
    "leaderboard": ("leaderboard",),
    "release": ("metrics", "--edition", "release"),
    "fines": ("sql", "SELECT player, round, paid, parse_status FROM fines"),
    "hares": ("sql", "SELECT DISTINCT weight, game_type FROM hares"),
    "roles": ("sql", "SELECT role, side FROM roles WHERE game_type = 'stag_hunt'"),
    "wins": ("metrics", "--metric", "win_rate", "--game-type", "stag_hunt"),
    "show pgg": ("show", "pgg.json", "--format", "text"),
    "show hunt": ("show", "hunt.json"),
    "talk": ("talk", "--game-type", "chameleon", "--longer", "20"),
    "help": ("talk", "--help"),
    "verify": ("verify",),
}


@pytest.fixture(scope="module")
def told(copy: Path) -> dict[str, Told]:
    """What came of each question."""
    asked = [words if "--format" in words else (*words, *JSON) for words in ASKED.values()]
    return dict(zip(ASKED, commands(copy, *asked), strict=True))


def stag_hunt() -> dict:
    """A log of the page's game: that of a Prisoner's Dilemma with another setting."""
    log = prisoners_dilemma()
    del log["game_setting"]["topic_values"]
    log["game_setting"] |= {"stag": 4, "hare": 1}
    return log


def test_the_metric(told: dict[str, Told]) -> None:
    values = told["polars"].rows
    exact = ("model", "game_type", "value", "hits", "counted", "n_games", "n_unreadable", "reason")
    of_engines = [
        [[row[name] for name in exact] for row in told[engine].rows]
        for engine in ("polars", "duckdb")
    ]
    assert of_engines[0] == of_engines[1]
    counted = sum(row["counted"] for row in values if row["game_type"] == "all")
    assert counted > 0
    assert len(told["evidence"].rows) == counted
    assert told["view"].rows == [{"n": counted}]
    assert "silence" in told["leaderboard"].rows[0]
    assert "silence" not in {row["metric"] for row in told["release"].rows}
    in_letters = [row["value"] for row in told["clue_length"].rows if row["value"] is not None]
    assert min(in_letters) > 1


def test_the_format_the_game_and_the_table(told: dict[str, Told]) -> None:
    assert "Ann" in told["show pgg"].text
    assert "hares" in told["show hunt"].text
    assert told["fines"].rows == [{"player": "Bo", "round": 1, "paid": 3.0, "parse_status": "ok"}]
    assert told["hares"].rows == [{"weight": 1.0, "game_type": "stag_hunt"}]
    assert told["roles"].rows == [{"role": "player", "side": "none"}]
    assert [row["counted"] for row in told["wins"].rows] == [1]
    assert told["verify"].rows == []


def test_the_report_is_a_command_a_page_and_a_method(copy: Path, told: dict[str, Told]) -> None:
    said = told["talk"].rows
    assert {"sim-atlas", "sim-delta"} <= {row["model"] for row in said}
    assert "Only messages of more than N" in told["help"].text
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
    assert json.loads(program(copy, script)) == said
