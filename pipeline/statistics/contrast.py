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
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from pipeline.statistics.flips import Floats
from pipeline.statistics.sums import ROUNDING

# Beyond it a normal p-value is 0.
MOST_Z = 40.0
_CLOSE = 1e-12


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


class Rate(NamedTuple):
    """A value's share of its range, in 0..1, its effective number of items, that range, its terms.

    A value of one term needs none of `terms`.
    """

    rate: float
    effective_items: float
    range: float = 1.0
    terms: tuple[Part, ...] = ()

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Rate":
        """The rate of a row with these fields, its terms a list of such rows."""
        terms = tuple(Part(**term) for term in fields["terms"])
        return cls(fields["rate"], fields["effective_items"], fields["range"], terms)

    def at(self, rate: float) -> "Rate":
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


def difference(a: Rate, b: Rate, z: float, correlation: float = 0.0) -> Interval:
    """The difference A − B with MOVER's interval at z, of Wilson's ends."""
    return mover(a.interval(z), b.interval(z), correlation)


def z_at(a: Rate, b: Rate, at: float, correlation: float = 0.0) -> float:
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
        if abs(new - z) < _CLOSE:
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
    if abs(difference) <= ROUNDING * max(abs(a.value), abs(b.value)):
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


def p_above(a: Rate, b: Rate, bound: float, correlation: float = 0.0) -> float:
    """The one-sided p-value of: A − B is above the bound."""
    half = p_of(z_at(a, b, bound, correlation)) / 2
    return half if a.range * a.rate - b.range * b.rate > bound else 1 - half


def p_fall(new: Rate, old: Rate, margin: float, p: float, correlation: float = 0.0) -> float:
    """The one-sided p-value of: from old to new the value fell by more than the margin.

    A fall of that size is no less surprising than the difference itself, of two-sided p-value `p`.
    """
    return max(p_above(old, new, margin, correlation), p / 2)


def p_alike(a: Rate, b: Rate, margin: float, correlation: float = 0.0) -> float:
    """The p-value of: A − B is within ± the margin."""
    above = p_above(a, b, -margin, correlation)
    return max(above, p_above(b, a, -margin, correlation))


def fall_seen(
    a: Rate, b: Rate, margin: float, level: float, *, power: float = 0.8, correlation: float = 0.0
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
        error = _standard_error(after, b, correlation)
        return change.high + z_power * error < -margin

    low, high = 0.0, before
    if not is_seen(high):
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if is_seen(middle) else (middle, high)
    return high


def _standard_error(a: Rate, b: Rate, correlation: float) -> float:
    error_a, error_b = (
        rate.range * (rate.rate * (1 - rate.rate) / rate.effective_items) ** 0.5 for rate in (a, b)
    )
    return float(max(0.0, error_a**2 + error_b**2 - 2 * correlation * error_a * error_b) ** 0.5)
