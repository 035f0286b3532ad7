"""All views of SQL: those written in SQL, and those that Python computes.

Python computes views with intervals. `magic sql` and `Lake.sql` compute such a view when a query
reads it; in `magic.duckdb` it is a table.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline import sql_files
from pipeline.column import polars_schema as column_schema
from pipeline.errors import UsageError, suggest_names, suggest_similar_names
from pipeline.events.contracts import TABLES, row_description, table_schema
from pipeline.lake import StoredLake, by_system
from pipeline.metrics import DEFAULT_CONFIDENCE, metrics, row_queries as in_sql
from pipeline.metrics.registry import (
    GAME_TYPE_COLUMN,
    METRIC_VALUE_COLUMNS,
    MODEL_COLUMN,
    ORIGIN_COLUMNS,
    SYSTEM_COLUMN,
    leaderboard_columns,
    metric_names,
)
from pipeline.metrics.request import GAME_COLUMNS, common_row_schema
from pipeline.metrics.row_queries import ALL_METRICS_VIEW, LEADERBOARD_VIEW, qualified_view_name
from pipeline.reports.ranking import leaderboard
from pipeline.vocabulary import AUDITED, EDITIONS, PAPER, Edition
from pipeline.warehouse import view_columns
from pipeline.warehouse.statements import (
    ComputedView,
    ViewsByName,
    column_descriptions,
    unknown_table_error,
)

_OF_ALL_METRICS = {*table_schema("players"), *GAME_COLUMNS}
"""The columns that all metrics can be grouped by."""
_OF_EDITIONS = {
    "": f"the values of a metric; those of all metrics ({ALL_METRICS_VIEW}) "
    f"and models ({LEADERBOARD_VIEW}), "
    "with intervals",
    "terms": "the terms (ratios) that values are made of",
    "evidence": "the rows that a metric counted, with their messages",
    "attempts": "the rows that a metric is about, counted or not",
}
_OF_NO_EDITION = {
    "audit": "the rows that magic audit checks",
    "shared": "what several metrics have in common, such as what texts say about roles",
}


def all_views() -> ViewsByName:
    """Every view by its name; each comes after the views that it uses."""
    in_sql.check_plugin_metrics()
    return {**in_sql.metric_views(), **computed()}


def unknown_table_message(name: str, known: Collection[str]) -> str:
    """The text of the error for a name that is no table; `known` are the views."""
    if name in known:
        hint = f" or `{method}`" if (method := _method(name)) else ""
        return f'`{name}` is a view, not a table: use `lake.sql("FROM {name}")`{hint}'
    hint = (
        suggest_similar_names([name], TABLES)
        or suggest_similar_names([name], known)
        or suggest_names([name], TABLES)
    )
    return f"no table `{name}`: {hint}"


def _method(view: str) -> str | None:
    """The call of a method that returns the rows of a view; None if there is no such method."""
    schema, _, name = view.rpartition(".")
    if schema == "evidence" and name != ALL_METRICS_VIEW:
        return f'lake.evidence("{name}")'
    if schema == "audit":
        return f'lake.findings("{name}")'
    if schema == "" and name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW, *sql_files.list_files("")):
        return f"lake.{name}()"
    return f'lake.metrics(metric="{name}")' if schema == "" else None


class Schema(NamedTuple):
    """A schema of SQL: its name, what its views have, and their names without it."""

    name: str
    meaning: str
    views: tuple[str, ...]


def schema_names() -> list[Schema]:
    """The schemas with all views, the main one first; its name is empty."""
    names_in: dict[str, list[str]] = {}
    for view in all_views():
        schema, _, name = view.rpartition(".")
        names_in.setdefault(schema, []).append(name)
    meanings = {
        qualified_view_name(kind, edition, "").removesuffix("."): f"edition {edition}: {meaning}"
        for kind, meaning in _OF_EDITIONS.items()
        for edition in EDITIONS
    } | _OF_NO_EDITION
    listed = sorted(names_in, key=[*meanings].index)
    return [Schema(schema, meanings[schema], tuple(names_in[schema])) for schema in listed]


def computed() -> dict[str, ComputedView]:
    """The views of every edition that Python computes: `system`, and what `Lake`'s methods give."""
    keys = {"system": SYSTEM_COLUMN, "model": MODEL_COLUMN, "game_type": GAME_TYPE_COLUMN}
    of_metrics = {
        "edition": METRIC_VALUE_COLUMNS["edition"],
        "metric": METRIC_VALUE_COLUMNS["metric"],
        **keys,
        **METRIC_VALUE_COLUMNS,
    }
    of_models = {**ORIGIN_COLUMNS, **leaderboard_columns()}
    one_value = "the value of one metric for one model and game type"
    views_of = {}
    for edition in EDITIONS:
        for name, compute, shown, row in (
            (ALL_METRICS_VIEW, metrics, of_metrics, one_value),
            (LEADERBOARD_VIEW, leaderboard, of_models, "one model with all metrics"),
        ):
            rows = partial(compute, edition=edition)
            views_of[qualified_view_name("", edition, name)] = ComputedView(
                partial(_by_system, rows, list(shown)),
                column_schema(shown),
                f"{row}, edition {edition}, with {DEFAULT_CONFIDENCE:.0%} confidence intervals",
                {column: declared.description for column, declared in shown.items()},
            )
    return views_of


def _by_system(
    rows: Callable[[StoredLake], pl.DataFrame], columns: list[str], lake: StoredLake
) -> pl.DataFrame:
    return by_system(lake, rows).select(columns)


def suggest_grouping(column: str, views: Collection[str]) -> str | None:
    """A hint how to group values by a column that these views lack; None if it is not possible."""
    for edition in (PAPER, AUDITED):  # the edition release cannot be grouped by other columns
        for name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW, *metric_names(edition)):
            metric = None if name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW) else name
            is_queried = any(
                qualified_view_name(kind, edition, name) in views for kind in ("", "terms")
            )
            if is_queried and column in (common_row_schema(metric) if metric else _OF_ALL_METRICS):
                return _hint(metric, edition, column)
    return None


def _hint(metric: str | None, edition: Edition, column: str) -> str:
    choices = {"metric": metric, "edition": None if edition == PAPER else edition}
    known = {name: value for name, value in choices.items() if value}
    options = "".join(f"--{name} {value} " for name, value in known.items())
    arguments = "".join(f'{name}="{value}", ' for name, value in known.items())
    return (
        f"for values grouped by it, run `magic metrics {options}--by model,{column}` "
        f'(in Python: `lake.metrics({arguments}by=["model", "{column}"])`)'
    )


# The columns of tables and views, as contracts and the headers of SQL files describe them.

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
    known = find_views(wanted)
    return pl.concat([_view(name, known) if name in known else _table(name) for name in wanted])


def find_views(names: list[str]) -> ViewsByName:
    """All views; none if all names are tables. Raises UsageError for an unknown name."""
    if TABLES.keys() >= set(names):
        return {}
    known = all_views()
    everything = [*TABLES, *known]
    if strangers := [name for name in names if name not in everything]:
        raise UsageError("; ".join(unknown_table_error(name, everything) for name in strangers))
    return known


def describe_row(name: str, known: ViewsByName) -> str:
    """What a row of the table or view is, as a sentence."""
    return f"A row is {known[name].row}." if name in known else row_description(name)


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
        for name, dtype in table_schema(table).items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _view(name: str, known: ViewsByName) -> pl.DataFrame:
    """The rows of a view, whose columns have no range and no list of values."""
    described = column_descriptions(name, known)
    rows: list[dict[str, Any]] = [
        {
            "table": name,
            "column": column,
            "type": type_name(dtype),
            "description": described.get(column),
        }
        for column, dtype in view_columns(name, known).items()
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
