"""The area of a polygon of values on axes around a point, and its interval by the delta method.

With n values m in percent, each beside the next one and the last beside the first,

    A = ½ · sin(2π/n) · Σ m_i m_(i+1),   g_i = ∂A/∂m_i = ½ · sin(2π/n) · (m_(i−1) + m_(i+1))

Near the values that were found, A moves like Σ g_i m_i, which is 2A there, since A is of degree
two. That is a weighted sum of the ratios of all values together, as a metric of several terms is.
So `interval` makes its interval, from what each setting adds to it over all values: a setting
whose games count for several of them adds their covariances. With its ends low and high,

    A in (low − A, high − A), and 0 at least

Example: four values of 50 % have ½ · 4 · 50² = 5,000, half of the diagonals' product 100 · 100.

Source of the formula: arXiv 2311.08562, which draws seven metrics so. Coverage: simulated in
`simulations/areas.py`, see docs/statistics.md.
"""

import math
from collections.abc import Sequence

import polars as pl

from pipeline.statistics.interval import intervals

PERCENT = 100.0


def area(axes: Sequence[str]) -> pl.Expr:
    """The area of the polygon of these columns, in square percent; null if one is null."""
    products = [pl.col(one) * pl.col(other) for one, other in zip(axes, _next(axes), strict=True)]
    return _scale(axes) * pl.sum_horizontal(products, ignore_nulls=False)


def areas(
    values: pl.DataFrame,
    sums: pl.DataFrame,
    terms: pl.DataFrame,
    by: Sequence[str],
    confidence: float,
    *,
    axes: Sequence[str],
) -> pl.DataFrame:
    """A row for each group of `by`: area, ci_low, ci_high; the ends are null where all are 0.

    `values` has a column for each axis. `sums` and `terms` are those of `intervals`, with a
    column `metric` that names the axis.
    """
    slopes = [
        (_scale(axes) * (pl.col(before) + pl.col(after))).alias(one)
        for one, before, after in zip(axes, _next(axes, -1), _next(axes), strict=True)
    ]
    found = values.select(*by, *slopes, area=area(axes)).drop_nulls("area")
    slope = found.unpivot(axes, index=by, variable_name="metric", value_name="slope")
    term = pl.format("{}: {}", "metric", "term")
    linear = terms.join(slope.filter(pl.col("slope") > 0), on=[*by, "metric"], nulls_equal=True)
    of_terms = linear.with_columns(term=term, weight=pl.col("weight") * pl.col("slope"))
    of_sums = sums.with_columns(term=term)
    ends = intervals(of_sums.lazy(), of_terms.lazy(), by, confidence).collect()
    joined = found.join(ends, on=by, how="left", nulls_equal=True, maintain_order="left")
    low, high = pl.col("ci_low") - pl.col("area"), pl.col("ci_high") - pl.col("area")
    return joined.select(*by, "area", ci_low=low.clip(0), ci_high=high)


def _scale(axes: Sequence[str]) -> float:
    return math.sin(2 * math.pi / len(axes)) / 2 * PERCENT**2


def _next(axes: Sequence[str], step: int = 1) -> list[str]:
    """Of each axis the one so many steps on, around the point."""
    return [axes[(at + step) % len(axes)] for at in range(len(axes))]
