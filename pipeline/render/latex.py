"""Tables, notes and headings as LaTeX, for papers.

`pipeline.render.markdown` has the same functions, so documents can be written in either format.
Used by `pipeline.render`, the CLI and the report; depends on `pipeline.render.table`.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.render.table import Cell, Table
from pipeline.text_format import escape_latex as escape_text, escape_to_one_line

# The packages that the preamble needs, as a comment, because the table is for `\input`.
PREAMBLE_COMMENT = "% \\usepackage{booktabs} \\usepackage{graphicx} \\usepackage[T1]{fontenc}\n"
# Scales the table down if it is wider than a line.
_RESIZE_BOX = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_UNICODE_COMMENT = "% Some characters need LuaLaTeX or XeLaTeX, with a font that has them.\n"

# Begins a new line in a cell.
_LINE_BREAK = r"\\"
_NUMBER = re.compile(r"(-?)([\d.]+)(?:e([+-])0*(\d+))?")
# Characters that pdfLaTeX cannot display without more packages: all but Latin letters, dashes,
# quotation marks and the dagger.
_UNSUPPORTED_CHARACTER = re.compile("[^\n -~\u00a1-\u017f\u2013\u2014\u2018-\u201e\u2020\u2026]")


def table(first_table: Table, more_tables: Iterable[Table] = ()) -> Iterator[str]:
    """Iterate over the lines of a table in LaTeX.

    An interval is below its value, and each word of a heading is on a line of its own, so that a
    leaderboard is not wider than a page. The rules are those of the package booktabs.

    Args:
        first_table: The table with the first rows.
        more_tables: Tables of the same columns with the following rows.

    Yields:
        The preamble comment, the head, one line for each row, and the end of the table.
    """
    fields = first_table.visible_fields
    lines = [
        _format_row(map(_format_cell, row))
        for table_part in chain([first_table], more_tables)
        for row in zip(*(field.cells for field in table_part.visible_fields), strict=True)
    ]
    heading_row = _format_row(_format_heading_with_word_per_line(field.heading) for field in fields)
    yield PREAMBLE_COMMENT
    if any(map(_UNSUPPORTED_CHARACTER.search, [heading_row, *lines])):
        yield _UNICODE_COMMENT
    alignment = "".join("r" if field.is_number else "l" for field in fields)
    yield f"{_RESIZE_BOX}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{heading_row}\\midrule\n"
    yield from lines
    yield "\\bottomrule\n\\end{tabular}}\n"


def format_notes(notes: Iterable[str]) -> str:
    """Return notes as a LaTeX list in small print, or an empty string without notes."""
    escaped_notes = (escape_text(escape_to_one_line(note)) for note in notes)
    list_items = "".join(f"\\item {escaped_note}\n" for escaped_note in escaped_notes)
    return (
        f"\n\\begin{{itemize}}\\footnotesize\n{list_items}\\end{{itemize}}\n" if list_items else ""
    )


def format_heading(text: str, level: int = 2) -> str:
    """Return the LaTeX of a heading: a section for level 1, a subsection for level 2."""
    return f"\\{'sub' * (level - 1)}section{{{escape_text(escape_to_one_line(text))}}}\n"


def _format_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _format_heading_with_word_per_line(heading: str) -> str:
    words = [escape_text(word) for word in heading.split(" ")]
    return words[0] if len(words) == 1 else rf"\shortstack[l]{{{_LINE_BREAK.join(words)}}}"


def _format_cell(cell: Cell) -> str:
    text = _format_number(cell.text or cell.interval_text)
    text = rf"\textbf{{{text}}}" if cell.is_best else text
    first_line = " ".join(filter(None, [text, escape_text(cell.mark)]))
    if not (cell.text and cell.low):
        return first_line
    bounds = f"{_format_bound(cell.low)} to {_format_bound(cell.high)}"
    return rf"\shortstack[l]{{{first_line}{_LINE_BREAK}\scriptsize ({bounds})}}"


def _format_bound(text: str) -> str:
    return f"${text}$" if text[0] in "+-" else text


def _format_number(text: str) -> str:
    """Return a number in LaTeX, with a minus sign for `-` and a power of ten for `e`."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return escape_text(text)
    minus, digits, exponent_sign, exponent = match.groups()
    if exponent is None:
        return f"${text}$" if minus else text
    return f"${minus}{digits} \\times 10^{{{exponent_sign.strip('+')}{exponent}}}$"
