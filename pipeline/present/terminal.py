"""A table as lines of text, as wide as a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from pipeline.cells import NULL
from pipeline.present import layout
from pipeline.present.folds import View, fitting
from pipeline.present.layout import GAP
from pipeline.present.table import Field, Table

# A longer name is broken where rows become columns.
LONGEST_NAME = 24


Lines: TypeAlias = tuple[Iterator[str], int, Sequence[str]]
"""The lines of a table, how many of them are its heading, and the notes below."""


def laid_out(table: Table, width: int | None, others: Iterable[Table] = ()) -> Lines:
    """The table folded to a width, null without limit; `others` are more rows of the same.

    The rows of `turned` become columns, as many at a time as fit, if their lines are too long.
    """
    if table.as_records:
        view = View(tuple(table.fields))
        return layout.records(_headings(view), _rows(view), width), 0, table.notes
    view = _folded(View(tuple(table.fields)), table, width)
    if table.turned and width is not None and not _is_fitting(view, width, GAP) and _rows(view):
        return _turned(view, table.turned, width), 1, table.notes
    more = (_rows(View(tuple(one.fields))) for one in others)
    lines = layout.tables(
        _headings(view),
        chain([_rows(view)], more),
        [one.is_number for one in view.fields],
        width,
        [", ".join(title) for title in zip(*(one.texts for one in view.sections), strict=True)],
    )
    return *_heading(lines), (*view.notes, *table.notes)


def _folded(view: View, table: Table, width: int | None) -> View:
    """The view folded to the width; as it is where it would still be blocks of lines."""
    if width is None:
        return view
    folded = fitting(view, table.folds, lambda one: _is_fitting(one, width))
    return folded if layout.is_table(_headings(folded), _rows(folded), width) else view


def _is_fitting(view: View, width: int, gap: int = 1) -> bool:
    return layout.natural_width(_headings(view), _rows(view), gap) <= width


def _headings(view: View) -> list[str]:
    return [one.heading for one in view.fields]


def _rows(view: View) -> list[tuple[str, ...]]:
    return list(zip(*(one.texts for one in view.fields), strict=True))


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
    (names,) = view.named(by)
    fields = [one for one in view.fields if one is not names]
    labels = [line for one in fields for line in _lines([one.heading, ""], one)]
    columns = [
        (name, [line for one in fields for line in _cell(one, at)])
        for at, name in enumerate(names.texts)
    ]
    block: list[tuple[str, list[str]]] = [("", labels)]
    for column in columns:
        if len(block) > 1 and _width([*block, column]) > width:
            yield from (*_drawn(block, width), "")
            block = [("", labels)]
        block.append(column)
    yield from _drawn(block, width)


def _cell(field: Field, at: int) -> Iterator[str]:
    """The lines of a cell: what is above, and its interval."""
    cell = field.cells[at]
    return _lines([f"{cell.value or NULL} {cell.mark}".rstrip(), cell.interval], field)


def _lines(pair: list[str], field: Field) -> Iterator[str]:
    return iter(pair if field.estimate and field.estimate.low else pair[:1])


def _width(block: Sequence[tuple[str, Sequence[str]]]) -> int:
    names = [name[:LONGEST_NAME] for name, _ in block]
    return layout.natural_width(names, list(zip(*(lines for _, lines in block), strict=True)))


def _drawn(block: Sequence[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    names, columns = zip(*block, strict=True)
    return layout.table(names, list(zip(*columns, strict=True)), [False] * len(names), width)
