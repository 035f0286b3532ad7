"""How much single settings change a value."""

from collections.abc import Sequence

import polars as pl

from pipeline.metrics.intervals import by_cluster, terms_of
from pipeline.metrics.known import metric
from pipeline.metrics.request import Request
from pipeline.metrics.values import group_columns, join, with_group
from pipeline.statistics import influence


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
    of_values = influence.of_values(by_cluster(sums, request), terms, has_value.collect(), keys)
    joined = join(grouped, of_values.lazy(), keys)
    return joined.select(*rows.columns, *influence.COLUMNS).collect()
