"""Tables and texts in LaTeX, for papers."""

import re
from collections.abc import Iterable, Iterator, Sequence

# What the preamble needs. A comment, since the table is for `\input` in a document.
NEEDS = "% \\usepackage{booktabs} \\usepackage{graphicx} \\usepackage[T1]{fontenc}\n"
# Smaller if it is wider than a line, and else as it is.
_FITTED = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_UNICODE = "% Some characters need LuaLaTeX or XeLaTeX, with a font that has them.\n"

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",  # a package such as babel may give the sign itself a meaning
    # After the end of a row, these would be read as its arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\n": " ",
} | {sign: f"\\{sign}" for sign in "{}$&#%_"}
# And signs that a font joins with the next one: two hyphens are a dash.
_SIGN = re.compile("|".join([*map(re.escape, _SPECIAL), "([-',])(?=\\1)"]))
# A value with its interval, as in a leaderboard's cells, and what marks it.
_WITH_INTERVAL = re.compile(r"(\S+) (\([^()]*–[^()]*\))(.*)")
_NUMBER = re.compile(r"(-?)([\d.]+)(?:e([+-])0*(\d+))?")
# What pdfLaTeX knows without more packages: Latin letters, dashes and quotation marks.
_FOREIGN = re.compile("[^\n -~\u00a1-\u017f\u2013\u2014\u2018-\u201e\u2026]")


def escaped(text: str) -> str:
    """The printable text with everything that LaTeX gives a meaning taken literally."""
    return _SIGN.sub(lambda found: _SPECIAL.get(found[0]) or f"{found[0]}{{}}", text)


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], is_right: Sequence[bool]
) -> Iterator[str]:
    """A tabular with the rules of booktabs, a line for each row, of printable texts.

    An interval is below its value, and what follows a line break in a heading below the rest, so
    that a leaderboard is not wider than a page.
    """
    lines = [_row(row, is_right) for row in rows]
    names = _joined(map(_stacked, headings))
    yield NEEDS
    if any(map(_FOREIGN.search, [names, *lines])):
        yield _UNICODE
    columns = "".join("r" if right else "l" for right in is_right)
    yield f"{_FITTED}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{names}\\midrule\n"
    yield from lines
    yield "\\bottomrule\n\\end{tabular}}\n"


def items(texts: Iterable[str]) -> str:
    """Notes as a list, in small print below a table."""
    listed = "".join(f"\\item {escaped(text)}\n" for text in texts)
    return f"\n\\begin{{itemize}}\\footnotesize\n{listed}\\end{{itemize}}\n" if listed else ""


def _row(cells: Sequence[str], is_right: Sequence[bool]) -> str:
    return _joined(
        _number(cell) if right else _text(cell) for cell, right in zip(cells, is_right, strict=True)
    )


def _joined(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _stacked(heading: str) -> str:
    lines = [escaped(line) for line in heading.split("\n")]
    below = r"\\".join(lines)
    return lines[0] if len(lines) == 1 else rf"\shortstack[l]{{{below}}}"


def _text(cell: str) -> str:
    found = _WITH_INTERVAL.fullmatch(cell)
    if found is None:
        return escaped(cell)
    value, interval, mark = map(escaped, found.groups())
    return rf"\shortstack[l]{{{value}{mark}\\\scriptsize {interval}}}"


def _number(text: str) -> str:
    """A number with a minus instead of a hyphen, and a power of ten instead of an `e`."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return escaped(text)
    minus, digits, sign, power = found.groups()
    if power is None:
        return f"${text}$" if minus else text
    return f"${minus}{digits} \\times 10^{{{sign.strip('+')}{power}}}$"
