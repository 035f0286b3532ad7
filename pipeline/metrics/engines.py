"""The engines that count: polars, DuckDB and Spark. All return the same frames."""

from functools import cache

import polars as pl

from pipeline.errors import QueryError, UsageError, choose
from pipeline.lake import StoredLake
from pipeline.library_errors import one_line
from pipeline.metrics import counting, counting_sql
from pipeline.metrics.installed import package_of
from pipeline.metrics.tally import Counts, Question, queries
from pipeline.metrics.views import shared
from pipeline.plugins import PluginError
from pipeline.sqlfiles import View, identifier
from pipeline.vocabulary import Engine

# What DuckDB raises that says nothing of a query.
_OF_LIMITS = ("InterruptException", "OutOfMemoryException")
_NO_SIDES = pl.DataFrame(schema={"n_unfinished": pl.Int64})
ENGINES = ("polars", "duckdb", "spark")


def check_engine(engine: Engine, master: str | None) -> None:
    """Raises UsageError for an engine that is unknown, or a master that it cannot have."""
    if engine not in ENGINES:
        raise UsageError(f"no engine `{engine}`: {choose([engine], ENGINES)}")
    if master is not None and engine != "spark":
        raise UsageError(f"a master works only with the engine spark, not with {engine}")


def count(
    lake: StoredLake, question: Question, engine: Engine, master: str | None = None
) -> Counts:
    """What the engine counts, each frame sorted, so that equal lakes give equal answers."""
    if engine == "polars":
        try:
            found = _by_polars(lake, question)
        except pl.exceptions.PolarsError as error:
            _blame(question, one_line(error))
            raise
    else:
        found = _by_sql(lake, question, engine, master)
    no_sides = [] if question.request.is_of_results else [_NO_SIDES]
    sides, *of_metrics = [*no_sides, *found]
    sums, games = (pl.concat(of_metrics[at::2], how="vertical_relaxed") for at in (0, 1))
    return Counts(*(frame.sort(pl.all(), nulls_last=True) for frame in (sums, games, sides)))


def _by_polars(lake: StoredLake, question: Question) -> list[pl.DataFrame]:
    frames = counting.frames(question, cache(lake.table))
    context = pl.SQLContext(frames)
    # One query after the other: together they take twice the memory, and are no faster.
    return [
        context.execute(query).collect(engine="streaming")
        for query in queries(question, identifier)
    ]


def _blame(question: Question, fault: str) -> None:
    """Raises PluginError if a metric of another package is asked for: its definition is wrong.

    If a file of the lake is damaged instead, whoever handles the error finds that by its context.
    """
    named = ((name, package_of(name)) for name in question.metrics)
    theirs = [f"`{name}` of the package {package}" for name, package in named if package]
    if theirs:
        raise PluginError(f"{' or '.join(theirs)} cannot count: {fault}") from None


def _by_sql(
    lake: StoredLake, question: Question, engine: Engine, master: str | None
) -> list[pl.DataFrame]:
    views = shared(question.request.num_of_game)
    selects = queries(question, counting_sql.rows_of(question))
    if engine == "duckdb":
        return _by_duckdb(lake, question, views, selects)
    return _by_spark(lake, views, selects, master)


def _by_duckdb(
    lake: StoredLake, question: Question, views: dict[str, View], queries: list[str]
) -> list[pl.DataFrame]:
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import answer, connect

    with connect(lake, views, "\n".join(queries)) as connection:
        try:
            return [answer(connection, query) for query in queries]
        except QueryError as error:
            if type(error.__context__).__name__ not in _OF_LIMITS:
                _blame(question, error.message)
            raise


def _by_spark(
    lake: StoredLake, views: dict[str, View], queries: list[str], master: str | None
) -> list[pl.DataFrame]:
    # Imported here: it is an extra, and slow to import.
    from pipeline.spark import Views, open_session

    return Views(open_session(master), lake, views).queries(queries)
