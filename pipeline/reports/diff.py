"""Differences between two lakes, or between two states of a lake, and the games that cause them.

Used by `pipeline.lake_methods` and `pipeline.render`; depends on `pipeline.reports.compare`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import (
    DEFAULT_CONFIDENCE,
    PAPER,
    MetricResult,
    clusters_for_request,
    compute_metrics,
    metric_specs_for_system,
)
from pipeline.metrics.estimates import GAME_CLUSTER_PREFIX, CountQuery, count_with_engine
from pipeline.metrics.registry import (
    METRIC_COLUMN,
    ORIGIN_COLUMNS,
    SMALL_SAMPLE_COLUMN,
    lake_method,
    metric_names,
    system_edition_and_view_option_columns,
)
from pipeline.metrics.request import (
    Request,
    as_list,
    check_models_are_tested,
    keep_tested_models,
    requested_metrics,
)
from pipeline.parameters import option_spec
from pipeline.reports.compare.differences import (
    COLUMNS as COMPARED,
    add_holm_adjusted_p_values,
    check_margin,
    compute_differences,
    pair_rows_of_models,
)
from pipeline.reports.registry import report
from pipeline.statistics.comparison import drop_p_value, is_significant, minimum_detectable_drop
from pipeline.statistics.pairs import rates_and_correlation_from_basis
from pipeline.vocabulary import Edition

SAME_GAMES = "the same games"
ONLY_BEFORE, ONLY_AFTER = "only before", "only after"
_STATE_COLUMNS = ("value", "common_value", "small_sample_terms")
_LakeAndRequest = tuple[StoredLake, Request]
_GAME_COUNT_COLUMNS: Mapping[str, column.Column] = {
    "n_common": column.count_column(
        "games that count in both lakes, in the same competitions and settings"
    ).with_heading("common"),
    "n_removed": column.count_column(
        "games that count in a competition and setting of the first lake only"
    ).with_heading("removed"),
    "n_new": column.count_column(
        "games that count in a competition and setting of the second lake only"
    ).with_heading("new"),
}
_GAME_COUNT_SCHEMA = column.polars_schema(_GAME_COUNT_COLUMNS)
DIFF_COLUMNS: Mapping[str, column.Column] = {
    "metric": COMPARED["metric"],
    "model": COMPARED["model"],
    "value": column.proportion_column("the value before, in the metric's unit").with_heading(
        "before"
    ),
    "new_value": column.proportion_column("the value after").with_heading("after"),
    "common_value": column.proportion_column(
        "the value before on the common settings, each counted as much before as after; null "
        "unless `method` is `paired by setting` or `the same games`"
    ).with_heading("common before"),
    "new_common_value": column.proportion_column(
        "the value after on the common settings"
    ).with_heading("common after"),
    "small_sample_terms": SMALL_SAMPLE_COLUMN,
    "new_small_sample_terms": SMALL_SAMPLE_COLUMN,
    "difference": column.proportion_column(
        "new_common_value − common_value if these are not null, else new_value − value"
    ),
    **{name: COMPARED[name] for name in ("ci_low", "ci_high", "ci_method", "p_value", "p_holm")},
    "family": column.count_column(
        "number of p-values that are adjusted together: all p-values of the result"
    ),
    "level": column.number_column("the significance level, 1 − `confidence`"),
    "method": column.text_column("how the difference was computed"),
    "n_settings": column.count_column(
        "common settings, without those whose games are the same in both; if a model finished "
        "games of only one setting of a competition, its games are the clusters"
    ).with_heading("settings"),
    "is_replayed": COMPARED["is_replayed"],
    **_GAME_COUNT_COLUMNS,
    "is_significant": column.boolean_column(
        "whether the change is significant: `p_holm` reaches the level, or the same games "
        "have a different value; null if there is no difference",
        nullable=True,
    ).with_heading("significant"),
    "reason": column.text_column("why there is no difference"),
}
# Further columns of a result with a margin.
MARGIN_COLUMNS: Mapping[str, column.Column] = {
    "p_drop": column.p_value_column(
        "one-sided p-value that the value dropped by more than the margin, adjusted by Holm"
    ),
    "detectable_drop": column.proportion_column(
        "the smallest drop that this test detects with power .8, at the level of 1 − `confidence` "
        "divided by the number of tests; null if it cannot detect even a drop to 0"
    ),
    "is_regression": column.boolean_column("whether the value dropped by more than the margin"),
}
_GAME_KEY = ("model", "competition", "setting_id", "game_id")
CHANGED_GAMES_COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    **{name: TABLES["results"].columns()[name] for name in _GAME_KEY},
    "change": column.text_column(
        "`removed` if only the first lake counts the game, `new` if only the second does"
    ),
    "hits": column.number_column("the game's hits"),
    "counted": column.count_column("the game's counted rows"),
}


@report(columns={**DIFF_COLUMNS, **ORIGIN_COLUMNS}, title="What changed", tells_system=True)
def diff(
    before: StoredLake,
    after: StoredLake | str | Path,
    *,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    margin: Annotated[
        float | None,
        option_spec(
            "MARGIN",
            "Exit with 4 if a value dropped by more than MARGIN, according to a one-sided test.",
            "--fail-on-regression",
            min=0,
        ),
    ] = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Show what changed between two lakes, and whether chance alone can explain it.

    The first line says how many values changed significantly, at which level (.05, or 1 − SHARE
    with `--confidence`), and which models are new or removed. The rows are the values that changed;
    --all lists all values. If the two lakes have different settings, `common before` and `common
    after` are the values on the common settings, and `difference` is `common after` minus `common
    before`. With --model and --metric, p-values are adjusted for the selected values only.

    If both lakes count the same games, the difference is exact and has no p-value. Otherwise the
    two states are compared like two models, paired by setting if possible. Settings whose games are
    the same in both lakes are not paired, because they contain no information about a change.

    With `--fail-on-regression`, `p drop` is the p-value (one-sided, adjusted by Holm's method) that
    the value dropped by more than MARGIN. If it is at most .05 (1 − SHARE with `--confidence`), the
    value is a regression. `detectable drop` is the smallest drop that this test detects with a
    probability of .8; smaller drops can stay undetected. A value that cannot be compared is not a
    regression; `reason` says why it cannot be compared.

    \b
    Examples:
      magic diff before/ after/
      magic diff before/ after/ --all --metric win_rate --model gpt-4
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff before/ --lake lake/
      magic diff --as-of 1 --list-games

    Raises UsageError for an unknown edition or metric, for a margin below 0 or above the highest
    value, for a model of neither lake and for lakes of two systems, and LakeError if there is no
    lake at the path.

    Each row is a metric and a model of either lake. `after` is a lake or its path. `model` and
    `metric` select rows as in `metrics`; p-values are adjusted for the selected rows. With a
    `margin`, the result also has the columns `p_drop`, `detectable_drop` and `is_regression`.

    >>> lake.diff("lake/").select("n_removed", "n_new").unique().rows()
    [(0, 0)]
    """
    lake_requests = _lakes_with_requests_for_tested_models(
        *_restrict_lakes_to_same_system(before, after), edition, model
    )
    game_types = {name for lake, _ in lake_requests for name in lake.game_types}
    check_margin(margin, metric, edition, game_types, may_be_0=True)
    metrics = requested_metrics(metric, edition)
    results = [
        compute_metrics(lake, request, names=metrics, confidence=confidence)
        for lake, request in lake_requests
    ]
    games = _counted_games_with_change(lake_requests, metrics)
    # A game in which a model has several roles counts in several competitions but is one game. It
    # is common if it is common in all of them.
    change = pl.col("change")
    game_changes = games.group_by("metric", "model", "game_id").agg(
        n_common=(change == "common").all(),
        n_removed=(change == "removed").any(),
        n_new=(change == "new").any(),
    )
    changes_by_model = game_changes.group_by("metric", "model")
    rows = _compute_differences_between_lakes(results, games, confidence).join(
        changes_by_model.agg(pl.col(_GAME_COUNT_SCHEMA.names()).sum().cast(pl.Int64)),
        on=["metric", "model"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    n_games = pl.col(_GAME_COUNT_SCHEMA.names()).fill_null(0)
    is_same = (
        (pl.col("n_removed") == 0) & (pl.col("n_new") == 0) & pl.col("difference").is_not_null()
    )
    rows = rows.with_columns(n_games).with_columns(
        pl.when(~is_same).then("p_value").alias("p_value"),
        pl.when(is_same).then("difference").otherwise("ci_low").alias("ci_low"),
        pl.when(is_same).then("difference").otherwise("ci_high").alias("ci_high"),
        ci_method=pl.when(~is_same).then("ci_method"),
        method=pl.when(is_same).then(pl.lit(SAME_GAMES)).otherwise("method"),
    )
    rows = add_holm_adjusted_p_values(rows, [])
    if margin is not None:
        rows = _add_drop_test_columns(rows, margin, confidence)
    return rows.with_columns(
        is_significant=pl.when(is_same)
        .then(pl.col("difference") != 0)
        .otherwise(is_significant(pl.col("p_holm"), confidence)),
        level=round(1 - confidence, 15),
    ).select(
        *list(DIFF_COLUMNS)[:-1],
        *(() if margin is None else MARGIN_COLUMNS),
        "reason",
        *system_edition_and_view_option_columns(lake_requests[0][0], edition),
    )


def _restrict_lakes_to_same_system(
    before: StoredLake, after: StoredLake | str | Path
) -> tuple[StoredLake, StoredLake]:
    """Open `after` if it is a path, and return both lakes restricted to the same system.

    The system is that of `before`, otherwise that of `after`, otherwise the largest system of
    `before`. Raises UsageError if `after` has no games of this system.
    """
    if not isinstance(after, StoredLake):
        after = open_lake(after)
    before = before.for_single_system(before.system or after.system)
    if before.system is None or not after.systems:
        return before, after.for_single_system()
    after_systems = [after.system] if after.system else [*after.systems]
    if before.system not in after_systems:
        raise UsageError(
            f"a diff compares lakes of one system: {before.path} has games of {before.system}, "
            f"but {after.path} of {', '.join(after_systems)}"
        )
    return before, after.for_system(before.system)


def _lakes_with_requests_for_tested_models(
    before: StoredLake, after: StoredLake, edition: Edition, model: str | Sequence[str] | None
) -> list[_LakeAndRequest]:
    """Return both lakes, each with a request for the requested models that are tested in it.

    Raises UsageError for a model that neither lake tests.
    """
    models = as_list(model)
    models_by_lake = [keep_tested_models(lake, models) for lake in (before, after)]
    check_models_are_tested(
        after,
        sorted(
            set(models or ()).difference(*(lake_models or () for lake_models in models_by_lake))
        ),
    )
    return [
        (lake, Request(edition=edition, by=("model",), models=lake_models))
        for lake, lake_models in zip((before, after), models_by_lake, strict=True)
    ]


def _add_drop_test_columns(rows: pl.DataFrame, margin: float, confidence: float) -> pl.DataFrame:
    """Test each value for a drop by more than the margin, and add the columns of the results."""
    level = (1 - confidence) / max(1, rows["p_value"].count())
    drop_tests = [
        _drop_p_value_and_detectable_drop(basis, p_value, margin, level)
        if p_value is not None
        else (None, None)
        for basis, p_value in rows.select("basis", "p_value").iter_rows()
    ]
    drop_columns = pl.DataFrame(
        drop_tests, {"raw": pl.Float64, "detectable_drop": pl.Float64}, orient="row"
    )
    is_below_margin = pl.col("difference") < -margin
    is_regression = (
        pl.when(pl.col("raw").is_null())
        .then(is_below_margin)
        .otherwise(is_significant(pl.col("p_drop"), confidence))
    )
    tested_rows = add_holm_adjusted_p_values(
        pl.concat([rows, drop_columns], how="horizontal"), [], "raw", "p_drop"
    )
    return tested_rows.with_columns(is_regression=is_regression)


def _drop_p_value_and_detectable_drop(
    basis: dict[str, Any], p_value: float, margin: float, level: float
) -> tuple[float, float | None]:
    """Return the p-value of a drop by more than the margin, and the smallest drop it detects."""
    new, old, correlation = rates_and_correlation_from_basis(basis)
    return (
        drop_p_value(new, old, margin, p_value, correlation),
        minimum_detectable_drop(new, old, margin, level, correlation=correlation),
    )


def _compute_differences_between_lakes(
    results: Sequence[MetricResult], games: pl.DataFrame, confidence: float
) -> pl.DataFrame:
    """Return the difference between the two lakes for each metric and model.

    The columns of the first lake have their usual names, and those of the second lake begin with
    `new_`. A model of only one lake is not compared; its reason is `ONLY_BEFORE` or `ONLY_AFTER`.
    """
    labeled_results = [
        result.with_columns(pl.lit(state).alias("state"))
        for result, state in zip(results, ("before", "after"), strict=True)
    ]
    request = replace(results[0].request, by=("model", "state"))
    joined_result = _mark_settings_with_unchanged_games(
        MetricResult.concatenate(labeled_results, request), games
    )
    missing_row_reason = (
        pl.when(pl.col("entity").is_null())
        .then(pl.lit(ONLY_BEFORE))
        .when(pl.col("other_entity").is_null())
        .then(pl.lit(ONLY_AFTER))
    )
    pairs = pair_rows_of_models(joined_result, [("after", "before")], "state").with_columns(
        lacking=missing_row_reason
    )
    order = pl.col("metric").cast(pl.Enum(metric_names(joined_result.request.edition)))
    differences = compute_differences(
        joined_result, pairs.sort(order, "model"), confidence, label="state"
    )
    new_names = {name: f"new_{name}" for name in _STATE_COLUMNS}
    return differences.rename(new_names | {f"other_{name}": name for name in _STATE_COLUMNS})


def _mark_settings_with_unchanged_games(result: MetricResult, games: pl.DataFrame) -> MetricResult:
    """Add `is_same` to the sums: whether both lakes count the same games of a setting.

    Such settings are not paired, because they would be compared with themselves. If no game of a
    metric and model changed, none of their settings is marked.
    """
    is_common = pl.col("change") == "common"
    changed_games = games.filter(~is_common.all().over("metric", "model"))
    setting_key = ["metric", "model", "stratum", "cluster"]
    games_by_setting = changed_games.rename({"competition": "stratum"}).group_by(setting_key)
    unchanged_settings = games_by_setting.agg(is_same=is_common.all())
    sums = result.sums.join(unchanged_settings, on=setting_key, how="left", nulls_equal=True)
    return result._replace(sums=sums.with_columns(pl.col("is_same").fill_null(value=False)))


def _counted_games_with_change(
    lake_requests: Sequence[_LakeAndRequest], metrics: Sequence[str]
) -> pl.DataFrame:
    """Return the games that the metrics count in either lake: `common`, `removed` or `new`.

    The other columns are those of `CHANGED_GAMES_COLUMNS` and the `cluster` of each game.
    """
    counted_games = pl.concat(
        _sum_hits_by_metric_and_game(lake, request, metrics).with_columns(change=pl.lit(change))
        for (lake, request), change in zip(lake_requests, ("removed", "new"), strict=True)
    )
    change = pl.when(pl.len() > 1).then(pl.lit("common")).otherwise(pl.col("change").first())
    grouped_games = counted_games.group_by("metric", *_GAME_KEY)
    return grouped_games.agg(pl.col("cluster", "hits", "counted").first(), change=change)


def _sum_hits_by_metric_and_game(
    lake: StoredLake, request: Request, metrics: Sequence[str]
) -> pl.DataFrame:
    """Return a row for each metric and game that it counts, with the sums of hits and rows."""
    game_request = replace(request, by=_GAME_KEY)
    specs = metric_specs_for_system(lake, metrics, game_request)
    query = CountQuery(
        specs, game_request, with_games=(), clusters=clusters_for_request(lake, request)
    )
    sums = count_with_engine(lake, query, "polars").sums
    cluster = pl.col("cluster").str.strip_prefix(GAME_CLUSTER_PREFIX)
    grouped_sums = sums.group_by("metric", *_GAME_KEY, cluster).agg(pl.col("hits", "counted").sum())
    return grouped_sums.filter(pl.col("counted") > 0).with_columns(pl.col("hits").cast(pl.Float64))


@lake_method
@column.add_columns_to_docstring({**CHANGED_GAMES_COLUMNS, **ORIGIN_COLUMNS})
def diff_games(
    before: StoredLake,
    after: StoredLake | str | Path,
    *,
    edition: Edition = PAPER,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return a row for each metric and game that the metric counts in only one of two lakes.

    The arguments have the same meaning as in `diff`.

    >>> lake.diff_games("lake/").height
    0
    """
    lake_requests = _lakes_with_requests_for_tested_models(
        *_restrict_lakes_to_same_system(before, after), edition, model
    )
    metrics = requested_metrics(metric, edition)
    order = pl.col("metric").cast(pl.Enum(metric_names(edition)))
    changed_games = _counted_games_with_change(lake_requests, metrics).filter(
        pl.col("change") != "common"
    )
    return (
        changed_games.select(*CHANGED_GAMES_COLUMNS)
        .sort(order, *_GAME_KEY, nulls_last=True)
        .with_columns(system_edition_and_view_option_columns(lake_requests[0][0], edition))
    )
