"""The eight metrics, each written twice: in polars here, and in SQL in `sql/metrics/`.

An engine counts (`tally`). Whichever it is, the rest is made of its counts in one way: `values`,
how sure each is (`intervals`), and whether its model played all (`completeness`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Self

import polars as pl
from msgspec.structs import replace

from pipeline.column import document_columns
from pipeline.errors import suggest_names
from pipeline.lake import StoredLake, by_system
from pipeline.metrics.completeness import metric_completeness, played_games
from pipeline.metrics.estimates import (
    ENGINES,
    UNMET,
    Clusters,
    CountQuery,
    check_engine,
    clusters,
    compute_values,
    count_with_engine,
    sums_by_cluster,
    task_id_by_setting,
    terms_of,
    with_intervals,
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
    origin_columns,
    seen_as,
)
from pipeline.metrics.request import (
    DEFAULT_BY,
    Condition,
    Request,
    as_list,
    check,
    check_confidence,
    check_models,
    compared_texts,
    parse_condition,
    requested_metrics,
    setting_path,
    tested_models,
)
from pipeline.metrics.row_queries import check_plugin_metrics, edition_condition
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
    "metric_specs",
    "metrics",
]

DEFAULT_CONFIDENCE = 0.95
_SYSTEM = "system"


class MetricResult(NamedTuple):
    """The rows of `metrics`, and what their intervals and comparisons are made of.

    `terms` has metric, the groups of the request, term, weight, counted; `sums` metric, these
    groups, stratum, cluster, cluster_kind, term, h (hits), c (counted). Both have no row and no
    column if no interval was asked for.
    """

    rows: pl.DataFrame
    request: Request
    terms: pl.DataFrame = pl.DataFrame()
    sums: pl.DataFrame = pl.DataFrame()

    def with_columns(self, *columns: pl.Expr) -> Self:
        """The same with these columns in each of its frames."""
        rows, terms, sums = (
            one.with_columns(columns) for one in (self.rows, self.terms, self.sums)
        )
        return self._replace(rows=rows, terms=terms, sums=sums)

    @classmethod
    def of_all(cls, answers: Iterable[Self], request: Request) -> Self:
        """The answers as one, which is to this request."""
        frames = zip(*((one.rows, one.terms, one.sums) for one in answers), strict=True)
        rows, terms, sums = map(pl.concat, frames)
        return cls(rows, request, terms, sums)


@lake_method
@document_columns({**METRIC_VALUE_COLUMNS, "system": SYSTEM_COLUMN})
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
    """The metrics' values, a row for each metric and group.

    `metric`, `model` and `game_type` choose rows: each is a value of its column or several, by
    default all. With `game_type` in `by`, rows with the game type `all` cover all types. If `by` is
    None or empty, there is one group. Only games of one system are counted, see `Lake.for_system`;
    with `system` in `by`, those of each system, as if the lake had no others. `where` is a SQL
    condition on the rows: see `pipeline.metrics.request.condition`. The engines polars, duckdb
    and spark give the same rows; `master` is for spark: see `pipeline.spark.open_session`.
    `num_of_game` is for the edition release: only games with a lower number count. `expected` is
    that of `completeness`. The columns of `by` follow the metric.

    If `confidence` is None, the interval, `thin` and `is_complete` are left out; they take as long
    as the rest.

    Raises UsageError for an unknown metric, model, column or edition, and for a wrong condition.

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
        by=tuple(column for column in by if column != _SYSTEM),
        num_of_game=num_of_game,
        models=models,
        game_types=as_list(game_type),
        where=parse_condition(names, where),
        expected=expected,
    )
    of = partial(compute_metrics, engine=engine, master=master, names=names, confidence=confidence)
    if _SYSTEM not in by:
        one = lake.for_single_system()
        return of(one, request).rows.with_columns(origin_columns(one, edition))
    check_models(lake, models)
    rows = by_system(
        lake, lambda one: of(one, replace(request, models=tested_models(one, models))).rows
    )
    rows = rows.with_columns(seen_as(lake))
    keys = ("edition", "metric", *by)
    return _in_order(rows.select(*keys, pl.exclude(keys)), names, by)


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
    """The answer to a request to a lake of one system.

    To count games is half of the work; without `with_games` it is done for all metrics. `n_games`
    is 0 for metrics that are not among them.
    """
    check_plugin_metrics()
    metric_names = requested_metrics(names, request.edition)
    check_engine(engine, master)
    check_confidence(confidence)
    check(lake, request, metric_names)
    declared = metric_specs(lake, metric_names, request)
    question = CountQuery(
        declared,
        request,
        with_games=metric_names if with_games is None else with_games,
        clusters=None if confidence is None else request_clusters(lake, request),
    )
    counts = count_with_engine(lake, question, engine, master)
    rows = compute_values(counts, declared, request)
    if request.where is not None and rows["reason"].str.starts_with(UNMET).any():
        hints = "".join(f"; {hint}" for hint in _unknown_values(lake, request.where))
        hinted = pl.when(pl.col("reason").str.starts_with(UNMET)).then(
            pl.col("reason") + pl.lit(hints)
        )
        rows = rows.with_columns(reason=hinted.otherwise("reason"))
    if confidence is None:
        return MetricResult(_in_order(rows, metric_names, request.by), request)
    sums, terms = sums_by_cluster(counts.sums, declared, request), terms_of(rows, declared, request)
    rows = with_intervals(rows, terms, sums, request, confidence)
    complete = metric_completeness(lake, declared, request)
    keys = complete.drop("is_complete", *MISSING_COLUMNS, *REPLAY_COLUMNS).columns
    rows = rows.join(complete, on=keys, how="left", nulls_equal=True, maintain_order="left")
    if "model" in request.by:
        # Where no model has a row of the metric, nothing is expected.
        rows = rows.with_columns(
            pl.col(*MISSING_COLUMNS, *REPLAY_COLUMNS).fill_null(0),
            pl.col("is_complete").fill_null(value=True),
        )
    return MetricResult(_in_order(rows, metric_names, request.by), request, terms, sums)


def _unknown_values(lake: StoredLake, where: Condition) -> Iterator[str]:
    """Yield a hint for each column of a condition whose value no player of the lake has."""
    # Columns with few values, which a hint can list.
    for column in ("game_type", "model", "role", "side", "competition"):
        if column in where.columns and (strangers := compared_texts(where, column)):
            known = lake.table("players").select(pl.col(column).drop_nulls().unique().sort())
            names = known.collect()[column].cast(pl.String).to_list()
            if strangers := [name for name in strangers if name not in names]:
                yield f"no {column} {', '.join(strangers)}: {suggest_names(strangers, names)}"


def request_clusters(lake: StoredLake, request: Request) -> Clusters:
    """The clusters of the request's intervals: `tally.clusters` of the games that it takes."""
    # The parts of the setting in which games of one task differ, as this request sees it.
    varied = [path for path in map(setting_path, (*request.by, *request.varied)) if path]
    tasks = task_id_by_setting(lake, varied) if varied else lake.cached(task_id_by_setting)
    if request.edition == RELEASE:
        return clusters(played_games(lake, edition_condition(request)), request, tasks)
    return clusters(lake.cached(played_games).filter(pl.col("n_finished") > 0), request, tasks)


def metric_specs(lake: StoredLake, names: Sequence[str], request: Request) -> dict[str, Metric]:
    """The metrics as they are declared, with the terms of the games that their system plays.

    A system's metric has no value where a model lacks one of the games. Of MAgIC's own games all
    count for this, whether the lake has them or not; of another system's, those that it has.
    """
    declared = {name: metric_spec(name, request.edition) for name in names}
    if request.edition == RELEASE:
        return declared
    magic_types = GameType if lake.system in (None, MAGIC_SYSTEM) else ()
    types = {*magic_types, *lake.game_types}
    return {name: of_metric.among(types) for name, of_metric in declared.items()}


def _in_order(rows: pl.DataFrame, names: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """The rows in the metrics' order, then the groups'; `all` after the game types."""
    first = [
        (pl.col(column) == ALL_GAME_TYPES) if column == "game_type" else pl.col(column)
        for column in by
    ]
    order = pl.col("metric").replace_strict({name: i for i, name in enumerate(names)})
    return rows.sort(order, *first, *by, nulls_last=True)
