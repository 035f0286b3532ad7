"""Two models' values: the difference, its interval, and the level at which one holds a number.

From the intervals of both, MOVER's: with the distances l_A = A − low_A, u_A = high_A − A, and so
on, and the correlation ρ of their contributions by setting,

    low  = A − B − √(l_A² − 2ρ l_A u_B + u_B²)
    high = A − B + √(u_A² − 2ρ u_A l_B + l_B²)

R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10 at ρ = 0, and 2635–2650 for
pairs; G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693–1702. ρ is shrunk by
(n−1)/(n+1) over n effective settings, which is this project's own choice: two settings with nearly
all of the variance correlate at ±1, whatever the models are like.

A printed difference is of the ends that `interval` gives. A level is searched for with Wilson's
ends in their place (E. B. Wilson, JASA 22 (1927) 209–212): they have a formula for every z, and
are nearly the same.

Beside a margin (is a difference within, is it beyond, and which fall could be seen) tests are
one-sided, by the same interval: the p-value of "the difference is above b" is half the level at
which MOVER's interval begins to hold b. Two models are alike within a margin m if both one-sided
tests say so, of "above −m" and of "below m": the larger p-value counts (D. J. Schuirmann, J.
Pharmacokinetics and Biopharmaceutics 15 (1987) 657–680).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from string import ascii_lowercase
from typing import Any, Final, NamedTuple, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.statistics.intervals import RELATIVE_ROUNDING

# How surprising a sum of differences is, if each could as well have had the other sign.
#
# Two models that behave alike give each setting's difference x either sign with equal probability.
# The sum T of x is compared with S = Σ ±x over all patterns of signs: mid-p = P(|S| > |T|) + ½
# P(|S| = |T|). With one item a setting it is McNemar's mid-p test (M. W. Fagerland, S. Lydersen and
# P. Laake, BMC Med. Res. Methodol. 13 (2013) 91). Nothing is drawn, so p depends on nothing but x.
#
# Few settings of unlike sizes have few patterns, and all are counted: each half's sums, sorted, and
# then pairs of them (E. Horowitz and S. Sahni, Journal of the ACM 21 (1974) 277–292). Of more, the
# tail is found from S's characteristic function (J. Gil-Pelaez, Biometrika 38 (1951) 481–482). With
# z = c + it and exp K(z) = Π cosh(zx),
#
#     P(S > T) + ½ P(S = T) = 1/π ∫ Re exp(K(z) − zT) / z dt,  t from 0 to ∞
#
# for any c > 0. Where K'(c) = T the integrand is as small as the tail, so no digits are lost (R.
# Lugannani and S. Rice, Advances in Applied Probability 12 (1980) 475–490). The integral is a sum
# over t = 0, Δ, 2Δ, …, with half of the first. Such a sum takes S for S ± 2π/Δ (R. B. Davies,
# Biometrika 60 (1973) 415–417), so Δ is small enough to make that 10⁻¹² of the tail. Where all sums
# are steps of s apart, ½ s / tanh(½ s z) in place of 1 / z makes it exact.
#
# Where no few settings weigh much, S is nearly normal. With n = (Σx²)² / Σx⁴ effective settings and
# Z = T / √Σx², p is the two-sided p-value of Z + (Z³ − 3Z) / 12n (E. A. Cornish and R. A. Fisher,
# Revue de l'Institut International de Statistique 5 (1938) 307–320).

Floats = NDArray[np.float64]

EXACT_SETTINGS: Final = 24
"""Up to so many settings all patterns are counted, where sums are not steps apart."""
MANY_SETTINGS: Final = 300
"""From so many effective settings on the sum is taken to be nearly normal."""
# Sums that differ by no more than this share of the largest one are equal.
_TIE: Final = 1e-9
# A step is no smaller than this share of the largest difference.
_LEAST_STEP: Final = 1e-3
# What is left out of a tail is exp(−this) of it.
_LEFT_OUT: Final = 30.0
# Small differences count as normal noise that together have this share of n⁻¹: p is then within
# .0001 of itself, and very many settings take no longer than few.
_NOISE: Final = 3e-6
# Off the steps, a sum has so many terms at most, unless it has come to its end: 2 % of p or less.
_LEAST_TERMS, _MOST_NUMBERS, _AT_ONCE, _NOTHING = 256, 20_000, 32, 1e-12
# Of more and smaller steps a sum is as good as without.
_MOST_STEPS: Final = 500_000
_STEPS, _CLOSE_flips = 30, 1e-3


def sign_flip_p(x: Floats) -> float:
    """The mid-p value, in 0..1, of the sum of what settings add to a difference; 1 if nothing."""
    size = np.abs(x)
    largest = float(size.max(initial=0.0))
    # What is left of two terms that cancel is no difference.
    size[size <= _TIE * largest] = 0.0
    total, most, n = abs(float(x.sum())), float(size.sum()), np.count_nonzero(size)
    if n == 0:
        return 1.0
    squares = size**2
    variance = float(squares.sum())
    n_effective = variance**2 / float((squares * squares).sum())
    # Where a game is one trial, all are of one size, and p is exact however many there are.
    if n_effective >= MANY_SETTINGS and n * largest - most > _TIE * most:
        z = total / math.sqrt(variance)
        return math.erfc((z + (z**3 - 3 * z) / (12 * n_effective)) / math.sqrt(2))
    if total >= most * (1 - _TIE):
        return 0.5**n
    total = total / largest if total > most * _TIE else 0.0
    sizes, counts = np.unique((size[size > 0] / largest).round(9), return_counts=True)
    if step := _step(sizes):
        above, equal = _tail((sizes / step).round(), counts, round(total / step), 2.0)
        return 1 - equal / 2 if total == 0 else min(1.0, 2 * above)
    if n <= EXACT_SETTINGS:
        return all_signs_p(x[size > 0])
    return min(1.0, 2 * _tail(sizes, counts, total)[0])


def _step(sizes: Floats) -> float:
    """The largest number of which all sizes are multiples, by Euclid's algorithm; 0 if too small.

    The largest size is 1.
    """
    step = 1.0
    for size in sizes:
        rest = float(size)
        while rest > _LEAST_STEP / 10:
            rest, step = abs(step - rest * round(step / rest)), rest
        if step < _LEAST_STEP:
            return 0.0
    multiples = sizes / step
    return step if np.abs(multiples - multiples.round()).max() < _LEAST_STEP else 0.0


def _tail(
    sizes: Floats, counts: NDArray[np.int64], total: float, step: float = 0.0
) -> tuple[float, float]:
    """P(S > T) + ½ P(S = T), and P(S = T) if sums are steps apart, for so many of each size."""
    variance, most = float(counts @ sizes**2), float(counts @ sizes)
    is_noise = np.cumsum(counts * sizes**4) <= (0 if step else _NOISE * variance**2)
    noise = float(counts[is_noise] @ sizes[is_noise] ** 2)
    sizes, counts = sizes[~is_noise], counts[~is_noise]
    best = _best_tilt(sizes, counts, noise, total)
    surprise = best * total - _log_mean(best, sizes, counts, noise)
    # Next to 0 the integrand has a pole.
    tilt = max(best, 2 / math.sqrt(variance))
    # S is no further off than a normal sum of its variance (W. Hoeffding, Journal of the American
    # Statistical Association 58 (1963) 13–30).
    far = tilt * variance + math.sqrt((tilt * variance) ** 2 + 2 * _LEFT_OUT * variance)
    period = max((_LEFT_OUT + surprise) / tilt, min(most + step, far) - total)
    n_terms = max(_LEAST_TERMS, _MOST_NUMBERS // len(sizes))
    n_steps = math.ceil(period / (2 * step)) + 1 if step else 0
    if 0 < n_steps * len(sizes) <= _MOST_STEPS:
        n_terms, period = n_steps, (2 * n_steps - 1) * step
    else:
        step = 0.0
    width, bent = 2 * math.pi / period, 1j * np.tanh(tilt * sizes)[:, np.newaxis]
    above = equal = 0.0
    at_once = max(_AT_ONCE, _MOST_NUMBERS // len(sizes)) if step else _AT_ONCE
    for start in range(0, n_terms, at_once):
        t = width * np.arange(start, min(start + at_once, n_terms))
        angles, z = np.outer(sizes, t), tilt + 1j * t
        # cosh(zx) = cosh(cx) · (cos(tx) + i tanh(cx) sin(tx))
        factors = np.cos(angles) + bent * np.sin(angles)
        if counts.max(initial=1) > 1:
            factors **= counts[:, np.newaxis]
        phi = factors.prod(axis=0) * np.exp(noise / 2 * (z**2 - tilt**2) - 1j * t * total)
        phi[t == 0] /= 2
        above += float((phi * step / 2 / np.tanh(step / 2 * z) if step else phi / z).real.sum())
        equal += float(phi.real.sum()) * step
        if not step and np.abs(phi).max() < _NOTHING:
            break
    scale = math.exp(_log_mean(tilt, sizes, counts, noise) - tilt * total) * width / math.pi
    return scale * above, scale * equal


def _best_tilt(sizes: Floats, counts: NDArray[np.int64], noise: float, total: float) -> float:
    """c with K'(c) = T, nearly. By Newton's method: K' is concave, so that no step goes too far."""
    tilt = total / (float(counts @ sizes**2) + noise)
    for _ in range(_STEPS):
        bent = np.tanh(tilt * sizes)
        missing = total - float(counts @ (sizes * bent)) - noise * tilt
        more = missing / (float(counts @ (sizes**2 * (1 - bent**2))) + noise)
        tilt += more
        if more <= _CLOSE_flips * tilt:
            break
    return tilt


def _log_mean(tilt: float, sizes: Floats, counts: NDArray[np.int64], noise: float) -> float:
    """K(c), the logarithm of the mean of exp(cS)."""
    c = tilt * sizes
    log_cosh = c + np.log1p(np.exp(-2 * c)) - math.log(2)
    return float(counts @ log_cosh) + noise * tilt**2 / 2


def all_signs_p(x: Floats) -> float:
    """The mid-p value of the sum, over all patterns of signs."""
    half = len(x) // 2
    one, other = _all_sums(x[:half]), np.sort(_all_sums(x[half:]))
    observed, slack = abs(float(x.sum())), _TIE * float(np.abs(x).sum())
    # The sums of both halves are symmetric about 0: what is as far below it is as frequent.
    least = observed - np.sort(one)
    n_above = len(other) - np.searchsorted(other, least + slack, side="right")
    n_from = len(other) - np.searchsorted(other, least - slack, side="left")
    if observed <= slack:
        # Then both tails begin at 0, and what is equal to 0 would be counted in both.
        return 1.0 - float((n_from - n_above).sum()) / 2 / (len(one) * len(other))
    return float((n_above + n_from).sum()) / (len(one) * len(other))


def _all_sums(x: Floats) -> Floats:
    """The sums over every pattern of signs."""
    sums = np.zeros(1, np.float64)
    for value in x:
        sums = np.concatenate([sums + value, sums - value])
    return sums.astype(np.float64)


# Many comparisons at once: p-values adjusted for their number, and groups not told apart.


@overload
def is_significant(p: float, confidence: float) -> bool: ...
@overload
def is_significant(p: pl.Expr, confidence: float) -> pl.Expr: ...
def is_significant(p: float | pl.Expr, confidence: float) -> bool | pl.Expr:
    """Whether a p-value tells apart at the level 1 − confidence: whether it is no larger.

    A last digit is no difference: 1 − 0.9 is a little less than 0.1, and 6 · 0.05 more than 0.3.
    """
    return p <= 1 - confidence + RELATIVE_ROUNDING


def adjust_holm(p: pl.Expr, by: Sequence[str] = ()) -> pl.Expr:
    """The p-values adjusted so that a family has a false alarm with the level's probability.

    `by` are the columns that tell families apart; nulls are of none. S. Holm, Scandinavian Journal
    of Statistics 6 (1979) 65–70.
    """
    stepped = (p.count() - p.rank("min") + 1) * p
    return stepped.cum_max().clip(upper_bound=1).over(by or pl.lit(0), order_by=p)


def compact_letters(is_apart: NDArray[np.bool_]) -> list[str]:
    """Letters for each of n things: two share one exactly where they are not told apart.

    `is_apart` says it of each pair, above its diagonal. By insertion and absorption: H.-P. Piepho,
    J. Computational and Graphical Statistics 13 (2004) 456–466. Things are best given in order,
    then `a` is the first's.
    """
    n = len(is_apart)
    columns: list[frozenset[int]] = [frozenset(range(n))] if n else []
    for one, other in zip(*np.nonzero(np.triu(is_apart, 1)), strict=True):
        split: set[frozenset[int]] = set()
        for column in columns:
            both = {int(one), int(other)} <= column
            split |= {column - {int(one)}, column - {int(other)}} if both else {column}
        columns = [column for column in split if not any(column < larger for larger in split)]
    named = sorted(columns, key=sorted)
    return [
        "".join(
            ascii_lowercase[place % 26] * (place // 26 + 1)
            for place, column in enumerate(named)
            if thing in column
        )
        for thing in range(n)
    ]


# Beyond it a normal p-value is 0.
MOST_Z = 40.0


class Interval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


class Part(NamedTuple):
    """A term's share of the value's range, its ratio, and its own effective number of items."""

    share: float
    rate: float
    effective_items: float


class RateEstimate(NamedTuple):
    """A value's share of its range, in 0..1, its effective number of items, that range, its terms.

    A value of one term needs none of `terms`.
    """

    rate: float
    effective_items: float
    range: float = 1.0
    terms: tuple[Part, ...] = ()

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "RateEstimate":
        """The rate of a row with these fields, its terms a list of such rows."""
        terms = tuple(Part(**term) for term in fields["terms"])
        return cls(fields["rate"], fields["effective_items"], fields["range"], terms)

    def at(self, rate: float) -> "RateEstimate":
        """The same items at another rate, the terms' rates moved in proportion."""
        factor = rate / self.rate if self.rate > 0 else None
        terms = tuple(
            term._replace(rate=rate if factor is None else min(1.0, term.rate * factor))
            for term in self.terms
        )
        return self._replace(rate=rate, terms=terms)

    def interval(self, z: float) -> Interval:
        """Its interval with Wilson's ends: as wide as its terms' own intervals make it."""
        whole = wilson(self.rate, self.effective_items, z)
        if len(self.terms) > 1:
            ends = [(term.share, wilson(term.rate, term.effective_items, z)) for term in self.terms]
            down = math.sqrt(sum((share * (part.value - part.low)) ** 2 for share, part in ends))
            up = math.sqrt(sum((share * (part.high - part.value)) ** 2 for share, part in ends))
            low, high = max(0.0, self.rate - down), min(1.0, self.rate + up)
            whole = Interval(self.rate, min(whole.low, low), max(whole.high, high))
        return Interval(*(self.range * end for end in whole))


def wilson(rate: float, effective_items: float, z: float) -> Interval:
    """Wilson's interval of a rate in 0..1 over an effective number of items."""
    n = effective_items
    middle, spread = rate + z**2 / (2 * n), rate * (1 - rate) / n + z**2 / (4 * n**2)
    scale = 1 + z**2 / n
    half = z * math.sqrt(max(0.0, spread))
    low = 0.0 if rate <= 0 else (middle - half) / scale
    return Interval(rate, low, 1.0 if rate >= 1 else (middle + half) / scale)


def difference(a: RateEstimate, b: RateEstimate, z: float, correlation: float = 0.0) -> Interval:
    """The difference A − B with MOVER's interval at z, of Wilson's ends."""
    return mover(a.interval(z), b.interval(z), correlation)


def z_at(a: RateEstimate, b: RateEstimate, at: float, correlation: float = 0.0) -> float:
    """The z at which the interval of the difference begins to hold the number `at`.

    By Ridders' method (IEEE Transactions on Circuits and Systems 26 (1979) 979–980).
    """

    def room(z: float) -> float:
        interval = difference(a, b, z, correlation)
        return max(interval.low - at, at - interval.high)

    z, low, high, room_low = 0.0, 0.0, 1.0, room(0.0)
    if room_low <= 0:
        return 0.0
    # Ends within the range may come nearer to each other again for a larger z.
    while (room_high := room(high)) > 0:
        low, high, room_low = high, 2 * high, room_high
        if low > MOST_Z:
            return MOST_Z
    for _ in range(60):
        middle = (low + high) / 2
        half = room(middle)
        new = middle + (middle - low) * half / math.sqrt(half**2 - room_low * room_high)
        for one, of_one in ((middle, half), (new, room(new))):
            if of_one > 0 and one > low:
                low, room_low = one, of_one
            elif of_one <= 0 and one < high:
                high, room_high = one, of_one
        if abs(new - z) < 1e-12:
            break
        z = new
    return min(new, MOST_Z)


def p_of(z: float) -> float:
    """The two-sided p-value of a normal z."""
    return math.erfc(z / math.sqrt(2))


def mover(a: Interval, b: Interval, correlation: float = 0.0) -> Interval:
    """The difference A − B with its interval, from the intervals of both."""
    down_a, up_a, down_b, up_b = (
        a.value - a.low,
        a.high - a.value,
        b.value - b.low,
        b.high - b.value,
    )
    difference = a.value - b.value
    if abs(difference) <= RELATIVE_ROUNDING * max(abs(a.value), abs(b.value)):
        difference = 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2))

    return Interval(difference, difference - reach(down_a, up_b), difference + reach(up_a, down_b))


def effective_settings(*deviations: Floats) -> float:
    """How many settings of equal size have as much of the variance: 1 / Σ v².

    v is a setting's share of Σ u², averaged over the models; 0 if nothing varies.
    """
    squares = [u**2 / total for u in deviations if (total := float((u**2).sum())) > 0]
    if not squares:
        return 0.0
    return 1 / float((np.mean(squares, axis=0) ** 2).sum())


def shrunk_correlation(u_a: Floats, u_b: Floats) -> float:
    """The correlation of two models' contributions by setting, shrunk; 0 where one has none.

    The contributions are about their own means: u = Σ_k a_k (h − r·c) / C.
    """
    spread = math.sqrt(float((u_a**2).sum()) * float((u_b**2).sum()))
    if spread == 0:
        return 0.0
    n = effective_settings(u_a, u_b)
    # Rounding may leave one setting's share below 1.
    return float((u_a * u_b).sum()) / spread * max(0.0, n - 1) / (n + 1)


def p_above(a: RateEstimate, b: RateEstimate, bound: float, correlation: float = 0.0) -> float:
    """The one-sided p-value of: A − B is above the bound."""
    half = p_of(z_at(a, b, bound, correlation)) / 2
    return half if a.range * a.rate - b.range * b.rate > bound else 1 - half


def drop_p_value(
    new: RateEstimate, old: RateEstimate, margin: float, p: float, correlation: float = 0.0
) -> float:
    """The one-sided p-value of: from old to new the value fell by more than the margin.

    A fall of that size is no less surprising than the difference itself, of two-sided p-value `p`.
    """
    return max(p_above(old, new, margin, correlation), p / 2)


def equivalence_p_value(
    a: RateEstimate, b: RateEstimate, margin: float, correlation: float = 0.0
) -> float:
    """The p-value of: A − B is within ± the margin."""
    above = p_above(a, b, -margin, correlation)
    return max(above, p_above(b, a, -margin, correlation))


def minimum_detectable_drop(
    a: RateEstimate,
    b: RateEstimate,
    margin: float,
    level: float,
    *,
    power: float = 0.8,
    correlation: float = 0.0,
) -> float | None:
    """The fall from B to A that a test of "fell by more than the margin" sees with `power`.

    A fall d is seen so often where it is beyond the margin by the interval's reach at the level and
    z of the power times its standard error, both at B's value and that value less d. None if even
    a fall to 0 would not be.
    """
    normal = NormalDist()
    z_level, z_power = normal.inv_cdf(1 - level), normal.inv_cdf(power)
    before = b.range * b.rate

    def is_seen(fall: float) -> bool:
        after = a.at(min(1.0, max(0.0, (before - fall) / a.range)))
        change = difference(after, b, z_level, correlation)
        error_a, error_b = (
            rate.range * (rate.rate * (1 - rate.rate) / rate.effective_items) ** 0.5
            for rate in (after, b)
        )
        variance = error_a**2 + error_b**2 - 2 * correlation * error_a * error_b
        return change.high + z_power * math.sqrt(max(0.0, variance)) < -margin

    low, high = 0.0, before
    if not is_seen(high):
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if is_seen(middle) else (middle, high)
    return high
