"""Which games a value expects, which of them are missing, and which are replays: one rule for all.

`docs/metrics.md` states the rule. Of a setting and competition, the median of the models that
finished a game of it is expected: a model that played everything twice makes nobody else
incomplete. Between two numbers in the middle it is the one next to what the model itself finished
of some setting of the competition; `smaller_notes` name a model for which it is the smaller one.
The bounds of values are made of the most that any model finished, since each game more may be lost.

A second run in the same lake counts as much as the first, and only for the models that it has. What
a model lacks besides, and its games against itself, limit its win rate. Games of a package that is
not installed are counted by nothing.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl
from msgspec.structs import replace

from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics.registry import (
    MISSING_COLUMNS,
    REPLAY_COLUMNS,
    Metric,
    metric_spec,
    types_of,
)
from pipeline.metrics.request import Request
from pipeline.metrics.row_queries import frames
from pipeline.text_format import UNNAMED_MODEL
from pipeline.vocabulary import ALL_GAME_TYPES, Edition, Side

_OF_SETTING = ("competition", "game_type", "setting_id")
MOST_NAMED = 5
_OF_MODEL = ("model", "competition", "game_type")
# Groups by one of these are of some competitions alone.
_OF_COMPETITION = ("game_type", "competition", "role", "side")


def played_games(lake: StoredLake, *conditions: pl.Expr) -> pl.DataFrame:
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
            # A game that nobody can repeat has its own id for a setting.
            is_own=(pl.col("setting_id") == pl.col("game_id")).all(),
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


def metric_completeness(
    lake: StoredLake, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """`is_complete`, `MISSING` and `REPLAYS` of each metric and model: of the competitions that the
    value counts. Without models, they are null for each metric.

    They are of all games of these, whatever else values are grouped or filtered by: of a game that
    is not there nobody knows its rounds or votes.
    Columns: metric, model, and those of `_OF_COMPETITION` that values are grouped by, and these.
    """
    if "model" not in request.by:
        unknown = dict.fromkeys([*MISSING_COLUMNS, *REPLAY_COLUMNS], pl.lit(None, pl.Int64))
        return pl.DataFrame({"metric": list(metrics)}).with_columns(
            is_complete=pl.lit(None, pl.Boolean), **unknown
        )
    keys = [name for name in request.by if name in _OF_COMPETITION]
    numbers = pl.col(*MISSING_COLUMNS, *REPLAY_COLUMNS).sum()
    of_competition = ["game_type", "competition"]
    games = (
        types_of(metrics, request.counted_types)
        .join(counted_competitions(lake, metrics, request, keys), on=["metric", "game_type"])
        .join(fixed_expected_games(lake, request.expected), on=of_competition, nulls_equal=True)
    )
    of_groups = games.group_by("metric", "model", *keys).agg(numbers)
    if request.is_rolled_up:
        others = [name for name in keys if name != "game_type"]
        of_all = games.group_by("metric", "model", *others).agg(
            numbers, game_type=pl.lit(ALL_GAME_TYPES)
        )
        of_groups = pl.concat([of_groups, of_all], how="diagonal_relaxed")
    return of_groups.with_columns(is_complete=pl.col("n_missing") == 0)


def counted_competitions(
    lake: StoredLake, metrics: Mapping[str, Metric], request: Request, keys: Sequence[str] = ()
) -> pl.DataFrame:
    """metric, game_type, competition, `keys`: those of which the metric has a row of any model.

    Of games without an end too: the value would count them if they had one.
    """

    def tables(name: str) -> pl.LazyFrame:
        rows = lake.table(name)
        has_end = "is_finished" in TABLES[name].columns()
        return rows.with_columns(is_finished=pl.lit(value=True)) if has_end else rows

    asked, columns = replace(request, models=None), {"game_type", "competition", *keys}
    of_metrics = frames(metrics, asked, tables)
    return pl.concat(
        rows.select(pl.lit(name).alias("metric"), *sorted(columns)).unique()
        for name, rows in of_metrics.items()
        if name in metrics
    ).collect(engine="streaming")


def expected_games(settings: pl.DataFrame, models: pl.DataFrame | None = None) -> pl.DataFrame:
    """The games that each model is to finish: a row for each model and setting.

    The settings are all that any model played; of games that nobody can repeat, the model's own.
    `settings` are those that were `played`, by the models in its column `model`, or others.
    Columns: model, competition, game_type, setting_id, n_finished, n_expected, and n_most, the most
    that any model finished.
    """
    every = (settings if models is None else models).select("model").unique()
    there = _asked(settings)
    of_all = every.join(_of_settings(settings), how="cross")
    own_most = pl.col("n_finished").max().over(_OF_MODEL)
    return (
        pl.concat([of_all, there.filter("is_own").select(of_all.columns)])
        .join(
            there.select("model", *_OF_SETTING, "n_finished", "n_expected"),
            on=["model", *_OF_SETTING],
            how="left",
            nulls_equal=True,
        )
        .with_columns(pl.col("n_finished").fill_null(0))
        .select(
            "model",
            *_OF_SETTING,
            "n_finished",
            "n_most",
            n_expected=pl.coalesce("n_expected", own_most.clip(pl.col("least"), pl.col("more"))),
        )
    )


def competitions(lake: StoredLake) -> pl.DataFrame:
    """A row for each model and competition: games that are expected, and how many there are.

    Columns: model, game_type, competition, n_expected, and of these n_found, n_finished, n_missing;
    of all its games n_games, n_complete; `REPLAYS`; and n_larger, how many would be expected if the
    larger number in the middle were. A game more of one setting is none of another.
    """
    settings = lake.cached(played_games)
    of_competition = ["competition", "game_type"]
    # Settings of which as many are asked are counted together: settings times models may be many.
    alike = (
        _of_settings(settings)
        .group_by(*of_competition, "least", "more")
        .agg(n=pl.len().cast(pl.Int64))
    )
    n_expected, n_finished, n_usual = pl.col("n_expected"), pl.col("n_finished"), pl.col("n_usual")
    n_often = n_expected.quantile(0.5, "lower").over(_OF_SETTING).cast(pl.Int64)
    there = (
        _asked(settings)
        .with_columns(n_replays=(n_finished - n_often).clip(0))
        .group_by(_OF_MODEL)
        .agg(
            own_most=n_finished.max(),
            n_beyond=(n_expected - pl.when("is_own").then(0).otherwise(n_usual)).sum(),
            n_found=pl.min_horizontal("n_games", n_expected).sum(),
            n_finished=pl.min_horizontal(n_finished, n_expected).sum(),
            n_games=pl.col("n_games").sum(),
            n_complete=n_finished.sum(),
            n_replays=pl.col("n_replays").sum(),
        )
        .join(_repeats(lake), on=["model", "competition"], how="left", nulls_equal=True)
    )
    n_usual = pl.col("own_most").clip(pl.col("least"), pl.col("more"))
    return (
        settings.select("model")
        .unique()
        .join(settings.select(of_competition).unique(), how="cross")
        .join(there, on=_OF_MODEL, how="left", nulls_equal=True)
        .with_columns(pl.col("own_most", "^n_.*$").fill_null(0))
        .join(alike, on=of_competition, how="left", nulls_equal=True)
        .group_by(_OF_MODEL)
        .agg(
            pl.col("^n_.*$").first(),
            n_expected=(pl.col("n") * n_usual).sum() + pl.col("n_beyond").first(),
            n_larger=(pl.col("n") * pl.col("more")).sum(),
        )
        .with_columns(n_missing=n_expected - n_finished)
        .drop("n_beyond")
    )


def fixed_expected_games(lake: StoredLake, n: int | None) -> pl.DataFrame:
    """The same with `n` games expected of each model in each competition, whatever their settings;
    without `n`, as it is."""
    found = lake.cached(competitions)
    if n is None:
        return found
    return found.with_columns(
        n_expected=pl.lit(n, pl.Int64),
        n_found="n_games",
        n_finished="n_complete",
        n_missing=(n - pl.col("n_complete")).clip(0),
    )


def _asked(settings: pl.DataFrame) -> pl.DataFrame:
    """The settings that models played, with the games that are expected of them: n_usual as many as
    of others, and n_expected with what they began and have still to finish.

    A game without an end is one of these, unless it was played again: the model, in other settings,
    or another one, in this setting, has all of its games finished, and they are as many.
    """
    n_games, n_finished = pl.col("n_games"), pl.col("n_finished")
    whole = pl.when(n_games == n_finished, ~pl.col("is_own")).then(n_finished)
    enough = pl.max_horizontal(whole.max().over(_OF_MODEL), whole.max().over(_OF_SETTING))
    most = pl.max_horizontal("more", "own_most")
    begun = pl.when(enough >= n_finished).then(pl.min_horizontal(n_games, most)).otherwise(n_games)
    return (
        settings.join(_of_settings(settings), on=_OF_SETTING, how="left", nulls_equal=True)
        .with_columns(
            pl.col("least", "more", "n_most").fill_null(1),
            own_most=n_finished.max().over(_OF_MODEL),
        )
        .with_columns(n_usual=pl.col("own_most").clip(pl.col("least"), pl.col("more")))
        .with_columns(
            n_expected=pl.max_horizontal("n_usual", pl.when(n_games > n_finished).then(begun))
        )
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


def _repeats(lake: StoredLake) -> pl.DataFrame:
    """model, competition, n_repeats: of games with the same content all but the first."""
    keys = ["content_id", "stated"]
    # Logs that state different numbers of their games are no two forms of one, as in the audit.
    stated = pl.when(pl.col("format") == "interchange").then("game_index").alias("stated")
    games = lake.table("games").select("game_id", "content_id", stated).drop_nulls("content_id")
    # Most lakes have none: what differs in its hash differs. To group texts takes far longer.
    hashes = games.select(pl.col("content_id").hash()).collect(engine="streaming")
    if hashes.to_series().n_unique() == hashes.height:
        return pl.DataFrame(
            schema={"model": pl.String, "competition": pl.String, "n_repeats": pl.Int64}
        )
    first = games.group_by(keys).agg(pl.len(), first=pl.col("game_id").min())
    repeated = games.join(first.filter(pl.col("len") > 1), on=keys, nulls_equal=True)
    further = repeated.filter(pl.col("game_id") != pl.col("first")).select("game_id")
    return (
        lake.table("results")
        .filter("is_tested")
        .join(further, on="game_id", how="semi")
        .group_by("model", "competition")
        .agg(n_repeats=pl.col("game_id").n_unique().cast(pl.Int64))
        .collect(engine="streaming")
    )


def models_with_missing_games(lake: StoredLake, edition: Edition) -> pl.DataFrame:
    """A row for each tested model: model, lacks, n_self_play.

    `lacks` lists the competitions that others finished and this one did not, of those that the win
    rate of the edition counts: its win rate is a mean over fewer competitions, so it is not
    comparable. `n_self_play` is its number of games of `self_play`.
    """
    n_complete = pl.col("n_complete")
    won = counted_competitions(
        lake, {"win_rate": metric_spec("win_rate", edition)}, Request(edition)
    )
    is_counted = pl.col("competition").is_in(won["competition"].drop_nulls().implode())
    is_lacking = is_counted & (n_complete == 0) & (n_complete.max().over("competition") > 0)
    of_model = (
        lake.cached(competitions)
        .with_columns(is_lacking=is_lacking)
        .sort("competition")
        .group_by("model", maintain_order=True)
        .agg(lacks=pl.col("competition").filter("is_lacking"))
    )
    joined = of_model.join(lake.cached(count_self_play), on="model", how="left", nulls_equal=True)
    return joined.with_columns(pl.col("n_self_play").fill_null(0))


def count_self_play(lake: StoredLake) -> pl.DataFrame:
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


def unknown_game_notes(lake: StoredLake, game_types: Collection[str] | None = None) -> list[str]:
    """Notes if the lake has games of a package that is not installed, or declared otherwise here.

    `game_types` are those that are shown, None for all.
    """
    notes, names = [], lake.unknown_tables
    changed, types = (
        ", ".join(name for name in of_lake if game_types is None or name in game_types)
        for of_lake in (lake.changed_game_types, lake.unknown_game_types)
    )
    if changed:
        notes.append(
            f"{changed}: roles or endings are declared otherwise here than when its games were "
            "ingested; metrics that count such games here count these by what was declared then: "
            "ingest them into a new lake"
        )
    if types:
        tables = f", and their own tables ({', '.join(names)}) are not read" if names else ""
        notes.append(
            f"the lake has games of {types}, of a package that is not installed: no metric counts "
            f"them{tables}; install the package to see them in full, or name the file that "
            "declares the game in MAGIC_GAMES"
        )
    return notes


def replay_notes(rows: pl.DataFrame) -> list[str]:
    """A note of the models that have replays or repeats, from rows of values or a leaderboard."""
    if not {"model", *REPLAY_COLUMNS} <= set(rows.columns):
        return []
    of_models = (
        rows.group_by("model").agg(pl.col(*REPLAY_COLUMNS).max()).sort("model", nulls_last=True)
    )
    models: dict[str, list[str]] = {}
    has_some = of_models.filter(pl.any_horizontal(pl.col(*REPLAY_COLUMNS) > 0))
    for model, n_replays, n_repeats in has_some.iter_rows():
        replayed = f"{_are(n_replays, 'replay')} of its settings, more than other models have"
        repeated = f"{_are(n_repeats, 'repeat')} of another, equal in every word"
        parts = [*[replayed] * bool(n_replays), *[repeated] * bool(n_repeats)]
        models.setdefault(", and ".join(parts), []).append(model or UNNAMED_MODEL)
    return [
        f"{_some(names)}{', each' if len(names) > 1 else ''}: {said}, by competition; all of them "
        "count"
        for said, names in models.items()
    ]


def fewer_games_notes(
    lake: StoredLake | None, rows: pl.DataFrame, expected: int | None = None
) -> list[str]:
    """A note of each model of the rows that finished fewer games than another, and is complete.

    Nobody knows whether these were lost, or the others played again.
    """
    if lake is None or expected is not None or "model" not in rows.columns:
        return []
    most = pl.col("n_complete").max().over("competition")
    is_smaller = (pl.col("n_larger") > pl.col("n_expected")) & (pl.col("n_missing") == 0)
    there = pl.concat(
        one.cached(competitions)
        .with_columns(most=most)
        .filter(is_smaller, pl.col("n_complete") < most)
        .select("model", "competition", "n_complete", "most")
        for one in lake.split_by_system()
    )
    kept = there.join(rows.select("model").unique(), on="model", how="semi", nulls_equal=True)
    alike: dict[tuple[str, int, int], list[str]] = {}
    for model, competition, n, of in kept.sort(pl.all(), nulls_last=True).iter_rows():
        alike.setdefault((model or UNNAMED_MODEL, n, of), []).append(competition)
    return [
        f"{model}: {n:,} games where one has {of:,}, in {_some(names)}; if games were lost, state "
        f"`--expected {of}`"
        for (model, n, of), names in alike.items()
    ]


def self_play_notes(games: pl.DataFrame) -> list[str]:
    """A note for the win rates of models with games of `self_play`; empty if there are none."""
    return [
        f"win_rate of {model or UNNAMED_MODEL}: in {n_games} of its games this model plays "
        "every seat; what one side wins there, the other loses"
        for model, n_games in games.select("model", "n_self_play").iter_rows()
    ]


def lake_completeness_notes(lake: StoredLake) -> list[str]:
    """The same of all models of each system of a lake."""
    of_systems = (one.cached(competitions).group_by("model") for one in lake.split_by_system())
    sums = (rows.agg(pl.col(*REPLAY_COLUMNS).sum()) for rows in of_systems)
    return [note for rows in sums for note in replay_notes(rows)]


def _are(n: int, what: str) -> str:
    return f"{n} game is a {what}" if n == 1 else f"{n:,} games are {what}s"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
