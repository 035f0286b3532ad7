"""Ratings of models in games with a hidden side, from a logistic regression over all games.

Used by `reports.ratings`. The regression needs `statsmodels`, which comes with the extra `ratings`.

The log odds that the hidden side wins are those of the game type, plus the mean strength of the
hidden seats, minus the mean strength of the other seats. A node is a model on one side; it has a
strength of its own. Games that are perfectly separated are left out of the fit: those of a model
that won all or no games, of a game type that its hidden side always or never won, or of a
combination of these.

Columns of the design matrix may be linearly dependent. Then only some linear combinations of the
coefficients are estimable: `is_difference_estimable` checks it for the difference of two
coefficients, and `Fit.weighted_sum_and_standard_error` returns an estimable combination with its
standard error. A fit is finite if the rows overlap, see `rows_not_perfectly_separated`.
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
_ORTHOGONALITY_TOLERANCE, _EIGENVALUE_TOLERANCE, _MIN_SEPARATION = 1e-8, 1e-11, 1e-3
_SIDE, _HIT, _GAME = pl.col("side"), pl.col("hit"), pl.col("game_id")
_IS_HIDDEN = _SIDE == Side.HIDDEN
_MAX_LOGIT, _MIN_STANDARD_ERROR = 12.0, 1e-6
"""Ratings with a larger logit or a smaller standard error are not reported."""
_REASON_SEPARATED = (
    "all of its games are left out, because their models or game types predict the results "
    "with certainty"
)
_REASON_EXTREME = "its odds are more extreme than its games can show"
_REASON_ALWAYS_TOGETHER = (
    "its games do not separate it from another model, which was on the same side in all of them"
)
_REASON_WIDE_INTERVAL = (
    "its games do not separate it from others: its odds could be 1,000 times as high or as low"
)
_REASON_NO_VARIATION = "its results do not vary between settings, so there is no interval"
_REASON_ONE_SETTING = "all of its games are of one setting, so there is no interval"
_REASON_FEW_GAMES = "there are too few games or settings for this number of models"
_ODDS_SCHEMA = {
    **dict.fromkeys(_NODE, pl.String()),
    "pool": pl.Int64(),
    **dict.fromkeys(("odds", "ci_low", "ci_high"), pl.Float64()),
    **dict.fromkeys(("opponent", "reason"), pl.String()),
}


def rate_sides(seats: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """Rate each tested model on each side, such as the hidden side, by its odds of winning.

    Args:
        seats: Rows of `players` with a column `hit`: 1 if the hidden side won the game, 0 if the
            other side won, 1/2 for a tie.
        confidence: The confidence level, between 0 and 1.

    Returns:
        One row per tested model and side, sorted by side, pool and rank: the columns of
        `_ODDS_SCHEMA`, the numbers of games and settings, the share of the side in its worst and
        best game (`least`, `most`), `rank` and `left_out`. `reason` says why a row has no odds.
    """
    has_different_nodes = [pl.col(name).n_unique().over("game_id") > 1 for name in _NODE]
    rated_seats = seats.filter(has_different_nodes)
    tested_models = _games_and_best_results_by_node(rated_seats.filter("is_tested"))
    # Only games that are not perfectly separated enter the fit.
    games, rows = _games_and_design_matrix(
        rated_seats, _games_and_best_results_by_node(rated_seats)
    )
    games_in_fit = games[rows_not_perfectly_separated(rows, games["hit"].to_numpy())]
    fitted_seats = rated_seats.join(games_in_fit, on="game_id", how="semi")
    odds = pl.DataFrame(list(_iter_odds_of_nodes(fitted_seats, confidence)), schema=_ODDS_SCHEMA)
    # Count the games of each type that are left out.
    omitted_games = (
        rated_seats.join(fitted_seats, on="game_id", how="anti")
        .group_by(*_NODE, "game_type")
        .agg(text=pl.format("{} of ", _GAME.n_unique()))
        .sort("game_type")
    )
    count_texts = omitted_games.select(*_NODE, left_out=pl.col("text") + pl.col("game_type"))
    left_out = count_texts.group_by(_NODE, maintain_order=True).agg(
        pl.col("left_out").str.join(", ")
    )
    has_odds = pl.col("odds").is_not_null()
    none_or_all = pl.when(most=0).then(pl.lit("none")).when(least=1).then(pl.lit("all"))
    reason_swept = pl.format("it won {} of its games", none_or_all)
    reason_text = pl.coalesce("reason", reason_swept, pl.lit(_REASON_SEPARATED))
    rank = pl.col("odds").rank("min", descending=True).over("side", "pool").cast(pl.Int64)
    pool_number = pl.col("pool").rank("dense").over("side").cast(pl.Int64)
    return (
        tested_models.join(odds, on=_NODE, how="left", nulls_equal=True)
        .join(left_out, on=_NODE, how="left", nulls_equal=True)
        .with_columns(
            rank=rank,
            pool=pool_number,
            left_out=pl.when(has_odds).then("left_out"),
            reason=pl.when(~has_odds).then(reason_text),
        )
        .sort(~_IS_HIDDEN, "pool", "rank", "model", nulls_last=True)
    )


def _games_and_best_results_by_node(seats: pl.DataFrame) -> pl.DataFrame:
    """Return the games, settings, worst and best result of each model on each side."""
    side_result = pl.when(_IS_HIDDEN).then(_HIT).otherwise(1 - _HIT)
    n_settings = pl.col("setting_id").n_unique().cast(pl.Int64)
    return (
        seats.group_by(_NODE)
        .agg(
            least=side_result.min(),
            most=side_result.max(),
            n_games=_GAME.n_unique().cast(pl.Int64),
            n_settings=n_settings,
        )
        .sort(_NODE, nulls_last=True)
    )


def _iter_odds_of_nodes(seats: pl.DataFrame, confidence: float) -> Iterator[dict[str, Any]]:
    """Yield the winning odds of each model on each side, with interval, or the reason for none."""
    if seats.is_empty():
        return
    nodes = _games_and_best_results_by_node(seats)
    games, rows = _games_and_design_matrix(seats, nodes)
    hits = games["hit"].to_numpy()
    clusters = games["setting_id"].rank("dense").to_numpy()
    estimable_directions = orthonormal_basis_of_row_space(rows)
    is_enough = len(rows) > len(estimable_directions) and len({*clusters}) > 1
    fit = fit_logistic_regression(rows, estimable_directions, hits, clusters) if is_enough else None
    model_names = nodes["model"].to_list()
    tested = seats.filter("is_tested").select(*_NODE).unique()
    inseparable_nodes = _nodes_with_same_games_as_another(rows, nodes, tested)
    for number, pool in enumerate(
        _group_nodes_into_comparable_pools(nodes, estimable_directions), start=1
    ):
        pool_rows = rows[:, pool]
        games_of_pool = rows[pool_rows.any(axis=1)]
        mean = games_of_pool.mean(axis=0)
        pool_share, mean[pool] = mean[pool].sum(), 0
        sign = 1 if pool_share > 0 else -1
        opponents = {
            model_names[opponent]
            for opponent in np.flatnonzero(games_of_pool.any(axis=0))
            if opponent < len(model_names)
        }
        opponents -= {model_names[opponent] for opponent in pool}
        for node in pool:
            weights = mean.copy()
            weights[node] = pool_share
            n_free = nodes["n_settings"][node] - 1
            logit, error = fit.weighted_sum_and_standard_error(weights) if fit else (0.0, 0.0)
            spread = float(error * student.ppf((1 + confidence) / 2, max(1, n_free)))
            reason = (
                _reason_without_odds(logit, error, spread, n_free) if fit else _REASON_FEW_GAMES
            )
            reason = _REASON_ALWAYS_TOGETHER if node in inseparable_nodes else reason
            ends = [sign * logit + direction * spread for direction in (0, -1, 1)]
            odds = [None if reason else float(np.exp(min(end, 700))) for end in ends]
            yield {
                "side": nodes["side"][node],
                "model": model_names[node],
                "pool": None if reason else number,
                **dict(zip(("odds", "ci_low", "ci_high"), odds, strict=True)),
                "opponent": next(iter(opponents)) if len(opponents) == 1 else None,
                "reason": reason,
            }


def _nodes_with_same_games_as_another(
    rows: Floats, nodes: pl.DataFrame, tested_nodes: pl.DataFrame
) -> set[int]:
    """Return the tested nodes (a model on a side) that only ever played together with another one.

    Both nodes are on the same side in exactly the same games, so their strengths cannot be told
    apart.
    """
    is_in = rows[:, : nodes.height] != 0
    games_of_nodes = [column.tobytes() for column in is_in.T]
    nodes_with_same_games = (
        nodes.select(*_NODE)
        .with_row_index("node")
        .with_columns(games=pl.Series(games_of_nodes, dtype=pl.Binary))
        .join(tested_nodes, on=_NODE, how="semi", nulls_equal=True)
        .filter(pl.len().over("side", "games") > 1)
    )
    return {*nodes_with_same_games["node"]}


def _reason_without_odds(
    logit: float, standard_error: float, half_width: float, degrees_of_freedom: int
) -> str | None:
    """Return why the odds of a model cannot be reported, or None if they can."""
    if degrees_of_freedom < 1:
        return _REASON_ONE_SETTING
    if not (abs(logit) <= _MAX_LOGIT and np.isfinite(standard_error)):
        return _REASON_EXTREME
    if half_width > np.log(1000):
        return _REASON_WIDE_INTERVAL
    return _REASON_NO_VARIATION if standard_error < _MIN_STANDARD_ERROR else None


def _games_and_design_matrix(
    seats: pl.DataFrame, nodes: pl.DataFrame
) -> tuple[pl.DataFrame, Floats]:
    """Return the games and the regression's design matrix, with one row per game."""
    games = seats.unique("game_id").sort("setting_id", "game_id").with_row_index("row")
    numbered_nodes = nodes.select(*_NODE).with_row_index("node")
    weight = pl.when(_IS_HIDDEN).then(1.0).otherwise(-1.0) / pl.len().over("game_id", "side")
    entries = (
        seats.join(numbered_nodes, on=_NODE, nulls_equal=True)
        .join(games.select("game_id", "row"), on="game_id")
        .select("row", "node", weight=weight)
    )
    type_column = games["game_type"].rank("dense").to_numpy().astype(int) + nodes.height - 1
    rows = np.zeros((games.height, nodes.height + games["game_type"].n_unique()))
    game, node, weights = (entries[name].to_numpy() for name in ("row", "node", "weight"))
    np.add.at(rows, (game, node), weights)
    rows[np.arange(games.height), type_column] = 1
    return games, rows


def _group_nodes_into_comparable_pools(
    nodes: pl.DataFrame, estimable_directions: Floats
) -> list[list[int]]:
    """Group the models of each side into pools within which their strengths can be compared."""
    pools: list[list[int]] = []
    sides = nodes["side"].to_list()
    for node, side in enumerate(sides):
        for pool in pools:
            if sides[pool[0]] == side and is_difference_estimable(
                estimable_directions, pool[0], node
            ):
                pool.append(node)
                break
        else:
            pools.append([node])
    return sorted(pools, key=lambda pool: (sides[pool[0]] != Side.HIDDEN, -len(pool), pool))


class Fit(NamedTuple):
    """A fitted logistic regression.

    Attributes:
        coefficients: The coefficients in the estimable directions.
        covariance: The covariance matrix of the coefficients.
        directions: The estimable directions as orthonormal rows, one column per column of the
            design matrix.
    """

    coefficients: Floats
    covariance: Floats
    directions: Floats

    def weighted_sum_and_standard_error(self, weights: Floats) -> tuple[float, float]:
        """Return a weighted sum of the coefficients and its standard error.

        Args:
            weights: One weight per column of the design matrix.

        Returns:
            The weighted sum and its standard error.
        """
        projected_weights = self.directions @ weights
        # A variance of 0 may be rounded to a negative number.
        variance = np.maximum(0, projected_weights @ self.covariance @ projected_weights)
        return float(projected_weights @ self.coefficients), float(np.sqrt(variance))


def orthonormal_basis_of_row_space(rows: Floats) -> Floats:
    """Return an orthonormal basis of a matrix's row space: the directions that can be estimated.

    Args:
        rows: The design matrix.

    Returns:
        The basis vectors as rows.
    """
    # The eigenvectors of the small matrix rowsᵀ·rows, because there are many rows.
    eigenvalues, eigenvectors = np.linalg.eigh(rows.T @ rows)
    estimable_directions: Floats = eigenvectors.T[
        eigenvalues > _EIGENVALUE_TOLERANCE * eigenvalues.max()
    ]
    return estimable_directions


def is_difference_estimable(
    estimable_directions: Floats, first_column: int, second_column: int
) -> bool:
    """Return whether the games determine the difference between two columns' coefficients.

    Args:
        estimable_directions: The basis, as returned by `orthonormal_basis_of_row_space`.
        first_column: The number of the first column.
        second_column: The number of the second column.
    """
    weights = np.zeros(estimable_directions.shape[1])
    weights[[first_column, second_column]] = 1, -1
    return bool(
        np.allclose(
            estimable_directions.T @ (estimable_directions @ weights),
            weights,
            atol=_ORTHOGONALITY_TOLERANCE,
        )
    )


def rows_not_perfectly_separated(rows: Floats, hits: Floats) -> NDArray[np.int64]:
    """Return the numbers of the rows whose result the columns do not predict with certainty.

    A row is separated if, along some direction of the coefficients, its hit (0 or 1) becomes more
    and more certain while no row becomes less likely. A fit of separated rows diverges. The fit of
    the other rows is finite; it is the limit of the fit of all rows.

    Args:
        rows: The design matrix, one row per game.
        hits: The result of each game, between 0 and 1.

    Returns:
        The numbers of the remaining rows, in ascending order.

    References:
        Albert and Anderson (1984) for separation; Geyer (2009) for the limit.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    signed = rows * np.where(hits == 1, 1, -1)[:, None]
    # A tie becomes less likely in both directions.
    upper_bounds = np.where(hits % 1, 0, 1)
    remaining = np.arange(len(rows))
    while remaining.size:
        remaining_rows = signed[remaining]
        # Find the direction with the largest sum. A row that uses the whole bound of 1 may leave
        # almost nothing for another row, which is then found in a later round.
        bound = LinearConstraint(remaining_rows, 0, upper_bounds[remaining])
        is_separated = (
            remaining_rows @ milp(-remaining_rows.sum(axis=0), constraints=bound, bounds=Bounds()).x
            > _MIN_SEPARATION
        )
        if not is_separated.any():
            break
        remaining = remaining[~is_separated]
    return remaining


def fit_logistic_regression(
    rows: Floats, estimable_directions: Floats, hits: Floats, clusters: NDArray[np.int64]
) -> Fit:
    """Fit a logistic regression with standard errors that are robust to clusters of rows.

    Args:
        rows: The design matrix, one row per game.
        estimable_directions: The basis of its row space.
        hits: The result of each game, between 0 and 1.
        clusters: The number of the cluster (setting) of each game.

    Returns:
        The coefficients in the estimable directions and their covariance.
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        # statsmodels warns if the rows predict the hits perfectly, for example if all are ties.
        warnings.simplefilter("ignore")
        model = GLM(hits, rows @ estimable_directions.T, family=Binomial())
        fit = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": clusters})
    return Fit(fit.params, fit.cov_params(), estimable_directions)
