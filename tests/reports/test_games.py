"""The list of games against a plain loop over the rows of the lake's tables."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.reports.games import GAMES_COLUMNS

CASES: list[dict[str, Any]] = [
    {},
    {"model": "m"},
    {"model": ["alpha", "model-a"], "result": "lost"},
    {"result": "won"},
    {"result": ["won", "shared"], "game_type": "chameleon"},
    {"role": "seer"},
    {"role": ["seer", "servant"], "result": "won"},
    {"role": "chameleon", "model": "m", "result": "won"},
    {"competition": "undercover_as_civilian", "result": "won"},
    {"between": ("model-b", "model-a")},
    {"between": ("model-b", "model-a"), "result": "won"},
    {"between": ("model-b", "model-a"), "model": "model-a", "role": "undercover"},
    {"role": "seer", "outcome": "unfinished"},
    {"model": "gpt-4"},
]
"""By sight: a model of several roles, seats whose points differ, no result yet, an opponent."""
WORDS = {None: None, 0: "lost", 1: "won"}


@pytest.fixture(scope="module")
def lake(lake_of_formats: Path) -> pipeline.Lake:
    return pipeline.open_lake(lake_of_formats)


def joined(values: Iterable[str | None]) -> str | None:
    known = list(values)
    return ", ".join(sorted({*known})) if known and None not in known else None


def as_listed(lake: pipeline.Lake, asked: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The games asked for with what their seats say, by id."""
    rows = {name: lake.table(name).collect().to_dicts() for name in ("games", "players", "results")}
    wanted = {name: [one] if isinstance(one, str) else one for name, one in asked.items()}
    models = wanted.get("model") or [*wanted.get("between", ())][:1]
    words = {name: wanted[name] for name in ("competition", "role") if name in wanted}

    def is_asked(row: dict[str, Any]) -> bool:
        is_one = row["is_tested"] if "competition" in words or not models else True
        is_model = not models or row["model"] in models
        return is_one and is_model and all(row[name] in some for name, some in words.items())

    listed = {}
    for game in rows["games"]:
        mine = [row for row in rows["players"] if row["game_id"] == game["game_id"]]
        results = [row for row in rows["results"] if row["game_id"] == game["game_id"]]
        seats = [row for row in mine if is_asked(row)]
        said = {id(row): WORDS.get(row["win_credit"], "shared") for row in results}
        ended = [said[id(row)] for row in results if is_asked(row)]
        end = game["outcome"] if game["is_finished"] else "unfinished"
        conditions = (
            seats or not (models or words),
            {*wanted.get("between", ())} <= {row["model"] for row in mine},
            not wanted.get("result") or {*ended} & {*wanted["result"]},
            game["game_type"] in wanted.get("game_type", [game["game_type"]]),
            end in wanted.get("outcome", [end]),
        )
        if all(conditions):
            scores = {row["final_score"] for row in seats}
            won = {row["model"] for row in results if said[id(row)] == "won"} - {None}
            is_known = results and None not in said.values()
            listed[game["game_id"]] = (
                sorted({row["model"] for row in mine if row["is_tested"]} - {None}),
                joined(row["role"] for row in seats),
                joined(row["side"] for row in seats),
                joined(ended),
                scores.pop() if len(scores) == 1 else None,
                sorted(won) if is_known else None,
            )
    return listed


@pytest.mark.some(5)
@pytest.mark.parametrize("asked", CASES, ids=str)
def test_games_are_those_of_a_loop(lake: pipeline.Lake, asked: dict[str, Any]) -> None:
    rows = lake.games(**asked)
    assert rows.columns == list(GAMES_COLUMNS)
    shown = ("models", "role", "side", "result", "score", "winners")
    found = {game: tuple(row) for game, *row in rows.select("game_id", *shown).iter_rows()}
    assert found == as_listed(lake, asked)
    assert found
    for column in ("role", "side", "result", "score"):
        assert lake.games(**asked, sort=column).sort("path", "game_id").equals(rows)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"role": "king"}, "no role king"),
        (
            {"role": "seer", "game_type": "chameleon"},
            "no role seer of chameleon: choose from chameleon, non_chameleon",
        ),
        (
            {"competition": "public_good", "game_type": ["chameleon", "undercover"]},
            "no competition public_good of chameleon, undercover",
        ),
        ({"model": "nobody"}, "no game of nobody"),
        ({"game_type": "chess"}, "no game type chess"),
        ({"outcome": "lost"}, "no outcome lost"),
        ({"result": "drawn"}, "no result drawn: choose from won, lost, shared"),
        ({"between": ("m", "m")}, "specify two different models, not m, m"),
        ({"between": ("m", "nobody")}, "no game of nobody"),
    ],
)
def test_a_wrong_word_is_named(lake: pipeline.Lake, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lake.games(**asked)
