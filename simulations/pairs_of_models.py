"""Two or more models that play the same settings: their games, and the product's comparisons."""

from itertools import combinations

import numpy as np
import polars as pl
from shapes import Floats, Shape, by_game, draw_games, draw_setting_rates, metric_shape, terms

from pipeline.statistics.pairs import pairwise_differences

LEVEL = 0.05
HARDNESS = 0.15  # the correlation of two games of a setting
STREAK = 0.15  # of two items of a game, beyond that
ONCE, REPLAYS, TWENTY, LOST, MISSING = (
    *("once", "replays", "twenty", "a fifth lost"),
    "hardest missing",
)
TIMES = {"ten times": 10, "thirty times": 30}


def lakes(
    metric: str, settings: int, rate: float, draws: int, seed: int = 1
) -> tuple[np.random.Generator, Shape, Floats]:
    """A metric's games and the settings' rates, by draw."""
    generator = np.random.default_rng(seed)
    shape = metric_shape(metric, settings, STREAK, hardness=HARDNESS)
    return generator, shape, draw_setting_rates(generator, shape, rate, draws)


def draw_sums(
    generator: np.random.Generator,
    shape: Shape,
    rates: Floats,
    case: str = ONCE,
    shift: float | Floats = 0.0,
) -> pl.DataFrame:
    """What a model counts by game in settings of these rates, each moved by `shift`."""
    moved = np.clip(rates + shift, 1e-6, 1 - 1e-6)
    if case == ONCE:
        return by_game(shape, *draw_games(generator, shape, moved))
    if case in (REPLAYS, TWENTY, *TIMES):
        times = np.full(rates.shape, TIMES.get(case, 1))
        if case == REPLAYS:
            times = generator.geometric(0.5, rates.shape).clip(1, 8)
        if case == TWENTY:
            times[:, 0] = 20
        of_plays = times[:, shape.settings]
        games = []
        for n in range(times.max()):
            hits, counted = draw_games(generator, shape, moved)
            is_played = n < of_plays
            games.append(by_game(shape, hits * is_played, counted * is_played, n))
        return pl.concat(games)
    hits, counted = draw_games(generator, shape, moved)
    if case == LOST:
        kept = generator.binomial(counted.astype(int), 0.8).astype(float)
        rest = (counted - hits).astype(int)
        left = generator.hypergeometric(hits.astype(int), rest, kept.astype(int))
        return by_game(shape, left, kept)
    hardest = np.argsort(rates, axis=1)[:, : rates.shape[1] // 6]
    is_played = np.ones(rates.shape, bool)
    np.put_along_axis(is_played, hardest, values=False, axis=1)
    is_played = is_played[:, shape.settings]
    return by_game(shape, hits * is_played, counted * is_played)


def compare_models(shape: Shape, models: list[pl.DataFrame]) -> pl.DataFrame:
    """The differences of all pairs of models within each draw, pair after pair."""
    games = pl.concat(
        sums.with_columns(model=pl.format("{}-{}", pl.lit(str(n)), "draw"))
        for n, sums in enumerate(models)
    ).drop("draw")
    cell = ["model", "stratum", "cluster", "term"]
    sums = games.group_by(cell).agg(pl.col("h", "c").sum())
    pairs = [
        (f"{first}-{draw}", f"{second}-{draw}")
        for first, second in combinations(range(len(models)), 2)
        for draw in models[0]["draw"].unique().sort()
    ]
    weights = terms(shape, sums, "model")
    return pairwise_differences(sums.lazy(), weights.lazy(), pairs, 1 - LEVEL)
