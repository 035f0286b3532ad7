"""Whether a model has finished as many games as others did, by game type.

Of a setting, as many games are expected of each model as the median of the models that finished
one: a model that played everything twice makes nobody else incomplete. Between two numbers in the
middle it is the one next to what the model itself finished of some setting of the competition. The
bounds of values are made of the most that any model finished, since each game more may be lost.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.lake import StoredLake
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import Request
from pipeline.vocabulary import ALL

_UNKNOWN = pl.lit(None, pl.Boolean)
# A game that nobody can repeat has its own id for a setting.
IS_OWN = pl.col("setting_id") == pl.col("game_id")
_OF_SETTING = ("competition", "game_type", "setting_id")
_ONE = pl.lit(1, pl.Int64)


def played(lake: StoredLake, *conditions: pl.Expr) -> pl.DataFrame:
    """What models under test played: a row for each model, competition, game type and setting.

    With conditions, only results that meet them.

    Columns: these, n_games, n_finished (of these games), and is_own, whether the setting is that of
    one game which nobody can repeat.
    """
    results = lake.table("results").filter("is_tested", *conditions)
    by, game = ["model", *_OF_SETTING], pl.col("game_id")
    side = (pl.col("seat").fill_null(0), pl.col("role"))
    rows = (
        results.group_by(by)
        .agg(
            n_games=pl.len().cast(pl.Int64),
            n_finished=pl.col("is_finished").sum().cast(pl.Int64),
            is_own=IS_OWN.all(),
            is_one_side=pl.all_horizontal(one.min() == one.max() for one in side),
        )
        .collect(engine="streaming")
    )
    if not rows["is_one_side"].all():
        # A game has one row for a side, but several sides. To tell games apart takes far longer.
        finished = game.filter("is_finished").n_unique().cast(pl.Int64)
        games = results.group_by(by).agg(
            n_games=game.n_unique().cast(pl.Int64), n_finished=finished
        )
        rows = rows.drop("n_games", "n_finished").join(
            games.collect(engine="streaming"), on=by, nulls_equal=True
        )
    return rows.select(*by, "n_games", "n_finished", "is_own")


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
    """The games that each model is to finish: a row for each model and setting.

    The settings are all that any model played; of games that nobody can repeat, the model's own.
    `settings` are those that were `played`, by the models in its column `model`, or others.
    Columns: model, competition, game_type, setting_id, n_finished, n_expected, and n_most, the most
    that any model finished.
    """
    every = (settings if models is None else models).select("model").unique()
    of_all = every.join(_of_settings(settings), how="cross")
    own = settings.filter("is_own").select(
        "model", *_OF_SETTING, least=_ONE, more=_ONE, n_most=_ONE
    )
    asked = pl.concat([of_all, own]).join(
        settings.select("model", *_OF_SETTING, "n_finished"),
        on=["model", *_OF_SETTING],
        how="left",
        nulls_equal=True,
    )
    own_most = pl.col("n_finished").max().over("model", "competition", "game_type")
    return asked.with_columns(pl.col("n_finished").fill_null(0)).select(
        "model", *_OF_SETTING, "n_finished", "n_most", n_expected=_n_expected(own_most)
    )


def competitions(settings: pl.DataFrame) -> pl.DataFrame:
    """A row for each model and competition: games that are expected, and how many there are.

    Columns: model, game_type, competition, n_expected, and of these n_found, n_finished. `settings`
    are those that were `played`. A game more of one setting is none of another.
    """
    of_competition = ["competition", "game_type"]
    of_model = ["model", *of_competition]
    asked = _of_settings(settings)
    own_most = settings.group_by(of_model).agg(own_most=pl.col("n_finished").max())
    # Settings of which as many are asked are counted together: settings times models may be many.
    alike = asked.group_by(*of_competition, "least", "more").agg(n=pl.len().cast(pl.Int64))
    n_own = pl.col("is_own").sum().cast(pl.Int64)
    n_expected = _n_expected(pl.col("own_most").fill_null(0))
    there = (
        settings.join(asked, on=_OF_SETTING, how="left", nulls_equal=True)
        .with_columns(pl.col("least", "more").fill_null(1))
        .join(own_most, on=of_model, nulls_equal=True)
        .group_by(of_model)
        .agg(
            n_own=n_own,
            n_found=pl.min_horizontal("n_games", n_expected).sum(),
            n_finished=pl.min_horizontal("n_finished", n_expected).sum(),
        )
    )
    return (
        settings.select("model")
        .unique()
        .join(settings.select(of_competition).unique(), how="cross")
        .join(own_most, on=of_model, how="left", nulls_equal=True)
        .join(alike, on=of_competition, how="left", nulls_equal=True)
        .group_by(of_model)
        .agg(n_expected=(pl.col("n") * n_expected).sum())
        .join(there, on=of_model, how="left", nulls_equal=True)
        .with_columns(pl.col("n_own", "n_found", "n_finished").fill_null(0))
        .with_columns(n_expected=pl.col("n_expected") + pl.col("n_own"))
        .drop("n_own")
    )


def _of_settings(settings: pl.DataFrame) -> pl.DataFrame:
    """The settings that can be repeated, with the median (`least` and `more`, where it is between
    two numbers) and the most of the games that models finished; at least one."""
    n = pl.col("n_finished").filter(pl.col("n_finished") > 0)
    numbers = {
        "least": n.quantile(0.5, "lower"),
        "more": n.quantile(0.5, "higher"),
        "n_most": n.max(),
    }
    repeated = settings.filter(~pl.col("is_own")).group_by(_OF_SETTING).agg(**numbers)
    return repeated.with_columns(pl.col(*numbers).cast(pl.Int64).fill_null(1))


def _n_expected(own_most: pl.Expr) -> pl.Expr:
    return own_most.clip(pl.col("least"), pl.col("more"))


def _complete_types(settings: pl.DataFrame) -> pl.DataFrame:
    """model, game_type, is_complete: it finished as many games of each setting as are expected."""
    is_complete = (pl.col("n_finished") >= pl.col("n_expected")).all()
    return competitions(settings).group_by("model", "game_type").agg(is_complete=is_complete)


def _types(declared: Metric, request: Request) -> list[str]:
    """The game types that rows are of: the requested ones, if none is over all types."""
    of_metric = [str(game_type) for game_type in declared.game_types]
    if request.is_rolled_up or request.game_types is None:
        return of_metric
    return [game_type for game_type in of_metric if game_type in request.game_types] or of_metric
