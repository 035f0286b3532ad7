"""The far tail of a sum of independent numbers, each drawn from a list of its own.

Draws as they come seldom reach it. So they are tilted: an alternative v is drawn in proportion to
exp(tv), with t such that the mean of the sums is the observed sum T, and a draw of sum S counts for
exp(K(t) − tS), K being the logarithm of the mean of exp(tS). The mean of what counts is the tail
without bias (D. Siegmund, Annals of Statistics 4 (1976) 673–684).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Sums that differ by no more than this share of the largest one are equal.
TIE: Final = 1e-9
DRAWS: Final = 4000
LEAST_DRAWS: Final = 1000
# Of very many parts fewer draws do: so many numbers at most, unless the draws were too few.
_NUMBERS: Final = 400_000
_SEED: Final = 20_231_116
_STEPS: Final = 60
# Any t near the best one will do.
_CLOSE: Final = 1e-3


def tails(values: Floats, totals: Floats) -> Floats:
    """Of each row P(S > T) + ½ P(S = T), in 0..1, for sums of `totals` above their mean.

    `values` by row, alternative and part: in a sum, each part takes any of its alternatives with
    equal probability. 0 above the largest sum that there is; 0.5 at or below the mean of the sums,
    where this is no tail.
    """
    middle = values.mean(axis=1, keepdims=True)
    values, totals = values - middle, totals - middle.sum(axis=(1, 2))
    largest = values.max(axis=1)
    end = largest.sum(axis=1)
    slack = TIE * np.abs(values).max(axis=1).sum(axis=1)
    shares = np.where(totals > 0, 0.0, 0.5)
    is_end = (totals > 0) & (np.abs(totals - end) <= slack)
    is_largest = values[is_end] >= (largest - slack[:, np.newaxis])[is_end][:, np.newaxis]
    shares[is_end] = 0.5 * is_largest.mean(axis=1).prod(axis=1)
    inner = np.flatnonzero((totals > 0) & (totals < end) & ~is_end)
    if len(inner):
        t = _tilts(values[inner], totals[inner])
        n_parts = values.shape[2]
        draws = min(DRAWS, max(LEAST_DRAWS, _NUMBERS // n_parts))
        uniform = np.random.default_rng(_SEED).random((draws, n_parts))
        for row, tilt in zip(inner, t, strict=True):
            shares[row] = _tilted(values[row], totals[row], tilt, slack[row], uniform)
    return shares


def _tilts(values: Floats, totals: Floats) -> Floats:
    """Of each row a t at which the mean of the tilted sums is about its total."""
    t = totals / (values**2).mean(axis=1).sum(axis=1)
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    for _ in range(_STEPS):
        tilted = t[:, np.newaxis, np.newaxis] * values
        share = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        means = (share * values).sum(axis=1)
        variance = (share * values**2).sum(axis=(1, 2)) - (means**2).sum(axis=1)
        mean = means.sum(axis=1)
        is_short = mean < totals
        low, high = np.where(is_short, t, low), np.where(is_short, high, t)
        # Newton's step, but never out of what is known to hold t.
        step = t + (totals - mean) / np.maximum(variance, 1e-300)
        between = np.where(np.isinf(high), 2 * t, (low + np.minimum(high, 1e300)) / 2)
        new = np.where((step > low) & (step < high), step, between)
        is_close = np.abs(new - t) <= _CLOSE * t
        t = new
        if is_close.all():
            break
    return np.asarray(t, np.float64)


def _tilted(values: Floats, total: float, t: float, slack: float, uniform: Floats) -> float:
    """The tail from tilted draws; `values` by alternative and part."""
    tilted = t * values
    most = tilted.max(axis=0)
    share = np.exp(tilted - most)
    sums = share.sum(axis=0)
    k = float((most + np.log(sums / len(values))).sum())
    bounds = np.cumsum(share, axis=0) / sums
    if len(values) == 2:
        drawn = values[1].sum() + (uniform < bounds[0]) @ (values[0] - values[1])
    else:
        drawn = np.zeros(len(uniform))
        for part in range(values.shape[1]):
            chosen = np.searchsorted(bounds[:-1, part], uniform[:, part], side="right")
            drawn += values[chosen, part]
    beyond = drawn - total
    weight = np.where(np.abs(beyond) <= slack, 0.5, beyond > 0)
    return float((weight * np.exp(np.minimum(k - t * drawn, 0.0))).mean())
