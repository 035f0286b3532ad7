"""The odds of models on each side of games that have a hidden side, whoever they met.

The logit of the hidden side's chance is that of the kind of game, plus the mean strength of the
hidden seats, less the mean strength of the others. A node is a model on one of its sides, which has
a strength of its own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

from pipeline.statistics.logit import Floats, are_compared, directions, fitted
from pipeline.vocabulary import Side

_NODE = ["side", "model"]
_SIDE, _HIT, _GAME = pl.col("side"), pl.col("hit"), pl.col("game_id")
_IS_HIDDEN = _SIDE == Side.HIDDEN
_MOST = 12.0
"""Logits beyond this are those of a fit that ends nowhere: one group of models won every game."""
_SWEPT = "it won {} of its games{}"
_AGAIN = " that are not against models that won all or none"
_UNCOUNTED = "every game is against a model that won all or none of its games"
_ENDLESS = "its pool is in two parts, of which one won every game against the other"
_ONE_SETTING = "all of its games are of one setting, which gives no interval"
_FEW = "there are too few games, or settings, for so many models"
_ODDS = {
    **dict.fromkeys(_NODE, pl.String()),
    "pool": pl.Int64(),
    **dict.fromkeys(("odds", "ci_low", "ci_high"), pl.Float64()),
    **dict.fromkeys(("opponent", "reason"), pl.String()),
}


def rated(seats: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """The ratings by the seats of games: a row for each model under test and its side.

    `seats` are rows of `players` with `hit`: 1 if the hidden side won the game, 0 if the other did,
    1/2 for a tie.
    """
    has_two = [pl.col(name).n_unique().over("game_id") > 1 for name in _NODE]
    met = seats.filter(has_two)
    of_models = _of_nodes(met.filter("is_tested"))
    counted, swept = _without_sweeps(met)
    odds = pl.DataFrame(list(_odds(counted, confidence)), schema=_ODDS)
    with_odds = of_models.join(odds, on=_NODE, how="left", nulls_equal=True)
    why = pl.coalesce("reason", "swept", pl.lit(_UNCOUNTED))
    place = pl.col("odds").rank("min", descending=True).over("side", "pool").cast(pl.Int64)
    number = pl.col("pool").rank("dense").over("side").cast(pl.Int64)
    return (
        with_odds.join(swept, on=_NODE, how="left", nulls_equal=True)
        .with_columns(rank=place, pool=number, reason=pl.when(pl.col("odds").is_null()).then(why))
        .sort(~_IS_HIDDEN, "pool", "rank", "model", nulls_last=True)
    )


def _of_nodes(seats: pl.DataFrame) -> pl.DataFrame:
    """side, model, n_games, n_settings, and the least and the most that the side got in a game."""
    own = pl.when(_IS_HIDDEN).then(_HIT).otherwise(1 - _HIT)
    n_settings = pl.col("setting_id").n_unique().cast(pl.Int64)
    return seats.group_by(_NODE).agg(
        least=own.min(),
        most=own.max(),
        n_games=_GAME.n_unique().cast(pl.Int64),
        n_settings=n_settings,
    )


def _without_sweeps(seats: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The seats without the games of models that won all or none of them, as nothing bounds their
    odds; and these models: side, model, and `swept`, the reason."""
    reasons = [pl.DataFrame(schema=dict.fromkeys((*_NODE, "swept"), pl.String))]
    while True:
        nodes = _of_nodes(seats).filter((pl.col("most") == 0) | (pl.col("least") == 1))
        if nodes.is_empty():
            return seats, pl.concat(reasons)
        which = pl.when(pl.col("most") == 0).then(pl.lit("none")).otherwise(pl.lit("all"))
        text = pl.format(_SWEPT, which, pl.lit(_AGAIN if len(reasons) > 1 else ""))
        reasons.append(nodes.select(*_NODE, swept=text))
        theirs = seats.join(nodes, on=_NODE, how="semi", nulls_equal=True)
        seats = seats.join(theirs, on="game_id", how="anti")


def _odds(seats: pl.DataFrame, confidence: float) -> Iterator[dict[str, Any]]:
    """The odds of every model on each of its sides, pool by pool; models not under test, too."""
    if seats.is_empty():
        return
    nodes = _of_nodes(seats).sort(_NODE, nulls_last=True)
    rows, hits, clusters = _matrix(seats, nodes)
    along = directions(rows)
    is_enough = len(rows) > len(along) and len({*clusters}) > 1
    fit = fitted(rows, along, hits, clusters) if is_enough else None
    names = nodes["model"].to_list()
    for number, pool in enumerate(_pools(nodes, along), start=1):
        own = rows[:, pool]
        of_pool = rows[own.any(axis=1)]
        mean = of_pool.mean(axis=0)
        share, mean[pool] = mean[pool].sum(), 0
        sign = 1 if share > 0 else -1
        others = {names[one] for one in np.flatnonzero(of_pool.any(axis=0)) if one < len(names)}
        others -= {names[one] for one in pool}
        for node in pool:
            weights = mean.copy()
            weights[node] = share
            n_free = nodes["n_settings"][node] - 1
            logit, error = fit.sum(weights) if fit else (0.0, 0.0)
            reason = _ENDLESS if abs(logit) > _MOST else _ONE_SETTING if n_free < 1 else None
            reason = reason if fit else _FEW
            spread = error * student.ppf((1 + confidence) / 2, max(1, n_free))
            ends = [sign * logit + by * spread for by in (0, -1, 1)]
            odds = [None if reason else float(np.exp(min(end, 700))) for end in ends]
            yield {
                "side": nodes["side"][node],
                "model": names[node],
                "pool": None if reason else number,
                **dict(zip(("odds", "ci_low", "ci_high"), odds, strict=True)),
                "opponent": next(iter(others)) if len(others) == 1 else None,
                "reason": reason,
            }


def _matrix(seats: pl.DataFrame, nodes: pl.DataFrame) -> tuple[Floats, Floats, Any]:
    """A row for each game, a column for each node and game type; the hits; and the settings."""
    games_of = seats.unique("game_id").sort("setting_id", "game_id").with_row_index("row")
    numbered = nodes.select(*_NODE).with_row_index("node")
    weight = pl.when(_IS_HIDDEN).then(1.0).otherwise(-1.0) / pl.len().over("game_id", "side")
    placed = (
        seats.join(numbered, on=_NODE, nulls_equal=True)
        .join(games_of.select("game_id", "row"), on="game_id")
        .select("row", "node", weight=weight)
    )
    kind = games_of["game_type"].rank("dense").to_numpy().astype(int) + nodes.height - 1
    rows = np.zeros((games_of.height, kind.max() + 1))
    game, node, weights = (placed[name].to_numpy() for name in ("row", "node", "weight"))
    np.add.at(rows, (game, node), weights)
    rows[np.arange(games_of.height), kind] = 1
    return rows, games_of["hit"].to_numpy(), games_of["setting_id"].rank("dense").to_numpy()


def _pools(nodes: pl.DataFrame, along: Floats) -> list[list[int]]:
    """The nodes of one side whose strengths the games compare, the largest pools first."""
    pools: list[list[int]] = []
    sides = nodes["side"].to_list()
    for node, side in enumerate(sides):
        for pool in pools:
            if sides[pool[0]] == side and are_compared(along, pool[0], node):
                pool.append(node)
                break
        else:
            pools.append([node])
    return sorted(pools, key=lambda pool: (sides[pool[0]] != Side.HIDDEN, -len(pool), pool))
