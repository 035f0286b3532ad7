"""`magic plan`: how many settings it takes to see a difference."""

from typing import Annotated

import typer

from pipeline.cli.options import DEFAULT_LAKE, EditionOption, FormOption, LakeOption

HEADINGS = {"n_settings": "n_\nsettings"}


def plan(
    *,
    metric: Annotated[str, typer.Option("--metric", metavar="METRIC", help="The metric.")],
    difference: Annotated[
        float,
        typer.Option("--difference", metavar="D", help="The least difference that matters."),
    ],
    lake: LakeOption = DEFAULT_LAKE,
    power: Annotated[
        float, typer.Option("--power", metavar="SHARE", help="How sure to see it, if it is there.")
    ] = 0.8,
    level: Annotated[
        float, typer.Option("--level", metavar="SHARE", help="How many false alarms are allowed.")
    ] = 0.05,
    edition: EditionOption = "paper",
    form: FormOption = "table",
) -> None:
    """Settings needed to see a difference between two models, with the lake as a pilot.

    For each two models of the lake, `n_settings` are the settings that both played, and `settings`
    those that are needed: over all of the metric's competitions together, in the shares that the
    pilot has. Playing a setting again is no new setting. The variance is the pilot's, raised so
    that it is enough with 80 % certainty.

    \b
    Examples:
      magic plan --metric judgement --difference 0.1
      magic plan --metric win_rate --difference 0.05 --power 0.9 --format csv
    """
    from pipeline.cli.output import say, show
    from pipeline.lake import open_lake
    from pipeline.reports.plan import plan as planned

    rows = planned(open_lake(lake), metric, difference, power=power, level=level, edition=edition)
    brief = rows.drop("metric", "difference", "power", "level")
    show(rows, form, brief=brief, headings=HEADINGS if form == "table" else {})
    needed = sorted(rows["settings"].drop_nulls())
    if needed:
        what = f"to tell {difference:g} in {metric} with power {power:g} at {level:g}"
        half, whole = needed[len(needed) // 2], needed[-1]
        say([f"{what}: {half} settings for half of the pairs, {whole} for all"], form)
