"""The mark of values of which a term has very few settings."""

from collections.abc import Sequence

import polars as pl

from pipeline.metrics import thin
from pipeline.metrics.thin import MARK

EXPLANATION = (
    f"{MARK} and a number: a term of the value has only so many effective settings; its interval "
    "can be far off"
)


def mark(columns: Sequence[str]) -> pl.Expr:
    """The mark with the least number of any term in these columns, as in †1; null where none is."""
    numbers = pl.element().struct["n_effective"]
    least = [pl.col(name).list.eval(numbers).list.min() for name in columns]
    return pl.format(MARK + "{}", thin.shown(pl.min_horizontal(least)))


def with_marks(rows: pl.DataFrame, columns: Sequence[str] = ("thin",)) -> pl.DataFrame:
    """The rows for eyes: a column `thin` of marks for these columns, none where nothing is thin."""
    first, *others = columns
    marked = rows.with_columns(mark(columns).alias(first)).rename({first: "thin"}).drop(others)
    marked = marked.with_columns(pl.col("thin").fill_null(""))
    return marked if (marked["thin"] != "").any() else marked.drop("thin")


def explanation(rows: pl.DataFrame, columns: Sequence[str] = ("thin",)) -> list[str]:
    """What the mark means, if any value has it."""
    is_thin = rows.select(
        pl.any_horizontal((pl.col(name).list.len() > 0).any() for name in columns)
    )
    return [EXPLANATION] if is_thin.item() else []
