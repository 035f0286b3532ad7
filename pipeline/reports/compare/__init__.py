"""Comparisons of models, of one model's groups, and of models with and without a method.

Each comparison has differences, intervals and p-values. Used by `pipeline.lake_methods`, the CLI
and the pages; depends on `pipeline.reports.compare.differences`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import (
    DEFAULT_CONFIDENCE,
    PAPER,
    MetricResult,
    compute_metrics,
    metrics,
    registry,
)
from pipeline.metrics.completeness import game_counts_by_model_and_setting
from pipeline.metrics.evidence import check_limit_and_offset
from pipeline.metrics.registry import MISSING_COMPETITIONS_DTYPE, lake_method_for_single_system
from pipeline.metrics.request import (
    Request,
    as_list,
    is_game_column,
    metric_row_schema,
    parse_condition,
    requested_metrics,
    sql_constant_of_column_type,
)
from pipeline.metrics.row_queries import format_sql_string_list, select_games_by_condition
from pipeline.parameters import GAME_TYPES_OPTION, option_spec, split_names
from pipeline.reports.compare.differences import (
    COLUMNS,
    SCHEMA,
    add_holm_adjusted_p_values,
    check_margin,
    check_pairs,
    common_settings_value_expression,
    compute_differences,
    drop_basis_and_add_verdict,
    models_in_pairs,
    pair_rows_of_groups,
    pair_rows_of_models,
    replace_competition_strata_by_game_types,
)
from pipeline.reports.registry import report
from pipeline.sql_files import quote_identifier
from pipeline.statistics.pairs import pairwise_differences as pairs_differences
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE, Edition

# Models of different systems, written as MODEL@SYSTEM. They are compared in the game types that
# both systems play by the same rules.
#
# Such a comparison is unpaired even if settings have the same names, because two harnesses use
# different prompts. It compares model and harness together.

_SYSTEM_SEPARATOR = "@"
_EXAMPLE_CONDITION = "those where n_players = 3"


def system_in_model_name(lake: StoredLake, name: str) -> str | None:
    """Return the system in a name of the form MODEL@SYSTEM, or None if it contains no system.

    Args:
        lake: The lake with the systems.
        name: The name of a model, or MODEL@SYSTEM.

    Returns:
        The name of the system; None if the lake has no such system, or if a model has the whole
        name, such as `gpt@home`.
    """
    system = name.rpartition(_SYSTEM_SEPARATOR)[2]
    is_of_system = (
        _SYSTEM_SEPARATOR in name
        and system in lake.systems
        and name not in lake.compute_once(_models_with_separator_in_name)
    )
    return system if is_of_system else None


def _models_with_separator_in_name(lake: StoredLake) -> set[str]:
    players = lake.table("players").filter(
        pl.col("model").cast(pl.String).str.contains(_SYSTEM_SEPARATOR)
    )
    return {*players.select("model").unique().collect(engine="streaming")["model"]}


def model_without_system(lake: StoredLake, name: str) -> str:
    """Return MODEL for a name of the form MODEL@SYSTEM.

    Args:
        lake: The lake with the systems.
        name: The name of a model, or MODEL@SYSTEM.

    Returns:
        The name of the model; the whole name if it contains no system.
    """
    return (
        name if system_in_model_name(lake, name) is None else name.rpartition(_SYSTEM_SEPARATOR)[0]
    )


def model_with_system(lake: StoredLake, name: str) -> str:
    """Add the lake's system to the name of a model, unless the name already contains a system.

    Args:
        lake: The lake with the systems.
        name: The name of a model, or MODEL@SYSTEM.

    Returns:
        The name in the form MODEL@SYSTEM.
    """
    return name if system_in_model_name(lake, name) else f"{name}{_SYSTEM_SEPARATOR}{lake.system}"


def compute_across_systems(
    lake: StoredLake,
    request: Request,
    compute_result: Callable[[StoredLake, Request], MetricResult],
) -> MetricResult:
    """Compute a result for each system of the requested models, and combine the results.

    Only game types that all these systems play are counted.

    Args:
        lake: The lake with the systems.
        request: The request, with models in the form MODEL@SYSTEM.
        compute_result: Computes the result of one system from its lake and its request.

    Returns:
        One result with models in the form MODEL@SYSTEM. Settings of different systems have
        different names, so that they are not paired.

    Raises:
        UsageError: If the systems have no requested game type in common, or if they play one by
            different rules.
    """
    models_by_system: dict[str, list[str]] = {}
    for name in request.models or ():
        models_by_system.setdefault(str(system_in_model_name(lake, name)), []).append(
            model_without_system(lake, name)
        )
    lakes_by_system = {system: lake.for_system(system) for system in models_by_system}
    game_types = _common_game_types(lakes_by_system, request)
    results = []
    for system, system_lake in lakes_by_system.items():
        result = compute_result(
            system_lake,
            replace(request, models=tuple(models_by_system[system]), game_types=game_types),
        )
        labeled_result = result.with_columns(
            pl.col("model").cast(pl.String) + f"{_SYSTEM_SEPARATOR}{system}"
        )
        # Settings of different systems are never paired.
        cluster = pl.col("cluster").cast(pl.String) + f"{_SYSTEM_SEPARATOR}{system}"
        results.append(labeled_result._replace(sums=labeled_result.sums.with_columns(cluster)))
    return MetricResult.concatenate(results, replace(request, game_types=game_types))


def _common_game_types(
    lakes_by_system: Mapping[str, StoredLake], request: Request
) -> tuple[str, ...]:
    """Return the requested game types that all systems play, after checking their rules.

    Raises UsageError if there are none, or if the rules of one differ between the systems.
    """
    requested_types = request.game_types
    rules = pl.concat(
        _rules_text_by_game_type(system_lake, system, request)
        for system, system_lake in lakes_by_system.items()
    )
    common_types = sorted(
        set.intersection(
            *[set(rules.filter(system=system)["game_type"]) for system in lakes_by_system]
        )
    )
    game_types = tuple(
        game_type
        for game_type in common_types
        if requested_types is None or game_type in requested_types
    )
    system_names = " and ".join(lakes_by_system)
    if not game_types:
        problem = (
            f"none of {', '.join(requested_types)}" if requested_types else "no game type in common"
        )
        raise UsageError(f"cannot compare {system_names}: they play {problem}")
    for game_type in game_types:
        rules_by_system = dict(
            rules.filter(game_type=game_type).select("system", "rules").iter_rows()
        )
        if len(set(rules_by_system.values())) > 1:
            rule_descriptions = "; ".join(
                f"in {system} {rules_text}" for system, rules_text in rules_by_system.items()
            )
            other_types = [
                f"the game type {other_type}"
                for other_type in game_types
                if other_type != game_type
            ]
            hint = f"; select similar games: {' or '.join([*other_types, _EXAMPLE_CONDITION])}"
            raise UsageError(
                f"cannot compare {system_names}: the rules of {game_type} differ: "
                f"{rule_descriptions}{hint}"
            )
    return game_types


def _rules_text_by_game_type(lake: StoredLake, system: str, request: Request) -> pl.DataFrame:
    """Return a row for each game type with its rules as text: numbers of players, and roles.

    If the request contains a condition on games, only the games that meet it are considered.
    """
    games, selection = lake.table("games"), select_games_by_condition(lake.table, request)
    games = selection.keep_rows_of_selected_games(games) if selection else games
    role = pl.format("{} ({})", pl.col("role").cast(pl.String), pl.col("side").cast(pl.String))
    players = lake.table("players").filter(pl.col("role").is_not_null())
    players = players.join(games.select("game_id"), on="game_id", how="semi")
    roles = players.group_by("game_type").agg(role.unique().sort().str.join(", ").alias("roles"))
    sizes = pl.col("n_players").unique().sort().cast(pl.String).str.join(" or ")
    player_counts = games.group_by("game_type").agg(sizes)
    rules_text = pl.format(
        "{} players: {}", pl.col("n_players"), pl.col("roles").fill_null("no roles")
    )
    return (
        player_counts.join(roles, on="game_type", how="left")
        .with_columns(
            pl.col("game_type").cast(pl.String), rules_text.alias("rules"), system=pl.lit(system)
        )
        .select("game_type", "system", "rules")
        .collect()
    )


# Models with and without a method: the pairs of models, and the mean of their differences.
#
# The mean over models is a difference of two values, each the mean of its side: a weighted sum of
# the ratios of all its models. So its p-value, interval and pairing are computed like those of any
# two models (`differences`), where the contribution of a setting is the sum over all models. If
# only some models are paired, the mean is unpaired. Then it is not the mean of the differences,
# because the differences of paired models are over their common settings.

METHOD_COLUMNS: Mapping[str, column.Column] = {
    **COLUMNS,
    "n_models": column.count_column(
        "1, or the number of models in a mean; in a mean, `model` and `other` are null"
    ).with_heading("models"),
}
_WITH, _WITHOUT = "with", "without"


def pair_models_by_name_suffix(models: Iterable[str], suffix: str) -> list[tuple[str, str]]:
    """Return the pairs of models whose names differ only in a suffix: gpt-4-pgm and gpt-4.

    Args:
        models: The names of models.
        suffix: The suffix, such as `pgm`.

    Returns:
        The pairs, each with the model that has the suffix first.

    Raises:
        UsageError: If there is no such pair.
    """
    pairs = _find_models_with_and_without_suffix(set(models), suffix)
    if not pairs:
        raise UsageError(
            f"no model exists with and without `{suffix}`: specify a suffix of model names, "
            "such as pgm, or a column and its value, such as setting.prompt=v2"
        )
    return pairs


def _find_models_with_and_without_suffix(models: set[str], suffix: str) -> list[tuple[str, str]]:
    pattern = re.compile(rf"(.+)[-+_: ]{re.escape(suffix.lstrip('-+_: '))}", re.IGNORECASE)
    matches = ((name, pattern.fullmatch(name)) for name in sorted(models))
    return [(name, match[1]) for name, match in matches if match and match[1] in models]


def compute_with_and_without_column_value(
    compute_result: Callable[[str], MetricResult],
    column_and_value: str,
    where: str | None,
    schema: Mapping[str, pl.DataType],
) -> tuple[MetricResult, list[tuple[str, str]]]:
    """Compute each model's values for rows with and without a value of a column.

    Args:
        compute_result: Computes the result for a condition on rows.
        column_and_value: A column and its value, such as setting.prompt=v2.
        where: A condition that all rows must meet, or None.
        schema: The columns of the rows and their types.

    Returns:
        The result, in which the value is appended to a model's name if the rows have it, and the
        pairs of such a name and the model's name.

    Raises:
        UsageError: If no model has rows with and without the value, or if the column or the value
            is wrong.
    """
    name, _, value = column_and_value.partition("=")
    constant = sql_constant_of_column_type(name, value, schema.get(name, pl.String()))
    # The line break ends a comment at the end of the condition.
    where_suffix = f" AND ({where}\n)" if where else ""
    result_with, result_without = (
        compute_result(f"({quote_identifier(name)} {operator} {constant}){where_suffix}")
        for operator in ("=", "IS DISTINCT FROM")
    )
    model_sets = [{*result.rows["model"].drop_nulls()} for result in (result_with, result_without)]
    if not (models := set.intersection(*model_sets)):
        has_suffix_pairs = _find_models_with_and_without_suffix(set.union(*model_sets), value)
        hint = (
            f"; names of models end with it, so specify `{value}` only" if has_suffix_pairs else ""
        )
        raise UsageError(f"no model has both games with {name} {value} and games without it{hint}")
    suffix = f", {name} {value}"
    result_with = result_with.with_columns(pl.col("model") + suffix)
    pairs = [(f"{model}{suffix}", model) for model in sorted(models)]
    return MetricResult.concatenate([result_with, result_without], result_without.request), pairs


def append_mean_difference_rows(
    result: MetricResult, rows: pl.DataFrame, confidence: float
) -> pl.DataFrame:
    """Append to the rows of each metric a row with the mean difference over its models.

    Args:
        result: The values, with their terms and sums.
        rows: Rows of `compute_differences`, one for each pair of models.
        confidence: Confidence level of the intervals, between 0 and 1.

    Returns:
        The rows with the column `n_models`. The mean is over the models that have a difference; a
        metric with fewer than two such models has no mean.
    """
    rows_with_difference = rows.drop_nulls("difference").filter(pl.len().over("metric") > 1)
    sides = pl.concat(
        rows_with_difference.select("metric", pair="model", side=pl.lit(side), model=model)
        for side, model in ((_WITH, "model"), (_WITHOUT, "other"))
    ).with_columns(n=pl.len().over("metric", "side"))
    term = pl.format("{}: {}", "pair", "term")
    terms, sums = (
        frame.join(sides, on=["metric", "model"]).with_columns(model="side", term=term)
        for frame in (result.terms, result.sums)
    )
    terms = terms.with_columns(weight=pl.col("weight") / pl.col("n"))
    means = rows_with_difference.group_by("metric", maintain_order=True).agg(
        pl.col("value", "other_value").mean(),
        pl.col("small_sample_terms", "other_small_sample_terms").explode().drop_nulls(),
        n_models=pl.len().cast(pl.Int64),
    )
    mean_differences = [
        pairs_differences(
            sums.lazy().filter(metric=name),
            terms.lazy().filter(metric=name),
            [(_WITH, _WITHOUT)],
            confidence,
        ).select(pl.lit(name).alias("metric"), pl.exclude("one", "other"))
        for name in means["metric"]
    ]
    model_rows = rows.with_columns(n_models=pl.lit(1, pl.Int64))
    if not mean_differences:
        return model_rows
    mean_rows = means.join(pl.concat(mean_differences), on="metric").with_columns(
        common_value=common_settings_value_expression("one"),
        other_common_value=common_settings_value_expression("other"),
    )
    metric_order = {
        name: position for position, name in enumerate(rows["metric"].unique(maintain_order=True))
    }
    all_rows = pl.concat([model_rows, mean_rows], how="diagonal").select(
        *SCHEMA, "n_models", "basis"
    )
    return all_rows.sort(pl.col("metric").replace_strict(metric_order), maintain_order=True)


# The settings in which two models differ most.

_FIRST_GAME = "the id of the first counted game of the setting, by index, of "
SETTINGS_APART_COLUMNS: Mapping[str, column.Column] = {
    **{name: TABLES["games"].columns()[name] for name in ("setting_id", "game_type")},
    "value": column.proportion_column("the model's value in the setting, in the metric's unit"),
    "other_value": column.proportion_column("the value of the other model"),
    "difference": column.proportion_column("value − other_value"),
    "game": column.text_column(f"{_FIRST_GAME}the model", nullable=True),
    "other_game": column.text_column(f"{_FIRST_GAME}the other model", nullable=True),
}


@lake_method_for_single_system(SETTINGS_APART_COLUMNS)
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
    """Return the settings in which the metric values of two models differ most.

    `game_type` and `where` select rows as in `metrics`. The result is empty for the edition
    `release`, which has no values by setting.

    Raises UsageError for an unknown model or metric, for a model compared with itself, and for an
    invalid condition.

    >>> apart = lake.settings_apart("sim-delta", "sim-atlas", "win_rate", limit=2)
    >>> apart.select("game_type", "value", "other_value").rows()
    [('public_good', 1.0, 0.0), ('cost_sharing', 1.0, 0.0)]
    """
    check_limit_and_offset(limit)
    check_pairs([(model, other)])
    empty = pl.DataFrame(schema=column.polars_schema(SETTINGS_APART_COLUMNS))
    if edition == RELEASE:
        return empty
    options = {
        "metric": metric,
        "edition": edition,
        "model": [model, other],
        "game_type": game_type,
        "where": where,
    }
    keys = ["setting_id", "game_type"]
    values = _values_by_game_type_and_columns(lake, options, keys)
    model_values, other_values = (
        values.filter(model=name).select(*keys, "value") for name in (model, other)
    )
    differences = (
        model_values.join(other_values.rename({"value": "other_value"}), on=keys)
        .with_columns(difference=pl.col("value") - pl.col("other_value"))
        .sort(-pl.col("difference").abs(), *keys)
        .head(limit)
    )
    games = _first_counted_game_ids(lake, options, differences["setting_id"].to_list())
    for name, game in ((model, "game"), (other, "other_game")):
        game_ids = games.filter(model=name).select("setting_id", pl.col("game_id").alias(game))
        differences = differences.join(game_ids, on="setting_id", how="left", maintain_order="left")
    return pl.concat([empty, differences.select(*SETTINGS_APART_COLUMNS)])


def _values_by_game_type_and_columns(
    lake: StoredLake, metric_options: Mapping[str, Any], group_columns: Sequence[str]
) -> pl.DataFrame:
    """Return the metric values that are not null, by model and columns that include the game type.

    The values over all game types are excluded.
    """
    values = metrics(lake, by=["model", *group_columns], confidence=None, **metric_options)
    return values.filter(pl.col("game_type") != ALL_GAME_TYPES, pl.col("value").is_not_null())


def _first_counted_game_ids(
    lake: StoredLake, metric_options: Mapping[str, Any], setting_ids: Sequence[str]
) -> pl.DataFrame:
    """Return the id of the first counted game of each model in each of the settings."""
    setting_condition = f"setting_id IN ({format_sql_string_list(setting_ids)})"
    where = (
        f"({metric_options['where']}) AND {setting_condition}"
        if metric_options["where"]
        else setting_condition
    )
    game_values = _values_by_game_type_and_columns(
        lake,
        {**metric_options, "where": where},
        ["setting_id", "game_type", "game_id", "game_index"],
    )
    sorted_games = game_values.sort("game_index", "game_id", nulls_last=True)
    return sorted_games.group_by("model", "setting_id").agg(pl.col("game_id").first())


_GameTypes = Annotated[str | Sequence[str] | None, GAME_TYPES_OPTION]


@report(columns=COLUMNS, is_for_papers=True)
def compare(
    lake: StoredLake,
    *pairs: tuple[str, str],
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    by: Annotated[
        str | Sequence[str] | None,
        option_spec(
            "COLUMNS",
            "Compare the models in each group of these columns; with one MODEL, compare the groups "
            "of this column.",
            suggested="columns",
            check=split_names,
        ),
    ] = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis is
    that the two models behave in the same way. `p (Holm)` is adjusted by Holm's method for all
    p-values in the table; if all pairs of models are compared, for those of the same metric. The
    interval of a paired comparison excludes 0 if and only if the p-value reaches the level; for
    this, an end of the interval can be moved to 0.00. A note names the metrics in which one model
    played the common settings much more often than the other.

    A game type, a condition and columns select and group rows as in `magic metrics`. With one model
    and one column, all pairs of its groups are compared, such as its roles. With a margin D,
    `verdict` is alike (the difference is shown to be within -D..D), better, worse or undecided.

    MODEL@SYSTEM is a model of another system. Models of two systems are compared unpaired, in the
    game types that both systems play by the same rules.

    With `--with pgm`, each row compares a model with and without the suffix, such as gpt-4-pgm and
    gpt-4. Further rows have the mean over these models; its interval takes into account that the
    models share settings.

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 --by setting.temperature
      magic compare gpt-4 gpt-4-pgm --margin 0.05
      magic compare gpt-4@magic gpt-4@my-harness --metric judgement
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --with pgm --metric win_rate
      magic compare --all-pairs --metric win_rate --format csv

    Raises UsageError for an unknown model or metric, for a model compared with itself, for a
    repeated pair, and for a margin that no difference can reach.

    Each row is a metric and a pair of models, such as ("gpt-4", "cohere"). Without pairs, all pairs
    are compared. The columns of `by` follow the metric. For models of two systems, `system` is
    null, and `game_types` lists the types in which they are compared.

    With a `margin`, the result also has `p_alike` (two one-sided tests that the difference is
    within ± the margin), `p_alike_holm` (adjusted in the same families) and `verdict`: `alike` if
    `p_alike_holm` reaches the level 1 − confidence, otherwise `better` or `worse` if `p_holm` does,
    otherwise `undecided`.

    >>> rows = lake.compare(("sim-delta", "sim-atlas"), metric="win_rate")
    >>> rows.select(pl.col("difference").round(3), "method", "n_settings").row(0)
    (0.53, 'paired by setting', 20)
    >>> lake.compare(metric="win_rate", by="game_type").height
    36
    """
    check_pairs(pairs)
    check_margin(margin, metric, edition, lake.game_types)
    systems = {system_in_model_name(lake, name) or lake.system for pair in pairs for name in pair}
    has_several_systems = len(systems) > 1
    if has_several_systems:
        pairs = tuple(
            (model_with_system(lake, model), model_with_system(lake, other_model))
            for model, other_model in pairs
        )
    else:
        lake = next((lake.for_system(system) for system in systems if system), lake)
        pairs = tuple(
            (model_without_system(lake, model), model_without_system(lake, other_model))
            for model, other_model in pairs
        )
        check_pairs(pairs)
    metrics = requested_metrics(metric, edition)
    request = Request(
        edition=edition,
        by=("model", *(as_list(by) or ())),
        models=models_in_pairs(pairs),
        game_types=as_list(game_type),
        where=parse_condition(metrics, where),
        expected=expected,
    )

    def compute_result(system_lake: StoredLake, system_request: Request) -> MetricResult:
        names = metrics
        if has_several_systems and metric is None and game_type is None:
            # Only the metrics of game types that all systems play.
            common_types = {*(system_request.game_types or ())}
            names = tuple(
                name
                for name in names
                if common_types & {*registry.metric_spec(name, edition).game_types}
            )
        return compute_metrics(system_lake, system_request, names=names, confidence=confidence)

    result = (
        compute_across_systems(lake, request, compute_result)
        if has_several_systems
        else compute_result(lake, request)
    )
    models = result.rows["model"].drop_nulls().unique().sort().to_list()
    compared_pairs = [(model, other_model) for model, other_model in pairs] or list(
        combinations(models, 2)
    )
    family = [] if pairs else ["metric"]
    rows = compute_differences(result, pair_rows_of_models(result, compared_pairs), confidence)
    comparison = drop_basis_and_add_verdict(
        add_holm_adjusted_p_values(rows, family), margin, confidence, family
    )
    if not has_several_systems:
        return comparison.with_columns(system=pl.lit(lake.system, pl.String))
    common_types = {*(result.request.game_types or ())}
    type_lists = [
        sorted(common_types & {*registry.metric_spec(name, edition).game_types})
        for name in comparison["metric"]
    ]
    return comparison.with_columns(
        game_types=pl.Series(type_lists, dtype=MISSING_COMPETITIONS_DTYPE),
        system=pl.lit(None, pl.String),
    )


@report(columns=COLUMNS, is_for_papers=True, title="Groups compared")
def contrast(
    lake: StoredLake,
    model: Annotated[str, option_spec("MODEL", "The model.", suggested="models")],
    by: Annotated[str, option_spec("COLUMN", "The column of its groups.", suggested="columns")],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """The difference between groups of one model: a row for each metric and pair of groups.

    `by` is a column by which `metrics` can group, such as `role`, `round` or `opponent`. The column
    of this name and the column `other` contain the two groups as strings; they follow `metric` and
    `model`. Groups are paired by setting if they share settings. `p_holm` is adjusted for all rows.
    By default, the metrics are all those whose rows have the column.

    Raises UsageError if a metric has more than 100 groups, for the edition `release`, for an
    unknown model, and for a column that no metric has.

    >>> rows = lake.contrast("sim-delta", "role", metric="judgement", where="side = 'civilian'")
    >>> rows.select("role", "other", "difference").rows()
    [('civilian', 'non_chameleon', -0.125)]
    """
    if edition == RELEASE:
        raise UsageError("the edition release has no groups of a model: use the edition paper")
    if by in ("model", "game_id", "setting_id"):
        raise UsageError(f"cannot compare groups of `{by}`: choose a column such as role or round")
    applicable_metrics = [
        name
        for name in registry.metric_names(edition)
        if is_game_column(by) or by in metric_row_schema(name)
    ]
    names = requested_metrics(metric or applicable_metrics or None, edition)
    check_margin(margin, names, edition, lake.game_types)
    request = Request(
        edition=edition,
        by=("model", by),
        models=(model,),
        game_types=as_list(game_type),
        where=parse_condition(names, where),
        expected=expected,
    )
    result = compute_metrics(lake, request, names=names, confidence=confidence)
    result = replace_competition_strata_by_game_types(
        result, lake.compute_once(game_counts_by_model_and_setting)
    )
    pairs = pair_rows_of_groups(result, by)
    rows = compute_differences(result, pairs, confidence, label=by)
    return drop_basis_and_add_verdict(add_holm_adjusted_p_values(rows, []), margin, confidence, [])


@report(columns=METHOD_COLUMNS, is_for_papers=True, title="With and without a method")
def compare_with(
    lake: StoredLake,
    method: Annotated[
        str,
        option_spec(
            "METHOD",
            "Compare models with and without a method: METHOD is a suffix of model names, such as "
            "pgm, or a column and its value, such as setting.prompt=v2.",
            "--with",
        ),
    ],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """What a method adds: a row for each metric and each model that is there with and without it.

    A method is a suffix of model names, such as pgm, or a column and its value, such as
    setting.prompt=v2. "pgm" compares gpt-4-pgm or gpt-4+pgm with gpt-4. "setting.prompt=v2"
    compares the games of a model that have this value with its other games. With several models, a
    further row of each metric has the mean over them. The mean is paired by setting if all models
    are paired; the differences at a setting are added up, so the interval takes into account that
    the models share settings. If only some models are paired, the mean is the difference of the
    mean values, which is not the mean of the models' differences. Other arguments, and the pairing,
    are the same as in `compare`; `p_holm` is adjusted for all rows.

    Raises UsageError if no model has games with and without the method, and for arguments that
    `compare` does not accept.

    >>> rows = lake.compare_with("role=civilian", metric="reasoning", where="side = 'civilian'")
    >>> rows.select("model", pl.col("difference").round(3), "n_models").tail(2).rows()
    [('sim-delta, role civilian', 0.01, 1), (None, 0.021, 4)]
    """
    check_margin(margin, metric, edition, lake.game_types)
    metrics = requested_metrics(metric, edition)
    column_name, has_value, _ = method.partition("=")

    def compute_result(condition: str | None) -> MetricResult:
        request = Request(
            edition=edition,
            by=("model",),
            game_types=as_list(game_type),
            where=parse_condition(metrics, condition),
            expected=expected,
            varied=(column_name,) if has_value else (),
        )
        return compute_metrics(lake, request, names=metrics, confidence=confidence)

    if has_value:
        parse_condition(metrics, where)  # checked before it becomes part of another condition
        result, pairs = compute_with_and_without_column_value(
            compute_result, method, where, metric_row_schema(metrics[0])
        )
    else:
        result = compute_result(where)
        pairs = pair_models_by_name_suffix(result.rows["model"].drop_nulls(), method)
    rows = compute_differences(result, pair_rows_of_models(result, pairs), confidence)
    return drop_basis_and_add_verdict(
        add_holm_adjusted_p_values(append_mean_difference_rows(result, rows, confidence), []),
        margin,
        confidence,
        [],
    )
