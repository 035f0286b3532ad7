"""The value of each group: counts are added up by group, made into terms, and these into values.

Engines count the finest groups; the requested ones are sums of these.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
import polars as pl

from pipeline.errors import (
    MetricError,
    QueryError,
    UsageError,
    is_parquet_error,
    one_line_message,
    suggest_names,
)
from pipeline.events.readings import setting_with_id
from pipeline.game_record import VARIANT_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.registry import (
    LACKS_DTYPE,
    METRIC_VALUE_COLUMNS,
    POOLED_COMBINES,
    THIN,
    Combine,
    Metric,
    is_added,
    package_of,
    types_of,
)
from pipeline.metrics.request import POOL, SETTING, Request
from pipeline.metrics.row_queries import HITS, RESULTS, frames, selects, shared, sql_literals
from pipeline.plugins import PluginError
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.statistics.intervals import (
    MIN_SETTINGS_OF_UNEVEN_TERM,
    RELATIVE_ROUNDING,
    UNEVEN_TERM_RATIO,
    confidence_intervals,
    exact_sum,
    scaled_sum,
)
from pipeline.text_format import SMALL_SAMPLE_MARK
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE, Engine

# The tally: what the rows of metrics come to, by group, cluster and term.
#
# The engines polars, DuckDB and Spark run one text over the rows that each knows (`rows`).

# The tasks that settings are variants of: the same setting, but for some keys, such as a prompt.
#
# Games of one task are one cluster of an interval and a pair of a comparison. A key varies a task
# if a setting names it in `variant_keys`, or if the request compares its values.


def task_id_by_setting(lake: StoredLake, varied: Sequence[Sequence[str]] = ()) -> dict[str, str]:
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
            ids[setting_id] = setting_with_id(game_type, setting).setting_id
    return ids


def task_id_expression(column: str, ids: Mapping[str, str]) -> pl.Expr:
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


def count_rows_sql(condition: str) -> str:
    """The sum of the rows that meet a condition, in SQL."""
    return f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT)"


def sum_hits_sql(hits: str, condition: str) -> str:
    """The sum of hits over the rows that meet a condition, in SQL."""
    return f"sum(CASE WHEN {condition} THEN CAST({hits} AS {HITS}) END)"


def count_games_sql(condition: str) -> str:
    """The number of games with a row that meets a condition, in SQL."""
    return f"count(DISTINCT CASE WHEN {condition} THEN game_id END)"


_NONE = "CAST(0 AS BIGINT)"
_SUMS = {
    "hits": sum_hits_sql("hit", "is_counted"),
    "counted": count_rows_sql("is_counted"),
    "n_unreadable": count_rows_sql("parse_status <> 'ok'"),
    "n_unknown": count_rows_sql("hit IS NULL AND parse_status <> 'outage'"),
    "n_undecided": count_rows_sql("hit IS NULL AND parse_status IN ('ambiguous', 'unreadable')"),
    "n_hits_unknown": count_rows_sql("is_counted AND hit IS NULL"),
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


class CountQuery(NamedTuple):
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


GAME_CLUSTER_PREFIX = "game "
"""What a cluster that is a game begins with; a setting's id is made of hexadecimal digits."""


def clusters(played: pl.DataFrame, request: Request, task_ids: Mapping[str, str] = {}) -> Clusters:
    """The clusters for a request, from the settings of the games that the edition takes, as
    `completeness.played`.

    Settings are the clusters; variants of one task are one cluster. If these games of a model are
    of one setting or task only in a competition, or if the groups are of one setting each, there
    are no settings to compare, and the games are the clusters.
    """
    sides = played.group_by("model", "competition").agg(
        n_settings=task_id_expression("setting_id", task_ids).n_unique(),
        n_games=pl.col("n_games").sum(),
    )
    if not {"setting_id", "game_id"} & set(request.by):
        sides = sides.filter(pl.col("n_settings") == 1)
    named = sides.drop_nulls("competition").with_columns(pl.col("model").fill_null(""))
    named = named.sort("model", "competition")
    # Above so many games of a competition, games that are clusters are put together in groups.
    is_many = bool((named["n_games"] > 50_000).any())
    by_game = tuple(named.select("model", "competition").iter_rows())
    return Clusters(by_game, is_many, task_ids)


def queries(question: CountQuery, rows: Mapping[str, str]) -> list[str]:
    """The SELECTs of each frame of `Counts`: the sides, then the sums and games of each metric.

    `rows` are what a FROM takes for the rows of a metric, or for `RESULTS`. The sides are left out
    where results do not tell them.
    """
    selects = [_sides(rows[RESULTS], question.request)] if question.request.is_of_results else []
    for name in question.metrics:
        selects += _of_metric(name, rows[name], question)
    return selects


def _of_metric(name: str, rows: str, question: CountQuery) -> list[str]:
    """The SELECTs of a metric's sums and games: one where a game is in one group of the sums."""
    declared, by = question.metrics[name], [quote_identifier(key) for key in question.request.fine]
    # Of rows that say themselves whether they are counted, the hit can be unknown.
    can_be_unknown = any(part.counted is not None for part in declared.rows)
    games = {
        "n_games": count_games_sql("is_counted") if name in question.with_games else _NONE,
        "n_games_unknown": count_games_sql("is_counted AND hit IS NULL")
        if can_be_unknown
        else _NONE,
    }
    # What was added is not known to have the hits that it says.
    n_hits = {"hits": f"CAST({count_rows_sql('is_counted AND hit = 1')} AS {HITS})"}
    whole = {} if declared.has_partial_hits or is_added(name) else n_hits
    known = {} if can_be_unknown else {"n_hits_unknown": _NONE}
    sums = {**_SUMS, **whole, **known, **question.also}
    # A column less to group by. The terms of what was added are checked, so its rows tell them.
    if of_type := {} if is_added(name) else declared.term_of_type:
        cases = (
            f"WHEN {quote_literal(one)} THEN {quote_literal(term)}" for one, term in of_type.items()
        )
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
    {quote_literal(name)} AS metric,
    {", ".join(by)},
    {", ".join(f"{of} AS {column}" for column, of in sums.items())}
FROM {rows} AS attempts
GROUP BY {", ".join(by)}"""


def _sides(results: str, request: Request) -> str:
    by = ", ".join(map(quote_identifier, request.fine))
    is_in_scope = f"game_index < {request.num_of_game}" if request.edition == RELEASE else "TRUE"
    return f"""SELECT
    {by},
    {count_games_sql(f"NOT is_finished AND {is_in_scope}")} AS n_unfinished
FROM {results} AS results
GROUP BY {by}"""


def _cluster(clusters: Clusters) -> str:
    """The cluster that a row is in: its setting, or its game."""
    if not clusters.by_game:
        return "setting_id"
    game = "left(game_id, 4) || coalesce(model, '')" if clusters.is_cut else "game_id"
    # A model's name may hold any character, but a competition's has no line break.
    sides = sql_literals(f"{competition}\n{model}" for model, competition in clusters.by_game)
    is_by_game = f"competition || '\n' || coalesce(model, '') IN ({sides})"
    prefix = quote_literal(GAME_CLUSTER_PREFIX)
    return f"CASE WHEN {is_by_game} THEN {prefix} || {game} ELSE setting_id END"


def check_engine(engine: Engine, master: str | None) -> None:
    """Raises UsageError for an engine that is unknown, or a master that it cannot have."""
    if engine not in ENGINES:
        raise UsageError(f"no engine `{engine}`: {suggest_names([engine], ENGINES)}")
    if master is not None and engine != "spark":
        raise UsageError("a master works only with the engine spark: add `--engine spark`")


def count_with_engine(
    lake: StoredLake, question: CountQuery, engine: Engine, master: str | None = None
) -> Counts:
    """What the engine counts, each frame sorted, so that equal lakes give equal answers."""
    try:
        found = _counted(lake, question, engine, master)
    except (pl.exceptions.PolarsError, QueryError) as error:
        # What an executor of Spark cannot do need not be said by the query, nor DuckDB's limits.
        limits = ("InterruptException", "OutOfMemoryException")
        is_of_query = engine != "spark" and type(error.__context__).__name__ not in limits
        if is_of_query and not is_parquet_error(error):
            # The definition of another package is wrong.
            named = ((name, package_of(name)) for name in question.metrics)
            if theirs := [
                f"`{name}` of the package {package}" for name, package in named if package
            ]:
                what = error.message if isinstance(error, QueryError) else one_line_message(error)
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
        sums = sums.with_columns(task_id_expression("cluster", question.clusters.task_ids))
    return Counts(*(frame.sort(pl.all(), nulls_last=True) for frame in (sums, games, sides)))


def _counted(
    lake: StoredLake, question: CountQuery, engine: Engine, master: str | None
) -> list[pl.DataFrame]:
    if engine == "polars":
        rows = frames(question.metrics, question.request, cache(lake.table))
        context = pl.SQLContext(rows)
        # One query after the other: together they take twice the memory, and are no faster.
        return [
            context.execute(query).collect(engine="streaming")
            for query in queries(question, {name: quote_identifier(name) for name in rows})
        ]
    texts = queries(question, selects(question.metrics, question.request))
    views = shared(question.request.num_of_game)
    # Imported here, so that polars does not wait for it. Spark is an extra, and slow to import.
    if engine == "spark":
        from pipeline.spark import SparkViews, open_session

        return SparkViews(open_session(master), lake, views).queries(texts)
    from pipeline.warehouse import connect, run_trusted_query

    with connect(lake, views, "\n".join(texts)) as connection:
        return [run_trusted_query(connection, text) for text in texts]


_OF_ROWS = ("n_unreadable", "n_unknown", "n_undecided")
VALUE_COLUMNS = pl.Schema(
    (name, METRIC_VALUE_COLUMNS[name].dtype)
    for name in (
        *("value", "hits", "counted", "terms", "n_games", "n_unfinished"),
        *(*_OF_ROWS, "reason"),
    )
)
_UNKNOWN = pl.col("n_games_unknown")
# Why there is no value; null if there is a value.
_REASON = pl.when(pl.col("value").is_null()).then(
    pl.when(_UNKNOWN > 0)
    .then(
        pl.col("unknown")
        .str.replace("{}", _UNKNOWN.cast(pl.String), literal=True)
        .str.replace(r"\b1 games", "1 game")
    )
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
UNMET = "no row meets the condition"


def rolled(
    counted: pl.LazyFrame, request: Request, *sums: pl.Expr, also: Sequence[str] = ()
) -> pl.LazyFrame:
    """Sums over the finest groups, by group; also over all game types if they are grouped by, and
    not of each type if no other is asked for."""
    over_all = (
        [counted.with_columns(game_type=pl.lit(ALL_GAME_TYPES))] if request.is_rolled_up else []
    )
    of_each = [] if over_all and request.game_types == (ALL_GAME_TYPES,) else [counted]
    keys = [*request.key_columns, *also]
    parts = (part.group_by(keys, maintain_order=True).agg(sums) for part in [*of_each, *over_all])
    return pl.concat(parts)


def join(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The rows on the left with what the right has of their group."""
    return left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left")


def compute_values(counts: Counts, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """The rows of all metrics: edition, metric, the groups, and then `VALUE_COLUMNS`.

    Raises MetricError for one whose hits are not within 0..1, as a package's can be.
    """
    # Parts that are added up may differ from 1 in a last digit.
    rounding = RELATIVE_ROUNDING * (1 + pl.col("counted"))
    is_within = pl.col("hits").is_between(-rounding, pl.col("counted") + rounding)
    for name in counts.sums.filter(~is_within)["metric"].head(1):
        raise MetricError(f"`{name}` has a hit that is {BEYOND}")
    keys, sums = request.key_columns, counts.sums.lazy()
    rows = _groups(counts, metrics, request)
    of_terms = combine_terms(
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


def combine_terms(terms: pl.LazyFrame, by: Sequence[str], /, **also: pl.Expr) -> pl.LazyFrame:
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
        .with_columns(value=value, is_one_ratio=combine.is_in(POOLED_COMBINES) | is_one)
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
    is_told = pl.when("tells_type").then("of_type").otherwise(pl.lit(ALL_GAME_TYPES))
    return grouped.join(pl.LazyFrame(words), on="metric").with_columns(of_type=is_told)


def _terms(
    sums: pl.LazyFrame, groups: pl.LazyFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.LazyFrame:
    """Each term of each group that it can exist in, with its hits and what was counted."""
    keys = request.key_columns
    summed = pl.col("hits", "counted", "n_hits_unknown").sum()
    counted = rolled(sums, request, summed, also=["term"])
    # A row for each type of game, or `all`, that a term exists under.
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
        for game_type in dict.fromkeys((*term.game_types, ALL_GAME_TYPES))
    ]
    schema = {
        **dict.fromkeys(("metric", "combine", "term"), pl.String),
        **{"order": pl.Int64, "weight": pl.Float64, "fixed_count": pl.Int64, "of_type": pl.String},
    }
    of_types = pl.LazyFrame(terms, schema=schema)
    expected = groups.select(*keys, "of_type").join(of_types, on=["metric", "of_type"])
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


# How sure each value is: its interval, and its thin terms, from the sums over its clusters.
#
# A term is thin if it has very few settings of its own.

LEAST_SETTINGS = 5
"""A term with fewer effective settings of its own is thin."""
SMALL_SAMPLE_NOTE = (
    f"{SMALL_SAMPLE_MARK} and a number: a term of the value has only so many effective settings; "
    "its interval "
    "can be far off"
)
# What is known of each value, and null without one. Nothing is thin that has no row below.
_OF_VALUE = {
    **{name: pl.col(name) for name in ("ci_low", "ci_high", "ci_method", "effective_items")},
    "thin": pl.col("thin").fill_null(pl.lit([], THIN)),
    "lacks": pl.col("lacks"),
}
_COLUMNS = [name for name in METRIC_VALUE_COLUMNS if name in {*VALUE_COLUMNS, *_OF_VALUE}]


def sums_by_cluster(
    sums: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Hits `h` and counted `c` of each term: metric, the groups, stratum, cluster, cluster_kind,
    term, h, c.

    Where a metric is one ratio of all its terms, these are one term, called `pooled`. A cluster is
    of the kind `setting` or `game`.
    """
    term = pl.when(pl.col("metric").is_in(_pooled(metrics))).then(pl.lit(POOL)).otherwise("term")
    is_game = pl.col("cluster").str.starts_with(GAME_CLUSTER_PREFIX)
    counted = sums.lazy().filter(pl.col("counted") > 0)
    named = counted.with_columns(
        pl.col("cluster").str.strip_prefix(GAME_CLUSTER_PREFIX),
        term=term,
        cluster_kind=pl.when(is_game).then(pl.lit("game")).otherwise(pl.lit("setting")),
        h="hits",
        c="counted",
    )
    added_up = pl.col("h", "c").sum().cast(pl.Float64)
    by = [*CLUSTER, "cluster_kind", "term"]
    return rolled(named, request, added_up, also=by).collect(engine="in-memory")


def with_intervals(
    valued: pl.DataFrame,
    terms: pl.DataFrame,
    sums: pl.DataFrame,
    request: Request,
    confidence: float,
) -> pl.DataFrame:
    """The rows of all metrics with the interval of each value, `thin`: terms with their effective
    settings, and `lacks`: competitions. All are null where there is no value.

    `terms` are those of `terms_of`, `sums` those of `sums_by_cluster`.
    """
    keys, rows, clusters = request.key_columns, valued.lazy(), sums.lazy()
    kinds = pl.col("cluster_kind").unique().sort(descending=True).str.join(" or ")
    method = pl.format("mid-p, clustered by {}", kinds).alias("ci_method")
    of_groups = (
        confidence_intervals(clusters, terms.lazy(), keys, confidence),
        clusters.group_by(keys).agg(method),
        _thin(clusters, keys),
        _lacks(clusters, request),
    )
    for frame in of_groups:
        rows = join(rows, frame, keys)
    has_value = pl.col("value").is_not_null()
    return (
        rows.with_columns(**{name: pl.when(has_value).then(of) for name, of in _OF_VALUE.items()})
        .select("edition", "metric", *request.by, *_COLUMNS)
        .collect(engine="in-memory")
    )


def _thin(clusters: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The thin terms of each group that has any, as `thin`.

    With c items in a setting (or a game, where games are the clusters), `n_effective` is
    (Σc)² / Σc²: all settings where they have equally many items.
    """
    c, n = pl.col("c"), pl.col("n_effective")
    # A setting is one of all its roles together, and so is a game that is a cluster.
    by_setting = clusters.group_by(*keys, "term", "cluster").agg(c.sum())
    by_term = by_setting.group_by(*keys, "term").agg(n_effective=c.sum() ** 2 / (c**2).sum())
    is_beside = (n < MIN_SETTINGS_OF_UNEVEN_TERM) & (n.max().over(keys) >= UNEVEN_TERM_RATIO * n)
    few = by_term.filter((n < LEAST_SETTINGS) | is_beside).sort("term")
    return few.group_by(keys, maintain_order=True).agg(thin=pl.struct("term", "n_effective"))


def _lacks(clusters: pl.LazyFrame, request: Request) -> pl.LazyFrame:
    """The competitions that the value of another model counts in the same group, and that of this
    model does not, as `lacks`; null where models are not apart.

    Such values are of other games, as with a model that has no rank on the leaderboard.
    """
    keys = request.key_columns
    counted = pl.col("stratum").drop_nulls().unique().alias("own")
    own = clusters.group_by(keys).agg(counted)
    if "model" not in request.by:
        return own.select(*keys, lacks=pl.lit(None, LACKS_DTYPE))
    group = [key for key in keys if key != "model"]
    of_all = own.explode("own").group_by(group).agg(every=pl.col("own").drop_nulls().unique())
    lacks = pl.col("every").list.set_difference("own").list.sort()
    return join(own, of_all, group).select(*keys, lacks=lacks)


def terms_of(valued: pl.DataFrame, metrics: Mapping[str, Metric], request: Request) -> pl.DataFrame:
    """The terms that values are weighted sums of: metric, the groups, term, weight, counted."""
    rows, keys = valued.lazy(), request.key_columns
    is_pooled = pl.col("metric").is_in(_pooled(metrics))
    of_one_ratio = rows.filter(is_pooled).select(
        *keys, "counted", term=pl.lit(POOL), weight=pl.lit(1.0)
    )
    of_several = rows.filter(~is_pooled).select(*keys, "terms").explode("terms").unnest("terms")
    columns = [*keys, "term", "weight", "counted"]
    terms = pl.concat(frame.select(columns) for frame in (of_one_ratio, of_several))
    return terms.filter(pl.col("counted") > 0).collect(engine="in-memory")


def _pooled(metrics: Mapping[str, Metric]) -> list[str]:
    """The metrics that are one ratio of all their terms."""
    return [name for name, declared in metrics.items() if declared.combine in POOLED_COMBINES]
