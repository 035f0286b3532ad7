"""Comparison of two models' values: the difference, its confidence interval, and p-values.

Used by `statistics.pairs` and by the reports that compare models or states of a lake. The functions
take rates and arrays, and depend on no metric and no lake.

The interval of a difference is computed from the intervals of both values by MOVER. With the
distances l_A = A − low_A, u_A = high_A − A (and the same for B) and the correlation ρ of the
models' contributions by setting,

    low  = A − B − √(l_A² − 2ρ l_A u_B + u_B²)
    high = A − B + √(u_A² − 2ρ u_A l_B + l_B²)

Sources: R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890 (method 10, for ρ = 0) and
2635–2650 (paired data); G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693–1702. The
correlation is multiplied by (n−1)/(n+1) for n effective settings. This factor is this project's own
choice, because two settings with nearly all of the variance correlate at ±1 for any two models.

Reported differences use the interval ends of `statistics.intervals`. The search for a significance
level uses Wilson's ends (E. B. Wilson, JASA 22 (1927) 209–212) instead, because they have a closed
formula for every z and are nearly the same.

Tests against a margin (equivalence, drop beyond a margin, detectable drop) are one-sided and use
the same interval. The p-value of "the difference is above b" is half the significance level at
which one end of the interval reaches b. Two models are equivalent within a margin m if both
one-sided tests ("above −m" and "below m") are significant, so the larger p-value counts (D. J.
Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657–680).
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

# The sign-flip test.
#
# If two models behave alike, each setting's difference x has either sign with equal probability.
# The sum T of x is compared with S = Σ ±x over all patterns of signs: mid-p = P(|S| > |T|) + ½
# P(|S| = |T|). With one item per setting this is McNemar's mid-p test (M. W. Fagerland, S. Lydersen
# and P. Laake, BMC Med. Res. Methodol. 13 (2013) 91). The test uses no random numbers, so p depends
# only on x.
#
# If there are few settings, all patterns are counted: the sums of each half are sorted and then
# paired (E. Horowitz and S. Sahni, Journal of the ACM 21 (1974) 277–292). If there are more, the
# tail is computed from the characteristic function of S (J. Gil-Pelaez, Biometrika 38 (1951)
# 481–482). With z = c + it and exp K(z) = Π cosh(zx),
#
#     P(S > T) + ½ P(S = T) = 1/π ∫ Re exp(K(z) − zT) / z dt,  t from 0 to ∞
#
# for any c > 0. If K'(c) = T (the saddle point), the integrand is as small as the tail, so no
# digits are lost (R. Lugannani and S. Rice, Advances in Applied Probability 12 (1980) 475–490). The
# integral is computed as a sum over t = 0, Δ, 2Δ, …, with half of the first term. Such a sum
# confuses S with S ± 2π/Δ (R. B. Davies, Biometrika 60 (1973) 415–417), so Δ is chosen so small
# that the error is 10⁻¹² of the tail. If all sums lie on a lattice of width s, the sum is exact
# with ½ s / tanh(½ s z) instead of 1 / z.
#
# If no small number of settings dominates, S is nearly normal. With n = (Σx²)² / Σx⁴ effective
# settings and Z = T / √Σx², p is the two-sided p-value of Z + (Z³ − 3Z) / 12n (E. A. Cornish and
# R. A. Fisher, Revue de l'Institut International de Statistique 5 (1938) 307–320).

Floats = NDArray[np.float64]

MAX_EXACT_SETTINGS: Final = 24
"""Up to this number of settings all patterns are counted, unless the sums lie on a lattice."""
MIN_NORMAL_SETTINGS: Final = 300
"""From this number of effective settings on, the sum is treated as nearly normal, unless all
differences have one size."""
# Sums are equal if they differ by at most this share of the largest sum.
_TIE_TOLERANCE: Final = 1e-9
# Minimum width of the lattice, as a share of the largest difference.
_MIN_STEP: Final = 1e-3
# The omitted share of a tail is exp(−this).
_NEGLIGIBLE_EXPONENT: Final = 30.0
# The smallest differences are replaced by normal noise, as long as their part of 1/n is at most
# this share. This changes p by less than .0001, and keeps the time short if there are many
# settings.
_MAX_NOISE_SHARE: Final = 3e-6
# Without a lattice, the sum over t has at most the first number of terms, or as many as fit into an
# array of the second size if these are more. It ends earlier if all terms of a batch, which has the
# third number of terms, are smaller than the last number. The error is at most 2 % of p.
_MIN_TERMS, _MAX_ARRAY_SIZE, _MIN_BATCH_TERMS, _NEGLIGIBLE_TERM = 256, 20_000, 32, 1e-12
# With a larger lattice (terms times sizes), the sum without a lattice is as good.
_MAX_LATTICE_SIZE: Final = 500_000
_NEWTON_ITERATIONS, _NEWTON_TOLERANCE = 30, 1e-3


def sign_flip_p_value(setting_differences: Floats) -> float:
    """Test whether two models differ, by flipping the signs of the differences in their settings.

    The test compares the sum of the differences with the sums over all patterns of signs.

    Args:
        setting_differences: What each setting adds to the difference of two models' values.

    Returns:
        The two-sided mid-p value, between 0 and 1; 1 if no setting differs.

    References:
        Fagerland, Lydersen and Laake (2013); the method is described at the top of this module.
    """
    magnitudes = np.abs(setting_differences)
    largest = float(magnitudes.max(initial=0.0))
    # The rounding error of two terms that cancel is not a difference.
    magnitudes[magnitudes <= _TIE_TOLERANCE * largest] = 0.0
    total, max_sum, n_nonzero = (
        abs(float(setting_differences.sum())),
        float(magnitudes.sum()),
        np.count_nonzero(magnitudes),
    )
    if n_nonzero == 0:
        return 1.0
    squares = magnitudes**2
    variance = float(squares.sum())
    n_effective = variance**2 / float((squares * squares).sum())
    # If every game is one trial, all differences have one size, and p can be exact for any number.
    if (
        n_effective >= MIN_NORMAL_SETTINGS
        and n_nonzero * largest - max_sum > _TIE_TOLERANCE * max_sum
    ):
        z = total / math.sqrt(variance)
        return math.erfc((z + (z**3 - 3 * z) / (12 * n_effective)) / math.sqrt(2))
    if total >= max_sum * (1 - _TIE_TOLERANCE):
        return 0.5**n_nonzero
    total = total / largest if total > max_sum * _TIE_TOLERANCE else 0.0
    sizes, counts = np.unique((magnitudes[magnitudes > 0] / largest).round(9), return_counts=True)
    if step := _common_divisor_or_zero(sizes):
        above, equal = _probabilities_of_larger_and_equal_sums(
            (sizes / step).round(), counts, round(total / step), 2.0
        )
        return 1 - equal / 2 if total == 0 else min(1.0, 2 * above)
    if n_nonzero <= MAX_EXACT_SETTINGS:
        return exact_sign_flip_p_value(setting_differences[magnitudes > 0])
    return min(1.0, 2 * _probabilities_of_larger_and_equal_sums(sizes, counts, total)[0])


def _common_divisor_or_zero(sizes: Floats) -> float:
    """Return the largest number of which all sizes are multiples, or 0 if it is too small.

    Notes:
        The largest size is 1. The number is found by Euclid's algorithm.
    """
    step = 1.0
    for size in sizes:
        remainder = float(size)
        while remainder > _MIN_STEP / 10:
            remainder, step = abs(step - remainder * round(step / remainder)), remainder
        if step < _MIN_STEP:
            return 0.0
    multiples = sizes / step
    return step if np.abs(multiples - multiples.round()).max() < _MIN_STEP else 0.0


def _probabilities_of_larger_and_equal_sums(
    sizes: Floats, counts: NDArray[np.int64], total: float, step: float = 0.0
) -> tuple[float, float]:
    """Return the probabilities that a sum with random signs exceeds or equals the observed sum.

    Both probabilities are computed by numerical integration.

    Args:
        sizes: The distinct sizes of the differences.
        counts: The number of differences of each size.
        total: The observed sum T, not negative.
        step: The distance between neighboring sums; 0 if the sums lie on no lattice.

    Returns:
        P(S > T) + ½ P(S = T), and P(S = T), which is only computed if the sums lie on a lattice.
    """
    variance, max_sum = float(counts @ sizes**2), float(counts @ sizes)
    is_noise = np.cumsum(counts * sizes**4) <= (0 if step else _MAX_NOISE_SHARE * variance**2)
    noise = float(counts[is_noise] @ sizes[is_noise] ** 2)
    sizes, counts = sizes[~is_noise], counts[~is_noise]
    saddle_point = _saddle_point_of_tail_integral(sizes, counts, noise, total)
    log_tail = saddle_point * total - _cumulant_function_of_signed_sum(
        saddle_point, sizes, counts, noise
    )
    # The integrand has a pole at 0, so keep a distance from it.
    tilt = max(saddle_point, 2 / math.sqrt(variance))
    # The tail of S is not heavier than that of a normal variable with the same variance (W.
    # Hoeffding, Journal of the American Statistical Association 58 (1963) 13–30).
    max_distance = tilt * variance + math.sqrt(
        (tilt * variance) ** 2 + 2 * _NEGLIGIBLE_EXPONENT * variance
    )
    period = max(
        (_NEGLIGIBLE_EXPONENT + log_tail) / tilt, min(max_sum + step, max_distance) - total
    )
    n_terms = max(_MIN_TERMS, _MAX_ARRAY_SIZE // len(sizes))
    n_steps = math.ceil(period / (2 * step)) + 1 if step else 0
    if 0 < n_steps * len(sizes) <= _MAX_LATTICE_SIZE:
        n_terms, period = n_steps, (2 * n_steps - 1) * step
    else:
        step = 0.0
    width, tanh_sizes = 2 * math.pi / period, 1j * np.tanh(tilt * sizes)[:, np.newaxis]
    above = equal = 0.0
    batch_size = max(_MIN_BATCH_TERMS, _MAX_ARRAY_SIZE // len(sizes)) if step else _MIN_BATCH_TERMS
    for start in range(0, n_terms, batch_size):
        t = width * np.arange(start, min(start + batch_size, n_terms))
        angles, z = np.outer(sizes, t), tilt + 1j * t
        # cosh(zx) = cosh(cx) · (cos(tx) + i tanh(cx) sin(tx))
        factors = np.cos(angles) + tanh_sizes * np.sin(angles)
        if counts.max(initial=1) > 1:
            factors **= counts[:, np.newaxis]
        phi = factors.prod(axis=0) * np.exp(noise / 2 * (z**2 - tilt**2) - 1j * t * total)
        phi[t == 0] /= 2
        above += float((phi * step / 2 / np.tanh(step / 2 * z) if step else phi / z).real.sum())
        equal += float(phi.real.sum()) * step
        if not step and np.abs(phi).max() < _NEGLIGIBLE_TERM:
            break
    scale = (
        math.exp(_cumulant_function_of_signed_sum(tilt, sizes, counts, noise) - tilt * total)
        * width
        / math.pi
    )
    return scale * above, scale * equal


def _saddle_point_of_tail_integral(
    sizes: Floats, counts: NDArray[np.int64], noise_variance: float, total: float
) -> float:
    """Return the approximate saddle point of the integral for the tail, by Newton's method.

    Notes:
        It is the solution c of K'(c) = T. K' is concave, so no step overshoots.
    """
    c = total / (float(counts @ sizes**2) + noise_variance)
    for _ in range(_NEWTON_ITERATIONS):
        tanh_sizes = np.tanh(c * sizes)
        gap = total - float(counts @ (sizes * tanh_sizes)) - noise_variance * c
        increment = gap / (float(counts @ (sizes**2 * (1 - tanh_sizes**2))) + noise_variance)
        c += increment
        if increment <= _NEWTON_TOLERANCE * c:
            break
    return c


def _cumulant_function_of_signed_sum(
    tilt: float, sizes: Floats, counts: NDArray[np.int64], noise_variance: float
) -> float:
    """Return the cumulant function of the sum with random signs.

    Notes:
        K(c) is the logarithm of the mean of exp(cS).
    """
    scaled_sizes = tilt * sizes
    log_cosh = scaled_sizes + np.log1p(np.exp(-2 * scaled_sizes)) - math.log(2)
    return float(counts @ log_cosh) + noise_variance * tilt**2 / 2


def exact_sign_flip_p_value(nonzero_differences: Floats) -> float:
    """Return the p-value of the sign-flip test, computed from all possible patterns of signs.

    Args:
        nonzero_differences: At most about `MAX_EXACT_SETTINGS` numbers n, because the time and
            memory grow with 2^(n/2).

    Returns:
        The two-sided mid-p value.

    References:
        Horowitz and Sahni (1974).
    """
    half = len(nonzero_differences) // 2
    first_sums, second_sums = (
        _sums_over_sign_patterns(nonzero_differences[:half]),
        np.sort(_sums_over_sign_patterns(nonzero_differences[half:])),
    )
    observed, tolerance = (
        abs(float(nonzero_differences.sum())),
        _TIE_TOLERANCE * float(np.abs(nonzero_differences).sum()),
    )
    # The sums of both halves are symmetric about 0, so both tails have the same number of sums.
    min_second_sums = observed - np.sort(first_sums)
    n_above = len(second_sums) - np.searchsorted(
        second_sums, min_second_sums + tolerance, side="right"
    )
    n_at_least = len(second_sums) - np.searchsorted(
        second_sums, min_second_sums - tolerance, side="left"
    )
    if observed <= tolerance:
        # Both tails begin at 0, so sums equal to 0 would be counted twice.
        return 1.0 - float((n_at_least - n_above).sum()) / 2 / (len(first_sums) * len(second_sums))
    return float((n_above + n_at_least).sum()) / (len(first_sums) * len(second_sums))


def _sums_over_sign_patterns(numbers: Floats) -> Floats:
    """Return the sum of the numbers for each combination of plus and minus signs."""
    sums = np.zeros(1, np.float64)
    for value in numbers:
        sums = np.concatenate([sums + value, sums - value])
    return sums.astype(np.float64)


# Multiple comparisons: adjusted p-values and the compact letter display.


@overload
def is_significant(p: float, confidence: float) -> bool: ...
@overload
def is_significant(p: pl.Expr, confidence: float) -> pl.Expr: ...
def is_significant(p: float | pl.Expr, confidence: float) -> bool | pl.Expr:
    """Return whether a p-value is significant at a confidence level.

    It is significant if it is at most 1 − confidence. A rounding error is tolerated: in floats
    1 − 0.9 is a little less than 0.1, and 6 · 0.05 is more than 0.3.

    Args:
        p: The p-value, or an expression of p-values.
        confidence: The confidence level, between 0 and 1.

    Returns:
        A boolean, or a boolean expression if `p` is an expression.
    """
    return p <= 1 - confidence + RELATIVE_ROUNDING


def adjust_holm(p_values: pl.Expr, family_columns: Sequence[str] = ()) -> pl.Expr:
    """Adjust p-values for multiple comparisons by Holm's method.

    Args:
        p_values: The unadjusted p-values; nulls are not counted and stay null.
        family_columns: The columns that identify a family; without columns all rows are one family.

    Returns:
        The adjusted p-values, at most 1.

    References:
        S. Holm, Scandinavian Journal of Statistics 6 (1979) 65–70.
    """
    stepwise = (p_values.count() - p_values.rank("min") + 1) * p_values
    return (
        stepwise.cum_max().clip(upper_bound=1).over(family_columns or pl.lit(0), order_by=p_values)
    )


def compact_letters(is_significantly_different: NDArray[np.bool_]) -> list[str]:
    """Return letters for each item, so that items without a significant difference share a letter.

    Args:
        is_significantly_different: A square matrix; the entries above the diagonal say which pairs
            differ significantly.

    Returns:
        A string of letters for each item. The first item has the letter `a`, so sort the items by
        their value before.

    References:
        The insert-and-absorb algorithm: H.-P. Piepho, J. Computational and Graphical Statistics 13
        (2004) 456–466.
    """
    n = len(is_significantly_different)
    columns: list[frozenset[int]] = [frozenset(range(n))] if n else []
    for first, second in zip(*np.nonzero(np.triu(is_significantly_different, 1)), strict=True):
        split: set[frozenset[int]] = set()
        for column in columns:
            has_both = {int(first), int(second)} <= column
            split |= {column - {int(first)}, column - {int(second)}} if has_both else {column}
        columns = [column for column in split if not any(column < larger for larger in split)]
    ordered = sorted(columns, key=sorted)
    return [
        "".join(
            ascii_lowercase[number % 26] * (number // 26 + 1)
            for number, column in enumerate(ordered)
            if item in column
        )
        for item in range(n)
    ]


# The p-value of a larger z is 0 in floats.
MAX_Z = 40.0


class Interval(NamedTuple):
    """A value and its confidence interval.

    Attributes:
        value: The estimate.
        low: The lower end of the interval.
        high: The upper end of the interval.
    """

    value: float
    low: float
    high: float


class TermRate(NamedTuple):
    """One term of a metric's value.

    Attributes:
        share: The term's share of the range of the value, between 0 and 1.
        rate: The ratio of hits to counted items in the term.
        effective_items: The effective number of items of the term.
    """

    share: float
    rate: float
    effective_items: float


class RateEstimate(NamedTuple):
    """A metric's value as a rate between 0 and 1, with what is needed for its interval.

    Attributes:
        rate: The value divided by its range.
        effective_items: The effective number of items.
        range: The largest value that the metric can have.
        terms: The terms of the value; may be empty if there is only one.
    """

    rate: float
    effective_items: float
    range: float = 1.0
    terms: tuple[TermRate, ...] = ()

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "RateEstimate":
        """Create an estimate from a dictionary of its fields; `terms` is a list of dictionaries."""
        terms = tuple(TermRate(**term) for term in fields["terms"])
        return cls(fields["rate"], fields["effective_items"], fields["range"], terms)

    def at_rate(self, rate: float) -> "RateEstimate":
        """Return a copy of the estimate at another rate, with its terms scaled in proportion."""
        factor = rate / self.rate if self.rate > 0 else None
        terms = tuple(
            term._replace(rate=rate if factor is None else min(1.0, term.rate * factor))
            for term in self.terms
        )
        return self._replace(rate=rate, terms=terms)

    def wilson_interval(self, normal_quantile: float) -> Interval:
        """Return the value with its Wilson interval at a normal quantile, in the metric's unit.

        It is at least as wide as the interval that is combined from the intervals of the terms.
        """
        interval = wilson_interval(self.rate, self.effective_items, normal_quantile)
        if len(self.terms) > 1:
            term_intervals = [
                (term.share, wilson_interval(term.rate, term.effective_items, normal_quantile))
                for term in self.terms
            ]
            down = math.sqrt(
                sum(
                    (share * (term_interval.value - term_interval.low)) ** 2
                    for share, term_interval in term_intervals
                )
            )
            up = math.sqrt(
                sum(
                    (share * (term_interval.high - term_interval.value)) ** 2
                    for share, term_interval in term_intervals
                )
            )
            low, high = max(0.0, self.rate - down), min(1.0, self.rate + up)
            interval = Interval(self.rate, min(interval.low, low), max(interval.high, high))
        return Interval(*(self.range * end for end in interval))


def wilson_interval(rate: float, effective_items: float, z: float) -> Interval:
    """Return the Wilson interval of a rate.

    Args:
        rate: The rate, between 0 and 1.
        effective_items: The effective number of items.
        z: The normal quantile of the interval, such as 1.96 for 95 %.

    Returns:
        The rate and the ends, between 0 and 1.

    References:
        E. B. Wilson, JASA 22 (1927) 209–212.
    """
    n = effective_items
    center, variance = rate + z**2 / (2 * n), rate * (1 - rate) / n + z**2 / (4 * n**2)
    scale = 1 + z**2 / n
    half_width = z * math.sqrt(max(0.0, variance))
    low = 0.0 if rate <= 0 else (center - half_width) / scale
    return Interval(rate, low, 1.0 if rate >= 1 else (center + half_width) / scale)


def wilson_difference_interval(
    first_rate: RateEstimate,
    second_rate: RateEstimate,
    normal_quantile: float,
    correlation: float = 0.0,
) -> Interval:
    """Return the difference of two rates with an interval made from both Wilson intervals.

    Args:
        first_rate: The rate of the first model.
        second_rate: The rate of the second model.
        normal_quantile: The normal quantile of the interval.
        correlation: The correlation of both values.

    Returns:
        The difference and its interval, in the unit of the metric.
    """
    return mover_difference_interval(
        first_rate.wilson_interval(normal_quantile),
        second_rate.wilson_interval(normal_quantile),
        correlation,
    )


def smallest_z_of_interval_containing(
    first_rate: RateEstimate,
    second_rate: RateEstimate,
    difference_to_contain: float,
    correlation: float = 0.0,
) -> float:
    """Return the smallest normal quantile at which a difference's interval contains a number.

    Args:
        first_rate: The rate of the first model.
        second_rate: The rate of the second model.
        difference_to_contain: The number to contain, such as 0.
        correlation: The correlation of both values.

    Returns:
        A z between 0 and `MAX_Z`; 0 if the difference equals the number.

    References:
        Ridders' method: IEEE Transactions on Circuits and Systems 26 (1979) 979–980.
    """

    def distance_beyond_end(z: float) -> float:
        interval = wilson_difference_interval(first_rate, second_rate, z, correlation)
        return max(interval.low - difference_to_contain, difference_to_contain - interval.high)

    z_previous, low, high, distance_low = 0.0, 0.0, 1.0, distance_beyond_end(0.0)
    if distance_low <= 0:
        return 0.0
    # Double z until the interval contains the number. The ends are clipped to the range of the
    # metric, so the interval may also become narrower as z grows.
    while (distance_high := distance_beyond_end(high)) > 0:
        low, high, distance_low = high, 2 * high, distance_high
        if low > MAX_Z:
            return MAX_Z
    for _ in range(60):
        middle = (low + high) / 2
        distance_middle = distance_beyond_end(middle)
        z_new = middle + (middle - low) * distance_middle / math.sqrt(
            distance_middle**2 - distance_low * distance_high
        )
        for candidate, distance in ((middle, distance_middle), (z_new, distance_beyond_end(z_new))):
            if distance > 0 and candidate > low:
                low, distance_low = candidate, distance
            elif distance <= 0 and candidate < high:
                high, distance_high = candidate, distance
        if abs(z_new - z_previous) < 1e-12:
            break
        z_previous = z_new
    return min(z_new, MAX_Z)


def two_sided_p_value(z: float) -> float:
    """Return the two-sided p-value of a standard normal z."""
    return math.erfc(z / math.sqrt(2))


def mover_difference_interval(
    first: Interval, second: Interval, correlation: float = 0.0
) -> Interval:
    """Return the difference of two values, with an interval made from both values' intervals.

    Args:
        first: The first value and its interval.
        second: The second value and its interval.
        correlation: The correlation of both values.

    Returns:
        The difference and its interval. A difference within the rounding error is set to 0.

    References:
        Newcombe (1998); Zou and Donner (2008).
    """
    down_a, up_a, down_b, up_b = (
        first.value - first.low,
        first.high - first.value,
        second.value - second.low,
        second.high - second.value,
    )
    difference = first.value - second.value
    if abs(difference) <= RELATIVE_ROUNDING * max(abs(first.value), abs(second.value)):
        difference = 0.0

    def half_width(distance_a: float, distance_b: float) -> float:
        return math.sqrt(
            max(0.0, distance_a**2 - 2 * correlation * distance_a * distance_b + distance_b**2)
        )

    return Interval(
        difference, difference - half_width(down_a, up_b), difference + half_width(up_a, down_b)
    )


def effective_number_of_settings(*deviations: Floats) -> float:
    """Return how many equally variable settings would have the same variance as these settings.

    Args:
        *deviations: For each model one number per setting: the deviation u of its contribution from
            the expectation.

    Returns:
        1 / Σ v², where v is a setting's share of Σ u², averaged over the models; 0 if all
        deviations are 0.
    """
    squares = [u**2 / total for u in deviations if (total := float((u**2).sum())) > 0]
    if not squares:
        return 0.0
    return 1 / float((np.mean(squares, axis=0) ** 2).sum())


def shrunk_correlation(first_deviations: Floats, second_deviations: Floats) -> float:
    """Return the correlation of two models over settings, shrunk towards 0 if there are few.

    Args:
        first_deviations: The deviations of the first model from its expectation, one per setting:
            u = Σ_k a_k (h − r·c) / C.
        second_deviations: The deviations of the second model in the same settings.

    Returns:
        The correlation times (n−1)/(n+1), where n is the effective number of settings; 0 if one
        model does not vary.
    """
    norm = math.sqrt(float((first_deviations**2).sum()) * float((second_deviations**2).sum()))
    if norm == 0:
        return 0.0
    n = effective_number_of_settings(first_deviations, second_deviations)
    # A rounding error may make n a little less than 1.
    return float((first_deviations * second_deviations).sum()) / norm * max(0.0, n - 1) / (n + 1)


def p_value_of_difference_above_bound(
    first_rate: RateEstimate, second_rate: RateEstimate, bound: float, correlation: float = 0.0
) -> float:
    """Return the p-value of the one-sided test that first minus second rate is above a bound.

    Args:
        first_rate: The rate of the first model.
        second_rate: The rate of the second model.
        bound: The bound, in the unit of the metric.
        correlation: The correlation of both values.
    """
    half_p = (
        two_sided_p_value(
            smallest_z_of_interval_containing(first_rate, second_rate, bound, correlation)
        )
        / 2
    )
    return (
        half_p
        if first_rate.range * first_rate.rate - second_rate.range * second_rate.rate > bound
        else 1 - half_p
    )


def drop_p_value(
    new: RateEstimate,
    old: RateEstimate,
    margin: float,
    two_sided_p: float,
    correlation: float = 0.0,
) -> float:
    """Return the p-value of the one-sided test that a value dropped by more than a margin.

    Args:
        new: The rate after the change.
        old: The rate before the change.
        margin: The margin, in the unit of the metric.
        two_sided_p: The two-sided p-value of the difference; the result is at least half of it,
            because a drop beyond a margin is not less surprising than any difference.
        correlation: The correlation of both values.
    """
    return max(p_value_of_difference_above_bound(old, new, margin, correlation), two_sided_p / 2)


def equivalence_p_value(
    first_rate: RateEstimate, second_rate: RateEstimate, margin: float, correlation: float = 0.0
) -> float:
    """Return the p-value of the test that two values differ by less than a margin.

    Args:
        first_rate: The rate of the first model.
        second_rate: The rate of the second model.
        margin: The margin, in the unit of the metric.
        correlation: The correlation of both values.

    Returns:
        The larger p-value of the tests that the difference is above −margin and below margin.

    References:
        Schuirmann (1987).
    """
    p_above_lower = p_value_of_difference_above_bound(first_rate, second_rate, -margin, correlation)
    return max(
        p_above_lower,
        p_value_of_difference_above_bound(second_rate, first_rate, -margin, correlation),
    )


def minimum_detectable_drop(
    new: RateEstimate,
    old: RateEstimate,
    margin: float,
    level: float,
    *,
    power: float = 0.8,
    correlation: float = 0.0,
) -> float | None:
    """Return the smallest drop of a value that a test detects with a given probability.

    The test is the one of `drop_p_value`. It detects a drop if the interval of the change lies
    beyond the margin even after z(power) standard errors are added to its upper end.

    Args:
        new: The model after the change: its effective numbers of items; its rate is varied.
        old: The rate before the change.
        margin: The margin, in the unit of the metric.
        level: The significance level of the one-sided test.
        power: The probability of detection, between 0 and 1.
        correlation: The correlation of both values.

    Returns:
        The drop in the unit of the metric; None if even a drop to 0 is not detected.
    """
    normal = NormalDist()
    z_level, z_power = normal.inv_cdf(1 - level), normal.inv_cdf(power)
    value_before = old.range * old.rate

    def is_detected(drop: float) -> bool:
        after = new.at_rate(min(1.0, max(0.0, (value_before - drop) / new.range)))
        change = wilson_difference_interval(after, old, z_level, correlation)
        error_after, error_before = (
            rate.range * (rate.rate * (1 - rate.rate) / rate.effective_items) ** 0.5
            for rate in (after, old)
        )
        variance = error_after**2 + error_before**2 - 2 * correlation * error_after * error_before
        return change.high + z_power * math.sqrt(max(0.0, variance)) < -margin

    low, high = 0.0, value_before
    if not is_detected(high):
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if is_detected(middle) else (middle, high)
    return high
