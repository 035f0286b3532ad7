"""The odds of models on each side of games that have a hidden side, whoever they met.

The logit of the hidden side's chance is that of the kind of game, plus the mean strength of the
hidden seats, less the mean strength of the others. A node is a model on one of its sides, which has
a strength of its own. Games that are separated have no say in the fit: those of a model that won
all or none, of a kind of game that its hidden side always won or never, or of several together.

The logistic regression is by `statsmodels`, which comes with the extra `ratings`. Its matrix may
have columns that say the same together: then only some sums of coefficients are known.
`are_compared` says of which two columns the difference is, and `Fit.sum` gives a sum that is known,
with its standard error. A fit has an end if its rows overlap: see `overlapping`.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import t as student

from pipeline.statistics.comparison import Floats
from pipeline.vocabulary import Side

_NODE = ["side", "model"]
_ROUNDING, _NOTHING, _GAIN = 1e-8, 1e-11, 1e-3
_SIDE, _HIT, _GAME = pl.col("side"), pl.col("hit"), pl.col("game_id")
_IS_HIDDEN = _SIDE == Side.HIDDEN
_MOST, _LEAST = 12.0, 1e-6
"""Logits beyond the first, and standard errors below the second, are not shown."""
_LEFT_OUT = "all of its games are left out: their models or kinds foretell the results for certain"
_BEYOND = "its odds are beyond what its games can tell"
_TOGETHER = (
    "its games do not separate it from another model, which was on the same side in all of them"
)
_WIDE = "its games do not separate it from others: its odds could be 1,000 times as high or as low"
_ALIKE = "its results do not vary between settings, which gives no interval"
_ONE_SETTING = "all of its games are of one setting, which gives no interval"
_FEW = "there are too few games, or settings, for so many models"
_ODDS = {
    **dict.fromkeys(_NODE, pl.String()),
    "pool": pl.Int64(),
    **dict.fromkeys(("odds", "ci_low", "ci_high"), pl.Float64()),
    **dict.fromkeys(("opponent", "reason"), pl.String()),
}


def rate_sides(seats: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """The ratings by the seats of games: a row for each model under test and its side.

    `seats` are rows of `players` with `hit`: 1 if the hidden side won the game, 0 if the other did,
    1/2 for a tie.
    """
    has_two = [pl.col(name).n_unique().over("game_id") > 1 for name in _NODE]
    met = seats.filter(has_two)
    of_models = _of_nodes(met.filter("is_tested"))
    # The games that are not separated.
    games_of, rows = _matrix(met, _of_nodes(met))
    kept = games_of[overlapping(rows, games_of["hit"].to_numpy())]
    counted = met.join(kept, on="game_id", how="semi")
    odds = pl.DataFrame(list(_odds(counted, confidence)), schema=_ODDS)
    # How many games of each kind are left out.
    counts = (
        met.join(counted, on="game_id", how="anti")
        .group_by(*_NODE, "game_type")
        .agg(text=pl.format("{} of ", _GAME.n_unique()))
        .sort("game_type")
    )
    texts = counts.select(*_NODE, left_out=pl.col("text") + pl.col("game_type"))
    left_out = texts.group_by(_NODE, maintain_order=True).agg(pl.col("left_out").str.join(", "))
    has_odds = pl.col("odds").is_not_null()
    which = pl.when(most=0).then(pl.lit("none")).when(least=1).then(pl.lit("all"))
    swept = pl.format("it won {} of its games", which)
    why = pl.coalesce("reason", swept, pl.lit(_LEFT_OUT))
    place = pl.col("odds").rank("min", descending=True).over("side", "pool").cast(pl.Int64)
    number = pl.col("pool").rank("dense").over("side").cast(pl.Int64)
    return (
        of_models.join(odds, on=_NODE, how="left", nulls_equal=True)
        .join(left_out, on=_NODE, how="left", nulls_equal=True)
        .with_columns(
            rank=place,
            pool=number,
            left_out=pl.when(has_odds).then("left_out"),
            reason=pl.when(~has_odds).then(why),
        )
        .sort(~_IS_HIDDEN, "pool", "rank", "model", nulls_last=True)
    )


def _of_nodes(seats: pl.DataFrame) -> pl.DataFrame:
    """side, model, n_games, n_settings, and the least and the most that the side got in a game."""
    own = pl.when(_IS_HIDDEN).then(_HIT).otherwise(1 - _HIT)
    n_settings = pl.col("setting_id").n_unique().cast(pl.Int64)
    return (
        seats.group_by(_NODE)
        .agg(
            least=own.min(),
            most=own.max(),
            n_games=_GAME.n_unique().cast(pl.Int64),
            n_settings=n_settings,
        )
        .sort(_NODE, nulls_last=True)
    )


def _odds(seats: pl.DataFrame, confidence: float) -> Iterator[dict[str, Any]]:
    """The odds of every model on each of its sides, pool by pool; models not under test, too."""
    if seats.is_empty():
        return
    nodes = _of_nodes(seats)
    games_of, rows = _matrix(seats, nodes)
    hits = games_of["hit"].to_numpy()
    clusters = games_of["setting_id"].rank("dense").to_numpy()
    along = directions(rows)
    is_enough = len(rows) > len(along) and len({*clusters}) > 1
    fit = fitted(rows, along, hits, clusters) if is_enough else None
    names = nodes["model"].to_list()
    tested = seats.filter("is_tested").select(*_NODE).unique()
    together = _nodes_together(rows, nodes, tested)
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
            logit, error = fit.weighted_sum(weights) if fit else (0.0, 0.0)
            spread = float(error * student.ppf((1 + confidence) / 2, max(1, n_free)))
            reason = _without_odds(logit, error, spread, n_free) if fit else _FEW
            reason = _TOGETHER if node in together else reason
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


def _nodes_together(rows: Floats, nodes: pl.DataFrame, tested: pl.DataFrame) -> set[int]:
    """The tested nodes that were in the same games as another tested node of their side."""
    is_in = rows[:, : nodes.height] != 0
    games_of = [column.tobytes() for column in is_in.T]
    same = (
        nodes.select(*_NODE)
        .with_row_index("node")
        .with_columns(games=pl.Series(games_of, dtype=pl.Binary))
        .join(tested, on=_NODE, how="semi", nulls_equal=True)
        .filter(pl.len().over("side", "games") > 1)
    )
    return {*same["node"]}


def _without_odds(logit: float, error: float, spread: float, n_free: int) -> str | None:
    """The reason why there are no odds, None if there are."""
    if n_free < 1:
        return _ONE_SETTING
    if not (abs(logit) <= _MOST and np.isfinite(error)):
        return _BEYOND
    if spread > np.log(1000):
        return _WIDE
    return _ALIKE if error < _LEAST else None


def _matrix(seats: pl.DataFrame, nodes: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
    """The games, and a row for each of them: a column for each node, then for each game type."""
    games_of = seats.unique("game_id").sort("setting_id", "game_id").with_row_index("row")
    numbered = nodes.select(*_NODE).with_row_index("node")
    weight = pl.when(_IS_HIDDEN).then(1.0).otherwise(-1.0) / pl.len().over("game_id", "side")
    placed = (
        seats.join(numbered, on=_NODE, nulls_equal=True)
        .join(games_of.select("game_id", "row"), on="game_id")
        .select("row", "node", weight=weight)
    )
    kind = games_of["game_type"].rank("dense").to_numpy().astype(int) + nodes.height - 1
    rows = np.zeros((games_of.height, nodes.height + games_of["game_type"].n_unique()))
    game, node, weights = (placed[name].to_numpy() for name in ("row", "node", "weight"))
    np.add.at(rows, (game, node), weights)
    rows[np.arange(games_of.height), kind] = 1
    return games_of, rows


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


class Fit(NamedTuple):
    """Coefficients in the directions that the rows tell, their covariance, and these directions."""

    coefficients: Floats
    covariance: Floats
    directions: Floats

    def weighted_sum(self, weights: Floats) -> tuple[float, float]:
        """A weighted sum of the columns' coefficients, and its standard error."""
        along = self.directions @ weights
        variance = np.maximum(0, along @ self.covariance @ along)  # 0 may be rounded to less
        return float(along @ self.coefficients), float(np.sqrt(variance))


def directions(rows: Floats) -> Floats:
    """The directions in which rows differ from 0, as orthonormal rows: the row space."""
    # Of the small square of them, since the rows are many.
    sizes, along = np.linalg.eigh(rows.T @ rows)
    known: Floats = along.T[sizes > _NOTHING * sizes.max()]
    return known


def are_compared(along: Floats, one: int, other: int) -> bool:
    """Whether the rows tell the difference of the coefficients of two columns."""
    weights = np.zeros(along.shape[1])
    weights[[one, other]] = 1, -1
    return bool(np.allclose(along.T @ (along @ weights), weights, atol=_ROUNDING))


def overlapping(rows: Floats, hits: Floats) -> NDArray[np.int64]:
    """The numbers of the rows that are not separated.

    A row is separated if its hit, 0 or 1, is the more certain the further the coefficients go some
    way, along which no row gets less likely (Albert and Anderson 1984). Such a fit has no end. The
    other rows have one, which is that of all rows for what they tell (Geyer 2009).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    signed = rows * np.where(hits == 1, 1, -1)[:, None]
    most = np.where(hits % 1, 0, 1)  # what is neither hit nor miss bounds both ways
    left = np.arange(len(rows))
    while left.size:
        own = signed[left]
        # The way with the largest sum. A row that takes all of 1 may leave another almost nothing,
        # which is found in a later round.
        bound = LinearConstraint(own, 0, most[left])
        is_separated = own @ milp(-own.sum(axis=0), constraints=bound, bounds=Bounds()).x > _GAIN
        if not is_separated.any():
            break
        left = left[~is_separated]
    return left


def fitted(rows: Floats, along: Floats, hits: Floats, clusters: NDArray[np.int64]) -> Fit:
    """The fit of hits (0 to 1) by these columns; the covariance allows for clusters of rows."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hits that rows foretell, as where all are ties
        model = GLM(hits, rows @ along.T, family=Binomial())
        fit = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": clusters})
    return Fit(fit.params, fit.cov_params(), along)
