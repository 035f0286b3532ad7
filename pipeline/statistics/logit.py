"""A logistic regression by `statsmodels`, which comes with the extra `ratings`.

Its matrix may have columns that say the same together: then only some sums of coefficients are
known. `are_compared` says of which two columns the difference is, and `Fit.sum` gives a sum that is
known, with its standard error. A fit has an end if its rows overlap: see `overlapping`.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDING, _NOTHING, _GAIN = 1e-8, 1e-11, 1e-3


class Fit(NamedTuple):
    """Coefficients in the directions that the rows tell, their covariance, and these directions."""

    coefficients: Floats
    covariance: Floats
    directions: Floats

    def sum(self, weights: Floats) -> tuple[float, float]:
        """A weighted sum of the columns' coefficients, and its standard error."""
        along = self.directions @ weights
        variance = np.maximum(0, along @ self.covariance @ along)  # 0 may be rounded to less
        return float(along @ self.coefficients), float(np.sqrt(variance))


def directions(rows: Floats) -> Floats:
    """The directions in which rows differ from 0, as orthonormal rows: the row space."""
    # Of the small square of them, since the rows are many.
    sizes, along = np.linalg.eigh(rows.T @ rows)
    known: Floats = along.T[sizes > _NOTHING * sizes.max()]
    return known


def are_compared(along: Floats, one: int, other: int) -> bool:
    """Whether the rows tell the difference of the coefficients of two columns."""
    weights = np.zeros(along.shape[1])
    weights[[one, other]] = 1, -1
    return bool(np.allclose(along.T @ (along @ weights), weights, atol=_ROUNDING))


def overlapping(rows: Floats, hits: Floats) -> NDArray[np.int64]:
    """The numbers of the rows that are not separated.

    A row is separated if its hit, 0 or 1, is the more certain the further the coefficients go some
    way, along which no row gets less likely (Albert and Anderson 1984). Such a fit has no end. The
    other rows have one, which is that of all rows for what they tell (Geyer 2009).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    signed = rows * np.where(hits == 1, 1, -1)[:, None]
    most = np.where(hits % 1, 0, 1)  # what is neither hit nor miss bounds both ways
    left = np.arange(len(rows))
    while left.size:
        own = signed[left]
        # The way with the largest sum. A row that takes all of 1 may leave another almost nothing,
        # which is found in a later round.
        bound = LinearConstraint(own, 0, most[left])
        is_separated = own @ milp(-own.sum(axis=0), constraints=bound, bounds=Bounds()).x > _GAIN
        if not is_separated.any():
            break
        left = left[~is_separated]
    return left


def fitted(rows: Floats, along: Floats, hits: Floats, clusters: NDArray[np.int64]) -> Fit:
    """The fit of hits (0 to 1) by these columns; the covariance allows for clusters of rows."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hits that rows foretell, as where all are ties
        model = GLM(hits, rows @ along.T, family=Binomial())
        fit = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": clusters})
    return Fit(fit.params, fit.cov_params(), along)
