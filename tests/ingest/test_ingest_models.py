"""Models that an ingest gives to logs that name none, by path and by player."""

import json
from pathlib import Path

import pytest
from chatarenalogs import dilemma
from rawlogs import chatarena, encode, prisoners_dilemma

from pipeline.cli import main
from pipeline.errors import SourceError, UsageError
from pipeline.ingest import IngestSummary, ingest, worker
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


def rehearse(logs: Path, model: ModelsOf) -> IngestSummary:
    """What `read` would tell, for less time."""
    return ingest(logs, logs.parent / "lake", model=model, jobs=1, dry_run=True)


def models(logs: Path) -> dict[str, list[str | None]]:
    """The models of each game's players, by path."""
    rows = open_lake(logs.parent / "lake").table("players").sort("seat").collect()
    games = open_lake(logs.parent / "lake").table("games").select("game_id", "path").collect()
    return {
        path: rows.filter(game_id=game_id)["model"].to_list() for game_id, path in games.iter_rows()
    }


def test_models_by_path_and_by_player(logs: Path) -> None:
    report = read(logs, {"x/*": "one", "z/*": SEATED, "*": "rest"})
    assert report.statuses["ingested"] == 4
    found = models(logs)
    named = found.pop("z/2.json")
    assert set(named).isdisjoint({"a", "b"})
    assert found == {"x/1.json": ["one"] * 3, "y/1.json": ["rest"] * 3, "z/1.json": ["a", "b", "a"]}


def test_players_of_two_models_compete(logs: Path) -> None:
    read(logs, {"*": SEATED})
    games = open_lake(logs.parent / "lake").table("games").filter(path="x/1.json")
    rows = open_lake(logs.parent / "lake").table("results").join(games, on="game_id", how="semi")
    found = set(rows.select("model", "role", "seat", "win_credit").collect().iter_rows())
    assert found == {("b", "chameleon", 2, 1.0), ("a", "non_chameleon", None, 0.0)}


@pytest.mark.slow
def test_the_same_models_again_are_the_same_games(logs: Path) -> None:
    given = {"x/*": "one", "*": SEATED}
    read(logs, given)
    assert read(logs, given).statuses["unchanged"] == 4
    again = {"x/?.json": "one", "*": dict(reversed(SEATED.items()))}
    assert read(logs, again).statuses["unchanged"] == 4
    assert read(logs, None).statuses["unchanged"] == 4


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


@pytest.mark.slow
def test_logs_that_name_their_models_are_looked_for_once(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve logs of as many given models; then twelve others, and at last all, with none given."""
    tried: list[str] = []
    of_game = worker.game_id

    def noted(sha256: str, index: int | None, model: str | None) -> str:
        tried.append(sha256)
        return of_game(sha256, index, model)

    monkeypatch.setattr("pipeline.ingest.worker.game_id", noted)
    for number in range(12):
        (logs / "x" / f"{number}.json").write_bytes(encode(chatarena()) + b" " * number)
    given = {f"x/{number}.json": f"m{number}" for number in range(12)}
    read(logs, {**given, "*": "rest"})
    others = logs.parent / "others"
    others.mkdir()
    for number in range(12):
        (others / f"{number}.json").write_bytes(encode(prisoners_dilemma(model=f"own{number}")))
    tried.clear()
    assert ingest(others, logs.parent / "lake", jobs=1).statuses["ingested"] == 12
    assert len(tried) == 12
    again = read(logs, None)
    assert (again.statuses["unchanged"], again.n_known_by_content) == (15, 14)
    assert models(logs)["x/11.json"] == ["m11"] * 3


def test_what_no_pattern_is_for_is_refused(logs: Path) -> None:
    report = rehearse(logs, {"x/*": "one"})
    assert report.statuses["quarantined"] == 2
    assert set(report.faults["path"]) == {"y/1.json", "z/1.json"}
    assert report.faults["message"].str.contains("--models-from").all()


def test_a_player_without_a_model_is_refused(logs: Path) -> None:
    report = rehearse(logs, {"*": {"Player 1": "a", "Player 3": "b"}})
    assert set(report.faults["message"]) == {"nothing names that of Player 2"}


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
