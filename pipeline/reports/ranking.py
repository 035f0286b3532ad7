"""The leaderboard, with the models that are not told apart."""

from typing import Any

import numpy as np
import polars as pl

from pipeline import metrics
from pipeline.lake import Lake
from pipeline.metrics import PAPER
from pipeline.reports.compare import compare
from pipeline.statistics.families import letter_groups


def leaderboard(lake: Lake, *, edition: str = PAPER, **options: Any) -> pl.DataFrame:
    """`pipeline.metrics.leaderboard` with `letters` of the win rate: see there."""
    board = metrics.leaderboard(lake, edition=edition, **options)
    ranked = board.filter(pl.col("win_rate").is_not_null(), pl.col("model").is_not_null())
    best_first = ranked.sort("win_rate", descending=True, maintain_order=True)["model"].to_list()
    told = letters(lake, best_first, edition=edition)
    joined = board.join(told, on="model", how="left", maintain_order="left")
    return joined.select("rank", "model", "letters", *board.columns[2:])


def letters(
    lake: Lake,
    models: list[str],
    *,
    name: str = "win_rate",
    edition: str = PAPER,
    level: float = 0.05,
) -> pl.DataFrame:
    """model, letters: models that share a letter are not told apart by the metric.

    All pairs of the models, in this order, compared and adjusted for their number by Holm. That two
    are not told apart does not make them equal.
    """
    place = {model: number for number, model in enumerate(models)}
    pairs = [(one, other) for one in models for other in models if place[one] < place[other]]
    is_apart = np.zeros((len(models), len(models)), np.bool_)
    if pairs:
        compared = compare(lake, pairs, names=[name], edition=edition)
        apart = compared.filter(pl.col("p_holm") < level)
        for one, other in apart.select("model", "other").iter_rows():
            is_apart[place[one], place[other]] = is_apart[place[other], place[one]] = True
    schema = {"model": pl.String, "letters": pl.String}
    return pl.DataFrame({"model": models, "letters": letter_groups(is_apart)}, schema=schema)
