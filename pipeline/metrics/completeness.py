"""Completeness: how many games each model is expected to have, how many it lacks, and its replays.

Used by the metrics, the reports and the notes under tables; depends on the lake and on
`row_queries`. `docs/metrics.md` states the rule. For each setting and competition, the expected
number of games is the median over the models that finished a game of it, so that a model that
played everything twice makes no other model incomplete. If the median lies between two numbers, the
one that is closer to the model's own number of games is expected; `fewer_games_notes` names the
models for which this is the smaller one. The bounds of values use the largest number of games that
any model finished, because any further game may be lost.

A second run in the same lake counts as much as the first, and only for the models that it has.
Missing competitions and games against itself limit what a model's win rate means. Games of a
package that is not installed are not counted.
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
    game_types_by_metric,
    metric_spec,
)
from pipeline.metrics.request import Request
from pipeline.metrics.row_queries import requested_metric_and_result_frames
from pipeline.text_format import UNNAMED_MODEL
from pipeline.vocabulary import ALL_GAME_TYPES, Edition, Side

_SETTING_KEYS = ("competition", "game_type", "setting_id")
MAX_NAMES_IN_NOTE = 5
_MODEL_KEYS = ("model", "competition", "game_type")
# Columns that limit a group to some competitions.
_COMPETITION_KEYS = ("game_type", "competition", "role", "side")


def game_counts_by_model_and_setting(lake: StoredLake, *conditions: pl.Expr) -> pl.DataFrame:
    """Return the number of games of each tested model in each setting that it played.

    Args:
        lake: The lake, of one system.
        *conditions: Conditions on the rows of `results`.

    Returns:
        One row per model, competition, game type and setting: these columns, n_games, n_finished
        (of these games), and is_own (whether the setting is that of one game that nobody can
        repeat).
    """
    results = lake.table("results").filter("is_tested", *conditions)
    keys, game_id = ["model", *_SETTING_KEYS], pl.col("game_id")
    side_columns = (pl.col("seat").fill_null(0), pl.col("role"))
    settings = (
        results.group_by(keys)
        .agg(
            n_games=pl.len().cast(pl.Int64),
            n_finished=pl.col("is_finished").sum().cast(pl.Int64),
            # The setting id of a game that nobody can repeat is the id of the game.
            is_own=(pl.col("setting_id") == pl.col("game_id")).all(),
            is_one_side=pl.all_horizontal(column.min() == column.max() for column in side_columns),
        )
        .collect(engine="streaming")
    )
    if not settings["is_one_side"].all():
        # If a model has several sides in a game, its rows must be counted as one game. This takes
        # far longer, so it is done only if it is needed.
        finished = game_id.filter("is_finished").n_unique().cast(pl.Int64)
        exact_counts = results.group_by(keys).agg(
            n_games=game_id.n_unique().cast(pl.Int64), n_finished=finished
        )
        settings = settings.drop("n_games", "n_finished").join(
            exact_counts.collect(engine="streaming"), on=keys, nulls_equal=True
        )
    return settings.select(*keys, "n_games", "n_finished", "is_own")


def missing_and_replayed_games_by_metric(
    lake: StoredLake, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Return the missing and replayed games of each model in the competitions that a metric counts.

    The numbers cover all games of these competitions, whatever other groups and filters the request
    has, because a game that is missing has no rounds and no votes to filter by.

    Args:
        lake: The lake, of one system.
        metrics: The specs by name.
        request: The edition, groups and filters.

    Returns:
        The columns metric, model, those of `_COMPETITION_KEYS` that are groups of the request,
        `is_complete`, and those of `MISSING_COLUMNS` and `REPLAY_COLUMNS`. If values are not
        grouped by model, there is one row of nulls per metric.
    """
    if "model" not in request.by:
        null_counts = dict.fromkeys([*MISSING_COLUMNS, *REPLAY_COLUMNS], pl.lit(None, pl.Int64))
        return pl.DataFrame({"metric": list(metrics)}).with_columns(
            is_complete=pl.lit(None, pl.Boolean), **null_counts
        )
    keys = [name for name in request.by if name in _COMPETITION_KEYS]
    sums = pl.col(*MISSING_COLUMNS, *REPLAY_COLUMNS).sum()
    competition_keys = ["game_type", "competition"]
    games = (
        game_types_by_metric(metrics, request.counted_game_types)
        .join(
            competitions_counted_by_metrics(lake, metrics, request, keys),
            on=["metric", "game_type"],
        )
        .join(
            games_by_competition_with_fixed_expectation(lake, request.expected),
            on=competition_keys,
            nulls_equal=True,
        )
    )
    counts_by_group = games.group_by("metric", "model", *keys).agg(sums)
    if request.has_rows_over_all_game_types:
        other_keys = [name for name in keys if name != "game_type"]
        counts_over_all = games.group_by("metric", "model", *other_keys).agg(
            sums, game_type=pl.lit(ALL_GAME_TYPES)
        )
        counts_by_group = pl.concat([counts_by_group, counts_over_all], how="diagonal_relaxed")
    return counts_by_group.with_columns(is_complete=pl.col("n_missing") == 0)


def competitions_counted_by_metrics(
    lake: StoredLake, metrics: Mapping[str, Metric], request: Request, keys: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the competitions in which each metric counts games of any model, finished or not.

    Args:
        lake: The lake, of one system.
        metrics: The specs by name.
        request: The edition, groups and filters; its models are ignored.
        keys: Further columns to return.

    Returns:
        The distinct values of metric, game_type, competition and `keys`.
    """

    def table_with_all_games(name: str) -> pl.LazyFrame:
        rows = lake.table(name)
        has_end = "is_finished" in TABLES[name].columns()
        return rows.with_columns(is_finished=pl.lit(value=True)) if has_end else rows

    request_for_all, columns = replace(request, models=None), {"game_type", "competition", *keys}
    frames = requested_metric_and_result_frames(metrics, request_for_all, table_with_all_games)
    return pl.concat(
        rows.select(pl.lit(name).alias("metric"), *sorted(columns)).unique()
        for name, rows in frames.items()
        if name in metrics
    ).collect(engine="streaming")


def expected_games_by_model_and_setting(
    settings: pl.DataFrame, models: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return how many games each model has finished and should finish in each setting.

    These are all settings that any model played, and the model's own games that nobody can repeat.

    Args:
        settings: The settings that models played, as `played_games` returns them.
        models: A frame whose column `model` names the models; by default those of `settings`.

    Returns:
        The columns model, competition, game_type, setting_id, n_finished, n_expected, and n_most
        (the largest number that any model finished).
    """
    all_models = (settings if models is None else models).select("model").unique()
    played_settings = _add_expected_games_to_played_settings(settings)
    all_settings = all_models.join(
        _median_and_largest_game_counts_by_setting(settings), how="cross"
    )
    own_most = pl.col("n_finished").max().over(_MODEL_KEYS)
    return (
        pl.concat([all_settings, played_settings.filter("is_own").select(all_settings.columns)])
        .join(
            played_settings.select("model", *_SETTING_KEYS, "n_finished", "n_expected"),
            on=["model", *_SETTING_KEYS],
            how="left",
            nulls_equal=True,
        )
        .with_columns(pl.col("n_finished").fill_null(0))
        .select(
            "model",
            *_SETTING_KEYS,
            "n_finished",
            "n_most",
            n_expected=pl.coalesce("n_expected", own_most.clip(pl.col("least"), pl.col("more"))),
        )
    )


def games_by_model_and_competition(lake: StoredLake) -> pl.DataFrame:
    """Return the expected, finished and missing games of each model in each competition.

    Args:
        lake: The lake, of one system.

    Returns:
        The columns model, game_type, competition, n_expected, and of these n_found, n_finished and
        n_missing; of all games n_games and n_complete; those of `REPLAY_COLUMNS`; and n_larger, the
        number that would be expected if the larger of two medians were used. Additional games of
        one setting do not make up for missing games of another.
    """
    settings = lake.compute_once(game_counts_by_model_and_setting)
    competition_keys = ["competition", "game_type"]
    # Settings with equal expected numbers are counted together, because settings times models may
    # be very many rows.
    setting_groups = (
        _median_and_largest_game_counts_by_setting(settings)
        .group_by(*competition_keys, "least", "more")
        .agg(n=pl.len().cast(pl.Int64))
    )
    n_expected, n_finished, n_usual = pl.col("n_expected"), pl.col("n_finished"), pl.col("n_usual")
    lower_median = n_expected.quantile(0.5, "lower").over(_SETTING_KEYS).cast(pl.Int64)
    played_competitions = (
        _add_expected_games_to_played_settings(settings)
        .with_columns(n_replays=(n_finished - lower_median).clip(0))
        .group_by(_MODEL_KEYS)
        .agg(
            own_most=n_finished.max(),
            n_beyond=(n_expected - pl.when("is_own").then(0).otherwise(n_usual)).sum(),
            n_found=pl.min_horizontal("n_games", n_expected).sum(),
            n_finished=pl.min_horizontal(n_finished, n_expected).sum(),
            n_games=pl.col("n_games").sum(),
            n_complete=n_finished.sum(),
            n_replays=pl.col("n_replays").sum(),
        )
        .join(
            _repeated_game_counts_by_model_and_competition(lake),
            on=["model", "competition"],
            how="left",
            nulls_equal=True,
        )
    )
    n_usual = pl.col("own_most").clip(pl.col("least"), pl.col("more"))
    return (
        settings.select("model")
        .unique()
        .join(settings.select(competition_keys).unique(), how="cross")
        .join(played_competitions, on=_MODEL_KEYS, how="left", nulls_equal=True)
        .with_columns(pl.col("own_most", "^n_.*$").fill_null(0))
        .join(setting_groups, on=competition_keys, how="left", nulls_equal=True)
        .group_by(_MODEL_KEYS)
        .agg(
            pl.col("^n_.*$").first(),
            n_expected=(pl.col("n") * n_usual).sum() + pl.col("n_beyond").first(),
            n_larger=(pl.col("n") * pl.col("more")).sum(),
        )
        .with_columns(n_missing=n_expected - n_finished)
        .drop("n_beyond")
    )


def games_by_competition_with_fixed_expectation(
    lake: StoredLake, expected: int | None
) -> pl.DataFrame:
    """Return the games by model and competition, with a fixed number of expected games if given.

    Args:
        lake: The lake, of one system.
        expected: The expected number of games; None keeps the numbers derived from other models.
    """
    games = lake.compute_once(games_by_model_and_competition)
    if expected is None:
        return games
    return games.with_columns(
        n_expected=pl.lit(expected, pl.Int64),
        n_found="n_games",
        n_finished="n_complete",
        n_missing=(expected - pl.col("n_complete")).clip(0),
    )


def _add_expected_games_to_played_settings(settings: pl.DataFrame) -> pl.DataFrame:
    """Add to each model's played settings the number of games that it should have finished.

    `n_usual` is the usual number of the setting; `n_expected` includes games that the model began
    and has to finish. Unfinished games count as played again if at least `n_finished` games were
    all finished: by the model in another setting, or by another model in this setting. Then not
    more are expected than the upper median, or than the model finished of one setting.
    """
    n_games, n_finished = pl.col("n_games"), pl.col("n_finished")
    complete_count = pl.when(n_games == n_finished, ~pl.col("is_own")).then(n_finished)
    has_enough = pl.max_horizontal(
        complete_count.max().over(_MODEL_KEYS), complete_count.max().over(_SETTING_KEYS)
    )
    max_usual = pl.max_horizontal("more", "own_most")
    n_begun = (
        pl.when(has_enough >= n_finished)
        .then(pl.min_horizontal(n_games, max_usual))
        .otherwise(n_games)
    )
    return (
        settings.join(
            _median_and_largest_game_counts_by_setting(settings),
            on=_SETTING_KEYS,
            how="left",
            nulls_equal=True,
        )
        .with_columns(
            pl.col("least", "more", "n_most").fill_null(1),
            own_most=n_finished.max().over(_MODEL_KEYS),
        )
        .with_columns(n_usual=pl.col("own_most").clip(pl.col("least"), pl.col("more")))
        .with_columns(
            n_expected=pl.max_horizontal("n_usual", pl.when(n_games > n_finished).then(n_begun))
        )
    )


def _median_and_largest_game_counts_by_setting(settings: pl.DataFrame) -> pl.DataFrame:
    """Return the median and the largest number of finished games of each repeatable setting.

    The columns `least` and `more` are the lower and the upper median. They differ if the median
    lies between two numbers. All numbers are at least 1.
    """
    n_finished = pl.col("n_finished").filter(pl.col("n_finished") > 0)
    statistics = {
        "least": n_finished.quantile(0.5, "lower"),
        "more": n_finished.quantile(0.5, "higher"),
        "n_most": n_finished.max(),
    }
    repeatable_settings = (
        settings.filter(~pl.col("is_own")).group_by(_SETTING_KEYS).agg(**statistics)
    )
    return repeatable_settings.with_columns(pl.col(*statistics).cast(pl.Int64).fill_null(1))


def _repeated_game_counts_by_model_and_competition(lake: StoredLake) -> pl.DataFrame:
    """Return how many games have the same content as an earlier game, by model and competition."""
    keys = ["content_id", "stated"]
    # Logs that state different game numbers are different games, as in the audit.
    stated_index = pl.when(pl.col("format") == "interchange").then("game_index").alias("stated")
    games = (
        lake.table("games").select("game_id", "content_id", stated_index).drop_nulls("content_id")
    )
    # Most lakes have no repeats. Comparing hashes first is much faster than grouping long texts.
    content_hashes = games.select(pl.col("content_id").hash()).collect(engine="streaming")
    if content_hashes.to_series().n_unique() == content_hashes.height:
        return pl.DataFrame(
            schema={"model": pl.String, "competition": pl.String, "n_repeats": pl.Int64}
        )
    first_games = games.group_by(keys).agg(pl.len(), first=pl.col("game_id").min())
    repeated_games = games.join(first_games.filter(pl.col("len") > 1), on=keys, nulls_equal=True)
    later_games = repeated_games.filter(pl.col("game_id") != pl.col("first")).select("game_id")
    return (
        lake.table("results")
        .filter("is_tested")
        .join(later_games, on="game_id", how="semi")
        .group_by("model", "competition")
        .agg(n_repeats=pl.col("game_id").n_unique().cast(pl.Int64))
        .collect(engine="streaming")
    )


def leaderboard_counts_by_model(lake: StoredLake, edition: Edition) -> pl.DataFrame:
    """Return each model's competitions that only other models finished, and its self-play games.

    Args:
        lake: The lake, of one system.
        edition: The edition whose win rate determines the competitions.

    Returns:
        The columns model, missing_competitions and n_self_play. `missing_competitions` lists the
        competitions that other models finished and this one did not; its win rate is a mean over
        fewer competitions and therefore not comparable.
    """
    n_complete = pl.col("n_complete")
    win_rate_competitions = competitions_counted_by_metrics(
        lake, {"win_rate": metric_spec("win_rate", edition)}, Request(edition)
    )
    is_counted = pl.col("competition").is_in(
        win_rate_competitions["competition"].drop_nulls().implode()
    )
    is_missing = is_counted & (n_complete == 0) & (n_complete.max().over("competition") > 0)
    missing_by_model = (
        lake.compute_once(games_by_model_and_competition)
        .with_columns(is_lacking=is_missing)
        .sort("competition")
        .group_by("model", maintain_order=True)
        .agg(missing_competitions=pl.col("competition").filter("is_lacking"))
    )
    with_self_play = missing_by_model.join(
        lake.compute_once(self_play_game_counts_by_model), on="model", how="left", nulls_equal=True
    )
    return with_self_play.with_columns(pl.col("n_self_play").fill_null(0))


def self_play_game_counts_by_model(lake: StoredLake) -> pl.DataFrame:
    """Return how many finished hidden-role games each model played against itself.

    In such a game one side wins what the other side loses, so it says little about the model.

    Args:
        lake: The lake, of one system.

    Returns:
        The columns model and n_self_play; models without such games have no row.
    """
    is_self_play = (pl.col("models") == 1) & (pl.col("sides") == 2)
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
        .filter(is_self_play)
    )
    counts = games.group_by("model").agg(n_self_play=pl.len().cast(pl.Int64))
    return counts.sort("model", nulls_last=True).collect(engine="streaming")


def unknown_or_changed_game_notes(
    lake: StoredLake, game_types: Collection[str] | None = None
) -> list[str]:
    """Return notes on games whose definition is not installed, or differs from the installed one.

    Args:
        lake: The lake.
        game_types: The game types that are displayed; None for all.
    """
    notes, table_names = [], lake.unknown_tables
    changed_types, unknown_types = (
        ", ".join(
            type_name for type_name in lake_types if game_types is None or type_name in game_types
        )
        for lake_types in (lake.changed_game_types, lake.unknown_game_types)
    )
    if changed_types:
        notes.append(
            f"{changed_types}: the installed definition of roles or endings differs from the one "
            "that its games were ingested with, which the metrics still use: ingest them into a "
            "new lake"
        )
    if unknown_types:
        tables = (
            f", and their own tables ({', '.join(table_names)}) are not read" if table_names else ""
        )
        notes.append(
            f"the lake has games of {unknown_types}, of a package that is not installed: no "
            f"metric counts them{tables}; install the package to see them in full, "
            "or name the file that declares the game in MAGIC_GAMES"
        )
    return notes


def replayed_and_repeated_games_notes(rows: pl.DataFrame) -> list[str]:
    """Return notes that name the models with games played more than once, and how many there are.

    Args:
        rows: Rows of `metrics` or of the leaderboard.
    """
    if not {"model", *REPLAY_COLUMNS} <= set(rows.columns):
        return []
    counts_by_model = (
        rows.group_by("model").agg(pl.col(*REPLAY_COLUMNS).max()).sort("model", nulls_last=True)
    )
    models_by_description: dict[str, list[str]] = {}
    models_with_replays = counts_by_model.filter(pl.any_horizontal(pl.col(*REPLAY_COLUMNS) > 0))
    for model, n_replays, n_repeats in models_with_replays.iter_rows():
        replayed = (
            f"{_replay_count_text(n_replays, 'replay')} of its settings, more than other models "
            "have"
        )
        repeated = f"{_replay_count_text(n_repeats, 'repeat')} of another, equal in every word"
        parts = [*[replayed] * bool(n_replays), *[repeated] * bool(n_repeats)]
        models_by_description.setdefault(", and ".join(parts), []).append(model or UNNAMED_MODEL)
    return [
        f"{_format_short_list(model_names)}{', each' if len(model_names) > 1 else ''}: "
        f"{description}, by competition; all of them count"
        for description, model_names in models_by_description.items()
    ]


def complete_models_with_fewer_games_notes(
    lake: StoredLake | None, rows: pl.DataFrame, expected: int | None = None
) -> list[str]:
    """Return a note for each model that is complete but finished fewer games than another model.

    The data do not show whether its games were lost or the other model played again.

    Args:
        lake: The lake; None returns no notes.
        rows: The displayed rows, with a column `model`.
        expected: The fixed number of expected games; if it is set, there are no notes.
    """
    if lake is None or expected is not None or "model" not in rows.columns:
        return []
    largest_number = pl.col("n_complete").max().over("competition")
    is_smaller = (pl.col("n_larger") > pl.col("n_expected")) & (pl.col("n_missing") == 0)
    smaller_counts = pl.concat(
        system_lake.compute_once(games_by_model_and_competition)
        .with_columns(most=largest_number)
        .filter(is_smaller, pl.col("n_complete") < largest_number)
        .select("model", "competition", "n_complete", "most")
        for system_lake in lake.split_by_system()
    )
    displayed_counts = smaller_counts.join(
        rows.select("model").unique(), on="model", how="semi", nulls_equal=True
    )
    competitions_by_counts: dict[tuple[str, int, int], list[str]] = {}
    for model, competition, n, largest in displayed_counts.sort(
        pl.all(), nulls_last=True
    ).iter_rows():
        competitions_by_counts.setdefault((model or UNNAMED_MODEL, n, largest), []).append(
            competition
        )
    return [
        f"{model}: {n:,} games where one has {largest:,}, in {_format_short_list(competitions)}; "
        f"if games were lost, state `--expected {largest}`"
        for (model, n, largest), competitions in competitions_by_counts.items()
    ]


def self_play_notes(games: pl.DataFrame) -> list[str]:
    """Return a note for each model that played games against itself, which count in its win rate.

    Args:
        games: The columns model and n_self_play.
    """
    return [
        f"win_rate of {model or UNNAMED_MODEL}: in {n_games} of its games this model plays "
        "every seat; what one side wins there, the other loses"
        for model, n_games in games.select("model", "n_self_play").iter_rows()
    ]


def replayed_and_repeated_games_notes_by_system(lake: StoredLake) -> list[str]:
    """Return notes on the models with games played more than once, for each system of the lake."""
    counts_by_system = (
        system_lake.compute_once(games_by_model_and_competition).group_by("model")
        for system_lake in lake.split_by_system()
    )
    sums = (rows.agg(pl.col(*REPLAY_COLUMNS).sum()) for rows in counts_by_system)
    return [note for rows in sums for note in replayed_and_repeated_games_notes(rows)]


def _replay_count_text(n_games: int, singular_noun: str) -> str:
    """Format a number of games with their kind, as in `2 games are repeats`."""
    return (
        f"{n_games} game is a {singular_noun}"
        if n_games == 1
        else f"{n_games:,} games are {singular_noun}s"
    )


def _format_short_list(names: list[str]) -> str:
    """Join names with commas, but at most `MAX_NAMES_IN_NOTE` of them."""
    rest = f" and {len(names) - MAX_NAMES_IN_NOTE} more" if len(names) > MAX_NAMES_IN_NOTE else ""
    return ", ".join(names[:MAX_NAMES_IN_NOTE]) + rest
