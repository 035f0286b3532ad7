"""How surprising a sum of differences is, if each could as well have had the other sign.

Two models that behave alike give each setting's difference x either sign with equal probability.
The sum T of x is compared with S = Σ ±x over all patterns of signs: mid-p = P(|S| > |T|) +
½ P(|S| = |T|). With one item a setting it is McNemar's mid-p test (M. W. Fagerland, S. Lydersen and
P. Laake, BMC Med. Res. Methodol. 13 (2013) 91). Nothing is drawn, so p depends on nothing but x.

Few settings of unlike sizes have few patterns, and all are counted: each half's sums, sorted, and
then pairs of them (E. Horowitz and S. Sahni, Journal of the ACM 21 (1974) 277–292). Of more, the
tail is found from S's characteristic function (J. Gil-Pelaez, Biometrika 38 (1951) 481–482). With
z = c + it and exp K(z) = Π cosh(zx),

    P(S > T) + ½ P(S = T) = 1/π ∫ Re exp(K(z) − zT) / z dt,  t from 0 to ∞

for any c > 0. Where K'(c) = T the integrand is as small as the tail, so no digits are lost (R.
Lugannani and S. Rice, Advances in Applied Probability 12 (1980) 475–490). The integral is a sum
over t = 0, Δ, 2Δ, …, with half of the first. Such a sum takes S for S ± 2π/Δ (R. B. Davies,
Biometrika 60 (1973) 415–417), so Δ is small enough to make that 10⁻¹² of the tail. Where all sums
are steps of s apart, ½ s / tanh(½ s z) in place of 1 / z makes it exact.

Where no few settings weigh much, S is nearly normal. With n = (Σx²)² / Σx⁴ effective settings and
Z = T / √Σx², p is the two-sided p-value of Z + (Z³ − 3Z) / 12n (E. A. Cornish and R. A. Fisher,
Revue de l'Institut International de Statistique 5 (1938) 307–320).
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
_STEPS, _CLOSE = 30, 1e-3


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
        if more <= _CLOSE * tilt:
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
