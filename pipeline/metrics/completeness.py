"""Whether a model has played all of what any model played, by game type."""

from collections.abc import Mapping

import polars as pl

from pipeline.lake import StoredLake
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import Request
from pipeline.vocabulary import ALL

_UNKNOWN = pl.lit(None, pl.Boolean)
# A game that nobody can repeat has its own id for a setting.
IS_OWN = pl.col("setting_id") == pl.col("game_id")


def played(lake: StoredLake, *conditions: pl.Expr) -> pl.DataFrame:
    """What models under test played: a row for each model, competition, game type and setting.

    With conditions, only results that meet them.

    Columns: these, n_games (results), is_finished, whether any of these games is, and is_own,
    whether the setting is that of one game which nobody can repeat.
    """
    results = lake.table("results").filter("is_tested", *conditions)
    return (
        results.group_by("model", "competition", "game_type", "setting_id")
        .agg(
            n_games=pl.len().cast(pl.Int64),
            is_finished=pl.col("is_finished").any(),
            is_own=IS_OWN.all(),
        )
        .collect(engine="streaming")
    )


def completeness(
    metrics: Mapping[str, Metric], settings: pl.DataFrame, request: Request
) -> pl.DataFrame:
    """`is_complete` of each metric and model: over its game types, and also of each one if values
    are grouped by them. Without models, it is null for each metric.

    `settings` are those that were `played`. Columns: metric, model and game_type as far as values
    are grouped by them, is_complete.
    """
    if "model" not in request.by:
        return pl.DataFrame({"metric": list(metrics)}).with_columns(is_complete=_UNKNOWN)
    complete = _complete_types(settings)
    types = pl.concat(
        complete.filter(pl.col("game_type").is_in(_types(declared, request))).with_columns(
            metric=pl.lit(name)
        )
        for name, declared in metrics.items()
    )
    over_all = types.group_by("metric", "model").agg(pl.col("is_complete").all())
    if not request.is_rolled_up:
        return over_all
    return pl.concat([types, over_all.with_columns(game_type=pl.lit(ALL))], how="diagonal")


def expected(settings: pl.DataFrame, models: pl.DataFrame | None = None) -> pl.DataFrame:
    """The settings that each model is to finish: model, competition, game_type, setting_id.

    These are all that any model played; of games that nobody can repeat, only the model's own.
    `settings` are those that were `played`, by the models in its column `model`, or others.
    """
    of_setting = ["competition", "game_type", "setting_id"]
    of_all = settings.filter(~pl.col("is_own")).select(of_setting).unique()
    every = (settings if models is None else models).select("model").unique()
    own = settings.filter("is_own").select("model", *of_setting)
    return pl.concat([every.join(of_all, how="cross"), own])


def competitions(settings: pl.DataFrame) -> pl.DataFrame:
    """A row for each model and competition: settings to be played, and those that it finished.

    To be played is what any model played; of games that nobody can repeat, only the model's own.
    Columns: model, game_type, competition, n_played, n_finished. `settings` are those that were
    `played`.
    """
    of_competition = ["competition", "game_type"]
    of_model = ["model", *of_competition]
    n_of_all = pl.col("setting_id").filter(~pl.col("is_own")).n_unique()
    played_of = settings.group_by(of_model).agg(
        n_own=pl.col("is_own").sum(),
        n_found=pl.len(),
        n_finished=pl.col("setting_id").filter("is_finished").n_unique(),
    )
    return (
        settings.select("model")
        .unique()
        .join(settings.group_by(of_competition).agg(n_played=n_of_all), how="cross")
        .join(played_of, on=of_model, how="left", nulls_equal=True)
        .with_columns(pl.col("n_own", "n_found", "n_finished").fill_null(0))
        .with_columns(n_played=pl.col("n_played") + pl.col("n_own"))
        .drop("n_own")
    )


def _complete_types(settings: pl.DataFrame) -> pl.DataFrame:
    """model, game_type, is_complete: it finished a game of every setting played by any model."""
    is_complete = (pl.col("n_finished") >= pl.col("n_played")).all()
    return competitions(settings).group_by("model", "game_type").agg(is_complete=is_complete)


def _types(declared: Metric, request: Request) -> list[str]:
    """The game types that rows are of: the requested ones, if none is over all types."""
    of_metric = [str(game_type) for game_type in declared.game_types]
    if request.is_rolled_up or request.game_types is None:
        return of_metric
    return [game_type for game_type in of_metric if game_type in request.game_types] or of_metric
