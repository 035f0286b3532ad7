"""`magic completeness`: what is there of each model, and what is missing."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.exits import FAILED
from pipeline.cli.options import (
    DEFAULT_LAKE,
    EditionOption,
    FormOption,
    LakeOption,
    ModelsOption,
    SystemOption,
    lake_of,
    with_metric_files,
)

if TYPE_CHECKING:
    import polars as pl

    from pipeline.cli.folds import Fold
    from pipeline.lake import StoredLake

NO_GAMES = "the lake has no games: nothing can be complete"


@with_metric_files
def completeness(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    system: SystemOption = None,
    model: ModelsOption = None,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Only rows that are not complete.")
    ] = False,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing",
            help="List every setting without a finished game of the model, with what was fixed in "
            "it, and the unfinished games.",
        ),
    ] = False,
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
    fail_if_incomplete: Annotated[
        bool,
        typer.Option(
            "--fail-if-incomplete",
            help="Exit with 1 if a model is not complete, or if the lake has no games.",
        ),
    ] = False,
    form: FormOption = "table",
) -> None:
    """Show which games of each model the lake has, and which are missing.

    A row is a model and a competition: the settings expected (those that any model played), found
    and finished; its games, unfinished games and quarantined parts. With --missing, a row is a
    missing setting. With --metrics, a row is a model and a metric: the texts that could not be
    read, the outages and the rows of missing games, and the lowest and highest value that the
    metric could have if these were known. These bounds are not confidence intervals; do not use
    them to rank models.

    \b
    Examples:
      magic completeness
      magic completeness --expected 20 --format csv
      magic completeness --missing --model gpt-4
      magic completeness --incomplete --fail-if-incomplete
      magic completeness --metrics
    """
    if metrics and expected is not None:
        raise typer.BadParameter("cannot be combined with --metrics", param_hint="--expected")
    if missing and (metrics or expected is not None):
        other = "--metrics" if metrics else "--expected"
        raise typer.BadParameter(f"cannot be combined with {other}", param_hint="--missing")

    import polars as pl

    from pipeline.cli.output import say, show
    from pipeline.reports.completeness import completeness as games
    from pipeline.reports.completeness import readability
    from pipeline.reports.missing import missing as missing_settings

    opened = lake_of(lake, system)
    if metrics:
        rows = readability(opened, edition=edition, models=model or None)
    else:
        rows = games(opened, expected=expected, models=model or None)
    lacking = rows.filter(~rows["is_complete"])["model"].unique().sort().to_list()
    if missing:
        listed = missing_settings(opened, models=model or None)
        show(listed, form, brief=_brief(listed), folds=_missing_folds())
    else:
        is_whole = pl.col("is_complete").fill_null(value=False)
        shown = rows.filter(~is_whole) if incomplete else rows
        brief = shown.drop("game_type", strict=False)
        show(shown, form, brief=brief, folds=_folds())
    has_games = _has_games(opened)
    if not metrics or not has_games:
        complete = f"complete: {', '.join(model)}" if model else "every model is complete"
        answer = _incomplete(lacking, is_listed=missing) if lacking else complete
        say([answer if has_games else NO_GAMES, *_quarantined(opened)], form)
    if fail_if_incomplete and (lacking or not has_games):
        raise typer.Exit(FAILED)


def _folds() -> "list[Fold]":
    """What the table gives up for a narrow terminal, step by step."""
    from pipeline.cli import folds

    counts = ["games", "unfinished", "quarantined", "unreadable", "ambiguous", "outages", "missing"]
    incomplete = "not complete"
    return [
        folds.short(**{f"n_{name}": name for name in counts}, is_complete="complete"),
        folds.alike(*(f"n_{name}" for name in counts[1:]), "is_complete"),
        folds.bounds("bounds", "value_min", "value_max"),
        folds.titled("model"),
        folds.starred("is_complete", "competition", incomplete, where=False),
        folds.starred("is_complete", "metric", incomplete, where=False),
    ]


def _missing_folds() -> "list[Fold]":
    from pipeline.cli import folds

    return [
        folds.begun("setting_id"),
        folds.alike("game_index", "n_unfinished", "paths"),
        folds.short(n_unfinished="unfinished"),
        folds.titled("model"),
        folds.titled("competition"),
    ]


def _has_games(lake: "StoredLake") -> bool:
    return any(lake.counts("games").values())


def _brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The settings for eyes: without what no row has, and without the JSON that repeats it."""
    import polars as pl

    told = rows.with_columns(pl.col("paths").list.join(", ").replace("", None))
    empty = [name for name in told.columns if told[name].null_count() == told.height]
    return told.drop("game_type", "setting", *({*empty} - {"game_index", "paths"}))


def _incomplete(models: list[str | None], *, is_listed: bool) -> str:
    names = ", ".join("–" if name is None else name for name in models)
    more = "" if is_listed else "; run `magic completeness --missing` to list what is missing"
    return f"incomplete: {names}{more}"


def _quarantined(lake: "StoredLake") -> list[str]:
    """A note where whole documents are quarantined: they may be games that are missing."""
    import polars as pl

    refused = lake.table("quarantine").select(pl.col("game_id").is_null().sum()).collect().item()
    documents = "1 document is" if refused == 1 else f"{refused:,} documents are"
    note = f"{documents} quarantined and may be missing games: run `magic quarantine`"
    return [note] if refused else []
