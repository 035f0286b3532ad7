"""The columns of tables: how one is declared, and the kinds that are needed again and again.

Use them by the module's name, as in `column.flag("whether ...")`.
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
    """A column: what it means, how it is shown, and what its values are held to.

    `heading` is what stands above it for eyes, by default its name in words. Floats have so many
    `decimals`; without a number four, none if all are whole. A `unit` has a form of its own.
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
        """The same column under this heading."""
        return replace(self, heading=heading)


def display_name(name: str) -> str:
    """A name of ours as words: `win_rate` as `win rate`."""
    return name.replace("_", " ")


def column_heading(name: str, columns: Mapping[str, Column]) -> str:
    """What stands above a column; the name itself of one that is not declared."""
    declared = columns.get(name)
    return name if declared is None else declared.heading or display_name(name)


def polars_schema(columns: Mapping[str, Column]) -> pl.Schema:
    return pl.Schema({name: column.dtype for name, column in columns.items()})


def document_columns(columns: Mapping[str, Column]) -> Callable[[F], F]:
    """Writes the columns into the docstring of what returns them, before `Raises` or an example."""
    lines = [f"- `{name}`: {column.description}." for name, column in columns.items()]

    def with_columns(function: F) -> F:
        text = cleandoc(function.__doc__ or "")
        body, *rest = re.split(r"(?=\n\n(?:Raises|>>>) )", text, maxsplit=1)
        function.__doc__ = "\n".join([f"{body}\n\nColumns:\n", *lines]) + "".join(rest)
        return function

    return with_columns


def category_column(
    words: Iterable[str], description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """A column that holds one of the vocabulary's words."""
    known = tuple(str(word) for word in words)
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, words=known)


text_column = partial(Column, pl.String())
text_list_column = partial(Column, pl.List(pl.String()))
boolean_column = partial(Column, pl.Boolean())
timestamp_column = partial(Column, pl.Datetime("us", "UTC"))
p_value_column = partial(Column, pl.Float64(), nullable=True, min=0, max=1, unit="p")
area_column = partial(Column, pl.Float64(), nullable=True, min=0, unit="area")
amount_column = partial(Column, pl.Float64(), nullable=True, min=0, unit="amount")
# A number of the log's own; its meaning is the log's.
code_column = partial(Column, pl.Int64(), nullable=True)


def number_column(
    description: str, *, nullable: bool = True, low: float | None = None, high: float | None = None
) -> Column:
    return Column(pl.Float64(), description, nullable=nullable, min=low, max=high)


def proportion_column(description: str, *, low: float = 0, high: float = 1) -> Column:
    """A value, a share or a difference of such, with three decimals."""
    return Column(pl.Float64(), description, nullable=True, min=low, max=high, decimals=3)


def count_column(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int = 0
) -> Column:
    return Column(pl.Int64(), description, nullable=nullable, primary_key=primary_key, min=low)


def small_integer_column(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int | None = 1
) -> Column:
    return Column(pl.Int32(), description, nullable=nullable, primary_key=primary_key, min=low)


def digest_column(
    description: str, n_digits: int, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    regex = f"^[0-9a-f]{{{n_digits}}}$"
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, regex=regex)


def identifier_column(
    description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    return digest_column(description, ID_LENGTH, nullable=nullable, primary_key=primary_key)
