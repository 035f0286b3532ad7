"""The value of each group: counts are added up by group, made into terms, and these into values.

Engines count the finest groups; the requested ones are sums of these.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from pipeline.errors import MetricError
from pipeline.metrics.declaration import POOLED, Combine, Metric, types_of
from pipeline.metrics.request import Request
from pipeline.metrics.results import VALUES
from pipeline.metrics.tally import GAMES, Counts
from pipeline.statistics.sums import ROUNDING, exact_sum, scaled_sum
from pipeline.vocabulary import ALL

_OF_ROWS = ("n_unreadable", "n_unknown", "n_undecided")
_OF_GAMES = ("n_games", "n_unfinished", *_OF_ROWS)
VALUE_COLUMNS = pl.Schema(
    (name, VALUES[name].dtype)
    for name in ("value", "hits", "counted", "terms", *_OF_GAMES, "reason")
)
_UNKNOWN = pl.col("n_games_unknown")
_ALL_UNKNOWN = pl.col("unknown").str.replace("{}", _UNKNOWN.cast(pl.String), literal=True)
# Why there is no value; null if there is a value.
_REASON = pl.when(pl.col("value").is_null()).then(
    pl.when(_UNKNOWN > 0)
    .then(_ALL_UNKNOWN.str.replace(r"\b1 games", "1 game"))
    .otherwise(
        pl.concat_str(
            pl.lit("nothing to count: "),
            pl.col("missing").list.join(", "),
            pl.when(pl.col("counted") > 0).then("hint").otherwise(pl.lit("")),
        )
    )
)
BEYOND = (
    "not within 0..1: divide it by the largest, and give the Term that `weight` and the Metric "
    "that `high`, so that values have their unit"
)
_DECLARED = {
    "metric": pl.String,
    "combine": pl.String,
    "term": pl.String,
    "order": pl.Int64,
    "weight": pl.Float64,
    "fixed_count": pl.Int64,
    "of_type": pl.String,
}

UNMET = "no row meets the condition"


def rolled(
    counted: pl.LazyFrame, request: Request, *sums: pl.Expr, also: Sequence[str] = ()
) -> pl.LazyFrame:
    """Sums over the finest groups, by group; also over all game types if they are grouped by, and
    not of each type if no other is asked for."""
    over_all = [counted.with_columns(game_type=pl.lit(ALL))] if request.is_rolled_up else []
    of_each = [] if over_all and request.game_types == (ALL,) else [counted]
    keys = [*request.keys, *also]
    parts = (part.group_by(keys, maintain_order=True).agg(sums) for part in [*of_each, *over_all])
    return pl.concat(parts)


def join(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The rows on the left with what the right has of their group."""
    return left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left")


def values(counts: Counts, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """The rows of all metrics: edition, metric, the groups, and then `VALUE_COLUMNS`.

    Raises MetricError for one whose hits are not within 0..1, as a package's can be.
    """
    # Parts that are added up may differ from 1 in a last digit.
    rounding = ROUNDING * (1 + pl.col("counted"))
    is_within = pl.col("hits").is_between(-rounding, pl.col("counted") + rounding)
    for name in counts.sums.filter(~is_within)["metric"].head(1):
        raise MetricError(f"`{name}` has a hit that is {BEYOND}")
    keys, sums = request.keys, counts.sums.lazy()
    rows = _groups(counts, metrics, request)
    of_terms = combined(
        _terms(sums, rows, metrics, request),
        keys,
        missing=pl.col("term").filter(pl.col("counted") == 0),
        terms=pl.struct(
            "term", "weight", pl.col("known_hits").alias("hits"), "counted", value="ratio"
        ),
    )
    games = rolled(counts.games.lazy(), request, pl.col(GAMES).sum())
    n_rows = rolled(sums, request, pl.col(_OF_ROWS).sum())
    for frame in (of_terms, games, n_rows):
        rows = join(rows, frame, keys)
    valued = (
        rows.with_columns(pl.col(*GAMES, *_OF_ROWS).fill_null(0))
        .with_columns(value=pl.when(pl.col("n_games_unknown") == 0).then("value"))
        .with_columns(reason=_REASON, edition=pl.lit(request.edition))
        .with_columns(
            pl.when("is_one_ratio").then(name).alias(name) for name in ("hits", "counted")
        )
        .select("edition", "metric", *request.by, *VALUE_COLUMNS)
        .cast(VALUE_COLUMNS)
        .collect(engine="in-memory")
    )
    return pl.concat([valued, *_dropped(valued, metrics, request)])


def combined(terms: pl.LazyFrame, by: Sequence[str], /, **also: pl.Expr) -> pl.LazyFrame:
    """Of each group its `value`, the sums of `hits` and `counted`, `is_one_ratio`, and more sums.

    `terms` have weight, hits, counted, ratio (null if nothing is counted), and `combine`.
    """
    combine, n, ratio = pl.col("combine"), pl.col("n_ratios"), pl.col("hits") / pl.col("counted")
    is_whole, is_mean = n == pl.col("n_terms"), combine == Combine.MEAN
    value = (
        pl.when(is_mean, n > 0)
        .then(pl.col("sum") / n)
        .when(combine == Combine.SUM, is_whole)
        .then("sum")
        .when(combine == Combine.POOLED, pl.col("counted") > 0)
        .then(ratio)
        .when(combine == Combine.POOLED_OVER_ALL, is_whole)
        .then(ratio)
    )
    # In a mean, a term without a ratio has no weight.
    is_one = (pl.col("n_terms") == 1) | (is_mean & (n == 1))
    weight = pl.when(is_mean).then(1.0).otherwise("weight")
    return (
        terms.with_columns(part=weight * pl.col("ratio"))
        .group_by(by)
        .agg(
            combine.first(),
            n_terms=pl.len(),
            n_ratios=pl.col("ratio").count(),
            sum=scaled_sum(pl.col("part")),
            hits=exact_sum(pl.col("hits")),
            counted=pl.col("counted").sum(),
            **also,
        )
        .with_columns(value=value, is_one_ratio=combine.is_in(POOLED) | is_one)
    )


def _dropped(
    valued: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> Iterator[pl.DataFrame]:
    """The rows of metrics of which the condition leaves nothing: a reason, and no group."""
    if request.where is None:
        return
    columns = ", ".join(request.where.columns) or "the columns"
    reason = f"{UNMET}; `magic schema` explains {columns}"
    none = {"n_games": 0, **dict.fromkeys(_OF_ROWS, 0), "reason": reason}
    there = valued["metric"].unique()
    for name, declared in metrics.items():
        if name not in there and request.shown_types(declared):
            row = {"edition": request.edition, "metric": name, **none}
            yield pl.DataFrame([row], schema=valued.schema)


def _groups(counts: Counts, metrics: Mapping[str, Metric], request: Request) -> pl.LazyFrame:
    """The groups of each metric that have a row: its columns, n_unfinished, `of_type`, and the
    words of its `reason`.

    `of_type` is the game type of the group, or `all`: the group has the terms of that type.
    """
    of_type = pl.col("game_type").min().alias("of_type")
    if request.is_of_results:
        results, own = counts.sides.lazy(), types_of(metrics, lambda one: one.game_types).lazy()
        sides = own.join(results, on="game_type")
        if request.has_every_group:
            every = own.select("metric").unique().join(results, how="cross")
            others = every.join(own, on=["metric", "game_type"], how="anti")
            none = others.with_columns(n_unfinished=pl.lit(0, pl.Int64))
            sides = pl.concat([sides, none.select(sides.collect_schema().names())])
        grouped = rolled(sides, request, pl.col("n_unfinished").sum(), of_type)
    else:
        unknown = pl.lit(None, pl.Int64).first().alias("n_unfinished")
        grouped = rolled(counts.sums.lazy(), request, unknown, of_type)
    if request.is_rolled_up:
        shown = types_of(metrics, request.shown_types).lazy()
        grouped = grouped.join(shown, on=["metric", "game_type"], how="semi")
    words = {
        "metric": list(metrics),
        "unknown": [declared.unknown for declared in metrics.values()],
        "hint": [request.hint(declared.game_types) for declared in metrics.values()],
        "tells_type": [request.tells_type(declared.game_types) for declared in metrics.values()],
    }
    is_told = pl.when("tells_type").then("of_type").otherwise(pl.lit(ALL))
    return grouped.join(pl.LazyFrame(words), on="metric").with_columns(of_type=is_told)


def _terms(
    sums: pl.LazyFrame, groups: pl.LazyFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.LazyFrame:
    """Each term of each group that it can exist in, with its hits and what was counted."""
    keys = request.keys
    summed = pl.col("hits", "counted", "n_hits_unknown").sum()
    counted = rolled(sums, request, summed, also=["term"])
    declared = _declared(metrics, request)
    expected = groups.select(*keys, "of_type").join(declared, on=["metric", "of_type"])
    n_counted = pl.coalesce("fixed_count", "counted", pl.lit(0)).cast(pl.Int64)
    is_known = pl.col("n_hits_unknown").fill_null(0) == 0
    ratio = pl.when(pl.col("counted") > 0, is_known).then(pl.col("hits") / pl.col("counted"))
    # In a mean, all ratios that exist have the same weight.
    mean = pl.when(pl.col("ratio").is_not_null()).then(1 / pl.col("ratio").count().over(keys))
    weight = pl.when(pl.col("combine") == Combine.MEAN).then(mean).otherwise("weight")
    return (
        join(expected, counted, [*keys, "term"])
        .with_columns(pl.col("hits").cast(pl.Float64).fill_null(0.0), counted=n_counted)
        .with_columns(ratio=ratio, known_hits=pl.when(is_known).then("hits"))
        .with_columns(weight=weight)
        .sort("order", maintain_order=True)
    )


def _declared(metrics: Mapping[str, Metric], request: Request) -> pl.LazyFrame:
    """The declared terms, a row for each type of game, or `all`, that they exist under."""
    terms = [
        {
            "metric": name,
            "combine": declared.combine,
            "term": term.name,
            "order": order,
            "weight": term.weight,
            "fixed_count": term.fixed_count(request.num_of_game) if term.fixed_count else None,
            "of_type": game_type,
        }
        for name, declared in metrics.items()
        for order, term in enumerate(declared.terms)
        for game_type in dict.fromkeys((*term.game_types, ALL))
    ]
    return pl.LazyFrame(terms, schema=_DECLARED)
