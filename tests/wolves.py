"""What the metrics of werewolf come to, counted game by game in plain Python."""

from collections import defaultdict
from typing import NamedTuple

import pytest

from pipeline.lake import StoredLake
from pipeline.metrics import metrics

HIDDEN = ("werewolf", "possessed")

Values = dict[tuple[str, str | None], float]


class Table(NamedTuple):
    """One game: each player's model and role, who won, and who voted for whom, day by day."""

    models: dict[str, str]
    roles: dict[str, str]
    is_won_by_wolves: bool
    votes: list[tuple[int, str, str]]


def expected(games: list[Table]) -> Values:
    """The values of each metric and model, by hand."""
    credits: dict[tuple[str, str], list[float]] = defaultdict(list)
    hits: dict[str, list[bool]] = defaultdict(list)
    for game in games:
        for model, role in {(game.models[player], role) for player, role in game.roles.items()}:
            side = "hidden" if role in HIDDEN else "civilian"
            credits[model, side].append(float(game.is_won_by_wolves == (role in HIDDEN)))
        for _, voter, target in game.votes:
            if game.roles[voter] not in HIDDEN:
                hits[game.models[voter]].append(game.roles[target] == "werewolf")
    values: Values = {("judgement", model): _mean(right) for model, right in hits.items()}
    for model in {model for model, _ in credits}:
        sides = [_mean(credits[model, s]) for s in ("hidden", "civilian") if (model, s) in credits]
        values["win_rate", model] = _mean(sides)
    for (model, side), won in credits.items():
        if side == "hidden":
            values["deception", model] = _mean(won)
    return values


def _mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


def check(lake: StoredLake, engine: str, games: list[Table]) -> None:
    """Compares all values of the lake's metrics with those counted by hand."""
    rows = metrics(lake, engine=engine, by=["model", "game_type"], confidence=None)
    found = {
        (metric, model): value
        for metric, model, game_type, value in rows.select(
            "metric", "model", "game_type", "value"
        ).iter_rows()
        if game_type == "werewolf" and value is not None
    }
    assert found == pytest.approx(expected(games), rel=1e-12)
