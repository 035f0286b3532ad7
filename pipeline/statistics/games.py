"""How surprising a difference is if one of the models played most games.

Where one model has one game of a setting and the other ten, flipped signs are no fair test: the
mean of ten games is rarely as far from the truth as a single game is. Were the models alike, each
setting's games could as well have been dealt to them in another way, so many to each as they
played. T is what the settings add up to, as in `pairs`, for the games as they were played and as
they are dealt:

    x_s = Σ_k a_k · w_s (h_A/c_A − h_B/c_B) / Σ w_s

The weights w_s of a setting do not depend on how its games are dealt. With one game of each model
a deal is a flipped sign. Below `signs.SMALL_P` the p-value is that of tilted draws (`tails`) from
the deals of each setting; with very many settings or games it is that of a normal distribution of
the deals' variance,

    Σ_k (a_k w_s / Σ w)² · S² (1/n_A + 1/n_B) / c̄²

with S² the variance of h − r·c over the setting's games, r its ratio and c̄ a game's mean count.
"""

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

MANY_SETTINGS, SMALL_P = 2000, 0.001
from pipeline.statistics.sums import scaled_sum
from pipeline.statistics.tails import TIE, Floats, tails

DEALS, SOME_DEALS = 4000, 400
DEALS_OF_TAIL = 1000
MANY_GAMES = 20_000
_CLEAR = 0.12
_SEED = 20_231_115
_LEAST_COUNTED = 1e-9
_MOST_NUMBERS = 4_000_000


def dealt_p(cells: pl.DataFrame) -> float:
    """The two-sided mid-p value of a pair's difference when games are dealt within settings.

    `cells` has a row for each game and term of the common settings: stratum, cluster, game,
    is_one (whether the game is the first model's), term, h, c, and `share`, the weight of the
    setting's difference a_k · w_s / Σ w.
    """
    games = cells.select("stratum", "cluster", "is_one", "game").unique()
    n_settings = games.select("stratum", "cluster").n_unique()
    if n_settings > MANY_SETTINGS or games.height > MANY_GAMES:
        return _normal_p(cells)
    order = ["stratum", "cluster", "is_one", "game"]
    games = games.sort(order, descending=[False, False, True, False]).with_columns(
        row=pl.int_range(pl.len()),
        setting=pl.struct("stratum", "cluster").rle_id(),
    )
    is_one, setting = games["is_one"].to_numpy(), games["setting"].to_numpy()
    terms = []
    for of_term in cells.partition_by("term"):
        joined = games.join(of_term, on=order, how="left", maintain_order="left")
        h, c, share = (joined[name].fill_null(0.0).to_numpy() for name in ("h", "c", "share"))
        terms.append((h, c, share))
    # Most are far from telling anybody apart, which some deals show.
    for n_deals in (SOME_DEALS, DEALS):
        dealt = _dealt(terms, setting, is_one, n_settings, n_deals)
        p, size = _share_beyond(dealt)
        if p >= _CLEAR:
            return p
    if p >= SMALL_P:
        return p
    drawn = dealt[np.newaxis, 1 : DEALS_OF_TAIL + 1]
    return min(1.0, sum(float(tails(sign * drawn, np.array([size]))[0]) for sign in (1, -1)))


def _share_beyond(dealt: Floats) -> tuple[float, float]:
    """The share of deals with a larger sum than the first, which is as it was played; its size."""
    sums, slack = np.abs(dealt.sum(axis=1)), TIE * np.abs(dealt).max(axis=0).sum()
    beyond = sums - sums[0]
    n = (beyond > slack).sum() + (np.abs(beyond) <= slack).sum() / 2
    return float(n) / len(sums), float(sums[0])


def _dealt(
    terms: list[tuple[Floats, Floats, Floats]],
    setting: NDArray[np.int64],
    is_one: NDArray[np.bool_],
    n_settings: int,
    n_deals: int,
) -> Floats:
    """What each setting adds to the difference, by deal; the first deal is what was played."""
    starts = np.searchsorted(setting, np.arange(n_settings))
    n_games = np.diff([*starts, len(setting)])
    generator = np.random.default_rng(_SEED)
    added = np.zeros((n_deals, n_settings))
    at_once = max(1, _MOST_NUMBERS // n_deals)
    # Whole settings at a time, to bound the memory.
    begin = 0
    while begin < n_settings:
        many = np.searchsorted(np.cumsum(n_games[begin:]), at_once, side="right")
        end = begin + max(1, int(many))
        first = starts[begin]
        last = starts[end] if end < n_settings else len(setting)
        keys = generator.random((n_deals, last - first)) + (setting[first:last] - begin)
        keys[0] = np.arange(last - first)
        order = np.argsort(keys, axis=1) + first
        firsts, sides = starts[begin:end] - first, is_one[first:last]
        for h, c, share in terms:
            difference, is_of_both = np.zeros((n_deals, end - begin)), np.array(True)
            for side, sign in ((sides, 1), (~sides, -1)):
                hits = np.add.reduceat(h[order] * side, firsts, axis=1)
                counted = np.add.reduceat(c[order] * side, firsts, axis=1)
                is_of_both = is_of_both & (counted > 0)
                difference += sign * hits / np.maximum(counted, _LEAST_COUNTED)
            weight = np.maximum.reduceat(share[first:last], firsts)
            added[:, begin:end] += np.where(is_of_both, weight * difference, 0.0)
        begin = end
    return added


def _normal_p(cells: pl.DataFrame) -> float:
    """The p-value by a normal distribution of the variance that dealing gives."""
    h, c, is_one = pl.col("h"), pl.col("c"), pl.col("is_one")
    u = h - h.sum() / c.sum() * c
    n, n_one = pl.len(), is_one.sum()
    spread = pl.when(n > 1).then((u**2).sum() / (n - 1)).otherwise(0.0)
    ratio = [h.filter(side).sum() / c.filter(side).sum() for side in (is_one, ~is_one)]
    moments = (
        cells.group_by("stratum", "cluster", "term")
        .agg(
            x=pl.col("share").first() * (ratio[0] - ratio[1]),
            v=pl.col("share").first() ** 2 * spread * (1 / n_one + 1 / (n - n_one)) / c.mean() ** 2,
        )
        .select(scaled_sum(pl.col("x")).alias("x"), scaled_sum(pl.col("v")).alias("v"))
    )
    total, variance = moments.row(0)
    if variance == 0:
        return 0.0 if total else 1.0
    return math.erfc(abs(total) / math.sqrt(2 * variance))
