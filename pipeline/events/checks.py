"""How a table is declared, and rows held against it: its rules, and the rows that break them.

A declaration is a class with a line for each column, and what its values are held to.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.column import Column


class Table:
    """Base of every table; its columns and rules are those of its base, then its own.

    Columns that are declared elsewhere, `columns` of the class, come last. A rule is what rows are
    held to beyond their columns: an expression, true for each that keeps it.
    """

    _columns: ClassVar[dict[str, Column]] = {}
    _rules: ClassVar[dict[str, pl.Expr]] = {}

    def __init_subclass__(cls, columns: Mapping[str, Column] = MappingProxyType({})) -> None:
        own = vars(cls).items()
        cls._columns = {
            **cls._columns,
            **{n: declared for n, declared in own if isinstance(declared, Column)},
            **columns,
        }
        own_rules = {n: declared for n, declared in own if isinstance(declared, pl.Expr)}
        cls._rules = cls._rules | own_rules

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """The columns by name, in order; one declared anew keeps its place."""
        return cls._columns

    @classmethod
    def rules(cls) -> dict[str, pl.Expr]:
        """The rules by name."""
        return cls._rules

    @classmethod
    def primary_key(cls) -> list[str]:
        """The columns that tell rows apart, none if rows need not differ."""
        return [name for name, column in cls._columns.items() if column.primary_key]


def rules(table: type[Table]) -> dict[str, pl.Expr]:
    """The rules that the table has for each of its rows, by what they ask for in words.

    An expression is false for a row that breaks the rule, and true or null for one that keeps it.
    """
    of_columns = {
        f"{name} {words}": holds
        for name, column in table.columns().items()
        for words, holds in _asked(column, pl.col(name))
    }
    return of_columns | table.rules()


def _asked(column: Column, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
    if not column.nullable:
        yield "is not null", value.is_not_null()
    if column.min is not None:
        yield f"is at least {column.min:g}", value >= column.min
    if column.max is not None:
        yield f"is at most {column.max:g}", value <= column.max
    if column.words is not None:
        yield f"is one of {', '.join(column.words)}", value.is_in(column.words)
    if column.regex is not None:
        yield f"matches {column.regex}", value.str.contains(column.regex)
    yield from _of_type(value, column.dtype)


def _of_type(value: pl.Expr, dtype: pl.DataType) -> Iterator[tuple[str, pl.Expr]]:
    """What is asked of values for their type: numbers are finite, and nothing in them is null."""
    if dtype.is_float():
        yield "is finite", value.is_finite()
    elif isinstance(dtype, pl.List):
        element = pl.element()
        for words, holds in (
            ("is not null", element.is_not_null()),
            *_of_type(element, instance(dtype.inner)),
        ):
            yield f"has elements of which each {words}", value.list.eval(holds).list.all()
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            inner = value.struct.field(field.name)
            yield f"has a {field.name} that is not null", inner.is_not_null()
            for words, holds in _of_type(inner, instance(field.dtype)):
                yield f"has a {field.name} that {words}", holds


def instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    """The type of an element or a field, which polars can give as a class."""
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def broken(table: type[Table], rows: pl.DataFrame) -> dict[str, pl.Series]:
    """By rule that is broken, for each row whether it breaks the rule; the rows have its columns.

    Rows of which several have one key all break the rule that none have.
    """
    hold = _rules_and_key(table)
    found = rows.select((~holds).fill_null(value=False).alias(rule) for rule, holds in hold.items())
    return {breaks.name: breaks for breaks in found if breaks.any()}


def columns_of(table: type[Table]) -> dict[str, list[str]]:
    """The columns that each rule is about."""
    names = table.columns().keys()
    return {
        rule: [name for name in dict.fromkeys(holds.meta.root_names()) if name in names]
        for rule, holds in _rules_and_key(table).items()
    }


def _rules_and_key(table: type[Table]) -> dict[str, pl.Expr]:
    key = table.primary_key()
    if not key:
        return rules(table)
    return rules(table) | {f"no two rows have one {', '.join(key)}": pl.struct(key).is_unique()}


def are_kept(table: type[Table]) -> pl.Expr:
    """Whether all rows keep the contract: one boolean for all of them.

    It is quick where they do. False does not prove that they do not, since keys are compared by
    their hashes: `broken` decides then, and tells which rows and rules.
    """
    hold = [holds.all() for holds in rules(table).values()]
    key = table.primary_key()
    if key:
        hold.append(pl.struct(key).hash().n_unique() == pl.len())
    return pl.all_horizontal(hold)
