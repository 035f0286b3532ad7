"""`magic documents`: what became of each document, and why."""

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import option, several


def documents(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    status: options.Texts = several(
        "STATUS", "List documents of this status, such as quarantined", suggestions.statuses
    ),
    source: options.Texts = several("SOURCE", "List those of this source"),
    reason: options.Texts = several("TEXT", "List those with this reason"),
    path: str | None = option("TEXT", "List those whose path contains this text."),
    limit: int | None = option("N", "List only the first N.", min=1),
    form: options.FormOption = "table",
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
    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.reports.documents import document_counts
    from pipeline.reports.documents import documents as listed

    opened = open_lake(lake)
    if not (status or source or reason or path or limit):
        answer("document_counts", document_counts(opened), form)
        terminal.note("use `--status`, `--source`, `--reason` or `--path` to list documents")
        return
    rows = listed(opened, status=status, source=source, reason=reason, path=path, limit=limit)
    answer("documents", rows, form, empty="no document in the lake matches")
