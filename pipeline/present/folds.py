"""What a table gives up where a terminal is too narrow for it: one step after another.

Each step is a function of a view. What leaves the columns is in another cell, a section's title or
a note below, so nothing is lost.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline import cells
from pipeline.present.table import ID_SHOWN, Cell, Field

# So many rows are named in a note.
MOST_NAMED = 5


class View(NamedTuple):
    """A table for eyes: its columns, those whose values are titles of sections, and its notes."""

    fields: tuple[Field, ...]
    sections: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()

    def named(self, *names: str) -> list[Field]:
        """The columns of these names that it has."""
        return [one for name in names for one in self.fields if one.name == name]

    def all_named(self, *names: str) -> list[Field]:
        """The columns of these names; none if it lacks one of them."""
        fields = self.named(*names)
        return fields if len(fields) == len(names) else []

    def labels(self) -> list[Field]:
        """The columns that say what a row is about: those before the first number."""
        numbers = (at for at, one in enumerate(self.fields) if one.is_number or one.estimate)
        return list(self.fields[: next(numbers, len(self.fields))])

    def without(self, *fields: Field) -> "View":
        return self._replace(fields=tuple(one for one in self.fields if one not in fields))

    def with_cells(self, old: Field, texts: Sequence[str], heading: str = "") -> "View":
        """The view with these texts in a column, perhaps under another heading."""
        new = old._replace(heading=heading or old.heading, cells=[Cell(text) for text in texts])
        return self._replace(fields=tuple(new if one is old else one for one in self.fields))

    def noting(self, *notes: str) -> "View":
        return self._replace(notes=(*self.notes, *notes))


Fold = Callable[[View], View]


def fitting(view: View, folds: Sequence[Fold], is_fitting: Callable[[View], bool]) -> View:
    """The view after as few steps as make it fit; after all of them, if none does."""
    for fold in folds:
        if is_fitting(view):
            break
        view = fold(view)
    return view


def merged(heading: str, *columns: str, note: str = "") -> Fold:
    """One column for several, their values in a row."""

    def fold(view: View) -> View:
        fields = view.all_named(*columns)
        if not fields:
            return view
        texts = map(", ".join, zip(*(one.texts for one in fields), strict=True))
        meaning = note or f"{heading}: {', '.join(one.heading for one in fields)}"
        return view.with_cells(fields[0], list(texts), heading).without(*fields[1:]).noting(meaning)

    return fold


def starred(column: str, on: str, note: str, where: bool) -> Fold:
    """A column of yes and no as a star in the cells of another."""
    sign = "yes" if where else "no"

    def fold(view: View) -> View:
        flags, others = view.named(column), view.named(on)
        if not flags or not others:
            return view
        pairs = zip(others[0].texts, flags[0].texts, strict=True)
        texts = [f"{text} *" if flag == sign else text for text, flag in pairs]
        folded = view.with_cells(others[0], texts).without(flags[0])
        return folded.noting(f"* {note}") if sign in flags[0].texts else folded

    return fold


def alike(*columns: str) -> Fold:
    """A note in place of those of the columns that have the same value in all rows."""

    def fold(view: View) -> View:
        same = [one for one in view.named(*columns) if len(set(one.texts)) == 1]
        if not same or len(same[0].cells) == 1:
            return view
        values = ", ".join(f"{one.heading} {one.texts[0]}" for one in same)
        return view.without(*same).noting(f"in all rows: {values}")

    return fold


def below(column: str) -> Fold:
    """A column as notes: each of its values once, with the rows that have it."""

    def fold(view: View) -> View:
        for own in view.named(column):
            labels = [one for one in view.labels() if one is not own]
            rows: dict[str, list[str]] = {}
            for text, *names in zip(own.texts, *(one.texts for one in labels), strict=True):
                rows.setdefault(text, []).append(" ".join(names))
            title = "– " if own.name == "reason" else f"{own.heading}: "
            notes = [
                f"{title}{text} ({named(rows_of_text)})"
                for text, rows_of_text in rows.items()
                if text.strip(f"{cells.NULL}, ")
            ]
            view = view.without(own).noting(*notes)
        return view

    return fold


def named(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def begun(*columns: str) -> Fold:
    """Of ids the beginning."""

    def fold(view: View) -> View:
        for one in view.named(*columns):
            view = view.with_cells(one, [text[:ID_SHOWN] for text in one.texts])
        return view

    return fold


def titled(*columns: str) -> Fold:
    """The values of these columns as titles, each above the rows that have it."""

    def fold(view: View) -> View:
        fields = view.named(*columns)
        if len(fields) == len(view.fields):
            return view
        return view._replace(sections=(*view.sections, *fields)).without(*fields)

    return fold


def by_label(view: View) -> View:
    """The first column that says what a row is about as a title, if there are others."""
    labels = view.labels()
    return titled(labels[0].name)(view) if len(labels) > 1 else view
