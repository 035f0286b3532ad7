"""The metrics in polars: rows to counts, counts to terms, terms to values, for any grouping.

Rows are counted once, by the finest groups; all that follows is about few rows.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from pipeline import statistics
from pipeline.metrics.declaration import IS_READABLE, POOLED, Combine, Metric, Rows, Tables
from pipeline.metrics.request import ALL, POOL, RELEASE, Request
from pipeline.metrics.slices import with_game
from pipeline.statistics import INTERVAL
from pipeline.statistics.sums import exact_sum, exact_sums

FOR_FEW: Final = "in-memory"
"""The engine for few rows: to start all that streams takes twice as long as they do."""

# Of a row that is to be counted, and of any row.
IS_UNKNOWN = pl.col("is_counted") & pl.col("hit").is_null()
IS_UNREADABLE = pl.col("parse_status") != "ok"
# Of a group's terms: weight, hits, counted, and ratio, null where nothing is counted.
VALUE = {
    Combine.SUM: pl.when(pl.col("ratio").is_not_null().all()).then(
        exact_sum(pl.col("weight") * pl.col("ratio"))
    ),
    Combine.MEAN: pl.when(pl.col("ratio").count() > 0).then(
        exact_sum(pl.col("ratio")) / pl.col("ratio").count()
    ),
    Combine.POOLED: pl.when(pl.col("counted").sum() > 0).then(
        exact_sum(pl.col("hits")) / pl.col("counted").sum()
    ),
    Combine.POOLED_OVER_ALL: pl.when(pl.col("ratio").is_not_null().all()).then(
        exact_sum(pl.col("hits")) / pl.col("counted").sum()
    ),
}
# Whether that is hits over counted. In a mean what has no ratio has no weight.
_IS_OF_ONE_TERM = (pl.len() == 1) | (pl.col("weight").count() == 1)


def rows(metric: Metric, tables: Tables, request: Request) -> pl.LazyFrame:
    """The rows that the metric is about, each with its `term`, `hit` and whether it `is_counted`.

    The release edition takes the games numbered below its number; the others ask for finished games
    and leave outages uncounted.
    """
    return pl.concat([_rows(one, tables, request) for one in metric.rows], how="diagonal_relaxed")


def _rows(one: Rows, tables: Tables, request: Request) -> pl.LazyFrame:
    table = tables(one.table) if isinstance(one.table, str) else one.table(tables)
    table = with_game(table, tables, request.of_game)
    return rows_about(one, table.filter("is_tested", is_wanted(request)), request)


def rows_about(one: Rows, table: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """The same of one table, given its rows that are tested and wanted."""
    counted = pl.col("hit").is_not_null() if one.counted is None else one.counted
    if request.edition != RELEASE:
        counted = counted & IS_READABLE
    return (
        table.filter(in_scope(request), one.where)
        .with_columns(term=one.term, what=one.what, hit=one.hit)
        .with_columns(is_counted=counted)
    )


def in_scope(request: Request) -> pl.Expr:
    """Whether a row's game is one that the edition takes."""
    if request.edition != RELEASE:
        return pl.col("is_finished")
    return pl.col("game_index") < request.num_of_game


def is_unfinished(request: Request) -> pl.Expr:
    """Whether a row's game has no end, and would be in scope if it had."""
    unfinished = ~pl.col("is_finished")
    return unfinished & in_scope(request) if request.edition == RELEASE else unfinished


def is_wanted(request: Request) -> pl.Expr:
    """Whether a row is of the models and game types asked for."""
    wanted = pl.lit(value=True)
    if request.models is not None:
        wanted = wanted & pl.col("model").is_in(request.models)
    if request.game_types is not None and not request.is_rolled_up:
        wanted = wanted & pl.col("game_type").is_in(request.game_types)
    if request.where is not None:
        wanted = wanted & request.where.expression
    return wanted


class Counts(NamedTuple):
    """What a metric counts, by the request's finest groups; lazy until it is collected.

    `sums` has a row for each term too: hits, counted, n_unknown (games), n_unreadable. Games with a
    counted row are n_games, in `sums` where they can be told by term, else in `games`.
    """

    sums: pl.LazyFrame
    games: pl.LazyFrame


def counts(metric: Metric, tables: Tables, request: Request, *, with_games: bool) -> Counts:
    """The metric's rows counted, in one pass if need be two; games only if they are asked for.

    To tell games apart is most of the work.
    """
    by_term = with_games and metric.has_one_term_a_type
    parts = [
        _sums(one, _rows(one, tables, request), request, with_games=by_term) for one in metric.rows
    ]
    games = (
        rows(metric, tables, request)
        .filter("is_counted")
        .group_by(request.fine)
        .agg(n_games=pl.col("game_id").n_unique().cast(pl.Int64))
    )
    is_apart = with_games and not by_term
    return Counts(pl.concat(parts), games if is_apart else games.clear())


def unread(metric: Metric, tables: Tables, request: Request) -> pl.LazyFrame:
    """Of the same counts n_unknown and n_unreadable alone: few rows are about them."""
    told = pl.col("is_counted") & pl.col("hit").is_not_null() & ~IS_UNREADABLE
    parts = [
        _sums(one, _rows(one, tables, request).filter(~told), request, with_games=False)
        for one in metric.rows
    ]
    return pl.concat(parts).select(*request.fine, "term", *statistics.UNREAD)


def _sums(one: Rows, counted: pl.LazyFrame, request: Request, *, with_games: bool) -> pl.LazyFrame:
    # By default what is counted is where a hit is known.
    unknown = pl.lit(0).first() if one.counted is None else _n_games(IS_UNKNOWN)
    sums = {
        "hits": exact_sum(pl.when("is_counted").then("hit")),
        "counted": pl.col("is_counted").sum().cast(pl.Int64),
        "n_unknown": unknown.cast(pl.Int64),
        "n_unreadable": IS_UNREADABLE.sum().cast(pl.Int64),
        "n_games": _n_games(pl.col("is_counted")) if with_games else pl.lit(0, pl.Int64).first(),
    }
    # A key that is the same everywhere would cost as much as any other.
    if one.term.meta.is_literal():
        summed = counted.group_by(request.fine).agg(**sums).with_columns(term=one.term)
    else:
        summed = counted.group_by(*request.fine, "term").agg(**sums)
    return summed.select(*request.fine, "term", *sums)


def _n_games(wanted: pl.Expr) -> pl.Expr:
    return pl.when(wanted).then("game_id").drop_nulls().n_unique().cast(pl.Int64)


def sides(tables: Tables, request: Request) -> pl.LazyFrame:
    """The finest groups that a tested side is of, with n_unfinished, games in scope without end."""
    if not request.is_of_results:
        return pl.LazyFrame()
    return (
        with_game(tables("results"), tables, request.of_game)
        .filter(pl.col("is_tested"), is_wanted(request))
        .group_by(request.fine)
        .agg(n_unfinished=_n_games(is_unfinished(request)))
    )


def by_setting(metric: Metric, tables: Tables, request: Request) -> pl.DataFrame:
    """The sums over the games of each setting, by the request's finest groups.

    A game of two sides may feed two terms, which are then one before its products are made.
    """
    counted = _combined(rows(metric, tables, request).filter("is_counted"), metric, "term")
    return statistics.by_setting(counted, request.fine)


def moments(settings: pl.DataFrame, request: Request, *, is_one_sided: bool) -> pl.DataFrame:
    """What intervals need, by `metric` and the request's finest groups, from sums by setting."""
    by = ["metric", *request.fine]
    return statistics.moments(settings.lazy(), by, is_one_sided=is_one_sided).collect()


def combined(name: str, metric: Metric, settings: pl.DataFrame) -> pl.DataFrame:
    """A metric's sums by setting as those of several: named, of terms as they are combined."""
    counted = settings.lazy().filter(pl.col("n") > 0)
    found = _combined(counted.select(pl.exclude(list(statistics.UNREAD))), metric, "term", "other")
    return found.with_columns(metric=pl.lit(name)).collect()


def _combined(found: pl.LazyFrame, metric: Metric, *columns: str) -> pl.LazyFrame:
    """The same with all terms as one, where the metric is one ratio of them."""
    if metric.combine not in POOLED:
        return found
    return found.with_columns(pl.lit(POOL).alias(column) for column in columns)


def sums(metric: Metric, tables: Tables, request: Request) -> pl.LazyFrame:
    """Hits `h` and counted `c` of each model in each setting: model, competition, setting_id, term.

    Replays of a setting are added up.
    """
    counted = _combined(rows(metric, tables, request).filter("is_counted"), metric, "term")
    return counted.group_by("model", "competition", "setting_id", "term").agg(
        h=exact_sum(pl.col("hit")), c=pl.len().cast(pl.Float64)
    )


def sums_of(settings: pl.DataFrame, name: str, models: Sequence[str] | None) -> pl.DataFrame:
    """The same of these models, from the sums by setting of metrics over games of one side."""
    of_metric = settings.filter(metric=name)
    if models is not None:
        of_metric = of_metric.filter(pl.col("model").is_in(models))
    keys = ("model", pl.col("stratum").alias("competition"), pl.col("setting").alias("setting_id"))
    return of_metric.group_by(*keys, "term").agg(exact_sum(pl.col("h")), pl.col("c").sum())


def shares(valued: pl.LazyFrame, metric: Metric, by: Sequence[str]) -> pl.LazyFrame:
    """What values are weighted sums of: `by`, term, weight, counted, of terms that count."""
    if metric.combine in POOLED:
        terms = valued.select(*by, "counted", term=pl.lit(POOL), weight=pl.lit(1.0))
    else:
        terms = valued.select(*by, "terms").explode("terms").unnest("terms")
    return terms.filter(pl.col("counted") > 0).select(*by, "term", "weight", "counted")


def with_intervals(
    valued: pl.DataFrame,
    metrics: Mapping[str, Metric],
    sums: pl.DataFrame,
    request: Request,
    confidence: float,
) -> pl.DataFrame:
    """The rows of all metrics with the interval of each value, null where there is no value.

    All at once, since each step takes longer than what it does with these few rows.
    """
    by = ["metric", *_by(request)]
    told = valued.lazy().with_columns(_EVERYTHING)
    terms = pl.concat(
        shares(told.filter(metric=name), metric, by) for name, metric in metrics.items()
    )
    rolled = _rolled(
        sums.lazy(),
        request,
        *exact_sums(statistics.SUMS, statistics.SUMS),
        also=["metric", *statistics.KEYS],
    )
    found = statistics.intervals(terms, rolled, by, confidence)
    has_value = pl.col("value").is_not_null()
    return (
        _join(told, found, by)
        .with_columns(pl.when(has_value).then(pl.col(name)).alias(name) for name in INTERVAL)
        .select("edition", "metric", *request.by, *ROW_COLUMNS)
        .collect(engine=FOR_FEW)
    )


def values(
    name: str, metric: Metric, counted: Counts, sides: pl.LazyFrame, request: Request
) -> pl.LazyFrame:
    """The metric's rows for each group, as `pipeline.metrics.metrics` gives them."""
    by = _by(request)
    groups = _groups(metric, counted, sides, request)
    terms = _terms(metric, counted, groups, request)
    is_one_ratio = pl.lit(value=True) if metric.combine in POOLED else _IS_OF_ONE_TERM
    combined = terms.group_by(by, maintain_order=True).agg(
        value=pl.when(pl.col("n_unknown").sum() == 0).then(VALUE[metric.combine]),
        hits=pl.when(is_one_ratio).then(exact_sum(pl.col("hits"))),
        counted=pl.when(is_one_ratio).then(pl.col("counted").sum()),
        n_unknown=pl.col("n_unknown").sum(),
        has_some=pl.col("counted").sum() > 0,
        missing=pl.col("term").filter(pl.col("counted") == 0).str.join(", "),
        terms=pl.struct("term", "weight", "hits", "counted", value="ratio"),
    )
    sizes = pl.concat([counted.sums, counted.games], how="diagonal")
    n_rows = _rolled(sizes, request, pl.col("n_games", "n_unreadable").sum())
    return (
        _join(_join(groups, combined, by), n_rows, by)
        .with_columns(
            pl.col("n_games", "n_unreadable").fill_null(0),
            edition=pl.lit(request.edition),
            metric=pl.lit(name),
            reason=_reason(metric, request),
        )
        .select("edition", "metric", *request.by, *VALUE_COLUMNS)
        .cast(VALUE_COLUMNS)
    )


VALUE_COLUMNS = pl.Schema(
    {
        "value": pl.Float64(),
        "hits": pl.Float64(),
        "counted": pl.Int64(),
        "terms": pl.List(
            pl.Struct(
                {
                    "term": pl.String(),
                    "weight": pl.Float64(),
                    "hits": pl.Float64(),
                    "counted": pl.Int64(),
                    "value": pl.Float64(),
                }
            )
        ),
        "n_games": pl.Int64(),
        "n_unfinished": pl.Int64(),
        "n_unreadable": pl.Int64(),
        "reason": pl.String(),
    }
)
# What a row has beside edition, metric and groups: the interval stands beside the value.
ROW_COLUMNS = ("value", *INTERVAL, *list(VALUE_COLUMNS)[1:])


def _reason(metric: Metric, request: Request) -> pl.Expr:
    unknown = pl.format(metric.unknown, "n_unknown")
    hint = pl.lit(request.hint(metric.game_types))
    hint = pl.when("has_some").then(hint).otherwise(pl.lit(""))
    missing = pl.format("nothing to count: {}{}", "missing", hint)
    return pl.when(pl.col("value").is_null()).then(
        pl.when(pl.col("n_unknown") > 0).then(unknown).otherwise(missing)
    )


def _groups(metric: Metric, counted: Counts, sides: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """The groups that have a row, each with its number of unfinished games."""
    of_type = [] if request.is_rolled_up else [pl.col("game_type").min().alias("of_type")]
    if not request.is_of_results:
        groups = _rolled(counted.sums, request, pl.len(), *of_type)
        unknown = pl.lit(None, pl.Int64).alias("n_unfinished")
        return groups.select(*_by(request), unknown, of_type=_type_of_group(metric, request))
    is_mine = pl.col("game_type").is_in(metric.game_types)
    if not request.has_every_group:
        sides = sides.filter(is_mine)
    mine = sides.with_columns(pl.when(is_mine).then("n_unfinished").otherwise(0))
    groups = _rolled(mine, request, pl.col("n_unfinished").sum(), *of_type)
    if request.is_rolled_up:
        groups = groups.filter(pl.col("game_type").is_in(request.shown_types(metric)))
    return groups.select(*_by(request), "n_unfinished", of_type=_type_of_group(metric, request))


def _type_of_group(metric: Metric, request: Request) -> pl.Expr:
    """The game type that a group's terms are those of, `all` where it may have several."""
    if request.is_rolled_up:
        return pl.col("game_type")
    return pl.col("of_type") if request.tells_type(metric.game_types) else pl.lit(ALL)


def _terms(metric: Metric, counted: Counts, groups: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """Each term of each group that it can exist in, with its hits and what was counted."""
    n_rows = pl.col("counted", "n_unknown").sum()
    sums = _rolled(counted.sums, request, exact_sum(pl.col("hits")), n_rows, also=["term"])
    by = _by(request)
    declared = _declared(metric, request)
    expected = groups.join(declared, on="of_type").select(
        *by, "term", "place", "weight", "fixed_count"
    )
    found = expected.join(sums, on=[*by, "term"], how="left", nulls_equal=True)
    n_counted = pl.coalesce("fixed_count", "counted", pl.lit(0)).cast(pl.Int64)
    return (
        found.with_columns(pl.col("hits").fill_null(0.0), counted=n_counted)
        .with_columns(
            pl.col("n_unknown").fill_null(0),
            ratio=pl.when(pl.col("counted") > 0).then(pl.col("hits") / pl.col("counted")),
        )
        .with_columns(weight=_weight(metric, by))
        .sort("place")
    )


def _weight(metric: Metric, by: list[str]) -> pl.Expr:
    # In a mean each ratio that there is weighs the same.
    if metric.combine is not Combine.MEAN:
        return pl.col("weight")
    n_ratios = pl.col("ratio").count()
    return pl.when(pl.col("ratio").is_not_null()).then(1 / n_ratios.over(by))


def _declared(metric: Metric, request: Request) -> pl.LazyFrame:
    """The declared terms, a row for each type of game, or `all`, that they exist under."""
    declared = [
        {
            "term": term.name,
            "place": place,
            "weight": term.weight,
            "fixed_count": term.fixed_count(request.num_of_game) if term.fixed_count else None,
            "of_type": game_type,
        }
        for place, term in enumerate(metric.terms)
        for game_type in (*term.game_types, ALL)
    ]
    schema = {
        "term": pl.String,
        "place": pl.Int64,
        "weight": pl.Float64,
        "fixed_count": pl.Int64,
        "of_type": pl.String,
    }
    return pl.LazyFrame(declared, schema=schema)


def _rolled(
    counted: pl.LazyFrame,
    request: Request,
    *sums: pl.Expr,
    also: Sequence[str] = (),
) -> pl.LazyFrame:
    """Sums over the finest groups: by group, and over all game types where these are told apart."""
    by = [*_by(request), *also]
    everywhere = counted.with_columns(_EVERYTHING)
    rolled = [everywhere]
    if request.is_rolled_up:
        rolled.append(everywhere.with_columns(game_type=pl.lit(ALL)))
    return pl.concat([rows.group_by(by).agg(sums) for rows in rolled])


_EVERYTHING = pl.lit(0).alias("everything")


def _by(request: Request) -> list[str]:
    """The columns to group by; where there is none, one that is the same everywhere."""
    return list(request.by) or ["everything"]


def _join(left: pl.LazyFrame, right: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    return left.join(right, on=by, how="left", nulls_equal=True)
