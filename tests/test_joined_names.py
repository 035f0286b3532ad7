"""Joined names of models: a lake counts as one whose logs had these names from the start."""

import json
import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import assert_same
from joined_logs import NAMES, hashed, joined_bytes, magic_logs, other_logs

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import PipelineError, SourceError, UsageError
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest import ingest
from pipeline.lake import reopen_lake
from pipeline.lake.stored_lake import load_model_names


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lakes of the same logs: `joined` has one name for each model, `apart` has several."""
    top = tmp_path_factory.mktemp("names")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipeline.ingest.decode.sha256", hashed)
        magic_logs(top / "logs" / "magic")
        other_logs(top / "logs" / "other")
        ingest(top / "logs", top / "apart", jobs=1)
        for file in (top / "logs").rglob("*.json*"):
            file.write_bytes(joined_bytes(file.read_bytes()))
        ingest(top / "logs", top / "joined", jobs=1)
    return top


@cache
def both(place: Path, system: str) -> tuple[Lake, Lake]:
    """The lake whose names are joined when it is asked, and the one that has them from its logs."""
    apart = pipeline.open_lake(place / "apart", names=NAMES)
    return apart.for_system(system), pipeline.open_lake(place / "joined").for_system(system)


ANSWERS: dict[str, Callable[[Lake], Any]] = {
    "metrics": lambda lake: lake.metrics(by=["model", "opponent"]),
    "metrics by SQL": lambda lake: lake.metrics(engine="duckdb"),
    "metrics of release": lambda lake: lake.metrics(edition="release"),
    "leaderboard": lambda lake: lake.leaderboard(),
    "leaderboard by role": lambda lake: lake.leaderboard(by="role"),
    "compare": lambda lake: lake.compare(),
    "completeness": lambda lake: lake.completeness(),
    "missing": lambda lake: lake.missing(),
    "evidence": lambda lake: lake.evidence("win_rate"),
    "evidence release": lambda lake: lake.evidence("deception", edition="release"),
    "audit by model": lambda lake: lake.audit(by=["model"]),
    "games": lambda lake: lake.games().drop("ingest_id", strict=False),
    "search": lambda lake: lake.search("I").rows,
    "findings": lambda lake: lake.findings("outcomes"),
    "models": lambda lake: lake.models(),
    "ratings": lambda lake: lake.ratings(),
}


@pytest.mark.parametrize("system", ["magic", "example"])
@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_of_logs_with_these_names(place: Path, system: str, name: str) -> None:
    """Every value, interval, comparison, number of games, row behind a value and contradiction."""
    apart, joined = both(place, system)
    try:
        expected = ANSWERS[name](joined)
    except PipelineError as error:
        with pytest.raises(type(error)) as found:
            ANSWERS[name](apart)
        assert str(found.value) == str(error)
        return
    found = ANSWERS[name](apart)
    assert_same(found.drop("joined_names", strict=False), expected)


@pytest.mark.some(1)
@pytest.mark.parametrize("system", ["magic", "example"])
def test_rows_are_those_of_logs_with_these_names(place: Path, system: str) -> None:
    """Of every table, by polars and by DuckDB."""
    apart, joined = both(place, system)
    unlike = ("content_id", "ingest_id")
    for table in GAME_TABLES:
        expected = joined.table(table).drop(unlike, strict=False).collect()
        for rows in (apart.table(table).collect(), apart.sql(f"FROM {table}")):
            found = rows.drop(unlike, strict=False)
            assert found.columns == expected.columns
            assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (found, expected)))


def test_nothing_that_is_stored_changes(place: Path) -> None:
    """The same lake without names has all of them, and more results: each is undone by leaving
    it out."""
    apart, joined = pipeline.open_lake(place / "apart"), pipeline.open_lake(place / "joined")
    assert set(NAMES) <= set(apart.models()["model"])
    assert apart.table("results").collect().height > joined.table("results").collect().height
    assert apart.with_names(NAMES).with_names({}).models().equals(apart.models())
    assert "joined_names" not in apart.leaderboard().columns


def test_a_lake_with_names_is_that_everywhere(place: Path) -> None:
    lake = pipeline.open_lake(place / "apart", names=NAMES)
    copy = pickle.loads(pickle.dumps(lake))
    assert copy.names == reopen_lake(lake).names == lake.for_system("magic").names == NAMES
    assert copy.state == lake.state != pipeline.open_lake(place / "apart").state
    # In the games of one system only the names that these games have.
    said = '"a\'"z/gpt-4" as "gpt-4"; "openai/sim-atlas" as "sim-atlas"'
    assert set(lake.leaderboard()["joined_names"]) == {said}
    assert set(lake.metrics(by=["system", "model"])["joined_names"]) == {
        '"Model-A" as "model-a"; ' + said
    }
    for text in (lake.cite().text, lake.present("leaderboard").markdown()):
        assert said in text
    assert "joined names" in lake.present("games").markdown()
    assert "Names of models that are joined" in lake.page("models").html
    assert "Names of models" not in pipeline.open_lake(place / "joined").page("models").html


WRONG = {
    "not TOML": ("models", "not TOML"),
    "another table": ('[model]\n"a" = "b"', "`model` is an unknown entry"),
    "no table": ("", "there are no model names"),
    "no table of names": ("models = 1", "there are no model names"),
    "no text": ('[models]\n"a" = 1', "the name for 'a' must be a string, not 1"),
    "a name that is cut at its dots": (
        '[models]\ngpt-4.1 = "x"',
        "not {'1': 'x'}: write a name with a dot in quotes, as \"gpt-4.1\"",
    ),
    "a name with two dots": ('[models]\na.b.c = "x"', 'in quotes, as "a.b.c"'),
    "an empty name": ('[models]\n"a" = " "', "the name for 'a' must be a string, not ' '"),
    "a chain": ('[models]\n"a" = "b"\n"b" = "c"', '"a" becomes "b", which becomes "c"'),
    "a circle": ('[models]\n"a" = "b"\n"b" = "a"', '"a" becomes "b", which becomes "a"'),
    "a name twice": ('[models]\n"a" = "b"\n"a" = "c"', "not TOML"),
    "not UTF-8": (b'[models]\n"\xff" = "b"', "not TOML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_map_is_refused_with_its_file_and_key(tmp_path: Path, name: str) -> None:
    text, expected = WRONG[name]
    (file := tmp_path / "n.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=re.escape(expected)) as error:
        load_model_names(file)
    assert str(error.value).startswith(f"{file}: ")


def test_a_map_that_is_read_or_is_not_there(tmp_path: Path) -> None:
    """It may begin with a byte order mark."""
    (tmp_path / "names.toml").write_text('[models]\n"a" = "b"\n', encoding="utf-8-sig")
    assert load_model_names(tmp_path / "names.toml") == {"a": "b"}
    with pytest.raises(SourceError, match=r"n\.toml: No such file"):
        load_model_names(tmp_path / "n.toml")
    assert load_model_names({"a": "b", "b": "b"}) == {"a": "b"}
    with pytest.raises(UsageError, match="names: the name for 1 must"):
        load_model_names({1: "b"})  # type: ignore[dict-item]


COMMANDS = {
    "leaderboard": ["leaderboard"],
    "metrics": ["metrics", "--metric", "win_rate"],
    "evidence": ["evidence", "win_rate", "--limit", "3"],
    "games": ["games", "--model", "sim-atlas", "--limit", "3"],
    "sql": ["sql", "SELECT DISTINCT model FROM players ORDER BY ALL"],
    "models": ["models"],
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_counts_joined_names_and_says_so(
    place: Path, tmp_path: Path, capsys: Any, queries_here: None, name: str
) -> None:
    """A name that the lake lacks is a note: one map may be for several lakes."""
    lines = [f"{json.dumps(key)} = {json.dumps(one)}" for key, one in (NAMES | {"x": "y"}).items()]
    (file := tmp_path / "names.toml").write_text("\n".join(["[models]", *lines]))
    command = [*COMMANDS[name], "--format", "json"]
    assert main([*command, "--lake", str(place / "joined")]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main([*command, "--lake", str(place / "apart"), "--names", str(file)]) == 0
    said = capsys.readouterr()
    found = [{k: v for k, v in row.items() if k != "joined_names"} for row in json.loads(said.out)]
    assert found == expected
    assert f"model names merged by {file}" in said.err
    assert f'a model "x"; `magic models --lake {place / "apart"}` lists' in said.err


PAGES: dict[str, dict[str, str]] = {
    "leaderboard": {},
    "metric": {"metric": "win_rate"},
    "model": {"model": "sim-atlas"},
    "compare": {"model": "sim-atlas", "other": "sim-birch-pgm"},
    "games": {"model": "sim-atlas"},
    "search": {"words": "vote"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_pages_count_joined_names_and_say_so(place: Path, name: str) -> None:
    lakes = pipeline.open_lake(place / "apart", names=NAMES), pipeline.open_lake(place / "joined")
    found, expected = (lake.page(name, **PAGES[name]) for lake in lakes)
    assert_same(found.rows.drop("joined_names", strict=False), expected.rows)
    assert ["Names of models that" in one.html for one in (found, expected)] == [True, False]
