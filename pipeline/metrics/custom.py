"""Custom metrics: loading a metric from a file, and checking it before a lake accepts it.

Used by `Lake.with_metric`, `--metric-file` and `pipeline.testing`. A file has the form of a metric
of this package: `silence.py` defines `PAPER`, and `silence.sql` beside it is the same in SQL
(optional).
"""

import runpy
import traceback
from functools import cache
from pathlib import Path

import polars as pl

from pipeline.errors import MetricError, QueryError
from pipeline.lake import StoredLake
from pipeline.metrics import metrics
from pipeline.metrics.estimates import OUT_OF_RANGE_ADVICE, CountQuery, count_with_engine
from pipeline.metrics.registry import (
    Metric,
    RegisteredMetric,
    build_registered_metric,
    metric_names,
    read_sql_beside,
    register_metrics_temporarily,
)
from pipeline.metrics.request import Request
from pipeline.metrics.row_queries import (
    check_new_metric_spec,
    metric_rows,
    views_shared_by_metric_queries,
)
from pipeline.statistics.intervals import RELATIVE_ROUNDING
from pipeline.vocabulary import PAPER, Engine

_SUM_COLUMNS = ("hits", "counted", "n_unreadable", "n_unknown")
_KEY_COLUMNS, _VALUE_COLUMNS = (
    ("system", "model", "game_type"),
    ("value", "hits", "counted", "n_games"),
)


def check_and_build_registered_metric(
    lake: StoredLake,
    spec: Metric,
    name: str,
    *,
    title: str | None = None,
    sql: str | None = None,
) -> RegisteredMetric:
    """Check a new metric with the lake's games, and return it with its title and SQL.

    Args:
        lake: The lake in which the metric is tried.
        spec: The definition of the metric.
        name: The name of the metric.
        title: The title; None uses that of the SQL, or the name.
        sql: The SQL of the metric; None if it has none.

    Raises:
        MetricError: If the name is taken, the metric cannot be computed, its hits are not between 0
            and 1, or the SQL gives other numbers than polars.
    """
    check_new_metric_spec(name, spec, metric_names(PAPER))
    metric = build_registered_metric(name, spec, sql, title)
    check_metric_and_return_sums(lake, name, metric)
    return metric


def check_metric_and_return_sums(
    lake: StoredLake, name: str, metric: RegisteredMetric
) -> pl.DataFrame:
    """Check a metric with the lake's games, and return its hits and counted rows by model.

    Args:
        lake: The lake in which the metric is tried.
        name: The name of the metric.
        metric: The metric with its SQL.

    Returns:
        The columns model, game_type, term and those of `_SUM_COLUMNS`.

    Raises:
        MetricError: If the metric cannot be computed, counts rows of an undeclared term, has a hit
            that is not between 0 and 1, or if its SQL gives other numbers than polars.
    """
    selected_values = (
        None if metric.sql is None else _run_metric_sql_and_check_columns(lake, name, metric.sql)
    )
    sums = _sums_by_model_game_type_and_term(lake, name, metric, "polars")
    terms = metric.declared.terms
    declared_pairs = {
        (term.name, str(game_type)) for term in terms for game_type in term.game_types
    }
    counted_pairs = sums.select("term", "game_type").unique().sort(pl.all(), nulls_last=True)
    if undeclared_pairs := [
        pair for pair in counted_pairs.iter_rows() if pair not in declared_pairs
    ]:
        stray_term, stray_type = undeclared_pairs[0]
        raise MetricError(
            f"`{name}` counts rows of the term `{stray_term}` in the game type {stray_type}, which "
            "no Term declares: add one, or leave these rows out by `where`"
        )
    # Sums of fractions may differ from 1 by a rounding error.
    is_out_of_range = ~pl.col("hit").is_between(-RELATIVE_ROUNDING, 1 + RELATIVE_ROUNDING)
    rows_out_of_range = metric_rows(metric.declared, cache(lake.table), Request()).filter(
        "is_counted", is_out_of_range
    )
    bad_hit = rows_out_of_range.select("hit").head(1).collect(engine="streaming")
    if bad_hit.height:
        raise MetricError(
            f"`{name}` has a hit of {bad_hit.item()!r}, which is {OUT_OF_RANGE_ADVICE}"
        )
    if selected_values is not None:
        _check_polars_and_sql_sums_are_equal(
            name, sums, _sums_by_model_game_type_and_term(lake, name, metric, "duckdb")
        )
        with register_metrics_temporarily({name: metric}):
            _check_polars_and_sql_values_are_equal(
                name, metrics(lake, metric=name, by=_KEY_COLUMNS, confidence=None), selected_values
            )
    return sums


def _run_metric_sql_and_check_columns(lake: StoredLake, name: str, sql: str) -> pl.DataFrame:
    """Run the metric's SQL with DuckDB and return the rows of its last SELECT.

    Raises MetricError if the SQL is not a query, or lacks one of the required columns; in a lake of
    one system it may lack `system`.
    """
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import check_query, connect, run_trusted_query

    try:
        with connect(lake, views_shared_by_metric_queries(), sql) as connection:
            check_query(connection, sql)
            rows = run_trusted_query(connection, sql)
        # In a lake of several systems, a value without `system` would cover all of them.
        if "system" not in rows.columns and len(lake.split_by_system()) == 1:
            rows = rows.with_columns(system=pl.lit(lake.split_by_system()[0].system))
        return rows.select(
            pl.col(_KEY_COLUMNS).cast(pl.String), pl.col(_VALUE_COLUMNS).cast(pl.Float64)
        )
    except QueryError as error:
        raise MetricError(f"`{name}` cannot be counted by duckdb: {error}") from None
    except pl.exceptions.PolarsError:
        raise MetricError(
            f"the last SELECT of the SQL of `{name}` needs the columns "
            f"{', '.join(_KEY_COLUMNS)}, which are strings, and {', '.join(_VALUE_COLUMNS)}, "
            "which are numbers: see docs/adding.md"
        ) from None


def _sums_by_model_game_type_and_term(
    lake: StoredLake, name: str, metric: RegisteredMetric, engine: Engine
) -> pl.DataFrame:
    """Return the metric's hits and row counts by model, game type and term, from one engine."""
    request = Request()
    with register_metrics_temporarily({name: metric}):
        try:
            query = CountQuery({name: metric.declared}, request, with_games=())
            sums = count_with_engine(lake, query, engine).sums
        except (pl.exceptions.PolarsError, QueryError, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise MetricError(f"`{name}` cannot be counted by {engine}: {reason}") from None
    # In SQL, the sum of no hits is null.
    sums = sums.drop("metric").with_columns(pl.col("hits").fill_null(0))
    return sums.filter(pl.sum_horizontal(_SUM_COLUMNS[1:]) > 0)


def _check_polars_and_sql_sums_are_equal(
    name: str, polars_sums: pl.DataFrame, sql_sums: pl.DataFrame
) -> None:
    """Raise MetricError if the polars and the SQL definition count different hits or rows."""
    keys = ["model", "game_type", "term"]
    joined = polars_sums.join(
        sql_sums, on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_in_sql"
    )
    joined = joined.with_columns(
        pl.col(*_SUM_COLUMNS, *(f"{name}_in_sql" for name in _SUM_COLUMNS)).cast(pl.Float64)
    )
    # Two ways to divide may differ in the last digits.
    is_same = [
        (pl.col(name).round(9)).eq_missing(pl.col(f"{name}_in_sql").round(9))
        for name in _SUM_COLUMNS
    ]
    is_different = ~pl.all_horizontal(is_same)
    for row in (
        joined.filter(is_different).sort(keys, nulls_last=True).head(1).iter_rows(named=True)
    ):
        is_unknown_equal = row["n_unknown"] == row["n_unknown_in_sql"]
        compared_columns = _SUM_COLUMNS[:-1] if is_unknown_equal else _SUM_COLUMNS
        polars_text = ", ".join(
            f"{_format_number_or_no(row[name])} {name}" for name in compared_columns
        )
        sql_text = ", ".join(
            f"{_format_number_or_no(row[f'{name}_in_sql'])} {name}" for name in compared_columns
        )
        raise MetricError(
            f"the two definitions of `{name}` differ for {row['model']} in {row['game_type']}, "
            f"term {row['term']}: polars counts {polars_text}; SQL counts {sql_text}"
        )


def _check_polars_and_sql_values_are_equal(
    name: str, polars_values: pl.DataFrame, sql_values: pl.DataFrame
) -> None:
    """Raise MetricError if the metric's SQL returns other values than `metrics` computes.

    A group without a value needs no row. The hits and counted rows of the SELECT are not compared
    if `metrics` has none, as for a value of several terms.
    """
    joined = polars_values.join(
        sql_values, on=_KEY_COLUMNS, how="full", coalesce=True, nulls_equal=True, suffix="_in_sql"
    ).with_columns(pl.col(f"{column}_in_sql").fill_null(0) for column in _VALUE_COLUMNS[1:])
    value, *is_near_by_column = (
        (pl.col(column) - pl.col(f"{column}_in_sql")).abs()
        # Two ways to divide may differ in the last digits.
        <= 1e-9 * pl.max_horizontal(pl.col(column), 1)
        for column in _VALUE_COLUMNS
    )
    is_without_value = pl.all_horizontal(pl.col("value", "value_in_sql").is_null())
    is_same = (
        value.fill_null(is_without_value),
        *(is_near.fill_null(value=True) for is_near in is_near_by_column),
    )
    different_rows = joined.filter(~pl.all_horizontal(is_same)).sort(_KEY_COLUMNS, nulls_last=True)
    for row in different_rows.head(1).iter_rows(named=True):
        computed, selected = (
            ", ".join(
                f"{column} {_format_number_or_no(row[f'{column}{suffix}'])}"
                for column in _VALUE_COLUMNS
            )
            for suffix in ("", "_in_sql")
        )
        raise MetricError(
            f"the last SELECT of the SQL of `{name}` differs from what is counted for "
            f"{row['model']} in {row['game_type']}: it has {selected}; counted is {computed}"
        )


def _format_number_or_no(value: float | None) -> str:
    return "no" if value is None else f"{value:g}"


def load_metric_file(file: Path) -> tuple[str, Metric, str | None]:
    """Run a Python file that defines a metric, and return the metric's name, definition and SQL.

    Args:
        file: The Python file.

    Returns:
        The name of the file without its extension, the definition, and the SQL from the file beside
        it (None if there is none).

    Raises:
        MetricError: If the file cannot be run or defines no metric.
    """
    if file.suffix != ".py":
        raise MetricError(f"{file}: a metric's file is a Python file, such as silence.py")
    if not file.is_file():
        raise MetricError(f"{file}: there is no such file")
    try:
        declared = runpy.run_path(str(file)).get("PAPER")
    except (Exception, SystemExit) as error:
        reversed_frames = reversed(traceback.extract_tb(error.__traceback__))
        line_number = next(
            (frame.lineno for frame in reversed_frames if frame.filename == str(file)), None
        )
        message: object = error
        if isinstance(error, SyntaxError):
            line_number, message = error.lineno, error.msg
        raise MetricError(
            f"{file}, line {line_number}: {type(error).__name__}: {message}"
        ) from None
    if not isinstance(declared, Metric):
        raise MetricError(f"{file}: it needs `PAPER = Metric(...)`, see docs/adding.md")
    return file.stem, declared, read_sql_beside(file)
