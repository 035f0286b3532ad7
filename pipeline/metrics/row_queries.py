"""The rows of a metric: in polars from its definition, in SQL from the CTE `attempts` of its file.

The two definitions of a metric meet here; everything after the rows, from sums to values, is the
same for both. Also defines the SQL views of the metrics. Used by `estimates` and `evidence`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace
from polars import selectors as cs

from pipeline import column, games, sql_files
from pipeline.action_tables import ACTION_TABLES
from pipeline.errors import MetricError, known_names_hint
from pipeline.events.contracts import TABLES
from pipeline.metrics import registry
from pipeline.metrics.registry import (
    GAME_TYPE_COLUMN,
    IS_READABLE,
    METRIC_VALUE_COLUMNS,
    NAMES,
    Metric,
    Rows,
    Tables,
    comparison_sql_file_name,
    has_sql,
    is_plugin_or_added_metric,
    metric_names,
    metric_spec,
    metric_sql,
    metric_sql_header_with_defaults,
    plugin_metrics,
    plugin_package_of_metric,
)
from pipeline.metrics.request import (
    Request,
    is_game_column,
    is_setting_key,
    setting_value_expression,
)
from pipeline.plugins import METRICS, NAME_PATTERN, NAME_RULE, PluginError, load_plugins
from pipeline.sql_files import SqlView, extract_with_clause, quote_identifier, quote_literal
from pipeline.vocabulary import (
    ALL_GAME_TYPES,
    DEFAULT_N_GAMES,
    EDITIONS,
    PAPER,
    RELEASE,
    Edition,
    ParseStatus,
)

COMPARED_COLUMN = "compared_with"
"""The column for what a row is compared with to decide whether it is a hit."""
RESULTS_KEY = ""
"""The key of the tested rows of `results`, beside the names of metrics."""
HITS_SQL_TYPE = "DECIMAL(38, 18)"
"""Hits are added up as decimals, so that a sum does not depend on the order of the rows."""
_TABLE_PATTERN = re.compile(r"\b(?:FROM|JOIN) (\w+)")
_COUNT_COLUMNS = (
    *("game_id", "model", "game_type", "competition", "setting_id"),
    *("term", "hit", "is_counted", "parse_status"),
)
# The columns that identify an action in the lake. An action without words has no message.
_ACTION_KEYS = ("game_id", "seat", "round", "message_index")
_GAMES_SELECT = """SELECT games.*, opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id"""


def requested_metric_and_result_frames(
    metrics: Mapping[str, Metric], request: Request, tables: Tables
) -> dict[str, pl.LazyFrame]:
    """Return the rows of each metric and of `results` that a request counts, as polars frames.

    Args:
        metrics: The specs by name.
        request: The edition, groups and filters.
        tables: Returns the frame of an event table by name.

    Returns:
        The requested rows of each metric by name, and the tested rows of `results` as
        `RESULTS_KEY`.
    """
    selected_games = select_games_by_condition(tables, request)
    if selected_games is not None:
        request = replace(request, where=None)
    results = add_game_columns(tables("results"), tables, request.game_columns_in_groups_and_filter)
    results = (
        selected_games.keep_rows_of_selected_games(results) if selected_games else results
    ).filter("is_tested")
    rows_by_metric = {
        name: metric_rows(spec, tables, request, selected_games) for name, spec in metrics.items()
    }
    # `results` has all columns of the condition only if it has all columns of the groups.
    results_frame = (
        {RESULTS_KEY: results.filter(pl.sql_expr(requested_rows_condition(request)))}
        if request.uses_only_columns_of_results
        else {}
    )
    return {**results_frame, **rows_by_metric}


def metric_rows(
    spec: Metric,
    tables: Tables,
    request: Request,
    selected_games: "GameSelection | None" = None,
) -> pl.LazyFrame:
    """Return the rows that a metric is about, each with its ratio, its hit and whether it counts.

    The edition release takes the games below its number of games. The other editions take finished
    games and do not count outages.

    Args:
        spec: The definition of the metric.
        tables: Returns the frame of an event table by name.
        request: The edition, groups and filters.
        selected_games: The games that meet the condition, if they were selected before.
    """
    has_metric_type = pl.col("game_type").is_in(spec.game_types)
    frames = [
        _select_metric_rows_of_table(row_spec, tables, request, selected_games).filter(
            has_metric_type
        )
        for row_spec in spec.rows
    ]
    return pl.concat(frames, how="diagonal_relaxed").with_columns(pl.col("hit").cast(pl.Float64))


def unclear_rows_outside_metric(name: str, tables: Tables, request: Request) -> list[pl.LazyFrame]:
    """Return the unclear rows, in tables that a metric uses, that the metric does not count.

    These are actions of other roles, models and games. The metric does not count them, and they
    have no `term`, `what` or `hit`.

    Args:
        name: The name of the metric.
        tables: Returns the frame of an event table by name.
        request: The edition, groups and filters.

    Returns:
        One frame per table; an empty list unless the request `has_unclear_others`.
    """
    if not request.has_unclear_rows_outside_metric:
        return []
    request_for_all = replace(request, models=None, game_types=None, where=None)
    metric_actions = metric_rows(
        metric_spec(name, request.edition), tables, request_for_all
    ).select(_ACTION_KEYS)
    return [
        add_game_columns(tables(table), tables, request.game_columns_in_groups_and_filter)
        .filter(
            pl.col("parse_status") != ParseStatus.OK, pl.sql_expr(requested_rows_condition(request))
        )
        .join(metric_actions, on=_ACTION_KEYS, how="anti", nulls_equal=True)
        .with_columns(is_counted=pl.lit(value=False))
        for table in _action_tables_named_by_metric(name)
    ]


def _action_tables_named_by_metric(name: str) -> list[str]:
    tables = dict.fromkeys(row_spec.table for row_spec in metric_spec(name).rows)
    return [table for table in tables if isinstance(table, str) and table in ACTION_TABLES]


class GameSelection(NamedTuple):
    """The games that a condition selects.

    Attributes:
        ids: The ids of the selected or of the excluded games, whichever are fewer.
        are_kept: Whether `ids` are the selected games.
    """

    ids: pl.DataFrame
    are_kept: bool

    def keep_rows_of_selected_games(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return only the rows that belong to selected games."""
        if self.ids.is_empty() and not self.are_kept:
            return rows
        return rows.join(self.ids.lazy(), on="game_id", how="semi" if self.are_kept else "anti")


def select_games_by_condition(tables: Tables, request: Request) -> GameSelection | None:
    """Return the games that meet the request's condition, if it names columns of games only.

    Checking each game once is faster than joining the games to the rows of every table. Every row
    belongs to a game; `magic verify` reports rows that do not.

    Args:
        tables: Returns the frame of an event table by name.
        request: The request with the condition.

    Returns:
        The selection; None if there is no condition, or if it names other columns.
    """
    where = request.where
    if where is None or not all(
        is_game_column(column) and column not in request.by for column in where.columns
    ):
        return None
    ids = tables("games").select("game_id")
    is_kept = pl.col("is_kept")
    games_with_flag = add_game_columns(ids, tables, where.columns).select(
        "game_id", is_kept=pl.sql_expr(where.sql).fill_null(value=False)
    )
    games = games_with_flag.collect(engine="streaming")
    are_kept = games["is_kept"].sum() <= games.height / 2
    return GameSelection(
        games.filter(is_kept if are_kept else ~is_kept).select("game_id"), are_kept
    )


def _select_metric_rows_of_table(
    rows_spec: Rows, tables: Tables, request: Request, selected_games: GameSelection | None = None
) -> pl.LazyFrame:
    frame = tables(rows_spec.table) if isinstance(rows_spec.table, str) else rows_spec.table(tables)
    if rows_spec.roles is not None:
        game_types = tables("roles").filter(rows_spec.roles).select("game_type").unique()
        frame = frame.join(game_types, on="game_type", how="semi")
    is_counted = pl.col("hit").is_not_null() if rows_spec.counted is None else rows_spec.counted
    if request.edition != RELEASE:
        is_counted = is_counted & pl.col("is_readable")
    rows = (
        add_game_columns(frame, tables, request.game_columns_in_groups_and_filter)
        .filter("is_tested", edition_counts_game_condition(request), rows_spec.where)
        .with_columns(
            term=rows_spec.term, what=rows_spec.what, hit=rows_spec.hit, is_readable=IS_READABLE
        )
        .with_columns((cs.by_name("hit") & cs.boolean()).cast(pl.Int64))  # as in SQL
        .with_columns(is_counted=is_counted.fill_null(value=False))
    )
    # Requested rows are selected last, because a hit can look at other rows (`.over("game_id")`).
    return (selected_games.keep_rows_of_selected_games(rows) if selected_games else rows).filter(
        pl.sql_expr(requested_rows_condition(request))
    )


def edition_counts_game_condition(request: Request) -> pl.Expr:
    """Return the condition that is true in rows of games that the edition counts."""
    if request.edition != RELEASE:
        return pl.col("is_finished")
    return pl.col("game_index") < request.num_of_game


def add_game_columns(rows: pl.LazyFrame, tables: Tables, columns: Sequence[str]) -> pl.LazyFrame:
    """Add columns of the game, such as its setting's keys, to rows of other tables.

    Args:
        rows: Rows with `game_id`.
        tables: Returns the frame of an event table by name.
        columns: Columns of `games`, `opponent`, or keys of the setting.
    """
    if not columns:
        return rows
    games = tables("games")
    if "opponent" in columns:
        opponents = tables("results").group_by("game_id").agg(pl.col("opponent").min())
        games = games.join(opponents, on="game_id", how="left")
    setting_values = [setting_value_expression(name) for name in columns if is_setting_key(name)]
    game_columns = games.with_columns(*setting_values).select("game_id", *columns)
    return rows.drop(columns, strict=False).join(game_columns, on="game_id", how="left")


def add_compared_with_column(
    name: str, edition: Edition, attempts: pl.LazyFrame, tables: Tables
) -> pl.LazyFrame:
    """Add a column with what each row is compared with, such as the secret word.

    A file in `sql/evidence` selects it from the rows `attempts`; polars and DuckDB run the same
    SQL. Files of `sql/shared` that it names are inserted as subqueries, because polars 2.0 does not
    support WITH in them. Without a file the column is null.

    Args:
        name: The name of the metric.
        edition: The edition: paper, release or audited.
        attempts: The rows of the metric.
        tables: Returns the frame of an event table by name.
    """
    file = comparison_sql_file_name(name, edition)
    if file is None:
        return attempts.with_columns(pl.lit(None, pl.String).alias(COMPARED_COLUMN))
    select = sql_files.read_select_with_shared_files(file)
    tables_by_name = {
        table: tables(table) for table in _TABLE_PATTERN.findall(select) if table in TABLES
    }
    return pl.SQLContext(tables_by_name, attempts=attempts).execute(select, eager=False)


def requested_rows_condition(request: Request) -> str:
    """Return an SQL condition that selects the request's models, game types and rows."""
    conditions = []
    if request.models is not None:
        conditions.append(f"model IN ({format_sql_string_list(request.models)})")
    if request.game_types is not None and not request.has_rows_over_all_game_types:
        conditions.append(f"game_type IN ({format_sql_string_list(request.game_types)})")
    if request.where is not None:
        conditions.append(request.where.sql)
    return " AND ".join(conditions) or "TRUE"


def format_sql_string_list(strings: Iterable[str]) -> str:
    """Format strings as a comma-separated list of SQL literals, or `NULL` if there are none."""
    return ", ".join(map(quote_literal, sorted(strings))) or "NULL"


def requested_metric_and_result_selects(metrics: Iterable[str], request: Request) -> dict[str, str]:
    """Return SQL for the rows of each metric and of `results` that a request counts.

    Rows of other game types than the metric's own are not left out here, because most files leave
    them out themselves, and it would take DuckDB a tenth more time.

    Args:
        metrics: The names of the metrics.
        request: The edition, groups and filters.
    """
    columns = ["game_id", "model", "game_type", "game_index", "is_finished", "is_tested"]
    columns += request.group_and_filter_columns
    results = _add_game_columns_to_select("SELECT * FROM results", columns, request)
    tested_results = (
        f"SELECT * FROM ({results}) AS rows WHERE is_tested AND {requested_rows_condition(request)}"
    )
    selects_by_metric = {
        name: f"({_requested_metric_rows_select(name, _COUNT_COLUMNS, request)})"
        for name in metrics
    }
    return {RESULTS_KEY: f"({tested_results})", **selects_by_metric}


def metric_rows_select(name: str, edition: Edition) -> str:
    """Return a SELECT for all rows that a metric is about, built from the metric's SQL file.

    Args:
        name: The name of the metric.
        edition: The edition: paper, release or audited.
    """
    # A metric of another package may have boolean hits.
    columns = (
        "* EXCLUDE (hit), CAST(hit AS DOUBLE) AS hit" if is_plugin_or_added_metric(name) else "*"
    )
    return f"{extract_with_clause(metric_sql(name, edition)).text}\nSELECT {columns} FROM attempts"


def metric_rows_with_comparison_select(name: str, edition: Edition) -> str:
    """Return a SELECT for all rows that a metric is about, with the column `compared_with`.

    Args:
        name: The name of the metric.
        edition: The edition: paper, release or audited.
    """
    if file := comparison_sql_file_name(name, edition):
        with_clause = extract_with_clause(metric_sql(name, edition)).text
        return f"{with_clause}\n{sql_files.read_sql_file(file)}"
    return (
        f"SELECT *, CAST(NULL AS VARCHAR) AS {COMPARED_COLUMN} "
        f"FROM ({metric_rows_select(name, edition)}) AS rows"
    )


def matching_rows_select(
    condition: str, name: str, columns: Iterable[str], request: Request
) -> str:
    """Return a SELECT for the requested rows of a metric that also meet a condition.

    The rows of `unclear_rows_outside_metric` are added if the request asks for them. `hit` is null
    in rows that are not counted.

    Args:
        condition: The SQL condition on the rows.
        name: The name of the metric.
        columns: The columns to select.
        request: The edition, groups and filters.
    """
    columns = [*columns]
    needed_columns = [*columns, "model", "game_type", "hit", "parse_status", "is_counted"]
    metric_types = format_sql_string_list(metric_spec(name, request.edition).game_types)
    hit_expression = {"hit": "CASE WHEN is_counted THEN hit END AS hit"}
    column_list = ", ".join(
        hit_expression.get(column) or quote_identifier(column) for column in columns
    )
    full_condition = f"({condition}) AND game_type IN ({metric_types})"
    if not request.has_unclear_rows_outside_metric:
        return (
            f"SELECT {column_list}\n"
            f"FROM ({_requested_metric_rows_select(name, needed_columns, request)}) AS wanted\n"
            f"WHERE {full_condition}"
        )
    all_rows_select = _all_metric_rows_select(name, [*needed_columns, *_ACTION_KEYS], request)
    metric_select = (
        f"SELECT {column_list} FROM of_metric "
        f"WHERE {requested_rows_condition(request)} AND {full_condition}"
    )
    unclear_selects = [
        _unclear_rows_outside_metric_select(table, columns, request)
        for table in _action_tables_named_by_metric(name)
    ]
    return f"WITH of_metric AS ({all_rows_select})\n" + "\nUNION ALL\n".join(
        [metric_select, *unclear_selects]
    )


def _unclear_rows_outside_metric_select(
    table: str, columns: Sequence[str], request: Request
) -> str:
    """Return a SELECT for the unclear rows of an action table that do not belong to the metric."""
    is_metric_row = " AND ".join(
        f"of_metric.{key} IS NOT DISTINCT FROM acts.{key}" for key in _ACTION_KEYS
    )
    unclear_actions = f"""SELECT * FROM {table} AS acts
WHERE parse_status <> '{ParseStatus.OK}'
    AND NOT EXISTS (SELECT 1 FROM of_metric WHERE {is_metric_row})"""
    table_columns = TABLES[table].columns()
    rows = _add_game_columns_to_select(
        unclear_actions,
        [*filter(table_columns.get, columns), *request.group_and_filter_columns],
        request,
    )
    constants = {"is_counted": "FALSE AS is_counted"}
    column_list = ", ".join(
        quote_identifier(column)
        if column in table_columns
        else constants.get(column, f"NULL AS {column}")
        for column in columns
    )
    return f"SELECT {column_list} FROM ({rows}) AS others WHERE {requested_rows_condition(request)}"


def _requested_metric_rows_select(name: str, columns: Sequence[str], request: Request) -> str:
    rows = _all_metric_rows_select(name, columns, request)
    return f"SELECT * FROM ({rows}) AS attempts WHERE {requested_rows_condition(request)}"


def _all_metric_rows_select(name: str, columns: Sequence[str], request: Request) -> str:
    base_select = (
        metric_rows_with_comparison_select if COMPARED_COLUMN in columns else metric_rows_select
    )
    return _add_game_columns_to_select(
        base_select(name, request.edition), [*columns, *request.group_and_filter_columns], request
    )


def _add_game_columns_to_select(rows_sql: str, columns: Iterable[str], request: Request) -> str:
    """Return a SELECT that adds to other rows the game columns that the request uses."""
    if not request.game_columns_in_groups_and_filter:
        return rows_sql
    row_columns = [
        name
        for name in dict.fromkeys(columns)
        if name not in request.game_columns_in_groups_and_filter
    ]
    expressions = [f"counted.{quote_identifier(name)}" for name in row_columns]
    expressions += [
        _game_column_expression(name) for name in request.game_columns_in_groups_and_filter
    ]
    return f"""SELECT {", ".join(expressions)}
FROM ({rows_sql}) AS counted
LEFT JOIN ({_GAMES_SELECT}) AS games
    ON games.game_id = counted.game_id"""


def _game_column_expression(column: str) -> str:
    json_path = "".join(f'."{key}"' for key in column.split(".")[1:])
    json_value = f"json_extract_string(games.setting, {quote_literal(f'${json_path}')})"
    setting_expression = f"{json_value} AS {quote_identifier(column)}"
    return setting_expression if is_setting_key(column) else f"games.{quote_identifier(column)}"


# The SQL views: metrics, terms, evidence, shared views and audits.
#
# Each SQL file in these folders is a view, and its folder is the schema of the view: `sql/shared`
# and `sql/audit`. `sql` and `sql/metrics` are the main schema; the folders in `sql/metrics` are the
# editions. The views of attempts, evidence and terms are derived from the files of the metrics.

ALL_METRICS_VIEW = "metrics"
"""The view over all metrics in each schema that has a view for each metric."""
LEADERBOARD_VIEW = "leaderboard"
"""The view of the models with all metrics. It and `ALL_METRICS_VIEW` are computed by Python."""

VIEW_COLUMNS: Mapping[str, column.Column] = {
    **METRIC_VALUE_COLUMNS,
    "game_type": GAME_TYPE_COLUMN,
    "term": column.text_column("the term (ratio) that counts the row, named as in docs/metrics.md"),
    "what": column.text_column("what the player did, in a word or two"),
    "hit": column.number_column(
        "the share of success of the row, from 0 to 1; null if it is not counted"
    ),
    "compared_with": column.text_column(
        "what the row is compared with to decide whether it is a hit, such as the players sought; "
        "null if the log does not say"
    ),
    "is_counted": column.boolean_column("whether the metric counts the row").with_heading(
        "counted"
    ),
    "content": column.text_column("the text of the row's message, null if the log has none"),
    "seat": column.small_integer_column(
        "the acting player's seat, null if the row belongs to a whole side"
    ),
    "round": column.small_integer_column("the round, null if the row belongs to the whole game"),
    "message_index": column.small_integer_column(
        "the message that the row was read from, from 0"
    ).with_heading("message"),
    "parse_status": column.text_column("how clearly the row could be read from its text"),
    "logged": column.text_column("what the log states"),
    "says": column.text_column("what the rest of the log says"),
    "is_found": column.boolean_column("whether the two contradict each other"),
    "hit_logged": column.number_column(
        "the metric's hit as logged, null if the metric does not count the row"
    ),
    "hit_read": column.number_column("the metric's hit according to the rest of the log"),
}
"""The columns of the views: of values, and of the rows that metrics and audits are about."""
_COLUMN_DESCRIPTIONS = {name: declared.description for name, declared in VIEW_COLUMNS.items()}
_ATTEMPT_COLUMNS = (
    *("term", "game_id", "game_type", "system", "setting_id", "game_index"),
    *("model", "role", "competition"),
    *("player", "seat", "round", "what", "hit", "parse_status", "message_index"),
)
_TERM_COLUMNS = ("edition", "metric", "system", "model", "game_type", "term")


def metric_views(num_of_game: int = DEFAULT_N_GAMES) -> dict[str, SqlView]:
    """Return all SQL views by name, in an order in which they can be created.

    Args:
        num_of_game: For the edition release: only games with a lower number count.

    Returns:
        The views by name, with the schema if it is not the main one.
    """
    views = views_shared_by_metric_queries(num_of_game)
    for edition in EDITIONS:
        views |= _metric_views_of_edition(Request(edition=edition, num_of_game=num_of_game))
    for audit in sql_files.sql_file_names("audit"):
        views[f"audit.{audit}"] = _view_from_sql_file(f"audit/{audit}")
    return views | {name: _view_from_sql_file(name) for name in sql_files.sql_file_names("")}


def qualified_view_name(schema: str, edition: Edition, name: str) -> str:
    """Return a view's name with its schema, which depends on the edition.

    No view holds two editions. The schemas of the edition paper have no suffix, as in
    `evidence.judgement`.

    Args:
        schema: The schema, such as `evidence`; empty for the main schema.
        edition: The edition: paper, release or audited.
        name: The name of the view.
    """
    parts = (schema, "" if edition == PAPER else edition, name)
    return f"{'_'.join(filter(None, parts[:2]))}.{name}".lstrip(".")


def views_shared_by_metric_queries(num_of_game: int = DEFAULT_N_GAMES) -> dict[str, SqlView]:
    """Return the SQL views that the metrics' queries need, in an order of creation.

    Args:
        num_of_game: For the edition release: only games with a lower number count.
    """
    files = sql_files.sql_file_names("shared")

    def dependency_depth(file: str) -> int:
        text = sql_files.read_sql_file(f"shared/{file}")
        return 1 + max(
            (
                dependency_depth(other_file)
                for other_file in files
                if f"shared.{other_file}" in text
            ),
            default=0,
        )

    # A view is created after the views that it names.
    views = {
        f"shared.{file}": _view_from_sql_file(f"shared/{file}")
        for file in sorted(files, key=dependency_depth)
    }
    parameters = f"SELECT CAST({num_of_game} AS BIGINT) AS num_of_game"
    name = "shared.release_parameters"
    return views | {name: views[name]._replace(select=parameters)}


def _metric_views_of_edition(request: Request) -> dict[str, SqlView]:
    """Return the views of one edition: for each metric its values and its rows."""
    edition = request.edition
    # Metrics that were added without SQL have no view.
    names = [name for name in metric_names(edition) if has_sql(name)]
    value_description = f"the value of {{}}, edition {edition}, for one model and game type"
    views = {
        qualified_view_name("", edition, name): _build_metric_view(
            metric_sql(name, edition), value_description.format(name), name
        )
        for name in names
    }
    for schema, (select, row) in _ROW_VIEWS.items():
        row_description = f"{row}, edition {edition}"
        for name in names:
            meaning = row_description.format(
                name=name, row=metric_sql_header_with_defaults(name, edition)["row"][0]
            )
            views[qualified_view_name(schema, edition, name)] = _build_metric_view(
                select(name, request), meaning, name
            )
        union = "\nUNION ALL\n".join(
            f"SELECT * FROM {qualified_view_name(schema, edition, name)}" for name in names
        )
        any_row_description = row_description.format(
            name="a metric", row="one row that a metric is about"
        )
        views[qualified_view_name(schema, edition, ALL_METRICS_VIEW)] = _build_metric_view(
            union, any_row_description
        )
    return views


def _attempts_view_select(name: str, request: Request) -> str:
    """Return a SELECT for all rows that a metric is about, counted or not."""
    # `hit` is null in rows that are not counted, so that its mean is the mean over counted rows.
    hit_expression = "CASE WHEN is_counted THEN hit END AS hit"
    columns = ", ".join(
        hit_expression if column == "hit" else column for column in _ATTEMPT_COLUMNS
    )
    return f"""SELECT
    {quote_literal(request.edition)} AS edition, {quote_literal(name)} AS metric,
    {columns}, is_counted
FROM ({metric_rows_select(name, request.edition)}) AS attempts"""


def _evidence_view_select(name: str, request: Request) -> str:
    """Return a SELECT for the counted rows of a metric, with their messages."""
    columns = ", ".join(f"counted.{column}" for column in (*_ATTEMPT_COLUMNS, COMPARED_COLUMN))
    return f"""SELECT
    {quote_literal(request.edition)} AS edition, {quote_literal(name)} AS metric,
    {columns}, messages.content
FROM ({metric_rows_with_comparison_select(name, request.edition)}) AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index
WHERE counted.is_counted"""


def _terms_view_select(name: str, request: Request) -> str:
    """Return a SELECT for the hits and counted rows of each ratio, by model and game type.

    A term without a row is left out, unless its denominator is fixed: then it has no hit.
    """
    spec = metric_spec(name, request.edition)
    row_types = ", ".join(map(quote_literal, request.game_types_in_rows(spec)))
    fixed_counts = {
        term.name: term.fixed_count(request.num_of_game) for term in spec.terms if term.fixed_count
    }
    counted = f"""SELECT
    edition, metric, system, model, term,
    coalesce(game_type, {quote_literal(ALL_GAME_TYPES)}) AS game_type,
    CAST(sum(CAST(hit AS {HITS_SQL_TYPE})) AS DOUBLE) AS hits,
    count(*) AS counted,
    count(*) - count(hit) AS n_unknown,
    count(DISTINCT game_id) AS n_games
FROM {qualified_view_name("attempts", request.edition, name)} AS attempts
WHERE is_counted
GROUP BY edition, metric, system, model, term, GROUPING SETS ((game_type), ())"""
    return f"""SELECT
    {", ".join(_TERM_COLUMNS)},
    CASE WHEN n_unknown = 0 THEN hits / counted END AS value,
    CASE WHEN n_unknown = 0 THEN hits END AS hits,
    counted,
    n_games
FROM ({_with_fixed_denominators(counted, fixed_counts) if fixed_counts else counted}) AS terms
WHERE game_type IN ({row_types})"""


def _with_fixed_denominators(counted_select: str, fixed_counts: Mapping[str, int]) -> str:
    """Return a SELECT that replaces the counted rows of some ratios by fixed numbers."""
    keys = ", ".join(_TERM_COLUMNS)
    absent = "\nUNION ALL\n".join(
        f"SELECT DISTINCT edition, metric, system, model, game_type, {quote_literal(term)} AS "
        "term,\n"
        "    CAST(0 AS DOUBLE) AS hits, 0 AS counted, 0 AS n_unknown, 0 AS n_games\n"
        "FROM counted"
        for term in fixed_counts
    )
    when_clauses = " ".join(
        f"WHEN {quote_literal(term)} THEN {n}" for term, n in fixed_counts.items()
    )
    return f"""WITH counted AS ({counted_select})
SELECT
    {keys},
    sum(hits) AS hits,
    CAST(CASE term {when_clauses} ELSE sum(counted) END AS BIGINT) AS counted,
    CAST(sum(n_unknown) AS BIGINT) AS n_unknown,
    CAST(sum(n_games) AS BIGINT) AS n_games
FROM (SELECT {keys}, hits, counted, n_unknown, n_games FROM counted UNION ALL {absent}) AS terms
GROUP BY {keys}"""


_ROW_VIEWS = {
    "attempts": (_attempts_view_select, "{row}, counted or not"),
    "evidence": (_evidence_view_select, "{row}, if it was counted"),
    "terms": (_terms_view_select, "one term of a value of {name}, for one model and game type"),
}


# Names that a new metric must not have: tables, views, schemas and columns of the leaderboard.
_RESERVED_NAMES = {
    *(
        *TABLES,
        *sql_files.sql_file_names(""),
        ALL_METRICS_VIEW,
        LEADERBOARD_VIEW,
        "shared",
        "audit",
    ),
    *(
        qualified_view_name(schema, edition, "").strip(".")
        for schema in ("", *_ROW_VIEWS)
        for edition in EDITIONS
    ),
    *(*registry.LEADERBOARD_COLUMNS, *registry.ORIGIN_COLUMNS, *registry.VIEW_OPTION_COLUMNS),
}


def check_new_metric_spec(name: str, spec: Metric, other_names: Collection[str]) -> None:
    """Raise MetricError if a new metric has a name that is taken, or an invalid definition.

    Columns of the leaderboard for this metric must not have the same names as those of another
    metric.

    Args:
        name: The name of the new metric.
        spec: Its definition.
        other_names: The names of the other metrics.

    Raises:
        MetricError: If the name is taken, a term has no or an unknown game type, or two terms have
            the same name.
    """
    collides_with_column = any(
        name == f"{other_name}{suffix}" or other_name == f"{name}{suffix}"
        for other_name in other_names
        for suffix in registry.ESTIMATE_FIELDS
    )
    if not NAME_PATTERN.fullmatch(name) or name in _RESERVED_NAMES or collides_with_column:
        raise MetricError(
            f"`{name}` cannot be the name of a new metric: choose another, of {NAME_RULE}"
        )
    if not spec.terms:
        raise MetricError(f"`{name}` has no Term, so it counts nothing: add one")
    term_names = [term.name for term in spec.terms]
    for term in spec.terms:
        if term_names.count(term.name) > 1:
            raise MetricError(
                f"`{name}` has several terms `{term.name}`, so the ratio would count several "
                "times: make them one Term of all their game types, or give each its own name"
            )
        if not term.game_types:
            raise MetricError(f"the term `{term.name}` of `{name}` names no game type: name one")
        if unknown_types := [
            str(game_type)
            for game_type in term.game_types
            if game_type not in games.game_type_names()
        ]:
            raise MetricError(
                f"the term `{term.name}` of `{name}` names an unknown game type: "
                f"{', '.join(unknown_types)}; "
                f"{known_names_hint(unknown_types, games.game_type_names())}"
            )


@cache
def check_plugin_metrics() -> None:
    """Raise PluginError if a plugin's metric has a name that is taken, or an invalid definition."""
    plugin_specs = plugin_metrics()
    for plugin in load_plugins(METRICS):
        try:
            other_names = [name for name in (*NAMES, *plugin_specs) if name != plugin.name]
            check_new_metric_spec(plugin.name, plugin_specs[plugin.name].declared, other_names)
        except MetricError as error:
            raise PluginError(f"{plugin}: {error}") from None


def _build_metric_view(select: str, row_meaning: str, metric_name: str = "") -> SqlView:
    """Build a view, attributed to the package that its metric comes from."""
    return SqlView(select, row_meaning, _COLUMN_DESCRIPTIONS, plugin_package_of_metric(metric_name))


def _view_from_sql_file(file: str) -> SqlView:
    header = sql_files.read_comment_header(file)
    column_descriptions = dict(line.split(" | ", 1) for line in header.get("column", []))
    return SqlView(
        sql_files.read_sql_file(file), header["row"][0], _COLUMN_DESCRIPTIONS | column_descriptions
    )
