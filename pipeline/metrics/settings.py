"""Metrics of games of one tested side each, from what they count in each setting.

Such a game has one row in `results`, and many of these rows are alike in all that metrics ask of
them. They are counted in one pass; what else is asked of them is about the few that differ. Of each
metric there are sums by setting, of which values, intervals and comparisons are made.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import statistics
from pipeline.metrics.compute import (
    IS_UNKNOWN,
    IS_UNREADABLE,
    Counts,
    in_scope,
    is_unfinished,
    is_wanted,
    rows,
    rows_about,
)
from pipeline.metrics.declaration import Metric, Tables
from pipeline.metrics.request import Request
from pipeline.metrics.slices import with_game
from pipeline.statistics.sums import exact_sum

_ALWAYS = ("model", "game_type", "competition", "setting_id", "is_finished", "parse_status")


def alike(metrics: Iterable[Metric], tables: Tables, request: Request) -> pl.LazyFrame:
    """The tested rows of `results`, those that nothing tells apart as one row: `n` is their number.

    What tells them apart is what they are grouped by, what metrics ask of them, and whether the
    request does (`is_wanted`). Where none of these is about results, they are as they were.
    """
    tested = tables("results").filter("is_tested")
    rows_of = [one for metric in metrics if metric.is_of_results for one in metric.rows]
    if not rows_of and not request.is_of_results:
        return tested
    asked = [in_scope(request), *(each for one in rows_of for each in one.expressions)]
    named = (name for each in asked for name in each.meta.root_names())
    columns = list(dict.fromkeys((*_ALWAYS, *request.fine, *named, "is_wanted")))
    told = with_game(tested, tables, request.of_game).with_columns(is_wanted=is_wanted(request))
    if "game_id" in columns:
        return told.select(*columns, n=pl.lit(1, pl.Int64))
    counted = told.group_by(columns).agg(n=pl.len().cast(pl.Int64))
    return counted.collect(engine="streaming").lazy()


def sides(results: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """`compute.sides`, from the rows `alike`."""
    if not request.is_of_results:
        return pl.LazyFrame()
    n_unfinished = pl.col("n").filter(is_unfinished(request)).sum()
    return results.filter("is_wanted").group_by(request.fine).agg(n_unfinished=n_unfinished)


def by_setting(
    metric: Metric, tables: Tables, results: pl.LazyFrame, request: Request
) -> pl.DataFrame:
    """The sums over the games of each setting, by the request's finest groups.

    Of `results` there is also what is `unread`, and settings of which nothing is counted.
    """
    if metric.is_of_results:
        wanted = results.filter("is_wanted")
        told = pl.concat(rows_about(one, wanted, request) for one in metric.rows)
        is_counted = pl.col("is_counted").fill_null(value=False)
        told = told.with_columns(is_counted, is_unknown=IS_UNKNOWN, is_unreadable=IS_UNREADABLE)
        return statistics.by_setting_of_alike(told, request.fine).collect(engine="streaming")
    counted = rows(metric, tables, request).filter("is_counted")
    return statistics.by_setting_of_one_side(
        counted, request.fine, is_by_of_game=request.is_of_results
    )


def counts(found: Sequence[pl.DataFrame], request: Request) -> Counts:
    """`compute.counts`, from the sums by setting of a metric and what is unread."""
    sums = (
        pl.concat(found, how="diagonal_relaxed")
        .lazy()
        .group_by(*request.fine, "term")
        .agg(
            pl.col(list(statistics.UNREAD)).sum(),
            hits=exact_sum(pl.col("h")),
            counted=pl.col("c").sum().cast(pl.Int64),
            n_games=pl.col("n").sum(),
        )
    )
    return Counts(sums, sums.clear().select(*request.fine, "n_games"))
