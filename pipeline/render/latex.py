"""Tables and texts in LaTeX, for papers."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.render.table import Cell, Table
from pipeline.text_format import escape_latex as escaped, escape_to_one_line

# What the preamble needs. A comment, since the table is for `\input` in a document.
NEEDS = "% \\usepackage{booktabs} \\usepackage{graphicx} \\usepackage[T1]{fontenc}\n"
# Smaller if it is wider than a line, and else as it is.
_FITTED = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_UNICODE = "% Some characters need LuaLaTeX or XeLaTeX, with a font that has them.\n"

# The next line of a cell.
_BELOW = r"\\"
_NUMBER = re.compile(r"(-?)([\d.]+)(?:e([+-])0*(\d+))?")
# What pdfLaTeX knows without more packages: Latin letters, dashes, quotation marks and the dagger.
_FOREIGN = re.compile("[^\n -~\u00a1-\u017f\u2013\u2014\u2018-\u201e\u2020\u2026]")


def table(shown: Table, others: Iterable[Table] = ()) -> Iterator[str]:
    """A tabular with the rules of booktabs, a line for each row; `others` are more rows of it.

    An interval is below its value, and each word of a heading below the one before, so that a
    leaderboard is not wider than a page.
    """
    fields = shown.visible_fields
    lines = [
        _joined(map(_cell, row))
        for part in chain([shown], others)
        for row in zip(*(one.cells for one in part.visible_fields), strict=True)
    ]
    names = _joined(_stacked(one.heading) for one in fields)
    yield NEEDS
    if any(map(_FOREIGN.search, [names, *lines])):
        yield _UNICODE
    columns = "".join("r" if one.is_number else "l" for one in fields)
    yield f"{_FITTED}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{names}\\midrule\n"
    yield from lines
    yield "\\bottomrule\n\\end{tabular}}\n"


def items(texts: Iterable[str]) -> str:
    """Notes as a list, in small print below a table."""
    lines = (escaped(escape_to_one_line(text)) for text in texts)
    listed = "".join(f"\\item {line}\n" for line in lines)
    return f"\n\\begin{{itemize}}\\footnotesize\n{listed}\\end{{itemize}}\n" if listed else ""


def heading(text: str, level: int = 2) -> str:
    """The title of a section."""
    return f"\\{'sub' * (level - 1)}section{{{escaped(escape_to_one_line(text))}}}\n"


def _joined(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _stacked(heading: str) -> str:
    """A heading of a word a line."""
    words = [escaped(word) for word in heading.split(" ")]
    return words[0] if len(words) == 1 else rf"\shortstack[l]{{{_BELOW.join(words)}}}"


def _cell(cell: Cell) -> str:
    number = _number(cell.text or cell.interval)
    number = rf"\textbf{{{number}}}" if cell.is_best else number
    above = " ".join(filter(None, [number, escaped(cell.mark)]))
    if not (cell.text and cell.low):
        return above
    ends = f"{_end(cell.low)} to {_end(cell.high)}"
    return rf"\shortstack[l]{{{above}{_BELOW}\scriptsize ({ends})}}"


def _end(text: str) -> str:
    return f"${text}$" if text[0] in "+-" else text


def _number(text: str) -> str:
    """A number with a minus instead of a hyphen, and a power of ten instead of an `e`."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return escaped(text)
    minus, digits, sign, power = found.groups()
    if power is None:
        return f"${text}$" if minus else text
    return f"${minus}{digits} \\times 10^{{{sign.strip('+')}{power}}}$"
