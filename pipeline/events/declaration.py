"""How a table is declared: a class with a line for each column and what its values are held to.

A declaration is plain data; `checks` holds rows against it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import polars as pl
from msgspec import Struct

from pipeline.column import Column


class Rule(Struct, frozen=True):
    """What rows are held to beyond their columns: true for each that keeps it."""

    holds: pl.Expr


class Table:
    """Base of every table; its columns and rules are those of its base, then its own.

    Columns that are declared elsewhere, `columns` of the class, come last.
    """

    _columns: ClassVar[dict[str, Column]] = {}
    _rules: ClassVar[dict[str, Rule]] = {}

    def __init_subclass__(cls, columns: Mapping[str, Column] = MappingProxyType({})) -> None:
        own = vars(cls).items()
        cls._columns = {
            **cls._columns,
            **{n: declared for n, declared in own if isinstance(declared, Column)},
            **columns,
        }
        cls._rules = cls._rules | {n: declared for n, declared in own if isinstance(declared, Rule)}

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """The columns by name, in order; one declared anew keeps its place."""
        return cls._columns

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """The rules by name."""
        return cls._rules

    @classmethod
    def primary_key(cls) -> list[str]:
        """The columns that tell rows apart, none if rows need not differ."""
        return [name for name, column in cls._columns.items() if column.primary_key]
