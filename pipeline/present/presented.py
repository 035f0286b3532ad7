"""A table that writes itself in every form, as `Lake.present` gives it."""

from dataclasses import dataclass, fields

from pipeline.present import html, latex, markdown
from pipeline.present.table import Table
from pipeline.present.terminal import laid_out
from pipeline.written import csv_texts, json_text


@dataclass(frozen=True, eq=False, repr=False)
class Presented(Table):
    """A result as a table: `rows` as Python gives them, `columns` that say what they mean, `notes`.

    A notebook shows it; `print` and `text` lay it out for a terminal.
    """

    @classmethod
    def of_table(cls, table: Table) -> "Presented":
        return cls(**{one.name: getattr(table, one.name) for one in fields(table)})

    def text(self, width: int | None = None) -> str:
        """The table as a terminal of this width has it, with its notes; without one, any width."""
        shown = laid_out(self, width)
        return "\n".join([*shown.lines, *shown.notes, ""])

    def markdown(self) -> str:
        """The table in Markdown, its notes as a list."""
        return "".join([*markdown.table(self), markdown.items(self.notes)])

    def latex(self) -> str:
        """The table for a paper, with the rules of booktabs, its notes as a list."""
        return "".join([*latex.table(self), latex.items(self.notes)])

    def html(self) -> str:
        """The table in HTML without a style, its notes as a list."""
        return html.table(self) + html.items(self.notes)

    def csv(self) -> str:
        """All rows and columns with full precision, nested values as JSON."""
        return "".join(csv_texts([self.rows]))

    def json(self) -> str:
        """A list of records, one a line, with full precision."""
        return json_text(self.rows)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()
