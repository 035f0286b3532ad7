"""The value of each group: counts are added up by group, made into terms, and these into values.

Engines count the finest groups; the requested ones are sums of these.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.metrics.declaration import POOLED, Combine, Metric
from pipeline.metrics.request import Request
from pipeline.metrics.results import VALUES
from pipeline.metrics.tally import GAMES, Counts
from pipeline.statistics.sums import exact_sum, scaled_sum
from pipeline.vocabulary import ALL

# Of a group's terms: weight, hits, counted, and ratio, null where nothing is counted.
_HITS = exact_sum(pl.col("hits"))
VALUE = {
    Combine.SUM: pl.when(pl.col("ratio").is_not_null().all()).then(
        scaled_sum(pl.col("weight") * pl.col("ratio"))
    ),
    Combine.MEAN: pl.when(pl.col("ratio").count() > 0).then(
        scaled_sum(pl.col("ratio")) / pl.col("ratio").count()
    ),
    Combine.POOLED: pl.when(pl.col("counted").sum() > 0).then(_HITS / pl.col("counted").sum()),
    Combine.POOLED_OVER_ALL: pl.when(pl.col("ratio").is_not_null().all()).then(
        _HITS / pl.col("counted").sum()
    ),
}
_OF_GAMES = ("n_games", "n_unfinished", "n_unreadable", "n_unknown")
VALUE_COLUMNS = pl.Schema(
    (name, VALUES[name].dtype)
    for name in ("value", "hits", "counted", "terms", *_OF_GAMES, "reason")
)
# In a mean, a term without a ratio has no weight.
_IS_OF_ONE_TERM = (pl.len() == 1) | (pl.col("weight").count() == 1)
_DECLARED = {
    "term": pl.String,
    "order": pl.Int64,
    "weight": pl.Float64,
    "fixed_count": pl.Int64,
    "of_type": pl.String,
}
_EVERYTHING = pl.lit(0).alias("everything")


def group_columns(request: Request) -> list[str]:
    """The columns that identify a group; without `by`, one constant column."""
    return ["metric", *(request.by or ["everything"])]


def with_group(rows: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """The rows with all columns of `group_columns`."""
    return rows if request.by else rows.with_columns(_EVERYTHING)


def rolled(
    counted: pl.LazyFrame, request: Request, *sums: pl.Expr, also: Sequence[str] = ()
) -> pl.LazyFrame:
    """Sums over the finest groups, by group; also over all game types if they are grouped by."""
    keys = [*group_columns(request), *also]
    parts = [with_group(counted, request)]
    if request.is_rolled_up:
        parts.append(counted.with_columns(game_type=pl.lit(ALL)))
    return pl.concat(part.group_by(keys, maintain_order=True).agg(sums) for part in parts)


def join(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The rows on the left with what the right has of their group."""
    return left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left")


def values(counts: Counts, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """The rows of all metrics: edition, metric, the groups, and then `VALUE_COLUMNS`."""
    parts = [_values(name, declared, counts, request) for name, declared in metrics.items()]
    frames = pl.collect_all(parts, engine="in-memory")
    if request.where is not None:
        dropped = [
            name
            for (name, declared), rows in zip(metrics.items(), frames, strict=True)
            if rows.is_empty() and request.shown_types(declared)
        ]
        frames += [_dropped(name, frames[0].schema, request) for name in dropped]
    return pl.concat(frames)


def _dropped(name: str, schema: pl.Schema, request: Request) -> pl.DataFrame:
    """The row of a metric of which the condition leaves nothing: it has a reason and no group."""
    columns = ", ".join(request.where.columns) if request.where else ""
    reason = f"no row meets the condition; `magic schema` explains {columns or 'the columns'}"
    none = {"n_games": 0, "n_unreadable": 0, "n_unknown": 0, "reason": reason}
    return pl.DataFrame([{"edition": request.edition, "metric": name, **none}], schema=schema)


def _values(name: str, declared: Metric, counts: Counts, request: Request) -> pl.LazyFrame:
    keys = group_columns(request)
    own_sums, own_games = (
        frame.lazy().filter(metric=name) for frame in (counts.sums, counts.games)
    )
    of_group = _groups(name, declared, counts, request)
    games = rolled(own_games, request, pl.col("n_games", "n_games_unknown").sum())
    n_rows = rolled(own_sums, request, pl.col("n_unreadable", "n_unknown").sum())
    terms = _terms(declared, own_sums, of_group, request)
    is_one_ratio = pl.lit(value=True) if declared.combine in POOLED else _IS_OF_ONE_TERM
    combined = terms.group_by(keys, maintain_order=True).agg(
        value=VALUE[declared.combine],
        hits=pl.when(is_one_ratio).then(_HITS),
        counted=pl.when(is_one_ratio).then(pl.col("counted").sum()),
        has_some=pl.col("counted").sum() > 0,
        missing=pl.col("term").filter(pl.col("counted") == 0).str.join(", "),
        terms=pl.struct(
            "term", "weight", pl.col("known_hits").alias("hits"), "counted", value="ratio"
        ),
    )
    joined = of_group
    for frame in (combined, games, n_rows):
        joined = join(joined, frame, keys)
    return (
        joined.with_columns(pl.col(*GAMES, "n_unreadable", "n_unknown").fill_null(0))
        .with_columns(value=pl.when(pl.col("n_games_unknown") == 0).then("value"))
        .with_columns(reason=_reason(declared, request), edition=pl.lit(request.edition))
        .select("edition", "metric", *request.by, *VALUE_COLUMNS)
        .cast(VALUE_COLUMNS)
    )


def _groups(name: str, declared: Metric, counts: Counts, request: Request) -> pl.LazyFrame:
    """The groups of a metric that have a row: its columns, n_unfinished, and `of_type`.

    `of_type` is the game type of the group, or `all`: the group has the terms of that type.
    """
    columns = [*group_columns(request), "n_unfinished"]
    type_of = pl.col("game_type").min().alias("of_type")
    also = [] if request.is_rolled_up else [type_of]
    if request.is_of_results:
        is_own = pl.col("game_type").is_in(declared.game_types)
        sides = counts.sides.lazy().with_columns(
            pl.when(is_own).then("n_unfinished").otherwise(0), metric=pl.lit(name)
        )
        if not request.has_every_group:
            sides = sides.filter(is_own)
        grouped = rolled(sides, request, pl.col("n_unfinished").sum(), *also)
    else:
        sums = counts.sums.lazy().filter(metric=name)
        unknown = pl.lit(None, pl.Int64).first().alias("n_unfinished")
        grouped = rolled(sums, request, unknown, *also)
    if request.is_rolled_up:
        grouped = grouped.with_columns(of_type="game_type")
        grouped = grouped.filter(pl.col("game_type").is_in(request.shown_types(declared)))
    elif not request.tells_type(declared.game_types):
        grouped = grouped.with_columns(of_type=pl.lit(ALL))
    return grouped.select(*columns, "of_type")


def _terms(
    declared: Metric, sums: pl.LazyFrame, of_group: pl.LazyFrame, request: Request
) -> pl.LazyFrame:
    """Each term of each group that it can exist in, with its hits and what was counted."""
    keys = group_columns(request)
    summed = pl.col("hits", "counted", "n_hits_unknown").sum()
    counted = rolled(sums, request, summed, also=["term"])
    expected = of_group.join(_declared(declared, request), on="of_type", maintain_order="left")
    n_counted = pl.coalesce("fixed_count", "counted", pl.lit(0)).cast(pl.Int64)
    is_known = pl.col("n_hits_unknown").fill_null(0) == 0
    ratio = pl.when(pl.col("counted") > 0, is_known).then(pl.col("hits") / pl.col("counted"))
    return (
        join(expected, counted, [*keys, "term"])
        .with_columns(pl.col("hits").cast(pl.Float64).fill_null(0.0), counted=n_counted)
        .with_columns(ratio=ratio, known_hits=pl.when(is_known).then("hits"))
        .with_columns(weight=_weight(declared, keys))
        .sort("order", maintain_order=True)
    )


def _weight(declared: Metric, keys: list[str]) -> pl.Expr:
    # In a mean, all ratios that exist have the same weight.
    if declared.combine is not Combine.MEAN:
        return pl.col("weight")
    n_ratios = pl.col("ratio").count().over(keys)
    return pl.when(pl.col("ratio").is_not_null()).then(1 / n_ratios)


def _declared(declared: Metric, request: Request) -> pl.LazyFrame:
    """The declared terms, a row for each type of game, or `all`, that they exist under."""
    terms = [
        {
            "term": term.name,
            "order": order,
            "weight": term.weight,
            "fixed_count": term.fixed_count(request.num_of_game) if term.fixed_count else None,
            "of_type": game_type,
        }
        for order, term in enumerate(declared.terms)
        for game_type in (*term.game_types, ALL)
    ]
    return pl.LazyFrame(terms, schema=_DECLARED)


def _reason(declared: Metric, request: Request) -> pl.Expr:
    """Why there is no value; null if there is a value."""
    unknown = pl.format(declared.unknown, "n_games_unknown")
    unknown = unknown.str.replace(r"\b1 games", "1 game")
    hint = (
        pl.when("has_some")
        .then(pl.lit(request.hint(declared.game_types)))
        .otherwise(pl.lit(""))
        .alias("hint")
    )
    missing = pl.format("nothing to count: {}{}", "missing", hint)
    return pl.when(pl.col("value").is_null()).then(
        pl.when(pl.col("n_games_unknown") > 0).then(unknown).otherwise(missing)
    )
