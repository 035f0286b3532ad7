"""A result as a table: its rows, the specs of its columns, and its notes.

Every output format is made from a `Table`: terminal, HTML, Markdown, LaTeX. Used by the other
modules of this package; depends on `pipeline.column` and `pipeline.text_format`.
"""

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
MAX_BRIEF_CHARACTERS = 100
NOT_IN_PERCENT_NOTE = "values that are not shares keep their own unit"
PERCENT_NOTE = "values are in percent; the highest value of each column is bold"


class Estimate(Struct, frozen=True):
    """Columns that together describe one estimate and are displayed in one cell.

    Attributes:
        value: The column of the value; None for a range without a value.
        low: The column of the interval's lower bound.
        high: The column of the interval's upper bound.
        small_sample_terms: The columns of the terms with too few independent settings.
        counted: The column of the number of counted rows, which only pages display.
        games: The column of the number of games, which only pages display.
        reason: The column that says why there is no value, which only pages display.
        heading: The heading of the cell's column; empty for that of the value.
        missing_competitions: The column of the competitions that the value does not cover.
        missing: The columns of the numbers of missing and of expected games.
        undecided: The column of the number of undecided rows.
        is_share: Whether the value is a share, which can be displayed in percent.
        has_evidence: Whether the value links to the rows that were counted.
    """

    value: str | None = None
    low: str | None = None
    high: str | None = None
    small_sample_terms: tuple[str, ...] = ()
    counted: str | None = None
    games: str | None = None
    reason: str | None = None
    heading: str = ""
    missing_competitions: str | None = None
    missing: tuple[str, ...] = ()
    undecided: str | None = None
    is_share: bool = True
    has_evidence: bool = False

    @property
    def position_column(self) -> str:
        """The column whose place in the table the cell takes: the value, or the lower bound."""
        return self.value or self.low or ""

    def iter_replaced_columns(self) -> Iterator[str]:
        """Yield the names of the columns that are combined in the cell."""
        marks = (*self.small_sample_terms, self.missing_competitions, *self.missing, self.undecided)
        return filter(None, (self.value, self.low, self.high, *marks))

    def format_cell(self, text: str, row: Mapping[str, Any], unit: Unit = None) -> "Cell":
        """Combine the formatted value, the interval and the marks of one row in a cell.

        Args:
            text: The formatted value.
            row: The values of the row, by column.
            unit: The unit of the interval's bounds.

        Returns:
            The cell with the interval and the marks for small samples and missing games.
        """
        low, high = row.get(self.low or ""), row.get(self.high or "")
        format_bound = (
            text_format.format_interval_bound
            if unit is None
            else partial(text_format.format_with_unit, unit=unit)
        )
        bounds = (
            ("", "") if low is None or high is None else (format_bound(low), format_bound(high))
        )
        if self.value is None:
            return Cell("" if bounds[0] else text_format.NULL_TEXT, *bounds)
        mark = text_format.small_sample_mark(
            term for name in self.small_sample_terms for term in row.get(name) or ()
        )
        star_columns = (self.missing_competitions or "", *self.missing[:1], self.undecided or "")
        mark += "*" if any(map(row.get, star_columns)) else ""
        return Cell(text, *bounds, "" if text == text_format.NULL_TEXT else mark)


class Cell(NamedTuple):
    """A displayed cell.

    Attributes:
        text: The value; empty for a range.
        low: The formatted lower bound of an estimate's interval.
        high: The formatted upper bound of an estimate's interval.
        mark: Marks such as `†1` or `*`.
        is_best: Whether the value is the highest of its column, which is bold.
    """

    text: str
    low: str = ""
    high: str = ""
    mark: str = ""
    is_best: bool = False

    @property
    def text_with_bold_markers(self) -> str:
        """The text, between markers for bold type if it is the highest value of its column."""
        return text_format.mark_bold(self.text) if self.is_best else self.text

    @property
    def interval_text(self) -> str:
        """The interval, such as `.20 to .40`; in parentheses if the cell also has a value."""
        bounds = f"{self.low} to {self.high}" if self.low else ""
        return f"({bounds})" if bounds and self.text else bounds

    def __str__(self) -> str:
        """Return the value, the interval and the mark, separated by spaces."""
        return " ".join(filter(None, (self.text_with_bold_markers, self.interval_text, self.mark)))


class Field(NamedTuple):
    """A displayed column, which can combine several columns of the frame.

    Attributes:
        name: The name of the column.
        heading: The displayed heading.
        cells: One cell for each row.
        is_number: Whether the column is aligned to the right.
        estimate: The estimate that the column displays; None for a plain column.
    """

    name: str
    heading: str
    cells: Sequence[Cell]
    is_number: bool = False
    estimate: Estimate | None = None

    @property
    def cell_texts(self) -> list[str]:
        """The text of each cell."""
        return list(map(str, self.cells))


@dataclass(frozen=True, eq=False)
class Table:
    """A result with the rules for its display.

    Attributes:
        name: The name of the result.
        rows: The rows as the Python API returns them.
        columns: The specs of the columns, by name.
        estimates: Groups of columns that are displayed as one cell.
        hidden: Columns that are not displayed.
        optional: Columns that are not displayed if they are empty in all rows.
        page_columns: Hidden columns that pages display if they are not empty.
        headings: Headings that replace those of the columns.
        star: A column whose cells get a star if another, boolean column is false: both names.
        brief: Returns the rows to display instead of `rows`, such as rows with short ids.
        layout_steps: Steps that reduce the table, applied one by one until it fits a narrow
            terminal.
        transposed_by: The column whose values become the columns if the table is still too wide.
        secondary_columns: Columns that a report displays in a lighter colour.
        as_records: Whether each row is displayed as a block of lines.
        notes: Notes below the table.
        origin: The common origin of the values, such as their system.
        hints: Hints for the command line: what to do next.
        nothing: The hint if there are no rows.
    """

    name: str
    rows: pl.DataFrame
    columns: Mapping[str, Column] = field(default_factory=dict)
    estimates: Sequence[Estimate] = ()
    hidden: Sequence[str] = ()
    optional: Sequence[str] = ()
    page_columns: Sequence[str] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    star: tuple[str, str] | None = None
    brief: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    layout_steps: Sequence[Any] = ()
    transposed_by: str | None = None
    secondary_columns: Sequence[str] = ()
    as_records: bool = False
    notes: Sequence[str] = ()
    origin: str = ""
    hints: Sequence[str] = ()
    nothing: str = ""

    @cached_property
    def visible_fields(self) -> list[Field]:
        """The displayed columns, in order."""
        estimates_by_position_column = {
            estimate.position_column: estimate for estimate in self.estimates
        }
        combined_columns = {
            source for estimate in self.estimates for source in estimate.iter_replaced_columns()
        } - estimates_by_position_column.keys()
        fields = []
        for column in self.visible_rows.iter_columns():
            name = column.name
            if (
                name in combined_columns
                or name in self.hidden
                or self._is_optional_and_empty(column)
            ):
                continue
            estimate = estimates_by_position_column.get(name)
            cells = (
                self._estimate_cells(estimate)
                if estimate
                else list(map(Cell, self.format_column(column)))
            )
            if self.star and name == self.star[0]:
                flags = self.visible_rows[self.star[1]]
                cells = [
                    cell._replace(mark="*") if flag is False else cell
                    for cell, flag in zip(cells, flags, strict=True)
                ]
            is_number = column.dtype.is_numeric() and (estimate is None or not estimate.low)
            fields.append(
                Field(name, self.column_heading(name, estimate), cells, is_number, estimate)
            )
        return fields

    @cached_property
    def visible_rows(self) -> pl.DataFrame:
        """The rows that are displayed."""
        return self.rows if self.brief is None else self.brief(self.rows)

    def column_heading(self, name: str, estimate: Estimate | None = None) -> str:
        """Return the heading that a table displays for a column.

        Args:
            name: The name of the column.
            estimate: The estimate that the column displays, if any.

        Returns:
            The heading on one line.
        """
        special_heading = self.headings.get(name) or (estimate.heading if estimate else "")
        return escape_unprintable(special_heading or column_heading(name, self.columns)).replace(
            "\n", " "
        )

    def _is_optional_and_empty(self, column: pl.Series) -> bool:
        if column.name not in self.optional:
            return False
        values = column.drop_nulls()
        return values.is_empty() or not (column.dtype.is_float() or any(values.to_list()))

    def format_column(self, column: pl.Series) -> list[str]:
        """Format the values of a column as printable strings.

        Args:
            column: A column of the displayed rows.

        Returns:
            One string for each row, with the decimals and the unit of the column's spec.
        """
        spec = self.columns.get(column.name)
        if spec is None:
            return text_format.format_values(column.to_list())
        values: list[object] = column.to_list()
        if column.dtype == pl.Boolean:
            values = [None if value is None else "yes" if value else "no" for value in values]
        elif column.dtype == pl.List(pl.String):
            values = [None if value is None else ", ".join(value) for value in column.to_list()]
        return text_format.format_values(values, spec.decimals, spec.unit)

    def _estimate_cells(self, estimate: Estimate) -> list[Cell]:
        """Return the estimate's cell in each row; in percent, the highest is marked as best."""
        column, spec = (
            self.visible_rows[estimate.position_column],
            self.columns.get(estimate.position_column),
        )
        texts, unit = self.format_column(column), spec.unit if spec else None
        rows = self.visible_rows.iter_rows(named=True)
        cells = [
            estimate.format_cell(text, row, unit) for text, row in zip(texts, rows, strict=True)
        ]
        best_text = (
            texts[position] if unit == "%" and (position := column.arg_max()) is not None else None
        )
        return [cell._replace(is_best=cell.text == best_text) for cell in cells]

    def with_optional_columns(self, *extra_columns: str) -> Self:
        """Return the table with the columns that only pages display, unless they are empty.

        Args:
            *extra_columns: Hidden columns to display in addition to `page_columns`.

        Returns:
            The table. The columns are no longer hidden, but optional.
        """
        displayed_columns = (*self.page_columns, *extra_columns)
        return replace(
            self,
            hidden=[name for name in self.hidden if name not in displayed_columns],
            optional=(*self.optional, *displayed_columns),
        )

    def in_percent(self, *names: str) -> Self:
        """Return the table with values in percent and the highest value of each column in bold.

        Args:
            *names: The columns to display in percent; by default all values that are shares.

        Returns:
            A table with a note about the unit.
        """
        names = names or tuple(
            estimate.position_column for estimate in self.estimates if estimate.is_share
        )
        columns = {name: structs.replace(self.columns[name], unit="%") for name in names}
        not_shares = [estimate for estimate in self.estimates if not estimate.is_share]
        note = "; ".join([PERCENT_NOTE] * bool(names) + [NOT_IN_PERCENT_NOTE] * bool(not_shares))
        return replace(self, columns={**self.columns, **columns}).with_notes(note)

    def with_rows(self, rows: pl.DataFrame) -> Self:
        """Return the same table with other rows."""
        return replace(self, rows=rows)

    @classmethod
    def from_frame(cls, name: str, rows: pl.DataFrame, **fields: Any) -> "Table":
        """Make a table of any data frame, without descriptions of its columns.

        Args:
            name: The name of the table.
            rows: The data frame. Columns with `bytes` in their name are displayed as sizes.
            **fields: Values for other attributes of the table.

        Returns:
            The table.
        """
        columns = {
            column: Column(dtype, unit="bytes" if "bytes" in column else None)
            for column, dtype in rows.schema.items()
        }
        return cls(name, rows, columns, **fields)

    @property
    def document_notes(self) -> Sequence[str]:
        """The notes, followed by the origin of the values, for readers who do not have the lake."""
        notes = [note for note in self.notes if not self.origin.startswith(note)]
        return [*notes, self.origin] if self.origin else notes

    def with_notes(self, *notes: str) -> Self:
        """Return the same table with these notes after its own notes."""
        return replace(self, notes=(*self.notes, *notes))


def make_table_function(
    name: str, columns: Mapping[str, Column] | None = None, **fields: Any
) -> Callable[..., Table]:
    """Return a function that takes the rows of a result and returns them as a `Table`.

    Args:
        name: The name of the result.
        columns: The specs of the columns.
        **fields: Values for other attributes of every table.

    Returns:
        The function. It ignores keyword arguments, which the functions of other results use.
    """
    return lambda rows, **_: Table(name, rows, columns or {}, **fields)


def hints_to_show_first_game(rows: pl.DataFrame) -> list[str]:
    """Return a list with a hint of the command that displays the first game; empty without rows."""
    return [
        f"to read a game: `magic show {game_id[:ID_PREFIX_LENGTH]}`"
        for game_id in rows["game_id"].head(1)
    ]


def shorten_ids_and_contents(rows: pl.DataFrame) -> pl.DataFrame:
    """Shorten the ids of games, and the texts in the column `content` to one short line."""
    text = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
    is_long, short = (
        text.str.len_chars() > MAX_BRIEF_CHARACTERS,
        text.str.head(MAX_BRIEF_CHARACTERS - 1) + "…",
    )
    return rows.with_columns(short_id(), content=pl.when(is_long).then(short).otherwise(text))


def short_id(name: str = "game_id") -> pl.Expr:
    """Return an expression for the first 8 characters of the ids in a column."""
    return pl.col(name).str.head(ID_PREFIX_LENGTH)


# Steps that reduce a table until it fits the width of the terminal.
#
# Each step is a function of a layout. It moves the content of a column to another cell, to the
# title of a section or to a note, so no content is lost.

# Maximum number of rows that a note lists by name.
MAX_LISTED_NAMES = 5


class TableLayout(NamedTuple):
    """The displayed parts of a table.

    Attributes:
        fields: The columns.
        sections: The columns whose values are the titles of sections.
        notes: The notes below the table.
    """

    fields: tuple[Field, ...]
    sections: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()

    def select_fields(self, *names: str) -> list[Field]:
        """Return the fields with these names, in this order; skip names that the layout lacks."""
        return [field for name in names for field in self.fields if field.name == name]

    def fields_before_first_number(self) -> list[Field]:
        """Return the fields before the first number or estimate, which identify a row."""
        number_positions = (
            position
            for position, field in enumerate(self.fields)
            if field.is_number or field.estimate
        )
        return list(self.fields[: next(number_positions, len(self.fields))])

    def without_fields(self, *fields: Field) -> "TableLayout":
        """Return the layout without these fields."""
        return self._replace(fields=tuple(field for field in self.fields if field not in fields))

    def with_field_texts(
        self, changed_field: Field, texts: Sequence[str], heading: str = ""
    ) -> "TableLayout":
        """Return the layout with new cell texts in one field; a new heading is optional."""
        new_field = changed_field._replace(
            heading=heading or changed_field.heading, cells=[Cell(text) for text in texts]
        )
        return self._replace(
            fields=tuple(new_field if field is changed_field else field for field in self.fields)
        )

    def with_notes(self, *notes: str) -> "TableLayout":
        """Return the layout with these notes after its own notes."""
        return self._replace(notes=(*self.notes, *notes))


LayoutStep = Callable[[TableLayout], TableLayout]
P = ParamSpec("P")


def apply_steps_until_fitting(
    layout: TableLayout, steps: Sequence[LayoutStep], is_fitting: Callable[[TableLayout], bool]
) -> TableLayout:
    """Apply steps to a layout, one by one, until it fits or no step is left.

    Args:
        layout: The layout.
        steps: The steps, in the order in which they are applied.
        is_fitting: Returns whether a layout fits.

    Returns:
        The reduced layout.
    """
    for step in steps:
        if is_fitting(layout):
            break
        layout = step(layout)
    return layout


def layout_step(
    function: Callable[Concatenate[TableLayout, P], TableLayout],
) -> Callable[P, LayoutStep]:
    """Decorate a function of a layout and options, so that a call with options returns a step.

    The step is a `LayoutStep`: it applies the decorated function with these options to a layout.
    """
    return lambda *names, **options: lambda layout: function(layout, *names, **options)


@layout_step
def merge_columns(layout: TableLayout, heading: str, *columns: str, note: str = "") -> TableLayout:
    """Replace several columns by one column with their texts, separated by commas."""
    fields = layout.select_fields(*columns)
    if len(fields) < len(columns):
        return layout
    texts = map(", ".join, zip(*(field.cell_texts for field in fields), strict=True))
    meaning = note or f"{heading}: {', '.join(field.heading for field in fields)}"
    return (
        layout.with_field_texts(fields[0], list(texts), heading)
        .without_fields(*fields[1:])
        .with_notes(meaning)
    )


@layout_step
def replace_flag_column_by_stars(
    layout: TableLayout, column: str, starred_column: str, note: str, starred_value: bool
) -> TableLayout:
    """Remove a yes-or-no column, and mark its rows with a star in another column instead."""
    fields, starred_text = (
        layout.select_fields(column, starred_column),
        "yes" if starred_value else "no",
    )
    if len(fields) < 2:
        return layout
    flag, starred_field = fields
    pairs = zip(starred_field.cell_texts, flag.cell_texts, strict=True)
    texts = [f"{text} *" if flag_text == starred_text else text for text, flag_text in pairs]
    new_layout = layout.with_field_texts(starred_field, texts).without_fields(flag)
    return new_layout.with_notes(f"* {note}") if starred_text in flag.cell_texts else new_layout


@layout_step
def move_constants_to_note(layout: TableLayout, *columns: str) -> TableLayout:
    """Remove the columns that have the same value in all rows, and name the values in a note."""
    constant_fields = [
        field for field in layout.select_fields(*columns) if len(set(field.cell_texts)) == 1
    ]
    if not constant_fields or len(constant_fields[0].cells) == 1:
        return layout
    values = ", ".join(f"{field.heading} {field.cell_texts[0]}" for field in constant_fields)
    return layout.without_fields(*constant_fields).with_notes(f"in all rows: {values}")


@layout_step
def move_column_to_notes(layout: TableLayout, column: str) -> TableLayout:
    """Remove a column, and add a note for each of its values with the rows that have it."""
    for moved_field in layout.select_fields(column):
        labels = [
            label_field
            for label_field in layout.fields_before_first_number()
            if label_field is not moved_field
        ]
        rows: dict[str, list[str]] = {}
        for text, *names in zip(
            moved_field.cell_texts, *(label_field.cell_texts for label_field in labels), strict=True
        ):
            rows.setdefault(text, []).append(" ".join(names))
        title = "– " if moved_field.name == "reason" else f"{moved_field.heading}: "
        notes = [
            f"{title}{text} ({join_first_names(rows_of_text)})"
            for text, rows_of_text in rows.items()
            if text.strip(f"{text_format.NULL_TEXT}, ")
        ]
        layout = layout.without_fields(moved_field).with_notes(*notes)
    return layout


def join_first_names(names: Sequence[str]) -> str:
    """Join the first 5 names with commas; if there are more, say how many: `a, b and 3 more`."""
    count_text = (
        f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    )
    return ", ".join(names[:MAX_LISTED_NAMES]) + count_text


@layout_step
def shorten_ids(layout: TableLayout, *columns: str) -> TableLayout:
    """Shorten the ids in these columns to their first 8 characters."""
    for id_field in layout.select_fields(*columns):
        layout = layout.with_field_texts(
            id_field, [text[:ID_PREFIX_LENGTH] for text in id_field.cell_texts]
        )
    return layout


@layout_step
def move_columns_to_titles(layout: TableLayout, *columns: str) -> TableLayout:
    """Remove columns, and display their values as titles above the rows that have them."""
    fields = layout.select_fields(*columns)
    if len(fields) == len(layout.fields):
        return layout
    return layout._replace(sections=(*layout.sections, *fields)).without_fields(*fields)


def move_first_label_to_titles(layout: TableLayout) -> TableLayout:
    """Display the first column as titles, if at least two columns precede the first number."""
    labels = layout.fields_before_first_number()
    return move_columns_to_titles(labels[0].name)(layout) if len(labels) > 1 else layout
