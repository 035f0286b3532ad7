"""`magic diff`: what moved between two lakes, or two states of one."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import terminal
from pipeline.cli.exits import FAILED
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    ConfidenceOption,
    EditionOption,
    FormOption,
    confidence_level,
)

if TYPE_CHECKING:
    import polars as pl

HEADINGS = {
    "new_value": "new\nvalue",
    "difference": "differ-\nence",
    "ci_low": "low",
    "ci_high": "high",
    "p_holm": "p\n(Holm)",
    "n_common": "games\nin both",
    "n_gone": "gone",
    "n_new": "new",
    "is_beyond_noise": "beyond\nnoise",
}
LakesArgument = Annotated[
    list[str], typer.Argument(metavar="LAKE [LAKE]", help="Before and after; or one, with --as-of.")
]


def diff(
    *,
    lakes: LakesArgument,
    as_of: Annotated[
        list[int] | None,
        typer.Option(
            "--as-of",
            metavar="INGEST",
            help="Of one lake: the state after this ingest, against the last or another one.",
        ),
    ] = None,
    games: Annotated[
        bool, typer.Option("--games", help="The games that are in one of them only.")
    ] = False,
    fail_on_regression: Annotated[
        float | None,
        typer.Option(
            "--fail-on-regression",
            metavar="MARGIN",
            min=0,
            help="Exit with 1 where a value fell by more, beyond noise.",
        ),
    ] = None,
    edition: EditionOption = "paper",
    confidence: ConfidenceOption = DEFAULT_CONFIDENCE,
    form: FormOption = "table",
) -> None:
    """What moved between two lakes, by metric and model, and whether it is more than noise.

    A game in both is the same in both: where no other is counted a difference is exact. New games
    are compared with those gone, by setting where they can be.

    \b
    Examples:
      magic diff before/ after/
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff lake/ --as-of 1 --games
    """
    states = as_of or []
    if (len(lakes), len(states)) not in ((2, 0), (1, 1), (1, 2)):
        raise typer.BadParameter(
            "name two lakes, or one with --as-of once or twice", param_hint="LAKE"
        )
    confidence = confidence_level(confidence)

    from pipeline.cli.output import show
    from pipeline.lake import open_lake
    from pipeline.reports.diff import diff as differ
    from pipeline.reports.diff import games_that_did_it

    after = states[1] if len(states) == 2 else None
    first = open_lake(lakes[0], states[0] if states else None)
    second = open_lake(lakes[-1], after)
    rows = differ(first, second, edition=edition, confidence=confidence)
    if games:
        show(games_that_did_it(first, second, edition=edition), form)
    else:
        hidden = ["family", "p_value", "n_settings"]
        hidden += [] if rows["reason"].count() else ["reason"]
        show(rows, form, brief=rows.drop(hidden), headings=HEADINGS if form == "table" else {})
    if fail_on_regression is not None and _regressions(rows, fail_on_regression):
        raise typer.Exit(FAILED)


def _regressions(rows: "pl.DataFrame", margin: float) -> bool:
    """Whether a value fell by more than the margin, and notes of those that did."""
    import polars as pl

    fell = rows.filter((pl.col("difference") < -margin) & pl.col("is_beyond_noise"))
    for name, model, difference in fell.select("metric", "model", "difference").iter_rows():
        terminal.note(f"regression: {name} of {model} fell by {-difference:.4f}")
    return not fell.is_empty()
