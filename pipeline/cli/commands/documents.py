"""`magic documents`: what became of each document, and why."""

from typing import Annotated

from typer import Option

from pipeline.cli import suggestions, terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption


def documents(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    status: Annotated[
        list[str] | None,
        Option(
            metavar="STATUS",
            help="List documents of this status, such as quarantined; may be repeated.",
            autocompletion=suggestions.statuses,
        ),
    ] = None,
    source: Annotated[
        list[str] | None, Option(metavar="SOURCE", help="List those of this source; repeatable.")
    ] = None,
    reason: Annotated[
        list[str] | None, Option(metavar="TEXT", help="List those with this reason; repeatable.")
    ] = None,
    path: Annotated[
        str | None, Option(metavar="TEXT", help="List those whose path contains this text.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, metavar="N", help="List only the first N.")] = None,
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
    from pipeline.present import present
    from pipeline.reports.documents import document_counts
    from pipeline.reports.documents import documents as listed

    opened = open_lake(lake)
    if not (status or source or reason or path or limit):
        counts = document_counts(opened)
        show(present("document_counts", counts), form)
        terminal.note("use `--status`, `--source`, `--reason` or `--path` to list documents")
        return
    rows = listed(opened, status=status, source=source, reason=reason, path=path, limit=limit)
    show(present("documents", rows), form)
    if rows.is_empty():
        terminal.note("no document in the lake matches")
