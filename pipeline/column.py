"""Definitions of table columns: the class `Column`, and functions for frequent kinds of columns.

Modules that define tables or results use it as `column.boolean_column("whether ...")`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import cleandoc
from typing import Any, Literal, TypeVar

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

ID_LENGTH = 32
Unit = Literal["bytes", "p", "%", "amount", "area"] | None
F = TypeVar("F", bound=Callable[..., Any])


class Column(Struct, frozen=True):
    """A column of a table: its type, description, display format and constraints.

    Attributes:
        dtype: The polars type.
        description: What the column contains, as a phrase without a full stop.
        nullable: Whether values may be null.
        primary_key: Whether the column is part of the table's primary key.
        min: The smallest allowed value.
        max: The largest allowed value.
        words: The allowed values of a column of categories.
        regex: The pattern that each string matches.
        heading: The heading in displayed tables; by default the name with spaces.
        decimals: Number of displayed decimals of a float; see `text_format.format_values`.
        unit: The unit that selects the display format; see `text_format.format_with_unit`.
    """

    dtype: pl.DataType
    description: str = ""
    nullable: bool = False
    primary_key: bool = False
    min: float | None = None
    max: float | None = None
    words: tuple[str, ...] | None = None
    regex: str | None = None
    heading: str = ""
    decimals: int | None = None
    unit: Unit = None

    def with_heading(self, heading: str) -> "Column":
        """Return a copy of the column with another heading in displayed tables."""
        return replace(self, heading=heading)


def display_name(name: str) -> str:
    """Return a name with spaces in place of underscores, such as `win rate` for `win_rate`."""
    return name.replace("_", " ")


def column_heading(name: str, columns: Mapping[str, Column]) -> str:
    """Return the displayed heading of a column, or its name if `columns` does not contain it."""
    definition = columns.get(name)
    return name if definition is None else definition.heading or display_name(name)


def polars_schema(columns: Mapping[str, Column]) -> pl.Schema:
    """Return the polars schema (the name and type of each column) of a table."""
    return pl.Schema({name: column.dtype for name, column in columns.items()})


def add_columns_to_docstring(columns: Mapping[str, Column]) -> Callable[[F], F]:
    """Return a decorator that adds a list of columns to the docstring of a function.

    The list is inserted before the sentence about errors (`Raises ...`) or the first example.
    """
    lines = [f"- `{name}`: {column.description}." for name, column in columns.items()]

    def add_column_list(function: F) -> F:
        docstring = cleandoc(function.__doc__ or "")
        body, *rest = re.split(r"(?=\n\n(?:Raises|>>>) )", docstring, maxsplit=1)
        function.__doc__ = "\n".join([f"{body}\n\nColumns:\n", *lines]) + "".join(rest)
        return function

    return add_column_list


def category_column(
    words: Iterable[str], description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """Return a column of strings that contains no other values than `words`."""
    return Column(
        pl.String(),
        description,
        nullable=nullable,
        primary_key=primary_key,
        words=tuple(str(word) for word in words),
    )


text_column = partial(Column, pl.String())
text_list_column = partial(Column, pl.List(pl.String()))
boolean_column = partial(Column, pl.Boolean())
timestamp_column = partial(Column, pl.Datetime("us", "UTC"))
p_value_column = partial(Column, pl.Float64(), nullable=True, min=0, max=1, unit="p")
area_column = partial(Column, pl.Float64(), nullable=True, min=0, unit="area")
amount_column = partial(Column, pl.Float64(), nullable=True, min=0, unit="amount")
# A code that the log contains; only the log's system defines its meaning.
code_column = partial(Column, pl.Int64(), nullable=True)


def number_column(
    description: str, *, nullable: bool = True, low: float | None = None, high: float | None = None
) -> Column:
    """Return a column of floats from `low` to `high`, without a limit if one is None."""
    return Column(pl.Float64(), description, nullable=nullable, min=low, max=high)


def proportion_column(description: str, *, low: float = 0, high: float = 1) -> Column:
    """Return a column of floats, by default from 0 to 1, displayed with three decimals."""
    return Column(pl.Float64(), description, nullable=True, min=low, max=high, decimals=3)


def count_column(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int = 0
) -> Column:
    """Return a column of 64-bit integers, by default from 0 upwards and not null."""
    return Column(pl.Int64(), description, nullable=nullable, primary_key=primary_key, min=low)


def small_integer_column(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int | None = 1
) -> Column:
    """Return a column of 32-bit integers, by default from 1 upwards and not null."""
    return Column(pl.Int32(), description, nullable=nullable, primary_key=primary_key, min=low)


def digest_column(
    description: str, n_digits: int, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """Return a column of strings (hashes) with `n_digits` hexadecimal digits."""
    regex = f"^[0-9a-f]{{{n_digits}}}$"
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, regex=regex)


def identifier_column(
    description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """Return a column of ids: strings with 32 hexadecimal digits."""
    return digest_column(description, ID_LENGTH, nullable=nullable, primary_key=primary_key)
