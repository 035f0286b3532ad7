"""Groups: from the finest ones, which engines count, to the requested ones."""

from collections.abc import Sequence

import polars as pl

from pipeline.metrics.counts import Counts
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import ALL, Request

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


def groups(name: str, declared: Metric, counts: Counts, request: Request) -> pl.LazyFrame:
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
        if request.is_of_results:
            grouped = grouped.filter(pl.col("game_type").is_in(request.shown_types(declared)))
    elif not request.tells_type(declared.game_types):
        grouped = grouped.with_columns(of_type=pl.lit(ALL))
    return grouped.select(*columns, "of_type")


def join(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The rows on the left with what the right has of their group."""
    return left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left")
