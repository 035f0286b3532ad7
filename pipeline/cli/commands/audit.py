"""`magic audit`: where logs contradict themselves."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import terminal
from pipeline.cli.options import (
    DEFAULT_LAKE,
    FormOption,
    LakeOption,
    ModelsOption,
    SystemOption,
    columns,
)

if TYPE_CHECKING:
    import polars as pl

ROW_BRIEF = ("game_id", "model", "player", "round", "logged", "says", "message_index", "content")


def audit(
    *,
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="Print every finding of this kind."),
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    system: SystemOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="Columns to group by, separated by commas; may be repeated.",
        ),
    ] = None,
    model: ModelsOption = None,
    form: FormOption = "table",
) -> None:
    """Find where logs contradict themselves, how often, and the effect on metrics.

    A row is one kind of contradiction: the rows checked, the contradictions found, and their share.
    `as_logged` and `as_read` are the metric's mean hit over the checked rows: by the log's own
    judgement, and by the text or the rest of the log. docs/audit.md explains each kind.

    \b
    Examples:
      magic audit
      magic audit --by game_type,format_version
      magic audit role_identifications --model gpt-4
    """
    from pipeline.cli import folds
    from pipeline.cli.output import show, show_parts
    from pipeline.lake import open_lake
    from pipeline.reports.audit import audit as audited
    from pipeline.reports.audit import findings_parts

    opened = open_lake(lake)
    opened = opened.of_system(system) if system else opened
    if kind is not None:
        if by:
            raise typer.BadParameter(
                "cannot be combined with KIND: its rows are not grouped", param_hint="--by"
            )
        rows = findings_parts(opened, kind, model=model or None)
        if not show_parts(rows, form, brief=_brief, folds=[folds.short(message_index="message")]):
            terminal.note(f"{kind}: no contradiction was found")
        return
    found = audited(opened, by=columns(by or []), model=model or None)
    brief = found.drop("title", "effect")
    narrower = [
        folds.short(n_games="games"),
        folds.titled("kind", "metric"),
    ]
    show(found, form, brief=brief, folds=narrower)
    if found.is_empty():
        terminal.note("no game in the lake has anything to check")
    else:
        terminal.note(
            "run `magic audit KIND` to print the rows of one kind, for example stated_votes"
        )


def _brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """What fits on a line or two: of ids and texts the beginning."""
    from pipeline.cli.output import beginning_of_id, beginning_of_text

    return rows.with_columns(beginning_of_id(), beginning_of_text()).select(ROW_BRIEF)
