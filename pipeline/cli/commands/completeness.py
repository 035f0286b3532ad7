"""`magic completeness`: what is there of each model, and what is missing."""

from typing import Annotated

import typer

from pipeline.cli.options import DEFAULT_LAKE, EditionOption, FormOption, LakeOption

HEADINGS = {
    "n_games": "n_\ngames",
    "n_unfinished": "n_\nunfin-\nished",
    "n_quarantined": "n_\nquaran-\ntined",
    "is_complete": "is_\ncom-\nplete",
    "n_unreadable": "n_\nunread-\nable",
    "n_ambiguous": "n_\nambig-\nuous",
    "n_outages": "n_\noutages",
    "n_missing": "n_\nmissing",
    "value_min": "value_\nmin",
    "value_max": "value_\nmax",
}


def completeness(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    expected: Annotated[
        int | None,
        typer.Option(
            "--expected",
            min=1,
            metavar="N",
            help="Expect N games of each model in each competition; default: every setting that "
            "any model played.",
        ),
    ] = None,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics", help="By metric: unreadable and missing rows, and the bounds of the value."
        ),
    ] = False,
    edition: EditionOption = "paper",
    form: FormOption = "table",
) -> None:
    """Show which games of each model the lake has, and which are missing.

    By model and competition: settings expected (those that any model played), found, and finished;
    games, unfinished games, and quarantined parts. With --metrics, by model and metric: texts that
    could not be read, outages, and rows of missing games; and the lowest and highest value that
    the metric could have if they were known. These bounds are not confidence intervals; do not use
    them to rank models.

    \b
    Examples:
      magic completeness
      magic completeness --expected 20 --format csv
      magic completeness --metrics
    """
    if metrics and expected is not None:
        raise typer.BadParameter("cannot be combined with --metrics", param_hint="--expected")

    from pipeline.cli.output import say, show
    from pipeline.lake import open_lake
    from pipeline.reports.completeness import completeness as games
    from pipeline.reports.completeness import readability

    opened = open_lake(lake)
    rows = readability(opened, edition=edition) if metrics else games(opened, expected=expected)
    brief = rows if metrics else rows.drop("game_type")
    show(rows, form, brief=brief, headings=HEADINGS if form == "table" else {})
    if not metrics:
        lacking = rows.filter(~rows["is_complete"])["model"].unique().sort().to_list()
        told = ", ".join("–" if name is None else str(name) for name in lacking)
        say([f"incomplete: {told}" if lacking else "every model is complete"], form)
