"""The settings in which two models differ most."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import PAPER, metrics
from pipeline.metrics.paging import check_limit
from pipeline.metrics.results import counted_in
from pipeline.metrics.rows import literals
from pipeline.reports.compare.pairs import check_pairs
from pipeline.vocabulary import ALL, RELEASE, Edition

_FIRST = "the id of the first game in it that counts, by index, of "
APART: Mapping[str, column.Column] = {
    **{name: TABLES["games"].columns()[name] for name in ("setting_id", "game_type")},
    "value": column.share("the model's value in the setting, in the metric's unit"),
    "other_value": column.share("the value of the other"),
    "difference": column.share("value − other_value"),
    "game": column.text(f"{_FIRST}the model", nullable=True),
    "other_game": column.text(f"{_FIRST}the other", nullable=True),
}


@counted_in(APART)
def settings_apart(
    lake: StoredLake,
    model: str,
    other: str,
    metric: str,
    *,
    edition: Edition = PAPER,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    limit: int = 10,
) -> pl.DataFrame:
    """The settings in which two models differ most, of those that both played.

    `game_type` and `where` choose rows as in `metrics`. The edition `release` has no values by
    setting, so it has no rows.

    Raises UsageError for an unknown model or metric, for a model compared with itself, and for a
    wrong condition.

    >>> apart = lake.settings_apart("sim-delta", "sim-atlas", "win_rate", limit=2)
    >>> apart.select("game_type", "value", "other_value").rows()
    [('public_good', 1.0, 0.0), ('cost_sharing', 1.0, 0.0)]
    """
    check_limit(limit)
    check_pairs([(model, other)])
    nothing = pl.DataFrame(schema=column.schema(APART))
    if edition == RELEASE:
        return nothing
    choices = {
        "metric": metric,
        "edition": edition,
        "model": [model, other],
        "game_type": game_type,
        "where": where,
    }
    keys = ["setting_id", "game_type"]
    values = _values(lake, choices, keys)
    of_one, of_other = (values.filter(model=name).select(*keys, "value") for name in (model, other))
    apart = (
        of_one.join(of_other.rename({"value": "other_value"}), on=keys)
        .with_columns(difference=pl.col("value") - pl.col("other_value"))
        .sort(-pl.col("difference").abs(), *keys)
        .head(limit)
    )
    games = _first_games(lake, choices, apart["setting_id"].to_list())
    for name, game in ((model, "game"), (other, "other_game")):
        game_ids = games.filter(model=name).select("setting_id", pl.col("game_id").alias(game))
        apart = apart.join(game_ids, on="setting_id", how="left", maintain_order="left")
    return pl.concat([nothing, apart.select(*APART)])


def _values(lake: StoredLake, choices: Mapping[str, Any], by: Sequence[str]) -> pl.DataFrame:
    """The values of both models by these columns, one of which is the game type."""
    values = metrics(lake, by=["model", *by], confidence=None, **choices)
    return values.filter(pl.col("game_type") != ALL, pl.col("value").is_not_null())


def _first_games(
    lake: StoredLake, choices: Mapping[str, Any], settings: Sequence[str]
) -> pl.DataFrame:
    """model, setting_id, game_id: the first game of each model and setting that counts."""
    is_theirs = f"setting_id IN ({literals(settings)})"
    where = f"({choices['where']}) AND {is_theirs}" if choices["where"] else is_theirs
    counted = _values(
        lake, {**choices, "where": where}, ["setting_id", "game_type", "game_id", "game_index"]
    )
    first = counted.sort("game_index", "game_id", nulls_last=True)
    return first.group_by("model", "setting_id").agg(pl.col("game_id").first())
