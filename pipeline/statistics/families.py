"""Many comparisons at once: p-values adjusted for their number, and groups not told apart."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.statistics.sums import ROUNDING


@overload
def reaches(p: float, confidence: float) -> bool: ...
@overload
def reaches(p: pl.Expr, confidence: float) -> pl.Expr: ...
def reaches(p: float | pl.Expr, confidence: float) -> bool | pl.Expr:
    """Whether a p-value tells apart at the level 1 − confidence: whether it is no larger.

    A last digit is no difference: 1 − 0.9 is a little less than 0.1, and 6 · 0.05 more than 0.3.
    """
    return p <= 1 - confidence + ROUNDING


def holm(p: pl.Expr, by: Sequence[str] = ()) -> pl.Expr:
    """The p-values adjusted so that a family has a false alarm with the level's probability.

    `by` are the columns that tell families apart; nulls are of none. S. Holm, Scandinavian Journal
    of Statistics 6 (1979) 65–70.
    """
    stepped = (p.count() - p.rank("min") + 1) * p
    return stepped.cum_max().clip(upper_bound=1).over(by or pl.lit(0), order_by=p)


def letter_groups(is_apart: NDArray[np.bool_]) -> list[str]:
    """Letters for each of n things: two share one exactly where they are not told apart.

    `is_apart` says it of each pair, above its diagonal. By insertion and absorption: H.-P. Piepho,
    J. Computational and Graphical Statistics 13 (2004) 456–466. Things are best given in order,
    then `a` is the first's.
    """
    n = len(is_apart)
    columns: list[frozenset[int]] = [frozenset(range(n))] if n else []
    for one, other in zip(*np.nonzero(np.triu(is_apart, 1)), strict=True):
        split: set[frozenset[int]] = set()
        for column in columns:
            both = {int(one), int(other)} <= column
            split |= {column - {int(one)}, column - {int(other)}} if both else {column}
        columns = [column for column in split if not any(column < larger for larger in split)]
    named = sorted(columns, key=sorted)
    return [
        "".join(
            ascii_lowercase[place % 26] * (place // 26 + 1)
            for place, column in enumerate(named)
            if thing in column
        )
        for thing in range(n)
    ]
