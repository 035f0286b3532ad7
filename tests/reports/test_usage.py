"""What models used, held against a plain loop over the games as they were written."""

import json
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest
from dilemmas import lake_of_documents

from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.formats.interchange import EXAMPLE

MEASURES = ("input_tokens", "output_tokens", "seconds", "cost")


@pytest.fixture(scope="module")
def games() -> list[dict[str, Any]]:
    """In each some seats say some of it, and zero is an amount."""
    dice = Random(5)
    games = [json.loads(EXAMPLE) | {"game_index": number} for number in range(40)]
    for number, game in enumerate(games):
        for seat in game["seats"]:
            said = [name for name in MEASURES[: 1 + number % 3] if dice.random() < 0.8]
            seat |= {name: dice.choice((0, 7, 12, 1000)) for name in said}  # nobody says the cost
    return games


@pytest.fixture(scope="module")
def lake(games: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of_documents(tmp_path_factory.mktemp("usage") / "logs", games)


def expected(games: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    rows = []
    for model, measure in product(("model-a", "model-b"), MEASURES):
        seats = [[one for one in game["seats"] if one["model"] == model] for game in games]
        known = [own for own in seats if all(measure in seat for seat in own)]
        used = [sum(seat[measure] for seat in own) for own in known]
        if used:
            rows.append((model, measure, len(used), len(games), sum(used), mean(used)))
    return rows


def test_sums_and_means(lake: Lake, games: list[dict[str, Any]]) -> None:
    wanted = expected(games)
    assert len(wanted) == 6
    assert lake.usage().rows() == wanted
    assert lake.usage(model="model-b").rows() == wanted[3:]
    with pytest.raises(UsageError, match="no game of model-c"):
        lake.usage(model="model-c")


@pytest.mark.slow
def test_the_command_and_the_pages_show_it(lake: Lake, capsys: Any, tmp_path: Path) -> None:
    asked = ["usage", "--lake", str(lake.path)]
    assert main([*asked, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == lake.usage().to_dicts()
    assert main(asked) == 0
    assert "cost is in US dollars" in capsys.readouterr().err
    for page in (lake.page("model", model="model-a"), lake.page("usage")):
        assert "US dollars" in page.html


def test_names_of_bots(tmp_path: Path) -> None:
    game = json.loads(EXAMPLE)
    game["seats"][0] |= {"is_bot": True}
    game["seats"][1] |= {"model": "unsure", "is_bot": None}
    lake = lake_of_documents(tmp_path / "logs", [game])
    rows = dict(lake.models().select("model", "is_bot").rows())
    assert rows == {"model-a": False, "model-b": True, "unsure": None}
    assert "model-b" not in lake.leaderboard()["model"].to_list()
