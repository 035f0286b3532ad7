"""What a value or a difference would be without any one cluster: a setting with all its games.

Without cluster s a term's ratio is (H − h_s) / (C − c_s). A cluster that has all of a term cannot
be left out, since there is no value without it.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.statistics.sums import exact_sum, scaled_sum

COLUMNS = ("without_low", "without_high", "influential")
"""The least and the most without any one cluster, and the clusters that change it most."""
# So many clusters are named.
MOST_INFLUENTIAL = 3
_H, _C = pl.col("h"), pl.col("c")


def of_values(
    sums: pl.LazyFrame, terms: pl.LazyFrame, values: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame:
    """Of each group of `by` its value without any one cluster: `by`, and `COLUMNS`.

    `sums` and `terms` are those of `intervals`; `values` has `by` and value.
    """
    total = _C.sum().over(*by, "term")
    weight = pl.col("weight") * total / pl.col("counted")
    cells = sums.join(terms, on=[*by, "term"], nulls_equal=True).with_columns(weight=weight)
    return extremes(changes(cells.collect(), by), values, by, "value")


def changes(cells: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What leaving a cluster out adds to Σ weight × h / c: `by`, cluster, change."""
    by_cluster = cells.group_by(*by, "term", "cluster").agg(
        h=exact_sum(_H), c=_C.sum(), weight=pl.col("weight").first()
    )
    h, c = exact_sum(_H).over(*by, "term"), _C.sum().over(*by, "term")
    rest = pl.when(c - _C > 0).then((h - _H) / (c - _C))
    change = pl.col("weight") * (rest - h / c)
    return _summed(by_cluster.with_columns(change=change), by)


def extremes(
    changes: pl.DataFrame, values: pl.DataFrame, by: Sequence[str], name: str
) -> pl.DataFrame:
    """The columns of `COLUMNS` for each group, from its `changes` and its value of that name.

    Clusters that change nothing are not named.
    """
    left_out = (
        _summed(changes, by)
        .drop_nulls("change")
        .join(values.select(*by, name), on=list(by), nulls_equal=True)
    )
    # Added up, they may miss 0 by a last digit.
    without = (pl.col(name) + pl.col("change")).round(12)
    size = pl.col("change").abs().round(12)
    named = pl.struct("cluster", pl.col("without").alias(name)).filter(size > 0)
    return (
        left_out.with_columns(without=without)
        .sort(*by, size, "cluster", descending=[*(False for _ in by), True, False])
        .group_by(by, maintain_order=True)
        .agg(
            without_low=pl.col("without").min(),
            without_high=pl.col("without").max(),
            influential=named.head(MOST_INFLUENTIAL),
        )
    )


def _summed(changes: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The changes added up for each cluster, null where one is."""
    change = pl.col("change")
    added = pl.when(change.is_not_null().all()).then(scaled_sum(change))
    return changes.group_by(*by, "cluster").agg(change=added)
