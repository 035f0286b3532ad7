"""Models that an ingest gives to logs that name none, by path and by player."""

import json
from pathlib import Path

import pytest
from chatarenalogs import dilemma
from rawlogs import chatarena, encode, prisoners_dilemma

from pipeline.cli import main
from pipeline.errors import SourceError, UsageError
from pipeline.ingest import IngestSummary, ingest
from pipeline.ingest.decode import AssignedModels, ModelsOf, read_models_by_path_pattern
from pipeline.lake import open_lake

SEATED = {"Player 1": "a", "Player 2": "b", "Player 3": "a"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The same log in two folders, another one, and one that names its models."""
    top = tmp_path / "logs"
    for path, log in {
        "x/1.json": chatarena(),
        "y/1.json": chatarena(ending="tie"),
        "z/1.json": dilemma(),
        "z/2.json": prisoners_dilemma(),
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(encode(log))
    return top


def read(logs: Path, model: str | ModelsOf | None) -> IngestSummary:
    return ingest(logs, logs.parent / "lake", model=model, jobs=1)


def models(logs: Path) -> dict[str, list[str | None]]:
    """The models of each game's players, by path."""
    rows = open_lake(logs.parent / "lake").table("players").sort("seat").collect()
    games = open_lake(logs.parent / "lake").table("games").select("game_id", "path").collect()
    return {
        path: rows.filter(game_id=game_id)["model"].to_list() for game_id, path in games.iter_rows()
    }


def test_models_by_path_and_by_player(logs: Path) -> None:
    """Players of two models compete."""
    report = read(logs, {"y/*": "one", "*": SEATED})
    assert report.statuses["ingested"] == 4
    found = models(logs)
    named = found.pop("z/2.json")
    assert set(named).isdisjoint({"a", "b"})
    seated = ["a", "b", "a"]
    assert found == {"x/1.json": seated, "y/1.json": ["one"] * 3, "z/1.json": seated}
    games = open_lake(logs.parent / "lake").table("games").filter(path="x/1.json")
    rows = open_lake(logs.parent / "lake").table("results").join(games, on="game_id", how="semi")
    results = set(rows.select("model", "role", "seat", "win_credit").collect().iter_rows())
    assert results == {("b", "chameleon", 2, 1.0), ("a", "non_chameleon", None, 0.0)}


@pytest.mark.slow
def test_a_model_by_path_is_the_same_as_for_all(logs: Path) -> None:
    """An ingest notes what it gave, so that a large archive is read again when that differs."""
    read(logs, {"*": "one"})
    report = read(logs, {"x/*": "one", "*": "two"})
    assert report.statuses["unchanged"] == 2
    assert models(logs)["x/1.json"] == ["one"] * 3
    assert models(logs)["y/1.json"] == ["two"] * 3
    ingests = open_lake(logs.parent / "lake").table("ingests").sort("ingest_id").collect()
    same, other = ingests["assigned_model"]
    assert same == "one"
    assert json.loads(other) == {"x/*": "one", "*": "two"}


def test_what_has_no_model_is_refused(logs: Path) -> None:
    """A log that no pattern is for, and one whose pattern leaves out a player."""
    given: ModelsOf = {"x/*": "one", "y/*": {"Player 1": "a", "Player 3": "b"}}
    report = ingest(logs, logs.parent / "lake", model=given, jobs=1, dry_run=True)
    assert report.statuses["quarantined"] == 2
    messages = dict(report.faults.select("path", "message").iter_rows())
    assert messages.keys() == {"y/1.json", "z/1.json"}
    assert messages["y/1.json"] == "nothing names that of Player 2"
    assert "--models-from" in messages["z/1.json"]


def test_the_part_of_a_file_has_the_path_of_the_file() -> None:
    given = AssignedModels.from_model_argument({"*/a.txt": "one", "*.csv": "two"})
    assert [given.model_at_path(path) for path in ("x/a.txt#7", "b.csv", "b.csv#1", "c")] == [
        "one",
        "two",
        "two",
        None,
    ]


def test_a_file_of_models_is_toml_or_json(tmp_path: Path) -> None:
    players = "\n".join(f'"{player}" = "{model}"' for player, model in SEATED.items())
    given = {"x/*": "one", "*": SEATED}
    for name, text in {
        "models.toml": f'"x/*" = "one"\n["*"]\n{players}\n',
        "models.json": json.dumps(given),
    }.items():
        (tmp_path / name).write_text(text)
        assert read_models_by_path_pattern(tmp_path / name) == given


@pytest.mark.slow
def test_what_lacked_a_model_is_read_with_one(logs: Path) -> None:
    lake = ["--lake", str(logs.parent / "lake")]
    assert main(["ingest", str(logs), *lake]) == 0
    assert models(logs).keys() == {"z/2.json"}
    file = logs.parent / "models.json"
    file.write_text(json.dumps({"x/*": "one", "z/*": SEATED}))
    assert main(["ingest", str(logs), "--models-from", str(file), *lake]) == 0
    found = models(logs)
    assert (found["x/1.json"], found["z/1.json"]) == (["one"] * 3, ["a", "b", "a"])
    assert "y/1.json" not in found
    given = ["--models-from", str(file), "--model", "rest"]
    assert main(["ingest", str(logs), *given, *lake]) == 0
    assert models(logs)["y/1.json"] == ["rest"] * 3
    assert models(logs).keys() == {*found, "y/1.json"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", "[]"),
        ("m.json", '{"*": 1}'),
        ("m.json", "{"),
        ("m.json", '{"*": {"Player 1": null}}'),
        ("m.toml", '"*" = 1'),
        ("m.toml", "* = "),
        ("m.toml", b"\xff"),
    ],
)
def test_a_file_of_something_else_is_an_error(tmp_path: Path, name: str, text: str | bytes) -> None:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=f"{name}: the file must map"):
        read_models_by_path_pattern(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.json: No such file"):
        read_models_by_path_pattern(tmp_path / "none.json")


@pytest.mark.parametrize("model", ["", {"*": " "}, {"*": {}}, {"*": {"Player 1": ""}}])
def test_a_model_needs_a_name(model: str | ModelsOf) -> None:
    with pytest.raises(UsageError, match="empty"):
        AssignedModels.from_model_argument(model)
