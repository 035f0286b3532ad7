"""How sure each value is: its interval, and its thin terms, from the sums over its clusters.

A term is thin if it has very few settings of its own.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.cells import MARK
from pipeline.metrics.declaration import POOLED, Metric
from pipeline.metrics.request import POOL, Request
from pipeline.metrics.results import LACKS, THIN, VALUES
from pipeline.metrics.tally import CLUSTER, GAME_MARK
from pipeline.metrics.values import VALUE_COLUMNS, join, rolled
from pipeline.statistics.interval import LEAST_BESIDE, TIMES_AS_MANY, intervals

LEAST_SETTINGS = 5
"""A term with fewer effective settings of its own is thin."""
EXPLANATION = (
    f"{MARK} and a number: a term of the value has only so many effective settings; its interval "
    "can be far off"
)
# What is known of each value, and null without one. Nothing is thin that has no row below.
_OF_VALUE = {
    **{name: pl.col(name) for name in ("ci_low", "ci_high", "ci_method", "effective_items")},
    "thin": pl.col("thin").fill_null(pl.lit([], THIN)),
    "lacks": pl.col("lacks"),
}
_COLUMNS = [name for name in VALUES if name in {*VALUE_COLUMNS, *_OF_VALUE}]


def sums_by_cluster(
    sums: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Hits `h` and counted `c` of each term: metric, the groups, stratum, cluster, cluster_kind,
    term, h, c.

    Where a metric is one ratio of all its terms, these are one term, called `pooled`. A cluster is
    of the kind `setting` or `game`.
    """
    term = pl.when(pl.col("metric").is_in(_pooled(metrics))).then(pl.lit(POOL)).otherwise("term")
    is_game = pl.col("cluster").str.starts_with(GAME_MARK)
    counted = sums.lazy().filter(pl.col("counted") > 0)
    named = counted.with_columns(
        pl.col("cluster").str.strip_prefix(GAME_MARK),
        term=term,
        cluster_kind=pl.when(is_game).then(pl.lit("game")).otherwise(pl.lit("setting")),
        h="hits",
        c="counted",
    )
    added_up = pl.col("h", "c").sum().cast(pl.Float64)
    by = [*CLUSTER, "cluster_kind", "term"]
    return rolled(named, request, added_up, also=by).collect(engine="in-memory")


def with_intervals(
    valued: pl.DataFrame,
    terms: pl.DataFrame,
    sums: pl.DataFrame,
    request: Request,
    confidence: float,
) -> pl.DataFrame:
    """The rows of all metrics with the interval of each value, `thin`: terms with their effective
    settings, and `lacks`: competitions. All are null where there is no value.

    `terms` are those of `terms_of`, `sums` those of `sums_by_cluster`.
    """
    keys, rows, clusters = request.keys, valued.lazy(), sums.lazy()
    kinds = pl.col("cluster_kind").unique().sort(descending=True).str.join(" or ")
    method = pl.format("mid-p, clustered by {}", kinds).alias("ci_method")
    of_groups = (
        intervals(clusters, terms.lazy(), keys, confidence),
        clusters.group_by(keys).agg(method),
        _thin(clusters, keys),
        _lacks(clusters, request),
    )
    for frame in of_groups:
        rows = join(rows, frame, keys)
    has_value = pl.col("value").is_not_null()
    return (
        rows.with_columns(**{name: pl.when(has_value).then(of) for name, of in _OF_VALUE.items()})
        .select("edition", "metric", *request.by, *_COLUMNS)
        .collect(engine="in-memory")
    )


def _thin(clusters: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The thin terms of each group that has any, as `thin`.

    With c items in a setting (or a game, where games are the clusters), `n_effective` is
    (Σc)² / Σc²: all settings where they have equally many items.
    """
    c, n = pl.col("c"), pl.col("n_effective")
    # A setting is one of all its roles together, and so is a game that is a cluster.
    by_setting = clusters.group_by(*keys, "term", "cluster").agg(c.sum())
    by_term = by_setting.group_by(*keys, "term").agg(n_effective=c.sum() ** 2 / (c**2).sum())
    is_beside = (n < LEAST_BESIDE) & (n.max().over(keys) >= TIMES_AS_MANY * n)
    few = by_term.filter((n < LEAST_SETTINGS) | is_beside).sort("term")
    return few.group_by(keys, maintain_order=True).agg(thin=pl.struct("term", "n_effective"))


def _lacks(clusters: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """The competitions that the value of another model counts in the same group, and that of this
    model does not, as `lacks`; null where models are not apart.

    Such values are of other games, as with a model that has no rank on the leaderboard.
    """
    keys = request.keys
    counted = pl.col("stratum").drop_nulls().unique().alias("own")
    own = clusters.group_by(keys).agg(counted)
    if "model" not in request.by:
        return own.select(*keys, lacks=pl.lit(None, LACKS))
    group = [key for key in keys if key != "model"]
    of_all = own.explode("own").group_by(group).agg(every=pl.col("own").drop_nulls().unique())
    lacks = pl.col("every").list.set_difference("own").list.sort()
    return join(own, of_all, group).select(*keys, lacks=lacks)


def terms_of(valued: pl.DataFrame, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """The terms that values are weighted sums of: metric, the groups, term, weight, counted."""
    rows, keys = valued.lazy(), request.keys
    is_pooled = pl.col("metric").is_in(_pooled(metrics))
    of_one_ratio = rows.filter(is_pooled).select(
        *keys, "counted", term=pl.lit(POOL), weight=pl.lit(1.0)
    )
    of_several = rows.filter(~is_pooled).select(*keys, "terms").explode("terms").unnest("terms")
    columns = [*keys, "term", "weight", "counted"]
    terms = pl.concat(frame.select(columns) for frame in (of_one_ratio, of_several))
    return terms.filter(pl.col("counted") > 0).collect(engine="in-memory")


def _pooled(metrics: Mapping[str, Metric]) -> list[str]:
    """The metrics that are one ratio of all their terms."""
    return [name for name, declared in metrics.items() if declared.combine in POOLED]
