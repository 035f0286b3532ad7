"""A metric from outside of the package, tried before a lake accepts it.

It can be in a file of its own, in the form that it would have in the package: `silence.py` declares
`PAPER`, and `silence.sql`, if it lies beside it, is the same in SQL.
"""

import runpy
import traceback
from functools import cache
from pathlib import Path

import polars as pl

from pipeline.errors import MetricError, QueryError
from pipeline.lake import StoredLake
from pipeline.metrics import metrics
from pipeline.metrics.estimates import BEYOND, CountQuery, count_with_engine
from pipeline.metrics.registry import (
    Metric,
    RegisteredMetric,
    metric_names,
    sql_beside,
    use_metrics,
    written,
)
from pipeline.metrics.request import Request
from pipeline.metrics.row_queries import check_declared, rows, shared
from pipeline.statistics.intervals import RELATIVE_ROUNDING
from pipeline.vocabulary import PAPER, Engine

_SUMS = ("hits", "counted", "n_unreadable", "n_unknown")
_KEYS, _VALUES = ("system", "model", "game_type"), ("value", "hits", "counted", "n_games")


def register_metric(
    lake: StoredLake,
    declared: Metric,
    name: str,
    *,
    title: str | None = None,
    sql: str | None = None,
) -> RegisteredMetric:
    """The metric, once it counts in this lake: in SQL, if there is any, the same as in polars.

    Raises MetricError for a name that is taken, and for a declaration or SQL that cannot count,
    says something impossible, or differs from the other.
    """
    check_declared(name, declared, metric_names(PAPER))
    metric = written(name, declared, sql, title)
    aggregate_for_check(lake, name, metric)
    return metric


def aggregate_for_check(lake: StoredLake, name: str, metric: RegisteredMetric) -> pl.DataFrame:
    """The sums by model, game type and term.

    Raises MetricError where the metric cannot count, or not the same in SQL as in polars, and where
    the SQL's last SELECT gives other values than `metrics`.
    """
    valued = None if metric.sql is None else _valued(lake, name, metric.sql)
    counted = _counted(lake, name, metric, "polars")
    terms = metric.declared.terms
    places = {(term.name, str(game_type)) for term in terms for game_type in term.game_types}
    counted_places = counted.select("term", "game_type").unique().sort(pl.all(), nulls_last=True)
    if strangers := [place for place in counted_places.iter_rows() if place not in places]:
        stray_term, stray_type = strangers[0]
        raise MetricError(
            f"`{name}` counts rows of the term `{stray_term}` in the game type {stray_type}, which "
            "no Term declares: add one, or leave these rows out by `where`"
        )
    # Parts that are added up may differ from 1 in a last digit.
    is_beyond = ~pl.col("hit").is_between(-RELATIVE_ROUNDING, 1 + RELATIVE_ROUNDING)
    of_metric = rows(metric.declared, cache(lake.table), Request()).filter("is_counted", is_beyond)
    beyond = of_metric.select("hit").head(1).collect(engine="streaming")
    if beyond.height:
        raise MetricError(f"`{name}` has a hit of {beyond.item()!r}, which is {BEYOND}")
    if valued is not None:
        _check_same(name, counted, _counted(lake, name, metric, "duckdb"))
        with use_metrics({name: metric}):
            _check_values(name, metrics(lake, metric=name, by=_KEYS, confidence=None), valued)
    return counted


def _valued(lake: StoredLake, name: str, sql: str) -> pl.DataFrame:
    """`_KEYS` and `_VALUES` as the SQL's last SELECT has them.

    Raises MetricError for SQL that is no query, or lacks one of these columns; in a lake of one
    system it need not have `system`.
    """
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import check_query, connect, run_trusted_query

    try:
        with connect(lake, shared(), sql) as connection:
            check_query(connection, sql)
            rows = run_trusted_query(connection, sql)
        # Of several systems, a value without it would be over all of them.
        if "system" not in rows.columns and len(lake.split_by_system()) == 1:
            rows = rows.with_columns(system=pl.lit(lake.split_by_system()[0].system))
        return rows.select(pl.col(_KEYS).cast(pl.String), pl.col(_VALUES).cast(pl.Float64))
    except QueryError as error:
        raise MetricError(f"`{name}` cannot be counted by duckdb: {error}") from None
    except pl.exceptions.PolarsError:
        raise MetricError(
            f"the last SELECT of the SQL of `{name}` needs the columns {', '.join(_KEYS)}, which "
            f"are texts, and {', '.join(_VALUES)}, which are numbers: see docs/adding.md"
        ) from None


def _counted(lake: StoredLake, name: str, metric: RegisteredMetric, engine: Engine) -> pl.DataFrame:
    """model, game_type, term and `_SUMS`, as one of the engines counts."""
    request = Request()
    with use_metrics({name: metric}):
        try:
            question = CountQuery({name: metric.declared}, request, with_games=())
            sums = count_with_engine(lake, question, engine).sums
        except (pl.exceptions.PolarsError, QueryError, TypeError) as error:
            what = str(error).splitlines()[0]
            raise MetricError(f"`{name}` cannot be counted by {engine}: {what}") from None
    # SQL has no sum of no hits.
    sums = sums.drop("metric").with_columns(pl.col("hits").fill_null(0))
    return sums.filter(pl.sum_horizontal(_SUMS[1:]) > 0)


def _check_same(name: str, one: pl.DataFrame, other: pl.DataFrame) -> None:
    """Raises MetricError where polars and SQL do not count the same, with the first difference."""
    keys = ["model", "game_type", "term"]
    both = one.join(other, on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_in_sql")
    both = both.with_columns(pl.col(*_SUMS, *(f"{name}_in_sql" for name in _SUMS)).cast(pl.Float64))
    # Two ways to divide may differ in the last digits.
    is_same = [
        (pl.col(name).round(9)).eq_missing(pl.col(f"{name}_in_sql").round(9)) for name in _SUMS
    ]
    differs = ~pl.all_horizontal(is_same)
    for row in both.filter(differs).sort(keys, nulls_last=True).head(1).iter_rows(named=True):
        is_of_both = row["n_unknown"] == row["n_unknown_in_sql"]
        sums = _SUMS[:-1] if is_of_both else _SUMS
        of_polars = ", ".join(f"{_number(row[name])} {name}" for name in sums)
        of_sql = ", ".join(f"{_number(row[f'{name}_in_sql'])} {name}" for name in sums)
        raise MetricError(
            f"the two definitions of `{name}` differ for {row['model']} in {row['game_type']}, "
            f"term {row['term']}: polars counts {of_polars}; SQL counts {of_sql}"
        )


def _check_values(name: str, one: pl.DataFrame, other: pl.DataFrame) -> None:
    """Raises MetricError where the last SELECT has not the values of `metrics`, with the first.

    A group without a value needs no row. What the SELECT says of hits and counted is not compared
    where `metrics` has none, as of several terms together.
    """
    both = one.join(
        other, on=_KEYS, how="full", coalesce=True, nulls_equal=True, suffix="_in_sql"
    ).with_columns(pl.col(f"{column}_in_sql").fill_null(0) for column in _VALUES[1:])
    value, *sums = (
        (pl.col(column) - pl.col(f"{column}_in_sql")).abs()
        # Two ways to divide may differ in the last digits.
        <= 1e-9 * pl.max_horizontal(pl.col(column), 1)
        for column in _VALUES
    )
    has_none = pl.all_horizontal(pl.col("value", "value_in_sql").is_null())
    is_same = (value.fill_null(has_none), *(is_near.fill_null(value=True) for is_near in sums))
    differing = both.filter(~pl.all_horizontal(is_same)).sort(_KEYS, nulls_last=True)
    for row in differing.head(1).iter_rows(named=True):
        known, selected = (
            ", ".join(f"{column} {_number(row[f'{column}{end}'])}" for column in _VALUES)
            for end in ("", "_in_sql")
        )
        raise MetricError(
            f"the last SELECT of the SQL of `{name}` differs from what is counted for "
            f"{row['model']} in {row['game_type']}: it has {selected}; counted is {known}"
        )


def _number(value: float | None) -> str:
    return "no" if value is None else f"{value:g}"


def load_metric_file(file: Path) -> tuple[str, Metric, str | None]:
    """The metric of a Python file, which is run: the file's name, it, its SQL if there is any.

    Raises MetricError where the file declares none.
    """
    if file.suffix != ".py":
        raise MetricError(f"{file}: a metric's file is a Python file, such as silence.py")
    if not file.is_file():
        raise MetricError(f"{file}: there is no such file")
    try:
        declared = runpy.run_path(str(file)).get("PAPER")
    except (Exception, SystemExit) as error:
        frames = reversed(traceback.extract_tb(error.__traceback__))
        line = next((frame.lineno for frame in frames if frame.filename == str(file)), None)
        what: object = error
        if isinstance(error, SyntaxError):
            line, what = error.lineno, error.msg
        raise MetricError(f"{file}, line {line}: {type(error).__name__}: {what}") from None
    if not isinstance(declared, Metric):
        raise MetricError(f"{file}: it needs `PAPER = Metric(...)`, see docs/adding.md")
    return file.stem, declared, sql_beside(file)
