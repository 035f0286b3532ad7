"""The ends of mid-p Clopper–Pearson intervals; numbers of hits and items need not be whole.

The upper end p for x hits of n items solves P(X < x) + ½ P(X = x) = (1 − confidence) / 2. X is
binomial; the incomplete beta function I continues its distribution. With q = 1 − p and a = n − x,

    P(X = x) = Γ(n+1) / (Γ(x+1) Γ(a+1)) · p^x q^a
    P(X ≤ x) = I_q(a, x+1) = P(X = x) · p / F,    F = 1 + k₁q / (1 + k₂q / (1 + …))
    k₂ₘ₊₁ = −(a+m)(n+1+m) / ((a+2m)(a+2m+1)),    k₂ₘ = m (x+1−m) / ((a+2m−1)(a+2m))

The lower end is 1 − the upper end for the misses. For 0 hits the upper end is
1 − (1 − confidence)^(1/n).

Example: 1 hit of 2 items. q² + ½ · 2pq = q is to be .025: the ends are .025 and .975.

Sources: G. Berry and P. Armitage, The Statistician 44 (1995) 417–423, for mid-p intervals; NIST
Digital Library of Mathematical Functions, 8.17.22, for the fraction. All ends are found at once,
by a few operations on whole columns. Neither scipy nor numpy is used: importing them would take
longer than all the rest.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

ENDS = ("low", "high")
# From Wilson's end, three steps of the third order come to the last digit.
_STEPS = 3
_MOST_LEVELS = 500


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
    levels = min(_MOST_LEVELS, int(16 + 8 * math.log2(max([2.0, *n.top_k(1)])) / z))
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
