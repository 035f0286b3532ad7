"""Whether a model has played all of what any model played, by game type."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.metrics.declaration import Metric, Tables

_OF_SETTING = ("competition", "game_type", "setting_id")


def complete_types(tables: Tables) -> pl.DataFrame:
    """model, game_type, is_complete: it finished a game of every setting played by any model."""
    results = tables("results").filter("is_tested")
    of_competition = ["competition", "game_type"]
    played = results.group_by(_OF_SETTING).agg().group_by(of_competition).agg(n_played=pl.len())
    finished = (
        results.filter("is_finished")
        .group_by("model", *_OF_SETTING)
        .agg()
        .group_by("model", *of_competition)
        .agg(n_finished=pl.len())
    )
    models = results.select("model").unique()
    lazy = (
        models.join(played, how="cross")
        .join(finished, on=["model", *of_competition], how="left", nulls_equal=True)
        .group_by("model", "game_type")
        .agg(is_complete=(pl.col("n_finished").fill_null(0) >= pl.col("n_played")).all())
    )
    return lazy.collect(engine="streaming")


def with_completeness(
    rows: pl.DataFrame, metrics: Mapping[str, Metric], complete: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame:
    """The metrics' rows with `is_complete`: over their game types; null if not by model."""
    if "model" not in by:
        return rows.with_columns(is_complete=pl.lit(None, pl.Boolean))
    types = pl.concat(
        complete.filter(pl.col("game_type").is_in(metric.game_types)).with_columns(
            metric=pl.lit(name)
        )
        for name, metric in metrics.items()
    )
    over_all = types.group_by("metric", "model").agg(pl.col("is_complete").all())
    of_row = types if "game_type" in by else over_all
    keys = ["metric", "model", *(["game_type"] if "game_type" in by else [])]
    by_row = of_row.rename({"is_complete": "of_row"}).select(*keys, "of_row")
    return (
        rows.join(by_row, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .join(over_all, on=["metric", "model"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(is_complete=pl.coalesce("of_row", "is_complete"))
        .drop("of_row")
    )
