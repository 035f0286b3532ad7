"""`magic documents`: what became of each document, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import suggestions, terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption

if TYPE_CHECKING:
    import polars as pl

    from pipeline.cli.folds import Fold

BRIEF = ("status", "path", "reason", "detail", "n_faulty_parts", "game_id")


def documents(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="List documents of this status, such as quarantined; may be repeated.",
            autocompletion=suggestions.statuses,
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="SOURCE", help="List those of this source; repeatable."),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option("--reason", metavar="TEXT", help="List those with this reason; repeatable."),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="TEXT", help="List those whose path contains this text."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="List only the first N.")
    ] = None,
    form: FormOption = "table",
) -> None:
    """Count what was read and what was not, by source, status and reason, or list it.

    A document is as the last ingest that saw it left it. With one of --status, --source, --reason
    and --path, a row is a document; without them, a row is a number of documents. `magic
    quarantine` has the parts of games that could not be used, and can ingest them again.

    \b
    Examples:
      magic documents
      magic documents --status quarantined --status ignored
      magic documents --path chameleon/ --format csv
    """
    from pipeline.cli.output import show
    from pipeline.lake import open_lake
    from pipeline.reports.documents import document_counts
    from pipeline.reports.documents import documents as listed

    opened = open_lake(lake)
    if not (status or source or reason or path or limit):
        counts = document_counts(opened)
        show(counts, form, folds=_folds("n_documents"))
        terminal.note("use `--status`, `--source`, `--reason` or `--path` to list documents")
        return
    rows = listed(
        opened,
        status=status or None,
        source=source or None,
        reason=reason or None,
        path=path,
        limit=limit,
    )
    show(rows, form, brief=_brief(rows), folds=_folds("n_faulty_parts"))
    if rows.is_empty():
        terminal.note("no document in the lake matches")


def _folds(count: str) -> "list[Fold]":
    """What the table gives up for a narrow terminal, step by step."""
    from pipeline.cli import folds

    short = {count: count.removeprefix("n_").replace("_", " ")}
    return [folds.short(**short), folds.titled("source"), folds.titled("status")]


def _brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """What fits on a line or two: of ids the beginning, without what no row has."""
    from pipeline.cli.output import beginning_of_id

    shown = rows.with_columns(beginning_of_id()).select("source", *BRIEF)
    alike = ["n_faulty_parts"] if not shown["n_faulty_parts"].sum() else []
    alike += [name for name in ("detail", "game_id") if shown[name].is_null().all()]
    return shown.drop(alike)
