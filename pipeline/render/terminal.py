"""Tables as lines of text that fit the width of a terminal.

Used by the CLI and by `ResultTable.text`; depends on `pipeline.render.table` and on `rich` for the
widths of characters.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

from rich.cells import cell_len, chop_cells

from pipeline.render.table import Field, Table, TableLayout, apply_steps_until_fitting
from pipeline.text_format import NULL_TEXT, line_breaks_to_symbols

# The layout of cells in a terminal of limited width.
#
# A table that fits is aligned. Otherwise cells are wrapped between words and after punctuation, and
# headings only if they are long. If this is not enough, each row becomes a block of lines. So does
# a single row whose cells contain line breaks.

Row = Sequence[str]

GAP = 2
MAX_PADDED_WIDTH = 100
"""Maximum width to which columns are padded if lines have no limit."""
MAX_WORD_LENGTH = 24
"""Words longer than this can be broken."""
MAX_CELL_LINES = 8
"""If a cell would have more lines than this, each row becomes a block of lines."""

# An interval is never broken, as in (-.26 to .70).
_INTERVAL = r"\([-+.\d]+ to [-+.\d]+\)"
_IS_INTERVAL = re.compile(_INTERVAL).fullmatch
_WORD_PATTERN = re.compile(rf"\s*{_INTERVAL}|\s*\S+|\s+")
# The pieces of a word that is too long for a line: all characters up to a punctuation mark, and the
# mark. Marks within a number do not end a piece, because half a number is a different number. A
# name can be broken before its number, as in `gpt-4`.
_MARK_IN_NUMBER = r"(?:[.,:]|(?<![^\W\d_])-)(?=\d)"
_PIECE_PATTERN = re.compile(
    rf"\s*(?:[^\s\-/_.,:;|=&?]|{_MARK_IN_NUMBER})*(?:[\-/_.,:;|=&?]+|(?=\s|$))"
)


def iter_table_lines(
    headings: Row,
    rows: Sequence[Row],
    is_right: Sequence[bool],
    width: int | None,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """Iterate over the lines of a text table that fits a width.

    Args:
        headings: The headings of the columns.
        rows: The cells of each row.
        is_right: For each column, whether it is aligned to the right.
        width: The width of the terminal; None for no limit.
        titles: For each row, the title of its section. A title is displayed above the first of
            consecutive rows that have it.

    Returns:
        The lines; the heading ends with a rule.
    """
    return iter_table_lines_of_row_batches(headings, iter([rows]), is_right, width, titles)


def iter_table_lines_of_row_batches(
    headings: Row,
    batches: Iterator[Sequence[Row]],
    is_right: Sequence[bool],
    width: int | None,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """Iterate over the lines of a text table whose rows arrive in several batches.

    The first batch determines the widths of the columns.

    Args:
        headings: The headings of the columns.
        batches: The batches of rows, at least one.
        is_right: For each column, whether it is aligned to the right.
        width: The width of the terminal; None for no limit.
        titles: For each row, the title of its section.

    Yields:
        The lines; the heading ends with a rule.
    """
    rows = next(batches)
    widths_and_gap = _fit_column_widths_and_gap(headings, rows, width)
    if widths_and_gap is None:
        n_before = 0
        for batch in chain([rows], batches):
            yield from format_records(headings, batch, width, n_before)
            n_before += len(batch)
        return
    widths, gap = widths_and_gap
    yield from _iter_row_lines(headings, widths, is_right, gap, is_bottom_aligned=True)
    yield (" " * gap).join("─" * width for width in widths)
    previous_title = None
    for row, title in zip_longest(
        chain.from_iterable(map(_replace_line_breaks_in_cells, chain([rows], batches))), titles
    ):
        if title is not None and title != previous_title:
            yield from wrap_text(line_breaks_to_symbols(f"── {title} ──"), width)
        previous_title = title
        yield from _iter_row_lines(row, widths, is_right, gap, is_wrapped=width is not None)


def width_without_wrapping(headings: Row, rows: Sequence[Row], gap: int = GAP) -> int:
    """Return the width that a table needs so that each row is displayed on one line."""
    return sum(_maximum_cell_widths(cell_len, headings, _transpose(headings, rows))) + gap * (
        len(headings) - 1
    )


def _replace_line_breaks_in_cells(rows: Sequence[Row]) -> list[list[str]]:
    return [[line_breaks_to_symbols(cell) for cell in row] for row in rows]


def _transpose(headings: Row, rows: Sequence[Row]) -> list[Row]:
    return (
        list(zip(*_replace_line_breaks_in_cells(rows), strict=True))
        if rows
        else [()] * len(headings)
    )


def _fit_column_widths_and_gap(
    headings: Row, rows: Sequence[Row], width: int | None
) -> "tuple[list[int], int] | None":
    """Return the column widths and the gap between columns; None if no widths fit.

    If the table is too wide, the widest columns are narrowed, so that their cells are wrapped.
    """
    if len(rows) == 1 and any("\n" in cell for cell in rows[0]):
        return None
    columns, n_gaps = _transpose(headings, rows), len(headings) - 1
    natural_widths = _maximum_cell_widths(cell_len, headings, columns)
    if width is None:
        return [min(column_width, MAX_PADDED_WIDTH) for column_width in natural_widths], GAP
    if sum(natural_widths) <= width - GAP * n_gaps:
        return natural_widths, GAP
    min_widths = _maximum_cell_widths(
        _longest_piece_width, [heading[:MAX_WORD_LENGTH] for heading in headings], columns
    )
    widths = _narrow_widest_columns(natural_widths, min_widths, width - n_gaps)
    if widths is None or any(
        natural > MAX_CELL_LINES * fitted
        for natural, fitted in zip(natural_widths, widths, strict=True)
    ):
        return None
    return widths, 1


def _maximum_cell_widths(
    measure_width: Callable[[str], int], headings: Row, columns: Sequence[Row]
) -> list[int]:
    """Return for each column the width of its widest cell, or of its heading if that is wider."""
    return [
        max(cell_len(heading), max(map(measure_width, column), default=0))
        for heading, column in zip(headings, columns, strict=True)
    ]


def format_records(
    names: Row, rows: Sequence[Row], width: int | None, n_before: int = 0
) -> Iterator[str]:
    """Yield each row as a block of lines: the name and the value of one column per line.

    Args:
        names: The names of the columns.
        rows: The cells of each row; line breaks within a cell are kept.
        width: The width of the terminal; None for no limit.
        n_before: The number of rows that were displayed before; the blocks are numbered from it.

    Yields:
        The lines.
    """
    indent = max(map(cell_len, names), default=0) + GAP
    value_width = None if width is None else max(width - indent, MAX_WORD_LENGTH)
    for row_number, row in enumerate(rows, start=n_before + 1):
        if n_before + len(rows) > 1:
            yield f"── {row_number} ──"
        for name, cell in zip(names, row, strict=True):
            lines = [
                line
                for cell_line in cell.rstrip("\n").split("\n")
                for line in wrap_text(cell_line, value_width)
            ]
            yield _pad(name, indent) + lines[0]
            yield from (" " * indent + line for line in lines[1:])


def wrap_text(text: str, width: int | None) -> list[str]:
    """Break a text into lines of a maximum width.

    Args:
        text: The text.
        width: The maximum width; None for no limit.

    Returns:
        The lines. They are broken between words, and within long words after punctuation.
    """
    if width is None or cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in _WORD_PATTERN.findall(text):
        is_long = cell_len(word.strip()) > width
        for piece in _PIECE_PATTERN.findall(word) if is_long else [word]:
            if cell_len(lines[-1] + piece) <= width:
                lines[-1] += piece
            else:
                lines += chop_cells(piece.lstrip(), width)
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _longest_piece_width(text: str) -> int:
    """Return the width of the longest part of a text that cannot be broken, at most 24."""
    pieces = (
        cell_len(piece.strip())
        for word in _WORD_PATTERN.findall(text)
        for piece in ([word] if _IS_INTERVAL(word.strip()) else _PIECE_PATTERN.findall(word))
    )
    return min(max(pieces, default=0), MAX_WORD_LENGTH)


def _narrow_widest_columns(
    natural_widths: Sequence[int], min_widths: Sequence[int], total_width: int
) -> list[int] | None:
    """Narrow the widest columns until the table fits; None if it does not fit at all."""

    def cap_widths(cap: int) -> list[int]:
        return [
            min(natural, max(minimum, cap))
            for natural, minimum in zip(natural_widths, min_widths, strict=True)
        ]

    caps = range(max(natural_widths) + 1)
    n_fitting_caps = bisect_right(caps, total_width, key=lambda cap: sum(cap_widths(cap)))
    return cap_widths(caps[n_fitting_caps - 1]) if n_fitting_caps else None


def _iter_row_lines(
    row: Row,
    widths: Sequence[int],
    is_right: Sequence[bool],
    gap: int,
    *,
    is_bottom_aligned: bool = False,
    is_wrapped: bool = True,
) -> Iterator[str]:
    """Yield the lines of one table row, whose cells can be wrapped to several lines."""
    cell_blocks = [
        wrap_text(cell, width if is_wrapped else None)
        for cell, width in zip(row, widths, strict=True)
    ]
    if is_bottom_aligned:
        height = max(map(len, cell_blocks), default=0)
        cell_blocks = [[""] * (height - len(cell_block)) + cell_block for cell_block in cell_blocks]
    for lines in zip_longest(*cell_blocks, fillvalue=""):
        padded = (
            _pad(line, width, right)
            for line, width, right in zip(lines, widths, is_right, strict=True)
        )
        yield (" " * gap).join(padded).rstrip()


def _pad(text: str, width: int, align_right: bool = False) -> str:
    padding = " " * (width - cell_len(text))
    return padding + text if align_right else text + padding


# Maximum length of a name that becomes a column heading in a transposed table.
MAX_NAME_LENGTH = 24


TableLines: TypeAlias = tuple[Iterator[str], int, Sequence[str]]
"""The lines of a table, the number of heading lines, and the notes below."""


def fit_to_width(table: Table, width: int | None, more_tables: Iterable[Table] = ()) -> TableLines:
    """Format a table as lines of text that fit the width of a terminal.

    If the table is too wide, its layout steps are applied. If it is still too wide and has
    `transposed_by`, its rows become columns, as many at a time as fit.

    Args:
        table: The table.
        width: The width of the terminal; None for no limit.
        more_tables: Tables with more rows of the same columns.

    Returns:
        The lines, the number of heading lines, and the notes.
    """
    layout = TableLayout(tuple(table.visible_fields))
    if table.as_records:
        return format_records(_layout_headings(layout), _layout_rows(layout), width), 0, table.notes
    if width is not None:
        reduced_layout = apply_steps_until_fitting(
            layout, table.layout_steps, lambda candidate: _is_within_width(candidate, width)
        )
        # If rows would be blocks of lines even after all steps, the steps are not applied.
        has_blocks = (
            _fit_column_widths_and_gap(
                _layout_headings(reduced_layout), _layout_rows(reduced_layout), width
            )
            is None
        )
        layout = layout if has_blocks else reduced_layout
    if (
        table.transposed_by
        and width is not None
        and not _is_within_width(layout, width, GAP)
        and _layout_rows(layout)
    ):
        return _iter_transposed_lines(layout, table.transposed_by, width), 1, table.notes
    more_rows = (_layout_rows(TableLayout(tuple(part.visible_fields))) for part in more_tables)
    lines = iter_table_lines_of_row_batches(
        _layout_headings(layout),
        chain([_layout_rows(layout)], more_rows),
        [field.is_number for field in layout.fields],
        width,
        [
            ", ".join(section_titles)
            for section_titles in zip(*(field.cell_texts for field in layout.sections), strict=True)
        ],
    )
    return *_lines_and_heading_line_count(lines), (*layout.notes, *table.notes)


def _is_within_width(layout: TableLayout, width: int, gap: int = 1) -> bool:
    return width_without_wrapping(_layout_headings(layout), _layout_rows(layout), gap) <= width


def _layout_headings(layout: TableLayout) -> list[str]:
    return [field.heading for field in layout.fields]


def _layout_rows(layout: TableLayout) -> list[tuple[str, ...]]:
    return list(zip(*(field.cell_texts for field in layout.fields), strict=True))


def _lines_and_heading_line_count(lines: Iterator[str]) -> tuple[Iterator[str], int]:
    """Return all lines, and the number of lines above the first horizontal rule (0 without one)."""
    heading_lines = []
    for line in lines:
        heading_lines.append(line)
        if line.startswith("─"):
            return chain(heading_lines, lines), len(heading_lines) - 1
    return iter(heading_lines), 0


def _iter_transposed_lines(layout: TableLayout, heading_column: str, width: int) -> Iterator[str]:
    """Yield the lines of a table with one column for each row, and one line for each field."""
    (name_field,) = layout.select_fields(heading_column)
    fields = [field for field in layout.fields if field is not name_field]
    labels = [
        line
        for field in fields
        for line in _both_lines_if_field_has_interval([field.heading, ""], field)
    ]
    columns = [
        (name, [line for field in fields for line in _value_and_interval_lines(field, index)])
        for index, name in enumerate(name_field.cell_texts)
    ]
    block: list[tuple[str, list[str]]] = [("", labels)]
    for column in columns:
        cells = zip(*(lines for _, lines in (*block, column)), strict=True)
        headings = [name[:MAX_NAME_LENGTH] for name, _ in (*block, column)]
        if len(block) > 1 and width_without_wrapping(headings, list(cells)) > width:
            yield from (*_iter_block_lines(block, width), "")
            block = [("", labels)]
        block.append(column)
    yield from _iter_block_lines(block, width)


def _value_and_interval_lines(field: Field, index: int) -> Iterator[str]:
    cell = field.cells[index]
    return _both_lines_if_field_has_interval(
        [f"{cell.text_with_bold_markers or NULL_TEXT} {cell.mark}".rstrip(), cell.interval_text],
        field,
    )


def _both_lines_if_field_has_interval(two_lines: list[str], field: Field) -> Iterator[str]:
    """Return both lines if the field has intervals, otherwise only the first line."""
    return iter(two_lines if field.estimate and field.estimate.low else two_lines[:1])


def _iter_block_lines(block: Sequence[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    names, columns = zip(*block, strict=True)
    return iter_table_lines(names, list(zip(*columns, strict=True)), [False] * len(names), width)
