"""Intervals of weighted sums of ratios: mid-p Clopper–Pearson, for an effective number of items.

What is independent is a cluster: a setting with all its games. For terms k of weight w_k, W = Σ w_k
and a_k = w_k / W; cluster s has h hits of c counted items, and a term C items and the ratio
r = H / C. In each stratum of two or more clusters, κ' = Σc² / (Σc)² of that stratum alone:

    u = h − r·c
    e = (u − mean u of the stratum) / √(1 − κ')    (a stratum of one cluster: e = u)
    z_ks = Σ_strata e / C_k                        so that Σ_s z² is the ratio's variance v
    κ_k = Σ_s c² / C²                              v / r(1−r), were the items of a cluster all alike
    z_ks ← z_ks · √(κ_k r(1−r) / v)                where v is more than κ_k r(1−r)
    g_k = min(items in clusters with a hit, items in clusters with a miss) / (C κ_k)
    λ_k = g_k / (g_k + 1)
    y = Σ a_k r_k
    V = Σ_s (Σ_k a_k √λ_k z_ks)²,   K = Σ_s (Σ_k a_k √(1 − λ_k) c_ks / C_k)²
    1 / n = V / (y(1−y)) + K                       (y = 0 or 1: K)

and the interval is W times that of `midp` for y of n = `effective_items`. With m clusters of one
size, 1 / (1 − κ') is m / (m − 1), and g is a number of clusters. With one item a cluster it is the
mid-p Clopper–Pearson interval itself.
A cluster that feeds two terms adds their covariance, since it is squared after they are added up.

What a thin term does not show of its variance is taken from y(1−y) of the whole value. Where terms
are of unlike rates that can be far off. So a value of several terms has an interval as wide as that
of MOVER, too: from low_k and high_k, each term's own interval by the same formulas,

    low  ≤ y − √Σ_k (a_k (r_k − low_k))²,   high ≥ y + √Σ_k (a_k (high_k − r_k))²

Example: one term, three clusters with 2 of 2, 1 of 2 and 0 of 2 hits. r = 1/2, u = 1, 0, −1;
κ = κ' = 12/36 = 1/3; v = (1 + 0 + 1) / (2/3) / 36 = 1/12, which is κ r(1−r) = 1/12, too. Two
clusters have a hit, two have a miss: g = min(4, 4) / (6 · 1/3) = 2 and λ = 2/3. 1 / n =
2/3 · (1/12) / (1/4) + 1/3 · 1/3 = 1/3: the six items are worth three.

Sources: n: L. Kish, Survey Sampling (1965); for proportions of clusters: J. N. K. Rao and A. J.
Scott, Biometrics 48 (1992) 577–585, P. S. Kott, Survey Practice 10 (2017); Clopper–Pearson with
such an n: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193–201. A plain n
undercovers where items cluster: C. Franco, R. Little, T. Louis and E. Slud, J. Survey Statistics
and Methodology 7 (2019) 334–364. The weight λ, by which terms of few informative clusters lean on
κ, is this project's own, as is 1 / (1 − κ'): both were chosen by simulation, see
docs/statistics.md. MOVER: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693–1702; that
the wider of both ends counts is this project's choice, too.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

# The ends of mid-p Clopper–Pearson intervals; numbers of hits and items need not be whole.
#
# The upper end p for x hits of n items solves P(X < x) + ½ P(X = x) = (1 − confidence) / 2. X is
# binomial; the incomplete beta function I continues its distribution. With q = 1 − p and a = n − x,
#
#     P(X = x) = Γ(n+1) / (Γ(x+1) Γ(a+1)) · p^x q^a
#     P(X ≤ x) = I_q(a, x+1) = P(X = x) · p / F,    F = 1 + k₁q / (1 + k₂q / (1 + …))
#     k₂ₘ₊₁ = −(a+m)(n+1+m) / ((a+2m)(a+2m+1)),    k₂ₘ = m (x+1−m) / ((a+2m−1)(a+2m))
#
# The lower end is 1 − the upper end for the misses. For 0 hits the upper end is
# 1 − (1 − confidence)^(1/n).
#
# Example: 1 hit of 2 items. q² + ½ · 2pq = q is to be .025: the ends are .025 and .975.
#
# Sources: G. Berry and P. Armitage, The Statistician 44 (1995) 417–423, for mid-p intervals; NIST
# Digital Library of Mathematical Functions, 8.17.22, for the fraction. All ends are found at once,
# by a few operations on whole columns. Neither scipy nor numpy is used: importing them would take
# longer than all the rest.

ENDS = ("low", "high")
# From Wilson's end, three steps of the third order come to the last digit.
_STEPS = 3


def ends(rate: pl.Expr, items: pl.Expr, confidence: float) -> pl.Expr:
    """The interval of each rate in 0..1 over so many items, at least about one: low and high.

    They are right to 1e-11 for confidences from .5 on. At a rate of 0 or 1 they are exactly that.
    """

    def of_all(columns: Sequence[pl.Series]) -> pl.Series:
        y, n = columns
        hits, misses = y * n, (1 - y) * n
        q = _missing(pl.concat([hits, misses]), pl.concat([misses, hits]), 1 - confidence)
        high, low = 1 - q.head(len(y)), q.tail(len(y))
        # At low confidence and less than one hit an end would be beyond the rate.
        return pl.select(
            low=pl.when(y > 0).then(pl.min_horizontal(low, y)).otherwise(0.0),
            high=pl.when(y < 1).then(pl.max_horizontal(high, y)).otherwise(1.0),
        ).to_struct()

    return pl.map_batches(
        [rate, items], of_all, return_dtype=pl.Struct(dict.fromkeys(ENDS, pl.Float64))
    )


def _missing(x: pl.Series, a: pl.Series, level: float) -> pl.Series:
    """1 − the upper end of each, by Halley's method for the logarithm of the tail in t = log q.

    Next to an end that is almost a straight line. With ρ = p / F − ½, the tail's share of P(X = x),

        g = log P(X = x) + log ρ − log (level / 2),    g' = (x q/p + a) / 2ρ
        g'' = g' (a + (1 − x) q/p − (a − x) q / (xq + ap) − g')
    """
    n, z = x + a, NormalDist().inv_cdf(1 - level / 2)
    # The logarithm of the number of ways to choose x of n, less that of the tail.
    log = math.lgamma
    terms = zip(n.to_list(), x.to_list(), a.to_list(), strict=True)
    choose = [log(n + 1) - log(x + 1) - log(a + 1) for n, x, a in terms]
    constant = pl.Series(choose, dtype=pl.Float64) - math.log(level / 2)
    # Many items and low confidence need more levels.
    levels = min(500, int(16 + 8 * math.log2(max([2.0, *n.top_k(1)])) / z))
    fraction = _fraction(x, a, levels)
    # Wilson's end, written so that it loses no digits where there are few misses.
    t = (a**2 / (n * (a + z**2 / 2 + z * (a * x / n + z**2 / 4).sqrt()))).log()
    for _ in range(_STEPS):
        q = t.exp()
        p = 1 - q
        odds = q / p
        rho = p * a / _value(fraction, a, q) - 0.5
        g, slope = constant + x * p.log() + a * t + rho.log(), (x * odds + a) / (2 * rho)
        step, bend = g / slope, a + (1 - x) * odds - (a - x) * q / (x * q + a * p) - slope
        t = t - step / (1 - step * bend / 2)
    return t.exp()


def _fraction(x: pl.Series, a: pl.Series, levels: int) -> list[tuple[pl.Series, pl.Series]]:
    """N and the denominators of a·F = a + N₁q / (a+1 + N₂q / (a+2 + …)), which has no divisions."""
    n = x + a
    return [
        ((x + (1 - m)) * m if j == 2 * m else -(a + m) * (n + (1 + m)), a + j)
        for j in range(1, levels + 1)
        for m in [j // 2]
    ]


def _value(
    fraction: Sequence[tuple[pl.Series, pl.Series]], a: pl.Series, q: pl.Series
) -> pl.Series:
    """a·F at q, from its last level up."""
    numerator, value = fraction[-1]
    for above, denominator in reversed(fraction[:-1]):
        value = denominator + numerator * q / value
        numerator = above
    return a + numerator * q / value


# Sums of floats that are the same in whatever order their rows come.
#
# Adding floats rounds, and rounding depends on the order, which threads and files change. So equal
# lakes would give values that differ in their last digit.

GRAIN = 2**26
SIGNIFICANT_DIGITS = 12
"""So many digits of a value tell values apart: 1/5 + 2/5 is not 3/5 to the last one."""
RELATIVE_ROUNDING = 10.0**-SIGNIFICANT_DIGITS
_FINEST = 2**60


def exact_sum(x: pl.Expr) -> pl.Expr:
    """The sum of many numbers of about 1, such as hits, whatever their order.

    Each is split into a multiple of 1 / GRAIN and a small rest. Both parts have so few digits that
    the sums of millions of them are exact; the result is rounded once. `sql/exact_sum.sql` is the
    same in SQL.
    """
    coarse = (x * GRAIN).round() / GRAIN
    return coarse.sum() + (x - coarse).sum()


def scaled_sum(x: pl.Expr) -> pl.Expr:
    """The sum of few numbers of any size, whatever their order.

    As shares of the largest they are split like above, the rests to 60 bits. To sort them first
    would not do: polars takes out a sort before a sum.
    """
    largest = x.abs().max()
    share = x / largest
    coarse = (share * GRAIN).round() / GRAIN
    rest = ((share - coarse) * _FINEST).round() / _FINEST
    return pl.when(largest > 0).then(largest * (coarse.sum() + rest.sum())).otherwise(0.0)


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
"""A value's interval, its share of its range, that range, and its terms' own."""
LEAST_BESIDE, TIMES_AS_MANY = 10, 10
"""A term is thin that has fewer effective settings, if another has so many times as many."""
_H, _C, _R, _A, _N = map(pl.col, ("h", "c", "r", "a", "n"))
_Y = pl.col("y")
_LOW, _HIGH = (pl.col("ends").struct[end] for end in ENDS)


def confidence_intervals(
    sums: pl.LazyFrame, terms: pl.LazyFrame, by: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """A row for each group of `by`, with the columns of `INTERVAL`.

    `sums`: `by`, stratum, cluster, term, h, c; rows of one cluster, stratum and term are added up.
    `terms`: `by`, term, weight, counted; the value is the sum of weight × hits / counted. Groups
    and terms of which nothing is counted in `sums` have no part. `effective_items` is a number of
    items, not of games.
    """
    return rate_estimates(sums, terms, by, confidence).select(*by, *INTERVAL)


def rate_estimates(
    sums: pl.LazyFrame, terms: pl.LazyFrame, by: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """A row for each group of `by`, with the columns of `RATE`: what its interval is made of.

    The arguments are those of `intervals`.
    """
    # The sum of the terms' reaches is no more than the whole range, but for a last digit.
    low = pl.min_horizontal(_LOW, (_Y - pl.col("down")).clip(0))
    high = pl.max_horizontal(_HIGH, (_Y + pl.col("up")).clip(upper_bound=1))
    of_groups = _groups(sums, terms, by, confidence).with_columns(ends=ends(_Y, _N, confidence))
    columns = {
        "ci_low": low * pl.col("range"),
        "ci_high": high * pl.col("range"),
        "effective_items": _N,
        "rate": _Y,
        "range": pl.col("range"),
        "terms": pl.col("parts"),
    }
    return of_groups.select(*by, **columns).cast(RATE)


def _shares(cells: pl.LazyFrame, numbered: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Of each k its group, C, r, its share `a` of the value's range, and that range."""
    totals = cells.group_by("k").agg(r=exact_sum(_H) / _C.sum(), total=_C.sum())
    # A denominator that is fixed beforehand makes of the ratio a part of itself. Others are the
    # total, and the range has to be the value of hits alone to the last digit.
    weight = pl.col("weight") * (pl.col("total") / pl.col("counted"))
    weighted = numbered.join(totals, on="k").with_columns(weight=weight)
    whole, group = scaled_sum(pl.col("weight")), pl.col("k").min()
    if by:
        whole, group = whole.over(by), group.over(by)
    return weighted.select(
        *by, "k", "r", "total", group=group, range=whole, a=pl.col("weight") / whole
    )


def _clusters(cells: pl.LazyFrame, shares: pl.LazyFrame) -> pl.LazyFrame:
    """h, c and z of each cluster and k."""
    strata = cells.group_by("k", "stratum").agg(
        n=pl.len(),
        h_mean=exact_sum(_H) / pl.len(),
        c_mean=_C.sum() / pl.len(),
        kappa=(_C**2).sum() / _C.sum() ** 2,
    )
    joined = cells.join(strata, on=["k", "stratum"], nulls_equal=True)
    joined = joined.join(shares.select("k", "r", "total"), on="k")
    centred = (_H - pl.col("h_mean") - _R * (_C - pl.col("c_mean"))) / (1 - pl.col("kappa")).sqrt()
    e = pl.when(_N > 1).then(centred).otherwise(_H - _R * _C)
    return (
        joined.with_columns(z=e / pl.col("total"))
        .group_by("k", "cluster")
        .agg(h=exact_sum(_H), c=_C.sum(), z=exact_sum(pl.col("z")))
    )


def _terms(clusters: pl.LazyFrame, shares: pl.LazyFrame) -> pl.LazyFrame:
    """Of each k also its `own` effective number of items, and `of_z` and `of_c`, which z and c
    are to be multiplied by before adding up."""
    of_k = clusters.group_by("k").agg(
        v=scaled_sum(pl.col("z") ** 2),
        cc=(_C**2).sum(),
        with_hit=_C.filter(_H > 0).sum(),
        with_miss=_C.filter(_H < _C).sum(),
    )
    total, v = pl.col("total"), pl.col("v")
    kappa = pl.col("cc") / total**2
    most = kappa * _R * (1 - _R)
    g = pl.min_horizontal("with_hit", "with_miss") / (total * kappa)
    bound = pl.when(v > most).then((most / v).clip(0)).otherwise(1.0)
    observed = pl.when(g > 0).then(v * bound / (_R * (1 - _R))).otherwise(0.0)
    return shares.join(of_k, on="k").with_columns(
        own=(g + 1) / (g * observed + kappa),
        of_z=_A * (g / (g + 1) * bound).sqrt(),
        of_c=_A * (1 / (g + 1)).sqrt() / total,
    )


def _groups(
    sums: pl.LazyFrame, terms: pl.LazyFrame, by: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """Of each group y, n, its range, its terms as `parts`, and how far these reach down and up."""
    # Each of these is asked for twice; the optimizer does not always see it.
    numbered = terms.sort(*by, "term").with_row_index("k").cache()
    # h and c by term number k, stratum and cluster.
    cells = (
        sums.join(numbered.select("k", *by, "term"), on=[*by, "term"], nulls_equal=True)
        .group_by("k", "stratum", "cluster")
        .agg(h=exact_sum(_H), c=_C.sum().cast(pl.Float64))
        .filter(_C > 0)
        .cache()
    )
    shares = _shares(cells, numbered, by).cache()
    clusters = _clusters(cells, shares).cache()
    of_terms_k = _terms(clusters, shares)
    of_terms_k = of_terms_k.with_columns(ends=ends(_R, pl.col("own"), confidence)).cache()
    spread = (
        clusters.join(of_terms_k.select("k", "group", "of_z", "of_c"), on="k")
        .group_by("group", "cluster")
        .agg(z=exact_sum(pl.col("z") * pl.col("of_z")), c=exact_sum(_C * pl.col("of_c")))
        .group_by("group")
        .agg(V=scaled_sum(pl.col("z") ** 2), K=scaled_sum(_C**2))
    )
    has_hit, has_miss = (pl.col("with_hit") > 0).any(), (pl.col("with_miss") > 0).any()
    # Decided by what was counted, since a sum of shares may be 1 but for its last digit.
    y = pl.when(~has_miss).then(1.0).when(~has_hit).then(0.0).otherwise(scaled_sum(_A * _R))
    of_group = of_terms_k.group_by("group").agg(
        pl.col(*by, "range").first(),
        y=y,
        is_mixed=has_hit & has_miss,
        down=scaled_sum((_A * (_R - _LOW)) ** 2).sqrt(),
        up=scaled_sum((_A * (_HIGH - _R)) ** 2).sqrt(),
        parts=pl.struct(share="a", rate="r", effective_items="own").sort_by("k"),
    )
    observed = pl.when("is_mixed").then(pl.col("V") / (_Y * (1 - _Y))).otherwise(0.0)
    return of_group.join(spread, on="group").with_columns(n=1 / (observed + pl.col("K")))


# The area of a polygon of values on axes around a point, and its interval by the delta method.
#
# With n values m in percent, each beside the next one and the last beside the first,
#
#     A = ½ · sin(2π/n) · Σ m_i m_(i+1),   g_i = ∂A/∂m_i = ½ · sin(2π/n) · (m_(i−1) + m_(i+1))
#
# Near the values that were found, A moves like Σ g_i m_i, which is 2A there, since A is of degree
# two. That is a weighted sum of the ratios of all values together, as a metric of several terms is.
# So `interval` makes its interval, from what each setting adds to it over all values: a setting
# whose games count for several of them adds their covariances. With its ends low and high,
#
#     A in (low − A, high − A), and 0 at least
#
# Example: four values of 50 % have ½ · 4 · 50² = 5,000, half of the diagonals' product 100 · 100.
#
# Source of the formula: arXiv 2311.08562, which draws seven metrics so. Coverage: simulated in
# `simulations/areas.py`, see docs/statistics.md.

PERCENT = 100.0


def area(axes: Sequence[str]) -> pl.Expr:
    """The area of the polygon of these columns, in square percent; null if one is null."""
    products = [pl.col(one) * pl.col(other) for one, other in zip(axes, _next(axes), strict=True)]
    return _scale(axes) * pl.sum_horizontal(products, ignore_nulls=False)


def radar_areas(
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
    ends = confidence_intervals(of_sums.lazy(), of_terms.lazy(), by, confidence).collect()
    joined = found.join(ends, on=by, how="left", nulls_equal=True, maintain_order="left")
    low, high = pl.col("ci_low") - pl.col("area"), pl.col("ci_high") - pl.col("area")
    return joined.select(*by, "area", ci_low=low.clip(0), ci_high=high)


def _scale(axes: Sequence[str]) -> float:
    return math.sin(2 * math.pi / len(axes)) / 2 * PERCENT**2


def _next(axes: Sequence[str], step: int = 1) -> list[str]:
    """Of each axis the one so many steps on, around the point."""
    return [axes[(at + step) % len(axes)] for at in range(len(axes))]
