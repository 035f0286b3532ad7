"""How much single settings change a value."""

from collections.abc import Sequence

import polars as pl

from pipeline.metrics.catalogue import metric
from pipeline.metrics.counts import CLUSTER
from pipeline.metrics.grouping import group_columns, join, rolled, with_group
from pipeline.metrics.intervals import terms_of
from pipeline.metrics.request import Request
from pipeline.statistics import influence
from pipeline.statistics.sums import exact_sum


def with_influence(
    rows: pl.DataFrame, names: Sequence[str], sums: pl.DataFrame, request: Request
) -> pl.DataFrame:
    """The rows of these metrics with the columns of `influence`, null where there is no value.

    `sums` are those of `sums_by_cluster`.
    """
    keys = group_columns(request)
    grouped = with_group(rows.lazy(), request)
    has_value = grouped.filter(pl.col("value").is_not_null())
    terms = pl.concat(
        terms_of(has_value.filter(metric=name), metric(name, request.edition), keys)
        for name in names
    )
    added_up = (exact_sum(pl.col("h")).alias("h"), pl.col("c").sum())
    of_group = rolled(sums.lazy(), request, *added_up, also=[*CLUSTER, "term"])
    found = influence.of_values(of_group, terms, has_value.collect(), keys)
    joined = join(grouped, found.lazy(), keys)
    return joined.select(*rows.columns, *influence.COLUMNS).collect()
