"""The difference of each pair of values, with its interval and p-value, or why there is none.

P-values are adjusted for their number, and with a margin there is a verdict.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import polars as pl

from pipeline import column
from pipeline.errors import UsageError
from pipeline.metrics import MetricResult
from pipeline.metrics.registry import (
    CI_HIGH_COLUMN,
    CI_LOW_COLUMN,
    LACKS_DTYPE,
    METRIC_COLUMN,
    MISSING_COLUMNS,
    SMALL_SAMPLE_COLUMN,
    highest_value,
)
from pipeline.metrics.request import requested_metrics
from pipeline.statistics.comparison import adjust_holm, equivalence_p_value, is_significant
from pipeline.statistics.pairs import (
    DIFFERENCE_SCHEMA,
    MOVED_HIGH,
    MOVED_LOW,
    MOVER_METHOD,
    PAIRED,
    REPLAY_RATIO,
    pairwise_differences,
    rates_from_basis,
)
from pipeline.vocabulary import ALL_GAME_TYPES, Edition

# Which pairs are compared: of models, or of one model's groups.

MOST_GROUPS = 100
SIDES = ("entity", "other_entity")


def check_pairs(pairs: Sequence[object]) -> None:
    """Raises UsageError for something that is no pair of two models, and for a repeated pair."""
    named: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        match pair:
            case [str(one), str(other)] if one != other:
                named[tuple(sorted((one, other)))] += 1
            case [str(one), str()]:
                raise UsageError(f"{one} is named twice: name two different models")
            case _:
                # Such as a name alone, or a list of pairs, from calls that look right.
                raise UsageError(
                    f'a pair must be two models, such as ("gpt-4", "cohere"), not {pair!r}'
                )
    if twice := [" and ".join(pair) for pair, n in named.items() if n > 1]:
        raise UsageError(f"give each pair only once, in either order: {', '.join(twice)}")


def models_of(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...] | None:
    """The models of the pairs, each once; None without pairs, as in a request for all models."""
    return tuple(dict.fromkeys(name for pair in pairs for name in pair)) or None


def entities(answer: MetricResult) -> pl.DataFrame:
    """The answer's rows, each with the name `entity` that sums and pairs know it by."""
    return answer.rows.with_row_index("entity").with_columns(pl.col("entity").cast(pl.String))


def of_models(
    answer: MetricResult, pairs: Sequence[tuple[str, str]], label: str = "model"
) -> pl.DataFrame:
    """A row for each metric, group and pair of models: metric, the columns of the group, model,
    other, the entity of each (null if it has no row), and `lacking`, a reason for that.

    With another `label`, the pairs are of values of this column in place of models."""
    everything = entities(answer)
    rows = everything.filter(pl.col(label).is_not_null())
    by = ["metric", *(name for name in answer.request.by if name != label)]
    wanted = pl.DataFrame(list(pairs), schema={label: pl.String, "other": pl.String}, orient="row")
    # A metric without a row that meets the condition has one row, without a model.
    is_nothing = ~pl.col("metric").is_in(rows["metric"].unique().implode())
    groups = (
        everything.filter(is_nothing | pl.col(label).is_not_null())
        .select(*by, nothing=pl.when(is_nothing).then("reason"))
        .unique(maintain_order=True)
        .join(wanted, how="cross")
    )
    entities_of = rows.select(*by, label, "entity")
    others = entities_of.rename({label: "other", "entity": "other_entity"})
    pairs_of = groups.join(
        entities_of, on=[*by, label], how="left", nulls_equal=True, maintain_order="left"
    ).join(others, on=[*by, "other"], how="left", nulls_equal=True, maintain_order="left")
    without = [
        pl.when(pl.col(entity).is_null()).then(pl.col(name))
        for name, entity in zip((label, "other"), SIDES, strict=True)
    ]
    names = pl.concat_str(without, separator=", ", ignore_nulls=True)
    no_rows = pl.when(names != "").then(pl.lit("no rows there of ") + names)
    return pairs_of.with_columns(lacking=pl.coalesce("nothing", no_rows)).drop("nothing")


def of_values(answer: MetricResult, by: str) -> pl.DataFrame:
    """A row for each metric and pair of groups of one model, in the order of their values."""
    rows = entities(answer).filter(pl.col("model").is_not_null(), pl.col(by).is_not_null())
    if by == "game_type":
        rows = rows.filter(pl.col(by) != ALL_GAME_TYPES)
    most = rows.group_by("metric").len()["len"].max() or 0
    if isinstance(most, int) and most > MOST_GROUPS:
        raise UsageError(
            f"`{by}` has {most:,} groups: all pairs of at most {MOST_GROUPS} are compared; choose "
            "some by a condition (--where), or another column"
        )
    pairs = [
        (name, one["model"], str(one[by]), str(other[by]), one["entity"], other["entity"])
        for (name,), part in rows.partition_by("metric", as_dict=True, maintain_order=True).items()
        for one, other in combinations(part.sort(by, maintain_order=True).to_dicts(), 2)
    ]
    columns = ["metric", "model", by, "other", *SIDES]
    return pl.DataFrame(pairs, dict.fromkeys(columns, pl.String), orient="row")


def within(answer: MetricResult, settings: pl.DataFrame) -> MetricResult:
    """The answer with game types in place of competitions, so that roles can be paired by setting.

    A term that is named after a competition is renamed as well, unless a group has two such terms
    of one game type. `settings` are those that were `played`.
    """
    type_of = dict(settings.select("competition", "game_type").unique().drop_nulls().iter_rows())
    renamed = ["stratum"]
    terms = answer.terms.with_columns(pl.col("term").replace(type_of))
    if not terms.select(*answer.request.key_columns, "term").is_duplicated().any():
        renamed += ["term"]
        answer = answer._replace(terms=terms)
    sums = answer.sums.with_columns(pl.col(renamed).replace(type_of))
    return answer._replace(sums=sums)


COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    "model": column.text_column("the model", nullable=True),
    "other": column.text_column("the other model, or the other group", nullable=True),
    "value": column.proportion_column(
        "the value over all settings of the one, in the metric's unit"
    ),
    "other_value": column.proportion_column("the value of the other"),
    "thin": SMALL_SAMPLE_COLUMN,
    "other_thin": SMALL_SAMPLE_COLUMN,
    "difference": column.proportion_column(
        "on the common settings if `method` is `paired by setting`; value − other_value if it is "
        "`unpaired`; null, with a `reason`, if either value is null"
    ),
    "ci_low": CI_LOW_COLUMN,
    "ci_high": CI_HIGH_COLUMN,
    "ci_method": column.text_column(
        f"how the interval was computed: `{MOVER_METHOD}`; `{MOVED_LOW}` or `{MOVED_HIGH}` if p "
        "has that "
        "end on the other side of 0: it was put at 0, or next to it"
    ),
    "p_value": column.p_value_column("the p-value of no difference").with_heading("p"),
    "p_holm": column.p_value_column("the same, adjusted by Holm").with_heading("p (Holm)"),
    "family": column.count_column(
        "how many p-values are adjusted together: those of one metric if all pairs are compared, "
        "else all"
    ),
    "method": column.text_column("`paired by setting` or `unpaired`"),
    "n_settings": column.count_column(
        "settings in common; where a model finished games of only one setting of a competition, "
        "its games are the clusters, and only games that both played are common"
    ).with_heading("settings"),
    "share_paired": column.proportion_column(
        "how much of the values is about these settings, in 0..1"
    ),
    "common_value": column.proportion_column(
        "the value on these settings, each counted as much for one as for the other: `difference` "
        "is that of such values; null if `unpaired`"
    ),
    "other_common_value": column.proportion_column("the same of the other"),
    "is_replayed": column.boolean_column(
        f"whether one of the two played about {REPLAY_RATIO:g} times as many games of these "
        "settings "
        "or more, in any term"
    ),
    **MISSING_COLUMNS,
    **{f"other_{name}": of_other for name, of_other in MISSING_COLUMNS.items()},
    "reason": column.text_column("why the difference is null"),
}
SCHEMA = column.polars_schema(COLUMNS)
# With a margin.
OF_MARGIN: Mapping[str, column.Column] = {
    "p_alike": column.p_value_column(
        "of two one-sided tests: the difference is within ± the margin"
    ).with_heading("p alike"),
    "p_alike_holm": column.p_value_column("the same, adjusted in the same families"),
    "verdict": column.text_column("alike, better, worse or undecided"),
}
# Of models of two systems.
ACROSS: Mapping[str, column.Column] = {
    "game_types": column.Column(
        LACKS_DTYPE, "those of the metric that both systems play: they count"
    ),
}
ALL_COLUMNS = {**COLUMNS, **OF_MARGIN, **ACROSS}
ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"


def compared(
    answer: MetricResult,
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
    rows, keys = entities(answer), answer.request.key_columns
    of_entity = rows.select(*keys, "entity")
    terms, sums = (
        frame.join(of_entity, on=keys, nulls_equal=True)
        .drop(answer.request.by)
        .rename({"entity": "model"})
        for frame in (answer.terms, answer.sums)
    )
    values = rows.select(
        "entity", "value", "thin", "reason", *MISSING_COLUMNS, label=pl.col(label).cast(pl.String)
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
        pairwise_differences(
            sums.lazy().filter(metric=name),
            terms.lazy().filter(metric=name),
            list(part.select(SIDES).iter_rows()),
            confidence,
            n_games=n_games,
            with_intervals=with_intervals,
        )
        for (name,), part in can_be.partition_by("metric", as_dict=True).items()
    ]
    found = pl.concat([pl.DataFrame(schema=DIFFERENCE_SCHEMA), *paired])
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
    highest = (highest_value(one, edition, game_types) for one in requested_metrics(names, edition))
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
    return rows.with_columns(adjust_holm(pl.col(p), by).alias(into), family=family)


def finished(
    rows: pl.DataFrame, margin: float | None, confidence: float, by: Sequence[str]
) -> pl.DataFrame:
    """The rows without their basis; with a margin also p_alike, p_alike_holm and verdict."""
    if margin is None:
        return rows.drop("basis")
    sides = [None if basis is None else rates_from_basis(basis) for basis in rows["basis"]]
    p_values = [one and equivalence_p_value(one[0], one[1], margin, one[2]) for one in sides]
    tested = rows.drop("basis").with_columns(p_alike=pl.Series(p_values, dtype=pl.Float64))
    tested = adjusted(tested, by, "p_alike", "p_alike_holm")
    is_apart, is_above = is_significant(pl.col("p_holm"), confidence), pl.col("difference") > 0
    verdict = (
        pl.when(pl.col("difference").is_null())
        .then(None)
        .when(is_significant(pl.col("p_alike_holm"), confidence))
        .then(pl.lit(ALIKE))
        .when(is_apart & is_above)
        .then(pl.lit(BETTER))
        .when(is_apart)
        .then(pl.lit(WORSE))
        .otherwise(pl.lit(UNDECIDED))
    )
    return tested.with_columns(verdict=verdict)
