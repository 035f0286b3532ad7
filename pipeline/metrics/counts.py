"""The question to an engine, and the counts that it returns: frames of few rows.

Every engine returns the same frames. All that follows (terms, values, intervals, completeness) is
made of them in one way, in polars.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import polars as pl

from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import Request

HITS = pl.Decimal(38, 18)
"""Hits are summed as decimals, so that a sum is the same in any order of its rows."""
SUMS = ("hits", "counted", "n_unreadable", "n_unknown", "n_hits_unknown")
GAMES = ("n_games", "n_games_unknown")
CLUSTER = ("stratum", "cluster")
# Above so many games of a competition, games that are clusters are put together in groups.
MANY_GAMES = 50_000


class Clusters(NamedTuple):
    """The clusters of an interval: settings, or games for the models and competitions in `by_game`.

    Very many games are put together in groups, to bound the memory: those of one model whose ids,
    which are random, begin with the same `digits`.
    """

    by_game: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False
    digits: int = 4


class Question(NamedTuple):
    """What an engine has to count: sums of these metrics, and of some of them the number of games.

    Counting games is more work than all the sums, so it is done only for some metrics.
    Without `clusters` the sums are by group and term alone.
    """

    metrics: Mapping[str, Metric]
    request: Request
    with_games: Collection[str]
    clusters: Clusters | None = None

    def can_be_unknown(self, name: str) -> bool:
        """Whether a row of the metric can be counted though its hit is unknown."""
        return any(rows.counted is not None for rows in self.metrics[name].rows)


class Counts(NamedTuple):
    """What an engine counted. Each frame has the finest groups of the request (`Request.fine`).

    sums   metric, group, stratum and cluster (if asked for), term, hits (the sum of the counted
           rows' hits), counted (rows), n_unreadable (rows whose text could not be read for sure,
           counted or not), n_unknown (rows that could be read and have no hit, counted or not),
           n_hits_unknown (counted rows without a hit)
    games  metric, group, n_games (with a counted row), n_games_unknown (with a counted row without
           a hit)
    sides  group, n_unfinished (games in scope without an end): all groups that a tested side is in;
           no rows where `results` lacks a column of the group
    """

    sums: pl.DataFrame
    games: pl.DataFrame
    sides: pl.DataFrame


GAME_MARK = "game "
"""What a cluster that is a game begins with; a setting's id is made of hexadecimal digits."""


def clusters(played: pl.DataFrame, request: Request) -> Clusters:
    """The clusters for a request, from the settings of the games that the edition takes, as
    `completeness.played`.

    Settings are the clusters. If these games of a model are of one setting only in a competition,
    or if the groups are of one setting each, there are no settings to compare, and the games are
    the clusters.
    """
    sides = played.group_by("model", "competition").agg(
        n_settings=pl.col("setting_id").n_unique(), n_games=pl.col("n_games").sum()
    )
    if not {"setting_id", "game_id"} & set(request.by):
        sides = sides.filter(pl.col("n_settings") == 1)
    named = sides.drop_nulls("competition").with_columns(pl.col("model").fill_null(""))
    named = named.sort("model", "competition")
    is_many = bool((named["n_games"] > MANY_GAMES).any())
    return Clusters(tuple(named.select("model", "competition").iter_rows()), is_cut=is_many)
