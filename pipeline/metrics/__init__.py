"""The metrics: values, confidence intervals and completeness of each group.

Each metric is defined twice, in polars (a module of this package) and in SQL (`sql/metrics/`). An
engine adds up hits and counted rows (`estimates`); values, intervals and completeness are computed
from these sums in the same way for all engines. Used by the reports, the commands and the pages.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Self

import polars as pl
from msgspec.structs import replace

from pipeline.column import add_columns_to_docstring
from pipeline.errors import known_names_hint
from pipeline.lake import StoredLake, concat_by_system
from pipeline.metrics.completeness import (
    game_counts_by_model_and_setting,
    missing_and_replayed_games_by_metric,
)
from pipeline.metrics.estimates import (
    ENGINES,
    NO_ROW_REASON,
    Clusters,
    CountQuery,
    add_intervals_and_small_sample_warnings,
    check_engine,
    choose_settings_or_games_as_clusters,
    compute_metric_values,
    count_with_engine,
    sums_by_cluster_and_term,
    task_id_by_variant_setting,
    weighted_terms_of_values,
)
from pipeline.metrics.registry import (
    METRIC_VALUE_COLUMNS,
    MISSING_COLUMNS,
    NAMES,
    REPLAY_COLUMNS,
    SYSTEM_COLUMN,
    TITLES,
    Metric,
    lake_method,
    metric_spec,
    system_edition_and_view_option_columns,
    view_option_columns,
)
from pipeline.metrics.request import (
    DEFAULT_BY,
    Condition,
    Request,
    as_list,
    check_confidence,
    check_models_are_tested,
    check_request,
    keep_tested_models,
    parse_condition,
    requested_metrics,
    setting_key_path,
    strings_compared_with_column,
)
from pipeline.metrics.row_queries import check_plugin_metrics, edition_counts_game_condition
from pipeline.vocabulary import (
    ALL_GAME_TYPES,
    DEFAULT_N_GAMES,
    MAGIC_SYSTEM,
    PAPER,
    RELEASE,
    Edition,
    Engine,
    GameType,
)

__all__ = [
    "ALL_GAME_TYPES",
    "DEFAULT_BY",
    "DEFAULT_CONFIDENCE",
    "DEFAULT_N_GAMES",
    "ENGINES",
    "NAMES",
    "PAPER",
    "TITLES",
    "MetricResult",
    "compute_metrics",
    "metric_spec",
    "metric_specs_for_system",
    "metrics",
]

DEFAULT_CONFIDENCE = 0.95
_SYSTEM_COLUMN_NAME = "system"


class MetricResult(NamedTuple):
    """The rows of `metrics` with the sums that their intervals and comparisons are computed from.

    Attributes:
        rows: One row per metric and group, with the columns of `METRIC_VALUE_COLUMNS`.
        request: The request that the rows answer.
        terms: The columns metric, the groups of the request, term, weight and counted. Empty,
            without columns, if no confidence level was requested.
        sums: The columns metric, the groups of the request, stratum, cluster, cluster_kind, term, h
            (hits) and c (counted rows). Empty, without columns, if no confidence level was
            requested.
    """

    rows: pl.DataFrame
    request: Request
    terms: pl.DataFrame = pl.DataFrame()
    sums: pl.DataFrame = pl.DataFrame()

    def with_columns(self, *columns: pl.Expr) -> Self:
        """Return a copy of the result with additional columns in `rows`, `terms` and `sums`."""
        rows, terms, sums = (
            frame.with_columns(columns) for frame in (self.rows, self.terms, self.sums)
        )
        return self._replace(rows=rows, terms=terms, sums=sums)

    @classmethod
    def concatenate(cls, results: Iterable[Self], request: Request) -> Self:
        """Concatenate several results, frame by frame, into one result for the request."""
        frames = zip(*((result.rows, result.terms, result.sums) for result in results), strict=True)
        rows, terms, sums = map(pl.concat, frames)
        return cls(rows, request, terms, sums)


@lake_method
@add_columns_to_docstring({**METRIC_VALUE_COLUMNS, "system": SYSTEM_COLUMN})
def metrics(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    engine: Engine = "polars",
    master: str | None = None,
    by: str | Sequence[str] | None = DEFAULT_BY,
    num_of_game: int = DEFAULT_N_GAMES,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    expected: int | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Return the values of the metrics, one row for each metric and group.

    `metric`, `model` and `game_type` select rows: each is one value of its column or a list of
    values; by default all rows are returned. If `game_type` is in `by`, additional rows with the
    game type `all` cover all types. If `by` is None or empty, there is one group. Only games of one
    system are counted, see `Lake.for_system`; with `system` in `by`, each system is counted
    separately, as if the lake had no others. `where` is a SQL condition on the rows that the metric
    counts. The engines polars, duckdb and spark return the same rows; `master` is the Spark master
    to connect to. `num_of_game` is for the edition release: only games with a lower number count.
    `expected` is the number of games that each model is expected to have in each competition, as in
    `completeness`. The columns of `by` follow the metric.

    If `confidence` is None, the interval, `small_sample_terms` and `is_complete` are left out; they
    take as long as everything else.

    Raises UsageError for an unknown metric, model, column or edition, and for an invalid condition.

    >>> values = lake.metrics(metric="judgement", by="model")
    >>> values.select("model", "value", "hits", "counted").rows()[0]
    ('sim-atlas', 0.5, 8.0, 16)
    >>> civilians = lake.metrics(metric="judgement", by="role", where="side = 'civilian'")
    >>> civilians.select("role", "hits", "counted").rows()
    [('civilian', 25.0, 32), ('non_chameleon', 20.0, 32)]
    """
    names = requested_metrics(metric, edition)
    by, models = as_list(by) or (), as_list(model)
    request = Request(
        edition=edition,
        by=tuple(column for column in by if column != _SYSTEM_COLUMN_NAME),
        num_of_game=num_of_game,
        models=models,
        game_types=as_list(game_type),
        where=parse_condition(names, where),
        expected=expected,
    )
    compute = partial(
        compute_metrics, engine=engine, master=master, names=names, confidence=confidence
    )
    if _SYSTEM_COLUMN_NAME not in by:
        system_lake = lake.for_single_system()
        return compute(system_lake, request).rows.with_columns(
            system_edition_and_view_option_columns(system_lake, edition)
        )
    check_models_are_tested(lake, models)
    rows = concat_by_system(
        lake,
        lambda system_lake: (
            compute(
                system_lake, replace(request, models=keep_tested_models(system_lake, models))
            ).rows
        ),
    )
    rows = rows.with_columns(view_option_columns(lake))
    keys = ("edition", "metric", *by)
    return _sort_by_metric_and_group(rows.select(*keys, pl.exclude(keys)), names, by)


def compute_metrics(
    lake: StoredLake,
    request: Request,
    *,
    names: Sequence[str] | None = None,
    engine: Engine = "polars",
    master: str | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
    with_games: Collection[str] | None = None,
) -> MetricResult:
    """Compute the values of metrics in a lake of one system.

    Args:
        lake: The lake, of one system.
        request: The edition, groups and filters.
        names: The metrics; None stands for all metrics of the edition.
        engine: The engine that adds up the rows.
        master: The Spark master, only for the engine spark.
        confidence: The confidence level, between 0 and 1; None for no intervals.
        with_games: The metrics whose games are counted, by default all. Counting games is half of
            the work; `n_games` is 0 for the other metrics.

    Returns:
        The rows of the metrics, sorted by metric and group, and the sums behind them.

    Raises:
        UsageError: If the request does not fit the lake or the metrics.
        MetricError: If a metric has hits that are not between 0 and 1.
    """
    check_plugin_metrics()
    metric_names = requested_metrics(names, request.edition)
    check_engine(engine, master)
    check_confidence(confidence)
    check_request(lake, request, metric_names)
    specs = metric_specs_for_system(lake, metric_names, request)
    query = CountQuery(
        specs,
        request,
        with_games=metric_names if with_games is None else with_games,
        clusters=None if confidence is None else clusters_for_request(lake, request),
    )
    counts = count_with_engine(lake, query, engine, master)
    rows = compute_metric_values(counts, specs, request)
    if request.where is not None and rows["reason"].str.starts_with(NO_ROW_REASON).any():
        hints = "".join(
            f"; {hint}" for hint in _iter_hints_for_unknown_values_in_condition(lake, request.where)
        )
        reason_with_hints = pl.when(pl.col("reason").str.starts_with(NO_ROW_REASON)).then(
            pl.col("reason") + pl.lit(hints)
        )
        rows = rows.with_columns(reason=reason_with_hints.otherwise("reason"))
    if confidence is None:
        return MetricResult(_sort_by_metric_and_group(rows, metric_names, request.by), request)
    sums, terms = (
        sums_by_cluster_and_term(counts.sums, specs, request),
        weighted_terms_of_values(rows, specs, request),
    )
    rows = add_intervals_and_small_sample_warnings(rows, terms, sums, request, confidence)
    completeness = missing_and_replayed_games_by_metric(lake, specs, request)
    keys = completeness.drop("is_complete", *MISSING_COLUMNS, *REPLAY_COLUMNS).columns
    rows = rows.join(completeness, on=keys, how="left", nulls_equal=True, maintain_order="left")
    if "model" in request.by:
        # If no model has a row of the metric, no games are expected.
        rows = rows.with_columns(
            pl.col(*MISSING_COLUMNS, *REPLAY_COLUMNS).fill_null(0),
            pl.col("is_complete").fill_null(value=True),
        )
    return MetricResult(
        _sort_by_metric_and_group(rows, metric_names, request.by), request, terms, sums
    )


def _iter_hints_for_unknown_values_in_condition(
    lake: StoredLake, where: Condition
) -> Iterator[str]:
    """Yield a hint for each column that the condition compares with a name that the lake lacks."""
    # Only columns with few values, so that the hint can list them.
    for column in ("game_type", "model", "role", "side", "competition"):
        if column in where.columns and (unknown := strings_compared_with_column(where, column)):
            players = lake.table("players").select(pl.col(column).drop_nulls().unique().sort())
            names = players.collect()[column].cast(pl.String).to_list()
            if unknown := [name for name in unknown if name not in names]:
                yield f"no {column} {', '.join(unknown)}: {known_names_hint(unknown, names)}"


def clusters_for_request(lake: StoredLake, request: Request) -> Clusters:
    """Return whether settings or games are the clusters of each model's confidence intervals.

    Args:
        lake: The lake, of one system.
        request: The edition, groups and filters.

    Returns:
        The clusters, as `choose_settings_or_games_as_clusters` returns them.
    """
    # The keys of the setting in which games of one task may differ under this request.
    variant_paths = [path for path in map(setting_key_path, (*request.by, *request.varied)) if path]
    task_ids = (
        task_id_by_variant_setting(lake, variant_paths)
        if variant_paths
        else lake.compute_once(task_id_by_variant_setting)
    )
    if request.edition == RELEASE:
        return choose_settings_or_games_as_clusters(
            game_counts_by_model_and_setting(lake, edition_counts_game_condition(request)),
            request,
            task_ids,
        )
    return choose_settings_or_games_as_clusters(
        lake.compute_once(game_counts_by_model_and_setting).filter(pl.col("n_finished") > 0),
        request,
        task_ids,
    )


def metric_specs_for_system(
    lake: StoredLake, names: Sequence[str], request: Request
) -> dict[str, Metric]:
    """Return the definitions of metrics, without the game types that the lake's system cannot play.

    A metric of a system has no value for a model that lacks one of these games. For MAgIC itself
    these are all of its games, whether the lake has them or not; for another system those that the
    lake has.

    Args:
        lake: The lake, of one system.
        names: The names of the metrics.
        request: The edition of the request is used.

    Returns:
        The specs by name. In the edition release they are not limited.
    """
    specs = {name: metric_spec(name, request.edition) for name in names}
    if request.edition == RELEASE:
        return specs
    magic_types = GameType if lake.system in (None, MAGIC_SYSTEM) else ()
    played_types = {*magic_types, *lake.game_types}
    return {name: spec.with_only_game_types(played_types) for name, spec in specs.items()}


def _sort_by_metric_and_group(
    rows: pl.DataFrame, metric_order: Sequence[str], group_columns: Sequence[str]
) -> pl.DataFrame:
    """Sort the rows by metric and group, with the game type `all` after all other game types."""
    all_game_types_last = [
        (pl.col(column) == ALL_GAME_TYPES) if column == "game_type" else pl.col(column)
        for column in group_columns
    ]
    order = pl.col("metric").replace_strict({name: i for i, name in enumerate(metric_order)})
    return rows.sort(order, *all_game_types_last, *group_columns, nulls_last=True)
