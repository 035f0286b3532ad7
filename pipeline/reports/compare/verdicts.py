"""P-values adjusted for their number, and verdicts about a difference and a margin."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.metrics import metric
from pipeline.metrics.known import names as edition_names
from pipeline.metrics.request import several
from pipeline.statistics.families import holm, reaches
from pipeline.statistics.margins import p_alike
from pipeline.statistics.pairs import of_basis
from pipeline.vocabulary import Edition

ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"


def check_margin(
    margin: float, names: str | Sequence[str] | None, edition: Edition, *, may_be_0: bool = False
) -> None:
    """Raises UsageError for a margin of 0 or less, or larger than any difference can be."""
    if not (margin > 0 or (may_be_0 and margin == 0)):
        raise UsageError(f"the margin must be greater than 0, for example 0.05, not {margin:g}")
    metrics = several(edition_names(edition) if names is None else names)
    declared = [metric(name, edition) for name in metrics]
    widest = max((metric.high for metric in declared), default=1.0)
    if margin >= widest:
        raise UsageError(
            f"the margin must be less than {widest:g}, since no difference is larger, "
            f"not {margin:g}"
        )


def adjusted(
    rows: pl.DataFrame, by: Sequence[str], p: str = "p_value", into: str = "p_holm"
) -> pl.DataFrame:
    """The rows with p-values adjusted for the number of those in the family."""
    numbered = rows.with_row_index("place")
    # Without rows there are no parts, but one family without a p-value.
    is_parted = by and not numbered.is_empty()
    families = numbered.partition_by(by, maintain_order=True) if is_parted else [numbered]
    parts = []
    for family in families:
        known = family.filter(pl.col(p).is_not_null())
        p_holm = pl.Series(into, holm(known[p].to_list()), pl.Float64)
        parts.append(known.select("place", p_holm, family=pl.lit(known.height, pl.Int64)))
    joined = numbered.drop(into, "family", strict=False).join(
        pl.concat(parts), on="place", how="left", maintain_order="left"
    )
    return joined.select(*rows.columns, *([] if into in rows.columns else [into]))


def finished(
    rows: pl.DataFrame, margin: float | None, confidence: float, by: Sequence[str]
) -> pl.DataFrame:
    """The rows without their basis; with a margin also p_alike, p_alike_holm and verdict."""
    if margin is None:
        return rows.drop("basis")
    p_values = [None if basis is None else _p_alike(basis, margin) for basis in rows["basis"]]
    tested = rows.drop("basis").with_columns(p_alike=pl.Series(p_values, dtype=pl.Float64))
    tested = adjusted(tested, by, "p_alike", "p_alike_holm")
    is_apart, is_above = reaches(pl.col("p_holm"), confidence), pl.col("difference") > 0
    verdict = (
        pl.when(pl.col("difference").is_null())
        .then(None)
        .when(reaches(pl.col("p_alike_holm"), confidence))
        .then(pl.lit(ALIKE))
        .when(is_apart & is_above)
        .then(pl.lit(BETTER))
        .when(is_apart)
        .then(pl.lit(WORSE))
        .otherwise(pl.lit(UNDECIDED))
    )
    return tested.with_columns(verdict=verdict)


def _p_alike(basis: dict[str, Any], margin: float) -> float:
    one, other, correlation = of_basis(basis)
    return p_alike(one, other, margin, correlation)
