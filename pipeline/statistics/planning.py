"""How many settings it takes to see a difference."""

import math


def settings_needed(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    is_paired: bool = True,
) -> int | None:
    """Settings that each of two models has to play, once, for a test to see the difference.

    `sd` is the standard deviation of a setting's difference if both play the same settings, else
    that of a setting of one model; in the metric's unit, as is `difference`. By the power of the
    t-test, paired or of two samples, two-sided; None past a million settings.
    """
    # Imported here, since it takes most of a second.
    from statsmodels.stats.power import TTestIndPower, TTestPower

    if sd == 0:
        return 2
    effect = abs(difference) / sd
    if effect < 0.003:
        return None
    asked = {"effect_size": min(effect, 5.0), "power": power, "alpha": level}
    n = (TTestPower if is_paired else TTestIndPower)().solve_power(**asked)
    return max(2, math.ceil(float(n)))


def cautious_variance(variance: float, n: int, *, assurance: float = 0.8) -> float:
    """A variance seen over n settings, raised so that the true one is below it with `assurance`.

    variance × (n − 1) / χ²₍₁₋assurance₎(n − 1): a pilot's own variance is too low in half of them
    (R. H. Browne, Statistics in Medicine 14 (1995) 1933–1940).
    """
    from scipy.stats import chi2

    return variance * (n - 1) / float(chi2.ppf(1 - assurance, n - 1))
