"""The difference of each pair of values, with its interval and p-value, or why there is none."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.metrics import Answer
from pipeline.metrics.intervals import by_cluster
from pipeline.metrics.values import group_columns
from pipeline.reports.compare.columns import SCHEMA
from pipeline.reports.compare.pairs import SIDES, entities
from pipeline.statistics.pairs import BASIS, PAIRED, differences

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
    rows, keys = entities(answer), group_columns(answer.request)
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
