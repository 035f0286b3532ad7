"""How surprising a sum of differences is, if each could as well have had the other sign.

Two models that behave alike give each setting's difference x_s either sign with equal probability.
T = Σ x_s is compared with Σ ±x_s over the patterns of signs: mid-p = P(|T*| > |T|) + ½ P(|T*| =
|T|). With one item a setting it is McNemar's mid-p test (M. W. Fagerland, S. Lydersen and
P. Laake, BMC Med. Res. Methodol. 13 (2013) 91).

Few settings have few patterns, and all are counted: each half's sums, sorted, and then pairs of
them (E. Horowitz and S. Sahni, Journal of the ACM 21 (1974) 277–292). Of more settings patterns
are drawn. P-values below `SMALL_P`, which draws can hardly show, are estimated by tilted draws
(`tails`).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pipeline.statistics.tails import TIE, Floats, tails

# Up to so many settings all patterns are counted; beyond, patterns are drawn.
EXACT_SETTINGS = 24
DRAWS = 20_000
MANY_SETTINGS = 2000
# Below it a p-value would rest on a handful of the patterns drawn.
SMALL_P = 0.001
# A sum of random signs is so many standard deviations off with less than that probability
# (W. Hoeffding, Journal of the American Statistical Association 58 (1963) 13–30).
_SURELY_SMALL = math.sqrt(2 * math.log(2 / SMALL_P))
_MOST_COUNTED = 1_000
"""Of so many throws of a coin the heads are counted exactly, as quickly as scipy computes them."""
_SEED = 20_231_114
_AT_ONCE = 1000
_MOST_NUMBERS = 4_000_000


def sign_flip_ps(x: Floats) -> Floats:
    """The mid-p value of each row's sum, in 0..1; 1 where nothing differs.

    A row has what each setting adds to the difference, 0 where it adds nothing.
    """
    p_values = np.ones(len(x), np.float64)
    n_differing = np.count_nonzero(x, axis=1)
    size = np.abs(x).max(axis=1, initial=0.0)
    # Of one size all of them, as where a game is one trial, they are told by their number.
    is_count = (n_differing * size - np.abs(x).sum(axis=1)) <= TIE * size
    is_count &= n_differing > 0
    for row in np.flatnonzero(is_count):
        p_values[row] = _mcnemar(int((x[row] > 0).sum()), int(n_differing[row]))
    is_few = (n_differing <= EXACT_SETTINGS) & (n_differing > 0)
    for row in np.flatnonzero(is_few & ~is_count):
        p_values[row] = all_signs_p(x[row][x[row] != 0])
    is_beyond = (n_differing > EXACT_SETTINGS) & ~is_count
    z = np.abs(x.sum(axis=1)) / np.sqrt(np.maximum((x**2).sum(axis=1), 1e-300))
    is_sampled = is_beyond & (n_differing <= MANY_SETTINGS)
    is_drawn = is_sampled & (z < _SURELY_SMALL)
    if is_drawn.any():
        p_values[is_drawn] = _drawn_ps(x[is_drawn])
    is_many = (n_differing > MANY_SETTINGS) & ~is_count
    for row in np.flatnonzero(is_many):
        p_values[row] = math.erfc(float(z[row]) / math.sqrt(2))
    is_tail = is_sampled & (~is_drawn | (p_values < SMALL_P))
    rows = np.flatnonzero(is_tail)
    for start in range(0, len(rows), at_once := max(1, _MOST_NUMBERS // max(1, x.shape[1]))):
        part = rows[start : start + at_once]
        p_values[part] = _tail_ps(x[part])
    return p_values


def _mcnemar(n_for: int, n: int) -> float:
    """McNemar's mid-p value of n differences, so many of them in favour."""
    least = min(n_for, n - n_for)
    below, at = _few_heads(least, n) if n <= _MOST_COUNTED else _many_heads(least, n)
    return 1 - at / 2 if 2 * least == n else 2 * below + at


def _few_heads(k: int, n: int) -> tuple[float, float]:
    """The probabilities of less than k heads in n throws of a coin, and of k: exact."""
    below, at = 0, 1
    for i in range(k):
        below += at
        at = at * (n - i) // (i + 1)
    return below / 2**n, at / 2**n


def _many_heads(k: int, n: int) -> tuple[float, float]:
    """The same of many throws."""
    from scipy.stats import binom  # its import alone takes half a second of the processor

    return float(binom.cdf(k - 1, n, 0.5)), float(binom.pmf(k, n, 0.5))


def all_signs_p(x: Floats) -> float:
    """The mid-p value of the sum, over all patterns of signs."""
    half = len(x) // 2
    one, other = _all_sums(x[:half]), np.sort(_all_sums(x[half:]))
    observed, slack = abs(float(x.sum())), TIE * float(np.abs(x).sum())
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


def _drawn_ps(x: Floats) -> Floats:
    """Of each row how its sum is among those of drawn signs."""
    total = x.sum(axis=1)
    observed, slack = np.abs(total), TIE * np.abs(x).sum(axis=1)
    n, n_more, n_equal = 0, np.zeros(len(x)), np.zeros(len(x))
    for is_plus in _drawn_signs(x.shape[1]):
        beyond = np.abs(2 * (is_plus.astype(np.float64) @ x.T) - total) - observed
        n += len(is_plus)
        n_more += (beyond > slack).sum(axis=0)
        n_equal += (np.abs(beyond) <= slack).sum(axis=0)
    return np.asarray((n_more + n_equal / 2) / n, np.float64)


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


def _tail_ps(x: Floats) -> Floats:
    """Twice the tail beyond each row's sum: the sums under random signs are symmetric."""
    total = np.abs(x.sum(axis=1))
    return np.minimum(1.0, 2 * tails(np.stack([x, -x], axis=1), total))
