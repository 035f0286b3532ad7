"""How many settings are needed to detect a difference between two models of the lake."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Annotated, Any, NamedTuple, Self

import polars as pl

from pipeline import column
from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, MetricResult, compute_metrics, registry
from pipeline.metrics.completeness import models_with_missing_games
from pipeline.metrics.registry import METRIC_COLUMN, MODEL_COLUMN, SMALL_SAMPLE_COLUMN
from pipeline.metrics.request import Request, as_list, check_confidence
from pipeline.parameters import argument_spec, flag_spec, option_spec
from pipeline.reports.compare.differences import check_pairs, compared, models_of, of_models
from pipeline.reports.registry import report
from pipeline.statistics.comparison import RateEstimate
from pipeline.statistics.intervals import SIGNIFICANT_DIGITS, rate_estimates
from pipeline.statistics.pairs import (
    MAX_SETTINGS,
    PilotData,
    pilot_data,
    settings_needed,
    standard_deviation_per_setting,
)
from pipeline.vocabulary import Edition

PLAN_COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    "model": MODEL_COLUMN,
    "other": column.text_column("the other model of the pair"),
    "difference": column.proportion_column(
        "the difference to detect; if none was given, the observed one, that of `compare`"
    ),
    "thin": SMALL_SAMPLE_COLUMN,
    "other_thin": SMALL_SAMPLE_COLUMN,
    "power": column.proportion_column("the probability of detecting it, if it exists"),
    "level": column.number_column("the significance level, divided by the number of pairs"),
    "n_settings": column.count_column(
        "the settings of the pilot: in common, or the fewer of both; null if the two cannot be "
        "compared",
        nullable=True,
    ).with_heading("pilot settings"),
    "sd": column.proportion_column(
        "the standard deviation of a setting's difference, or of a setting, in the metric's unit; "
        "raised because the pilot is small; null if it has fewer than two settings (nothing can be "
        "planned from one), or if the two cannot be compared"
    ),
    "settings": column.count_column(
        "the number needed by each model over all competitions, in the pilot's proportions, each "
        "played as often as in the pilot; replays are not new settings; null, with a `reason`, if "
        "more than a million are needed, or if there is no `sd` or no difference",
        nullable=True,
    ).with_heading("settings needed"),
    "n_more": column.count_column(
        "how many of these are more than the pilot has", nullable=True
    ).with_heading("more"),
    "games_per_setting": column.number_column(
        "the games that both models played in the pilot, by their settings", low=0
    ),
    "games": column.count_column(
        "the games of each model in the settings that are more", nullable=True
    ),
    "reason": column.text_column("why there is no plan", nullable=True),
}
_PLANNED = tuple(PLAN_COLUMNS)[tuple(PLAN_COLUMNS).index("n_settings") :]


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
        float, option_spec("SHARE", "Probability of detecting it, if it exists.")
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

    The lake is the pilot study. Without a difference, the one to detect is the one that it
    shows. Without models, the pairs are each model and the next one, ranked by the metric, without
    those that lack a whole competition; with all pairs, all that have a value. For each pair,
    `pilot settings` is the number of settings that both played in the pilot. `settings needed` is
    the number that each model has to play: over all of the metric's competitions together, in the
    pilot's proportions, each as often as in the pilot. `more` are those that the pilot does not
    have, and `games` the games of each model in them. Playing a setting again does not give a new
    setting. `sd` is the standard deviation of a setting's difference (of a setting's value if the
    models play different ones), raised so that the plan is large enough with a probability of 80 %.

    \b
    Examples:
      magic plan gpt-4 gpt-4-pgm
      magic plan gpt-4 gpt-4-pgm --metric judgement --difference 0.1
      magic plan --metric win_rate --difference 0.05 --power 0.9 --format csv
      magic plan --all-pairs --n-pairs 45 --metric reasoning --unpaired

    Raises UsageError if there are no pairs and fewer than two such models, for pairs as `compare`
    does and beside all pairs, for one model or more than two, if the difference is impossible, and
    for a wrong difference, power, confidence or number of pairs.

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
    highest = registry.highest_value(metric, edition, lake.game_types)
    if difference is not None and not abs(difference) <= highest:
        raise UsageError(
            f"a difference of {difference:g} in {metric} is impossible: its values are within "
            f"0..{highest:.3g}"
        )
    named = as_list(model) or ()
    if named and len(named) != 2:
        raise UsageError("name two models, or none")
    pairs = [*pairs, (named[0], named[1])] if named else pairs
    if pairs and all_pairs:
        raise UsageError("name two models, or plan all pairs: not both")
    check_pairs(pairs)
    request = Request(edition=edition, by=("model",), models=models_of(pairs))
    answer = compute_metrics(lake, request, names=[metric], confidence=confidence)
    pairs = pairs or _ranked_pairs(lake, answer, all_pairs=all_pairs)
    rows = compared(answer, of_models(answer, pairs), confidence)
    observed = pl.col("value") - pl.col("other_value") if unpaired else pl.col("difference")
    # Equal means may differ in a last digit.
    to_detect = observed.round(SIGNIFICANT_DIGITS) if difference is None else pl.lit(difference)
    rows = rows.with_columns(difference=to_detect)
    pilot = _Pilot.from_comparable_pairs(answer, rows, confidence, is_paired=not unpaired)
    test = {"power": power, "level": level / n_pairs}
    planned = [row | test | pilot.plan_pair(row, **test) for row in rows.iter_rows(named=True)]
    return pl.DataFrame(
        [[row[name] for name in PLAN_COLUMNS] for row in planned],
        column.polars_schema(PLAN_COLUMNS),
        orient="row",
    )


def _ranked_pairs(
    lake: StoredLake, answer: MetricResult, *, all_pairs: bool
) -> list[tuple[str, str]]:
    """Each ranked model with the next one in the metric; or all pairs, also of unranked models."""
    ranked, needed = answer.rows.drop_nulls(["model", "value"]), "that have the metric"
    if not all_pairs:
        lacks = models_with_missing_games(lake, answer.request.edition).filter(
            pl.col("lacks").list.len() > 0
        )
        ranked = ranked.join(lacks, on="model", how="anti", maintain_order="left")
        needed += " and lack no competition"
    order = ranked.sort(-pl.col("value").round(SIGNIFICANT_DIGITS), "model")["model"].to_list()
    if len(order) < 2:
        raise UsageError(
            f"a plan needs two models {needed}: the lake has {len(order)}; name two models"
        )
    return list(combinations(order, 2) if all_pairs else pairwise(order))


class _Pilot(NamedTuple):
    """What the lake's games say of the models that are to be compared.

    `alone` are the settings of each model, `common` those of each pair; if the models will play
    different settings, nothing is `common`.
    """

    rates: Mapping[str, RateEstimate]
    n_games: Mapping[str, int]
    alone: Mapping[str, PilotData]
    common: Mapping[tuple[str, str], PilotData] | None

    @classmethod
    def from_comparable_pairs(
        cls, answer: MetricResult, rows: pl.DataFrame, confidence: float, *, is_paired: bool
    ) -> Self:
        """The pilot of the rows' pairs, except those that cannot be compared."""
        pairs = rows.filter(pl.col("reason").is_null()).select("model", "other").rows()
        models = models_of(pairs) or ()
        sums = answer.sums.lazy()
        terms = answer.terms.lazy().filter(pl.col("model").is_in(models))
        of_model = rate_estimates(sums, terms, ["model"], confidence).collect()
        pilots = pilot_data(sums, terms, [(model, model) for model in models])
        return cls(
            {row["model"]: RateEstimate.of(row) for row in of_model.iter_rows(named=True)},
            dict(answer.rows.select("model", "n_games").iter_rows()),
            dict(zip(models, pilots, strict=True)),
            dict(zip(pairs, pilot_data(sums, terms, pairs), strict=True)) if is_paired else None,
        )

    def plan_pair(self, row: Mapping[str, Any], power: float, level: float) -> dict[str, Any]:
        """What the columns from `n_settings` on have for the row of a pair."""
        if row["reason"] is not None:
            return dict.fromkeys(_PLANNED) | {"reason": row["reason"]}
        pair = row["model"], row["other"]
        one, other = (self.alone[model] for model in pair)
        is_paired = self.common is not None
        pilots = [one, other] if self.common is None else [self.common[pair]]
        n_settings = min(pilot.n_settings for pilot in pilots)
        numbers = one.n_settings, other.n_settings
        rate, other_rate = (self.rates[model] for model in pair)
        difference, test = row["difference"], {"power": power, "level": level}
        sd = standard_deviation_per_setting(
            rate, other_rate, numbers, pilots, difference=difference, is_paired=is_paired
        )
        needed, reason = None, None
        if sd is None:
            reason = f"fewer than two {'common settings' if is_paired else 'settings of a model'}"
        elif difference == 0:
            reason = "the observed difference is 0: name the one to detect"
        elif (needed := settings_needed(difference, sd, is_paired=is_paired, **test)) is None:
            reason = f"more than {MAX_SETTINGS:,} settings are needed"
        n_games = sum(self.n_games[model] for model in pair)
        n_more = None if needed is None else max(0, needed - n_settings)
        games = None if n_more is None else -(-n_more * n_games // sum(numbers))  # rounded up
        planned = (n_settings, sd, needed, n_more, n_games / sum(numbers), games, reason)
        return dict(zip(_PLANNED, planned, strict=True))
