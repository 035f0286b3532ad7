"""`magic compare`: models against each other, metric by metric."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    ConfidenceOption,
    EditionOption,
    LakeOption,
    PaperFormOption,
    confidence_level,
)

if TYPE_CHECKING:
    import polars as pl

HEADINGS = {
    "other_value": "other_\nvalue",
    "difference": "differ-\nence",
    "ci_low": "ci_\nlow",
    "ci_high": "ci_\nhigh",
    "p_value": "p_\nvalue",
    "p_holm": "p_\nholm",
    "n_settings": "n_\nsettings",
}


def compare(
    *,
    model: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL OTHER", help="The two models to compare.")
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every pair of models in the lake.")
    ] = False,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Only this metric; may be repeated."),
    ] = None,
    edition: EditionOption = "paper",
    confidence: ConfidenceOption = DEFAULT_CONFIDENCE,
    form: PaperFormOption = "table",
) -> None:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis of
    the p-value is that the two models behave alike. `p_holm` is adjusted by Holm's method for all
    p-values printed; with --all-pairs, for those of one metric. The test draws 20,000 sign
    patterns, so its smallest p-value is 0.000025 (2.5e-05): read it as "at most".

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --all-pairs --metric win_rate --format csv
    """
    if all_pairs is bool(model):
        raise typer.BadParameter("name two models, or use --all-pairs", param_hint="MODEL")
    if model and len(model) != 2:
        raise typer.BadParameter("name two models", param_hint="MODEL")
    confidence = confidence_level(confidence)

    from pipeline.cli.output import say, show
    from pipeline.lake import open_lake
    from pipeline.reports.compare import compare as compared

    rows = compared(
        open_lake(lake),
        *([(model[0], model[1])] if model else []),
        names=metric or None,
        edition=edition,
        confidence=confidence,
    )
    hidden = ["family", "share_paired", *([] if rows["reason"].count() else ["reason"])]
    show(rows, form, brief=rows.drop(hidden), headings=HEADINGS if form == "table" else {})
    say([family_note(rows, all_pairs=all_pairs)], form)


def family_note(rows: "pl.DataFrame", *, all_pairs: bool) -> str:
    if rows.is_empty():
        return "nothing to compare: the lake has fewer than two models"
    sizes = rows["family"].drop_nulls().unique().sort().to_list()
    if not sizes:
        return "nothing could be compared"
    size = " to ".join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))
    s = "" if size == "1" else "s"
    what = f"pair{s} of models in each metric" if all_pairs else f"p-value{s}: all that are printed"
    return f"p_holm is adjusted for a family of {size} {what}"
