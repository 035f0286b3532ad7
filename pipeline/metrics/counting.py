"""The rows of a metric, counted by polars."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace
from polars import selectors as cs

from pipeline.metrics.columns import GAME_COLUMNS, with_game
from pipeline.metrics.counts import (
    CLUSTER,
    GAME_MARK,
    GAMES,
    HITS,
    SUMS,
    Clusters,
    Question,
)
from pipeline.metrics.declaration import IS_READABLE, Metric, Rows, Tables
from pipeline.metrics.request import RELEASE, Request

_IS_COUNTED = pl.col("is_counted")
_IS_UNKNOWN = pl.col("hit").is_null()
_GAME = pl.col("game_id")


def queries(question: Question, tables: Tables) -> list[pl.LazyFrame]:
    """The frames of `sides`, and then of each metric's sums and games."""
    games = _chosen(tables, question.request)
    if games is not None:
        question = question._replace(request=replace(question.request, where=None))
    frames = [sides(tables, question.request, games)]
    for name, declared in question.metrics.items():
        sums = [_sums(part, tables, question, name, games) for part in declared.rows]
        frames += [pl.concat(sums), _games(name, tables, question, games)]
    return frames


def rows(
    declared: Metric,
    tables: Tables,
    request: Request,
    games: "_Chosen | None" = None,
    *,
    is_compared: bool = False,
) -> pl.LazyFrame:
    """The rows that the metric is about, each with its `term`, `what`, `hit` and `is_counted`.

    With `is_compared`, also with what each is `compared_with`.

    The release edition takes the games numbered below its number; the others ask for finished games
    and do not count outages.
    """
    is_own = pl.col("game_type").is_in(declared.game_types)
    parts = [_rows(part, tables, request, games).filter(is_own) for part in declared.rows]
    if is_compared:
        parts = [
            compared.compared_with(part, tables)
            for compared, part in zip(declared.rows, parts, strict=True)
        ]
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
        "game_id", is_kept=where.expression.fill_null(value=False)
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
    wanted = with_game(table, tables, request.of_game)
    return (
        (games.of(wanted) if games else wanted)
        .filter("is_tested", is_wanted(request), in_scope(request), declared.where)
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


def is_wanted(request: Request) -> pl.Expr:
    """Whether a row is of the requested models and game types, and meets the condition."""
    wanted = pl.lit(value=True)
    if request.models is not None:
        wanted = wanted & pl.col("model").is_in(request.models)
    if request.game_types is not None and not request.is_rolled_up:
        wanted = wanted & pl.col("game_type").is_in(request.game_types)
    if request.where is not None:
        wanted = wanted & request.where.expression
    return wanted


def sides(tables: Tables, request: Request, games: _Chosen | None = None) -> pl.LazyFrame:
    """The finest groups that a tested side is in, with n_unfinished (games)."""
    results = with_game(tables("results"), tables, request.of_game)
    results = games.of(results) if games else results
    if not request.is_of_results:
        known = [name for name in request.fine if name in results.collect_schema()]
        return results.select(*known, n_unfinished=pl.lit(0, pl.Int64)).clear()
    return (
        results.filter(pl.col("is_tested"), is_wanted(request))
        .group_by(request.fine)
        .agg(n_unfinished=_n_games(is_unfinished(request)))
    )


def _sums(
    declared: Rows, tables: Tables, question: Question, name: str, games: _Chosen | None
) -> pl.LazyFrame:
    counted = _rows(declared, tables, question.request, games)
    keys = list(question.request.fine)
    if question.clusters is not None:
        counted = counted.with_columns(stratum="competition", cluster=cluster(question.clusters))
        keys += CLUSTER
    hit = pl.col("hit")
    if not counted.collect_schema()["hit"].is_integer():
        hit = hit.cast(HITS)  # which takes half as long again to sum
    # Grouping by a constant costs as much as by a column, so such a term is added afterwards.
    is_one_term = declared.term.meta.is_literal()
    summed = counted.group_by(keys if is_one_term else [*keys, "term"]).agg(
        hits=pl.when("is_counted").then(hit).sum().cast(HITS),
        counted=_IS_COUNTED.sum().cast(pl.Int64),
        n_unreadable=(pl.col("parse_status") != "ok").sum().cast(pl.Int64),
        n_unknown=(_IS_UNKNOWN & pl.col("is_readable")).sum().cast(pl.Int64),
        n_hits_unknown=(_IS_COUNTED & _IS_UNKNOWN).sum().cast(pl.Int64)
        if question.can_be_unknown(name)
        else pl.lit(0, pl.Int64).first(),
    )
    if is_one_term:
        summed = summed.with_columns(term=declared.term)
    return summed.select(pl.lit(name).alias("metric"), *keys, "term", *SUMS)


def _games(name: str, tables: Tables, question: Question, games: _Chosen | None) -> pl.LazyFrame:
    none = pl.lit(0, pl.Int64).first()
    counts_games, can_be_unknown = name in question.with_games, question.can_be_unknown(name)
    counted = rows(question.metrics[name], tables, question.request, games).filter("is_counted")
    alike = [pl.col(column) for column in question.request.fine]
    named = (
        counted.filter(_begins_run([*alike, _IS_UNKNOWN] if can_be_unknown else alike))
        .group_by(question.request.fine)
        .agg(
            n_games=_n_games() if counts_games else none,
            n_games_unknown=_n_games(_IS_UNKNOWN) if can_be_unknown else none,
        )
        .select(pl.lit(name).alias("metric"), *question.request.fine, *GAMES)
    )
    return named if counts_games or can_be_unknown else named.clear()


def cluster(clusters: Clusters) -> pl.Expr:
    """The cluster that a row is in: its setting, or its game."""
    setting = pl.col("setting_id")
    if not clusters.by_game:
        return setting
    model = pl.col("model").fill_null("")
    game = _GAME.str.head(clusters.digits) + model if clusters.is_cut else _GAME
    game = pl.lit(GAME_MARK) + game
    # A model's name may hold any character, but a competition's has no line break.
    sides = [f"{competition}\n{model}" for model, competition in clusters.by_game]
    is_by_game = (pl.col("competition") + "\n" + model).is_in(sides)
    return pl.when(is_by_game).then(game).otherwise(setting)


def _begins_run(alike: Sequence[pl.Expr]) -> pl.Expr:
    """Whether a row differs from the one before it in its game or in what is to be `alike`.

    The other rows name no further game. They are most rows where a game's rows lie together, and
    to count games without them takes half the time.
    """
    return pl.any_horizontal(column.ne_missing(column.shift()) for column in (_GAME, *alike))


def _n_games(wanted: pl.Expr | None = None) -> pl.Expr:
    game = _GAME if wanted is None else pl.when(wanted).then(_GAME).drop_nulls()
    return game.n_unique().cast(pl.Int64)
