"""The columns of tables and views, as contracts and the headers of SQL files describe them."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, polars_schema, row_meaning
from pipeline.reports.views import views
from pipeline.warehouse import columns
from pipeline.warehouse.statements import no_table
from pipeline.warehouse.views import Views, descriptions

_SCHEMA: dict[str, pl.DataType | DataTypeClass] = {
    "table": pl.String,
    "column": pl.String,
    "type": pl.String,
    "is_nullable": pl.Boolean,
    "is_key": pl.Boolean,
    "low": pl.Float64,
    "high": pl.Float64,
    "words": pl.List(pl.String),
    "pattern": pl.String,
    "description": pl.String,
}


def schema(names: Sequence[str]) -> pl.DataFrame:
    """A row for each column of the tables or views with these names; without names, of all tables.

    The columns are those of `Lake.schema`. Raises UsageError for an unknown name.
    """
    wanted = list(dict.fromkeys(names or TABLES))
    known = known_views(wanted)
    return pl.concat([_view(name, known) if name in known else _table(name) for name in wanted])


def known_views(names: list[str]) -> Views:
    """All views; none if all names are tables. Raises UsageError for an unknown name."""
    if TABLES.keys() >= set(names):
        return {}
    known = views()
    everything = [*TABLES, *known]
    if strangers := [name for name in names if name not in everything]:
        raise UsageError("; ".join(no_table(name, everything) for name in strangers))
    return known


def meaning(name: str, known: Views) -> str:
    """What a row of the table or view is, as a sentence."""
    return f"A row is {known[name].row}." if name in known else row_meaning(name)


def _table(table: str) -> pl.DataFrame:
    declared = TABLES[table].columns()
    rows = [
        {
            "table": table,
            "column": name,
            "type": type_name(dtype),
            "is_nullable": declared[name].nullable,
            "is_key": declared[name].primary_key,
            "low": declared[name].min,
            "high": declared[name].max,
            "words": declared[name].words,
            "pattern": declared[name].regex,
            "description": declared[name].description,
        }
        for name, dtype in polars_schema(table).items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _view(name: str, known: Views) -> pl.DataFrame:
    """The rows of a view, whose columns have no range and no list of values."""
    described = descriptions(name, known)
    rows: list[dict[str, Any]] = [
        {
            "table": name,
            "column": column,
            "type": type_name(dtype),
            "description": described.get(column),
        }
        for column, dtype in columns(name, known).items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def type_name(dtype: pl.DataType | DataTypeClass) -> str:
    """A type in a word or two."""
    if isinstance(dtype, pl.List):
        return f"list of {type_name(dtype.inner)}"
    if isinstance(dtype, pl.Struct):
        return f"struct of {', '.join(f'{f.name} {type_name(f.dtype)}' for f in dtype.fields)}"
    if isinstance(dtype, pl.Datetime):
        return f"timestamp, {dtype.time_zone}"
    return str(dtype).lower()
