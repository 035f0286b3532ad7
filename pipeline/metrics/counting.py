"""The rows of a metric in polars: those of its declaration."""

from typing import NamedTuple

import polars as pl
from msgspec.structs import replace
from polars import selectors as cs

from pipeline.metrics.columns import GAME_COLUMNS, with_game
from pipeline.metrics.declaration import IS_READABLE, Metric, Rows, Tables
from pipeline.metrics.request import RELEASE, Request
from pipeline.metrics.tally import RESULTS, Question, wanted


def frames(question: Question, tables: Tables) -> dict[str, pl.LazyFrame]:
    """What `tally.queries` counts: the rows of each metric, and the results of tested sides."""
    request, games = question.request, _chosen(tables, question.request)
    if games is not None:
        request = replace(request, where=None)
    results = with_game(tables("results"), tables, request.of_game)
    results = (games.of(results) if games else results).filter("is_tested")
    of_metrics = {
        name: rows(declared, tables, request, games) for name, declared in question.metrics.items()
    }
    # Only where results tell the groups, they have all columns of the condition.
    sides = {RESULTS: results.filter(_is_wanted(request))} if request.is_of_results else {}
    return {**sides, **of_metrics}


def rows(
    declared: Metric,
    tables: Tables,
    request: Request,
    games: "_Chosen | None" = None,
) -> pl.LazyFrame:
    """The rows that the metric is about, each with its `term`, `what`, `hit` and `is_counted`.

    The release edition takes the games numbered below its number; the others ask for finished games
    and do not count outages.
    """
    is_own = pl.col("game_type").is_in(declared.game_types)
    parts = [_rows(part, tables, request, games).filter(is_own) for part in declared.rows]
    return pl.concat(parts, how="diagonal_relaxed").with_columns(pl.col("hit").cast(pl.Float64))


class _Chosen(NamedTuple):
    """Games by their ids: those that a condition keeps, or those that it leaves out."""

    ids: pl.DataFrame
    are_kept: bool

    def of(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of the games that are kept."""
        if self.ids.is_empty() and not self.are_kept:
            return rows
        return rows.join(self.ids.lazy(), on="game_id", how="semi" if self.are_kept else "anti")


def _chosen(tables: Tables, request: Request) -> _Chosen | None:
    """What a condition on games alone keeps or leaves out, whichever is less; None for another.

    Checking each game once is less work than joining the games to the rows of every table.
    Every row has its game: `magic verify` finds one that has none.
    """
    where = request.where
    if where is None or not set(where.columns) <= GAME_COLUMNS.keys() - set(request.by):
        return None
    ids = tables("games").select("game_id")
    kept = pl.col("is_kept")
    answers = with_game(ids, tables, where.columns).select(
        "game_id", is_kept=pl.sql_expr(where.sql).fill_null(value=False)
    )
    games = answers.collect(engine="streaming")
    are_kept = games["is_kept"].sum() <= games.height / 2
    return _Chosen(games.filter(kept if are_kept else ~kept).select("game_id"), are_kept)


def _rows(
    declared: Rows, tables: Tables, request: Request, games: _Chosen | None = None
) -> pl.LazyFrame:
    table = tables(declared.table) if isinstance(declared.table, str) else declared.table(tables)
    is_counted = pl.col("hit").is_not_null() if declared.counted is None else declared.counted
    if request.edition != RELEASE:
        is_counted = is_counted & pl.col("is_readable")
    of_games = with_game(table, tables, request.of_game)
    return (
        (games.of(of_games) if games else of_games)
        .filter("is_tested", _is_wanted(request), in_scope(request), declared.where)
        .with_columns(
            term=declared.term, what=declared.what, hit=declared.hit, is_readable=IS_READABLE
        )
        .with_columns((cs.by_name("hit") & cs.boolean()).cast(pl.Int64))  # as in SQL
        .with_columns(is_counted=is_counted.fill_null(value=False))
    )


def in_scope(request: Request) -> pl.Expr:
    """Whether a row's game is one that the edition takes."""
    if request.edition != RELEASE:
        return pl.col("is_finished")
    return pl.col("game_index") < request.num_of_game


def is_unfinished(request: Request) -> pl.Expr:
    """Whether a row's game has no end, and would be in scope if it had one."""
    unfinished = ~pl.col("is_finished")
    return unfinished & in_scope(request) if request.edition == RELEASE else unfinished


def _is_wanted(request: Request) -> pl.Expr:
    """Whether a row is of the requested models and game types, and meets the condition."""
    return pl.sql_expr(wanted(request))
