"""Games that a model played more often than others: replays of settings, and repeated play.

A second run in the same lake counts as much as the first, and only for the models that it has.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.lake import StoredLake
from pipeline.metrics.completeness import played
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import Request
from pipeline.vocabulary import ALL

MOST_NAMED = 5
COUNTS = ("n_replays", "n_repeats")
_NONE = pl.DataFrame(
    schema={"model": pl.String, "game_type": pl.String, **dict.fromkeys(COUNTS, pl.Int64)}
)
_SETTING = ["competition", "game_type", "setting_id"]
_OF_MODEL = ["model", "game_type"]
# Logs that state different numbers of their games are no two forms of one, as in the audit.
_STATED = pl.when(pl.col("format") == "interchange").then("game_index").alias("stated")


def replays(lake: StoredLake, settings: pl.DataFrame) -> pl.DataFrame:
    """A row for each model and game type that has any: model, game_type, n_replays, n_repeats.

    Replays are a model's games of a setting beyond the usual number, the lower median over the
    models that played it: settings that all play five times have none. Repeats are games with the
    very content of another one. `settings` are those of the lake that were `played`.
    """
    # A game and its repeat are of one setting, unless each is a setting of its own.
    if not ((settings["n_games"] > 1) | settings["is_own"]).any():
        return _NONE
    of_models = _played_again(lake, settings)
    joined = of_models.join(
        lake.once(_repeats), on=_OF_MODEL, how="full", coalesce=True, nulls_equal=True
    )
    return joined.with_columns(pl.col(COUNTS).fill_null(0))


def _played_again(lake: StoredLake, settings: pl.DataFrame) -> pl.DataFrame:
    """model, game_type, n_replays: games are asked for only where models differ in a setting."""
    n_games = pl.col("n_games")
    again = settings.join(settings.filter(n_games > 1).select(_SETTING), on=_SETTING, how="semi")
    uneven = again.group_by(_SETTING).agg(n_games.max() > n_games.min()).filter("n_games")
    if uneven.is_empty():
        return _NONE.select(*_OF_MODEL, "n_replays")
    of_setting = (
        lake.table("results")
        .filter("is_tested")
        .join(uneven.lazy().select("setting_id").unique(), on="setting_id", how="semi")
        .group_by(*_OF_MODEL, "setting_id")
        .agg(pl.col("game_id").n_unique().cast(pl.Int64).alias("n_games"))
        .collect(engine="streaming")
    )
    usual = n_games.quantile(0.5, "lower").over("setting_id").cast(pl.Int64)
    surplus = of_setting.with_columns(n_replays=(n_games - usual).clip(0))
    return surplus.group_by(_OF_MODEL).agg(pl.col("n_replays").sum())


def _repeats(lake: StoredLake) -> pl.DataFrame:
    """model, game_type, n_repeats: of games with the same content all but the first."""
    keys = ["content_id", "stated"]
    games = lake.table("games").select("game_id", "content_id", _STATED).drop_nulls("content_id")
    # Most lakes have none, which is known by the contents alone.
    several = games.group_by(keys).len().filter(pl.col("len") > 1).collect(engine="streaming")
    if several.is_empty():
        return _NONE.select(*_OF_MODEL, "n_repeats")
    repeated = games.join(several.lazy(), on=keys, how="semi", nulls_equal=True)
    further = repeated.filter(pl.col("game_id").rank("ordinal").over(keys) > 1).collect()
    return (
        lake.table("results")
        .filter("is_tested", pl.col("game_id").is_in(further["game_id"].implode()))
        .group_by(_OF_MODEL)
        .agg(n_repeats=pl.col("game_id").n_unique().cast(pl.Int64))
        .collect()
    )


def with_replays(
    rows: pl.DataFrame,
    lake: StoredLake,
    settings: pl.DataFrame,
    metrics: Mapping[str, Metric],
    request: Request,
) -> pl.DataFrame:
    """The rows of values with the `replays` of their model in the games of the metric; null if they
    are not grouped by model."""
    if "model" not in request.by:
        return rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in COUNTS)
    of_rows = _of_metrics(replays(lake, settings), metrics, request)
    keys = of_rows.drop(COUNTS).columns
    joined = rows.join(of_rows, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col(COUNTS).fill_null(0))


def _of_metrics(
    counts: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """The counts by metric, by model, and by game type as far as values are grouped by it."""
    parts = []
    for name, declared in metrics.items():
        types = [str(one) for one in declared.game_types]
        chosen = None if request.is_rolled_up else request.game_types
        own = [one for one in types if chosen is None or one in chosen] or types
        parts.append(
            counts.filter(pl.col("game_type").is_in(own)).with_columns(metric=pl.lit(name))
        )
    of_types = pl.concat(parts)
    of_all = of_types.group_by("metric", "model").agg(pl.col(COUNTS).sum())
    if not request.is_rolled_up:
        return of_all
    return pl.concat([of_types, of_all.with_columns(game_type=pl.lit(ALL))], how="diagonal")


def replay_notes(rows: pl.DataFrame) -> list[str]:
    """A note of the models that have replays or repeats, from rows of values or a leaderboard."""
    if not {"model", *COUNTS} <= set(rows.columns):
        return []
    of_models = rows.group_by("model").agg(pl.col(COUNTS).max()).sort("model", nulls_last=True)
    models: dict[str, list[str]] = {}
    for model, *counts in of_models.filter(pl.any_horizontal(pl.col(COUNTS) > 0)).iter_rows():
        models.setdefault(_said(*counts), []).append(model or "a nameless model")
    return [f"{_listed(names)}: {said}; all of them count" for said, names in models.items()]


def lake_notes(lake: StoredLake) -> list[str]:
    """The same of all models of each system of a lake."""
    of_systems = (replays(one, played(one)) for one in lake.by_system())
    sums = (rows.group_by("model").agg(pl.col(COUNTS).sum()) for rows in of_systems)
    return [note for rows in sums for note in replay_notes(rows)]


def _said(n_replays: int, n_repeats: int) -> str:
    """Both numbers in words, those that are not 0."""
    replayed = f"{_are(n_replays, 'replay')} of its settings, more than other models have"
    repeated = f"{_are(n_repeats, 'repeat')} of another, equal in every word"
    return ", and ".join([*[replayed] * bool(n_replays), *[repeated] * bool(n_repeats)])


def _are(n: int, what: str) -> str:
    return f"{n} game is a {what}" if n == 1 else f"{n:,} games are {what}s"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more + (", each" if len(names) > 1 else "")
