"""Differences beside a margin: is it within, is it beyond, and which fall could be seen.

One-sided tests by the same interval as elsewhere: the p-value of "the difference is above b" is
half the level at which MOVER's interval begins to hold b. Two models are alike within a margin m if
both one-sided tests say so, of "above −m" and of "below m": the larger p-value counts (D. J.
Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657–680).
"""

from statistics import NormalDist

from pipeline.statistics.contrast import Rate, difference, p_of, z_at


def p_above(a: Rate, b: Rate, bound: float, correlation: float = 0.0) -> float:
    """The one-sided p-value of: A − B is above the bound."""
    half = p_of(z_at(a, b, bound, correlation)) / 2
    return half if _value(a, b) > bound else 1 - half


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


def _value(a: Rate, b: Rate) -> float:
    return a.range * a.rate - b.range * b.rate


def _standard_error(a: Rate, b: Rate, correlation: float) -> float:
    error_a, error_b = (
        rate.range * (rate.rate * (1 - rate.rate) / rate.effective_items) ** 0.5 for rate in (a, b)
    )
    return float(max(0.0, error_a**2 + error_b**2 - 2 * correlation * error_a * error_b) ** 0.5)
