"""The interval of each value, from the sums over its clusters."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import statistics
from pipeline.metrics.counts import CLUSTER, GAME_MARK
from pipeline.metrics.declaration import POOLED, Metric
from pipeline.metrics.grouping import group_columns, join, rolled, with_group
from pipeline.metrics.request import POOL, Request
from pipeline.metrics.values import VALUE_COLUMNS
from pipeline.statistics.sums import exact_sum

_INTERVAL = ("ci_low", "ci_high", "ci_method", "effective_items")
# The columns of a row after its group: the interval stands beside the value.
ROW_COLUMNS = ("value", *_INTERVAL, *list(VALUE_COLUMNS)[1:])


def sums_by_cluster(
    sums: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Hits `h` and counted `c` of each term: metric, the finest groups, stratum, cluster,
    cluster_kind, term, h, c.

    Where a metric is one ratio of all its terms, these are one term, called `pooled`. A cluster is
    of the kind `setting` or `game`.
    """
    pooled = [name for name, declared in metrics.items() if declared.combine in POOLED]
    term = pl.when(pl.col("metric").is_in(pooled)).then(pl.lit(POOL)).otherwise("term")
    is_game = pl.col("cluster").str.starts_with(GAME_MARK)
    kind = pl.when(is_game).then(pl.lit("game")).otherwise(pl.lit("setting"))
    keys = ["metric", *request.fine, *CLUSTER]
    return (
        sums.lazy()
        .filter(pl.col("counted") > 0)
        .group_by(*keys, kind.alias("cluster_kind"), term.alias("term"), maintain_order=True)
        .agg(h=pl.col("hits").sum().cast(pl.Float64), c=pl.col("counted").sum().cast(pl.Float64))
        .with_columns(pl.col("cluster").str.strip_prefix(GAME_MARK))
        .collect(engine="in-memory")
    )


def by_cluster(sums: pl.DataFrame, request: Request, also: Sequence[str] = ()) -> pl.LazyFrame:
    """The sums added up over the finest groups: h and c by group, stratum, cluster and term."""
    added_up = (exact_sum(pl.col("h")).alias("h"), pl.col("c").sum())
    return rolled(sums.lazy(), request, *added_up, also=[*CLUSTER, "term", *also])


def with_intervals(
    valued: pl.DataFrame,
    metrics: Mapping[str, Metric],
    sums: pl.DataFrame,
    request: Request,
    confidence: float,
) -> pl.DataFrame:
    """The rows of all metrics with the interval of each value, null where there is no value.

    `sums` are those of `sums_by_cluster`, with the `cluster_kind`: `setting` or `game`.
    """
    keys = group_columns(request)
    rows = with_group(valued.lazy(), request)
    terms = pl.concat(
        terms_of(rows.filter(metric=name), declared, keys) for name, declared in metrics.items()
    )
    intervals = statistics.intervals(by_cluster(sums, request), terms, keys, confidence)
    kinds = pl.col("cluster_kind").unique().sort(descending=True).str.join(" or ")
    method = pl.format("wilson, clustered by {}", kinds).alias("ci_method")
    methods = rolled(sums.lazy(), request, method)
    has_value = pl.col("value").is_not_null()
    return (
        join(join(rows, intervals, keys), methods, keys)
        .with_columns(pl.when(has_value).then(pl.col(name)).alias(name) for name in _INTERVAL)
        .select("edition", "metric", *request.by, *ROW_COLUMNS)
        .collect(engine="in-memory")
    )


def terms_of(valued: pl.LazyFrame, declared: Metric, by: Sequence[str]) -> pl.LazyFrame:
    """The terms that values are weighted sums of: `by`, term, weight, counted."""
    if declared.combine in POOLED:
        terms = valued.select(*by, "counted", term=pl.lit(POOL), weight=pl.lit(1.0))
    else:
        terms = valued.select(*by, "terms").explode("terms").unnest("terms")
    return terms.filter(pl.col("counted") > 0).select(*by, "term", "weight", "counted")
