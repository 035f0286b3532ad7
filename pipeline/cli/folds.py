"""What a table gives up where a terminal is too narrow for it: one step after another.

Each step is a function of a view. What leaves the columns is in another cell, a section's title or
a note below, so nothing is lost.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from pipeline import cells

ID_SHOWN = 8
# So many rows are named in a note.
MOST_NAMED = 5


class View(NamedTuple):
    """A table for eyes: its rows, headings in place of names, and the notes below.

    The values of `sections` are the title of a section of rows, and no columns.
    """

    rows: pl.DataFrame
    headings: Mapping[str, str] = {}
    decimals: int | None = None
    sections: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return [name for name in self.rows.columns if name not in self.sections]


Fold = Callable[[View], View]


def fitting(view: View, folds: Sequence[Fold], is_fitting: Callable[[View], bool]) -> View:
    """The view after as few steps as make it fit; after all of them, if none does."""
    for fold in folds:
        if is_fitting(view):
            break
        view = fold(view)
    return view


def short(**headings: str) -> Fold:
    """Shorter headings for these columns."""
    return lambda view: view._replace(headings={**view.headings, **headings})


def rounded(decimals: int) -> Fold:
    """So many decimals of every float."""
    return lambda view: view._replace(decimals=decimals)


def interval(value: str, low: str, high: str) -> Fold:
    """An interval in the cell of its value, without zeros before the point: 0.524 (.26 to .70)."""

    def fold(view: View) -> View:
        if not {value, low, high} <= {*view.rows.columns}:
            return view
        ends = zip(_texts(view, value), view.rows[low], view.rows[high], strict=True)
        texts = [with_interval(*one) for one in ends]
        return _with(view, value, texts, without=(low, high))

    return fold


def with_interval(value: str, low: float | None, high: float | None) -> str:
    """The text of a value, with its interval if it has one."""
    if low is None or high is None:
        return value
    return f"{value} ({_end(low)} to {_end(high)})"


def bounds(name: str, low: str, high: str) -> Fold:
    """One column for two: the lowest and the highest value."""

    def fold(view: View) -> View:
        if not {low, high} <= {*view.rows.columns}:
            return view
        ends = zip(view.rows[low], view.rows[high], strict=True)
        texts = [cells.NULL if None in two else f"{_end(two[0])} to {_end(two[1])}" for two in ends]
        return _with(view, low, texts, without=(high,), name=name)

    return fold


def mark(column: str, name: str = "thin") -> Fold:
    """A column of marks behind the values of another."""

    def fold(view: View) -> View:
        if not {column, name} <= {*view.rows.columns}:
            return view
        pairs = zip(_texts(view, column), view.rows[name], strict=True)
        return _with(view, column, [f"{text} {one}".rstrip() for text, one in pairs], (name,))

    return fold


def merged(name: str, *columns: str, note: str = "") -> Fold:
    """One column for several, their values in a row."""

    def fold(view: View) -> View:
        if not {*columns} <= {*view.rows.columns}:
            return view
        texts = map(", ".join, zip(*(_texts(view, one) for one in columns), strict=True))
        folded = _with(view, columns[0], list(texts), columns[1:], name=name)
        return folded._replace(notes=(*([note] if note else []), *view.notes))

    return fold


def starred(column: str, on: str, note: str, *, where: bool) -> Fold:
    """A column of yes and no as a star in the cells of another: where it is yes, or where no."""

    def fold(view: View) -> View:
        if not {column, on} <= {*view.rows.columns}:
            return view
        pairs = zip(_texts(view, on), view.rows[column], strict=True)
        texts = [f"{text} *" if is_so is where else text for text, is_so in pairs]
        has_star = view.rows[column].eq(where).any()
        folded = _with(view, on, texts, (column,))
        return folded._replace(notes=(*view.notes, *([f"* {note}"] if has_star else [])))

    return fold


def alike(*columns: str) -> Fold:
    """A note in place of those of the columns that have the same value in all rows."""

    def fold(view: View) -> View:
        there = [name for name in columns if name in view.rows.columns]
        names = [name for name in there if view.rows[name].n_unique() == 1]
        if not names or view.rows.height == 1:
            return view
        values = ", ".join(f"{name} {_texts(view, name)[0]}" for name in names)
        return view._replace(
            rows=view.rows.drop(names), notes=(*view.notes, f"in all rows: {values}")
        )

    return fold


def below(column: str, *keys: str, title: str = "– ") -> Fold:
    """A column as notes: each of its values once, with the rows that have it."""

    def fold(view: View) -> View:
        if column not in view.rows.columns:
            return view
        names = [name for name in keys if name in view.rows.columns]
        rows: dict[str, list[str]] = {}
        for text, *of_row in zip(*(_texts(view, name) for name in (column, *names)), strict=True):
            rows.setdefault(text, []).append(" ".join(of_row))
        notes = [
            f"{title}{text} ({named(of_text)})"
            for text, of_text in rows.items()
            if text.strip(f"{cells.NULL}, ")
        ]
        return view._replace(rows=view.rows.drop(column), notes=(*view.notes, *notes))

    return fold


def named(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def begun(*columns: str) -> Fold:
    """Of ids the beginning."""

    def fold(view: View) -> View:
        names = [name for name in columns if name in view.rows.columns]
        return view._replace(rows=view.rows.with_columns(pl.col(names).str.head(ID_SHOWN)))

    return fold


def titled(*columns: str) -> Fold:
    """The values of these columns as titles, each above the rows that have it."""

    def fold(view: View) -> View:
        more = [name for name in columns if name in view.columns]
        is_whole = len(more) < len(view.columns)
        return view._replace(sections=(*view.sections, *more)) if is_whole else view

    return fold


def _texts(view: View, name: str) -> list[str]:
    return cells.texts(view.rows[name].to_list(), view.decimals)


def _with(
    view: View, column: str, texts: Sequence[str], without: Sequence[str], name: str = ""
) -> View:
    """The view with these texts in place of a column, perhaps by another name."""
    rows = view.rows.with_columns(pl.Series(column, texts, pl.String))
    return view._replace(rows=rows.drop(without).rename({column: name or column}))


def _end(end: float) -> str:
    """An end of an interval; one next to 0 says on which side: +.00 or -.00."""
    return cells.without_zero(f"{end:+.2f}" if 0 < end < 0.005 else f"{end:.2f}")
