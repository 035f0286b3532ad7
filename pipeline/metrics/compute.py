"""The metrics in polars: rows to terms, terms to values, for any grouping."""

import polars as pl

from pipeline.metrics.declaration import IS_READABLE, Combine, Metric, Rows, Tables
from pipeline.metrics.request import ALL, PAPER, Request

_VALUE = {
    Combine.SUM: pl.when(pl.col("ratio").is_not_null().all()).then(
        (pl.col("weight") * pl.col("ratio")).sum()
    ),
    Combine.MEAN: pl.col("ratio").mean(),
    Combine.POOLED: pl.when(pl.col("counted").sum() > 0).then(
        pl.col("hits").sum() / pl.col("counted").sum()
    ),
    Combine.POOLED_OVER_ALL: pl.when(pl.col("ratio").is_not_null().all()).then(
        pl.col("hits").sum() / pl.col("counted").sum()
    ),
}


def rows(metric: Metric, tables: Tables, request: Request) -> pl.LazyFrame:
    """The rows that the metric is about, each with its `term`, `hit` and whether it `is_counted`.

    The paper edition asks for finished games and leaves outages uncounted; the release edition
    takes the games numbered below its number.
    """
    return pl.concat([_rows(one, tables, request) for one in metric.rows], how="diagonal_relaxed")


def _rows(one: Rows, tables: Tables, request: Request) -> pl.LazyFrame:
    table = tables(one.table) if isinstance(one.table, str) else one.table(tables)
    counted = pl.col("hit").is_not_null() if one.counted is None else one.counted
    if request.edition == PAPER:
        counted = counted & IS_READABLE
    wanted = [pl.col("is_tested"), _is_in_scope(request), _is_wanted(request), one.where]
    return (
        table.filter(*wanted)
        .with_columns(term=one.term, hit=one.hit)
        .with_columns(is_counted=counted)
    )


def _is_in_scope(request: Request) -> pl.Expr:
    if request.edition == PAPER:
        return pl.col("is_finished")
    return pl.col("game_index") < request.num_of_game


def _is_wanted(request: Request) -> pl.Expr:
    wanted = pl.lit(value=True)
    if request.models is not None:
        wanted = wanted & pl.col("model").is_in(request.models)
    if request.game_types is not None and not request.is_rolled_up:
        wanted = wanted & pl.col("game_type").is_in(request.game_types)
    return wanted


def values(name: str, metric: Metric, tables: Tables, request: Request) -> pl.LazyFrame:
    """The metric's rows for each group, as `pipeline.metrics.metrics` gives them."""
    counted = rows(metric, tables, request)
    by = _by(request)
    groups = _groups(metric, counted, tables, request)
    terms = _terms(metric, counted, groups, request)
    sizes = _grouped(
        counted,
        request,
        [],
        n_games=pl.col("game_id").filter("is_counted").n_unique(),
        n_unreadable=(pl.col("parse_status") != "ok").sum(),
    )
    combined = terms.group_by(by, maintain_order=True).agg(
        value=pl.when(pl.col("n_unknown").sum() == 0).then(_VALUE[metric.combine]),
        hits=pl.col("hits").sum(),
        counted=pl.col("counted").sum(),
        n_unknown=pl.col("n_unknown").sum(),
        missing=pl.col("term").filter(pl.col("counted") == 0).str.join(", "),
        terms=pl.struct("term", "weight", "hits", "counted", value="ratio"),
    )
    return (
        _join(_join(groups, combined, by), sizes, by)
        .with_columns(
            pl.when(metric.is_one_ratio).then("hits").alias("hits"),
            pl.when(metric.is_one_ratio).then("counted").alias("counted"),
            pl.col("n_games", "n_unreadable").fill_null(0),
            edition=pl.lit(request.edition),
            metric=pl.lit(name),
            reason=_reason(),
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


def _reason() -> pl.Expr:
    unknown = pl.format("cannot be told in {} games", "n_unknown")
    missing = pl.format("nothing to count: {}", "missing")
    return pl.when(pl.col("value").is_null()).then(
        pl.when(pl.col("n_unknown") > 0).then(unknown).otherwise(missing)
    )


def _groups(
    metric: Metric, counted: pl.LazyFrame, tables: Tables, request: Request
) -> pl.LazyFrame:
    """The groups that have a row, each with its number of unfinished games."""
    if not request.is_of_results:
        known = _grouped(counted, request, [], n_rows=pl.len(), **_of_type(request))
        unknown = pl.lit(None, pl.Int64).alias("n_unfinished")
        return known.select(*_by(request), unknown, of_type=_type_of_group(request))
    sides = tables("results").filter(pl.col("is_tested"), _is_wanted(request))
    if not request.has_every_group:
        sides = sides.filter(pl.col("game_type").is_in(metric.game_types))
    in_scope = pl.lit(value=True) if request.edition == PAPER else _is_in_scope(request)
    is_mine = pl.col("game_type").is_in(metric.game_types)
    unfinished = pl.col("game_id").filter(~pl.col("is_finished") & in_scope & is_mine).n_unique()
    groups = _grouped(sides, request, [], n_unfinished=unfinished, **_of_type(request))
    if request.is_rolled_up:
        groups = groups.filter(pl.col("game_type").is_in(request.shown_types(metric)))
    return groups.select(*_by(request), "n_unfinished", of_type=_type_of_group(request))


def _of_type(request: Request) -> dict[str, pl.Expr]:
    """The sum that tells a group's game type, where it is of one and not grouped by it."""
    if request.is_rolled_up or not request.is_of_one_type:
        return {}
    return {"of_type": pl.col("game_type").min()}


def _type_of_group(request: Request) -> pl.Expr:
    """The game type that a group's terms are those of, `all` where it may have several."""
    if request.is_rolled_up:
        return pl.col("game_type")
    return pl.col("of_type") if request.is_of_one_type else pl.lit(ALL)


def _terms(
    metric: Metric, counted: pl.LazyFrame, groups: pl.LazyFrame, request: Request
) -> pl.LazyFrame:
    """Each term of each group that it can exist in, with its hits and what was counted."""
    sums = _grouped(
        counted,
        request,
        ["term"],
        hits=pl.col("hit").filter("is_counted").sum(),
        counted=pl.col("is_counted").sum(),
        n_unknown=pl.col("game_id")
        .filter(pl.col("is_counted") & pl.col("hit").is_null())
        .n_unique(),
    )
    by = _by(request)
    declared = _declared(metric, request)
    expected = groups.join(declared, on="of_type").select(
        *by, "term", "place", "weight", "fixed_count"
    )
    summed = expected.join(sums, on=[*by, "term"], how="left", nulls_equal=True)
    counts = pl.coalesce("fixed_count", "counted", pl.lit(0)).cast(pl.Int64)
    return (
        summed.with_columns(pl.col("hits").fill_null(0.0), counted=counts)
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


def _grouped(
    frame: pl.LazyFrame, request: Request, also: list[str], **sums: pl.Expr
) -> pl.LazyFrame:
    """The frame's sums by group, and over all game types where these are told apart.

    A game is of one type, so what is distinct within types is distinct over all: sums roll up.
    """
    by = [*_by(request), *also]
    summed = frame.with_columns(_EVERYTHING).group_by(by).agg(**sums)
    if not request.is_rolled_up:
        return summed
    over_all = (
        summed.with_columns(game_type=pl.lit(ALL))
        .group_by(by)
        .agg(pl.col(name).sum() for name in sums)
    )
    return pl.concat([summed, over_all.select(*by, *sums)], how="vertical_relaxed")


_EVERYTHING = pl.lit(0).alias("everything")


def _by(request: Request) -> list[str]:
    """The columns to group by; where there is none, one that is the same everywhere."""
    return list(request.by) or ["everything"]


def _join(left: pl.LazyFrame, right: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    return left.join(right, on=by, how="left", nulls_equal=True)
