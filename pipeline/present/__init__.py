"""How results are shown: each is a table, which the terminal, pages, and documents are made of."""

from importlib import import_module
from typing import Any

import polars as pl

from pipeline.metrics.request import PAPER
from pipeline.present.table import Table
from pipeline.reports.unknown import unknown_notes

# Where the table of each result is declared; none waits for what only others need.
_MODULES = {
    "audits": ("audit", "findings"),
    "values": ("metrics", "leaderboard", "evidence_sum"),
    "comparisons": ("compare", "contrast", "settings_apart", "diff", "diff_games", "plan"),
    "counts": ("completeness", "missing", "readability", "schema", "tables"),
    "rows": ("document_counts", "documents", "evidence", "games", "quarantine", "search"),
}
NAMES = tuple(name for names in _MODULES.values() for name in names)


def present(name: str, frame: pl.DataFrame, **asked: Any) -> Table:
    """The table of a result: `name` is the method of a lake that returned the frame.

    `asked` are the method's arguments, as far as notes depend on them, and perhaps the `lake`.
    """
    module = next(module for module, names in _MODULES.items() if name in names)
    shown = getattr(import_module(f"{__package__}.{module}"), name)
    table: Table = shown(frame, **asked)
    if (lake := asked.get("lake")) is not None:
        table = table.noting(*unknown_notes(lake))
    edition = asked.get("edition", PAPER)
    return table if edition == PAPER else table.noting(f"edition {edition}")
