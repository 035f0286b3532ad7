"""The commands of the lake itself: its documents, its tables and their columns, how to cite it."""

import json
from typing import Literal

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import argument, flag, option, several
from pipeline.errors import UsageError


def documents(
    asked: Asked,
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

    A document is as it was last seen to be. With one of --status, --source, --reason and --path, a
    row is a document; without them, a row is a number of documents. `magic quarantine` has the
    parts of games that could not be used, and can ingest them again.

    \b
    Examples:
      magic documents
      magic documents --status quarantined --status ignored
      magic documents --path chameleon/ --format csv
    """
    is_list = status or source or reason or path or limit
    asked.show(f"reports.documents.{'documents' if is_list else 'document_counts'}")


def tables(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    form: options.FormOption = "table",
) -> None:
    """List the lake's tables: meaning of a row, number of rows, bytes, and files.

    \b
    Examples:
      magic tables
      magic tables --lake lake/ --format json
    """
    rows = asked.answer("reports.tables.tables")
    asked.show_table(asked.table("tables", rows, opened=asked.lake))


def schema(
    *,
    table: options.Texts = argument(
        "TABLE", "Tables or views; default: every table.", suggestions.tables
    ),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    interchange: bool = flag("--interchange", "Print the JSON Schema of interchange JSON instead."),
    form: options.FormOption = "table",
) -> None:
    """Describe the columns of a table or view.

    The description is the same for every lake, so the command needs no lake.

    \b
    Examples:
      magic schema votes
      magic schema judgement evidence.judgement
      magic schema --format markdown > tables.md
      magic schema --interchange > interchange.schema.json
    """
    if interchange:
        from pipeline.formats.interchange import schema as json_schema

        if table or form not in ("table", "json"):
            raise UsageError("--interchange prints JSON, of no table")
        terminal.out(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
        return

    from pipeline.cli import output
    from pipeline.events.contracts import TABLES, VERSION
    from pipeline.present import present
    from pipeline.reports.schema import known_views, meaning
    from pipeline.reports.schema import schema as contracts_of

    wanted = list(dict.fromkeys(table or TABLES))
    contracts = contracts_of(wanted)
    if form not in ("table", "markdown"):
        output.show(contracts, form)
        return
    views = known_views(wanted)
    for name in wanted:
        output.heading(f"{name}: {meaning(name, views)}", form, level=3)
        output.show(present("schema", contracts.filter(table=name)), form)
        terminal.out("\n")
    if TABLES.keys() & set(wanted):
        terminal.note(
            f"contract version {VERSION}; * marks key columns, ? columns that may be null"
        )


def cite(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    form: Literal["text", "bibtex"] = option(
        "FORM", "Output format: text or bibtex.", "--format", default="text"
    ),
) -> None:
    """Print how to cite values: the state of the lake, the tool and the benchmark.

    The state of the lake is the number and date of its last ingest and the number of its games.

    \b
    Examples:
      magic cite
      magic cite --edition audited
      magic cite --format bibtex > magic.bib
    """
    citation = asked.answer("reports.cite.cite")
    terminal.out(citation.bibtex if form == "bibtex" else citation.text)
