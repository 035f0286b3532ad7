"""A table as lines of text, as wide as a terminal."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

from rich.cells import cell_len, chop_cells

from pipeline.render.table import Field, Table, View, fitting
from pipeline.text_format import NULL_TEXT, replace_line_breaks

# Cells laid out as lines of text, in as many columns as the terminal has.
#
# A table that fits is aligned. One that does not has its cells wrapped at words and punctuation,
# its headings only if they are long; one that would still not do becomes a block of lines for each
# row. So does a row alone whose cells have lines of their own.

Row = Sequence[str]

GAP = 2
PADDED = 100
"""Where lines have no limit, a column is padded to no more than this; a longer cell runs over."""
MAX_WORD_LENGTH = 24
"""A word longer than this may be broken."""
TALLEST = 8
"""Cells of more lines than this are better read a row at a time."""

# An interval is a word, as in (-.26 to .70).
_INTERVAL = r"\([-+.\d]+ to [-+.\d]+\)"
_IS_INTERVAL = re.compile(_INTERVAL).fullmatch
_WORD = re.compile(rf"\s*{_INTERVAL}|\s*\S+|\s+")
# What stays together in a word too long for a line: all up to a mark, and the mark. A mark within a
# number is none, since half a number is another one; but a name may end before its number: `gpt-4`.
_IN_NUMBER = r"(?:[.,:]|(?<![^\W\d_])-)(?=\d)"
_PIECE = re.compile(rf"\s*(?:[^\s\-/_.,:;|=&?]|{_IN_NUMBER})*(?:[\-/_.,:;|=&?]+|(?=\s|$))")


def table(
    headings: Row,
    rows: Sequence[Row],
    is_right: Sequence[bool],
    width: int | None,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of a table; the heading's end with a rule. A `width` of null is without limit.

    A row's title, if rows have one, is above the first of the rows in turn that have it.
    """
    return tables(headings, iter([rows]), is_right, width, titles)


def tables(
    headings: Row,
    parts: Iterator[Sequence[Row]],
    is_right: Sequence[bool],
    width: int | None,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """The same of rows that come in parts: the first one decides how all are laid out."""
    rows = next(parts)
    fitting = _fitting(headings, rows, width)
    if fitting is None:
        n_before = 0
        for part in chain([rows], parts):
            yield from format_records(headings, part, width, n_before)
            n_before += len(part)
        return
    widths, gap = fitting
    yield from _drawn_layout(headings, widths, is_right, gap, is_low=True)
    yield (" " * gap).join("─" * width for width in widths)
    before = None
    for row, title in zip_longest(chain.from_iterable(map(_cells, chain([rows], parts))), titles):
        if title is not None and title != before:
            yield from wrap_text(replace_line_breaks(f"── {title} ──"), width)
        before = title
        yield from _drawn_layout(row, widths, is_right, gap, is_wrapped=width is not None)


def natural_width(headings: Row, rows: Sequence[Row], gap: int = GAP) -> int:
    """The width of a table in which each row is one line."""
    return sum(_widest(cell_len, headings, _columns(headings, rows))) + gap * (len(headings) - 1)


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    return [[replace_line_breaks(cell) for cell in row] for row in rows]


def _columns(headings: Row, rows: Sequence[Row]) -> list[Row]:
    return list(zip(*_cells(rows), strict=True)) if rows else [()] * len(headings)


def _fitting(
    headings: Row, rows: Sequence[Row], width: int | None
) -> "tuple[list[int], int] | None":
    """The columns' widths and the gap between them; null if the rows are no table at this width.

    Where the widest cells do not fit, cells are broken between words.
    """
    if len(rows) == 1 and any("\n" in cell for cell in rows[0]):
        return None
    columns, n_gaps = _columns(headings, rows), len(headings) - 1
    natural = _widest(cell_len, headings, columns)
    if width is None:
        return [min(widest, PADDED) for widest in natural], GAP
    if sum(natural) <= width - GAP * n_gaps:
        return natural, GAP
    least = _widest(_longest_word, [heading[:MAX_WORD_LENGTH] for heading in headings], columns)
    widths = _fitted(natural, least, width - n_gaps)
    if widths is None or any(n > TALLEST * w for n, w in zip(natural, widths, strict=True)):
        return None
    return widths, 1


def _widest(measure: Callable[[str], int], headings: Row, columns: Sequence[Row]) -> list[int]:
    """The largest measure of a column's cells, or its heading's width, for each column."""
    return [
        max(cell_len(heading), max(map(measure, column), default=0))
        for heading, column in zip(headings, columns, strict=True)
    ]


def format_records(
    names: Row, rows: Sequence[Row], width: int | None, n_before: int = 0
) -> Iterator[str]:
    """A block of lines for each row, a column a line; line breaks within a cell are kept."""
    indent = max(map(cell_len, names), default=0) + GAP
    room = None if width is None else max(width - indent, MAX_WORD_LENGTH)
    for number, row in enumerate(rows, start=n_before + 1):
        if n_before + len(rows) > 1:
            yield f"── {number} ──"
        for name, cell in zip(names, row, strict=True):
            lines = [
                line for part in cell.rstrip("\n").split("\n") for line in wrap_text(part, room)
            ]
            yield _padded(name, indent) + lines[0]
            yield from (" " * indent + line for line in lines[1:])


def wrap_text(text: str, width: int | None) -> list[str]:
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


def _longest_word(text: str) -> int:
    pieces = (
        cell_len(piece.strip())
        for word in _WORD.findall(text)
        for piece in ([word] if _IS_INTERVAL(word.strip()) else _PIECE.findall(word))
    )
    return min(max(pieces, default=0), MAX_WORD_LENGTH)


def _fitted(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """The widths that fill the room, the widest columns narrowed first; null if none do."""

    def narrowed(cap: int) -> list[int]:
        return [min(n, max(m, cap)) for n, m in zip(natural, least, strict=True)]

    caps = range(max(natural) + 1)
    fits = bisect_right(caps, room, key=lambda cap: sum(narrowed(cap)))
    return narrowed(caps[fits - 1]) if fits else None


def _drawn_layout(
    row: Row,
    widths: Sequence[int],
    is_right: Sequence[bool],
    gap: int,
    *,
    is_low: bool = False,
    is_wrapped: bool = True,
) -> Iterator[str]:
    """The lines of one row of cells."""
    blocks = [
        wrap_text(cell, width if is_wrapped else None)
        for cell, width in zip(row, widths, strict=True)
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


# A longer name is broken where rows become columns.
LONGEST_NAME = 24


Lines: TypeAlias = tuple[Iterator[str], int, Sequence[str]]
"""The lines of a table, how many of them are its heading, and the notes below."""


def fit_to_width(table: Table, width: int | None, others: Iterable[Table] = ()) -> Lines:
    """The table folded to a width, null without limit; `others` are more rows of the same.

    The rows of `turned` become columns, as many at a time as fit, if their lines are too long.
    """
    if table.as_records:
        view = View(tuple(table.visible_fields))
        return format_records(_headings(view), _rows(view), width), 0, table.notes
    view = View(tuple(table.visible_fields))
    if width is not None:
        folded = fitting(view, table.folds, lambda one: _is_fitting(one, width))
        # One that would still be blocks of lines stays as it is.
        is_block = _fitting(_headings(folded), _rows(folded), width) is None
        view = view if is_block else folded
    if table.turned and width is not None and not _is_fitting(view, width, GAP) and _rows(view):
        return _turned(view, table.turned, width), 1, table.notes
    more = (_rows(View(tuple(one.visible_fields))) for one in others)
    lines = tables(
        _headings(view),
        chain([_rows(view)], more),
        [one.is_number for one in view.fields],
        width,
        [
            ", ".join(title)
            for title in zip(*(one.cell_texts for one in view.sections), strict=True)
        ],
    )
    return *_heading(lines), (*view.notes, *table.notes)


def _is_fitting(view: View, width: int, gap: int = 1) -> bool:
    return natural_width(_headings(view), _rows(view), gap) <= width


def _headings(view: View) -> list[str]:
    return [one.heading for one in view.fields]


def _rows(view: View) -> list[tuple[str, ...]]:
    return list(zip(*(one.cell_texts for one in view.fields), strict=True))


def _heading(lines: Iterator[str]) -> tuple[Iterator[str], int]:
    """All lines, and how many the heading has, which ends with a rule; 0 without a rule."""
    begun = []
    for line in lines:
        begun.append(line)
        if line.startswith("─"):
            return chain(begun, lines), len(begun) - 1
    return iter(begun), 0


def _turned(view: View, by: str, width: int) -> Iterator[str]:
    """The rows as columns, an interval on a line of its own, below its value."""
    (names,) = view.select_fields(by)
    fields = [one for one in view.fields if one is not names]
    labels = [line for one in fields for line in _lines([one.heading, ""], one)]
    columns = [
        (name, [line for one in fields for line in _cell(one, at)])
        for at, name in enumerate(names.cell_texts)
    ]
    block: list[tuple[str, list[str]]] = [("", labels)]
    for column in columns:
        cells = zip(*(lines for _, lines in (*block, column)), strict=True)
        headings = [name[:LONGEST_NAME] for name, _ in (*block, column)]
        if len(block) > 1 and natural_width(headings, list(cells)) > width:
            yield from (*_drawn(block, width), "")
            block = [("", labels)]
        block.append(column)
    yield from _drawn(block, width)


def _cell(field: Field, at: int) -> Iterator[str]:
    """The lines of a cell: what is above, and its interval."""
    cell = field.cells[at]
    return _lines([f"{cell.value or NULL_TEXT} {cell.mark}".rstrip(), cell.interval], field)


def _lines(pair: list[str], field: Field) -> Iterator[str]:
    return iter(pair if field.estimate and field.estimate.low else pair[:1])


def _drawn(block: Sequence[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    names, columns = zip(*block, strict=True)
    return table(names, list(zip(*columns, strict=True)), [False] * len(names), width)
