"""`magic validate`: interchange JSON held against its rules."""

from click.exceptions import Exit

from pipeline.cells import counted
from pipeline.cli import options, terminal
from pipeline.cli.exits import CHECK_FAILED, FAILED
from pipeline.cli.options import argument


def validate(
    *,
    file: list[str] = argument(
        "FILE",
        "Files of interchange JSON (one game, or one a line), Inspect logs, folders or archives.",
        default=...,
    ),
    max_document: options.MaxDocumentOption = options.LARGEST_DOCUMENT,
    form: options.FormOption = "table",
) -> None:
    """Check documents of interchange JSON, each by itself.

    There is a row for each valid document, and for each rule that another one breaks: the place in
    the document, the rule, and what is there instead. The exit code is 4 if one is not valid.
    `magic schema --interchange` prints the JSON Schema.

    \b
    Examples:
      magic validate games.jsonl
      magic validate games.jsonl --format json
    """
    import polars as pl

    from pipeline.cli.output import show
    from pipeline.conversion import validate as checked

    rows: list[tuple[object, ...]] = []
    n_documents = n_invalid = 0
    ignored: list[str] = []
    for document in checked(file, max_document):
        if document.ignored:
            ignored.append(f"{document.ignored}, for example {document.location}")
            continue
        n_documents += 1
        n_invalid += bool(document.faults)
        if not document.faults:
            rows.append((document.location, True, None, None, None))
        rows += [
            (document.location, False, fault.json_path, fault.rule, fault.message)
            for fault in document.faults
        ]
    columns = {"document": pl.String, "is_valid": pl.Boolean}
    columns |= dict.fromkeys(("json_path", "rule", "message"), pl.String)
    show(pl.DataFrame(rows, columns, orient="row"), form)
    are = "is" if n_documents == 1 else "are"
    terminal.note(f"{n_documents - n_invalid:,} of {counted(n_documents, 'document')} {are} valid")
    if ignored:
        terminal.note(f"{counted(len(ignored), 'other file')} ignored: {ignored[0]}")
    if n_invalid or not n_documents:
        raise Exit(CHECK_FAILED if n_invalid else FAILED)
