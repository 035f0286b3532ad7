"""Packages that add a format, a game and a metric: that of docs/plugins.md, and broken ones."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from forked import Told, commands as magic, program

from pipeline.lake import open_lake

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"^`(?P<path>[\w/.]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
FILES = {found["path"]: found["text"] for found in _BLOCK.finditer(PAGE)}
GAME = FILES["stag_hunt/game.py"]
# Some games of the sample, which are quickly read.
GAMES = ROOT / "data" / "sample" / "results" / "undercover"
N_GAMES = len([*GAMES.glob("*/*.json")])
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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's package, beside a lake with its log and games of the sample."""
    site = tmp_path_factory.mktemp("plugin") / "site"
    install(site, FILES)
    logs = site.parent / "logs"
    logs.mkdir()
    (logs / "1.json").write_text(log_of())
    (ingested,) = magic(site, ("ingest", logs, GAMES, "--strict"))
    assert ingested.text
    return site


def log_of() -> str:
    (log,) = re.findall(
        r'^LOG = b"""(.*?)"""$', FILES["tests/test_log.py"], re.DOTALL | re.MULTILINE
    )
    return str(log)


JSON = ("--format", "json")


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    asked = ("-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'own'}")
    paths = {"PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked, str(site / "tests")],
        cwd=site.parent,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


OF_SYSTEM = ("--system", "stag_hunt", *JSON)
ASKED = {
    "polars": ("metrics", "--metric", "trust", "--by", "model", *OF_SYSTEM),
    "duckdb": ("metrics", "--metric", "trust", "--by", "model", "--engine", "duckdb", *OF_SYSTEM),
    "evidence": ("evidence", "trust", *OF_SYSTEM),
    "view": ("sql", "SELECT sum(hits) AS n FROM trust WHERE game_type = 'all'", *JSON),
    "leaderboard": ("leaderboard", *OF_SYSTEM),
    "choices": ("sql", "SELECT prey, points, content FROM hunts NATURAL JOIN messages", *JSON),
    "tables": ("tables", *JSON),
    "schema": ("schema", "hunts", *JSON),
    "interchange": ("schema", "--interchange"),
    "show": ("show", "1.json"),
    "verify": ("verify",),
}


@pytest.fixture(scope="module")
def told(site: Path) -> dict[str, Told]:
    """What came of each question, of which queries have the package in a process of their own."""
    answers = magic(site, *ASKED.values(), with_queries_apart=True)
    return dict(zip(ASKED, answers, strict=True))


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_the_metric(told: dict[str, Told], engine: str) -> None:
    values = [(row["model"], row["value"], row["counted"]) for row in told[engine].rows]
    assert values == [("model-a", 1.0, 2), ("model-b", 0.5, 2)]
    assert [row["what"] for row in told["evidence"].rows] == ["stag", "stag", "hare", "stag"]
    assert told["view"].rows == [{"n": 3}]
    assert "trust" in told["leaderboard"].rows[0]


def test_the_game_and_its_table(told: dict[str, Told]) -> None:
    assert {"Together!", "hare"} <= {*told["show"].text.split()}
    assert set(told["choices"].rows[0]) == {"prey", "points", "content"}
    assert ("hunts", 4) in [(row["table"], row["n_rows"]) for row in told["tables"].rows]
    described = {row["column"]: row["description"] for row in told["schema"].rows}
    assert described["prey"] == "what the player hunts"
    assert "Hunts" in told["interchange"].text
    assert told["verify"].text


def test_another_version_of_a_package_is_another_code(site: Path, tmp_path: Path) -> None:
    """What it has read before is read again."""
    shutil.copytree(site, tmp_path / "site")
    with (tmp_path / "site" / "stag_hunt" / "trust.sql").open("a") as sql:
        sql.write("-- changed\n")
    code = "from pipeline.provenance import hash_ingest_code; print(hash_ingest_code())"
    hashes = [program(place, code) for place in (site, tmp_path / "site", site.parent, site)]
    assert hashes[0] == hashes[3]
    assert len({*hashes}) == 3


LACKING = "that is not installed: no metric"


def test_an_ingest_adds_the_table_that_an_older_lake_lacks(
    site: Path, sample_lake: Path, tmp_path: Path
) -> None:
    """The lake is from before the package; upkeep then keeps states that lack its table."""
    shutil.copytree(sample_lake, tmp_path / "lake")
    of = ("--lake", tmp_path / "lake")
    before, ingested, added, kept = magic(
        site,
        ("maintain", *of),
        ("ingest", site.parent / "logs", *of, "--strict"),
        ("sql", "SELECT count(*) AS n FROM hunts", *of, *JSON),
        ("maintain", *of, "--keep-days", "1"),
    )
    assert [before.code, ingested.code, kept.code] == [0, 0, 0], (
        before.err + ingested.err + kept.err
    )
    assert added.rows[0]["n"] > 0


def test_a_lake_without_its_package(site: Path, tmp_path: Path) -> None:
    """Below numbers and a game of the package stands what is not read, but not below another."""
    (bare := tmp_path / "site").mkdir()
    of = ("--lake", site.parent / "lake")
    (other, *_) = (
        open_lake(site.parent / "lake")
        .table("games")
        .collect()
        .filter(game_type="undercover")["game_id"]
    )
    counting = [
        ("metrics", "--metric", "win_rate", "--system", "magic", *of),
        ("completeness", *of, "--format", "markdown"),
        ("show", "1.json", *of, "--format", "text"),
        ("show", other, *of),
    ]
    tables, verified, ingested, *told = magic(
        bare, ("tables", *of), ("verify", *of, *JSON), ("ingest", GAMES, *of), *counting
    )
    assert "not listed: hunts, because a package is not installed" in tables.err
    found = {(one["check"], one["severity"]) for one in verified.rows}
    assert found == {("not_installed", "warning")}
    assert "tables of a package that is not installed: hunts" in ingested.refusal
    said = [f"{one.text}\n{one.err}" for one in told]
    assert [text.count(LACKING) for text in said] == [1, 1, 1, 0]
    for text in said[:2]:
        assert "the lake has games of stag_hunt, of a package" in text
        assert "their own tables (hunts) are not read" in text
    assert not any(LACKING in one.out + one.err for one in magic(site, *counting))


def test_another_version_of_a_package_with_other_columns(site: Path, tmp_path: Path) -> None:
    """What differs is not written into the table, and a new column reads as null."""
    lake, other = site.parent / "lake", tmp_path / "site"
    shutil.copytree(site, other)
    field = "    points: float | None\n"
    text = GAME.replace(field, f"{field}    extra: str | None = None\n")
    text = text.replace(
        '"prey": column', '"extra": column.text_column("new", nullable=True), "prey": column'
    )
    (other / "stag_hunt" / "game.py").write_text(text)
    refused, found = magic(
        other,
        ("ingest", GAMES, "--lake", lake),
        ("sql", "SELECT extra, prey FROM hunts", "--lake", lake, *JSON),
    )
    assert "other columns of the table `hunts` (extra)" in refused.refusal
    assert {row["extra"] for row in found.rows} == {None}


def broken_package(site: Path, group: str, name: str, text: str, package: str = "bad") -> None:
    attribute = ":KIND" if "\nKIND = " in text else ""
    project = f"""[project]
name = "{package}-magic"
version = "1"
[project.entry-points."magic_pipeline.{group}"]
{name} = "{package}_magic{attribute}"
"""
    install(site, {"pyproject.toml": project, f"{package}_magic.py": text})


FORMAT = """
from pipeline.formats.record_builder import build_messages
from pipeline.game_record import GameRecord, Seat, Vote
NAME, NAMES_MODELS = {name!r}, True
def claims(look):
    return NAME in look.keys
def read(look, model):
    {read}
"""


JUDGEMENT = (ROOT / "pipeline" / "metrics" / "judgement.py").read_text()
TWICE = ("formats", "x", FORMAT.format(name="twice", read="pass"))
# Packages by their group, entry point and text, and what is said of them.
BROKEN: dict[str, tuple[list[tuple[str, ...]], str]] = {
    "a game that cannot be imported": (
        [("games", "x", "1 / 0")],
        "the package bad-magic cannot be used: .*ZeroDivisionError",
    ),
    "a format that cannot be imported": (
        [("formats", "x", "1 / 0")],
        "the package bad-magic cannot be used: .*ZeroDivisionError",
    ),
    "a metric that cannot be imported": (
        [("metrics", "x", "1 / 0")],
        "the package bad-magic cannot be used: .*ZeroDivisionError",
    ),
    "one name twice": (
        [(*TWICE, "bad"), (*TWICE, "worse")],
        "bad-magic and worse-magic both have the format `twice`",
    ),
    "a name of ours": (
        [("metrics", "judgement", JUDGEMENT)],
        "magic and bad-magic both have the metric or table `judgement`",
    ),
    "the name of a column": (
        [("metrics", "n_games", JUDGEMENT)],
        "the package bad-magic: `n_games` cannot be the name of a new metric",
    ),
    "a format that lacks something": ([("formats", "x", "NAME = 'x'")], "it lacks NAMES_MODELS"),
    "a metric that lacks something": (
        [("metrics", "x", "PAPER = 1")],
        r"it needs `PAPER = Metric\(\.\.\.\)`",
    ),
    "an unknown group": (
        [("format", "x", "")],
        "entry points of the group `magic_pipeline.format`.*did you mean `magic_pipeline.formats`",
    ),
    "a table of a wrong name": (
        [("games", "x", GAME.replace('"hunts":', '"../hunts":'))],
        "of the package bad-magic: .*the name of a table has small letters",
    ),
    "a game of a wrong name": (
        [("games", "x", GAME.replace('name="stag_hunt"', 'name="all"'))],
        "of the package bad-magic: .*and is not `all`",
    ),
    "roles that are none": (
        [("games", "x", GAME.replace('"stag_hunt"),),', '"stag_hunt")),'))],
        "of the package bad-magic: .*`roles` is not a tuple of Role",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_named(case: str, sample_lake: Path, tmp_path: Path) -> None:
    packages, said = BROKEN[case]
    for package in packages:
        broken_package(tmp_path / "site", *package)
    of_formats = packages[0][0].startswith("format")
    command = ("ingest", GAMES) if of_formats else ("leaderboard", "--lake", sample_lake)
    (told,) = magic(tmp_path / "site", command)
    assert re.search(said, told.refusal), told.refusal


# A vote for a number, of which the column of a name cannot be made.
ODD_VOTE = """return GameRecord(
        game_type="chameleon", system="x", format=NAME, format_version="1", setting={},
        is_finished=False, outcome=None, n_rounds=1, messages=messages([], []),
        seats=[Seat("Ann", "m", "chameleon", True)], votes=[Vote(1, 1, None, 5)],
    )"""


# A setting that no JSON can say.
ODD_SETTING = ODD_VOTE.replace("setting={}", "setting={'x': object()}").replace("None, 5", "None")


SPLITTER = """
def splitter(path, head):
    return cut if head.startswith(b"boom") else None


def cut(content, limit):
    raise AttributeError("oops")
    yield
"""


def test_an_error_of_a_format_is_its_package_s(tmp_path: Path) -> None:
    """All games beside its files are taken in."""
    site, logs = tmp_path / "site", tmp_path / "logs"
    logs.mkdir()
    reads = ("return look.nothing", "return 7", "raise SystemError('x')", "raise SystemExit(7)")
    packages = {f"boomer{n}": read for n, read in enumerate((*reads, ODD_VOTE, ODD_SETTING))}
    for name, read in packages.items():
        text = FORMAT.format(name=name, read=read)
        broken_package(site, "formats", name, text, f"bad_{name}")
        (logs / f"{name}.json").write_text(f'{{"{name}": 1}}')
    broken_package(site, "formats", "cut", FORMAT.format(name="cut", read="pass") + SPLITTER)
    (logs / "boom.txt").write_text("boom")
    ingested, quarantine, counted = magic(
        site,
        ("ingest", logs, GAMES),
        ("quarantine", *JSON),
        ("sql", "SELECT count(*) AS n FROM games", *JSON),
    )
    assert ingested.text
    assert counted.rows == [{"n": N_GAMES}]
    faults = {row["path"]: row["message"] for row in quarantine.rows}
    assert "AttributeError: oops; this is a bug in the format cut" in faults.pop("boom.txt")
    assert faults.keys() == {f"{name}.json" for name in packages}
    for name in packages:
        message = faults[f"{name}.json"]
        assert f"the format {name} of the package bad_{name}-magic" in message
        assert "a bug in magic" not in message


@pytest.mark.parametrize(
    ("engine", "file", "right"),
    [("duckdb", "trust.sql", "prey = 'stag'"), ("polars", "trust.py", '"prey"')],
)
def test_a_metric_that_cannot_count_is_its_package_s(
    site: Path, tmp_path: Path, engine: str, file: str, right: str
) -> None:
    name = f"stag_hunt/{file}"
    assert right in FILES[name]
    wrong = FILES[name].replace(right, right.replace("prey", "pray"))
    install(tmp_path / "site", {**FILES, name: wrong})
    of = ("--lake", site.parent / "lake")
    asked = ("metrics", "--metric", "trust", "--system", "stag_hunt", "--engine", engine, *of)
    value, view = magic(tmp_path / "site", asked, ("sql", "FROM trust", *of))
    assert "`trust` of the package magic-stag-hunt cannot count: " in value.refusal
    if engine == "duckdb":
        assert "the SQL of trust, of the package magic-stag-hunt, fails: " in view.refusal
