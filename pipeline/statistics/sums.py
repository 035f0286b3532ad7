"""Sums of floats that are the same in whatever order their rows come.

Adding floats rounds, and rounding depends on the order, which threads and files change. So equal
lakes would give values that differ in their last digit.
"""

import polars as pl

GRAIN = 2**26
DIGITS = 12
"""So many digits of a value tell values apart: 1/5 + 2/5 is not 3/5 to the last one."""
ROUNDING = 10.0**-DIGITS
_FINEST = 2**60


def exact_sum(x: pl.Expr) -> pl.Expr:
    """The sum of many numbers of about 1, such as hits, whatever their order.

    Each is split into a multiple of 1 / GRAIN and a small rest. Both parts have so few digits that
    the sums of millions of them are exact; the result is rounded once. `sql/exact_sum.sql` is the
    same in SQL.
    """
    coarse = (x * GRAIN).round() / GRAIN
    return coarse.sum() + (x - coarse).sum()


def scaled_sum(x: pl.Expr) -> pl.Expr:
    """The sum of few numbers of any size, whatever their order.

    As shares of the largest they are split like above, the rests to 60 bits. To sort them first
    would not do: polars takes out a sort before a sum.
    """
    largest = x.abs().max()
    share = x / largest
    coarse = (share * GRAIN).round() / GRAIN
    rest = ((share - coarse) * _FINEST).round() / _FINEST
    return pl.when(largest > 0).then(largest * (coarse.sum() + rest.sum())).otherwise(0.0)
