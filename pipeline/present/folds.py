"""What a table gives up where a terminal is too narrow for it: one step after another.

Each step is a function of a view. What leaves the columns is in another cell, a section's title or
a note below, so nothing is lost.
"""

from collections.abc import Callable, Sequence
from typing import Concatenate, NamedTuple, ParamSpec

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
P = ParamSpec("P")


def fitting(view: View, folds: Sequence[Fold], is_fitting: Callable[[View], bool]) -> View:
    """The view after as few steps as make it fit; after all of them, if none does."""
    for fold in folds:
        if is_fitting(view):
            break
        view = fold(view)
    return view


def fold(step: Callable[Concatenate[View, P], View]) -> Callable[P, Fold]:
    """What makes a fold of the other arguments of a step."""
    return lambda *names, **options: lambda view: step(view, *names, **options)


@fold
def merged(view: View, heading: str, *columns: str, note: str = "") -> View:
    """One column for several, their values in a row."""
    fields = view.named(*columns)
    if len(fields) < len(columns):
        return view
    texts = map(", ".join, zip(*(one.texts for one in fields), strict=True))
    meaning = note or f"{heading}: {', '.join(one.heading for one in fields)}"
    return view.with_cells(fields[0], list(texts), heading).without(*fields[1:]).noting(meaning)


@fold
def starred(view: View, column: str, on: str, note: str, where: bool) -> View:
    """A column of yes and no as a star in the cells of another."""
    fields, sign = view.named(column, on), "yes" if where else "no"
    if len(fields) < 2:
        return view
    flag, other = fields
    pairs = zip(other.texts, flag.texts, strict=True)
    texts = [f"{text} *" if said == sign else text for text, said in pairs]
    folded = view.with_cells(other, texts).without(flag)
    return folded.noting(f"* {note}") if sign in flag.texts else folded


@fold
def alike(view: View, *columns: str) -> View:
    """A note in place of those of the columns that have the same value in all rows."""
    same = [one for one in view.named(*columns) if len(set(one.texts)) == 1]
    if not same or len(same[0].cells) == 1:
        return view
    values = ", ".join(f"{one.heading} {one.texts[0]}" for one in same)
    return view.without(*same).noting(f"in all rows: {values}")


@fold
def below(view: View, column: str) -> View:
    """A column as notes: each of its values once, with the rows that have it."""
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


def named(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


@fold
def begun(view: View, *columns: str) -> View:
    """Of ids the beginning."""
    for one in view.named(*columns):
        view = view.with_cells(one, [text[:ID_SHOWN] for text in one.texts])
    return view


@fold
def titled(view: View, *columns: str) -> View:
    """The values of these columns as titles, each above the rows that have it."""
    fields = view.named(*columns)
    if len(fields) == len(view.fields):
        return view
    return view._replace(sections=(*view.sections, *fields)).without(*fields)


def by_label(view: View) -> View:
    """The first column that says what a row is about as a title, if there are others."""
    labels = view.labels()
    return titled(labels[0].name)(view) if len(labels) > 1 else view
