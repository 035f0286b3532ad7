"""Thin values: those with a term that has very few settings of its own."""

import polars as pl

from pipeline.cells import MARK
from pipeline.metrics.grouping import group_columns, join, with_group
from pipeline.metrics.intervals import by_cluster
from pipeline.metrics.request import Request

LEAST_SETTINGS = 5
"""A term with fewer effective settings of its own is thin."""
LEAST_BESIDE, TIMES_AS_MANY = 10, 10
"""A term is also thin if it has fewer than this, and another term has so many times as many."""
EXPLANATION = (
    f"{MARK} and a number: a term of the value has only so many effective settings; its interval "
    "can be far off"
)
THIN = pl.List(pl.Struct({"term": pl.String(), "n_effective": pl.Float64()}))


def with_thin(rows: pl.DataFrame, sums: pl.DataFrame, request: Request) -> pl.DataFrame:
    """The rows of all metrics with `thin`: terms with their effective settings, null where there is
    no value.

    `sums` are those of `sums_by_cluster`. With c items in a setting (or a game, where games are the
    clusters), `n_effective` is (Σc)² / Σc²: all settings where they have equally many items.
    """
    keys = group_columns(request)
    c = pl.col("c")
    by_term = (
        by_cluster(sums, request)
        .group_by(*keys, "term")
        .agg(n_effective=c.sum() ** 2 / (c**2).sum())
    )
    n = pl.col("n_effective")
    is_beside = (n < LEAST_BESIDE) & (n.max().over(keys) >= TIMES_AS_MANY * n)
    few = by_term.filter((n < LEAST_SETTINGS) | is_beside).sort("term")
    thin = few.group_by(keys, maintain_order=True).agg(thin=pl.struct("term", "n_effective"))
    place = rows.columns.index("effective_items") + 1
    columns = [*rows.columns[:place], "thin", *rows.columns[place:]]
    has_value = pl.col("value").is_not_null()
    return (
        join(with_group(rows.lazy(), request), thin, keys)
        .with_columns(thin=pl.when(has_value).then(pl.col("thin").fill_null(pl.lit([], THIN))))
        .select(columns)
        .collect(engine="in-memory")
    )
