"""`magic plan`: how many settings are needed to detect a difference."""

from pipeline.cli import options, suggestions
from pipeline.cli.options import flag, option


@options.with_metric_files
def plan(
    *,
    metric: str = option(
        "METRIC", "The metric to plan for.", suggested=suggestions.metrics, default=...
    ),
    difference: float = option("D", "The smallest difference that matters.", default=...),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    power: float = option("SHARE", "Probability of detecting it, if it exists.", default=0.8),
    confidence: options.ConfidenceOption = options.DEFAULT_CONFIDENCE,
    n_pairs: int = option("N", "You will compare N pairs: divide the level by N.", default=1),
    unpaired: bool = flag("--unpaired", "The models will play different settings."),
    edition: options.EditionOption = "paper",
    form: options.FormOption = "table",
) -> None:
    """Compute how many settings are needed to detect a difference between two models.

    The lake is the pilot study. For each pair of models, `pilot settings` is the number of settings
    that both played in it. `settings needed` is the number that each model has to play: over all of
    the metric's competitions together, in the pilot's proportions, each as often as in the pilot.
    Playing a setting again does not give a new setting. `sd` is the standard deviation of a
    setting's difference (of a setting's value with --unpaired), raised so that the plan is large
    enough with a probability of 80 %.

    \b
    Examples:
      magic plan --metric judgement --difference 0.1
      magic plan --metric win_rate --difference 0.05 --power 0.9 --format csv
      magic plan --metric reasoning --difference 0.1 --n-pairs 45 --unpaired
    """
    from pipeline.cli.output import answer
    from pipeline.reports.plan import plan as planned

    rows = planned(
        options.lake_of(lake, system),
        metric,
        difference,
        power=power,
        confidence=confidence,
        n_pairs=n_pairs,
        unpaired=unpaired,
        edition=edition,
    )
    answer("plan", rows, form, edition=edition)
