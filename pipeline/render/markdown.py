"""Tables, notes and headings as Markdown.

`pipeline.render.latex` has the same functions, so documents can be written in either format. Used
by `pipeline.render`, the CLI, the report and exports; depends on `pipeline.render.table`.
"""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.render.table import Table
from pipeline.text_format import escape_to_one_line, split_bold_parts

# Characters with a meaning within a line. An underscore within a word and a single dollar sign have
# no meaning.
_INLINE_SYNTAX = re.compile(
    r"[\\`*\[\]|~]|\$(?=.*\$)|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.",
    re.IGNORECASE | re.DOTALL,
)
# Characters with a meaning only at the beginning of a line: headings and lists.
_LINE_START_SYNTAX = re.compile(r"^(\d*)([#+.)-])")


def table(first_table: Table, more_tables: Iterable[Table] = ()) -> Iterator[str]:
    """Iterate over the lines of a table in Markdown.

    Args:
        first_table: The table with the first rows.
        more_tables: Tables of the same columns with the following rows.

    Yields:
        The line of headings, the line of alignments, and one line for each row.
    """
    fields = first_table.visible_fields
    yield _format_row(field.heading.replace("\n", " ") for field in fields)
    yield f"| {' | '.join('--:' if field.is_number else '---' for field in fields)} |\n"
    for table_part in chain([first_table], more_tables):
        yield from map(
            _format_row,
            zip(*(field.cell_texts for field in table_part.visible_fields), strict=True),
        )


def format_notes(notes: Iterable[str]) -> str:
    """Return notes as a Markdown list, or an empty string without notes."""
    texts = (escape_text(escape_to_one_line(note)) for note in notes)
    list_items = "".join("- " + _LINE_START_SYNTAX.sub(r"\1\\\2", text) + "\n" for text in texts)
    return f"\n{list_items}" if list_items else ""


def format_heading(text: str, level: int = 2) -> str:
    """Return a Markdown heading, followed by a blank line."""
    return f"{'#' * level} {escape_text(escape_to_one_line(text))}\n\n"


def _format_row(cells: Iterable[str]) -> str:
    texts = ("**".join(split_bold_parts(escape_text(cell).replace("\n", "<br>"))) for cell in cells)
    return f"| {' | '.join(texts)} |\n"


def escape_text(text: str) -> str:
    """Escape the characters of a text that have a special meaning in Markdown and HTML.

    HTML is escaped by entities, because not every Markdown parser accepts a backslash before `<`.
    """
    return html.escape(_INLINE_SYNTAX.sub(r"\\\g<0>", text), quote=False)
