"""The metrics' shapes: what one game of each competition counts, and games drawn in that shape."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """Games of one competition that feed one term, with so many items each."""

    competition: str
    term: str
    items: int


class Shape(NamedTuple):
    """A metric: the weight of each term, and the competitions that feed it."""

    weights: dict[str, float]
    parts: tuple[Part, ...]

    @property
    def range(self) -> float:
        return sum(self.weights.values())

    @property
    def is_one_trial(self) -> bool:
        return all(part.items == 1 for part in self.parts)


_COMPETITIONS = ("ch", "nc", "un", "ci", "cs", "pd", "pg")
SHAPES = {
    "win_rate": Shape(
        dict.fromkeys(_COMPETITIONS, 1 / 7),
        tuple(Part(name, name, 1) for name in _COMPETITIONS),
    ),
    "judgement": Shape({"votes": 1.0}, (Part("nc", "votes", 2), Part("ci", "votes", 2))),
    "reasoning": Shape(
        {"analyses": 1.0},
        tuple(Part(c, "analyses", n) for c, n in zip(_COMPETITIONS, (6, 12, 4, 8), strict=False)),
    ),
    "deception": Shape(
        {"hidden_wins": 1.0, "wrong_guesses": 0.25},
        (
            Part("ch", "hidden_wins", 1),
            Part("un", "hidden_wins", 1),
            Part("nc", "wrong_guesses", 1),
        ),
    ),
    "self_awareness": Shape(
        {"answers": 1.0},
        tuple(Part(c, "answers", n) for c, n in zip(_COMPETITIONS, (3, 6, 2, 4), strict=False)),
    ),
    "cooperation": Shape({"agreements": 1.0}, (Part("cs", "agreements", 1),)),
    "coordination": Shape({"own_proposals": 1.0}, (Part("cs", "own_proposals", 1),)),
    "rationality": Shape(
        {"betrayals": 1.0, "least": 1.0}, (Part("pd", "betrayals", 5), Part("pg", "least", 5))
    ),
}


def game_rates(
    generator: np.random.Generator, rate: float, correlation: float, shape: tuple[int, ...]
) -> Floats:
    """The rates of single games, beta-distributed about `rate`.

    Items of a game are then correlated by `correlation`; at 1 a game is all hits or all misses.
    """
    if correlation == 0 or rate in (0, 1):
        return np.full(shape, rate)
    if correlation == 1:
        return (generator.random(shape) < rate).astype(np.float64)
    size = (1 - correlation) / correlation
    return generator.beta(rate * size, (1 - rate) * size, shape)


def hits(generator: np.random.Generator, items: int, rates: Floats) -> Floats:
    """The hits of games of so many items."""
    return generator.binomial(items, rates).astype(np.float64)
