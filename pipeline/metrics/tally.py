"""The tally: what the rows of metrics come to, by group, cluster and term.

The engines polars, DuckDB and Spark run one text over the rows that each knows (`rows`).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
import polars as pl

from pipeline.errors import QueryError, UsageError, choose, is_of_parquet, one_line
from pipeline.events.readings import identified_setting
from pipeline.game import VARIANT_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.known import Metric, is_added, package_of, types_of
from pipeline.metrics.request import SETTING, Request
from pipeline.metrics.rows import HITS, RESULTS, frames, literals, selects, shared
from pipeline.plugins import PluginError
from pipeline.sqlfiles import identifier, literal
from pipeline.vocabulary import RELEASE, Engine

# The tasks that settings are variants of: the same setting, but for some keys, such as a prompt.
#
# Games of one task are one cluster of an interval and a pair of a comparison. A key varies a task
# if a setting names it in `variant_keys`, or if the request compares its values.


def task_ids(lake: StoredLake, varied: Sequence[Sequence[str]] = ()) -> dict[str, str]:
    """Return the task's id for each setting that has a key that varies it.

    The id is that of the setting without these keys. A game that nobody can repeat has no task.

    Args:
        lake: The lake, of one system.
        varied: Keys that vary a task, each as the path to it in the setting, beside those that
            settings name in `variant_keys`.
    """
    games = lake.table("games").filter(pl.col("setting_id") != pl.col("game_id"))
    if not varied:
        games = games.filter(pl.col(SETTING).str.contains(f'"{VARIANT_KEYS}":', literal=True))
    settings = games.select("setting_id", "game_type", SETTING).unique().drop_nulls()
    ids = {}
    for setting_id, game_type, text in settings.sort(pl.all()).collect().iter_rows():
        setting = msgspec.json.decode(text)
        named = setting.get(VARIANT_KEYS)
        # Formats other than interchange do not check what a setting has.
        keys = [str(key).split(".") for key in named] if isinstance(named, list) else []
        removed = [_remove(setting, path) for path in (*varied, *keys, [VARIANT_KEYS])]
        if any(removed):
            ids[setting_id] = identified_setting(game_type, setting).setting_id
    return ids


def in_tasks(column: str, ids: Mapping[str, str]) -> pl.Expr:
    """The column of setting ids, with the ids of tasks in their place."""
    return pl.col(column).cast(pl.String).replace(ids)


def _remove(setting: Any, path: Sequence[str]) -> bool:
    """Remove a key from a setting, and return whether it was there."""
    for key in path[:-1]:
        setting = setting.get(key) if isinstance(setting, dict) else None
    is_there = isinstance(setting, dict) and path[-1] in setting
    if is_there:
        del setting[path[-1]]
    return is_there


GAMES = ("n_games", "n_games_unknown")
CLUSTER = ("stratum", "cluster")

ENGINES = ("polars", "duckdb", "spark")


def n_rows(condition: str) -> str:
    """The sum of the rows that meet a condition, in SQL."""
    return f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT)"


def sum_of(hits: str, condition: str) -> str:
    """The sum of hits over the rows that meet a condition, in SQL."""
    return f"sum(CASE WHEN {condition} THEN CAST({hits} AS {HITS}) END)"


def n_games(condition: str) -> str:
    """The number of games with a row that meets a condition, in SQL."""
    return f"count(DISTINCT CASE WHEN {condition} THEN game_id END)"


_NONE = "CAST(0 AS BIGINT)"
_SUMS = {
    "hits": sum_of("hit", "is_counted"),
    "counted": n_rows("is_counted"),
    "n_unreadable": n_rows("parse_status <> 'ok'"),
    "n_unknown": n_rows("hit IS NULL AND parse_status <> 'outage'"),
    "n_undecided": n_rows("hit IS NULL AND parse_status IN ('ambiguous', 'unreadable')"),
    "n_hits_unknown": n_rows("is_counted AND hit IS NULL"),
}


class Clusters(NamedTuple):
    """The clusters of an interval: settings, or games for the models and competitions in `by_game`.

    Very many games are put together in groups, to bound the memory: those of one model whose ids,
    which are random, begin with the same four digits. `task_ids` replace the ids of settings that
    are variants of a task (`tasks.task_ids`).
    """

    by_game: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False
    task_ids: Mapping[str, str] = {}


class Question(NamedTuple):
    """What an engine has to count: sums of these metrics, and of some of them the number of games.

    Counting games is more work than all the sums, so it is done only for some metrics.
    Without `clusters` the sums are by group and term alone. `also` are more sums, in SQL by name.
    """

    metrics: Mapping[str, Metric]
    request: Request
    with_games: Collection[str]
    clusters: Clusters | None = None
    also: Mapping[str, str] = {}


class Counts(NamedTuple):
    """What an engine counted. Each frame has the finest groups of the request (`Request.fine`).

    sums   metric, group, stratum and cluster (if asked for), term, hits (the sum of the counted
           rows' hits), counted (rows), n_unreadable (rows whose text could not be read for sure,
           counted or not), n_unknown (rows without a hit that are no outages, counted or not),
           n_undecided (those of them whose text could not be read for sure),
           n_hits_unknown (counted rows without a hit)
    games  metric, group, n_games (with a counted row), n_games_unknown (with a counted row without
           a hit); both can be 0
    sides  group, n_unfinished (games in scope without an end): all groups that a tested side is in;
           no rows where `results` lacks a column of the group
    """

    sums: pl.DataFrame
    games: pl.DataFrame
    sides: pl.DataFrame


GAME_MARK = "game "
"""What a cluster that is a game begins with; a setting's id is made of hexadecimal digits."""


def clusters(played: pl.DataFrame, request: Request, task_ids: Mapping[str, str] = {}) -> Clusters:
    """The clusters for a request, from the settings of the games that the edition takes, as
    `completeness.played`.

    Settings are the clusters; variants of one task are one cluster. If these games of a model are
    of one setting or task only in a competition, or if the groups are of one setting each, there
    are no settings to compare, and the games are the clusters.
    """
    sides = played.group_by("model", "competition").agg(
        n_settings=in_tasks("setting_id", task_ids).n_unique(), n_games=pl.col("n_games").sum()
    )
    if not {"setting_id", "game_id"} & set(request.by):
        sides = sides.filter(pl.col("n_settings") == 1)
    named = sides.drop_nulls("competition").with_columns(pl.col("model").fill_null(""))
    named = named.sort("model", "competition")
    # Above so many games of a competition, games that are clusters are put together in groups.
    is_many = bool((named["n_games"] > 50_000).any())
    by_game = tuple(named.select("model", "competition").iter_rows())
    return Clusters(by_game, is_many, task_ids)


def queries(question: Question, rows: Mapping[str, str]) -> list[str]:
    """The SELECTs of each frame of `Counts`: the sides, then the sums and games of each metric.

    `rows` are what a FROM takes for the rows of a metric, or for `RESULTS`. The sides are left out
    where results do not tell them.
    """
    selects = [_sides(rows[RESULTS], question.request)] if question.request.is_of_results else []
    for name in question.metrics:
        selects += _of_metric(name, rows[name], question)
    return selects


def _of_metric(name: str, rows: str, question: Question) -> list[str]:
    """The SELECTs of a metric's sums and games: one where a game is in one group of the sums."""
    declared, by = question.metrics[name], [identifier(key) for key in question.request.fine]
    # Of rows that say themselves whether they are counted, the hit can be unknown.
    can_be_unknown = any(part.counted is not None for part in declared.rows)
    games = {
        "n_games": n_games("is_counted") if name in question.with_games else _NONE,
        "n_games_unknown": n_games("is_counted AND hit IS NULL") if can_be_unknown else _NONE,
    }
    # What was added is not known to have the hits that it says.
    n_hits = {"hits": f"CAST({n_rows('is_counted AND hit = 1')} AS {HITS})"}
    whole = {} if declared.has_partial_hits or is_added(name) else n_hits
    known = {} if can_be_unknown else {"n_hits_unknown": _NONE}
    sums = {**_SUMS, **whole, **known, **question.also}
    # A column less to group by. The terms of what was added are checked, so its rows tell them.
    if of_type := {} if is_added(name) else declared.term_of_type:
        cases = (f"WHEN {literal(one)} THEN {literal(term)}" for one, term in of_type.items())
        sums["term"] = f"CASE game_type {' '.join(cases)} END"
        if question.clusters is None:
            return [_select(name, by, {**sums, **games}, rows)]
    select = _select(name, by, games, rows) + "\nLIMIT 0" * ({*games.values()} == {_NONE})
    keys = by if of_type else [*by, "term"]
    if question.clusters is not None:
        keys = [*keys, "stratum", '"cluster"']
        cluster = _cluster(question.clusters)
        rows = f'(SELECT *, competition AS stratum, {cluster} AS "cluster" FROM {rows} AS own)'
    return [_select(name, keys, sums, rows), select]


def _select(name: str, by: Sequence[str], sums: Mapping[str, str], rows: str) -> str:
    """The SELECT of sums by group."""
    return f"""SELECT
    {literal(name)} AS metric,
    {", ".join(by)},
    {", ".join(f"{of} AS {column}" for column, of in sums.items())}
FROM {rows} AS attempts
GROUP BY {", ".join(by)}"""


def _sides(results: str, request: Request) -> str:
    by = ", ".join(map(identifier, request.fine))
    is_in_scope = f"game_index < {request.num_of_game}" if request.edition == RELEASE else "TRUE"
    return f"""SELECT
    {by},
    {n_games(f"NOT is_finished AND {is_in_scope}")} AS n_unfinished
FROM {results} AS results
GROUP BY {by}"""


def _cluster(clusters: Clusters) -> str:
    """The cluster that a row is in: its setting, or its game."""
    if not clusters.by_game:
        return "setting_id"
    game = "left(game_id, 4) || coalesce(model, '')" if clusters.is_cut else "game_id"
    # A model's name may hold any character, but a competition's has no line break.
    sides = literals(f"{competition}\n{model}" for model, competition in clusters.by_game)
    is_by_game = f"competition || '\n' || coalesce(model, '') IN ({sides})"
    return f"CASE WHEN {is_by_game} THEN {literal(GAME_MARK)} || {game} ELSE setting_id END"


def check_engine(engine: Engine, master: str | None) -> None:
    """Raises UsageError for an engine that is unknown, or a master that it cannot have."""
    if engine not in ENGINES:
        raise UsageError(f"no engine `{engine}`: {choose([engine], ENGINES)}")
    if master is not None and engine != "spark":
        raise UsageError("a master works only with the engine spark: add `--engine spark`")


def count(
    lake: StoredLake, question: Question, engine: Engine, master: str | None = None
) -> Counts:
    """What the engine counts, each frame sorted, so that equal lakes give equal answers."""
    try:
        found = _counted(lake, question, engine, master)
    except (pl.exceptions.PolarsError, QueryError) as error:
        # What an executor of Spark cannot do need not be said by the query, nor DuckDB's limits.
        limits = ("InterruptException", "OutOfMemoryException")
        is_of_query = engine != "spark" and type(error.__context__).__name__ not in limits
        if is_of_query and not is_of_parquet(error):
            # The definition of another package is wrong.
            named = ((name, package_of(name)) for name in question.metrics)
            if theirs := [
                f"`{name}` of the package {package}" for name, package in named if package
            ]:
                what = error.message if isinstance(error, QueryError) else one_line(error)
                raise PluginError(f"{' or '.join(theirs)} cannot count: {what}") from None
        raise
    if not question.request.is_of_results:
        found = [pl.DataFrame(schema={"n_unfinished": pl.Int64}), *found]
    sides, *of_metrics = found
    group = ("metric", *question.request.fine)
    cluster = () if question.clusters is None else CLUSTER
    shapes = ((*group, *cluster, "term", *_SUMS, *question.also), (*group, *GAMES))
    own = types_of(question.metrics, lambda one: one.game_types)
    sums, games = (
        pl.concat(
            (rows.select(shape) for rows in of_metrics if {*shape} <= {*rows.columns}),
            how="vertical_relaxed",
        ).join(own, on=own.columns, how="semi")
        for shape in shapes
    )
    if question.clusters is not None and question.clusters.task_ids:
        sums = sums.with_columns(in_tasks("cluster", question.clusters.task_ids))
    return Counts(*(frame.sort(pl.all(), nulls_last=True) for frame in (sums, games, sides)))


def _counted(
    lake: StoredLake, question: Question, engine: Engine, master: str | None
) -> list[pl.DataFrame]:
    if engine == "polars":
        rows = frames(question.metrics, question.request, cache(lake.table))
        context = pl.SQLContext(rows)
        # One query after the other: together they take twice the memory, and are no faster.
        return [
            context.execute(query).collect(engine="streaming")
            for query in queries(question, {name: identifier(name) for name in rows})
        ]
    texts = queries(question, selects(question.metrics, question.request))
    views = shared(question.request.num_of_game)
    # Imported here, so that polars does not wait for it. Spark is an extra, and slow to import.
    if engine == "spark":
        from pipeline.spark import Views, open_session

        return Views(open_session(master), lake, views).queries(texts)
    from pipeline.warehouse import answer, connect

    with connect(lake, views, "\n".join(texts)) as connection:
        return [answer(connection, text) for text in texts]
