"""The difference of each pair of values, with its interval and p-value, or why there is none.

P-values are adjusted for their number, and with a margin there is a verdict.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from pipeline import column
from pipeline.errors import UsageError
from pipeline.metrics import Answer
from pipeline.metrics.known import highest_value
from pipeline.metrics.request import asked_for
from pipeline.metrics.results import HIGH, IS_THIN, LACKS, LOW, METRIC, MISSING
from pipeline.reports.compare.pairs import SIDES, entities
from pipeline.statistics.common import REPLAYED
from pipeline.statistics.contrast import p_alike
from pipeline.statistics.families import holm, reaches
from pipeline.statistics.pairs import (
    DIFFERENCE,
    MOVED_HIGH,
    MOVED_LOW,
    MOVER,
    PAIRED,
    differences,
    of_basis,
)
from pipeline.vocabulary import Edition

COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC,
    "model": column.text("the model", nullable=True),
    "other": column.text("the other model, or the other group", nullable=True),
    "value": column.share("the value over all settings of the one, in the metric's unit"),
    "other_value": column.share("the value of the other"),
    "thin": IS_THIN,
    "other_thin": IS_THIN,
    "difference": column.share(
        "on the common settings if `method` is `paired by setting`; value − other_value if it is "
        "`unpaired`; null, with a `reason`, if either value is null"
    ),
    "ci_low": LOW,
    "ci_high": HIGH,
    "ci_method": column.text(
        f"how the interval was computed: `{MOVER}`; `{MOVED_LOW}` or `{MOVED_HIGH}` if p has that "
        "end on the other side of 0: it was put at 0, or next to it"
    ),
    "p_value": column.p_value("the p-value of no difference").shown("p"),
    "p_holm": column.p_value("the same, adjusted by Holm").shown("p (Holm)"),
    "family": column.count(
        "how many p-values are adjusted together: those of one metric if all pairs are compared, "
        "else all"
    ),
    "method": column.text("`paired by setting` or `unpaired`"),
    "n_settings": column.count(
        "settings in common; where a model finished games of only one setting of a competition, "
        "its games are the clusters, and only games that both played are common"
    ).shown("settings"),
    "share_paired": column.share("how much of the values is about these settings, in 0..1"),
    "common_value": column.share(
        "the value on these settings, each counted as much for one as for the other: `difference` "
        "is that of such values; null if `unpaired`"
    ),
    "other_common_value": column.share("the same of the other"),
    "is_replayed": column.flag(
        f"whether one of the two played about {REPLAYED:g} times as many games of these settings "
        "or more, in any term"
    ),
    **MISSING,
    **{f"other_{name}": of_other for name, of_other in MISSING.items()},
    "reason": column.text("why the difference is null"),
}
SCHEMA = column.schema(COLUMNS)
# With a margin.
OF_MARGIN: Mapping[str, column.Column] = {
    "p_alike": column.p_value(
        "of two one-sided tests: the difference is within ± the margin"
    ).shown("p alike"),
    "p_alike_holm": column.p_value("the same, adjusted in the same families"),
    "verdict": column.text("alike, better, worse or undecided"),
}
# Of models of two systems.
ACROSS: Mapping[str, column.Column] = {
    "game_types": column.Column(LACKS, "those of the metric that both systems play: they count"),
}
EVERY = {**COLUMNS, **OF_MARGIN, **ACROSS}
ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"


def compared(
    answer: Answer,
    pairs: pl.DataFrame,
    confidence: float,
    *,
    label: str = "model",
    with_intervals: bool = True,
) -> pl.DataFrame:
    """The rows of `pairs` with their differences, without p_holm and family.

    `label` is the column by which a reason names either side. Without intervals, p-values alone are
    sure to be there.
    """
    rows, keys = entities(answer), answer.request.keys
    of_entity = rows.select(*keys, "entity")
    terms, sums = (
        frame.join(of_entity, on=keys, nulls_equal=True)
        .drop(answer.request.by)
        .rename({"entity": "model"})
        for frame in (answer.terms, answer.sums)
    )
    values = rows.select(
        "entity", "value", "thin", "reason", *MISSING, label=pl.col(label).cast(pl.String)
    ).join(terms.group_by(entity="model").agg(terms="term"), on="entity", how="left")
    others = values.rename(lambda name: f"other_{name}")
    both = (
        pairs.join(values, on="entity", how="left", maintain_order="left")
        .join(others, on="other_entity", how="left", maintain_order="left")
        .with_columns(reason=_reason())
    )
    can_be = both.filter(pl.col("reason").is_null()).drop_nulls(SIDES)
    n_games = dict(rows.select("entity", "n_games").iter_rows())
    paired = [
        differences(
            sums.lazy().filter(metric=name),
            terms.lazy().filter(metric=name),
            list(part.select(SIDES).iter_rows()),
            confidence,
            n_games=n_games,
            with_intervals=with_intervals,
        )
        for (name,), part in can_be.partition_by("metric", as_dict=True).items()
    ]
    found = pl.concat([pl.DataFrame(schema=DIFFERENCE), *paired])
    found = found.rename({"one": "entity", "other": "other_entity"})
    lacking = "lacking" if "lacking" in pairs.columns else pl.lit(None, pl.String)
    groups = pairs.drop(SIDES, "lacking", strict=False).columns
    return (
        both.join(found, on=SIDES, how="left", maintain_order="left")
        .with_columns(
            reason=pl.coalesce(lacking, "reason"),
            common_value=on_common("one"),
            other_common_value=on_common("other"),
            p_holm=pl.lit(None, pl.Float64),
            family=pl.lit(None, pl.Int64),
        )
        .select(
            *groups, *(name for name in SCHEMA if name not in ("metric", "model", "other")), "basis"
        )
    )


def on_common(side: str) -> pl.Expr:
    """The value of one side on the common settings; null if the comparison is unpaired."""
    rate = pl.col("basis").struct.field(side)
    value = rate.struct.field("rate") * rate.struct.field("range")
    return pl.when(pl.col("method") == PAIRED).then(value)


def _reason() -> pl.Expr:
    """Why the two entities cannot be compared; null if they can, or if one has no row."""
    without, only = [], []
    for one, other in (("", "other_"), ("other_", "")):
        named = pl.format("{}: {}", f"{one}label", f"{one}reason")
        without.append(pl.when(pl.col(f"{one}value").is_null()).then(named))
        more = pl.col(f"{one}terms").list.set_difference(f"{other}terms").list.sort()
        has_more = pl.format("only {} has {}", f"{one}label", more.list.join(", "))
        only.append(pl.when(more.list.len() > 0).then(has_more))
    of_both = pl.format("{} and {}: {}", "label", "other_label", "reason")
    alike = pl.when(pl.col("reason") == pl.col("other_reason")).then(of_both)
    said = (pl.concat_str(each, separator="; ", ignore_nulls=True) for each in (without, only))
    are_there = pl.all_horizontal(pl.col(SIDES).is_not_null())
    return pl.when(are_there).then(
        pl.coalesce(alike, *(pl.when(one != "").then(one) for one in said))
    )


def check_margin(
    margin: float | None,
    names: str | Sequence[str] | None,
    edition: Edition,
    game_types: Collection[str],
    *,
    may_be_0: bool = False,
) -> None:
    """Raises UsageError for a margin of 0 or less, or larger than any difference can be."""
    if margin is None:
        return
    if not (margin > 0 or (may_be_0 and margin == 0)):
        raise UsageError(f"the margin must be greater than 0, for example 0.05, not {margin:g}")
    metrics = asked_for(names, edition)
    highest = (highest_value(name, edition, game_types) for name in metrics)
    widest = max(highest, default=1.0)
    if margin >= widest:
        raise UsageError(
            f"the margin must be less than {widest:g}, since no difference is larger, "
            f"not {margin:g}"
        )


def adjusted(
    rows: pl.DataFrame, by: Sequence[str], p: str = "p_value", into: str = "p_holm"
) -> pl.DataFrame:
    """The rows with p-values adjusted for the number of those in the `family`."""
    n = pl.col(p).count().over(by or pl.lit(0)).cast(pl.Int64)
    family = pl.when(pl.col(p).is_not_null()).then(n)
    return rows.with_columns(holm(pl.col(p), by).alias(into), family=family)


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
