"""What every command does that has changed a lake: it renews the lake's catalogue."""

import os

import typer

from pipeline.cli import terminal
from pipeline.cli.exits import INTERRUPTED

SWITCH = "MAGIC_CATALOG"
"""With 0 in this environment variable, no command renews the catalogue by itself."""


def renew_catalog(lake: str) -> None:
    """Renews `magic.duckdb`, with a note if it could not: what the command did is done."""
    if os.environ.get(SWITCH) == "0":
        return
    # Imported here: a command that fails before does not wait for it.
    from pipeline.catalog import renewed_after_ingest
    from pipeline.lake.names import CATALOG

    try:
        note = renewed_after_ingest(lake)
    except KeyboardInterrupt:
        terminal.complain(f"interrupted: the lake has all changes, but {CATALOG} was not renewed")
        raise typer.Exit(INTERRUPTED) from None
    if note:
        terminal.note(note)
