"""Differences between pairs of values, with intervals, p-values and reasons why there are none.

P-values are adjusted for their number, and a margin adds a verdict. Used by the reports `compare`,
`diff`, `plan` and `ranking`; depends on `pipeline.statistics.pairs`.
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
    METRIC_COLUMN,
    MISSING_COLUMNS,
    MISSING_COMPETITIONS_DTYPE,
    SMALL_SAMPLE_COLUMN,
    highest_possible_metric_value,
)
from pipeline.metrics.request import requested_metrics
from pipeline.statistics.comparison import adjust_holm, equivalence_p_value, is_significant
from pipeline.statistics.pairs import (
    DIFFERENCE_SCHEMA,
    METHOD_HIGH_END_MOVED,
    METHOD_LOW_END_MOVED,
    MOVER_METHOD,
    PAIRED,
    REPLAY_RATIO,
    pairwise_differences,
    rates_and_correlation_from_basis,
)
from pipeline.vocabulary import ALL_GAME_TYPES, Edition

# The selection of pairs to compare: pairs of models, or pairs of groups of one model.

MAX_GROUPS = 100
ENTITY_COLUMNS = ("entity", "other_entity")


def check_pairs(pairs: Sequence[object]) -> None:
    """Raise UsageError unless each item is a pair of two different models and no pair is repeated.

    Args:
        pairs: The pairs of models as passed by a user.

    Raises:
        UsageError: If an item is not a pair of two different names, or if a pair occurs twice in
            either order.
    """
    pair_counts: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        match pair:
            case [str(model), str(other_model)] if model != other_model:
                pair_counts[tuple(sorted((model, other_model)))] += 1
            case [str(model), str()]:
                raise UsageError(f"{model} is named twice: specify two different models")
            case _:
                # For example a single name, or a list of pairs passed as one argument.
                raise UsageError(
                    f'a pair must be two models, such as ("gpt-4", "cohere"), not {pair!r}'
                )
    if repeated_pairs := [" and ".join(pair) for pair, count in pair_counts.items() if count > 1]:
        raise UsageError(
            f"specify each pair only once, in either order: {', '.join(repeated_pairs)}"
        )


def models_in_pairs(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...] | None:
    """Return the models that occur in the pairs, each once, or None if there are no pairs.

    Args:
        pairs: Pairs of models.

    Returns:
        The models in order of occurrence. None means all models, as in a `Request`.
    """
    return tuple(dict.fromkeys(name for pair in pairs for name in pair)) or None


def result_rows_with_entity_ids(result: MetricResult) -> pl.DataFrame:
    """Return the rows of the result with the column `entity`, which numbers the rows."""
    return result.rows.with_row_index("entity").with_columns(pl.col("entity").cast(pl.String))


def pair_rows_of_models(
    result: MetricResult, pairs: Sequence[tuple[str, str]], paired_column: str = "model"
) -> pl.DataFrame:
    """Return for each metric and pair of models the ids of the two rows with their values.

    Args:
        result: The values of the models.
        pairs: The pairs of models, or of values of `paired_column`.
        paired_column: The column that identifies the two sides of a pair.

    Returns:
        A row for each metric, group and pair: the metric, the columns of the group, `paired_column`
        and `other`, the ids `entity` and `other_entity` (null if there is no such row), and
        `lacking`, the reason why a row is missing.
    """
    all_rows = result_rows_with_entity_ids(result)
    rows = all_rows.filter(pl.col(paired_column).is_not_null())
    group_columns = ["metric", *(name for name in result.request.by if name != paired_column)]
    pair_rows = pl.DataFrame(
        list(pairs), schema={paired_column: pl.String, "other": pl.String}, orient="row"
    )
    # A metric for which no row meets the condition has a single row, without a model.
    has_no_row = ~pl.col("metric").is_in(rows["metric"].unique().implode())
    groups = (
        all_rows.filter(has_no_row | pl.col(paired_column).is_not_null())
        .select(*group_columns, nothing=pl.when(has_no_row).then("reason"))
        .unique(maintain_order=True)
        .join(pair_rows, how="cross")
    )
    entity_rows = rows.select(*group_columns, paired_column, "entity")
    other_rows = entity_rows.rename({paired_column: "other", "entity": "other_entity"})
    paired_rows = groups.join(
        entity_rows,
        on=[*group_columns, paired_column],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).join(
        other_rows,
        on=[*group_columns, "other"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    missing_names = [
        pl.when(pl.col(entity).is_null()).then(pl.col(name))
        for name, entity in zip((paired_column, "other"), ENTITY_COLUMNS, strict=True)
    ]
    missing_list = pl.concat_str(missing_names, separator=", ", ignore_nulls=True)
    missing_reason = pl.when(missing_list != "").then(pl.lit("no rows of ") + missing_list)
    return paired_rows.with_columns(lacking=pl.coalesce("nothing", missing_reason)).drop("nothing")


def pair_rows_of_groups(result: MetricResult, group_column: str) -> pl.DataFrame:
    """Return for each metric and pair of groups of one model the ids of the two rows.

    Args:
        result: The values of one model by groups, such as roles.
        group_column: The column of the groups.

    Returns:
        The columns `metric`, `model`, `group_column`, `other`, `entity` and `other_entity`.

    Raises:
        UsageError: If a metric has more than `MAX_GROUPS` groups.
    """
    rows = result_rows_with_entity_ids(result).filter(
        pl.col("model").is_not_null(), pl.col(group_column).is_not_null()
    )
    if group_column == "game_type":
        rows = rows.filter(pl.col(group_column) != ALL_GAME_TYPES)
    n_groups = rows.group_by("metric").len()["len"].max() or 0
    if isinstance(n_groups, int) and n_groups > MAX_GROUPS:
        raise UsageError(
            f"`{group_column}` has {n_groups:,} groups, but at most {MAX_GROUPS} can be compared: "
            "select some with a condition (--where), or choose another column"
        )
    pairs = [
        (
            metric,
            group["model"],
            str(group[group_column]),
            str(other_group[group_column]),
            group["entity"],
            other_group["entity"],
        )
        for (metric,), metric_rows in rows.partition_by(
            "metric", as_dict=True, maintain_order=True
        ).items()
        for group, other_group in combinations(
            metric_rows.sort(group_column, maintain_order=True).to_dicts(), 2
        )
    ]
    columns = ["metric", "model", group_column, "other", *ENTITY_COLUMNS]
    return pl.DataFrame(pairs, dict.fromkeys(columns, pl.String), orient="row")


def replace_competition_strata_by_game_types(
    result: MetricResult, settings: pl.DataFrame
) -> MetricResult:
    """Replace the names of competitions by the names of their game types in the strata.

    Then the roles of a model can be paired by setting, although each role is a competition of its
    own. In the terms, the names are replaced unless a group has two terms of one game type.

    Args:
        result: The values of one model by groups.
        settings: The settings of the lake, as returned by `played_games`.

    Returns:
        The result with game types as strata in `sums`.
    """
    game_type_by_competition = dict(
        settings.select("competition", "game_type").unique().drop_nulls().iter_rows()
    )
    renamed_columns = ["stratum"]
    terms = result.terms.with_columns(pl.col("term").replace(game_type_by_competition))
    if not terms.select(*result.request.metric_and_group_columns, "term").is_duplicated().any():
        renamed_columns += ["term"]
        result = result._replace(terms=terms)
    sums = result.sums.with_columns(pl.col(renamed_columns).replace(game_type_by_competition))
    return result._replace(sums=sums)


COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    "model": column.text_column("the model", nullable=True),
    "other": column.text_column("the other model, or the other group", nullable=True),
    "value": column.proportion_column(
        "the value of the model over all its settings, in the metric's unit"
    ),
    "other_value": column.proportion_column("the value of the other model or group"),
    "small_sample_terms": SMALL_SAMPLE_COLUMN,
    "other_small_sample_terms": SMALL_SAMPLE_COLUMN,
    "difference": column.proportion_column(
        "the difference on the common settings if `method` is `paired by setting`; value − "
        "other_value if it is `unpaired`; null, with a `reason`, if either value is null"
    ),
    "ci_low": CI_LOW_COLUMN,
    "ci_high": CI_HIGH_COLUMN,
    "ci_method": column.text_column(
        f"how the interval was computed: `{MOVER_METHOD}`; "
        f"`{METHOD_LOW_END_MOVED}` or `{METHOD_HIGH_END_MOVED}` if "
        "that end "
        "was moved to 0 or next to it, so that the interval agrees with the p-value"
    ),
    "p_value": column.p_value_column(
        "p-value of the null hypothesis that there is no difference"
    ).with_heading("p"),
    "p_holm": column.p_value_column("the p-value adjusted by Holm's method").with_heading(
        "p (Holm)"
    ),
    "family": column.count_column(
        "number of p-values that are adjusted together: those of one metric if all pairs are "
        "compared, otherwise all"
    ),
    "method": column.text_column("`paired by setting` or `unpaired`"),
    "n_settings": column.count_column(
        "number of common settings; if a model finished games of only one setting of a "
        "competition, its games are the clusters, and only games that both played are common"
    ).with_heading("settings"),
    "share_paired": column.proportion_column(
        "share of the values that belongs to the common settings, between 0 and 1"
    ),
    "common_value": column.proportion_column(
        "the value on the common settings, each with the same weight for both: `difference` is "
        "the difference of these values; null if `unpaired`"
    ),
    "other_common_value": column.proportion_column("the common value of the other model or group"),
    "is_replayed": column.boolean_column(
        f"whether one of the two played at least about {REPLAY_RATIO:g} times as many games of the "
        "common settings as the other, in any term"
    ),
    **MISSING_COLUMNS,
    **{f"other_{name}": spec for name, spec in MISSING_COLUMNS.items()},
    "reason": column.text_column("why the difference is null"),
}
SCHEMA = column.polars_schema(COLUMNS)
# Further columns of a result with a margin.
MARGIN_COLUMNS: Mapping[str, column.Column] = {
    "p_alike": column.p_value_column(
        "p-value of two one-sided tests that the difference is within ± the margin"
    ).with_heading("p alike"),
    "p_alike_holm": column.p_value_column(
        "this p-value adjusted by Holm's method, in the same families"
    ),
    "verdict": column.text_column("alike, better, worse or undecided"),
}
# Further columns of a comparison of models of two systems.
CROSS_SYSTEM_COLUMNS: Mapping[str, column.Column] = {
    "game_types": column.Column(
        MISSING_COMPETITIONS_DTYPE,
        "the game types of the metric that both systems play and that are counted",
    ),
}
ALL_COLUMNS = {**COLUMNS, **MARGIN_COLUMNS, **CROSS_SYSTEM_COLUMNS}
ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"


def compute_differences(
    result: MetricResult,
    pairs: pl.DataFrame,
    confidence: float,
    *,
    label: str = "model",
    with_intervals: bool = True,
) -> pl.DataFrame:
    """Compute the difference between the two values of each pair, with interval and p-value.

    Args:
        result: The values, with their terms and sums.
        pairs: Pairs of rows, as returned by `pair_rows_of_models` or `pair_rows_of_groups`.
        confidence: Confidence level of the intervals, between 0 and 1.
        label: The column whose values name the two sides in reasons.
        with_intervals: Whether intervals are computed. Without them, only the p-values are
            reliable.

    Returns:
        The rows of `pairs` with the columns of `SCHEMA` and with `basis`, the estimates behind each
        difference. The columns `p_holm` and `family` are null.
    """
    rows, keys = result_rows_with_entity_ids(result), result.request.metric_and_group_columns
    entity_rows = rows.select(*keys, "entity")
    terms, sums = (
        frame.join(entity_rows, on=keys, nulls_equal=True)
        .drop(result.request.by)
        .rename({"entity": "model"})
        for frame in (result.terms, result.sums)
    )
    values = rows.select(
        "entity",
        "value",
        "small_sample_terms",
        "reason",
        *MISSING_COLUMNS,
        label=pl.col(label).cast(pl.String),
    ).join(terms.group_by(entity="model").agg(terms="term"), on="entity", how="left")
    other_values = values.rename(lambda name: f"other_{name}")
    paired_values = (
        pairs.join(values, on="entity", how="left", maintain_order="left")
        .join(other_values, on="other_entity", how="left", maintain_order="left")
        .with_columns(reason=_incomparable_reason_expression())
    )
    comparable = paired_values.filter(pl.col("reason").is_null()).drop_nulls(ENTITY_COLUMNS)
    n_games = dict(rows.select("entity", "n_games").iter_rows())
    difference_parts = [
        pairwise_differences(
            sums.lazy().filter(metric=name),
            terms.lazy().filter(metric=name),
            list(metric_pairs.select(ENTITY_COLUMNS).iter_rows()),
            confidence,
            n_games=n_games,
            with_intervals=with_intervals,
        )
        for (name,), metric_pairs in comparable.partition_by("metric", as_dict=True).items()
    ]
    differences = pl.concat([pl.DataFrame(schema=DIFFERENCE_SCHEMA), *difference_parts])
    differences = differences.rename({"one": "entity", "other": "other_entity"})
    missing_row_reason = "lacking" if "lacking" in pairs.columns else pl.lit(None, pl.String)
    group_columns = pairs.drop(ENTITY_COLUMNS, "lacking", strict=False).columns
    return (
        paired_values.join(differences, on=ENTITY_COLUMNS, how="left", maintain_order="left")
        .with_columns(
            reason=pl.coalesce(missing_row_reason, "reason"),
            common_value=common_settings_value_expression("one"),
            other_common_value=common_settings_value_expression("other"),
            p_holm=pl.lit(None, pl.Float64),
            family=pl.lit(None, pl.Int64),
        )
        .select(
            *group_columns,
            *(name for name in SCHEMA if name not in ("metric", "model", "other")),
            "basis",
        )
    )


def common_settings_value_expression(side: str) -> pl.Expr:
    """Return the expression of the value of one side of a pair in the settings that both played.

    Args:
        side: `one` or `other`, a field of the column `basis`.

    Returns:
        An expression on the rows of `compute_differences`, in the metric's unit; null if the pair
        is not paired by setting.
    """
    rate = pl.col("basis").struct.field(side)
    value = rate.struct.field("rate") * rate.struct.field("range")
    return pl.when(pl.col("method") == PAIRED).then(value)


def _incomparable_reason_expression() -> pl.Expr:
    """Return the expression of the reason why a pair cannot be compared, null if it can."""
    value_reasons, term_reasons = [], []
    for prefix, other_prefix in (("", "other_"), ("other_", "")):
        labeled_reason = pl.format("{}: {}", f"{prefix}label", f"{prefix}reason")
        value_reasons.append(pl.when(pl.col(f"{prefix}value").is_null()).then(labeled_reason))
        extra_terms = (
            pl.col(f"{prefix}terms").list.set_difference(f"{other_prefix}terms").list.sort()
        )
        extra_terms_reason = pl.format(
            "only {} has {}", f"{prefix}label", extra_terms.list.join(", ")
        )
        term_reasons.append(pl.when(extra_terms.list.len() > 0).then(extra_terms_reason))
    common_reason = pl.format("{} and {}: {}", "label", "other_label", "reason")
    same_reason = pl.when(pl.col("reason") == pl.col("other_reason")).then(common_reason)
    joined_reasons = (
        pl.concat_str(reasons, separator="; ", ignore_nulls=True)
        for reasons in (value_reasons, term_reasons)
    )
    have_rows = pl.all_horizontal(pl.col(ENTITY_COLUMNS).is_not_null())
    return pl.when(have_rows).then(
        pl.coalesce(same_reason, *(pl.when(reason != "").then(reason) for reason in joined_reasons))
    )


def check_margin(
    margin: float | None,
    metrics: str | Sequence[str] | None,
    edition: Edition,
    game_types: Collection[str],
    *,
    may_be_0: bool = False,
) -> None:
    """Raise UsageError unless the margin is positive and less than the largest difference.

    Args:
        margin: The margin in the metric's unit; None if no margin was specified.
        metrics: The requested metrics; None for all.
        edition: The edition of the metrics.
        game_types: The game types of the lake.
        may_be_0: Whether a margin of 0 is valid.

    Raises:
        UsageError: If the margin is invalid.
    """
    if margin is None:
        return
    if not (margin > 0 or (may_be_0 and margin == 0)):
        raise UsageError(f"the margin must be greater than 0, for example 0.05, not {margin:g}")
    highest_values = (
        highest_possible_metric_value(name, edition, game_types)
        for name in requested_metrics(metrics, edition)
    )
    largest_difference = max(highest_values, default=1.0)
    if margin >= largest_difference:
        raise UsageError(
            f"the margin must be less than {largest_difference:g}, because no difference is "
            f"larger, not {margin:g}"
        )


def add_holm_adjusted_p_values(
    rows: pl.DataFrame,
    family_columns: Sequence[str],
    p_column: str = "p_value",
    adjusted_column: str = "p_holm",
) -> pl.DataFrame:
    """Add columns with p-values adjusted by Holm's method, and with the number of such p-values.

    Args:
        rows: Rows with p-values.
        family_columns: P-values are adjusted together if their rows have the same values in these
            columns; without columns, all are adjusted together.
        p_column: The column of the p-values.
        adjusted_column: The name of the column of adjusted p-values.

    Returns:
        The rows with the columns `adjusted_column` and `family`, which are null without a p-value.
    """
    n_p_values = pl.col(p_column).count().over(family_columns or pl.lit(0)).cast(pl.Int64)
    family = pl.when(pl.col(p_column).is_not_null()).then(n_p_values)
    return rows.with_columns(
        adjust_holm(pl.col(p_column), family_columns).alias(adjusted_column), family=family
    )


def drop_basis_and_add_verdict(
    rows: pl.DataFrame, margin: float | None, confidence: float, family_columns: Sequence[str]
) -> pl.DataFrame:
    """Remove the column `basis`; with a margin, add whether a model is alike, better or worse.

    Args:
        rows: Rows of `compute_differences` with adjusted p-values.
        margin: The equivalence margin in the metric's unit; None without a test.
        confidence: Confidence level, between 0 and 1.
        family_columns: The columns that separate families of p-values, as in
            `add_holm_adjusted_p_values`.

    Returns:
        The rows; with a margin also `p_alike`, `p_alike_holm` and `verdict`.
    """
    if margin is None:
        return rows.drop("basis")
    rates = [
        None if basis is None else rates_and_correlation_from_basis(basis)
        for basis in rows["basis"]
    ]
    p_values = [
        rate_pair and equivalence_p_value(rate_pair[0], rate_pair[1], margin, rate_pair[2])
        for rate_pair in rates
    ]
    rows_with_p_values = rows.drop("basis").with_columns(
        p_alike=pl.Series(p_values, dtype=pl.Float64)
    )
    rows_with_p_values = add_holm_adjusted_p_values(
        rows_with_p_values, family_columns, "p_alike", "p_alike_holm"
    )
    is_different, is_positive = (
        is_significant(pl.col("p_holm"), confidence),
        pl.col("difference") > 0,
    )
    verdict = (
        pl.when(pl.col("difference").is_null())
        .then(None)
        .when(is_significant(pl.col("p_alike_holm"), confidence))
        .then(pl.lit(ALIKE))
        .when(is_different & is_positive)
        .then(pl.lit(BETTER))
        .when(is_different)
        .then(pl.lit(WORSE))
        .otherwise(pl.lit(UNDECIDED))
    )
    return rows_with_p_values.with_columns(verdict=verdict)
