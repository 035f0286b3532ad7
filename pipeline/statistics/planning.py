"""How many settings it takes to see a difference."""

import math
from bisect import bisect_left
from collections.abc import Sequence

from pipeline.statistics.contrast import Rate
from pipeline.statistics.pairs import Pilot

MOST_SETTINGS = 1_000_000


def settings_needed(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    is_paired: bool = True,
) -> int | None:
    """Settings that each of two models has to play for a test to see the difference.

    `sd` is the standard deviation of a setting's difference if both play the same settings, else
    that of a setting of one model; in the metric's unit, as is `difference`. By the power of the
    t-test, paired or of two samples, two-sided; None past a million settings.
    """
    if sd == 0:
        return 2
    effect = abs(difference) / sd

    def is_enough(n: int) -> bool:
        return power_of(n, effect, level, is_paired=is_paired) >= power

    needed = bisect_left(range(MOST_SETTINGS + 1), x=True, lo=2, key=is_enough)
    return needed if needed <= MOST_SETTINGS else None


def power_of(n: int, effect: float, level: float, *, is_paired: bool) -> float:
    """The power of a two-sided t-test of n settings a model, an effect in standard deviations.

    Less the other tail, a false alarm of the wrong sign: scipy's is NaN at many places, so that a
    solver that adds it (such as that of statsmodels) ends anywhere at small levels.
    """
    from scipy.stats import nct, t

    df, shift = (n - 1, math.sqrt(n)) if is_paired else (2 * n - 2, math.sqrt(n / 2))
    return float(nct.sf(t.isf(level / 2, df), df, effect * shift))


def cautious_variance(variance: float, degrees: float, *, assurance: float = 0.8) -> float:
    """A variance seen with so many degrees of freedom, raised to be mostly above the true one.

    variance × df / χ²₍₁₋assurance₎(df), with the probability `assurance`: a pilot's own variance
    is too low in half of them (R. H. Browne, Statistics in Medicine 14 (1995) 1933–1940).
    """
    from scipy.stats import chi2

    return variance * degrees / float(chi2.ppf(1 - assurance, degrees))


def degrees_of_freedom(pilot: Pilot) -> float:
    """How well a pilot of n settings shows its variance: min(n − 1, 2 / (Σ v² − 1/n)).

    v is a setting's share of the sum of squares. That sum has the squared coefficient of variation
    Σ v² − 1/n, and χ² with d degrees of freedom has 2/d (F. E. Satterthwaite, Biometrics Bulletin 2
    (1946) 110–114): n of them for normal differences, where Σ v² is about 3/n, and fewer for rare
    ones. Settings that differ in nothing count in full.
    """
    n = pilot.n_settings
    excess = 1 / pilot.n_effective - 1 / n if pilot.n_effective else 0.0
    return min(n - 1, 2 / excess) if excess > 0 else n - 1


def setting_sd(
    one: Rate,
    other: Rate,
    n_settings: tuple[int, int],
    pilots: Sequence[Pilot],
    *,
    difference: float,
    is_paired: bool,
) -> float | None:
    """Return the cautious standard deviation of a setting's difference, or of one model's setting.

    The rates of a pilot's models can be closer to each other than the difference to detect, and
    then vary less than rates that are so far apart: near 0 or 1 far less. So the lower rate is
    moved down or the higher one up, whichever gives the larger variance.

    Args:
        one: The rate of one model in the pilot.
        other: The rate of the other model.
        n_settings: The number of settings of each rate.
        pilots: What the models have in common, or if unpaired what each has with itself.
        difference: The difference to detect, in the metric's unit.
        is_paired: Whether both models will play the same settings.

    Returns:
        The standard deviation in the metric's unit; None if a pilot has fewer than two settings.
    """
    if min(pilot.n_settings for pilot in pilots) < 2:
        return None
    sides = sorted(zip((one, other), n_settings, strict=True), key=lambda side: side[0].rate)

    def variances(*rates: float) -> list[float]:
        moved = zip(sides, rates, strict=True)
        return [n * _smoothed_variance(value._replace(rate=rate)) for (value, n), rate in moved]

    (low, _), (high, _) = sides
    observed = math.prod(variances(low.rate, high.rate))
    apart = abs(difference) / one.range
    down, up = max(0.0, high.rate - apart), min(1.0, low.rate + apart)
    both = 0.0
    for rate_pair in (
        (min(low.rate, down), max(high.rate, min(1.0, down + apart))),
        (min(low.rate, max(0.0, up - apart)), max(high.rate, up)),
    ):
        of_rates = variances(*rate_pair)
        # What settings have in common does not grow because the models are further apart.
        shared = pilots[0].correlation * math.sqrt(min(observed, math.prod(of_rates)))
        total = sum(of_rates)
        both = max(both, total - 2 * shared if is_paired else total / 2)
    return math.sqrt(cautious_variance(both, sum(map(degrees_of_freedom, pilots))))


def _smoothed_variance(value: Rate) -> float:
    """A value's variance, at its rate with a hit and a miss more: at a ceiling it shows none."""
    n = value.effective_items
    rate = (value.rate * n + 1) / (n + 2)
    return value.range**2 * rate * (1 - rate) / n
