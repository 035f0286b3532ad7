"""The contracts as dataframely has them, which holds rows against them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import dataframely as dy
import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.events.contracts import own_contract
from pipeline.events.declaration import Column, Rule, Table

_KINDS: dict[pl.DataType, type[dy.Column]] = {
    pl.String(): dy.String,
    pl.Binary(): dy.Binary,
    pl.Boolean(): dy.Bool,
    pl.Int32(): dy.Int32,
    pl.Int64(): dy.Int64,
    pl.Float64(): dy.Float64,
}


@cache
def checked(table: type[Table]) -> type[dy.Schema]:
    """The table as a schema of dataframely."""
    # Under its own name a column could hide one of the schema's methods; none has a space in it.
    columns = {f"column {name}": _column(of, name) for name, of in table.columns().items()}
    rules = {name: dy.rule()(_always(rule)) for name, rule in table.rules().items()}
    return type(table.__name__, (dy.Schema,), columns | rules)


def _always(rule: Rule) -> Callable[[type[dy.Schema]], pl.Expr]:
    return lambda _: rule.holds


def _column(column: Column, name: str | None = None) -> dy.Column:
    dtype = column.dtype
    options: dict[str, Any] = {"nullable": column.nullable, "alias": name}
    if isinstance(dtype, pl.List):
        return dy.List(_inner(dtype.inner), **options)
    if isinstance(dtype, pl.Struct):
        return dy.Struct({field.name: _inner(field.dtype) for field in dtype.fields}, **options)
    if isinstance(dtype, pl.Datetime):
        return dy.Datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone, **options)
    options["primary_key"] = column.primary_key
    if dtype.is_numeric():
        options |= {"min": column.min, "max": column.max}
    if dtype == pl.String():
        options |= {"regex": column.regex, "check": _is_among(column.words)}
    return _KINDS[dtype](**options)


def _inner(dtype: pl.DataType | DataTypeClass) -> dy.Column:
    """A list's elements or a struct's field: none may be null."""
    return _column(Column(dtype if isinstance(dtype, pl.DataType) else dtype()))


def _is_among(words: tuple[str, ...] | None) -> Callable[[pl.Expr], pl.Expr] | None:
    return None if words is None else lambda column: column.is_in(words)


@cache
def is_kept(table: str) -> pl.Expr:
    """Whether all of a table's own rows keep their contract: one boolean for all of them.

    It is quick where they do. False does not prove that they do not, since keys are compared by
    their hashes: the contract's `filter` decides then, and tells which rows and rules.
    """
    contract = own_contract(table)
    # dataframely has no other way to its rules than checking by them, which plans for 2 ms a table.
    rules = contract.checked()._validation_rules(with_cast=False)
    keys = contract.primary_key()
    hold = [rule.expr.all() for name, rule in rules.items() if name != "primary_key"]
    if keys:
        hold.append(pl.struct(keys).hash().n_unique() == pl.len())
    return pl.all_horizontal(hold)
