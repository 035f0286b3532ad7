"""Rendering of results: tables for terminals, HTML, Markdown, LaTeX and notebooks.

`build_result_table` makes the table of a result, and the other modules format tables. Used by the
CLI, the pages and `pipeline.lake_methods`; depends on `pipeline.reports`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, cast

import polars as pl

from pipeline.column import display_name
from pipeline.metrics.completeness import unknown_or_changed_game_notes
from pipeline.metrics.registry import ORIGIN_COLUMNS, VIEW_OPTION_COLUMNS
from pipeline.registry import RESULTS
from pipeline.render import html, latex, markdown
from pipeline.render.table import Table, make_table_function
from pipeline.render.terminal import fit_to_width
from pipeline.reports.registry import find_report
from pipeline.serialization import iter_csv, to_json_records
from pipeline.text_format import split_bold_parts
from pipeline.vocabulary import PAPER

DOCUMENT_RENDERERS = {"markdown": markdown, "latex": latex}
"""The modules that format tables, notes and headings, by the name of the document format."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable(Table):
    """The table of a result, with methods that format it as text, HTML, Markdown and more.

    `rows` are the rows as the Python API returns them, `columns` are their specs, and `notes` are
    the notes below. Notebooks display the table as HTML; `print` and `text` format it for a
    terminal.
    """

    def text(self, width: int | None = None) -> str:
        """Return the table with its notes as plain text.

        Args:
            width: The width of the terminal in characters; by default without limit.

        Returns:
            The lines of the table and of the notes.
        """
        lines, _, notes = fit_to_width(self, width)
        return "\n".join(["".join(split_bold_parts(line)) for line in [*lines, *notes, ""]])

    def markdown(self) -> str:
        """Return the table in Markdown, followed by a list of its notes."""
        return "".join([*markdown.table(self), markdown.format_notes(self.document_notes)])

    def latex(self) -> str:
        """Return the table in LaTeX (for the package booktabs), followed by a list of notes."""
        return "".join([*latex.table(self), latex.format_notes(self.document_notes)])

    def html(self) -> str:
        """Return the table in HTML without styles, followed by a list of its notes."""
        return html.format_table(self) + html.format_notes(self.document_notes)

    def csv(self) -> str:
        """Return all rows and columns as CSV, with full precision; nested values are JSON."""
        return "".join(iter_csv([self.rows]))

    def json(self) -> str:
        """Return all rows as a JSON list of objects, one per line, with full precision."""
        return to_json_records(self.rows)

    __str__ = __repr__ = text
    _repr_html_ = html


def result_names() -> tuple[str, ...]:
    """Return the names of all results that can be displayed as a table."""
    return tuple(name for name, result in RESULTS.items() if result.table is not None)


def build_result_table(name: str, frame: pl.DataFrame, **arguments: Any) -> ResultTable:
    """Build the table that displays the rows of a result, with notes that explain them.

    Args:
        name: The name of the lake's method that returned the rows, such as `leaderboard`.
        frame: The rows.
        **arguments: The arguments of the method on which notes depend, the `lake`, and `percent`,
            whether shares are displayed in percent.

    Returns:
        The table. A column such as the system becomes a note if it has one value in all rows.
    """
    table = _import_table_function(name)(frame, **arguments)
    table = table.in_percent() if arguments.get("percent") else table
    lake, edition = arguments.get("lake"), arguments.get("edition", PAPER)
    lake_notes = [] if lake is None else unknown_or_changed_game_notes(lake)
    edition_notes = [] if edition == PAPER else [f"edition {edition}"]
    has_several_systems = lake is not None and lake.system is None and len(lake.systems) > 1
    table_with_origin = _hide_constant_origin_columns(
        table.with_notes(*lake_notes, *edition_notes), has_several_systems=has_several_systems
    )
    # Ratings do not depend on the treatment of failures, and their rows name merged models.
    view_options = {} if lake is None or name == "ratings" else lake.view_options
    option_texts = [
        f"{display_name(name)} {text}"
        for name, text in view_options.items()
        if name not in frame.columns
    ]
    table_with_origin = replace(
        table_with_origin, origin=", ".join(filter(None, [table_with_origin.origin, *option_texts]))
    )
    return ResultTable(
        **{
            field.name: getattr(table_with_origin, field.name)
            for field in fields(table_with_origin)
        }
    )


def _import_table_function(name: str) -> Callable[..., Table]:
    """Return the function that makes the table of the result with this name."""
    if module := RESULTS[name].table:
        return cast(Callable[..., Table], getattr(import_module(f"{__package__}.{module}"), name))
    return make_table_function(name, find_report(name).columns, nothing="nothing was found")


def _hide_constant_origin_columns(table: Table, *, has_several_systems: bool) -> Table:
    """Hide columns such as system and edition if all rows have one value, and name it in `origin`.

    If the lake has several systems, the system stays a column, because more rows can follow that
    have another system.
    """
    origin_columns = [
        name for name in (*ORIGIN_COLUMNS, *VIEW_OPTION_COLUMNS) if name in table.rows.columns
    ]
    values_by_column = {name: table.rows[name].unique() for name in origin_columns}
    if has_several_systems and "system" in values_by_column and values_by_column["system"].count():
        del values_by_column["system"]
    constant_columns = {
        name: values for name, values in values_by_column.items() if len(values) <= 1
    }
    descriptions = [
        f"{display_name(name)} {value}"
        for name, column_values in constant_columns.items()
        for value in column_values.drop_nulls()
    ]
    return replace(table, hidden=(*table.hidden, *constant_columns), origin=", ".join(descriptions))
