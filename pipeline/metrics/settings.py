"""Metrics of games of one tested side each, from what they count in each setting.

Such a game has one row in `results`, and many of these rows are alike in all that metrics ask of
them. They are counted in one pass; what else is asked of them is about the few that differ. Of each
metric there are sums by setting, of which values, intervals and comparisons are made.
"""

from collections.abc import Iterable

import polars as pl

from pipeline import statistics
from pipeline.metrics.compute import (
    Counts,
    counted_rows,
    counts_beside,
    in_scope,
    is_unfinished,
    is_wanted,
    rows_about,
)
from pipeline.metrics.declaration import Metric, Tables
from pipeline.metrics.request import Request
from pipeline.metrics.slices import with_game

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
    rows = with_game(tested, tables, request.of_game).with_columns(is_wanted=is_wanted(request))
    if "game_id" in columns:
        return rows.select(*columns, n=pl.lit(1, pl.Int64))
    counted = rows.group_by(columns).agg(n=pl.len().cast(pl.Int64))
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
    """The sums over the games of each setting, by the request's finest groups."""
    if metric.is_of_results:
        counted = _rows(metric, results, request).filter("is_counted")
        found = statistics.by_setting_of_alike(counted, request.fine)
        return found.collect(engine="streaming")
    known = statistics.Known(is_one_sided=True, is_by_of_game=request.is_of_results)
    return statistics.by_setting(counted_rows(metric, tables, request), request.fine, known)


def beside(metric: Metric, tables: Tables, results: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """What sums by setting do not tell, by term: n_unknown and n_unreadable."""
    if not metric.is_of_results:
        return counts_beside(metric, tables, request)
    n, is_unknown = pl.col("n"), pl.col("is_counted") & pl.col("hit").is_null()
    return (
        _rows(metric, results, request)
        .group_by(*request.fine, "term")
        .agg(
            n_unknown=n.filter(is_unknown).sum(),
            n_unreadable=n.filter(pl.col("parse_status") != "ok").sum(),
        )
    )


def counts(settings: pl.LazyFrame, beside: pl.LazyFrame, request: Request) -> Counts:
    """`compute.counts`, from the sums by setting of a metric and what is beside them."""
    sums = settings.group_by(*request.fine, "term").agg(
        hits=pl.col("h").sum(), counted=pl.col("c").sum().cast(pl.Int64), n_games=pl.col("n").sum()
    )
    games = sums.clear().select(*request.fine, "n_games")
    return Counts(pl.concat([sums, beside], how="diagonal"), games)


def _rows(metric: Metric, results: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    wanted = results.filter("is_wanted")
    return pl.concat(rows_about(one, wanted, request) for one in metric.rows)
