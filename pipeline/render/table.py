"""A result as a table: its frame, its declared columns, and its notes; each form is made of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self

import polars as pl
from msgspec import Struct, structs

from pipeline import text_format
from pipeline.column import Column, Unit, column_heading
from pipeline.text_format import escape_unprintable

ID_PREFIX_LENGTH = 8
TEXT_SHOWN = 100
OWN_UNIT = "what is no share is in a unit of its own"
PERCENT = "values are in percent; the highest of each column is bold"


class Estimate(Struct, frozen=True):
    """Columns that are one number together, and one cell for eyes.

    These are its value, the ends of its interval, its thin terms, and what it lacks: competitions,
    how many games are `missing` of how many, and `undecided` rows. A page also has what was counted
    for it, in how many games, and why it is missing. Without a `value` it is a range. What is no
    share is never in percent. One that `has_evidence` leads to the rows behind it.
    """

    value: str | None = None
    low: str | None = None
    high: str | None = None
    thin: tuple[str, ...] = ()
    counted: str | None = None
    games: str | None = None
    reason: str | None = None
    heading: str = ""
    lacks: str | None = None
    missing: tuple[str, ...] = ()
    undecided: str | None = None
    is_share: bool = True
    has_evidence: bool = False

    @property
    def anchor(self) -> str:
        """The column in whose place it stands."""
        return self.value or self.low or ""

    def source_columns(self) -> Iterator[str]:
        """The columns that its cell stands for."""
        marks = (*self.thin, self.lacks, *self.missing, self.undecided)
        return filter(None, (self.value, self.low, self.high, *marks))

    def format_cell(self, text: str, row: Mapping[str, Any], unit: Unit = None) -> "Cell":
        """Its cell in a row, in which its value is this text; ends are in the unit, too."""
        low, high = row.get(self.low or ""), row.get(self.high or "")
        end = (
            text_format.format_interval_bound
            if unit is None
            else partial(text_format.format_with_unit, unit=unit)
        )
        ends = ("", "") if low is None or high is None else (end(low), end(high))
        if self.value is None:
            return Cell("" if ends[0] else text_format.NULL_TEXT, *ends)
        mark = text_format.small_sample_mark(
            term for name in self.thin for term in row.get(name) or ()
        )
        lacks = (self.lacks or "", *self.missing[:1], self.undecided or "")
        mark += "*" if any(map(row.get, lacks)) else ""
        return Cell(text, *ends, "" if text == text_format.NULL_TEXT else mark)


class Cell(NamedTuple):
    """A cell for eyes: its text, for an estimate also the ends of its interval, and marks such as
    †1. A range has no text. The best of its column is bold.
    """

    text: str
    low: str = ""
    high: str = ""
    mark: str = ""
    is_best: bool = False

    @property
    def value(self) -> str:
        """The text, marked if it is the best."""
        return text_format.mark_bold(self.text) if self.is_best else self.text

    @property
    def interval(self) -> str:
        ends = f"{self.low} to {self.high}" if self.low else ""
        return f"({ends})" if ends and self.text else ends

    def __str__(self) -> str:
        return " ".join(filter(None, (self.value, self.interval, self.mark)))


class Field(NamedTuple):
    """A column for eyes, which may stand for several of the frame."""

    name: str
    heading: str
    cells: Sequence[Cell]
    is_number: bool = False
    estimate: Estimate | None = None

    @property
    def cell_texts(self) -> list[str]:
        return list(map(str, self.cells))


@dataclass(frozen=True, eq=False)
class Table:
    """A result: `rows` as Python gives them, and how these are shown to eyes.

    `hidden` columns are for programs alone, `optional` ones are hidden where no row has anything in
    them. `brief` makes of the rows what is shown instead. `folds` are what a terminal that is too
    narrow gives up, step by step. With `turned`, the rows of that column become columns there.
    `also` are the hidden ones that pages show if there is anything in them, which have more room.
    `asides` are what a small screen can do without.
    `star` names a column whose cells have a star where another one is false.
    `origin` says what the numbers are of.
    `hints` are for the command line alone: what to do next; `nothing` is the hint without rows.
    """

    name: str
    rows: pl.DataFrame
    columns: Mapping[str, Column] = field(default_factory=dict)
    estimates: Sequence[Estimate] = ()
    hidden: Sequence[str] = ()
    optional: Sequence[str] = ()
    also: Sequence[str] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    star: tuple[str, str] | None = None
    brief: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    folds: Sequence[Any] = ()
    turned: str | None = None
    asides: Sequence[str] = ()
    as_records: bool = False
    notes: Sequence[str] = ()
    origin: str = ""
    hints: Sequence[str] = ()
    nothing: str = ""

    @cached_property
    def visible_fields(self) -> list[Field]:
        """The columns for eyes, in their order."""
        anchors = {one.anchor: one for one in self.estimates}
        within = {part for one in self.estimates for part in one.source_columns()} - anchors.keys()
        fields = []
        for column in self.visible_rows.iter_columns():
            name = column.name
            if name in within or name in self.hidden or self._is_left_out(column):
                continue
            estimate = anchors.get(name)
            shown = (
                self._estimated(estimate)
                if estimate
                else list(map(Cell, self.format_column(column)))
            )
            if self.star and name == self.star[0]:
                flags = self.visible_rows[self.star[1]]
                shown = [
                    one._replace(mark="*") if flag is False else one
                    for one, flag in zip(shown, flags, strict=True)
                ]
            is_number = column.dtype.is_numeric() and (estimate is None or not estimate.low)
            fields.append(
                Field(name, self.column_heading(name, estimate), shown, is_number, estimate)
            )
        return fields

    @cached_property
    def visible_rows(self) -> pl.DataFrame:
        """The rows that the fields are of."""
        return self.rows if self.brief is None else self.brief(self.rows)

    def column_heading(self, name: str, estimate: Estimate | None = None) -> str:
        """What stands above a column for eyes."""
        own = self.headings.get(name) or (estimate.heading if estimate else "")
        return escape_unprintable(own or column_heading(name, self.columns)).replace("\n", " ")

    def _is_left_out(self, column: pl.Series) -> bool:
        """Whether it is optional, and no row has anything in it."""
        if column.name not in self.optional:
            return False
        values = column.drop_nulls()
        return values.is_empty() or not (column.dtype.is_float() or any(values.to_list()))

    def format_column(self, column: pl.Series) -> list[str]:
        """The printable texts of a column's values."""
        declared = self.columns.get(column.name)
        if declared is None:
            return text_format.format_values(column.to_list())
        values: list[object] = column.to_list()
        if column.dtype == pl.Boolean:
            values = [None if value is None else "yes" if value else "no" for value in values]
        elif column.dtype == pl.List(pl.String):
            values = [None if value is None else ", ".join(value) for value in column.to_list()]
        return text_format.format_values(values, declared.decimals, declared.unit)

    def _estimated(self, estimate: Estimate) -> list[Cell]:
        """Each number with its interval and its mark, if it has them; in percent, the best."""
        column, declared = self.visible_rows[estimate.anchor], self.columns.get(estimate.anchor)
        texts, unit = self.format_column(column), declared.unit if declared else None
        rows = self.visible_rows.iter_rows(named=True)
        made = [
            estimate.format_cell(text, row, unit) for text, row in zip(texts, rows, strict=True)
        ]
        best = texts[at] if unit == "%" and (at := column.arg_max()) is not None else None
        return [one._replace(is_best=one.text == best) for one in made]

    def with_optional_columns(self, *more: str) -> Self:
        """The table as a page shows it, with the columns that are `also` there, and more."""
        named = (*self.also, *more)
        return replace(
            self,
            hidden=[name for name in self.hidden if name not in named],
            optional=(*self.optional, *named),
        )

    def in_percent(self, *names: str) -> Self:
        """The table with these estimates in percent, by default all; the best of each is bold."""
        names = names or tuple(one.anchor for one in self.estimates if one.is_share)
        columns = {name: structs.replace(self.columns[name], unit="%") for name in names}
        others = [one for one in self.estimates if not one.is_share]
        note = "; ".join([PERCENT] * bool(names) + [OWN_UNIT] * bool(others))
        return replace(self, columns={**self.columns, **columns}).with_notes(note)

    def with_rows(self, rows: pl.DataFrame) -> Self:
        """The same table of other rows."""
        return replace(self, rows=rows)

    @classmethod
    def from_frame(cls, name: str, rows: pl.DataFrame, **shown: Any) -> "Table":
        """The table of a frame that no report declares; columns of bytes are shown as sizes."""
        columns = {
            column: Column(dtype, unit="bytes" if "bytes" in column else None)
            for column, dtype in rows.schema.items()
        }
        return cls(name, rows, columns, **shown)

    @property
    def document_notes(self) -> Sequence[str]:
        """The notes for a document, which others read without the lake."""
        notes = [note for note in self.notes if not self.origin.startswith(note)]
        return [*notes, self.origin] if self.origin else notes

    def with_notes(self, *notes: str) -> Self:
        """The same table with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def declare_table(
    name: str, columns: Mapping[str, Column] | None = None, **shown: Any
) -> Callable[..., Table]:
    """Return a function that makes the table of rows, for a table that depends on nothing else."""
    return lambda rows, **_: Table(name, rows, columns or {}, **shown)


def first_game(rows: pl.DataFrame) -> list[str]:
    """A hint how to read the first of these games."""
    return [
        f"to read a game: `magic show {name[:ID_PREFIX_LENGTH]}`"
        for name in rows["game_id"].head(1)
    ]


def brief_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the beginning of each id, and of each `content`, on one line."""
    text = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
    is_long, short = text.str.len_chars() > TEXT_SHOWN, text.str.head(TEXT_SHOWN - 1) + "…"
    return rows.with_columns(brief_id(), content=pl.when(is_long).then(short).otherwise(text))


def brief_id(name: str = "game_id") -> pl.Expr:
    """So much of each id as tells one from another."""
    return pl.col(name).str.head(ID_PREFIX_LENGTH)


# What a table gives up where a terminal is too narrow for it: one step after another.
#
# Each step is a function of a view. What leaves the columns is in another cell, a section's title
# or a note below, so nothing is lost.

# So many rows are named in a note.
MOST_NAMED = 5


class View(NamedTuple):
    """A table for eyes: its columns, those whose values are titles of sections, and its notes."""

    fields: tuple[Field, ...]
    sections: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()

    def select_fields(self, *names: str) -> list[Field]:
        """The columns of these names that it has."""
        return [one for name in names for one in self.fields if one.name == name]

    def label_fields(self) -> list[Field]:
        """The columns that say what a row is about: those before the first number."""
        numbers = (at for at, one in enumerate(self.fields) if one.is_number or one.estimate)
        return list(self.fields[: next(numbers, len(self.fields))])

    def without_fields(self, *fields: Field) -> "View":
        return self._replace(fields=tuple(one for one in self.fields if one not in fields))

    def with_cells(self, old: Field, texts: Sequence[str], heading: str = "") -> "View":
        """The view with these texts in a column, perhaps under another heading."""
        new = old._replace(heading=heading or old.heading, cells=[Cell(text) for text in texts])
        return self._replace(fields=tuple(new if one is old else one for one in self.fields))

    def with_notes(self, *notes: str) -> "View":
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
    fields = view.select_fields(*columns)
    if len(fields) < len(columns):
        return view
    texts = map(", ".join, zip(*(one.cell_texts for one in fields), strict=True))
    meaning = note or f"{heading}: {', '.join(one.heading for one in fields)}"
    return (
        view.with_cells(fields[0], list(texts), heading)
        .without_fields(*fields[1:])
        .with_notes(meaning)
    )


@fold
def starred(view: View, column: str, on: str, note: str, where: bool) -> View:
    """A column of yes and no as a star in the cells of another."""
    fields, sign = view.select_fields(column, on), "yes" if where else "no"
    if len(fields) < 2:
        return view
    flag, other = fields
    pairs = zip(other.cell_texts, flag.cell_texts, strict=True)
    texts = [f"{text} *" if said == sign else text for text, said in pairs]
    folded = view.with_cells(other, texts).without_fields(flag)
    return folded.with_notes(f"* {note}") if sign in flag.cell_texts else folded


@fold
def alike(view: View, *columns: str) -> View:
    """A note in place of those of the columns that have the same value in all rows."""
    same = [one for one in view.select_fields(*columns) if len(set(one.cell_texts)) == 1]
    if not same or len(same[0].cells) == 1:
        return view
    values = ", ".join(f"{one.heading} {one.cell_texts[0]}" for one in same)
    return view.without_fields(*same).with_notes(f"in all rows: {values}")


@fold
def below(view: View, column: str) -> View:
    """A column as notes: each of its values once, with the rows that have it."""
    for own in view.select_fields(column):
        labels = [one for one in view.label_fields() if one is not own]
        rows: dict[str, list[str]] = {}
        for text, *names in zip(own.cell_texts, *(one.cell_texts for one in labels), strict=True):
            rows.setdefault(text, []).append(" ".join(names))
        title = "– " if own.name == "reason" else f"{own.heading}: "
        notes = [
            f"{title}{text} ({named(rows_of_text)})"
            for text, rows_of_text in rows.items()
            if text.strip(f"{text_format.NULL_TEXT}, ")
        ]
        view = view.without_fields(own).with_notes(*notes)
    return view


def named(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


@fold
def begun(view: View, *columns: str) -> View:
    """Of ids the beginning."""
    for one in view.select_fields(*columns):
        view = view.with_cells(one, [text[:ID_PREFIX_LENGTH] for text in one.cell_texts])
    return view


@fold
def titled(view: View, *columns: str) -> View:
    """The values of these columns as titles, each above the rows that have it."""
    fields = view.select_fields(*columns)
    if len(fields) == len(view.fields):
        return view
    return view._replace(sections=(*view.sections, *fields)).without_fields(*fields)


def by_label(view: View) -> View:
    """The first column that says what a row is about as a title, if there are others."""
    labels = view.label_fields()
    return titled(labels[0].name)(view) if len(labels) > 1 else view
