"""What users have: the metrics' shapes, and uneven ones, each with games drawn in that shape."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
GO_WITH_THE_RATE, AFTER_A_LOSS = "go with the rate", "after a loss"
LONG_AND_GOOD = "long and good"
# Of games that are long and good: how many, how long beside the others, and how good.
A_TENTH, TIMES_AS_LONG, GOOD = 0.1, 10, 0.95


class Play(NamedTuple):
    """What one game counts of one term: its setting, and how many items."""

    term: str
    competition: str
    setting: int
    items: int


class Shape(NamedTuple):
    """The weight of each term, the games, and how alike their items are.

    Two items of a game are correlated by `streak`, given the setting; two games of a setting by
    `hardness`; with `twins`, every other setting is so often the same as the one before.
    Terms may have rates of their own in `unlike`, whatever that of the others is. Counts may go
    with the rate, 1 to 10 a game; or a tenth of the games are long and good; or every other row
    is counted only where the row before it was a miss, as guesses are of those who were caught.
    """

    weights: dict[str, float]
    plays: tuple[Play, ...]
    streak: float = 0.0
    hardness: float = 0.0
    counts: str = ""
    unlike: tuple[tuple[str, float], ...] = ()
    twins: float = 0.0

    @property
    def range(self) -> float:
        """The width of the metric's range: the sum of its weights."""
        return sum(self.weights.values())

    @property
    def settings(self) -> NDArray[np.int64]:
        """The number of the setting of each play."""
        return np.array([play.setting for play in self.plays])

    def value(self, rate: float) -> float:
        """The true value where hits are so frequent."""
        if self.counts == GO_WITH_THE_RATE:
            squares = rate**2 + self.streak * rate * (1 - rate)
            return (rate + 9 * squares) / (1 + 9 * rate)
        if self.counts == AFTER_A_LOSS:
            wins, guesses = self.weights.values()
            return wins * rate + guesses * rate * (1 - self.hardness)
        if self.counts == LONG_AND_GOOD:
            long = A_TENTH * TIMES_AS_LONG
            return (long * GOOD + (1 - A_TENTH) * rate) / (long + 1 - A_TENTH)
        unlike = dict(self.unlike)
        return sum(weight * unlike.get(term, rate) for term, weight in self.weights.items())


_COMPETITIONS = ("ch", "nc", "un", "ci", "cs", "pd", "pg")
# Of each metric the weights, and competition, term and items of a game.
_METRICS: dict[str, tuple[dict[str, float], Sequence[tuple[str, str, int]]]] = {
    "win_rate": (dict.fromkeys(_COMPETITIONS, 1 / 7), [(c, c, 1) for c in _COMPETITIONS]),
    "judgement": ({"votes": 1.0}, [("nc", "votes", 2), ("ci", "votes", 2)]),
    "reasoning": (
        {"analyses": 1.0},
        [(c, "analyses", n) for c, n in zip(_COMPETITIONS, (6, 12, 4, 8), strict=False)],
    ),
    "deception": (
        {"hidden_wins": 1.0, "wrong_guesses": 0.25},
        [("ch", "hidden_wins", 1), ("un", "hidden_wins", 1), ("nc", "wrong_guesses", 1)],
    ),
    "self_awareness": (
        {"answers": 1.0},
        [(c, "answers", n) for c, n in zip(_COMPETITIONS, (3, 6, 2, 4), strict=False)],
    ),
    "cooperation": ({"agreements": 1.0}, [("cs", "agreements", 1)]),
    "rationality": (
        {"betrayals": 1.0, "least": 1.0},
        [("pd", "betrayals", 5), ("pg", "least", 5)],
    ),
}
METRICS = tuple(_METRICS)


def is_one_trial(metric: str) -> bool:
    """Return whether every game of the metric counts a single item."""
    return all(items == 1 for *_, items in _METRICS[metric][1])


def metric_shape(
    metric: str, games: int | Sequence[int], streak: float = 0.0, **more: Any
) -> Shape:
    """A metric's games, each of a setting of its own: so many of each competition."""
    weights, parts = _METRICS[metric]
    numbers = [games] * len(parts) if isinstance(games, int) else games
    rows = [row for row, n in zip(parts, numbers, strict=True) for _ in range(n)]
    plays = (Play(term, c, place, items) for place, (c, term, items) in enumerate(rows))
    return Shape(weights, tuple(plays), streak, **more)


def _replay_shape(plays: Iterable[int], items: int, hardness: float) -> Shape:
    """One term: each setting played so many times."""
    rows = (Play("t", "one", s, items) for s, n in enumerate(plays) for _ in range(n))
    return Shape({"t": 1.0}, tuple(rows), 0.2 if items > 1 else 0.0, hardness)


def _shape_of_sizes(sizes: Iterable[int], streak: float, counts: str = "") -> Shape:
    rows = (Play("t", "one", place, items) for place, items in enumerate(sizes))
    return Shape({"t": 1.0}, tuple(rows), streak, counts=counts)


def _roles(
    settings: int, items: tuple[int, int], hardness: float, weights: dict[str, float]
) -> Shape:
    """Two roles that share settings: of two terms, or of one."""
    terms = list(weights) * (2 // len(weights))
    rows = (
        Play(term, role, s, n)
        for term, role, n in zip(terms, ("hidden", "civilian"), items, strict=True)
        for s in range(settings)
    )
    return Shape(weights, tuple(rows), 0.2 if max(items) > 1 else 0.0, hardness)


def _seats(games: int) -> Shape:
    """Deception of two tested seats a game, with guesses of those who were caught."""
    rows = [Play(t, f"c{s % 2}", s, 1) for s in range(games) for t in ("wins", "guesses") * 2]
    return Shape({"wins": 1.0, "guesses": 0.25}, tuple(rows), 0.0, 0.2, AFTER_A_LOSS)


_WINS = {"a": 0.5, "b": 0.5}
_STREAKS = (0.0, 0.5, 1.0)
UNEVEN: dict[str, Shape] = {
    **{
        f"rationality, {a} + {b} games, streak {streak:g}": metric_shape(
            "rationality", (a, b), streak
        )
        for a, b in ((20, 1), (60, 1), (20, 2), (20, 3), (20, 5))
        for streak in _STREAKS
    },
    "win rate, 6 × 20 + 1 games": metric_shape("win_rate", (*[20] * 6, 1)),
    "win rate, 20, 12, 8, 5, 3, 2, 1 games": metric_shape("win_rate", (20, 12, 8, 5, 3, 2, 1)),
    "win rate, 7 × 1 games": metric_shape("win_rate", 1),
    "win rate, 7 × 2 games": metric_shape("win_rate", 2),
    "deception, 40 + 1 games": metric_shape("deception", (20, 20, 1)),
    "deception, 40 + 3 games": metric_shape("deception", (20, 20, 3)),
    **{
        f"reasoning, {name} games, streak {streak:g}": metric_shape("reasoning", games, streak)
        for name, games in (("20, 10, 3, 1", (20, 10, 3, 1)), ("3, 2, 1, 1", (3, 2, 1, 1)))
        for streak in _STREAKS
    },
    **{
        f"replays, {name}, {items} items, correlation {hardness:g}": _replay_shape(
            plays, items, hardness
        )
        for name, plays in (
            ("15 of 10 settings", [1, 2] * 5),
            ("30 of 20 settings", [1, 2] * 10),
            ("21 of 16 settings", [1] * 12 + [2] * 3 + [3]),
            ("50 of 10 settings", [5] * 10),
            ("1 to 20 of 20 settings", [1] * 8 + [2] * 6 + [4] * 4 + [10, 20]),
            ("one of 20 settings 20 times", [1] * 19 + [20]),
        )
        for items in (1, 5)
        for hardness in (0.3, 0.8)
    },
    **{
        f"two roles share {n} settings, {name}, correlation {hardness:g}": _roles(
            n, items, hardness, weights
        )
        for name, items, weights in (
            ("reasoning", (6, 12), {"t": 1.0}),
            ("wins", (1, 1), _WINS),
            ("deception", (1, 1), {"wins": 1.0, "guesses": 0.25}),
        )
        for n in (5, 10, 20)
        for hardness in (0.3, 0.6)
    },
    **{f"two tested seats, deception, {n} games": _seats(n) for n in (10, 20, 33, 60, 150)},
    **{
        f"items go with the rate, {n} games, streak {streak:g}": _shape_of_sizes(
            [1] * n, streak, GO_WITH_THE_RATE
        )
        for n in (10, 20, 60)
        for streak in (0.2, 0.5)
    },
    **{
        f"win rate, 6 × 100 + {few} games, the few at {few_rate:g}": metric_shape(
            "win_rate", (*[100] * 6, few), unlike=(("pg", few_rate),)
        )
        for few in (2, 5)
        for few_rate in (0.5, 0.99)
    },
    **{
        f"{metric}, {'+'.join(map(str, games))} games, the few at {few_rate:g}": metric_shape(
            metric, games, unlike=((term, few_rate),)
        )
        for metric, games, term in (
            ("deception", (50, 50, 2), "wrong_guesses"),
            ("deception", (50, 50, 5), "wrong_guesses"),
            ("rationality", (100, 2), "least"),
        )
        for few_rate in (0.5, 0.99)
    },
    **{
        f"{n} games of five items, streak {streak:g}": _shape_of_sizes([5] * n, streak)
        for n in (3, 4)
        for streak in (0.2, 0.5)
    },
    "3 games of one item": _shape_of_sizes([1] * 3, 0.0),
    "4 games of one item": _shape_of_sizes([1] * 4, 0.0),
    **{
        f"replays, 60 of 2 settings, {items} items, correlation {hardness:g}": _replay_shape(
            [30, 30], items, hardness
        )
        for items in (1, 5)
        for hardness in (0.0, 0.3)
    },
    **{
        f"replays, Zipf over 20 settings, {items} items, correlation {hardness:g}": _replay_shape(
            [max(1, 40 // place) for place in range(1, 21)], items, hardness
        )
        for items in (1, 5)
        for hardness in (0.1, 0.3)
    },
    **{
        f"{n} settings in near-duplicate pairs": _replay_shape([3] * n, 1, 0.3)._replace(twins=0.6)
        for n in (20, 60)
    },
    **{
        f"a tenth of {n} games are long and good": _shape_of_sizes([2] * n, 0.2, LONG_AND_GOOD)
        for n in (8, 20, 60)
    },
    **{
        f"{name}, streak {streak:g}": _shape_of_sizes(sizes, streak)
        for name, sizes in (
            ("20 games, 3 have most items", [1] * 17 + [30] * 3),
            ("20 games of 1 to 40 items", [1] * 10 + [4] * 6 + [12] * 3 + [40]),
        )
        for streak in _STREAKS
    },
}


def beta(generator: np.random.Generator, means: Floats, correlation: float) -> Floats:
    """Rates about their means; two trials of one rate are then correlated so much."""
    if correlation == 0:
        return means
    if correlation == 1:
        return (generator.random(means.shape) < means).astype(np.float64)
    size = (1 - correlation) / correlation
    # Next to 0 and 1 a beta distribution has no numbers.
    means = np.clip(means, 1e-9, 1 - 1e-9)
    return generator.beta(means * size, (1 - means) * size)


def draw_setting_rates(
    generator: np.random.Generator, shape: Shape, rate: float, draws: int
) -> Floats:
    """The settings' rates, by draw."""
    means = np.full((draws, shape.settings.max() + 1), rate)
    unlike = dict(shape.unlike)
    for play in shape.plays:
        means[:, play.setting] = unlike.get(play.term, rate)
    rates = beta(generator, means, shape.hardness)
    if shape.twins:
        is_same = generator.random(rates[:, 1::2].shape) < shape.twins
        rates[:, 1::2] = np.where(is_same, rates[:, : is_same.shape[1] * 2 : 2], rates[:, 1::2])
    return rates


def draw_games(
    generator: np.random.Generator, shape: Shape, rates: Floats
) -> tuple[Floats, Floats]:
    """Hits and counted by draw and play, given the settings' rates."""
    game_rates = beta(generator, rates[:, shape.settings], shape.streak)
    counted = np.broadcast_to([float(play.items) for play in shape.plays], game_rates.shape).copy()
    if shape.counts == GO_WITH_THE_RATE:
        counted = 1.0 + generator.binomial(9, game_rates)
    if shape.counts == LONG_AND_GOOD:
        is_long = generator.random(game_rates.shape) < A_TENTH
        game_rates, counted = (
            np.where(is_long, GOOD, game_rates),
            np.where(is_long, TIMES_AS_LONG, 1.0) * counted,
        )
    hits = generator.binomial(counted.astype(int), game_rates).astype(np.float64)
    if shape.counts == AFTER_A_LOSS:
        counted[:, 1::2] = 1 - hits[:, ::2]
        hits[:, 1::2] *= counted[:, 1::2]
    return hits, counted


def frame(shape: Shape, hits: Floats, counted: Floats) -> pl.DataFrame:
    """The sums by draw, stratum, cluster and term."""
    plays = pl.DataFrame(shape.plays, schema=Play._fields, orient="row").select(
        "term", stratum="competition", cluster="setting", play=pl.int_range(pl.len())
    )
    draws, n = hits.shape
    sums = pl.DataFrame(
        {
            "draw": np.repeat(np.arange(draws), n),
            "play": np.tile(np.arange(n), draws),
            "h": hits.ravel().astype(float),
            "c": counted.ravel().astype(float),
        }
    )
    joined = sums.filter(pl.col("c") > 0).join(plays, on="play")
    return joined.group_by("draw", "stratum", "cluster", "term").agg(pl.col("h", "c").sum())


def by_game(shape: Shape, hits: Floats, counted: Floats, game: int = 0) -> pl.DataFrame:
    """The sums by draw and game too: of each setting, these are the games of this number."""
    return frame(shape, hits, counted).with_columns(game=pl.lit(str(game)))


def terms(shape: Shape, sums: pl.DataFrame, by: str) -> pl.DataFrame:
    """What the values are made of, as `intervals` takes it."""
    weights = pl.DataFrame(list(shape.weights.items()), schema=["term", "weight"], orient="row")
    return sums.group_by(by, "term").agg(counted=pl.col("c").sum()).join(weights, on="term")
