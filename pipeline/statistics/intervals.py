"""Confidence intervals of metric values, which are weighted sums of ratios over settings.

Used by `statistics.pairs`, by the metrics and by the reports. The functions take frames of hits and
counted items by cluster, and depend on no metric and no lake.

The interval is the mid-p Clopper–Pearson interval for an effective number of items. The independent
units are clusters: a cluster is a setting with all its games. The terms k have the weights w_k,
with W = Σ w_k and a_k = w_k / W. Cluster s has h hits of c counted items; a term has C items and
the ratio r = H / C. In each stratum of two or more clusters, κ' = Σc² / (Σc)² of that stratum
alone:

    u = h − r·c
    e = (u − mean u of the stratum) / √(1 − κ')    (a stratum of one cluster: e = u)
    z_ks = Σ_strata e / C_k                        so that Σ_s z² is the ratio's variance v
    κ_k = Σ_s c² / C²                              v / r(1−r), if all items of a cluster were equal
    z_ks ← z_ks · √(κ_k r(1−r) / v)                if v is more than κ_k r(1−r)
    g_k = min(items in clusters with a hit, items in clusters with a miss) / (C κ_k)
    λ_k = g_k / (g_k + 1)
    y = Σ a_k r_k
    V = Σ_s (Σ_k a_k √λ_k z_ks)²,   K = Σ_s (Σ_k a_k √(1 − λ_k) c_ks / C_k)²
    1 / n = V / (y(1−y)) + K                       (y = 0 or 1: K)

The interval is W times `midp_interval` of y and n = `effective_items`. With m clusters of
equal size, 1 / (1 − κ') is m / (m − 1), and g is a number of clusters. With one item per cluster it
is the ordinary mid-p Clopper–Pearson interval. If a cluster contributes to two terms, their
covariance is included, because the contributions are added before they are squared.

A term with few clusters shows little of its variance, so y(1−y) of the whole value is used instead.
This can be far off if the terms have different rates. Therefore the interval of a value of several
terms is at least as wide as MOVER's interval, from the interval low_k, high_k of each term:

    low  ≤ y − √Σ_k (a_k (r_k − low_k))²,   high ≥ y + √Σ_k (a_k (high_k − r_k))²

Example: one term, three clusters with 2 of 2, 1 of 2 and 0 of 2 hits. r = 1/2, u = 1, 0, −1;
κ = κ' = 12/36 = 1/3; v = (1 + 0 + 1) / (2/3) / 36 = 1/12, which equals κ r(1−r) = 1/12. Two
clusters have a hit, two have a miss: g = min(4, 4) / (6 · 1/3) = 2 and λ = 2/3. 1 / n =
2/3 · (1/12) / (1/4) + 1/3 · 1/3 = 1/3: the six items are worth three.

Sources: n: L. Kish, Survey Sampling (1965); for proportions of clusters: J. N. K. Rao and A. J.
Scott, Biometrics 48 (1992) 577–585, P. S. Kott, Survey Practice 10 (2017); Clopper–Pearson with
such an n: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193–201. A plain n
undercovers if items cluster: C. Franco, R. Little, T. Louis and E. Slud, J. Survey Statistics
and Methodology 7 (2019) 334–364. MOVER: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008)
1693–1702. Three choices are this project's own and were checked by simulation (see
docs/simulations.md): the weight λ, by which terms with few informative clusters rely on κ; the
factor 1 / (1 − κ'); and to take the wider one of both intervals.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

# Mid-p Clopper–Pearson intervals for numbers of hits and items that need not be integers.
#
# The upper end p for x hits of n items solves P(X < x) + ½ P(X = x) = (1 − confidence) / 2, where X
# is binomial. The incomplete beta function I extends its distribution to real numbers. With
# q = 1 − p and a = n − x,
#
#     P(X = x) = Γ(n+1) / (Γ(x+1) Γ(a+1)) · p^x q^a
#     P(X ≤ x) = I_q(a, x+1) = P(X = x) · p / F,    F = 1 + k₁q / (1 + k₂q / (1 + …))
#     k₂ₘ₊₁ = −(a+m)(n+1+m) / ((a+2m)(a+2m+1)),    k₂ₘ = m (x+1−m) / ((a+2m−1)(a+2m))
#
# The lower end is 1 − the upper end for the misses. For 0 hits the upper end is
# 1 − (1 − confidence)^(1/n).
#
# Example: 1 hit of 2 items. q² + ½ · 2pq = q must be .025, so the ends are .025 and .975.
#
# Sources: G. Berry and P. Armitage, The Statistician 44 (1995) 417–423, for mid-p intervals; NIST
# Digital Library of Mathematical Functions, 8.17.22, for the continued fraction. All ends are
# computed together by a few operations on whole columns. scipy and numpy are not used, because
# importing them would take longer than everything else.

ENDS = ("low", "high")
# Starting at Wilson's end, three steps of third order reach the last digit.
_HALLEY_ITERATIONS = 3


def midp_interval(rate: pl.Expr, items: pl.Expr, confidence: float) -> pl.Expr:
    """Return the Clopper–Pearson confidence interval of each rate, in its mid-p variant.

    Args:
        rate: The rates, between 0 and 1.
        items: The effective number of items of each rate, at least about 1.
        confidence: The confidence level, between 0 and 1.

    Returns:
        A struct of `low` and `high`, between 0 and 1. Both are correct to 1e-11 for confidence
        levels from .5 on. At a rate of 0 the lower end is exactly 0, and at a rate of 1 the upper
        end is 1.

    References:
        Berry and Armitage (1995); see the formulas at the top of this module.
    """

    def compute_ends(columns: Sequence[pl.Series]) -> pl.Series:
        rates, item_counts = columns
        hits, misses = rates * item_counts, (1 - rates) * item_counts
        misses_at_end = _one_minus_upper_bound(
            pl.concat([hits, misses]), pl.concat([misses, hits]), 1 - confidence
        )
        high, low = 1 - misses_at_end.head(len(rates)), misses_at_end.tail(len(rates))
        # With a low confidence level and less than one hit, an end could lie beyond the rate.
        return pl.select(
            low=pl.when(rates > 0).then(pl.min_horizontal(low, rates)).otherwise(0.0),
            high=pl.when(rates < 1).then(pl.max_horizontal(high, rates)).otherwise(1.0),
        ).to_struct()

    return pl.map_batches(
        [rate, items], compute_ends, return_dtype=pl.Struct(dict.fromkeys(ENDS, pl.Float64))
    )


def _one_minus_upper_bound(x: pl.Series, a: pl.Series, level: float) -> pl.Series:
    """Return 1 minus the upper bound of each rate's mid-p interval, without losing digits.

    Notes:
        With x hits and a misses, the equation is solved by Halley's method, for the logarithm of
        the tail as a function of t = log q, which is almost a straight line near the solution. With
        ρ = p / F − ½, the tail divided by P(X = x),

            g = log P(X = x) + log ρ − log (level / 2),    g' = (x q/p + a) / 2ρ
            g'' = g' (a + (1 − x) q/p − (a − x) q / (xq + ap) − g')
    """
    n, z = x + a, NormalDist().inv_cdf(1 - level / 2)
    # The logarithm of the binomial coefficient, minus the logarithm of the tail's probability.
    log = math.lgamma
    terms = zip(n.to_list(), x.to_list(), a.to_list(), strict=True)
    choose = [log(n + 1) - log(x + 1) - log(a + 1) for n, x, a in terms]
    constant = pl.Series(choose, dtype=pl.Float64) - math.log(level / 2)
    # Many items or a low confidence level need more levels.
    levels = min(500, int(16 + 8 * math.log2(max([2.0, *n.top_k(1)])) / z))
    fraction = _continued_fraction_of_binomial_tail(x, a, levels)
    # Wilson's end, written so that no digits are lost if there are few misses.
    t = (a**2 / (n * (a + z**2 / 2 + z * (a * x / n + z**2 / 4).sqrt()))).log()
    for _ in range(_HALLEY_ITERATIONS):
        q = t.exp()
        p = 1 - q
        odds = q / p
        rho = p * a / _evaluate_continued_fraction(fraction, a, q) - 0.5
        g, slope = constant + x * p.log() + a * t + rho.log(), (x * odds + a) / (2 * rho)
        step, bend = g / slope, a + (1 - x) * odds - (a - x) * q / (x * q + a * p) - slope
        t = t - step / (1 - step * bend / 2)
    return t.exp()


def _continued_fraction_of_binomial_tail(
    hits: pl.Series, misses: pl.Series, levels: int
) -> list[tuple[pl.Series, pl.Series]]:
    """Return the numerators and denominators of the continued fraction for a binomial tail.

    This form of the continued fraction needs no divisions for its coefficients.

    Notes:
        a·F = a + N₁q / (a+1 + N₂q / (a+2 + …)), where a is the number of misses.
    """
    n = hits + misses
    return [
        ((hits + (1 - m)) * m if j == 2 * m else -(misses + m) * (n + (1 + m)), misses + j)
        for j in range(1, levels + 1)
        for m in [j // 2]
    ]


def _evaluate_continued_fraction(
    fraction: Sequence[tuple[pl.Series, pl.Series]], misses: pl.Series, miss_rate: pl.Series
) -> pl.Series:
    """Evaluate the continued fraction at a rate of misses, from its last level upwards.

    Notes:
        The result is a·F, as in `_continued_fraction_of_binomial_tail`.
    """
    numerator, value = fraction[-1]
    for next_numerator, denominator in reversed(fraction[:-1]):
        value = denominator + numerator * miss_rate / value
        numerator = next_numerator
    return misses + numerator * miss_rate / value


# Sums of floats that do not depend on the order of the rows.
#
# Adding floats rounds, and the rounding depends on the order, which threads and files change.
# Without these sums, equal lakes could give values that differ in their last digit.

COARSE_GRID = 2**26
SIGNIFICANT_DIGITS = 12
"""Values are compared in this number of digits, because 1/5 + 2/5 differs from 3/5 in the last."""
RELATIVE_ROUNDING = 10.0**-SIGNIFICANT_DIGITS
_FINE_GRID = 2**60


def order_independent_sum(numbers: pl.Expr) -> pl.Expr:
    """Return a sum of numbers of about 1, such as hits, that does not depend on the row order.

    Each number is split into a multiple of 1 / `COARSE_GRID` and a small rest. Both parts have so
    few digits that the sums of millions of them are exact; the result is rounded once.

    Args:
        numbers: The numbers, of the magnitude of 1.

    Returns:
        An expression of the sum.
    """
    coarse = (numbers * COARSE_GRID).round() / COARSE_GRID
    return coarse.sum() + (numbers - coarse).sum()


def order_independent_sum_of_any_size(numbers: pl.Expr) -> pl.Expr:
    """Return a sum of a few numbers of any size that does not depend on the row order.

    The numbers are divided by the largest one and split as in `exact_sum`, with a remainder of 60
    bits. Sorting the numbers first would not help, because polars removes a sort before a sum.

    Args:
        numbers: The numbers; nulls are ignored.

    Returns:
        An expression of the sum; 0 if no number differs from 0.
    """
    largest = numbers.abs().max()
    share = numbers / largest
    coarse = (share * COARSE_GRID).round() / COARSE_GRID
    remainder = ((share - coarse) * _FINE_GRID).round() / _FINE_GRID
    return pl.when(largest > 0).then(largest * (coarse.sum() + remainder.sum())).otherwise(0.0)


INTERVAL = pl.Schema(
    {
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "effective_items": pl.Float64(),
    }
)
RATE = pl.Schema(
    {
        **INTERVAL,
        "rate": pl.Float64(),
        "range": pl.Float64(),
        "terms": pl.List(
            pl.Struct(dict.fromkeys(("share", "rate", "effective_items"), pl.Float64()))
        ),
    }
)
"""Columns of `rate_estimates`: the interval, the rate, the range of the value, and its terms."""
MIN_SETTINGS_OF_UNEVEN_TERM, UNEVEN_TERM_RATIO = 10, 10
"""A term has too few settings if it has fewer effective settings than the first number while
another term has at least the second number of times as many."""
_H, _C, _R, _A, _N = map(pl.col, ("h", "c", "r", "a", "n"))
_Y = pl.col("y")
_LOW, _HIGH = (pl.col("ends").struct[end] for end in ENDS)


def confidence_intervals(
    sums: pl.LazyFrame, terms: pl.LazyFrame, group_columns: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """Return the confidence interval of each group's value, by clusters of dependent games.

    Args:
        sums: The columns of `group_columns`, then stratum, cluster, term, h (hits), c (counted
            items). Rows of one cluster, stratum and term are added up.
        terms: The columns of `group_columns`, then term, weight, counted. The value of a group is
            the sum of weight × hits / counted over its terms. A group or term without counted items
            in `sums` is ignored.
        group_columns: The columns that identify a group.
        confidence: The confidence level, between 0 and 1.

    Returns:
        One row per group with the columns `group_columns` and those of `INTERVAL`: `ci_low` and
        `ci_high` in the unit of the value, and `effective_items`, a number of items (not of games).
    """
    return rate_estimates(sums, terms, group_columns, confidence).select(*group_columns, *INTERVAL)


def rate_estimates(
    sums: pl.LazyFrame, terms: pl.LazyFrame, group_columns: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """Return the rate of each group with its confidence interval and the ratios it is made of.

    Args:
        sums: Hits and counted items by cluster, as in `confidence_intervals`.
        terms: The weight of each term, as in `confidence_intervals`.
        group_columns: The columns that identify a group.
        confidence: The confidence level, between 0 and 1.

    Returns:
        One row per group with the columns `group_columns` and those of `RATE`.
    """
    # Rounding can move MOVER's ends beyond the range by a last digit, so they are clipped.
    low = pl.min_horizontal(_LOW, (_Y - pl.col("down")).clip(0))
    high = pl.max_horizontal(_HIGH, (_Y + pl.col("up")).clip(upper_bound=1))
    groups = _values_and_interval_distances_by_group(
        sums, terms, group_columns, confidence
    ).with_columns(ends=midp_interval(_Y, _N, confidence))
    columns = {
        "ci_low": low * pl.col("range"),
        "ci_high": high * pl.col("range"),
        "effective_items": _N,
        "rate": _Y,
        "range": pl.col("range"),
        "terms": pl.col("parts"),
    }
    return groups.select(*group_columns, **columns).cast(RATE)


def _term_ratios_and_shares_of_range(
    sums_by_cell: pl.LazyFrame, numbered_terms: pl.LazyFrame, group_columns: Sequence[str]
) -> pl.LazyFrame:
    """Return the ratio of each term (r), its number of items, and its share of the value (a)."""
    totals = sums_by_cell.group_by("k").agg(r=order_independent_sum(_H) / _C.sum(), total=_C.sum())
    # A fixed denominator can differ from the number of items, so the weight is scaled by their
    # quotient. If both are equal, the quotient is exactly 1, so that the range equals the value of
    # all hits to the last digit.
    weight = pl.col("weight") * (pl.col("total") / pl.col("counted"))
    weighted = numbered_terms.join(totals, on="k").with_columns(weight=weight)
    range_of_value, group = order_independent_sum_of_any_size(pl.col("weight")), pl.col("k").min()
    if group_columns:
        range_of_value, group = range_of_value.over(group_columns), group.over(group_columns)
    return weighted.select(
        *group_columns,
        "k",
        "r",
        "total",
        group=group,
        range=range_of_value,
        a=pl.col("weight") / range_of_value,
    )


def _contributions_of_clusters_to_terms(
    sums_by_cell: pl.LazyFrame, shares: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the hits, items and contribution to the variance (z) of each cluster in each term."""
    strata = sums_by_cell.group_by("k", "stratum").agg(
        n=pl.len(),
        h_mean=order_independent_sum(_H) / pl.len(),
        c_mean=_C.sum() / pl.len(),
        kappa=(_C**2).sum() / _C.sum() ** 2,
    )
    joined = sums_by_cell.join(strata, on=["k", "stratum"], nulls_equal=True)
    joined = joined.join(shares.select("k", "r", "total"), on="k")
    centred = (_H - pl.col("h_mean") - _R * (_C - pl.col("c_mean"))) / (1 - pl.col("kappa")).sqrt()
    deviation = pl.when(_N > 1).then(centred).otherwise(_H - _R * _C)
    return (
        joined.with_columns(z=deviation / pl.col("total"))
        .group_by("k", "cluster")
        .agg(h=order_independent_sum(_H), c=_C.sum(), z=order_independent_sum(pl.col("z")))
    )


def _effective_items_and_factors_of_terms(
    clusters: pl.LazyFrame, shares: pl.LazyFrame
) -> pl.LazyFrame:
    """Add to each term its effective number of items, and two factors for its clusters.

    The factors multiply z and c of the clusters before these are added up over the terms.
    """
    term_sums = clusters.group_by("k").agg(
        v=order_independent_sum_of_any_size(pl.col("z") ** 2),
        cc=(_C**2).sum(),
        with_hit=_C.filter(_H > 0).sum(),
        with_miss=_C.filter(_H < _C).sum(),
    )
    n_items, v = pl.col("total"), pl.col("v")
    kappa = pl.col("cc") / n_items**2
    max_variance = kappa * _R * (1 - _R)
    g = pl.min_horizontal("with_hit", "with_miss") / (n_items * kappa)
    shrinkage = pl.when(v > max_variance).then((max_variance / v).clip(0)).otherwise(1.0)
    observed_ratio = pl.when(g > 0).then(v * shrinkage / (_R * (1 - _R))).otherwise(0.0)
    return shares.join(term_sums, on="k").with_columns(
        n_effective=(g + 1) / (g * observed_ratio + kappa),
        z_factor=_A * (g / (g + 1) * shrinkage).sqrt(),
        c_factor=_A * (1 / (g + 1)).sqrt() / n_items,
    )


def _values_and_interval_distances_by_group(
    sums: pl.LazyFrame, terms: pl.LazyFrame, group_columns: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """Return each group's value between 0 and 1, and how far the interval ends are from it.

    The columns are those of the group, the value y, the effective number of items n, the range, the
    terms (`parts`), and the distances `down` and `up` of the ends by the method MOVER.
    """
    # Each of these frames is used twice; the optimizer does not always notice that.
    numbered_terms = terms.sort(*group_columns, "term").with_row_index("k").cache()
    # h and c by term number k, stratum and cluster.
    sums_by_cell = (
        sums.join(
            numbered_terms.select("k", *group_columns, "term"),
            on=[*group_columns, "term"],
            nulls_equal=True,
        )
        .group_by("k", "stratum", "cluster")
        .agg(h=order_independent_sum(_H), c=_C.sum().cast(pl.Float64))
        .filter(_C > 0)
        .cache()
    )
    shares = _term_ratios_and_shares_of_range(sums_by_cell, numbered_terms, group_columns).cache()
    clusters = _contributions_of_clusters_to_terms(sums_by_cell, shares).cache()
    term_estimates = _effective_items_and_factors_of_terms(clusters, shares)
    term_estimates = term_estimates.with_columns(
        ends=midp_interval(_R, pl.col("n_effective"), confidence)
    ).cache()
    spread = (
        clusters.join(term_estimates.select("k", "group", "z_factor", "c_factor"), on="k")
        .group_by("group", "cluster")
        .agg(
            z=order_independent_sum(pl.col("z") * pl.col("z_factor")),
            c=order_independent_sum(_C * pl.col("c_factor")),
        )
        .group_by("group")
        .agg(
            V=order_independent_sum_of_any_size(pl.col("z") ** 2),
            K=order_independent_sum_of_any_size(_C**2),
        )
    )
    has_hit, has_miss = (pl.col("with_hit") > 0).any(), (pl.col("with_miss") > 0).any()
    # Decided by the counted items, because a sum of shares may differ from 1 in its last digit.
    y = (
        pl.when(~has_miss)
        .then(1.0)
        .when(~has_hit)
        .then(0.0)
        .otherwise(order_independent_sum_of_any_size(_A * _R))
    )
    groups = term_estimates.group_by("group").agg(
        pl.col(*group_columns, "range").first(),
        y=y,
        is_mixed=has_hit & has_miss,
        down=order_independent_sum_of_any_size((_A * (_R - _LOW)) ** 2).sqrt(),
        up=order_independent_sum_of_any_size((_A * (_HIGH - _R)) ** 2).sqrt(),
        parts=pl.struct(share="a", rate="r", effective_items="n_effective").sort_by("k"),
    )
    observed = pl.when("is_mixed").then(pl.col("V") / (_Y * (1 - _Y))).otherwise(0.0)
    return groups.join(spread, on="group").with_columns(n=1 / (observed + pl.col("K")))


# The area of a radar chart's polygon, and its interval by the delta method.
#
# With n values m in percent, in the order around the center (the last is next to the first),
#
#     A = ½ · sin(2π/n) · Σ m_i m_(i+1),   g_i = ∂A/∂m_i = ½ · sin(2π/n) · (m_(i−1) + m_(i+1))
#
# Near the observed values, A changes like the linear function Σ g_i m_i, which has the value 2A
# there, because A is of degree two. This is a weighted sum of ratios, like a metric of several
# terms, so `confidence_intervals` computes its interval from the contributions of each setting to
# all values. Covariances are included if games of a setting count for several values. With the ends
# low and high of that interval, the interval of the area is
#
#     (low − A, high − A), and at least 0
#
# Example: four values of 50 % give ½ · 4 · 50² = 5,000, half of the diagonals' product 100 · 100.
#
# Source of the formula: arXiv 2311.08562, which plots seven metrics in this way. Coverage:
# simulated in `simulations/areas.py`, see docs/simulations.md.

PERCENT = 100.0


def radar_polygon_area(axis_columns: Sequence[str]) -> pl.Expr:
    """Return the area of a radar chart's polygon with the values of these columns.

    Args:
        axis_columns: The columns, in the order around the center. Values are between 0 and 1.

    Returns:
        An expression of the area in square percent; null if a column is null.
    """
    products = [
        pl.col(axis) * pl.col(next_axis)
        for axis, next_axis in zip(axis_columns, _rotate_axes(axis_columns), strict=True)
    ]
    return _square_percent_area_factor(axis_columns) * pl.sum_horizontal(
        products, ignore_nulls=False
    )


def radar_areas(
    values: pl.DataFrame,
    sums: pl.DataFrame,
    terms: pl.DataFrame,
    group_columns: Sequence[str],
    confidence: float,
    *,
    axes: Sequence[str],
) -> pl.DataFrame:
    """Return the area of each group's radar chart with its confidence interval.

    Args:
        values: The columns of `group_columns` and one column per axis, with values between 0 and 1.
        sums: Hits and counted items as in `confidence_intervals`, with a column `metric` that names
            the axis.
        terms: The weights as in `confidence_intervals`, with a column `metric`.
        group_columns: The columns that identify a group.
        confidence: The confidence level, between 0 and 1.
        axes: The axes, in the order around the center.

    Returns:
        One row per group with the columns `group_columns`, `area`, `ci_low` and `ci_high`, in
        square percent. The ends are null if all values are 0. Groups without an area are left out.

    References:
        arXiv 2311.08562 for the area; see above for the interval.
    """
    slopes = [
        (_square_percent_area_factor(axes) * (pl.col(previous_axis) + pl.col(next_axis))).alias(
            axis
        )
        for axis, previous_axis, next_axis in zip(
            axes, _rotate_axes(axes, -1), _rotate_axes(axes), strict=True
        )
    ]
    areas = values.select(*group_columns, *slopes, area=radar_polygon_area(axes)).drop_nulls("area")
    slopes_by_axis = areas.unpivot(
        axes, index=group_columns, variable_name="metric", value_name="slope"
    )
    term = pl.format("{}: {}", "metric", "term")
    weighted_terms = terms.join(
        slopes_by_axis.filter(pl.col("slope") > 0), on=[*group_columns, "metric"], nulls_equal=True
    )
    polygon_terms = weighted_terms.with_columns(
        term=term, weight=pl.col("weight") * pl.col("slope")
    )
    polygon_sums = sums.with_columns(term=term)
    intervals = confidence_intervals(
        polygon_sums.lazy(), polygon_terms.lazy(), group_columns, confidence
    ).collect()
    joined = areas.join(
        intervals, on=group_columns, how="left", nulls_equal=True, maintain_order="left"
    )
    low, high = pl.col("ci_low") - pl.col("area"), pl.col("ci_high") - pl.col("area")
    return joined.select(*group_columns, "area", ci_low=low.clip(0), ci_high=high)


def _square_percent_area_factor(axes: Sequence[str]) -> float:
    """Return what the products of neighboring values are multiplied by in the area.

    Notes:
        It is ½ · sin(2π/n), in square percent.
    """
    return math.sin(2 * math.pi / len(axes)) / 2 * PERCENT**2


def _rotate_axes(axes: Sequence[str], step: int = 1) -> list[str]:
    """Return the axes rotated by a number of places, so that each is aligned with its neighbor."""
    return [axes[(position + step) % len(axes)] for position in range(len(axes))]
