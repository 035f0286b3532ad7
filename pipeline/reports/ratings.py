"""Ratings by side: how a model does on the hidden side and on the other, whoever it met.

A tie is half a win. Self-play, in which one model holds every seat, says nothing of it and is left
out. How odds are found is said in `pipeline.statistics.side_ratings`.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from pipeline import column, games
from pipeline.lake import StoredLake
from pipeline.metrics.estimates import task_id_by_setting, task_id_expression
from pipeline.metrics.registry import MODEL_COLUMN
from pipeline.metrics.request import check_confidence, selection_condition
from pipeline.plugins import check_extra
from pipeline.reports.registry import report
from pipeline.vocabulary import EXCLUDE, Side

_odds_column = partial(column.Column, pl.Float64(), nullable=True, min=0, decimals=3)
RATING_COLUMNS: Mapping[str, column.Column] = {
    "side": column.category_column((Side.HIDDEN, Side.CIVILIAN), "the side that the model was on"),
    "pool": column.count_column(
        "the number of its pool, from 1: only models of one pool can be compared, since they met "
        "each other or the same models; null without odds",
        low=1,
        nullable=True,
    ),
    "rank": column.count_column("the place in its pool, by odds", low=1, nullable=True),
    "model": MODEL_COLUMN,
    "odds": _odds_column(
        "the odds that its side wins if it sits where models of the pool sat, in a mean game of "
        "the pool: adjusted for whom it met"
    ),
    "ci_low": _odds_column("the lower end of the confidence interval of the odds"),
    "ci_high": _odds_column("the upper end of the confidence interval of the odds"),
    "n_games": column.count_column("its games against other models").with_heading("games"),
    "n_settings": column.count_column("the settings of these games").with_heading("settings"),
    "left_out": column.text_column(
        "those of its games that the odds leave out, as their models or kind of game foretell the "
        "result for certain: how many of which kind; null without any, or without odds",
        nullable=True,
    ).with_heading("games left out"),
    "opponent": column.text_column(
        "the only model that the pool sat with or against; null if there are several", nullable=True
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

    A logistic regression of who won: the strength of the hidden seats against that of the others,
    for each kind of game. `odds` are those that the side wins if the model sits where models of its
    pool sat, in a mean game of the pool; 1 is an even chance. Where all of a pool met one model,
    these are the adjusted win odds against it. A tie is half a win; a game in which one model holds
    every seat is left out, and so is one whose models or kind foretell the result for certain, as
    where they won all or none. Only models of one pool and side can be compared: games link them.
    The intervals allow for settings. It needs the extra `ratings`.

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
    check_extra("a rating", "ratings", ("statsmodels",))
    # Imported here, so that what shows other results does not wait for numpy and scipy.
    from pipeline.statistics.side_ratings import rate_sides

    check_confidence(confidence)
    is_asked = selection_condition(game_type=game_type) & (pl.col("side") != Side.NONE)
    setting = task_id_expression("setting_id", lake.cached(task_id_by_setting))
    seats = lake.table("players").filter(is_asked).with_columns(setting)
    with_hits = seats.join(hidden_side_credit(lake), on="game_id").collect(engine="streaming")
    return rate_sides(with_hits, confidence).select(*RATING_COLUMNS)


def hidden_side_credit(lake: StoredLake) -> pl.LazyFrame:
    """Return game_id and `hit`, the hidden side's share of each game that ended: 1, 0, or 0.5.

    It is 0.5 if both sides are credited alike for the outcome, or the hidden side with a part.
    """
    side, credit = pl.col("side"), pl.col("win_credit")
    rows = [
        (kind.name, ending.outcome, True)
        for kind in games.game_definitions().values()
        for ending in kind.endings
        if ending.hidden is not None and ending.hidden == ending.civilian
    ]
    schema = {"game_type": pl.String(), "outcome": pl.String(), "is_tie": pl.Boolean()}
    ties = pl.LazyFrame(rows, schema, orient="row")
    # Of two sides one wins, whoever failed: what one loses by a failure the other has not won.
    results = lake.with_failures(EXCLUDE).table("results").filter("is_tested", side != Side.NONE)
    outcomes = lake.table("games").select("game_id", "outcome").join(ties, on="outcome")
    ended = results.drop_nulls("win_credit").join(outcomes, on=["game_id", "game_type"], how="left")
    of_hidden = pl.when(side == Side.HIDDEN).then(credit).otherwise(1 - credit)
    is_tie = of_hidden.is_between(0, 1, closed="none") | pl.col("is_tie").is_not_null()
    return ended.group_by("game_id").agg(hit=pl.when(is_tie).then(0.5).otherwise(of_hidden).max())
