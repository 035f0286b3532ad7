"""Tables and notes in Markdown."""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.render.table import Table
from pipeline.text_format import escape_to_one_line, split_bold_parts

# What has a meaning within a line. An underscore within a word has none, nor one dollar alone.
_INLINE = re.compile(
    r"[\\`*\[\]|~]|\$(?=.*\$)|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.",
    re.IGNORECASE | re.DOTALL,
)
# And what has one only where a line begins: headings and lists.
_BLOCK = re.compile(r"^(\d*)([#+.)-])")
_AS_TEXT = r"\1\\\2"


def table(first: Table, others: Iterable[Table] = ()) -> Iterator[str]:
    """A line for each row; `others` are more rows of the same table."""
    yield _row(one.heading.replace("\n", " ") for one in first.visible_fields)
    yield f"| {' | '.join('--:' if one.is_number else '---' for one in first.visible_fields)} |\n"
    for part in chain([first], others):
        yield from map(_row, zip(*(one.cell_texts for one in part.visible_fields), strict=True))


def items(lines: Iterable[str]) -> str:
    """Notes as a list below a table."""
    texts = (escape_markdown(escape_to_one_line(line)) for line in lines)
    listed = "".join(f"- {_BLOCK.sub(_AS_TEXT, text)}\n" for text in texts)
    return f"\n{listed}" if listed else ""


def format_heading(text: str, level: int = 2) -> str:
    """A heading between what was before and a table."""
    return f"{'#' * level} {escape_markdown(escape_to_one_line(text))}\n\n"


def _row(cells: Iterable[str]) -> str:
    texts = (
        "**".join(split_bold_parts(escape_markdown(cell).replace("\n", "<br>"))) for cell in cells
    )
    return f"| {' | '.join(texts)} |\n"


def escape_markdown(text: str) -> str:
    """The text with what Markdown gives a meaning within a line taken literally.

    HTML is written by entities, since not every reader of Markdown takes a backslash before `<`.
    """
    return html.escape(_INLINE.sub(r"\\\g<0>", text), quote=False)
