"""What is thin: terms of a value with very few games of their own."""

from collections.abc import Callable, Collection

import polars as pl

from pipeline.metrics.counts import CLUSTER
from pipeline.metrics.grouping import group_columns, join, rolled, with_group
from pipeline.metrics.request import Request

LEAST_GAMES = 5
"""A term with fewer games of its own than this is thin."""
MARK = "†"
EXPLANATION = (
    f"{MARK} a term of the value has fewer than {LEAST_GAMES} games of its own (the number of the "
    "least): its interval can be far off"
)
THIN = pl.List(pl.Struct({"term": pl.String(), "n_games": pl.Int64()}))
GamesOf = Callable[[Collection[str]], pl.DataFrame]


def with_thin(
    rows: pl.DataFrame, sums: pl.DataFrame, request: Request, games_of: GamesOf
) -> pl.DataFrame:
    """The rows of all metrics with `thin`: terms with their games; null where there is no value.

    `sums` are those of `sums_by_cluster`. `games_of` counts the games of each term of these
    metrics, by the finest groups. A game is in one cluster, so most metrics need no such count.
    """
    n_clusters = pl.col(CLUSTER[-1]).n_unique().alias("n")
    by_term = rolled(sums.lazy(), request, n_clusters, also=["term"])
    few = by_term.filter(pl.col("n") < LEAST_GAMES).select(pl.col("metric").unique().sort())
    names = few.collect(engine="in-memory")["metric"].to_list()
    none = pl.lit([], THIN)
    thin = pl.col("thin").fill_null(none) if names else none
    found = with_group(rows.lazy(), request)
    if names:
        found = join(found, _thin_terms(games_of(names), request), group_columns(request))
    thin = pl.when(pl.col("value").is_not_null()).then(thin)
    place = rows.columns.index("effective_items") + 1
    columns = [*rows.columns[:place], "thin", *rows.columns[place:]]
    return found.with_columns(thin=thin).select(columns).collect(engine="in-memory")


def _thin_terms(games: pl.DataFrame, request: Request) -> pl.LazyFrame:
    """The thin terms of each group that has any, in the terms' order."""
    by_term = rolled(games.lazy(), request, pl.col("n_games").sum(), also=["term"])
    few = by_term.filter(pl.col("n_games") < LEAST_GAMES).sort("term", maintain_order=True)
    listed = few.group_by(group_columns(request), maintain_order=True)
    return listed.agg(thin=pl.struct("term", "n_games"))
