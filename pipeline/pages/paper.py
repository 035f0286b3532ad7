"""The rows of a page as a table for a text or a paper: Markdown or LaTeX."""

from dataclasses import replace
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.pages.content import Address, Content, first_rows, slice_of
from pipeline.pages.linked import with_more
from pipeline.pages.page import content, csv_parts
from pipeline.present import NAMES, latex, markdown, present
from pipeline.present.table import Table

FORMS = {"md": markdown, "tex": latex}
MOST_ROWS = 10_000
"""Nobody reads more: CSV has all."""
# The results that a page or a frame of another name shows.
_RESULTS = {
    **dict.fromkeys(("metric", "model", "by_type", "by_role", "by_opponent"), "metrics"),
    **{"apart": "settings_apart", "sizes": "tables", "sum": "evidence_sum"},
}


def document(name: str, lake: Any, asked: Address, form: str) -> str:
    """All rows of a page as a table, with its notes, in Markdown (`md`) or LaTeX (`tex`).

    They are those of one of its frames, if the address names one. Raises UsageError for what is
    wrong with the request, and for too many rows.
    """
    seen = content(name, lake, asked)
    rows = first_rows(csv_parts(name, lake, asked, seen), MOST_ROWS)
    if rows.height > MOST_ROWS:
        raise UsageError(f"more than {MOST_ROWS:,} rows: ask for less, or take CSV or JSON")
    written = FORMS[form]
    also = ("role",) if getattr(asked, "roles", False) else ()
    shown = with_more(_table(asked.frame or name, rows), also)
    notes = [*_slice(seen, asked), *((not asked.frame and seen.notes) or shown.notes)]
    shown = replace(shown, notes=notes)
    return "".join([*written.table(shown), written.items(shown.cited)])


def _table(name: str, rows: pl.DataFrame) -> Table:
    """The table of the result that the page shows, or of a frame that no report declares."""
    result = _RESULTS.get(name, name)
    if name == "documents" and "n_documents" in rows.columns:
        result = "document_counts"
    return present(result, rows) if result in NAMES else Table.of(name, rows)


def _slice(seen: Content, asked: Address) -> list[str]:
    """What of the lake the rows are of, if it is not all of it."""
    parts = [part for part in slice_of(seen, asked) if part != "edition paper"]
    return [", ".join([seen.title, *parts])] if parts else []
