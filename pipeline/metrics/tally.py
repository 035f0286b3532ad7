"""The tally: what the rows of metrics come to, by group, cluster and term.

An engine knows the rows that a metric is about, polars by the metric's expressions, DuckDB and
Spark by its SQL file: there the two writings of a metric meet. All of them run the same text over
these rows, and what follows, from the counts to the values, is the same for all.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import RELEASE, Request
from pipeline.sqlfiles import identifier, literal

HITS = "DECIMAL(38, 18)"
"""Hits are summed as decimals, so that a sum is the same in any order of its rows."""
GAMES = ("n_games", "n_games_unknown")
CLUSTER = ("stratum", "cluster")
# Above so many games of a competition, games that are clusters are put together in groups.
MANY_GAMES = 50_000
RESULTS = ""
"""Stands for the results of tested sides in place of a metric's name."""


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


def queries(question: Question, rows_of: Callable[[str], str]) -> list[str]:
    """The SELECTs of each frame of `Counts`: the sides, then the sums and games of each metric.

    `rows_of` gives what a FROM can name for the rows of a metric, or for `RESULTS`. The sides are
    left out where results do not tell them.
    """
    selects = [_sides(rows_of(RESULTS), question.request)] if question.request.is_of_results else []
    for name in question.metrics:
        rows = rows_of(name)
        selects += [_sums(name, rows, question), _games(name, rows, question)]
    return selects


def wanted(request: Request) -> str:
    """The condition that a row is of the requested models and game types."""
    conditions = []
    if request.models is not None:
        conditions.append(f"model IN ({literals(request.models)})")
    if request.game_types is not None and not request.is_rolled_up:
        conditions.append(f"game_type IN ({literals(request.game_types)})")
    if request.where is not None:
        conditions.append(request.where.sql)
    return " AND ".join(conditions) or "TRUE"


def literals(values: Iterable[str]) -> str:
    return ", ".join(map(literal, sorted(values))) or "NULL"


def _sums(name: str, rows: str, question: Question) -> str:
    keys = _listed(question.request.fine)
    clustered = rows
    if question.clusters is not None:
        keys += ' stratum, "cluster",'
        cluster = _cluster(question.clusters)
        selected = f'*, competition AS stratum, {cluster} AS "cluster"'
        clustered = f"(SELECT {selected} FROM {rows} AS own)"
    return f"""SELECT
    {literal(name)} AS metric,
    {keys}
    term,
    sum(CASE WHEN is_counted THEN CAST(hit AS {HITS}) END) AS hits,
    {_number("is_counted")} AS counted,
    {_number("parse_status <> 'ok'")} AS n_unreadable,
    {_number("hit IS NULL AND parse_status <> 'outage'")} AS n_unknown,
    {_number("is_counted AND hit IS NULL")} AS n_hits_unknown
FROM {clustered} AS attempts
GROUP BY {keys} term"""


def _games(name: str, rows: str, question: Question) -> str:
    fine, none = _listed(question.request.fine), "CAST(0 AS BIGINT)"
    counts_games, can_be_unknown = name in question.with_games, question.can_be_unknown(name)
    n_games = "count(DISTINCT game_id)" if counts_games else none
    n_unknown = "count(DISTINCT CASE WHEN hit IS NULL THEN game_id END)"
    select = f"""SELECT
    {literal(name)} AS metric,
    {fine}
    {n_games} AS n_games,
    {n_unknown if can_be_unknown else none} AS n_games_unknown
FROM {rows} AS attempts
WHERE is_counted
GROUP BY {fine.removesuffix(",")}"""
    return select if counts_games or can_be_unknown else f"{select}\nLIMIT 0"


def _sides(results: str, request: Request) -> str:
    fine = _listed(request.fine)
    is_in_scope = f"game_index < {request.num_of_game}" if request.edition == RELEASE else "TRUE"
    game = f"CASE WHEN NOT is_finished AND {is_in_scope} THEN game_id END"
    return f"""SELECT
    {fine}
    count(DISTINCT {game}) AS n_unfinished
FROM {results} AS results
GROUP BY {fine.removesuffix(",")}"""


def _cluster(clusters: Clusters) -> str:
    """The cluster that a row is in: its setting, or its game."""
    if not clusters.by_game:
        return "setting_id"
    cut = f"left(game_id, {clusters.digits}) || coalesce(model, '')"
    game = cut if clusters.is_cut else "game_id"
    # A model's name may hold any character, but a competition's has no line break.
    sides = literals(f"{competition}\n{model}" for model, competition in clusters.by_game)
    is_by_game = f"competition || '\n' || coalesce(model, '') IN ({sides})"
    return f"CASE WHEN {is_by_game} THEN {literal(GAME_MARK)} || {game} ELSE setting_id END"


def _number(condition: str) -> str:
    """How many rows meet a condition."""
    return f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT)"


def _listed(columns: Iterable[str]) -> str:
    """The columns with a comma after each."""
    return " ".join(f"{identifier(column)}," for column in columns)
