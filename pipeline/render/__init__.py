"""How results are shown: each is a table, which the terminal, pages, and documents are made of."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, cast

import polars as pl

from pipeline.column import display_name
from pipeline.metrics.completeness import unknown_game_notes
from pipeline.metrics.registry import ORIGIN_COLUMNS, VIEW_COLUMNS
from pipeline.registry import RESULTS
from pipeline.render import html, latex, markdown
from pipeline.render.table import Table, declare_table
from pipeline.render.terminal import fit_to_width
from pipeline.reports.registry import find_report
from pipeline.serialization import iter_csv, to_json_records
from pipeline.text_format import split_bold_parts
from pipeline.vocabulary import PAPER

DOCUMENT_RENDERERS = {"markdown": markdown, "latex": latex}
"""Forms that others read with the notes that belong to a table."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable(Table):
    """A result as a table: `rows` as Python gives them, `columns` that say what they mean, `notes`.

    A notebook shows it; `print` and `text` lay it out for a terminal.
    """

    def text(self, width: int | None = None) -> str:
        """The table as a terminal of this width has it, with its notes; without one, any width."""
        lines, _, notes = fit_to_width(self, width)
        return "\n".join(["".join(split_bold_parts(line)) for line in [*lines, *notes, ""]])

    def markdown(self) -> str:
        """The table in Markdown, its notes as a list."""
        return "".join([*markdown.table(self), markdown.items(self.document_notes)])

    def latex(self) -> str:
        """The table for a paper, with the rules of booktabs, its notes as a list."""
        return "".join([*latex.table(self), latex.items(self.document_notes)])

    def html(self) -> str:
        """The table in HTML without a style, its notes as a list."""
        return html.format_table(self) + html.items(self.document_notes)

    def csv(self) -> str:
        """All rows and columns with full precision, nested values as JSON."""
        return "".join(iter_csv([self.rows]))

    def json(self) -> str:
        """A list of records, one a line, with full precision."""
        return to_json_records(self.rows)

    __str__ = __repr__ = text
    _repr_html_ = html


def result_names() -> tuple[str, ...]:
    """The names of all results that have a table."""
    return tuple(name for name, result in RESULTS.items() if result.table is not None)


def build_result_table(name: str, frame: pl.DataFrame, **asked: Any) -> ResultTable:
    """The table of a result: `name` is the method of a lake that returned the frame.

    `asked` are the method's arguments, as far as notes depend on them, perhaps the `lake`, and
    whether shares are shown in `percent`.
    """
    table = _load_table(name)(frame, **asked)
    table = table.in_percent() if asked.get("percent") else table
    lake, edition = asked.get("lake"), asked.get("edition", PAPER)
    lake_notes = [] if lake is None else unknown_game_notes(lake)
    edition_notes = [] if edition == PAPER else [f"edition {edition}"]
    is_mixed = lake is not None and lake.system is None and len(lake.systems) > 1
    shown = _with_one_origin(table.with_notes(*lake_notes, *edition_notes), is_mixed=is_mixed)
    # Ratings are the same whatever failures are, and say in their rows which names are joined.
    seen = {} if lake is None or name == "ratings" else lake.view_options
    said = [
        f"{display_name(name)} {text}" for name, text in seen.items() if name not in frame.columns
    ]
    shown = replace(shown, origin=", ".join(filter(None, [shown.origin, *said])))
    return ResultTable(**{one.name: getattr(shown, one.name) for one in fields(shown)})


def _load_table(name: str) -> Callable[..., Table]:
    """Return the function that makes the table of a result, by default of a report's columns."""
    if module := RESULTS[name].table:
        return cast(Callable[..., Table], getattr(import_module(f"{__package__}.{module}"), name))
    return declare_table(name, find_report(name).columns, nothing="nothing was found")


def _with_one_origin(table: Table, *, is_mixed: bool) -> Table:
    """The table without columns for eyes that say the same of all rows: a document says it once.

    Of a lake of several systems, rows that follow can be of another one.
    """
    origin = [name for name in (*ORIGIN_COLUMNS, *VIEW_COLUMNS) if name in table.rows.columns]
    known = {name: table.rows[name].unique() for name in origin}
    if is_mixed and "system" in known and known["system"].count():
        del known["system"]
    same = {name: values for name, values in known.items() if len(values) <= 1}
    said = [
        f"{display_name(name)} {value}" for name, of in same.items() for value in of.drop_nulls()
    ]
    return replace(table, hidden=(*table.hidden, *same), origin=", ".join(said))
