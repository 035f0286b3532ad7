"""Metric values from sums: an engine adds up rows, sums become terms, and terms become values.

Engines count the finest groups of a request; the requested groups are sums of these. Confidence
intervals come from the sums by cluster. Used by `pipeline.metrics` and by the reports.
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
    known_names_hint,
    one_line_message,
)
from pipeline.events.readings import setting_with_id
from pipeline.game_record import VARIANT_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.registry import (
    METRIC_VALUE_COLUMNS,
    MISSING_COMPETITIONS_DTYPE,
    POOLED_COMBINES,
    SMALL_SAMPLE_DTYPE,
    Combine,
    Metric,
    game_types_by_metric,
    is_plugin_or_added_metric,
    plugin_package_of_metric,
)
from pipeline.metrics.request import POOLED_TERM, SETTING, Request
from pipeline.metrics.row_queries import (
    HITS_SQL_TYPE,
    RESULTS_KEY,
    format_sql_string_list,
    requested_metric_and_result_frames,
    requested_metric_and_result_selects,
    views_shared_by_metric_queries,
)
from pipeline.plugins import PluginError
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.statistics.intervals import (
    MIN_SETTINGS_OF_UNEVEN_TERM,
    RELATIVE_ROUNDING,
    UNEVEN_TERM_RATIO,
    confidence_intervals,
    order_independent_sum,
    order_independent_sum_of_any_size,
)
from pipeline.text_format import SMALL_SAMPLE_MARK
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE, Engine

# Aggregation: sums of the rows of metrics by group, cluster and term.
#
# The engines polars, DuckDB and Spark run the same SQL over the rows that `row_queries` selects.

# Tasks. Settings that differ only in some keys, such as the prompt, are variants of one task.
#
# Games of one task are one cluster of an interval, and are compared as a pair. A key varies a task
# if a setting names it in `variant_keys`, or if the request compares its values.


def task_id_by_variant_setting(
    lake: StoredLake, varied_paths: Sequence[Sequence[str]] = ()
) -> dict[str, str]:
    """Return a task id for each setting that is one of several variants of the same task.

    The id is that of the setting without the keys that vary it. A game that nobody can repeat has
    no task.

    Args:
        lake: The lake, of one system.
        varied_paths: Paths of keys in the setting that vary a task, in addition to those that
            settings name in `variant_keys`.
    """
    games = lake.table("games").filter(pl.col("setting_id") != pl.col("game_id"))
    if not varied_paths:
        games = games.filter(pl.col(SETTING).str.contains(f'"{VARIANT_KEYS}":', literal=True))
    settings = games.select("setting_id", "game_type", SETTING).unique().drop_nulls()
    ids = {}
    for setting_id, game_type, setting_json in settings.sort(pl.all()).collect().iter_rows():
        setting = msgspec.json.decode(setting_json)
        variant_keys = setting.get(VARIANT_KEYS)
        # Only the format interchange validates the keys of a setting.
        variant_paths = (
            [str(key).split(".") for key in variant_keys] if isinstance(variant_keys, list) else []
        )
        are_removed = [
            _remove_setting_key_if_present(setting, path)
            for path in (*varied_paths, *variant_paths, [VARIANT_KEYS])
        ]
        if any(are_removed):
            ids[setting_id] = setting_with_id(game_type, setting).setting_id
    return ids


def replace_setting_ids_by_task_ids(column: str, task_ids: Mapping[str, str]) -> pl.Expr:
    """Return an expression that replaces the setting ids of a column by their task ids."""
    return pl.col(column).cast(pl.String).replace(task_ids)


def _remove_setting_key_if_present(setting: Any, path: Sequence[str]) -> bool:
    for key in path[:-1]:
        setting = setting.get(key) if isinstance(setting, dict) else None
    has_key = isinstance(setting, dict) and path[-1] in setting
    if has_key:
        del setting[path[-1]]
    return has_key


GAME_COUNT_COLUMNS = ("n_games", "n_games_unknown")
CLUSTER_COLUMNS = ("stratum", "cluster")

ENGINES = ("polars", "duckdb", "spark")


def count_rows_sql(condition: str) -> str:
    """Return SQL for the number of rows that meet a condition."""
    return f"CAST(sum(CASE WHEN {condition} THEN 1 ELSE 0 END) AS BIGINT)"


def sum_hits_sql(hits: str, condition: str) -> str:
    """Return SQL for the sum of hits over the rows that meet a condition."""
    return f"sum(CASE WHEN {condition} THEN CAST({hits} AS {HITS_SQL_TYPE}) END)"


def count_games_sql(condition: str) -> str:
    """Return SQL for the number of games with a row that meets a condition."""
    return f"count(DISTINCT CASE WHEN {condition} THEN game_id END)"


_ZERO = "CAST(0 AS BIGINT)"
_SUM_EXPRESSIONS = {
    "hits": sum_hits_sql("hit", "is_counted"),
    "counted": count_rows_sql("is_counted"),
    "n_unreadable": count_rows_sql("parse_status <> 'ok'"),
    "n_unknown": count_rows_sql("hit IS NULL AND parse_status <> 'outage'"),
    "n_undecided": count_rows_sql("hit IS NULL AND parse_status IN ('ambiguous', 'unreadable')"),
    "n_hits_unknown": count_rows_sql("is_counted AND hit IS NULL"),
}


class Clusters(NamedTuple):
    """The clusters of a confidence interval: settings, or games where settings cannot be compared.

    Attributes:
        by_game: Pairs of model and competition whose clusters are games.
        merges_games: Whether games are merged into groups to limit the memory: games of one model
            whose ids, which are random, begin with the same four digits.
        task_ids: The ids of tasks for settings that are variants, as `task_id_by_setting` returns
            them.
    """

    by_game: tuple[tuple[str, str], ...] = ()
    merges_games: bool = False
    task_ids: Mapping[str, str] = {}


class CountQuery(NamedTuple):
    """What an engine has to count.

    Attributes:
        metrics: The specs by name.
        request: The edition, groups and filters.
        with_games: The metrics whose games are counted, which takes longer than all sums.
        clusters: The clusters to count by; None counts by group and term only.
        extra_sums: Further sums, as SQL expressions by column name.
    """

    metrics: Mapping[str, Metric]
    request: Request
    with_games: Collection[str]
    clusters: Clusters | None = None
    extra_sums: Mapping[str, str] = {}


class Counts(NamedTuple):
    """The sums that an engine counted, by the finest groups of the request.

    Attributes:
        sums: The columns metric, the groups, stratum and cluster (if requested), term, hits (sum
            over counted rows), counted (number of counted rows), n_unreadable (rows whose text is
            not clear), n_unknown (rows without a hit, except outages), n_undecided (those of
            `n_unknown` whose text is not clear) and n_hits_unknown (counted rows without a hit).
        games: The columns metric, the groups, n_games (games with a counted row) and
            n_games_unknown (games with a counted row without a hit); both can be 0.
        sides: The groups and n_unfinished (games in scope that have not finished): all groups that
            a tested side belongs to. No rows if `results` lacks a column of the groups.
    """

    sums: pl.DataFrame
    games: pl.DataFrame
    sides: pl.DataFrame


GAME_CLUSTER_PREFIX = "game "
"""The prefix of a cluster that is a game; ids of settings consist of hexadecimal digits."""


def choose_settings_or_games_as_clusters(
    played: pl.DataFrame, request: Request, task_ids: Mapping[str, str] = {}
) -> Clusters:
    """Choose whether games or settings are the clusters of each model's confidence intervals.

    Variants of a task are one cluster. Games are the clusters of a model in a competition if all of
    its games there are of one setting or task, or if each group is of one setting.

    Args:
        played: The settings that the models played, as `played_games` returns them.
        request: The edition, groups and filters.
        task_ids: The ids of tasks for settings that are variants.
    """
    sides = played.group_by("model", "competition").agg(
        n_settings=replace_setting_ids_by_task_ids("setting_id", task_ids).n_unique(),
        n_games=pl.col("n_games").sum(),
    )
    if not {"setting_id", "game_id"} & set(request.by):
        sides = sides.filter(pl.col("n_settings") == 1)
    single_setting_sides = sides.drop_nulls("competition").with_columns(
        pl.col("model").fill_null("")
    )
    single_setting_sides = single_setting_sides.sort("model", "competition")
    # With very many games per competition, games that are clusters are merged into groups.
    has_many_games = bool((single_setting_sides["n_games"] > 50_000).any())
    by_game = tuple(single_setting_sides.select("model", "competition").iter_rows())
    return Clusters(by_game, has_many_games, task_ids)


def selects_for_counts(query: CountQuery, rows_sql_by_name: Mapping[str, str]) -> list[str]:
    """Return the SQL queries that count the hits, rows and games of all requested metrics.

    Args:
        query: What to count.
        rows_sql_by_name: For each metric, and for `RESULTS_KEY`, the SQL to select from.

    Returns:
        The SELECT for `sides`, unless `results` lacks a column of the groups, then those for `sums`
        and `games` of each metric.
    """
    selects = (
        [_unfinished_games_by_group_select(rows_sql_by_name[RESULTS_KEY], query.request)]
        if query.request.uses_only_columns_of_results
        else []
    )
    for name in query.metrics:
        selects += _selects_for_sums_and_games_of_metric(name, rows_sql_by_name[name], query)
    return selects


def _selects_for_sums_and_games_of_metric(name: str, rows_sql: str, query: CountQuery) -> list[str]:
    """Return the one or two SQL queries that count the hits, rows and games of a metric.

    It is a single query if each game is in only one group of the sums.
    """
    spec, quoted_group_columns = (
        query.metrics[name],
        [quote_identifier(key) for key in query.request.counted_group_columns],
    )
    # If the metric defines itself which rows are counted, a counted row may lack a hit.
    can_lack_hits = any(part.counted is not None for part in spec.rows)
    game_counts = {
        "n_games": count_games_sql("is_counted") if name in query.with_games else _ZERO,
        "n_games_unknown": count_games_sql("is_counted AND hit IS NULL")
        if can_lack_hits
        else _ZERO,
    }
    # Metrics of other packages may declare whole hits and have other ones.
    n_hits = {"hits": f"CAST({count_rows_sql('is_counted AND hit = 1')} AS {HITS_SQL_TYPE})"}
    hits_of_whole_rows = {} if spec.has_partial_hits or is_plugin_or_added_metric(name) else n_hits
    no_unknown_hits = {} if can_lack_hits else {"n_hits_unknown": _ZERO}
    sums = {**_SUM_EXPRESSIONS, **hits_of_whole_rows, **no_unknown_hits, **query.extra_sums}
    # Deriving the term from the game type saves a column to group by. Metrics of other packages are
    # not trusted to have the declared terms, so the terms are read from their rows.
    if terms_by_type := {} if is_plugin_or_added_metric(name) else spec.term_name_by_game_type:
        when_clauses = (
            f"WHEN {quote_literal(game_type)} THEN {quote_literal(term)}"
            for game_type, term in terms_by_type.items()
        )
        sums["term"] = f"CASE game_type {' '.join(when_clauses)} END"
        if query.clusters is None:
            return [
                _sums_by_group_select(name, quoted_group_columns, {**sums, **game_counts}, rows_sql)
            ]
    select = _sums_by_group_select(
        name, quoted_group_columns, game_counts, rows_sql
    ) + "\nLIMIT 0" * ({*game_counts.values()} == {_ZERO})
    sum_keys = quoted_group_columns if terms_by_type else [*quoted_group_columns, "term"]
    if query.clusters is not None:
        sum_keys = [*sum_keys, "stratum", '"cluster"']
        cluster = _setting_or_game_cluster_sql(query.clusters)
        rows_sql = (
            f'(SELECT *, competition AS stratum, {cluster} AS "cluster" FROM {rows_sql} AS own)'
        )
    return [_sums_by_group_select(name, sum_keys, sums, rows_sql), select]


def _sums_by_group_select(
    name: str, group_columns: Sequence[str], sum_expressions: Mapping[str, str], rows_sql: str
) -> str:
    return f"""SELECT
    {quote_literal(name)} AS metric,
    {", ".join(group_columns)},
    {", ".join(f"{expression} AS {column}" for column, expression in sum_expressions.items())}
FROM {rows_sql} AS attempts
GROUP BY {", ".join(group_columns)}"""


def _unfinished_games_by_group_select(results_sql: str, request: Request) -> str:
    group_columns = ", ".join(map(quote_identifier, request.counted_group_columns))
    is_in_scope = f"game_index < {request.num_of_game}" if request.edition == RELEASE else "TRUE"
    return f"""SELECT
    {group_columns},
    {count_games_sql(f"NOT is_finished AND {is_in_scope}")} AS n_unfinished
FROM {results_sql} AS results
GROUP BY {group_columns}"""


def _setting_or_game_cluster_sql(clusters: Clusters) -> str:
    """Return an SQL expression for the cluster of a row, which is its setting or its game."""
    if not clusters.by_game:
        return "setting_id"
    game = "left(game_id, 4) || coalesce(model, '')" if clusters.merges_games else "game_id"
    # The name of a model can contain any character, but a competition contains no line break.
    sides = format_sql_string_list(
        f"{competition}\n{model}" for model, competition in clusters.by_game
    )
    is_by_game = f"competition || '\n' || coalesce(model, '') IN ({sides})"
    prefix = quote_literal(GAME_CLUSTER_PREFIX)
    return f"CASE WHEN {is_by_game} THEN {prefix} || {game} ELSE setting_id END"


def check_engine(engine: Engine, master: str | None) -> None:
    """Raise UsageError if the engine is unknown, or if another engine than spark gets a master."""
    if engine not in ENGINES:
        raise UsageError(f"no engine `{engine}`: {known_names_hint([engine], ENGINES)}")
    if master is not None and engine != "spark":
        raise UsageError("a master works only with the engine spark: add `--engine spark`")


def count_with_engine(
    lake: StoredLake, query: CountQuery, engine: Engine, master: str | None = None
) -> Counts:
    """Count the hits, rows and games of metrics with an engine, and return sorted frames.

    Args:
        lake: The lake, of one system.
        query: What to count.
        engine: The engine: polars, duckdb or spark.
        master: The Spark master, only for the engine spark.

    Raises:
        PluginError: If a metric of another package cannot be computed.
    """
    try:
        frames = _run_count_queries(lake, query, engine, master)
    except (pl.exceptions.PolarsError, QueryError) as error:
        # A Spark executor, or a limit of DuckDB, can fail for reasons outside of the query.
        limits = ("InterruptException", "OutOfMemoryException")
        is_of_query = engine != "spark" and type(error.__context__).__name__ not in limits
        if is_of_query and not is_parquet_error(error):
            # Otherwise the definition of the other package is wrong.
            packages = ((name, plugin_package_of_metric(name)) for name in query.metrics)
            if plugin_names := [
                f"`{name}` of the package {package}" for name, package in packages if package
            ]:
                reason = error.message if isinstance(error, QueryError) else one_line_message(error)
                raise PluginError(f"{' or '.join(plugin_names)} cannot count: {reason}") from None
        raise
    if not query.request.uses_only_columns_of_results:
        frames = [pl.DataFrame(schema={"n_unfinished": pl.Int64}), *frames]
    sides, *metric_frames = frames
    group_columns = ("metric", *query.request.counted_group_columns)
    cluster_columns = () if query.clusters is None else CLUSTER_COLUMNS
    frame_columns = (
        (*group_columns, *cluster_columns, "term", *_SUM_EXPRESSIONS, *query.extra_sums),
        (*group_columns, *GAME_COUNT_COLUMNS),
    )
    game_types = game_types_by_metric(query.metrics, lambda metric: metric.game_types)
    sums, games = (
        pl.concat(
            (rows.select(columns) for rows in metric_frames if {*columns} <= {*rows.columns}),
            how="vertical_relaxed",
        ).join(game_types, on=game_types.columns, how="semi")
        for columns in frame_columns
    )
    if query.clusters is not None and query.clusters.task_ids:
        sums = sums.with_columns(
            replace_setting_ids_by_task_ids("cluster", query.clusters.task_ids)
        )
    return Counts(*(frame.sort(pl.all(), nulls_last=True) for frame in (sums, games, sides)))


def _run_count_queries(
    lake: StoredLake, query: CountQuery, engine: Engine, master: str | None
) -> list[pl.DataFrame]:
    if engine == "polars":
        rows = requested_metric_and_result_frames(query.metrics, query.request, cache(lake.table))
        context = pl.SQLContext(rows)
        # The queries run one after the other, because together they take twice the memory and are
        # not faster.
        return [
            context.execute(text).collect(engine="streaming")
            for text in selects_for_counts(query, {name: quote_identifier(name) for name in rows})
        ]
    texts = selects_for_counts(
        query, requested_metric_and_result_selects(query.metrics, query.request)
    )
    views = views_shared_by_metric_queries(query.request.num_of_game)
    # Imported here, so that the engine polars does not wait for them; Spark is slow to import.
    if engine == "spark":
        from pipeline.spark import SparkViews, get_or_start_session

        return SparkViews(get_or_start_session(master), lake, views).run_queries(texts)
    from pipeline.warehouse import connect, run_trusted_query

    with connect(lake, views, "\n".join(texts)) as connection:
        return [run_trusted_query(connection, text) for text in texts]


_ROW_COUNT_COLUMNS = ("n_unreadable", "n_unknown", "n_undecided")
VALUE_COLUMNS = pl.Schema(
    (name, METRIC_VALUE_COLUMNS[name].dtype)
    for name in (
        *("value", "hits", "counted", "terms", "n_games", "n_unfinished"),
        *(*_ROW_COUNT_COLUMNS, "reason"),
    )
)
_N_GAMES_UNKNOWN = pl.col("n_games_unknown")
# The reason why there is no value; null if there is a value.
_REASON = pl.when(pl.col("value").is_null()).then(
    pl.when(_N_GAMES_UNKNOWN > 0)
    .then(
        pl.col("unknown")
        .str.replace("{}", _N_GAMES_UNKNOWN.cast(pl.String), literal=True)
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
OUT_OF_RANGE_ADVICE = (
    "not within 0..1: divide it by the largest, and give the Term that `weight` and the Metric "
    "that `high`, so that values have their unit"
)
NO_ROW_REASON = "no row meets the condition"


def sum_by_requested_group(
    counts_by_finest_group: pl.LazyFrame,
    request: Request,
    *sums: pl.Expr,
    extra_keys: Sequence[str] = (),
) -> pl.LazyFrame:
    """Add up fine-grained counts to one row per group of the request.

    Args:
        counts_by_finest_group: Counts by the finest groups.
        request: The edition, groups and filters.
        *sums: The aggregations.
        extra_keys: Further columns to group by.

    Returns:
        One row per group. If game types are grouped by, there are also rows over all game types.
    """
    parts_over_all = (
        [counts_by_finest_group.with_columns(game_type=pl.lit(ALL_GAME_TYPES))]
        if request.has_rows_over_all_game_types
        else []
    )
    parts_by_type = (
        []
        if parts_over_all and request.game_types == (ALL_GAME_TYPES,)
        else [counts_by_finest_group]
    )
    keys = [*request.metric_and_group_columns, *extra_keys]
    grouped_parts = (
        part.group_by(keys, maintain_order=True).agg(sums)
        for part in [*parts_by_type, *parts_over_all]
    )
    return pl.concat(grouped_parts)


def left_join_on_keys(left: pl.LazyFrame, right: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Add the columns of `right` to all rows of `left`, by equal keys; nulls are equal."""
    return left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left")


def compute_metric_values(
    counts: Counts, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Compute the value of each metric in each group from the counts.

    Args:
        counts: The sums of an engine.
        metrics: The specs by name.
        request: The edition, groups and filters.

    Returns:
        The columns edition, metric, the groups, and those of `VALUE_COLUMNS`.

    Raises:
        MetricError: If a metric, such as one of another package, has hits that are not between 0
            and 1.
    """
    # Sums of fractions may differ from 1 by a rounding error.
    rounding = RELATIVE_ROUNDING * (1 + pl.col("counted"))
    is_within = pl.col("hits").is_between(-rounding, pl.col("counted") + rounding)
    for name in counts.sums.filter(~is_within)["metric"].head(1):
        raise MetricError(f"`{name}` has a hit that is {OUT_OF_RANGE_ADVICE}")
    keys, sums = request.metric_and_group_columns, counts.sums.lazy()
    rows = _groups_of_metrics_with_unfinished_games(counts, metrics, request)
    values = combine_term_ratios_into_values(
        _possible_terms_of_groups(sums, rows, metrics, request),
        keys,
        missing=pl.col("term").filter(pl.col("counted") == 0),
        terms=pl.struct(
            "term", "weight", pl.col("known_hits").alias("hits"), "counted", value="ratio"
        ),
    )
    game_counts = sum_by_requested_group(
        counts.games.lazy(), request, pl.col(GAME_COUNT_COLUMNS).sum()
    )
    row_counts = sum_by_requested_group(sums, request, pl.col(_ROW_COUNT_COLUMNS).sum())
    for frame in (values, game_counts, row_counts):
        rows = left_join_on_keys(rows, frame, keys)
    result = (
        rows.with_columns(pl.col(*GAME_COUNT_COLUMNS, *_ROW_COUNT_COLUMNS).fill_null(0))
        .with_columns(value=pl.when(pl.col("n_games_unknown") == 0).then("value"))
        .with_columns(reason=_REASON, edition=pl.lit(request.edition))
        .with_columns(
            pl.when("is_one_ratio").then(name).alias(name) for name in ("hits", "counted")
        )
        .select("edition", "metric", *request.by, *VALUE_COLUMNS)
        .cast(VALUE_COLUMNS)
        .collect(engine="in-memory")
    )
    return pl.concat([result, *_iter_reason_rows_of_metrics_without_data(result, metrics, request)])


def combine_term_ratios_into_values(
    terms: pl.LazyFrame, group_columns: Sequence[str], /, **extra_sums: pl.Expr
) -> pl.LazyFrame:
    """Combine the ratios of each group into one value, as a sum, a mean or a pooled ratio.

    Args:
        terms: The columns of `group_columns`, then weight, hits, counted, ratio (null if nothing is
            counted) and combine.
        group_columns: The columns that identify a group.
        **extra_sums: Further aggregations by column name.

    Returns:
        One row per group with `value`, the sums `hits` and `counted`, and `is_one_ratio`.
    """
    combine, n_ratios, ratio = (
        pl.col("combine"),
        pl.col("n_ratios"),
        pl.col("hits") / pl.col("counted"),
    )
    has_all_ratios, is_mean = n_ratios == pl.col("n_terms"), combine == Combine.MEAN
    value = (
        pl.when(is_mean, n_ratios > 0)
        .then(pl.col("sum") / n_ratios)
        .when(combine == Combine.SUM, has_all_ratios)
        .then("sum")
        .when(combine == Combine.POOLED, pl.col("counted") > 0)
        .then(ratio)
        .when(combine == Combine.POOLED_OVER_ALL, has_all_ratios)
        .then(ratio)
    )
    # In a mean, a term without a ratio is left out.
    has_one_ratio = (pl.col("n_terms") == 1) | (is_mean & (n_ratios == 1))
    weight = pl.when(is_mean).then(1.0).otherwise("weight")
    return (
        terms.with_columns(part=weight * pl.col("ratio"))
        .group_by(group_columns)
        .agg(
            combine.first(),
            n_terms=pl.len(),
            n_ratios=pl.col("ratio").count(),
            sum=order_independent_sum_of_any_size(pl.col("part")),
            hits=order_independent_sum(pl.col("hits")),
            counted=pl.col("counted").sum(),
            **extra_sums,
        )
        .with_columns(value=value, is_one_ratio=combine.is_in(POOLED_COMBINES) | has_one_ratio)
    )


def _iter_reason_rows_of_metrics_without_data(
    metric_values: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> Iterator[pl.DataFrame]:
    """Yield a row without a value for each metric of which no row meets the condition."""
    if request.where is None:
        return
    columns = ", ".join(request.where.columns) or "the columns"
    reason = f"{NO_ROW_REASON}; `magic schema` explains {columns}"
    empty_row = {"n_games": 0, **dict.fromkeys(_ROW_COUNT_COLUMNS, 0), "reason": reason}
    metrics_with_rows = metric_values["metric"].unique()
    for name, spec in metrics.items():
        if name not in metrics_with_rows and request.game_types_in_rows(spec):
            row = {"edition": request.edition, "metric": name, **empty_row}
            yield pl.DataFrame([row], schema=metric_values.schema)


def _groups_of_metrics_with_unfinished_games(
    counts: Counts, metrics: Mapping[str, Metric], request: Request
) -> pl.LazyFrame:
    """Return the groups of each metric, with n_unfinished and the texts for a missing value.

    The column `of_type` is the game type of the group, or `all`. It selects the ratios (terms) of
    the group.
    """
    group_type = pl.col("game_type").min().alias("of_type")
    if request.uses_only_columns_of_results:
        results, metric_types = (
            counts.sides.lazy(),
            game_types_by_metric(metrics, lambda metric: metric.game_types).lazy(),
        )
        sides = metric_types.join(results, on="game_type")
        if request.lists_groups_without_metric_games:
            all_groups = metric_types.select("metric").unique().join(results, how="cross")
            groups_without_games = all_groups.join(
                metric_types, on=["metric", "game_type"], how="anti"
            )
            empty_groups = groups_without_games.with_columns(n_unfinished=pl.lit(0, pl.Int64))
            sides = pl.concat([sides, empty_groups.select(sides.collect_schema().names())])
        groups = sum_by_requested_group(sides, request, pl.col("n_unfinished").sum(), group_type)
    else:
        unknown_unfinished = pl.lit(None, pl.Int64).first().alias("n_unfinished")
        groups = sum_by_requested_group(counts.sums.lazy(), request, unknown_unfinished, group_type)
    if request.has_rows_over_all_game_types:
        game_types_in_rows = game_types_by_metric(metrics, request.game_types_in_rows).lazy()
        groups = groups.join(game_types_in_rows, on=["metric", "game_type"], how="semi")
    metric_texts = {
        "metric": list(metrics),
        "unknown": [spec.unknown for spec in metrics.values()],
        "hint": [request.missing_terms_hint(spec.game_types) for spec in metrics.values()],
        "tells_type": [
            request.has_one_game_type_per_group(spec.game_types) for spec in metrics.values()
        ],
    }
    resolved_type = pl.when("tells_type").then("of_type").otherwise(pl.lit(ALL_GAME_TYPES))
    return groups.join(pl.LazyFrame(metric_texts), on="metric").with_columns(of_type=resolved_type)


def _possible_terms_of_groups(
    sums: pl.LazyFrame, groups: pl.LazyFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.LazyFrame:
    """Return the ratios (terms) that each group's value can have, with their hits and rows."""
    keys = request.metric_and_group_columns
    sum_columns = pl.col("hits", "counted", "n_hits_unknown").sum()
    counted_terms = sum_by_requested_group(sums, request, sum_columns, extra_keys=["term"])
    # One row for each game type of a term, and one for `all`.
    terms = [
        {
            "metric": name,
            "combine": spec.combine,
            "term": term.name,
            "order": order,
            "weight": term.weight,
            "fixed_count": term.fixed_count(request.num_of_game) if term.fixed_count else None,
            "of_type": game_type,
        }
        for name, spec in metrics.items()
        for order, term in enumerate(spec.terms)
        for game_type in dict.fromkeys((*term.game_types, ALL_GAME_TYPES))
    ]
    schema = {
        **dict.fromkeys(("metric", "combine", "term"), pl.String),
        **{"order": pl.Int64, "weight": pl.Float64, "fixed_count": pl.Int64, "of_type": pl.String},
    }
    terms_by_type = pl.LazyFrame(terms, schema=schema)
    expected_terms = groups.select(*keys, "of_type").join(terms_by_type, on=["metric", "of_type"])
    n_counted = pl.coalesce("fixed_count", "counted", pl.lit(0)).cast(pl.Int64)
    is_known = pl.col("n_hits_unknown").fill_null(0) == 0
    ratio = pl.when(pl.col("counted") > 0, is_known).then(pl.col("hits") / pl.col("counted"))
    # In a mean, all ratios have the same weight.
    mean_weight = pl.when(pl.col("ratio").is_not_null()).then(
        1 / pl.col("ratio").count().over(keys)
    )
    weight = pl.when(pl.col("combine") == Combine.MEAN).then(mean_weight).otherwise("weight")
    return (
        left_join_on_keys(expected_terms, counted_terms, [*keys, "term"])
        .with_columns(pl.col("hits").cast(pl.Float64).fill_null(0.0), counted=n_counted)
        .with_columns(ratio=ratio, known_hits=pl.when(is_known).then("hits"))
        .with_columns(weight=weight)
        .sort("order", maintain_order=True)
    )


# Confidence intervals and terms with small samples, from the sums by cluster.

MIN_SETTINGS_OF_TERM = 5
"""A term with fewer effective settings is listed in `small_sample_terms`."""
SMALL_SAMPLE_NOTE = (
    f"{SMALL_SAMPLE_MARK} and a number: a term of the value has only so many effective settings; "
    "its interval "
    "can be far off"
)
# The columns of a value's interval, which are null without a value. A group without a row in
# `_small_sample_terms` has an empty list in `small_sample_terms`.
_INTERVAL_COLUMNS = {
    **{name: pl.col(name) for name in ("ci_low", "ci_high", "ci_method", "effective_items")},
    "small_sample_terms": pl.col("small_sample_terms").fill_null(pl.lit([], SMALL_SAMPLE_DTYPE)),
    "missing_competitions": pl.col("missing_competitions"),
}
_RESULT_COLUMNS = [
    name for name in METRIC_VALUE_COLUMNS if name in {*VALUE_COLUMNS, *_INTERVAL_COLUMNS}
]


def sums_by_cluster_and_term(
    sums: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Return the hits and counted rows of each ratio of a metric in each setting or game.

    Args:
        sums: The frame `sums` of `Counts`, counted by cluster.
        metrics: The specs by name.
        request: The edition, groups and filters.

    Returns:
        The columns metric, the groups, stratum, cluster, cluster_kind (`setting` or `game`), term,
        h (hits) and c (counted rows). The terms of a metric that is one ratio are one term,
        `pooled`.
    """
    term = (
        pl.when(pl.col("metric").is_in(_names_of_metrics_with_pooled_terms(metrics)))
        .then(pl.lit(POOLED_TERM))
        .otherwise("term")
    )
    is_game = pl.col("cluster").str.starts_with(GAME_CLUSTER_PREFIX)
    counted = sums.lazy().filter(pl.col("counted") > 0)
    named_clusters = counted.with_columns(
        pl.col("cluster").str.strip_prefix(GAME_CLUSTER_PREFIX),
        term=term,
        cluster_kind=pl.when(is_game).then(pl.lit("game")).otherwise(pl.lit("setting")),
        h="hits",
        c="counted",
    )
    sum_columns = pl.col("h", "c").sum().cast(pl.Float64)
    extra_keys = [*CLUSTER_COLUMNS, "cluster_kind", "term"]
    return sum_by_requested_group(
        named_clusters, request, sum_columns, extra_keys=extra_keys
    ).collect(engine="in-memory")


def add_intervals_and_small_sample_warnings(
    values: pl.DataFrame,
    terms: pl.DataFrame,
    sums: pl.DataFrame,
    request: Request,
    confidence: float,
) -> pl.DataFrame:
    """Add confidence intervals to metric values, and list what makes a value unreliable.

    Args:
        values: The rows of `compute_values`.
        terms: The terms of the values, as `weighted_terms_of_values` returns them.
        sums: Hits and counted rows, as `sums_by_cluster_and_term` returns them.
        request: The edition, groups and filters.
        confidence: The confidence level, between 0 and 1.

    Returns:
        The rows with `ci_low`, `ci_high`, `ci_method`, `effective_items`, `small_sample_terms`
        and `missing_competitions`, which are null if there is no value.
    """
    keys, rows, clusters = request.metric_and_group_columns, values.lazy(), sums.lazy()
    cluster_kinds = pl.col("cluster_kind").unique().sort(descending=True).str.join(" or ")
    method = pl.format("mid-p, clustered by {}", cluster_kinds).alias("ci_method")
    group_frames = (
        confidence_intervals(clusters, terms.lazy(), keys, confidence),
        clusters.group_by(keys).agg(method),
        _terms_with_few_settings_by_group(clusters, keys),
        _competitions_that_only_other_models_have(clusters, request),
    )
    for frame in group_frames:
        rows = left_join_on_keys(rows, frame, keys)
    has_value = pl.col("value").is_not_null()
    return (
        rows.with_columns(
            **{
                name: pl.when(has_value).then(expression)
                for name, expression in _INTERVAL_COLUMNS.items()
            }
        )
        .select("edition", "metric", *request.by, *_RESULT_COLUMNS)
        .collect(engine="in-memory")
    )


def _terms_with_few_settings_by_group(clusters: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return the ratios (terms) of each group that come from very few settings.

    The number of effective settings, `n_effective`, is the number of settings if all have equally
    many items. Games take the place of settings where games are the clusters.

    Notes:
        With c items in a setting, `n_effective` is (Σc)² / Σc².
    """
    c, n = pl.col("c"), pl.col("n_effective")
    # The items of a setting (or game) are added up over its strata, which are the competitions.
    by_setting = clusters.group_by(*keys, "term", "cluster").agg(c.sum())
    by_term = by_setting.group_by(*keys, "term").agg(n_effective=c.sum() ** 2 / (c**2).sum())
    is_uneven = (n < MIN_SETTINGS_OF_UNEVEN_TERM) & (n.max().over(keys) >= UNEVEN_TERM_RATIO * n)
    small_terms = by_term.filter((n < MIN_SETTINGS_OF_TERM) | is_uneven).sort("term")
    return small_terms.group_by(keys, maintain_order=True).agg(
        small_sample_terms=pl.struct("term", "n_effective")
    )


def _competitions_that_only_other_models_have(
    clusters: pl.LazyFrame, request: Request
) -> pl.LazyFrame:
    """Return the competitions that each group's value lacks but other models' values count.

    The column is `missing_competitions`; it is null if values are not grouped by model.
    """
    keys = request.metric_and_group_columns
    counted_competitions = pl.col("stratum").drop_nulls().unique().alias("own")
    competitions_by_value = clusters.group_by(keys).agg(counted_competitions)
    if "model" not in request.by:
        return competitions_by_value.select(
            *keys, missing_competitions=pl.lit(None, MISSING_COMPETITIONS_DTYPE)
        )
    group = [key for key in keys if key != "model"]
    competitions_by_group = (
        competitions_by_value.explode("own")
        .group_by(group)
        .agg(every=pl.col("own").drop_nulls().unique())
    )
    missing = pl.col("every").list.set_difference("own").list.sort()
    return left_join_on_keys(competitions_by_value, competitions_by_group, group).select(
        *keys, missing_competitions=missing
    )


def weighted_terms_of_values(
    values: pl.DataFrame, metrics: Mapping[str, Metric], request: Request
) -> pl.DataFrame:
    """Return the ratios of each value with their weights in the value.

    Args:
        values: The rows of `compute_values`.
        metrics: The specs by name.
        request: The edition, groups and filters.

    Returns:
        The columns metric, the groups, term, weight and counted.
    """
    rows, keys = values.lazy(), request.metric_and_group_columns
    is_pooled = pl.col("metric").is_in(_names_of_metrics_with_pooled_terms(metrics))
    pooled_terms = rows.filter(is_pooled).select(
        *keys, "counted", term=pl.lit(POOLED_TERM), weight=pl.lit(1.0)
    )
    separate_terms = rows.filter(~is_pooled).select(*keys, "terms").explode("terms").unnest("terms")
    columns = [*keys, "term", "weight", "counted"]
    terms = pl.concat(frame.select(columns) for frame in (pooled_terms, separate_terms))
    return terms.filter(pl.col("counted") > 0).collect(engine="in-memory")


def _names_of_metrics_with_pooled_terms(metrics: Mapping[str, Metric]) -> list[str]:
    return [name for name, spec in metrics.items() if spec.combine in POOLED_COMBINES]
