"""The leaderboard, with letters for models whose difference is not significant."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from pipeline.column import listed
from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics import ALL, DEFAULT_CONFIDENCE, DEFAULT_GAMES, PAPER, Answer, answered
from pipeline.metrics.known import names
from pipeline.metrics.request import Request, several
from pipeline.metrics.results import (
    LEADERBOARD,
    OF_A_METRIC,
    ORIGIN,
    REPLAYS,
    flat,
    leaderboard_columns,
    origin,
    wide,
)
from pipeline.reports.compare.differences import adjusted, compared
from pipeline.reports.compare.pairs import of_models
from pipeline.reports.lacking import lacking
from pipeline.statistics.families import letter_groups, reaches
from pipeline.statistics.sums import DIGITS
from pipeline.vocabulary import Edition, Engine

_OF_LETTERS = ("letters", "family")

MOST_LETTERED = 100
"""With more models, pairs are not compared: after Holm's adjustment almost none would differ."""


@of_one_system
@listed({**LEADERBOARD, **ORIGIN})
def leaderboard(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    engine: Engine = "polars",
    master: str | None = None,
    model: str | Sequence[str] | None = None,
    num_of_game: int = DEFAULT_GAMES,
    confidence: float = DEFAULT_CONFIDENCE,
    include_incomplete: bool = False,
) -> pl.DataFrame:
    """A row for each model, ranked by win rate, with all metrics over all game types.

    A model that lacks a whole competition has no rank and comes after the others, unless
    `include_incomplete` is set. Other arguments are those of `metrics`.

    Raises UsageError for an unknown model, edition or engine.

    >>> lake.leaderboard().select("rank", "model", "letters").rows()[:2]
    [(1, 'sim-delta', 'a'), (2, 'sim-cedar', 'ab')]
    """
    request = Request(
        edition=edition, num_of_game=num_of_game, models=several(model), game_types=(ALL,)
    )
    answer = answered(
        lake,
        request,
        engine=engine,
        master=master,
        with_games=("win_rate",),
        confidence=confidence,
    )
    return _ranked(lake, answer, confidence, include_incomplete=include_incomplete)


class Board(NamedTuple):
    """A leaderboard: `ranking` has the rows of `leaderboard`, `values` those of `metrics`."""

    ranking: pl.DataFrame
    values: pl.DataFrame


@of_one_system
def board(lake: StoredLake, *, edition: Edition = PAPER) -> Board:
    """The leaderboard, and the counts behind each of its cells, computed once.

    The result's `ranking` has the columns of `leaderboard`, its `values` those of `metrics`. Raises
    UsageError for an unknown edition.

    >>> board = lake.board()
    >>> board.ranking.height, board.values.height
    (4, 32)
    """
    answer = answered(lake, Request(edition=edition, game_types=(ALL,)))
    return Board(_ranked(lake, answer, DEFAULT_CONFIDENCE), answer.rows)


def _ranked(
    lake: StoredLake, answer: Answer, confidence: float, *, include_incomplete: bool = False
) -> pl.DataFrame:
    lacks = lacking(lake, answer.settings)
    board = ranked(answer.rows, lacks, include_incomplete=include_incomplete)
    with_rank = board.filter(pl.col("rank").is_not_null())["model"]
    is_ranked = pl.col("model").is_in(with_rank.implode())
    won = answer._replace(rows=answer.rows.filter(is_ranked, metric="win_rate"))
    of_models = letters(won, confidence)
    joined = board.join(of_models, on="model", how="left", maintain_order="left")
    columns = list(leaderboard_columns())
    return joined.select(*columns, *origin(lake, answer.request.edition))


def ranked(
    rows: pl.DataFrame, lacks: pl.DataFrame, *, include_incomplete: bool = False
) -> pl.DataFrame:
    """A row for each model, from the rows over all game types and what models are `lacking`.

    The columns are those of `LEADERBOARD` without the letters. Ties share the better rank. Models
    without a win rate have no rank and come last. Models that lack a whole competition have none
    either, unless `include_incomplete`, since their win rate measures something else.
    """
    # Named, since a lake without games has no rows to take the columns from.
    estimates = flat(wide(rows, names(PAPER), ["model"]), OF_A_METRIC)
    is_win_rate = pl.col("metric") == "win_rate"
    of_model = rows.group_by("model").agg(
        pl.col("n_games", "is_complete", *REPLAYS).filter(is_win_rate).first(),
        reasons=pl.format("{}: {}", "metric", "reason").drop_nulls(),
    )
    is_apart = pl.lit(value=not include_incomplete) & (pl.col("lacks").list.len() > 0)
    # Equal means of fractions may differ in a last digit.
    win_rate = pl.col("win_rate").round(DIGITS)
    place = pl.when(~is_apart).then(win_rate).rank("min", descending=True)
    return (
        estimates.join(of_model, on="model", nulls_equal=True)
        .join(lacks, on="model", how="left", nulls_equal=True)
        .with_columns(rank=place.cast(pl.Int64))
        .sort("rank", -win_rate, "model", nulls_last=True)
        .select([name for name in leaderboard_columns() if name not in _OF_LETTERS])
    )


def letters(answer: Answer, confidence: float = DEFAULT_CONFIDENCE) -> pl.DataFrame:
    """model, letters, family: models that share a letter do not differ significantly.

    All pairs of models are compared; their p-values are adjusted by Holm for the number of pairs,
    `family`. Models that do not differ significantly are not shown to be equal.
    Both columns are null for more models than `MOST_LETTERED`.
    """
    has_value = pl.col("value").is_not_null() & pl.col("model").is_not_null()
    valued = answer._replace(rows=answer.rows.filter(has_value))
    models = valued.rows.sort("value", descending=True, maintain_order=True)["model"].to_list()
    schema = {"model": pl.String, "letters": pl.String}
    if len(models) > MOST_LETTERED:
        without = pl.DataFrame({"model": models, "letters": None}, schema=schema)
        return without.with_columns(family=pl.lit(None, pl.Int64))
    pairs = list(combinations(models, 2))
    differences = adjusted(
        compared(valued, of_models(valued, pairs), confidence, with_intervals=False), []
    )
    reached = differences.select(reaches(pl.col("p_holm"), confidence)).to_series()
    is_apart = np.zeros((len(models), len(models)), np.bool_)
    is_apart[np.triu_indices(len(models), 1)] = reached.fill_null(value=False)
    lettered = pl.DataFrame({"model": models, "letters": letter_groups(is_apart)}, schema=schema)
    return lettered.with_columns(family=pl.lit(differences["p_value"].count(), pl.Int64))
