"""Cells laid out as lines of text, in as many columns as the terminal has.

A table that fits is aligned. One that does not has its cells wrapped at words and punctuation; one
that would still not do becomes a block of lines for each row. So does a row alone whose cells have
lines of their own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from rich.cells import cell_len, chop_cells

Row = Sequence[str]

GAP = 2
LONGEST_WORD = 24
"""A word longer than this may be broken."""
TALLEST = 8
"""Cells of more lines than this are better read a row at a time."""

_WORD = re.compile(r"\s*\S+|\s+")
# What stays together in a word too long for a line: all up to a mark, and the mark. A mark within a
# number is none, since half a number is another one; but a name may end before its number: `gpt-4`.
_IN_NUMBER = r"(?:[.,:]|(?<![^\W\d_])-)(?=\d)"
_PIECE = re.compile(rf"\s*(?:[^\s\-/_.,:;|=&?]|{_IN_NUMBER})*(?:[\-/_.,:;|=&?]+|(?=\s|$))")


def table(
    headings: Row, rows: Sequence[Row], is_right: Sequence[bool], width: int | None
) -> Iterator[str]:
    """The lines of a table; the heading's end with a rule. A `width` of null is without limit."""
    return tables(headings, iter([rows]), is_right, width)


def tables(
    headings: Row, parts: Iterator[Sequence[Row]], is_right: Sequence[bool], width: int | None
) -> Iterator[str]:
    """The same of rows that come in parts: the first one decides how all are laid out."""
    rows = next(parts)
    names = [heading.split("\n") for heading in headings]
    is_alone = len(rows) == 1 and any("\n" in cell for cell in rows[0])
    fitted = None if is_alone else _widths(names, _cells(rows), width)
    if fitted is None:
        n_before = 0
        for part in chain([rows], parts):
            yield from records(list(map(in_one_line, headings)), part, width, n_before)
            n_before += len(part)
        return
    widths, gap = fitted
    yield from _drawn(names, widths, is_right, gap, is_low=True)
    yield (" " * gap).join("─" * width for width in widths)
    for part in chain([rows], parts):
        cells = _cells(part)
        if width is None:  # then no cell is wrapped, however wide
            widths = list(map(max, widths, _natural(names, cells)))
        for row in cells:
            yield from _drawn([[cell] for cell in row], widths, is_right, gap)


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    return [[_one_line(cell) for cell in row] for row in rows]


def _natural(names: Sequence[Row], cells: Sequence[Row]) -> list[int]:
    """The width that each column needs so that no cell is wrapped."""
    columns = zip(*cells, strict=True) if cells else [() for _ in names]
    return [
        max(map(cell_len, (*name, *column)), default=0)
        for name, column in zip(names, columns, strict=True)
    ]


def _widths(
    names: Sequence[Row], cells: Sequence[Row], width: int | None
) -> tuple[list[int], int] | None:
    """The columns' widths and the gap between them, null if a table is no good way to show them."""
    natural = _natural(names, cells)
    if width is None or sum(natural) + GAP * (len(natural) - 1) <= width:
        return natural, GAP
    columns = zip(*cells, strict=True) if cells else [() for _ in names]
    least = [
        max((_longest_word(text) for text in (*name, *column)), default=0)
        for name, column in zip(names, columns, strict=True)
    ]
    found = _fitted(natural, least, width - (len(natural) - 1))
    if found is None or any(n > TALLEST * w for n, w in zip(natural, found, strict=True)):
        return None
    return found, 1


def in_one_line(heading: str) -> str:
    """A heading without its line breaks, and without the hyphens that they put into words."""
    return heading.replace("-\n", "").replace("_\n", "_").replace("\n", " ")


def records(names: Row, rows: Sequence[Row], width: int | None, n_before: int = 0) -> Iterator[str]:
    """A block of lines for each row, a column a line; line breaks within a cell are kept."""
    indent = max(map(cell_len, names), default=0) + GAP
    room = None if width is None else max(width - indent, LONGEST_WORD)
    for number, row in enumerate(rows, start=n_before + 1):
        if n_before + len(rows) > 1:
            yield f"── {number} ──"
        for name, cell in zip(names, row, strict=True):
            lines = [line for part in cell.rstrip("\n").split("\n") for line in wrapped(part, room)]
            yield _padded(name, indent) + lines[0]
            yield from (" " * indent + line for line in lines[1:])


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most `width`, broken between words; long words after marks."""
    if width is None or cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in _WORD.findall(text):
        is_long = cell_len(word.strip()) > width
        for piece in _PIECE.findall(word) if is_long else [word]:
            if cell_len(lines[-1] + piece) <= width:
                lines[-1] += piece
            else:
                lines += chop_cells(piece.lstrip(), width)
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _one_line(cell: str) -> str:
    return cell.replace("\n", " ⏎ ")


def _longest_word(text: str) -> int:
    pieces = (cell_len(piece.strip()) for piece in _PIECE.findall(text))
    return min(max(pieces, default=0), LONGEST_WORD)


def _fitted(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """The widths that fill the room, the widest columns narrowed first; null if none do."""

    def narrowed(cap: int) -> list[int]:
        return [min(n, max(m, cap)) for n, m in zip(natural, least, strict=True)]

    caps = range(max(natural) + 1)
    fits = bisect_right(caps, room, key=lambda cap: sum(narrowed(cap)))
    return narrowed(caps[fits - 1]) if fits else None


def _drawn(
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    is_right: Sequence[bool],
    gap: int,
    *,
    is_low: bool = False,
) -> Iterator[str]:
    """The lines of one row of cells, each given as the lines that it has at least."""
    blocks = [
        [line for part in cell for line in wrapped(part, width)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    if is_low:
        height = max(map(len, blocks), default=0)
        blocks = [[""] * (height - len(block)) + block for block in blocks]
    for lines in zip_longest(*blocks, fillvalue=""):
        padded = (
            _padded(line, width, right)
            for line, width, right in zip(lines, widths, is_right, strict=True)
        )
        yield (" " * gap).join(padded).rstrip()


def _padded(text: str, width: int, right: bool = False) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank
