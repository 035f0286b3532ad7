"""The difference of each pair of values, with its interval and p-value, or why there is none.

P-values are adjusted for their number, and with a margin there is a verdict.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.metrics import Answer, metric
from pipeline.metrics.intervals import by_cluster
from pipeline.metrics.known import names as edition_names
from pipeline.metrics.request import several
from pipeline.reports.compare.columns import SCHEMA
from pipeline.reports.compare.pairs import SIDES, entities
from pipeline.statistics.contrast import p_alike
from pipeline.statistics.families import holm, reaches
from pipeline.statistics.pairs import BASIS, PAIRED, differences, of_basis
from pipeline.vocabulary import Edition

ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"
_VALUES = {"one": pl.String()} | {
    name: SCHEMA[name] for name in ("other", "value", "other_value", "thin", "other_thin", "reason")
}


def compared(
    answer: Answer,
    pairs: pl.DataFrame,
    confidence: float,
    *,
    label: str = "model",
    with_intervals: bool = True,
) -> pl.DataFrame:
    """The rows of `pairs` with their differences, without p_holm and family.

    Without intervals, p-values alone are sure to be there.
    """
    rows, keys = entities(answer), answer.request.keys
    of_entity = rows.select(*keys, "entity")
    terms, sums = (
        frame.join(of_entity, on=keys, nulls_equal=True)
        for frame in (answer.terms, by_cluster(answer.sums, answer.request).collect())
    )
    parts = [
        of_metric(
            rows.filter(metric=name).with_columns(label=pl.col(label).cast(pl.String)),
            terms.filter(metric=name),
            sums.filter(metric=name),
            list(part.select(SIDES).iter_rows()),
            confidence=confidence,
            with_intervals=with_intervals,
        )
        for (name,), part in pairs.partition_by("metric", as_dict=True, maintain_order=True).items()
    ]
    groups = pairs.drop(SIDES, "lacking", strict=False)
    values = pl.concat(parts) if parts else _nothing()
    if "lacking" in pairs.columns:
        values = values.with_columns(reason=pl.coalesce(pairs["lacking"], "reason"))
    named = pl.concat([groups, values], how="horizontal")
    return named.with_columns(
        p_holm=pl.lit(None, pl.Float64), family=pl.lit(None, pl.Int64)
    ).select(
        *groups.columns,
        *(name for name in SCHEMA if name not in ("metric", "model", "other")),
        "basis",
    )


def of_metric(
    rows: pl.DataFrame,
    terms: pl.DataFrame,
    sums: pl.DataFrame,
    pairs: Sequence[tuple[str | None, str | None]],
    *,
    confidence: float,
    with_intervals: bool = True,
) -> pl.DataFrame:
    """Values, difference and reason of each pair of entities, in the order of the pairs.

    `rows` are the metric's values, each of an `entity` with a `label` for its reason; `terms` are
    those that they are sums of, `sums` hits and counted items by entity, stratum, cluster and term.
    """
    row_of = {row["entity"]: row for row in rows.iter_rows(named=True)}
    parts = terms.group_by("entity").agg("term").iter_rows()
    terms_by = {entity: set(of_entity) for entity, of_entity in parts}
    reasons = [_reason(pair, row_of, terms_by) for pair in pairs]
    comparable = [
        (one, other)
        for (one, other), reason in zip(pairs, reasons, strict=True)
        if reason is None and one is not None and other is not None
    ]
    paired = differences(
        sums.select("stratum", "cluster", "term", "h", "c", model="entity").lazy(),
        terms.select("term", "weight", "counted", model="entity").lazy(),
        comparable,
        confidence,
        n_games={entity: row["n_games"] for entity, row in row_of.items()},
        with_intervals=with_intervals,
    )
    values = [
        {
            "one": one,
            "other": other,
            **{name: row_of.get(one, {}).get(name) for name in ("value", "thin")},
            **{f"other_{name}": row_of.get(other, {}).get(name) for name in ("value", "thin")},
            "reason": reason,
        }
        for (one, other), reason in zip(pairs, reasons, strict=True)
    ]
    joined = pl.DataFrame(values, schema=_VALUES).join(
        paired, on=["one", "other"], how="left", maintain_order="left"
    )
    on_common = {"common_value": _on_common("one"), "other_common_value": _on_common("other")}
    return joined.with_columns(**on_common).drop("one", "other")


def _on_common(side: str) -> pl.Expr:
    """The value of one side on the common settings; null if the comparison is unpaired."""
    rate = pl.col("basis").struct.field(side)
    value = rate.struct.field("rate") * rate.struct.field("range")
    return pl.when(pl.col("method") == PAIRED).then(value)


def _nothing() -> pl.DataFrame:
    """No row, with the columns of `of_metric`."""
    schema = {
        n: t for n, t in SCHEMA.items() if n not in ("metric", "model", "other", "p_holm", "family")
    }
    return pl.DataFrame(schema=schema | {"basis": BASIS})


def _reason(
    pair: tuple[str | None, str | None],
    row_of: Mapping[str | None, dict[str, Any]],
    terms: Mapping[str, set[str]],
) -> str | None:
    """Why the two entities cannot be compared; null if they can, or if one has no row."""
    one, other = pair
    if one is None or other is None:
        return None
    for entity in (one, other):
        if row_of[entity]["value"] is None:
            return f"{row_of[entity]['label']}: {row_of[entity]['reason']}"
    only = [(one, terms[one] - terms[other]), (other, terms[other] - terms[one])]
    lacks = [
        f"only {row_of[name]['label']} has {', '.join(sorted(others))}"
        for name, others in only
        if others
    ]
    return "; ".join(lacks) or None


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
