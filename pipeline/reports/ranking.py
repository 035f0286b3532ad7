"""The leaderboard, with the models that are not told apart."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from pipeline import metrics
from pipeline.lake import Lake
from pipeline.metrics import DEFAULT_CONFIDENCE, DEFAULT_GAMES, PAPER, Answer
from pipeline.reports.compare import compare_rows
from pipeline.statistics.families import letter_groups


def leaderboard(
    lake: Lake,
    *,
    edition: str = PAPER,
    engine: str = "polars",
    master: str | None = None,
    models: Sequence[str] | None = None,
    num_of_game: int = DEFAULT_GAMES,
    confidence: float = DEFAULT_CONFIDENCE,
    include_incomplete: bool = False,
) -> pl.DataFrame:
    """`pipeline.metrics.ranked`, with `letters` of the win rate after the models."""
    answer = metrics.over_all(
        lake,
        edition=edition,
        engine=engine,
        master=master,
        models=models,
        num_of_game=num_of_game,
        confidence=confidence,
    )
    board = metrics.ranked(answer.rows, include_incomplete=include_incomplete)
    won = answer._replace(rows=answer.rows.filter(metric="win_rate"))
    told = letters(lake, won, edition=edition, num_of_game=num_of_game)
    joined = board.join(told, on="model", how="left", maintain_order="left")
    return joined.select("rank", "model", "letters", *board.columns[2:])


def letters(
    lake: Lake,
    answer: Answer,
    *,
    edition: str = PAPER,
    num_of_game: int = DEFAULT_GAMES,
    level: float = 0.05,
) -> pl.DataFrame:
    """model, letters: models that share a letter are not told apart by a metric, given its answer.

    All pairs are compared, and adjusted for their number by Holm. That two are not told apart does
    not make them equal.
    """
    is_told = pl.col("value").is_not_null() & pl.col("model").is_not_null()
    told = answer._replace(rows=answer.rows.filter(is_told))
    ranked = told.rows.sort("value", descending=True, maintain_order=True)
    models = ranked["model"].to_list()
    is_apart = np.zeros((len(models), len(models)), np.bool_)
    pairs = list(combinations(models, 2))
    compared = compare_rows(lake, told, pairs, edition=edition, num_of_game=num_of_game)
    apart = compared.filter(pl.col("p_holm") < level)
    for one, other in apart.select("model", "other").iter_rows():
        pair = models.index(one), models.index(other)
        is_apart[pair] = is_apart[pair[::-1]] = True
    schema = {"model": pl.String, "letters": pl.String}
    return pl.DataFrame({"model": models, "letters": letter_groups(is_apart)}, schema=schema)
