"""The ends of mid-p Clopper–Pearson intervals by scipy: another way than the package's."""

from scipy.optimize import brentq
from scipy.stats import beta


def exact_ends(rate: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """The ends for a rate of n items; the numbers of hits and items need not be whole."""
    return 1 - _upper((1 - rate) * n, n, confidence), _upper(rate * n, n, confidence)


def _upper(x: float, n: float, confidence: float) -> float:
    """Where P(X < x) + ½ P(X = x) is (1 − confidence) / 2: the mean of two beta tails."""
    if x >= n:
        return 1.0
    if x <= 0:
        return float(1 - (1 - confidence) ** (1 / n))

    def beyond(p: float) -> float:
        tails = beta.sf(p, x + 1, n - x) + beta.sf(p, x, n - x + 1)
        return float(tails / 2 - (1 - confidence) / 2)

    return float(brentq(beyond, 1e-300, 1.0, xtol=1e-15))
