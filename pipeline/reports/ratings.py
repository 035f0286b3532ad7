"""Ratings by side: the adjusted odds that a model's side wins, for the hidden side and the other.

A tie counts as half a win. Games in which one model holds every seat are excluded, because they
contain no information about the model. The odds are estimated by
`pipeline.statistics.side_ratings`. Used by `pipeline.lake_methods`, `pipeline.render` and the
export of battles.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from pipeline import column, games
from pipeline.lake import StoredLake
from pipeline.metrics.estimates import replace_setting_ids_by_task_ids, task_id_by_variant_setting
from pipeline.metrics.registry import MODEL_COLUMN
from pipeline.metrics.request import check_confidence, selection_condition
from pipeline.plugins import check_extra_is_installed
from pipeline.reports.registry import report
from pipeline.vocabulary import EXCLUDE, Side

_odds_column = partial(column.Column, pl.Float64(), nullable=True, min=0, decimals=3)
RATING_COLUMNS: Mapping[str, column.Column] = {
    "side": column.category_column((Side.HIDDEN, Side.CIVILIAN), "the side of the model"),
    "pool": column.count_column(
        "the number of its pool, from 1: only models of one pool can be compared, because games "
        "connect them directly or through other models; null without odds",
        low=1,
        nullable=True,
    ),
    "rank": column.count_column("the rank in its pool, by odds", low=1, nullable=True),
    "model": MODEL_COLUMN,
    "odds": _odds_column(
        "the odds that its side wins if the model takes the seats of models of the pool, in a mean "
        "game of the pool: adjusted for the models that it met"
    ),
    "ci_low": _odds_column("the lower end of the confidence interval of the odds"),
    "ci_high": _odds_column("the upper end of the confidence interval of the odds"),
    "n_games": column.count_column("its games against other models").with_heading("games"),
    "n_settings": column.count_column("the settings of these games").with_heading("settings"),
    "left_out": column.text_column(
        "numbers of its games, by game type, that are excluded from the odds because their models "
        "or game type determine the result; null without any such games, or without odds",
        nullable=True,
    ).with_heading("games left out"),
    "opponent": column.text_column(
        "the only model that the pool played with or against; null if there are several",
        nullable=True,
    ),
    "reason": column.text_column("why there are no odds, null if there are", nullable=True),
}


@report(columns=RATING_COLUMNS, title="Ratings by side", has_losses=False, is_for_papers=True)
def ratings(
    lake: StoredLake,
    *,
    game_type: str | Sequence[str] | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Rate the models on each side of games that have a hidden side, whoever they met.

    A logistic regression predicts the winning side from the strength of the hidden seats and of the
    other seats, for each game type. `odds` are the odds that the side wins if the model takes the
    seats of models of its pool, in a mean game of the pool; 1 is an even chance. If all models of a
    pool met one model, these are the adjusted win odds against it. A tie is half a win. Games in
    which one model holds every seat are excluded, and so are games whose models or type determine
    the result, because they won all or none of their games. Only models of the same pool and side
    can be compared. The intervals are clustered by setting. The command needs the extra `ratings`.

    \b
    Examples:
      magic ratings
      magic ratings --game-type undercover --confidence 0.9
      magic ratings --format csv

    Raises UsageError for an unknown game type or a confidence that is not between 0 and 1, and
    MissingExtraError without the extra `ratings`.

    >>> chameleon = lake.ratings(game_type="chameleon")
    >>> chameleon.select("side", "model", "n_games").rows()[0]
    ('hidden', 'sim-delta', 4)
    """
    check_extra_is_installed("a rating", "ratings", ("statsmodels",))
    # Imported here, so that other reports do not have to load numpy and scipy.
    from pipeline.statistics.side_ratings import rate_sides

    check_confidence(confidence)
    is_included = selection_condition(game_type=game_type) & (pl.col("side") != Side.NONE)
    setting = replace_setting_ids_by_task_ids(
        "setting_id", lake.compute_once(task_id_by_variant_setting)
    )
    seats = lake.table("players").filter(is_included).with_columns(setting)
    seats_with_credit = seats.join(hidden_side_credit_by_game(lake), on="game_id").collect(
        engine="streaming"
    )
    return rate_sides(seats_with_credit, confidence).select(*RATING_COLUMNS)


def hidden_side_credit_by_game(lake: StoredLake) -> pl.LazyFrame:
    """Return for each finished game with a hidden side whether this side won: 1, 0 or 0.5.

    Args:
        lake: The lake with the games.

    Returns:
        The columns `game_id` and `hit`: 1 if the hidden side won, 0 if it lost, and 0.5 for a tie
        or a partial win.
    """
    side, credit = pl.col("side"), pl.col("win_credit")
    tied_outcomes = [
        (definition.name, ending.outcome, True)
        for definition in games.game_definitions().values()
        for ending in definition.endings
        if ending.hidden is not None and ending.hidden == ending.civilian
    ]
    schema = {"game_type": pl.String(), "outcome": pl.String(), "is_tie": pl.Boolean()}
    ties = pl.LazyFrame(tied_outcomes, schema, orient="row")
    # Failed games are excluded, because a loss by failure is not a win of the other side.
    results = lake.with_failures(EXCLUDE).table("results").filter("is_tested", side != Side.NONE)
    outcomes = lake.table("games").select("game_id", "outcome").join(ties, on="outcome")
    credited_results = results.drop_nulls("win_credit").join(
        outcomes, on=["game_id", "game_type"], how="left"
    )
    hidden_credit = pl.when(side == Side.HIDDEN).then(credit).otherwise(1 - credit)
    is_tie = hidden_credit.is_between(0, 1, closed="none") | pl.col("is_tie").is_not_null()
    return credited_results.group_by("game_id").agg(
        hit=pl.when(is_tie).then(0.5).otherwise(hidden_credit).max()
    )
