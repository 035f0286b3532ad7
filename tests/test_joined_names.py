"""Joined names of models: a lake counts as one whose logs had these names from the start."""

import json
import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import assert_same
from logs import interchange

import pipeline
from pipeline.api import Lake
from pipeline.errors import PipelineError, UsageError
from pipeline.events.contracts import GAME_TABLES
from pipeline.events.identity import sha256
from pipeline.ingest import ingest
from pipeline.lake.joining import names_of
from pipeline.metrics.known import names as metric_names
from pipeline.reports.audit import TITLES
from pipeline.reports.views import views
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS

NAMES = {"openai/sim-atlas": "sim-atlas", "a'\"z/gpt-4": "gpt-4", "Model-A": "model-a"}
SAME = "sim-atlas"
# The seats of a werewolf game: who is whom decides which of them are one side after all.
SEATS = [
    ["model-b", "Model-A", "model-a", None, "model-b"],
    ["model-a", "Model-A", "model-a", None, "Model-A"],
    ["model-b", "Model-A", "model-b", "Model-A", "model-a"],
    ["Model-A", "model-b", "model-b", None, "model-a"],
]


def _joined(data: bytes) -> bytes:
    for name, one in NAMES.items():
        data = data.replace(json.dumps(name)[1:-1].encode(), one.encode())
    return data


def _hash(data: bytes) -> str:
    """Of both spellings one, so that games have the same ids in both lakes."""
    return sha256(_joined(data))


def _magic_logs(folder: Path) -> None:
    """Simulated logs, of which every second one has other names."""
    simulate(folder, models=3, games=4, seed=3)
    for file in sorted((folder / "results").rglob("*[13].json")):
        data = file.read_bytes()
        for name, one in NAMES.items():
            spelling = json.dumps(name)[1:-1]
            data = data.replace(f'"{one}"'.encode(), f'"{spelling}"'.encode())
        file.write_bytes(data)


def _other_logs(folder: Path) -> None:
    """Games in which seats of one model have different names, on one side or on two."""
    logs: list[Any] = []
    for models in SEATS:
        for ending in ("villagers_won", "werewolves_won"):
            logs.append(log := deepcopy(interchange.WEREWOLF))
            log["end"], log["setting"] = {"outcome": ending}, {"number": len(logs)}
            for seat, model in zip(log["seats"], models, strict=True):
                seat.update({"model": model} if model else {})
    for models in (["model-a", "Model-A"], ["Model-A", "model-b"]):
        logs.append(log := deepcopy(interchange.PUBLIC_GOOD))
        for seat, model in zip(log["seats"], models, strict=True):
            seat["model"] = model
    folder.mkdir(parents=True)
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, logs)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lakes of the same logs: `joined` has one name for each model, `apart` has several."""
    top = tmp_path_factory.mktemp("names")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipeline.ingest.decode.sha256", _hash)
        _magic_logs(top / "logs" / "magic")
        _other_logs(top / "logs" / "other")
        ingest(top / "logs", top / "apart", jobs=1)
        for file in (top / "logs").rglob("*.json*"):
            file.write_bytes(_joined(file.read_bytes()))
        ingest(top / "logs", top / "joined", jobs=1)
    return top


@cache
def both(place: Path, system: str) -> tuple[Lake, Lake]:
    """The lake whose names are joined when it is asked, and the one that has them from its logs."""
    apart = pipeline.open_lake(place / "apart", names=NAMES)
    return apart.of_system(system), pipeline.open_lake(place / "joined").of_system(system)


ANSWERS: dict[str, Callable[[Lake], Any]] = {
    **{
        f"metrics, {engine}, {edition}, {by}": lambda lake, **asked: lake.metrics(**asked)
        for engine in ("polars", "duckdb")
        for edition in EDITIONS
        for by in ("model,game_type", "model,opponent", "role")
        if by == "model,game_type" or edition == "paper"
    },
    "leaderboard": lambda lake: lake.leaderboard(),
    "board": lambda lake: lake.board().values,
    "compare": lambda lake: lake.compare(),
    "completeness": lambda lake: lake.completeness(),
    "missing": lambda lake: lake.missing(),
    "readability": lambda lake: lake.readability(),
    "evidence release": lambda lake: lake.evidence("deception", edition="release"),
    "page of evidence": lambda lake: lake.evidence_page("win_rate", limit=7),
    "audit": lambda lake: lake.audit(),
    "audit by model": lambda lake: lake.audit(by=["model"]),
    "games": lambda lake: lake.games().drop("ingest_id", strict=False),
    "search": lambda lake: lake.search("I").rows,
    "models": lambda lake: lake.models(),
    "plan": lambda lake: lake.plan("win_rate", difference=0.1),
    **{
        f"evidence {name}": lambda lake, name=name: lake.evidence(name)
        for name in metric_names("paper")
    },
}


def answer(lake: Lake, name: str) -> pl.DataFrame:
    if name.startswith("metrics"):
        _, engine, edition, by = name.split(", ")
        return lake.metrics(engine=engine, edition=edition, by=by.split(","))
    return ANSWERS[name](lake)


@pytest.mark.parametrize("system", ["magic", "example"])
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_of_logs_with_these_names(place: Path, system: str, name: str) -> None:
    """Every value, interval, comparison, number of games, row behind a value and contradiction."""
    apart, joined = both(place, system)
    try:
        expected = answer(joined, name)
    except PipelineError as error:
        with pytest.raises(type(error)) as found:
            answer(apart, name)
        assert str(found.value) == str(error)
        return
    found = answer(apart, name)
    assert_same(found.drop("joined_names", strict=False), expected)


@pytest.mark.parametrize("system", ["magic", "example"])
def test_rows_are_those_of_logs_with_these_names(place: Path, system: str) -> None:
    """Of every table and view, by polars and by DuckDB."""
    apart, joined = both(place, system)
    unlike = ("content_id", "ingest_id")
    for table in GAME_TABLES:
        expected = joined.table(table).drop(unlike, strict=False).collect()
        for rows in (apart.table(table).collect(), apart.sql(f"FROM {table}")):
            found = rows.drop(unlike, strict=False)
            assert found.columns == expected.columns
            assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (found, expected)))
    with apart.connect() as one, joined.connect() as other:
        for view in views():
            found, expected = (each.sql(f"FROM {view}").pl() for each in (one, other))
            assert_same(*(each.sort(pl.all(), nulls_last=True) for each in (found, expected)))


def test_kinds_of_findings(place: Path) -> None:
    for system in ("magic", "example"):
        apart, joined = both(place, system)
        for kind in TITLES:
            assert_same(apart.findings(kind), joined.findings(kind))
