"""Sample size planning: the number of settings needed to detect a difference between two models.

Used by `magic plan` and `Lake.plan`; depends on `pipeline.statistics.pairs` for the formulas.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Annotated, Any, NamedTuple, Self

import polars as pl

from pipeline import column
from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, MetricResult, compute_metrics, registry
from pipeline.metrics.completeness import leaderboard_counts_by_model
from pipeline.metrics.registry import METRIC_COLUMN, MODEL_COLUMN, SMALL_SAMPLE_COLUMN
from pipeline.metrics.request import Request, as_list, check_confidence
from pipeline.parameters import argument_spec, flag_spec, option_spec
from pipeline.reports.compare.differences import (
    check_pairs,
    compute_differences,
    models_in_pairs,
    pair_rows_of_models,
)
from pipeline.reports.registry import report
from pipeline.statistics.comparison import RateEstimate
from pipeline.statistics.intervals import SIGNIFICANT_DIGITS, rate_estimates
from pipeline.statistics.pairs import (
    MAX_SETTINGS,
    PilotData,
    pilot_data,
    required_settings,
    standard_deviation_per_setting,
)
from pipeline.vocabulary import Edition

PLAN_COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    "model": MODEL_COLUMN,
    "other": column.text_column("the other model of the pair"),
    "difference": column.proportion_column(
        "the difference to detect; by default the observed difference, as in `compare`"
    ),
    "small_sample_terms": SMALL_SAMPLE_COLUMN,
    "other_small_sample_terms": SMALL_SAMPLE_COLUMN,
    "power": column.proportion_column(
        "the probability that the test detects the difference, if it exists"
    ),
    "level": column.number_column("the significance level, divided by the number of pairs"),
    "n_settings": column.count_column(
        "settings of the pilot: the common settings, or the smaller number of the two models; null "
        "if the two cannot be compared",
        nullable=True,
    ).with_heading("pilot settings"),
    "sd": column.proportion_column(
        "the standard deviation of a setting's difference (of a setting's value if unpaired), in "
        "the metric's unit; raised because the pilot is small; null if the pilot has fewer than "
        "two settings, or if the two models cannot be compared"
    ),
    "settings": column.count_column(
        "number of settings that each model needs over all competitions, in the pilot's "
        "proportions, each played as often as in the pilot; replays are not new settings; null, "
        "with a `reason`, if more than a million are needed, or without an `sd` or a difference",
        nullable=True,
    ).with_heading("settings needed"),
    "n_more": column.count_column(
        "how many more settings these are than the pilot has", nullable=True
    ).with_heading("more"),
    "games_per_setting": column.number_column(
        "number of games of both models in the pilot, divided by their number of settings", low=0
    ),
    "games": column.count_column(
        "number of games of each model in the additional settings", nullable=True
    ),
    "reason": column.text_column("why there is no plan", nullable=True),
}
_PLANNED_COLUMNS = tuple(PLAN_COLUMNS)[tuple(PLAN_COLUMNS).index("n_settings") :]


@report(columns=PLAN_COLUMNS)
def plan(
    lake: StoredLake,
    metric: Annotated[
        str, option_spec("METRIC", "The metric to plan for.", suggested="metrics")
    ] = ("win_rate"),
    difference: Annotated[
        float | None,
        option_spec(
            "D", "The smallest difference that matters; default: the observed one of each pair."
        ),
    ] = None,
    *,
    model: Annotated[
        str | Sequence[str] | None,
        argument_spec(
            "[MODEL OTHER]",
            "The two models to compare; default: each model of the leaderboard and the next one.",
            "models",
        ),
    ] = None,
    pairs: Sequence[tuple[str, str]] = (),
    all_pairs: Annotated[
        bool, flag_spec("--all-pairs", "Plan for every pair of models in the lake.")
    ] = False,
    power: Annotated[
        float, option_spec("SHARE", "Probability of detecting the difference, if it exists.")
    ] = 0.8,
    confidence: float = DEFAULT_CONFIDENCE,
    n_pairs: Annotated[
        int, option_spec("N", "You will compare N pairs: divide the level by N.", min=1, max=10**6)
    ] = 1,
    unpaired: Annotated[
        bool, flag_spec("--unpaired", "The models will play different settings.")
    ] = False,
    edition: Edition = PAPER,
) -> pl.DataFrame:
    """Compute how many settings are needed to detect a difference between two models.

    The games of the lake are the pilot study. The difference to detect is by default the one that
    the pilot shows. Without models, the pairs are each model and the next one, ranked by the
    metric; models that lack a whole competition are excluded. With all pairs, every two models that
    have a value are compared. For each pair, `pilot settings` is the number of settings that both
    models played in the pilot. `settings needed` is the number of settings that each model has to
    play: over all competitions of the metric together, in the pilot's proportions, each as often as
    in the pilot. `more` is the number of settings that the pilot does not have, and `games` the
    number of games of each model in them. Playing a setting again does not give a new setting. `sd`
    is the standard deviation of a setting's difference (of a setting's value if the models play
    different settings), raised so that the plan is large enough with a probability of 80 %.

    \b
    Examples:
      magic plan gpt-4 gpt-4-pgm
      magic plan gpt-4 gpt-4-pgm --metric judgement --difference 0.1
      magic plan --metric win_rate --difference 0.05 --power 0.9 --format csv
      magic plan --all-pairs --n-pairs 45 --metric reasoning --unpaired

    Raises UsageError if there are no pairs and fewer than two models to pair, for pairs that
    `compare` does not accept, for pairs together with `all_pairs`, for one model or more than two,
    for a difference of 0 or one that the metric cannot have, and for a wrong power, confidence or
    number of pairs.

    >>> needed = lake.plan("win_rate", difference=0.2)
    >>> needed.select("model", "other", "n_settings", "settings").rows()[0]
    ('sim-delta', 'sim-cedar', 20, 78)
    >>> observed = lake.plan(model=["sim-delta", "sim-atlas"])
    >>> observed.select(pl.col("difference").round(3), "settings").row(0)
    (0.53, 14)
    """
    check_confidence(confidence)
    level = round(1 - confidence, 15)  # 1 - .95 is .050000000000000044
    if difference == 0:
        raise UsageError("the difference must not be 0")
    if not level < power < 1:
        raise UsageError(
            f"the power must be less than 1 and greater than 1 - confidence, not {power:g}"
        )
    highest = registry.highest_possible_metric_value(metric, edition, lake.game_types)
    if difference is not None and not abs(difference) <= highest:
        raise UsageError(
            f"a difference of {difference:g} in {metric} is impossible: its values are within "
            f"0..{highest:.3g}"
        )
    named_models = as_list(model) or ()
    if named_models and len(named_models) != 2:
        raise UsageError("specify two models, or none")
    pairs = [*pairs, (named_models[0], named_models[1])] if named_models else pairs
    if pairs and all_pairs:
        raise UsageError("specify two models, or plan all pairs, but not both")
    check_pairs(pairs)
    request = Request(edition=edition, by=("model",), models=models_in_pairs(pairs))
    result = compute_metrics(lake, request, names=[metric], confidence=confidence)
    pairs = pairs or _neighbouring_or_all_ranked_pairs(lake, result, all_pairs=all_pairs)
    rows = compute_differences(result, pair_rows_of_models(result, pairs), confidence)
    observed_difference = (
        pl.col("value") - pl.col("other_value") if unpaired else pl.col("difference")
    )
    # Means that are equal can differ in their last digit.
    difference_to_detect = (
        observed_difference.round(SIGNIFICANT_DIGITS) if difference is None else pl.lit(difference)
    )
    rows = rows.with_columns(difference=difference_to_detect)
    pilot = _PilotStudy.from_comparable_pairs(result, rows, confidence, is_paired=not unpaired)
    test_options = {"power": power, "level": level / n_pairs}
    planned_rows = [
        row | test_options | pilot.planned_values_of_pair(row, **test_options)
        for row in rows.iter_rows(named=True)
    ]
    return pl.DataFrame(
        [[row[name] for name in PLAN_COLUMNS] for row in planned_rows],
        column.polars_schema(PLAN_COLUMNS),
        orient="row",
    )


def _neighbouring_or_all_ranked_pairs(
    lake: StoredLake, result: MetricResult, *, all_pairs: bool
) -> list[tuple[str, str]]:
    """Return the pairs of each model and the next one by rank; with `all_pairs`, all pairs."""
    ranked_rows, requirement = result.rows.drop_nulls(["model", "value"]), "that have the metric"
    if not all_pairs:
        incomplete_models = leaderboard_counts_by_model(lake, result.request.edition).filter(
            pl.col("missing_competitions").list.len() > 0
        )
        ranked_rows = ranked_rows.join(
            incomplete_models, on="model", how="anti", maintain_order="left"
        )
        requirement += " and lack no competition"
    ranked_models = ranked_rows.sort(-pl.col("value").round(SIGNIFICANT_DIGITS), "model")[
        "model"
    ].to_list()
    if len(ranked_models) < 2:
        raise UsageError(
            f"a plan needs two models {requirement}, but the lake has {len(ranked_models)}; "
            "specify two models"
        )
    return list(combinations(ranked_models, 2) if all_pairs else pairwise(ranked_models))


class _PilotStudy(NamedTuple):
    """The pilot study: what the lake's games show about the models of the planned comparisons.

    Attributes:
        rates: The estimated value of each model.
        n_games: The number of games of each model.
        by_model: The settings of each model.
        by_pair: The common settings of each pair; None if the models will play different settings.
    """

    rates: Mapping[str, RateEstimate]
    n_games: Mapping[str, int]
    by_model: Mapping[str, PilotData]
    by_pair: Mapping[tuple[str, str], PilotData] | None

    @classmethod
    def from_comparable_pairs(
        cls, result: MetricResult, rows: pl.DataFrame, confidence: float, *, is_paired: bool
    ) -> Self:
        """Estimate the pilot study from the rows of pairs of models that can be compared."""
        pairs = rows.filter(pl.col("reason").is_null()).select("model", "other").rows()
        models = models_in_pairs(pairs) or ()
        sums = result.sums.lazy()
        terms = result.terms.lazy().filter(pl.col("model").is_in(models))
        model_estimates = rate_estimates(sums, terms, ["model"], confidence).collect()
        pilots = pilot_data(sums, terms, [(model, model) for model in models])
        return cls(
            {
                row["model"]: RateEstimate.from_fields(row)
                for row in model_estimates.iter_rows(named=True)
            },
            dict(result.rows.select("model", "n_games").iter_rows()),
            dict(zip(models, pilots, strict=True)),
            dict(zip(pairs, pilot_data(sums, terms, pairs), strict=True)) if is_paired else None,
        )

    def planned_values_of_pair(
        self, row: Mapping[str, Any], power: float, level: float
    ) -> dict[str, Any]:
        """Return how many settings and games a pair needs: values by column of the plan."""
        if row["reason"] is not None:
            return dict.fromkeys(_PLANNED_COLUMNS) | {"reason": row["reason"]}
        pair = row["model"], row["other"]
        model_pilot, other_pilot = (self.by_model[model] for model in pair)
        is_paired = self.by_pair is not None
        pilots = [model_pilot, other_pilot] if self.by_pair is None else [self.by_pair[pair]]
        n_settings = min(pilot.n_settings for pilot in pilots)
        setting_counts = model_pilot.n_settings, other_pilot.n_settings
        rate, other_rate = (self.rates[model] for model in pair)
        difference, test = row["difference"], {"power": power, "level": level}
        sd = standard_deviation_per_setting(
            rate, other_rate, setting_counts, pilots, difference=difference, is_paired=is_paired
        )
        n_needed, reason = None, None
        if sd is None:
            reason = f"fewer than two {'common settings' if is_paired else 'settings of a model'}"
        elif difference == 0:
            reason = "the observed difference is 0: specify the difference to detect"
        elif (n_needed := required_settings(difference, sd, is_paired=is_paired, **test)) is None:
            reason = f"more than {MAX_SETTINGS:,} settings are needed"
        n_games = sum(self.n_games[model] for model in pair)
        n_more = None if n_needed is None else max(0, n_needed - n_settings)
        games = (
            None if n_more is None else -(-n_more * n_games // sum(setting_counts))
        )  # rounded up
        values = (n_settings, sd, n_needed, n_more, n_games / sum(setting_counts), games, reason)
        return dict(zip(_PLANNED_COLUMNS, values, strict=True))
