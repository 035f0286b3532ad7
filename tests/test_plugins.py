"""Packages that add a format, a game and a metric: that of docs/plugins.md, and broken ones."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"^`(?P<path>[\w/.]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
FILES = {found["path"]: found["text"] for found in _BLOCK.finditer(PAGE)}
SAMPLE = ROOT / "data" / "sample" / "results"

pytestmark = pytest.mark.slow


def install(site: Path, files: Mapping[str, str]) -> None:
    """Puts a package on a path as an installer would, by what its pyproject.toml says."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    version = f"Name: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\n{version}")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"},
        capture_output=True,
        text=True,
        check=False,
    )


def magic(site: Path, *arguments: object) -> str:
    done = run(site, "-m", "pipeline.cli", *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(site: Path, *arguments: object) -> str:
    """What a command says that fails, which is one line."""
    done = run(site, "-m", "pipeline.cli", *map(str, arguments))
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's package, beside a lake with its log and the sample."""
    site = tmp_path_factory.mktemp("plugin") / "site"
    install(site, FILES)
    logs = site.parent / "logs"
    logs.mkdir()
    (logs / "1.json").write_text(log_of())
    magic(site, "ingest", logs, SAMPLE, "--strict")
    return site


def log_of() -> str:
    (log,) = re.findall(
        r'^LOG = b"""(.*?)"""$', FILES["tests/test_log.py"], re.DOTALL | re.MULTILINE
    )
    return str(log)


def rows(site: Path, *arguments: object) -> list[dict]:
    return json.loads(magic(site, *arguments, "--format", "json"))


def test_its_own_tests_pass(site: Path) -> None:
    done = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(site / "tests"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_the_metric(site: Path, engine: str) -> None:
    asked = ("metrics", "--metric", "trust", "--system", "stag_hunt", "--by", "model")
    values = rows(site, *asked, "--engine", engine)
    assert [(row["model"], row["value"], row["counted"]) for row in values] == [
        ("model-a", 1.0, 2), ("model-b", 0.5, 2)
    ]  # fmt: skip


def test_evidence_view_and_leaderboard(site: Path) -> None:
    found = rows(site, "evidence", "trust", "--system", "stag_hunt")
    assert [row["what"] for row in found] == ["stag", "stag", "hare", "stag"]
    (view,) = rows(site, "sql", "SELECT sum(hits) AS n FROM trust WHERE game_type = 'all'")
    assert view["n"] == 3
    assert "trust" in rows(site, "leaderboard", "--system", "stag_hunt")[0]


def test_the_table(site: Path) -> None:
    (choice, *_) = rows(
        site, "sql", "SELECT prey, points, content FROM hunts NATURAL JOIN messages"
    )
    assert set(choice) == {"prey", "points", "content"}
    sizes = {row["table"]: row["n_rows"] for row in rows(site, "tables")}
    assert sizes["hunts"] == 4
    described = {row["column"]: row["description"] for row in rows(site, "schema", "hunts")}
    assert described["prey"] == "what the player hunts"
    assert "Hunts" in magic(site, "schema", "--interchange")


def test_the_game(site: Path) -> None:
    (game,) = rows(site, "sql", "SELECT game_id FROM games WHERE game_type = 'stag_hunt'")
    shown = magic(site, "show", game["game_id"])
    assert "Together!" in shown
    assert "hare" in shown
    assert magic(site, "verify")


def test_it_is_part_of_what_an_ingest_records(site: Path) -> None:
    code = "from pipeline.provenance import code_sha256; print(code_sha256())"
    before = run(site, "-c", code).stdout
    sql = site / "stag_hunt" / "trust.sql"
    text = sql.read_text()
    try:
        sql.write_text(text + "-- changed\n")
        assert run(site, "-c", code).stdout != before
    finally:
        sql.write_text(text)
    assert run(site, "-c", code).stdout == before
    assert run(site.parent, "-c", code).stdout != before


def test_a_lake_without_its_package(site: Path, tmp_path: Path) -> None:
    lake = site.parent / "lake"
    bare = tmp_path / "site"
    bare.mkdir()
    done = run(bare, "-m", "pipeline.cli", "tables", "--lake", str(lake))
    assert done.returncode == 0
    assert "not listed: hunts, of a package that is not installed" in done.stderr
    played = rows(bare, "sql", "SELECT DISTINCT game_type FROM games", "--lake", lake)
    assert "stag_hunt" in {row["game_type"] for row in played}
    assert rows(bare, "metrics", "--metric", "win_rate", "--lake", lake)
    findings = rows(bare, "verify", "--lake", lake)
    assert {(one["check"], one["severity"]) for one in findings} == {("not_installed", "warning")}
    line = refusal(bare, "ingest", SAMPLE, "--lake", lake)
    assert "tables of a package that is not installed: hunts" in line


def said_below(site: Path, *command: object) -> list[str]:
    """What a command says of a package that is not installed."""
    done = run(site, "-m", "pipeline.cli", *map(str, command))
    assert done.returncode == 0, done.stderr
    text = f"{done.stdout}\n{done.stderr}"
    return [line for line in text.splitlines() if "that is not installed: no metric" in line]


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_numbers_without_a_package_say_what_they_lack(
    site: Path, tmp_path: Path, form: str
) -> None:
    """Below metrics and completeness, and below a game of the package, but not below another."""
    lake, bare = site.parent / "lake", tmp_path / "site"
    bare.mkdir()
    (own,) = rows(
        bare, "sql", "SELECT game_id FROM games WHERE game_type = 'stag_hunt'", "--lake", lake
    )
    (other, *_) = rows(bare, "games", "--limit", 2, "--game-type", "undercover", "--lake", lake)
    asked = ["--lake", lake, "--format", form]
    for command in (["metrics", "--system", "magic"], ["completeness"]):
        (line,) = said_below(bare, *command, *asked)
        assert "the lake has games of stag_hunt, of a package" in line
        assert "their own tables (hunts) are not read" in line
        assert said_below(site, *command, *asked) == []
    asked[3] = "text" if form == "table" else form
    assert len(said_below(bare, "show", own["game_id"], *asked)) == 1
    assert said_below(bare, "show", other["game_id"], *asked) == []
    assert said_below(site, "show", own["game_id"], *asked) == []


def test_pages_without_a_package_say_what_they_lack(site: Path, tmp_path: Path) -> None:
    pages = ["leaderboard", "metric", "model", "completeness", "missing"]
    lake, bare = site.parent / "lake", tmp_path / "site"
    bare.mkdir()
    code = f"""
import pipeline
lake = pipeline.open_lake({str(lake)!r})
(own,) = lake.table("games").filter(game_type="stag_hunt").collect()["game_id"]
(other, *_) = lake.games(game_type="undercover")["game_id"]
def is_lacking(name, **asked):
    return "that is not installed: no metric" in lake.page(name, **asked).html
print([name for name in {pages!r} if is_lacking(name)])
print(is_lacking("game", game=own), is_lacking("game", game=other))
"""
    told = run(bare, "-c", code)
    assert told.stdout == f"{pages!r}\nTrue False\n", told.stderr
    assert run(site, "-c", code).stdout == "[]\nFalse False\n"


def test_a_game_s_page_without_its_package(site: Path, tmp_path: Path) -> None:
    """Nobody knows its kind there: roles are hidden as in a game with sides."""
    lake = site.parent / "lake"
    bare = tmp_path / "site"
    bare.mkdir()
    code = f"""
import pipeline
lake = pipeline.open_lake({str(lake)!r})
(game,) = lake.table("games").filter(game_type="stag_hunt").collect()["game_id"]
assert "Together!" in lake.page("game", game=game).html
"""
    done = run(bare, "-c", code)
    assert done.returncode == 0, done.stderr


def test_another_version_of_a_package_with_other_columns(site: Path, tmp_path: Path) -> None:
    """What differs is not written into the table, and a new column reads as null."""
    lake, other = site.parent / "lake", tmp_path / "site"
    shutil.copytree(site, other)
    place = other / "stag_hunt" / "game.py"
    text = place.read_text()
    line = '            "extra": column.text("something new", nullable=True),\n'
    first = next(one for one in text.splitlines(keepends=True) if '"prey": column' in one)
    text = text.replace(first, line + first)
    field = "    points: float | None\n"
    assert text.count(field) == 1
    place.write_text(text.replace(field, f"{field}    extra: str | None = None\n"))
    refused = refusal(other, "ingest", SAMPLE, "--lake", lake)
    assert "other columns of the table `hunts` (extra)" in refused
    (row, *_) = rows(other, "sql", "SELECT extra, prey FROM hunts", "--lake", lake)
    assert row["extra"] is None
    assert row["prey"]


def broken_package(site: Path, group: str, name: str, text: str, package: str = "bad") -> None:
    project = f"""[project]
name = "{package}-magic"
version = "1"
[project.entry-points."magic_pipeline.{group}"]
{name} = "{package}_magic"
"""
    install(site, {"pyproject.toml": project, f"{package}_magic.py": text})


@pytest.mark.parametrize("group", ["games", "formats", "metrics"])
def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, group: str) -> None:
    broken_package(tmp_path / "site", group, "x", "1 / 0")
    command = {"games": ["tables"], "formats": ["ingest", SAMPLE], "metrics": ["leaderboard"]}
    if group != "formats":
        magic(tmp_path / "none", "ingest", SAMPLE)
    line = refusal(tmp_path / "site", *command[group])
    assert "the package bad-magic cannot be used" in line
    assert "ZeroDivisionError" in line


FORMAT = """
from pipeline.formats.building import messages
from pipeline.game import GameRecord, Seat, Vote
NAME, NAMES_MODELS = {name!r}, True
def claims(look):
    return "boom" in look.keys
def read(look, model):
    {read}
"""


def test_two_packages_of_one_name_are_both_named(tmp_path: Path) -> None:
    for package in ("bad", "worse"):
        text = FORMAT.format(name="twice", read="pass")
        broken_package(tmp_path / "site", "formats", "x", text, package)
    line = refusal(tmp_path / "site", "ingest", SAMPLE)
    assert "bad-magic and worse-magic both have the format `twice`" in line


def test_a_name_of_ours_is_taken(tmp_path: Path) -> None:
    magic(tmp_path / "none", "ingest", SAMPLE)
    text = (ROOT / "pipeline" / "metrics" / "judgement.py").read_text()
    broken_package(tmp_path / "site", "metrics", "judgement", text)
    line = refusal(tmp_path / "site", "leaderboard")
    assert "magic and bad-magic both have the metric or table `judgement`" in line


# A vote for a number, of which the column of a name cannot be made.
ODD_VOTE = """return GameRecord(
        game_type="chameleon", system="x", format="boomer", format_version="1", setting={},
        is_finished=False, outcome=None, n_rounds=1, messages=messages([], []),
        seats=[Seat("Ann", "m", "chameleon", True)], votes=[Vote(1, 1, None, 5)],
    )"""


# A setting that no JSON can say.
ODD_SETTING = ODD_VOTE.replace("setting={}", "setting={'x': object()}").replace("None, 5", "None")


@pytest.mark.parametrize(
    "read",
    [
        *("return look.nothing", "return 7", "raise SystemError('x')", "raise SystemExit(7)"),
        *(ODD_VOTE, ODD_SETTING),
    ],
)
def test_an_error_of_a_format_is_its_package_s(tmp_path: Path, read: str) -> None:
    site = tmp_path / "site"
    broken_package(site, "formats", "x", FORMAT.format(name="boomer", read=read))
    (tmp_path / "boom.json").write_text('{"boom": 1}')
    magic(site, "ingest", tmp_path / "boom.json", SAMPLE)
    (fault,) = rows(site, "quarantine")
    assert "the format boomer of the package bad-magic" in fault["message"]
    assert "a bug in magic" not in fault["message"]
    assert magic(site, "sql", "SELECT count(*) AS n FROM games", "--format", "csv") == "n\n112\n"


def test_a_file_that_a_format_cannot_cut_is_refused_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    text = FORMAT.format(name="boomer", read="return None")
    text += """
def splitter(path, head):
    return cut if head.startswith(b"boom") else None


def cut(content, limit):
    raise AttributeError("oops")
    yield
"""
    broken_package(site, "formats", "x", text)
    (tmp_path / "boom.txt").write_text("boom")
    magic(site, "ingest", tmp_path / "boom.txt", SAMPLE)
    (fault,) = rows(site, "quarantine")
    assert "AttributeError: oops; this is a bug in the format boomer" in fault["message"]
    assert magic(site, "sql", "SELECT count(*) AS n FROM games", "--format", "csv") == "n\n112\n"


def test_what_lacks_something_is_no_format_or_metric(tmp_path: Path) -> None:
    broken_package(tmp_path / "site", "formats", "x", "NAME = 'x'")
    assert "it lacks NAMES_MODELS" in refusal(tmp_path / "site", "ingest", SAMPLE)
    broken_package(tmp_path / "other", "metrics", "x", "PAPER = 1")
    magic(tmp_path / "none", "ingest", SAMPLE)
    assert "it needs `PAPER = Metric(...)`" in refusal(tmp_path / "other", "leaderboard")


def test_a_mistake_of_a_game_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    text = FILES["stag_hunt/game.py"]
    magic(tmp_path / "none", "ingest", SAMPLE)
    for name, before, after, mistake in (
        ("credit", 'Ending("completed")', 'Ending("completed", 2)', "one of `completed` is 2"),
        ("table", '"hunts":', '"votes":', "a table of every lake is called `votes`"),
        ("folder", '"hunts":', '"../hunts":', "the name of a table has small letters"),
        ("all", 'name="stag_hunt"', 'name="all"', "and is not `all`"),
        ("comma", '"stag_hunt"),),', '"stag_hunt")),', "`roles` is a tuple of Role"),
    ):
        site = tmp_path / name
        assert text.count(before) == 1
        broken_package(site, "games", "x", text.replace(before, after))
        points = next(site.glob("*.dist-info/entry_points.txt"))
        points.write_text(points.read_text().replace("bad_magic", "bad_magic:KIND"))
        line = refusal(site, "tables")
        assert " of the package bad-magic: " in line
        assert mistake in line


@pytest.mark.parametrize(
    ("engine", "file", "right"),
    [
        ("duckdb", "trust.sql", "prey = 'stag'"),
        *(("polars", "trust.py", '"prey"'), ("polars", "trust.py", '== "stag"')),
    ],
)
def test_a_metric_that_cannot_count_is_its_package_s(
    site: Path, tmp_path: Path, engine: str, file: str, right: str
) -> None:
    name = f"stag_hunt/{file}"
    assert right in FILES[name]
    wrong = FILES[name].replace(right, right.replace("prey", "pray").replace('"stag"', "1"))
    install(tmp_path / "site", {**FILES, name: wrong})
    asked = ["metrics", "--metric", "trust", "--system", "stag_hunt", "--engine", engine]
    line = refusal(tmp_path / "site", *asked, "--lake", site.parent / "lake")
    assert "`trust` of the package magic-stag-hunt cannot count: " in line
    if engine == "duckdb":
        line = refusal(tmp_path / "site", "sql", "FROM trust", "--lake", site.parent / "lake")
        assert "the SQL of trust, of the package magic-stag-hunt, fails: " in line


def test_an_unknown_group_of_entry_points_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    broken_package(site, "formats", "x", FORMAT.format(name="boomer", read="return None"))
    points = next(site.glob("*.dist-info/entry_points.txt"))
    points.write_text(points.read_text().replace("magic_pipeline.formats", "magic_pipeline.format"))
    line = refusal(site, "ingest", SAMPLE)
    assert "the package bad-magic has entry points of the group `magic_pipeline.format`" in line
    assert "did you mean `magic_pipeline.formats`?" in line


def test_a_damaged_file_is_no_fault_of_a_package(site: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(site.parent / "lake", tmp_path / "lake")
    for file in (lake / "hunts").glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-20])
    for engine in ("polars", "duckdb"):
        asked = ["metrics", "--metric", "trust", "--system", "stag_hunt", "--engine", engine]
        line = refusal(site, *asked, "--lake", lake)
        assert "the lake is damaged" in line
        assert "magic-stag-hunt" not in line
