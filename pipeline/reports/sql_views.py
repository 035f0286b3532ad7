"""All SQL views and their columns: views written in SQL, and views that Python computes.

Python computes the views with confidence intervals. `magic sql` and `Lake.sql` compute such a view
when a query reads it; in `magic.duckdb` it is a table. Used by `pipeline.lake_methods`, the CLI,
the pages and the catalog.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline import sql_files
from pipeline.column import polars_schema as column_schema
from pipeline.errors import UsageError, known_names_hint, similar_names_hint
from pipeline.events.contracts import TABLES, row_description, table_schema
from pipeline.lake import StoredLake, concat_by_system
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
from pipeline.metrics.request import GAME_COLUMNS, metric_row_schema
from pipeline.metrics.row_queries import ALL_METRICS_VIEW, LEADERBOARD_VIEW, qualified_view_name
from pipeline.reports.ranking import leaderboard
from pipeline.vocabulary import AUDITED, EDITIONS, PAPER, Edition
from pipeline.warehouse import view_schema
from pipeline.warehouse.statements import (
    ComputedView,
    ViewsByName,
    column_descriptions,
    unknown_table_or_view_message,
)

_COMMON_GROUP_COLUMNS = {*table_schema("players"), *GAME_COLUMNS}
"""The columns by which all metrics can be grouped."""
_EDITION_SCHEMAS = {
    "": f"the values of each metric; the values of all metrics ({ALL_METRICS_VIEW}) "
    f"and of all models ({LEADERBOARD_VIEW}), "
    "with intervals",
    "terms": "the terms (ratios) from which values are computed",
    "evidence": "the rows that a metric counted, with their messages",
    "attempts": "the rows to which a metric applies, counted or not",
}
_OTHER_SCHEMAS = {
    "audit": "the rows that magic audit checks",
    "shared": "views that several metrics use, such as the roles that texts state",
}


def all_views() -> ViewsByName:
    """Return all SQL views by name, in an order in which they can be created.

    Returns:
        The views of SQL files and of metrics, and the views that Python computes. Each view comes
        after the views that it uses.

    Raises:
        PluginError: If a metric of another package is wrong.
    """
    in_sql.check_plugin_metrics()
    return {**in_sql.metric_views(), **views_computed_by_python()}


def unknown_table_message(name: str, view_names: Collection[str]) -> str:
    """Return the error message for a name that is not the name of a table.

    Args:
        name: The name.
        view_names: The names of the views.

    Returns:
        The message. For a view, it says how to query it; otherwise it suggests similar names.
    """
    if name in view_names:
        hint = f" or `{method}`" if (method := _python_call_for_view(name)) else ""
        return f'`{name}` is a view, not a table: use `lake.sql("FROM {name}")`{hint}'
    hint = (
        similar_names_hint([name], TABLES)
        or similar_names_hint([name], view_names)
        or known_names_hint([name], TABLES)
    )
    return f"no table `{name}`: {hint}"


def _python_call_for_view(view: str) -> str | None:
    """Return the Python expression that returns the rows of a view, such as `lake.leaderboard()`.

    Return None if no method of the lake returns them.
    """
    schema, _, name = view.rpartition(".")
    if schema == "evidence" and name != ALL_METRICS_VIEW:
        return f'lake.evidence("{name}")'
    if schema == "audit":
        return f'lake.findings("{name}")'
    if schema == "" and name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW, *sql_files.sql_file_names("")):
        return f"lake.{name}()"
    return f'lake.metrics(metric="{name}")' if schema == "" else None


class Schema(NamedTuple):
    """An SQL schema with its views.

    Attributes:
        name: The name of the schema; empty for the main schema.
        meaning: What its views contain.
        views: The names of its views, without the schema.
    """

    name: str
    meaning: str
    views: tuple[str, ...]


def list_sql_schemas() -> list[Schema]:
    """Return all SQL schemas with the names of their views, the main schema first."""
    views_by_schema: dict[str, list[str]] = {}
    for view in all_views():
        schema, _, name = view.rpartition(".")
        views_by_schema.setdefault(schema, []).append(name)
    meanings = {
        qualified_view_name(schema_kind, edition, "").removesuffix(
            "."
        ): f"edition {edition}: {meaning}"
        for schema_kind, meaning in _EDITION_SCHEMAS.items()
        for edition in EDITIONS
    } | _OTHER_SCHEMAS
    ordered_schemas = sorted(views_by_schema, key=[*meanings].index)
    return [
        Schema(schema, meanings[schema], tuple(views_by_schema[schema]))
        for schema in ordered_schemas
    ]


def views_computed_by_python() -> dict[str, ComputedView]:
    """Return the SQL views that Python computes, because they contain confidence intervals.

    Returns:
        The views by name. For each edition of the metrics, there is one with the rows of
        `Lake.metrics` and one with the rows of `Lake.leaderboard`.
    """
    keys = {"system": SYSTEM_COLUMN, "model": MODEL_COLUMN, "game_type": GAME_TYPE_COLUMN}
    metrics_columns = {
        "edition": METRIC_VALUE_COLUMNS["edition"],
        "metric": METRIC_VALUE_COLUMNS["metric"],
        **keys,
        **METRIC_VALUE_COLUMNS,
    }
    leaderboard_view_columns = {**ORIGIN_COLUMNS, **leaderboard_columns()}
    metric_row = "the value of one metric for one model and game type"
    views = {}
    for edition in EDITIONS:
        for name, compute, view_columns_by_name, row_meaning in (
            (ALL_METRICS_VIEW, metrics, metrics_columns, metric_row),
            (LEADERBOARD_VIEW, leaderboard, leaderboard_view_columns, "one model with all metrics"),
        ):
            compute_rows = partial(compute, edition=edition)
            views[qualified_view_name("", edition, name)] = ComputedView(
                partial(
                    _compute_view_rows_of_all_systems, compute_rows, list(view_columns_by_name)
                ),
                column_schema(view_columns_by_name),
                f"{row_meaning}, edition {edition}, with {DEFAULT_CONFIDENCE:.0%} "
                "confidence intervals",
                {column: spec.description for column, spec in view_columns_by_name.items()},
            )
    return views


def _compute_view_rows_of_all_systems(
    compute_rows: Callable[[StoredLake], pl.DataFrame], columns: list[str], lake: StoredLake
) -> pl.DataFrame:
    """Compute the rows of a view for each system of the lake, and concatenate them."""
    return concat_by_system(lake, compute_rows).select(columns)


def grouping_hint_for_missing_column(column: str, views: Collection[str]) -> str | None:
    """Return a hint for a query that uses a column which its views do not have.

    Args:
        column: The missing column.
        views: The names of the views that the query reads.

    Returns:
        The `magic metrics` command that groups values by the column; None if there is none.
    """
    for edition in (PAPER, AUDITED):  # the edition release cannot be grouped by other columns
        for name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW, *metric_names(edition)):
            metric = None if name in (ALL_METRICS_VIEW, LEADERBOARD_VIEW) else name
            is_queried = any(
                qualified_view_name(schema, edition, name) in views for schema in ("", "terms")
            )
            if is_queried and column in (
                metric_row_schema(metric) if metric else _COMMON_GROUP_COLUMNS
            ):
                return _metrics_command_hint(metric, edition, column)
    return None


def _metrics_command_hint(metric: str | None, edition: Edition, column: str) -> str:
    """Return the hint to group a metric's values by a column with the command `magic metrics`."""
    all_options = {"metric": metric, "edition": None if edition == PAPER else edition}
    options = {name: value for name, value in all_options.items() if value}
    flags = "".join(f"--{name} {value} " for name, value in options.items())
    arguments = "".join(f'{name}="{value}", ' for name, value in options.items())
    return (
        f"to group values by it, run `magic metrics {flags}--by model,{column}` "
        f'(in Python: `lake.metrics({arguments}by=["model", "{column}"])`)'
    )


# The columns of tables and views, as described by contracts and by the headers of SQL files.

_COLUMN_LIST_SCHEMA: dict[str, pl.DataType | DataTypeClass] = {
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
    """Return one row for each column of the tables or views with these names.

    Args:
        names: Names of tables or views; if empty, all tables.

    Returns:
        The columns of `Lake.schema`.

    Raises:
        UsageError: If a name is unknown.
    """
    unique_names = list(dict.fromkeys(names or TABLES))
    views = find_views(unique_names)
    return pl.concat(
        [
            _view_column_rows(name, views) if name in views else _table_column_rows(name)
            for name in unique_names
        ]
    )


def find_views(names: list[str]) -> ViewsByName:
    """Check names of tables and views, and load all views if any name is that of a view.

    Args:
        names: Names of tables or views.

    Returns:
        All views by name; empty if all names are tables.

    Raises:
        UsageError: If a name is neither a table nor a view.
    """
    if TABLES.keys() >= set(names):
        return {}
    views = all_views()
    all_names = [*TABLES, *views]
    if unknown_names := [name for name in names if name not in all_names]:
        raise UsageError(
            "; ".join(unknown_table_or_view_message(name, all_names) for name in unknown_names)
        )
    return views


def describe_row(name: str, views: ViewsByName) -> str:
    """Return a sentence that says what one row of a table or view is.

    Args:
        name: The name of the table or view.
        views: The views by name.

    Returns:
        A sentence such as "A row is one vote.".
    """
    return f"A row is {views[name].row}." if name in views else row_description(name)


def _table_column_rows(table: str) -> pl.DataFrame:
    """Return one row for each column of a table, with its type, constraints and description."""
    specs = TABLES[table].columns()
    rows = [
        {
            "table": table,
            "column": name,
            "type": type_name(dtype),
            "is_nullable": specs[name].nullable,
            "is_key": specs[name].primary_key,
            "low": specs[name].min,
            "high": specs[name].max,
            "words": specs[name].words,
            "pattern": specs[name].regex,
            "description": specs[name].description,
        }
        for name, dtype in table_schema(table).items()
    ]
    return pl.DataFrame(rows, schema=_COLUMN_LIST_SCHEMA)


def _view_column_rows(name: str, views: ViewsByName) -> pl.DataFrame:
    """Return one row for each column of a view, with its type and description."""
    descriptions = column_descriptions(name, views)
    rows: list[dict[str, Any]] = [
        {
            "table": name,
            "column": column,
            "type": type_name(dtype),
            "description": descriptions.get(column),
        }
        for column, dtype in view_schema(name, views).items()
    ]
    return pl.DataFrame(rows, schema=_COLUMN_LIST_SCHEMA)


def type_name(dtype: pl.DataType | DataTypeClass) -> str:
    """Return the name of a data type in words, such as `list of string`.

    Args:
        dtype: A Polars data type.

    Returns:
        The name; for lists and structs with the names of the inner types.
    """
    if isinstance(dtype, pl.List):
        return f"list of {type_name(dtype.inner)}"
    if isinstance(dtype, pl.Struct):
        fields = (f"{field.name} {type_name(field.dtype)}" for field in dtype.fields)
        return f"struct of {', '.join(fields)}"
    if isinstance(dtype, pl.Datetime):
        return f"timestamp, {dtype.time_zone}"
    return str(dtype).lower()
