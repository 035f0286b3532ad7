"""Two models on the same settings: the difference, its interval, and how surprising it is.

Of each setting s, replays added up, h hits of c counted for either model; of each term k with its
share a_k of the metric's range W:

    w_s = (c_A + c_B) / 2 where both counted something, else 0
    x_s = Σ_k a_k · w_s (h_A/c_A − h_B/c_B) / Σ w_s

**p-value.** Were the models alike, each x_s could as well have had the other sign. T = Σ x_s is
laid beside Σ ±x_s over random signs: mid-p = P(|T*| > |T|) + ½ P(|T*| = |T|), over all patterns
where few settings differ, drawn where more do, and normal over many. With one item a setting it is
McNemar's mid-p test (M. W. Fagerland, S. Lydersen and P. Laake, BMC Med. Res. Methodol. 13 (2013)
91). It tests that two models *behave* alike; equal rates with unlike streakiness are another
matter.

**Interval** of the difference A − B, from the intervals of both: MOVER. With the distances
l_A = A − low_A, u_A = high_A − A, and so on, and the correlation ρ of their contributions,

    low  = A − B − √(l_A² − 2ρ l_A u_B + u_B²)
    high = A − B + √(u_A² − 2ρ u_A l_B + l_B²)

R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10 at ρ = 0, and 2635–2650 for
pairs; G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693–1702. ρ is shrunk by
(n−1)/(n+1) over n settings, which is this project's own choice.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# 2^14 patterns of signs are gone through one by one; beyond, so many are drawn.
EXACT_SETTINGS = 14
DRAWS = 20_000
MANY_SETTINGS = 2000
_SEED = 20_231_114
_TIE = 1e-9
_AT_ONCE = 1000
# Beyond it a normal p-value is 0.
MOST_Z = 40.0


class Interval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


def sign_flip_ps(x: Floats) -> Floats:
    """The mid-p value of each row's sum, in 0..1; 1 where nothing differs.

    A row has what each setting adds to the difference, 0 where it adds nothing.
    """
    p_values = np.ones(len(x), np.float64)
    n_differing = np.count_nonzero(x, axis=1)
    size = np.abs(x).max(axis=1, initial=0.0)
    # Of one size all of them, as where a game is one trial, they are told by their number.
    is_count = (n_differing * size - np.abs(x).sum(axis=1)) <= _TIE * size
    is_count &= n_differing > 0
    for row in np.flatnonzero(is_count):
        p_values[row] = _mcnemar(int((x[row] > 0).sum()), int(n_differing[row]))
    is_few = (n_differing <= EXACT_SETTINGS) & (n_differing > 0)
    for row in np.flatnonzero(is_few & ~is_count):
        differing = x[row][x[row] != 0]
        p_values[row] = _mid_p([_all_sums(differing)[:, np.newaxis]], differing[np.newaxis])[0]
    is_many = n_differing > MANY_SETTINGS
    drawn = x[is_drawn := (n_differing > EXACT_SETTINGS) & ~is_many & ~is_count]
    if len(drawn):
        p_values[is_drawn] = _mid_p(_drawn_sums(drawn), drawn)
    for row in np.flatnonzero(is_many & ~is_count):
        z = abs(float(x[row].sum())) / math.sqrt(float((x[row] ** 2).sum()))
        p_values[row] = math.erfc(z / math.sqrt(2))
    return p_values


def _mcnemar(n_for: int, n: int) -> float:
    """McNemar's mid-p value of n differences, so many of them in favour."""
    from scipy.stats import binom

    least = min(n_for, n - n_for)
    if 2 * least == n:
        return 1 - float(binom.pmf(least, n, 0.5)) / 2
    return float(2 * binom.cdf(least, n, 0.5) - binom.pmf(least, n, 0.5))


def _mid_p(blocks: Iterable[Floats], x: Floats) -> Floats:
    """Of each row of x: how its sum lies among those of random signs, a column of a block each."""
    observed, slack = np.abs(x.sum(axis=1)), _TIE * np.abs(x).sum(axis=1)
    n, n_more, n_equal = 0, np.zeros(len(x)), np.zeros(len(x))
    for sums in blocks:
        beyond = np.abs(sums) - observed
        n += len(sums)
        n_more += (beyond > slack).sum(axis=0)
        n_equal += (np.abs(beyond) <= slack).sum(axis=0)
    return np.asarray((n_more + n_equal / 2) / n, np.float64)


def _all_sums(x: Floats) -> Floats:
    """The sums over every pattern of signs."""
    sums = np.zeros(1, np.float64)
    for one in x:
        sums = np.concatenate([sums + one, sums - one])
    return sums.astype(np.float64)


def _drawn_sums(x: Floats) -> Iterator[Floats]:
    """The sums of each row under random signs, a column a row, in blocks."""
    total = x.sum(axis=1)
    for is_plus in _drawn_signs(x.shape[1]):
        yield 2 * (is_plus.astype(np.float64) @ x.T) - total


def _drawn_signs(n: int) -> Iterator[NDArray[np.bool_]]:
    """Patterns of n signs, always the same ones, in blocks: whether each is a plus.

    The first signs of a pattern are the same for every n.
    """
    # All at once they would take most of the time to make room for.
    for start in range(0, DRAWS, _AT_ONCE):
        generator = np.random.PCG64([_SEED, start])
        # A word of 64 bits is two numbers of 32, the first bit of each a sign: asked for as numbers
        # from 0 to 1 they would be the same signs, and take twice as long.
        words = generator.random_raw(_AT_ONCE * n // 2).astype("<u8", copy=False)
        is_plus = words.view("<i4").reshape(n, _AT_ONCE).T < 0
        if start == 0:
            is_plus[0] = True  # what was observed is among them, so that no p-value is 0
        yield is_plus


class Rate(NamedTuple):
    """A value's share of its range, in 0..1, its effective number of items, and that range."""

    rate: float
    effective_items: float
    range: float = 1.0

    def interval(self, z: float) -> Interval:
        return Interval(*(self.range * end for end in wilson(self.rate, self.effective_items, z)))


def wilson(rate: float, effective_items: float, z: float) -> Interval:
    """Wilson's interval of a rate in 0..1 over an effective number of items."""
    n = effective_items
    middle, spread = rate + z**2 / (2 * n), rate * (1 - rate) / n + z**2 / (4 * n**2)
    scale = 1 + z**2 / n
    half = z * math.sqrt(max(0.0, spread))
    low = 0.0 if rate <= 0 else (middle - half) / scale
    return Interval(rate, low, 1.0 if rate >= 1 else (middle + half) / scale)


def difference(a: Rate, b: Rate, z: float, correlation: float = 0.0) -> Interval:
    """The difference A − B with MOVER's interval at z."""
    return mover(a.interval(z), b.interval(z), correlation)


def z_at(a: Rate, b: Rate, at: float, correlation: float = 0.0) -> float:
    """The z at which the interval of the difference begins to hold the number `at`."""
    low, high = 0.0, MOST_Z
    for _ in range(60):
        middle = (low + high) / 2
        found = difference(a, b, middle, correlation)
        low, high = (low, middle) if found.low <= at <= found.high else (middle, high)
    return high


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

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2))

    return Interval(difference, difference - reach(down_a, up_b), difference + reach(up_a, down_b))


def shrunk_correlation(u_a: Floats, u_b: Floats) -> float:
    """The correlation of two models' contributions by setting, shrunk; 0 where one has none.

    The contributions are about their own means: u = Σ_k a_k (h − r·c) / C.
    """
    n = u_a.size
    spread = math.sqrt(float((u_a**2).sum()) * float((u_b**2).sum()))
    if n < 2 or spread == 0:
        return 0.0
    return float((u_a * u_b).sum()) / spread * (n - 1) / (n + 1)
