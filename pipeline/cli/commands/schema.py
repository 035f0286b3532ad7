"""`magic schema`: the contracts of the tables, and the columns of the views beside them."""

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import argument, flag
from pipeline.errors import UsageError


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
        _print_interchange(table, form)
        return
    import polars as pl

    from pipeline.cli.output import heading, show
    from pipeline.events.contracts import TABLES, VERSION
    from pipeline.present import present
    from pipeline.reports.schema import known_views, meaning
    from pipeline.reports.schema import schema as contracts_of

    wanted = list(dict.fromkeys(table or TABLES))
    contracts = contracts_of(wanted)
    if form not in ("table", "markdown"):
        show(contracts, form)
        return
    views = known_views(wanted)
    for name in wanted:
        rows = contracts.filter(pl.col("table") == name)
        heading(f"{name}: {meaning(name, views)}", form, level=3)
        show(present("schema", rows), form)
        terminal.out("\n")
    if not TABLES.keys() & set(wanted):
        return
    terminal.note(f"contract version {VERSION}; * marks key columns, ? columns that may be null")


def _print_interchange(table: list[str] | None, form: str) -> None:
    import json

    from pipeline.formats.interchange import schema as json_schema

    if table or form not in ("table", "json"):
        raise UsageError("--interchange prints JSON, of no table")
    terminal.out(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
