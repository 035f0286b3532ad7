"""Whether a model has finished as many games as others did, or played some more often.

Of a setting, as many games are expected of each model as the median of the models that finished
one: a model that played everything twice makes nobody else incomplete. Between two numbers in the
middle it is the one next to what the model itself finished of some setting of the competition. The
bounds of values are made of the most that any model finished, since each game more may be lost.

Games that a model played more often than others are replays of settings, or repeats. A second run
in the same lake counts as much as the first, and only for the models that it has. What a model
lacks besides, and its games against itself, limit its win rate.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.cells import NAMELESS
from pipeline.lake import StoredLake
from pipeline.metrics.declaration import Metric, types_of
from pipeline.metrics.request import Request
from pipeline.metrics.results import MISSING, REPLAYS
from pipeline.vocabulary import ALL, Side

# A game that nobody can repeat has its own id for a setting.
IS_OWN = pl.col("setting_id") == pl.col("game_id")
_OF_SETTING = ("competition", "game_type", "setting_id")
_ONE = pl.lit(1, pl.Int64)
MOST_NAMED = 5
_NONE = pl.DataFrame(
    schema={"model": pl.String, "game_type": pl.String, **dict.fromkeys(REPLAYS, pl.Int64)}
)
_OF_MODEL = ["model", "game_type"]
# Logs that state different numbers of their games are no two forms of one, as in the audit.
_STATED = pl.when(pl.col("format") == "interchange").then("game_index").alias("stated")


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


def completeness(lake: StoredLake, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """`is_complete`, `MISSING` and `REPLAYS` of each metric and model: over its game types, and
    also of each one if values are grouped by them. Without models, they are null for each metric.

    They are of all games of these types, whatever else values are grouped or filtered by: of a game
    that is not there nobody knows its rounds or votes.
    Columns: metric, model and game_type as far as values are grouped by them, and these.
    """
    if "model" not in request.by:
        unknown = dict.fromkeys([*MISSING, *REPLAYS], pl.lit(None, pl.Int64))
        return pl.DataFrame({"metric": list(metrics)}).with_columns(
            is_complete=pl.lit(None, pl.Boolean), **unknown
        )
    n_missing, n_expected = pl.col("n_expected") - pl.col("n_finished"), pl.col("n_expected")
    found = lake.once(competitions).group_by("model", "game_type")
    games = found.agg(
        is_complete=n_missing.sum() == 0, n_missing=n_missing.sum(), n_expected=n_expected.sum()
    )
    of_types = (
        types_of(metrics, request.counted_types)
        .join(games, on="game_type", nulls_equal=True)
        .join(lake.once(replays), on=["model", "game_type"], how="left", nulls_equal=True)
        .with_columns(pl.col(*REPLAYS).fill_null(0))
    )
    of_all = of_types.group_by("metric", "model").agg(
        pl.col("is_complete").all(), pl.col(*MISSING, *REPLAYS).sum()
    )
    if not request.is_rolled_up:
        return of_all
    return pl.concat([of_types, of_all.with_columns(game_type=pl.lit(ALL))], how="diagonal")


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
        "model",
        *_OF_SETTING,
        "n_finished",
        "n_most",
        n_expected=own_most.clip(pl.col("least"), pl.col("more")),
    )


def competitions(lake: StoredLake) -> pl.DataFrame:
    """A row for each model and competition: games that are expected, and how many there are.

    Columns: model, game_type, competition, n_expected, and of these n_found, n_finished; and of all
    its games n_games, n_complete. A game more of one setting is none of another.
    """
    settings = lake.once(played)
    of_competition = ["competition", "game_type"]
    of_model = ["model", *of_competition]
    asked = _of_settings(settings)
    own_most = settings.group_by(of_model).agg(own_most=pl.col("n_finished").max())
    # Settings of which as many are asked are counted together: settings times models may be many.
    alike = asked.group_by(*of_competition, "least", "more").agg(n=pl.len().cast(pl.Int64))
    n_own = pl.col("is_own").sum().cast(pl.Int64)
    n_expected = pl.col("own_most").fill_null(0).clip(pl.col("least"), pl.col("more"))
    there = (
        settings.join(asked, on=_OF_SETTING, how="left", nulls_equal=True)
        .with_columns(pl.col("least", "more").fill_null(1))
        .join(own_most, on=of_model, nulls_equal=True)
        .group_by(of_model)
        .agg(
            n_own=n_own,
            n_found=pl.min_horizontal("n_games", n_expected).sum(),
            n_finished=pl.min_horizontal("n_finished", n_expected).sum(),
            n_games=pl.col("n_games").sum(),
            n_complete=pl.col("n_finished").sum(),
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
        .with_columns(pl.col("^n_.*$").fill_null(0))
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


def replays(lake: StoredLake) -> pl.DataFrame:
    """A row for each model and game type that has any: model, game_type, n_replays, n_repeats.

    Replays are a model's games of a setting beyond the usual number, the lower median over the
    models that played it: settings that all play five times have none. Repeats are games with the
    very content of another one.
    """
    settings = lake.once(played)
    # A game and its repeat are of one setting, unless each is a setting of its own.
    if not ((settings["n_games"] > 1) | settings["is_own"]).any():
        return _NONE
    of_models = _played_again(lake, settings)
    joined = of_models.join(
        _repeats(lake), on=_OF_MODEL, how="full", coalesce=True, nulls_equal=True
    )
    return joined.with_columns(pl.col(*REPLAYS).fill_null(0))


def _played_again(lake: StoredLake, settings: pl.DataFrame) -> pl.DataFrame:
    """model, game_type, n_replays: games are asked for only where models differ in a setting."""
    n_games = pl.col("n_games")
    again = settings.join(
        settings.filter(n_games > 1).select(_OF_SETTING), on=_OF_SETTING, how="semi"
    )
    uneven = again.group_by(_OF_SETTING).agg(n_games.max() > n_games.min()).filter("n_games")
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
    # Most lakes have none: what differs in its hash differs. To group texts takes far longer.
    hashes = games.select(pl.col("content_id").hash()).collect(engine="streaming")
    if hashes.to_series().n_unique() == hashes.height:
        return _NONE.select(*_OF_MODEL, "n_repeats")
    first = games.group_by(keys).agg(pl.len(), first=pl.col("game_id").min())
    repeated = games.join(first.filter(pl.col("len") > 1), on=keys, nulls_equal=True)
    further = repeated.filter(pl.col("game_id") != pl.col("first")).select("game_id")
    return (
        lake.table("results")
        .filter("is_tested")
        .join(further, on="game_id", how="semi")
        .group_by(_OF_MODEL)
        .agg(n_repeats=pl.col("game_id").n_unique().cast(pl.Int64))
        .collect(engine="streaming")
    )


def lacking(lake: StoredLake) -> pl.DataFrame:
    """A row for each tested model: model, n_missing, n_expected, lacks, n_self_play.

    `n_missing` is the number of games that this model has not finished, of the `n_expected`.
    `lacks` lists the competitions that others finished and this one did not: its win rate is a mean
    over fewer competitions, so it is not comparable. `n_self_play` is its number of games of
    `self_play`.
    """
    n_finished, n_expected = pl.col("n_finished"), pl.col("n_expected")
    is_lacking = (n_finished == 0) & (n_finished.max().over("competition") > 0)
    of_model = (
        lake.once(competitions)
        .with_columns(is_lacking=is_lacking)
        .sort("competition")
        .group_by("model", maintain_order=True)
        .agg(
            n_missing=(n_expected - n_finished).sum(),
            n_expected=n_expected.sum(),
            lacks=pl.col("competition").filter("is_lacking").drop_nulls(),
        )
    )
    joined = of_model.join(lake.once(self_play), on="model", how="left", nulls_equal=True)
    return joined.with_columns(pl.col("n_self_play").fill_null(0))


def self_play(lake: StoredLake) -> pl.DataFrame:
    """model, n_self_play: finished games of hidden roles in which one model holds every seat.

    In such a game one side wins what the other loses, so it says little about the model. A model
    without such games has no row.
    """
    is_alone = (pl.col("models") == 1) & (pl.col("sides") == 2)
    games = (
        lake.table("results")
        .filter("is_tested", "is_finished", pl.col("opponent").is_null())
        .filter(pl.col("side").is_in([Side.HIDDEN, Side.CIVILIAN]))
        .group_by("game_id")
        .agg(
            model=pl.col("model").first(),
            models=pl.col("model").n_unique(),
            sides=pl.col("side").n_unique(),
        )
        .filter(is_alone)
    )
    counted = games.group_by("model").agg(n_self_play=pl.len().cast(pl.Int64))
    return counted.sort("model", nulls_last=True).collect(engine="streaming")


def replay_notes(rows: pl.DataFrame) -> list[str]:
    """A note of the models that have replays or repeats, from rows of values or a leaderboard."""
    if not {"model", *REPLAYS} <= set(rows.columns):
        return []
    of_models = rows.group_by("model").agg(pl.col(*REPLAYS).max()).sort("model", nulls_last=True)
    models: dict[str, list[str]] = {}
    for model, *counts in of_models.filter(pl.any_horizontal(pl.col(*REPLAYS) > 0)).iter_rows():
        models.setdefault(_said(*counts), []).append(model or NAMELESS)
    return [f"{_listed(names)}: {said}; all of them count" for said, names in models.items()]


def self_play_notes(games: pl.DataFrame) -> list[str]:
    """A note for the win rates of models with games of `self_play`; empty if there are none."""
    return [
        f"win_rate of {model or NAMELESS}: in {n_games} of its games this model plays "
        "every seat; what one side wins there, the other loses"
        for model, n_games in games.select("model", "n_self_play").iter_rows()
    ]


def lake_notes(lake: StoredLake) -> list[str]:
    """The same of all models of each system of a lake."""
    of_systems = (one.once(replays).group_by("model") for one in lake.by_system())
    sums = (rows.agg(pl.col(*REPLAYS).sum()) for rows in of_systems)
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
