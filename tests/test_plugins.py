"""Packages that add a format, a game and a metric: that of docs/plugins.md, and broken ones."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import forked
import pytest

from pipeline.lake import open_lake

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"^`(?P<path>[\w/.]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
FILES = {found["path"]: found["text"] for found in _BLOCK.finditer(PAGE)}
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


class Told(forked.Told):
    """What came of a command."""

    @property
    def text(self) -> str:
        """What it printed, if it is well."""
        assert self.code == 0, self.err
        return self.out

    @property
    def rows(self) -> list[dict]:
        """The rows that it printed as JSON."""
        return json.loads(self.text)

    @property
    def refusal(self) -> str:
        """What it says, if it fails as it should: one line."""
        assert self.code == 1, self.err
        assert self.out == ""
        (line,) = self.err.splitlines()
        return line


def magic(site: Path, *commands: Sequence[object], with_queries_apart: bool = False) -> list[Told]:
    """What came of commands, one after the other in a process."""
    words = [[*map(str, command)] for command in commands]
    told = forked.commands(site, words, with_queries_apart=with_queries_apart)
    return [Told(*one) for one in told]


def refusal(site: Path, *arguments: object) -> str:
    """What a command says that fails: one line."""
    (told,) = magic(site, arguments)
    return told.refusal


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


def game_of(site: Path, game_type: str) -> str:
    """The id of a game of the lake."""
    games = open_lake(site.parent / "lake").table("games").filter(game_type=game_type)
    return str(games.collect()["game_id"][0])


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
    assert [(row["model"], row["value"], row["counted"]) for row in told[engine].rows] == [
        ("model-a", 1.0, 2), ("model-b", 0.5, 2)
    ]  # fmt: skip


def test_evidence_view_and_leaderboard(told: dict[str, Told]) -> None:
    assert [row["what"] for row in told["evidence"].rows] == ["stag", "stag", "hare", "stag"]
    assert told["view"].rows == [{"n": 3}]
    assert "trust" in told["leaderboard"].rows[0]


def test_the_table(told: dict[str, Told]) -> None:
    assert set(told["choices"].rows[0]) == {"prey", "points", "content"}
    sizes = {row["table"]: row["n_rows"] for row in told["tables"].rows}
    assert sizes["hunts"] == 4
    described = {row["column"]: row["description"] for row in told["schema"].rows}
    assert described["prey"] == "what the player hunts"
    assert "Hunts" in told["interchange"].text


def test_the_game(told: dict[str, Told]) -> None:
    assert "Together!" in told["show"].text
    assert "hare" in told["show"].text
    assert told["verify"].text


def test_it_is_part_of_what_an_ingest_records(site: Path) -> None:
    code = "from pipeline.provenance import hash_ingest_code; print(hash_ingest_code())"
    before = forked.program(site, code)
    sql = site / "stag_hunt" / "trust.sql"
    text = sql.read_text()
    try:
        sql.write_text(text + "-- changed\n")
        assert forked.program(site, code) != before
    finally:
        sql.write_text(text)
    assert forked.program(site, code) == before
    assert forked.program(site.parent, code) != before


def test_a_lake_without_its_package(site: Path, tmp_path: Path) -> None:
    bare = tmp_path / "site"
    bare.mkdir()
    of = ("--lake", site.parent / "lake")
    tables, played, values, verified, ingested = magic(
        bare,
        ("tables", *of),
        ("sql", "SELECT DISTINCT game_type FROM games", *of, *JSON),
        ("metrics", "--metric", "win_rate", *of, *JSON),
        ("verify", *of, *JSON),
        ("ingest", GAMES, *of),
    )
    assert tables.text
    assert "not listed: hunts, because a package is not installed" in tables.err
    assert "stag_hunt" in {row["game_type"] for row in played.rows}
    assert values.rows
    assert {(one["check"], one["severity"]) for one in verified.rows} == {
        ("not_installed", "warning")
    }
    assert "tables of a package that is not installed: hunts" in ingested.refusal


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


def lacking(told: Told) -> list[str]:
    """What a command says of a package that is not installed."""
    lines = f"{told.text}\n{told.err}".splitlines()
    return [line for line in lines if "that is not installed: no metric" in line]


def test_numbers_without_a_package_say_what_they_lack(site: Path, tmp_path: Path) -> None:
    """Below metrics and completeness, and below a game of the package, but not below another."""
    lake, bare = site.parent / "lake", tmp_path / "site"
    bare.mkdir()
    own, other = game_of(site, "stag_hunt"), game_of(site, "undercover")
    of = ("--lake", lake)
    commands = [
        ("metrics", "--metric", "win_rate", "--system", "magic", *of),
        ("completeness", *of, "--format", "markdown"),
        ("show", own, *of, "--format", "text"),
        ("show", own, *of, "--format", "markdown"),
        ("show", other, *of),
    ]
    (of_metrics,), (of_completeness,), *of_own, of_other = map(lacking, magic(bare, *commands))
    for line in (of_metrics, of_completeness):
        assert "the lake has games of stag_hunt, of a package" in line
        assert "their own tables (hunts) are not read" in line
    assert [*map(len, of_own)] == [1, 1]
    assert of_other == []
    assert [*map(lacking, magic(site, *commands))] == [[]] * 5


def test_pages_without_a_package_say_what_they_lack(site: Path, tmp_path: Path) -> None:
    """Nobody knows a game's kind there: its roles are hidden as in a game with sides."""
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
assert "Together!" in lake.page("game", game=own).html
"""
    assert forked.program(bare, code) == f"{pages!r}\nTrue False\n"
    code = code.replace(f"{pages!r}", "['completeness']")
    assert forked.program(site, code) == "[]\nFalse False\n"


def test_another_version_of_a_package_with_other_columns(site: Path, tmp_path: Path) -> None:
    """What differs is not written into the table, and a new column reads as null."""
    lake, other = site.parent / "lake", tmp_path / "site"
    shutil.copytree(site, other)
    place = other / "stag_hunt" / "game.py"
    text = place.read_text()
    line = '            "extra": column.text_column("something new", nullable=True),\n'
    first = next(one for one in text.splitlines(keepends=True) if '"prey": column' in one)
    text = text.replace(first, line + first)
    field = "    points: float | None\n"
    assert text.count(field) == 1
    place.write_text(text.replace(field, f"{field}    extra: str | None = None\n"))
    refused, found = magic(
        other,
        ("ingest", GAMES, "--lake", lake),
        ("sql", "SELECT extra, prey FROM hunts", "--lake", lake, *JSON),
    )
    assert "other columns of the table `hunts` (extra)" in refused.refusal
    row = found.rows[0]
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
def test_a_package_that_cannot_be_imported_is_named(
    sample_lake: Path, tmp_path: Path, group: str
) -> None:
    broken_package(tmp_path / "site", group, "x", "1 / 0")
    of = ["--lake", sample_lake]
    command = {
        "games": ["tables", *of],
        "formats": ["ingest", GAMES],
        "metrics": ["leaderboard", *of],
    }
    line = refusal(tmp_path / "site", *command[group])
    assert "the package bad-magic cannot be used" in line
    assert "ZeroDivisionError" in line


FORMAT = """
from pipeline.formats.record_builder import build_messages
from pipeline.game_record import GameRecord, Seat, Vote
NAME, NAMES_MODELS = {name!r}, True
def claims(look):
    return NAME in look.keys
def read(look, model):
    {read}
"""


def test_two_packages_of_one_name_are_both_named(tmp_path: Path) -> None:
    for package in ("bad", "worse"):
        text = FORMAT.format(name="twice", read="pass")
        broken_package(tmp_path / "site", "formats", "x", text, package)
    line = refusal(tmp_path / "site", "ingest", GAMES)
    assert "bad-magic and worse-magic both have the format `twice`" in line


def test_a_name_of_ours_is_taken(sample_lake: Path, tmp_path: Path) -> None:
    text = (ROOT / "pipeline" / "metrics" / "judgement.py").read_text()
    broken_package(tmp_path / "site", "metrics", "judgement", text)
    line = refusal(tmp_path / "site", "leaderboard", "--lake", sample_lake)
    assert "magic and bad-magic both have the metric or table `judgement`" in line
    broken_package(tmp_path / "other", "metrics", "n_games", text)
    line = refusal(tmp_path / "other", "leaderboard", "--lake", sample_lake)
    assert "n_games of the package bad-magic: `n_games` cannot be the name of a new metric" in line


# A vote for a number, of which the column of a name cannot be made.
ODD_VOTE = """return GameRecord(
        game_type="chameleon", system="x", format=NAME, format_version="1", setting={},
        is_finished=False, outcome=None, n_rounds=1, messages=messages([], []),
        seats=[Seat("Ann", "m", "chameleon", True)], votes=[Vote(1, 1, None, 5)],
    )"""


# A setting that no JSON can say.
ODD_SETTING = ODD_VOTE.replace("setting={}", "setting={'x': object()}").replace("None, 5", "None")


def faults_beside_games(site: Path, logs: Path) -> list[dict]:
    """What is quarantined of these logs by an ingest, which has all games beside them."""
    ingested, quarantine, counted = magic(
        site,
        ("ingest", logs, GAMES),
        ("quarantine", *JSON),
        ("sql", "SELECT count(*) AS n FROM games", *JSON),
    )
    assert ingested.text
    assert counted.rows == [{"n": N_GAMES}]
    return quarantine.rows


def test_an_error_of_a_format_is_its_package_s(tmp_path: Path) -> None:
    site = tmp_path / "site"
    reads = ("return look.nothing", "return 7", "raise SystemError('x')", "raise SystemExit(7)")
    packages = {f"boomer{n}": read for n, read in enumerate((*reads, ODD_VOTE, ODD_SETTING))}
    (tmp_path / "logs").mkdir()
    for name, read in packages.items():
        broken_package(site, "formats", name, FORMAT.format(name=name, read=read), f"bad_{name}")
        (tmp_path / "logs" / f"{name}.json").write_text(f'{{"{name}": 1}}')
    faults = {row["path"]: row["message"] for row in faults_beside_games(site, tmp_path / "logs")}
    assert faults.keys() == {f"{name}.json" for name in packages}
    for name in packages:
        message = faults[f"{name}.json"]
        assert f"the format {name} of the package bad_{name}-magic" in message
        assert "a bug in magic" not in message


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
    (fault,) = faults_beside_games(site, tmp_path / "boom.txt")
    assert "AttributeError: oops; this is a bug in the format boomer" in fault["message"]


def test_what_lacks_something_is_no_format_or_metric(sample_lake: Path, tmp_path: Path) -> None:
    broken_package(tmp_path / "site", "formats", "x", "NAME = 'x'")
    assert "it lacks NAMES_MODELS" in refusal(tmp_path / "site", "ingest", GAMES)
    broken_package(tmp_path / "other", "metrics", "x", "PAPER = 1")
    line = refusal(tmp_path / "other", "leaderboard", "--lake", sample_lake)
    assert "it needs `PAPER = Metric(...)`" in line


def test_a_mistake_of_a_game_is_named_when_it_is_loaded(sample_lake: Path, tmp_path: Path) -> None:
    text = FILES["stag_hunt/game.py"]
    for name, before, after, mistake in (
        ("folder", '"hunts":', '"../hunts":', "the name of a table has small letters"),
        ("all", 'name="stag_hunt"', 'name="all"', "and is not `all`"),
        ("comma", '"stag_hunt"),),', '"stag_hunt")),', "`roles` is not a tuple of Role"),
    ):
        site = tmp_path / name
        assert text.count(before) == 1
        broken_package(site, "games", "x", text.replace(before, after))
        points = next(site.glob("*.dist-info/entry_points.txt"))
        points.write_text(points.read_text().replace("bad_magic", "bad_magic:KIND"))
        line = refusal(site, "tables", "--lake", sample_lake)
        assert " of the package bad-magic: " in line
        assert mistake in line


@pytest.mark.some(2)
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
    of = ("--lake", site.parent / "lake")
    asked = ("metrics", "--metric", "trust", "--system", "stag_hunt", "--engine", engine, *of)
    value, view = magic(tmp_path / "site", asked, ("sql", "FROM trust", *of))
    assert "`trust` of the package magic-stag-hunt cannot count: " in value.refusal
    if engine == "duckdb":
        assert "the SQL of trust, of the package magic-stag-hunt, fails: " in view.refusal


def test_an_unknown_group_of_entry_points_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    broken_package(site, "formats", "x", FORMAT.format(name="boomer", read="return None"))
    points = next(site.glob("*.dist-info/entry_points.txt"))
    points.write_text(points.read_text().replace("magic_pipeline.formats", "magic_pipeline.format"))
    line = refusal(site, "ingest", GAMES)
    assert "the package bad-magic has entry points of the group `magic_pipeline.format`" in line
    assert "did you mean `magic_pipeline.formats`?" in line


def test_a_damaged_file_is_no_fault_of_a_package(site: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(site.parent / "lake", tmp_path / "lake")
    for file in (lake / "hunts").glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-20])
    asked = ("metrics", "--metric", "trust", "--system", "stag_hunt", "--lake", lake, "--engine")
    for told in magic(site, *((*asked, engine) for engine in ("polars", "duckdb"))):
        assert "cannot be read: " in told.refusal
        assert "run `magic verify" in told.refusal
        assert "magic-stag-hunt" not in told.refusal
