"""`magic quarantine`: what was refused, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption

if TYPE_CHECKING:
    import polars as pl

BRIEF = ("path", "json_path", "rule", "message")
HEADINGS = {"json_path": "part", "message": "found"}
RAW_SHOWN = 400


def quarantine(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    full: Annotated[
        bool, typer.Option("--full", help="Every column, the raw document among them.")
    ] = False,
    form: FormOption = "table",
) -> None:
    """What could not be used, and why.

    These are documents, and parts of games whose other parts are in the tables.
    `part` is a JSON path; `$` stands for the whole document.

    \b
    Examples:
      magic quarantine
      magic quarantine --full --format json > refused.json
    """
    from pipeline.cli.output import show
    from pipeline.lake import open_lake

    rows = open_lake(lake).table("quarantine").sort("source", "path", "json_path").collect()
    if full:
        show(rows, form, brief=_shortened(rows), as_records=True)
    else:
        told = rows.select("source", *BRIEF)
        show(told, form, brief=told.select(BRIEF), headings=HEADINGS)
    if rows.is_empty():
        terminal.note("nothing was refused")
    elif not full:
        terminal.note("`--full` shows all that is known of each, and the raw document")


def _shortened(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The rows with the first of each raw document."""
    import polars as pl

    from pipeline.cli.cells import spelt

    texts = [None if raw is None else _first(spelt(raw)) for raw in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))


def _first(text: str) -> str:
    if len(text) <= RAW_SHOWN:
        return text
    return text[:RAW_SHOWN] + " … (`--format json` has more)"
