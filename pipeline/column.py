"""The columns of tables: how one is declared, and the kinds that are needed again and again.

Use them by the module's name, as in `column.flag("whether ...")`.
"""

from collections.abc import Iterable

import polars as pl
from msgspec import Struct

ID_LENGTH = 32


class Column(Struct, frozen=True):
    """A column, and what its values are held to; null where nothing is asked of them."""

    dtype: pl.DataType
    description: str = ""
    nullable: bool = False
    primary_key: bool = False
    min: float | None = None
    max: float | None = None
    words: tuple[str, ...] | None = None
    regex: str | None = None


def word(
    words: Iterable[str], description: str, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    """A column that holds one of the vocabulary's words."""
    known = tuple(str(word) for word in words)
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, words=known)


def text(description: str, *, nullable: bool = False, primary_key: bool = False) -> Column:
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key)


def texts(description: str) -> Column:
    return Column(pl.List(pl.String()), description)


def flag(description: str, *, nullable: bool = False) -> Column:
    return Column(pl.Boolean(), description, nullable=nullable)


def number(
    description: str, *, nullable: bool = True, low: float | None = None, high: float | None = None
) -> Column:
    return Column(pl.Float64(), description, nullable=nullable, min=low, max=high)


def code(description: str) -> Column:
    """A number of the log's own; its meaning is the log's."""
    return Column(pl.Int64(), description, nullable=True)


def count(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int = 0
) -> Column:
    return Column(pl.Int64(), description, nullable=nullable, primary_key=primary_key, min=low)


def small(
    description: str, *, nullable: bool = False, primary_key: bool = False, low: int | None = 1
) -> Column:
    return Column(pl.Int32(), description, nullable=nullable, primary_key=primary_key, min=low)


def digest(
    description: str, n_digits: int, *, nullable: bool = False, primary_key: bool = False
) -> Column:
    regex = f"^[0-9a-f]{{{n_digits}}}$"
    return Column(pl.String(), description, nullable=nullable, primary_key=primary_key, regex=regex)


def identifier(description: str, *, nullable: bool = False, primary_key: bool = False) -> Column:
    return digest(description, ID_LENGTH, nullable=nullable, primary_key=primary_key)


def instant(description: str, *, nullable: bool = False) -> Column:
    return Column(pl.Datetime("us", "UTC"), description, nullable=nullable)
