"""The rows of a metric: in polars those of its declaration, in SQL the CTE `attempts` of its file.

Here the two writings of a metric meet: what follows, from the sums to the values, is one for all.
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
from pipeline.errors import MetricError, suggest_names
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
    compared_file,
    has_sql,
    installed,
    is_added,
    metric_names,
    metric_spec,
    metric_sql,
    package_of,
    sql_header,
)
from pipeline.metrics.request import Request, is_game_column, is_key, key_of_setting
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

COMPARED = "compared_with"
"""The column for what a row is compared with to tell a hit."""
RESULTS = ""
"""Stands for the results of tested sides in place of a metric's name."""
HITS = "DECIMAL(38, 18)"
"""Hits are summed as decimals, so that a sum is the same in any order of its rows."""
_READ = re.compile(r"\b(?:FROM|JOIN) (\w+)")
_OF_ROW = (
    *("game_id", "model", "game_type", "competition", "setting_id"),
    *("term", "hit", "is_counted", "parse_status"),
)
# What tells what somebody did from all else in the lake. What is done in silence has no message.
_OF_ACT = ("game_id", "seat", "round", "message_index")
_GAMES = """SELECT games.*, opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id"""


def frames(
    metrics: Mapping[str, Metric], request: Request, tables: Tables
) -> dict[str, pl.LazyFrame]:
    """What is counted, by name: the wanted rows of each metric, and `RESULTS`."""
    games = game_selection(tables, request)
    if games is not None:
        request = replace(request, where=None)
    results = with_game(tables("results"), tables, request.of_game)
    results = (games.keep_selected(results) if games else results).filter("is_tested")
    of_metrics = {
        name: rows(declared, tables, request, games) for name, declared in metrics.items()
    }
    # Only where results tell the groups, they have all columns of the condition.
    sides = {RESULTS: results.filter(pl.sql_expr(wanted(request)))} if request.is_of_results else {}
    return {**sides, **of_metrics}


def rows(
    declared: Metric,
    tables: Tables,
    request: Request,
    games: "Chosen | None" = None,
) -> pl.LazyFrame:
    """The rows that the metric is about, each with its `term`, `what`, `hit` and `is_counted`.

    The release edition takes the games numbered below its number; the others ask for finished games
    and do not count outages.
    """
    is_own = pl.col("game_type").is_in(declared.game_types)
    parts = [_rows(part, tables, request, games).filter(is_own) for part in declared.rows]
    return pl.concat(parts, how="diagonal_relaxed").with_columns(pl.col("hit").cast(pl.Float64))


def unclear_others(name: str, tables: Tables, request: Request) -> list[pl.LazyFrame]:
    """Return the rows that are not the metric's own, but are in its tables of acts and not clear.

    These are acts of other roles, models and games. The metric does not count them, and they have
    no `term`, `what` or `hit`. The list is empty unless the request `has_unclear_others`.
    """
    if not request.has_unclear_others:
        return []
    of_any = replace(request, models=None, game_types=None, where=None)
    own = rows(metric_spec(name, request.edition), tables, of_any).select(_OF_ACT)
    return [
        with_game(tables(table), tables, request.of_game)
        .filter(pl.col("parse_status") != ParseStatus.OK, pl.sql_expr(wanted(request)))
        .join(own, on=_OF_ACT, how="anti", nulls_equal=True)
        .with_columns(is_counted=pl.lit(value=False))
        for table in _tables_of_acts(name)
    ]


def _tables_of_acts(name: str) -> list[str]:
    """The tables of what players do that the metric's declaration names."""
    named = dict.fromkeys(part.table for part in metric_spec(name).rows)
    return [table for table in named if isinstance(table, str) and table in ACTION_TABLES]


class Chosen(NamedTuple):
    """Games by their ids: those that a condition keeps, or those that it leaves out."""

    ids: pl.DataFrame
    are_kept: bool

    def keep_selected(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of the games that are kept."""
        if self.ids.is_empty() and not self.are_kept:
            return rows
        return rows.join(self.ids.lazy(), on="game_id", how="semi" if self.are_kept else "anti")


def game_selection(tables: Tables, request: Request) -> Chosen | None:
    """What a condition on games alone keeps or leaves out, whichever is less; None for another.

    Checking each game once is less work than joining the games to the rows of every table.
    Every row has its game: `magic verify` finds one that has none.
    """
    where = request.where
    if where is None or not all(is_game_column(n) and n not in request.by for n in where.columns):
        return None
    ids = tables("games").select("game_id")
    kept = pl.col("is_kept")
    answers = with_game(ids, tables, where.columns).select(
        "game_id", is_kept=pl.sql_expr(where.sql).fill_null(value=False)
    )
    games = answers.collect(engine="streaming")
    are_kept = games["is_kept"].sum() <= games.height / 2
    return Chosen(games.filter(kept if are_kept else ~kept).select("game_id"), are_kept)


def _rows(
    declared: Rows, tables: Tables, request: Request, games: Chosen | None = None
) -> pl.LazyFrame:
    table = tables(declared.table) if isinstance(declared.table, str) else declared.table(tables)
    if declared.roles is not None:
        types = tables("roles").filter(declared.roles).select("game_type").unique()
        table = table.join(types, on="game_type", how="semi")
    is_counted = pl.col("hit").is_not_null() if declared.counted is None else declared.counted
    if request.edition != RELEASE:
        is_counted = is_counted & pl.col("is_readable")
    told = (
        with_game(table, tables, request.of_game)
        .filter("is_tested", edition_condition(request), declared.where)
        .with_columns(
            term=declared.term, what=declared.what, hit=declared.hit, is_readable=IS_READABLE
        )
        .with_columns((cs.by_name("hit") & cs.boolean()).cast(pl.Int64))  # as in SQL
        .with_columns(is_counted=is_counted.fill_null(value=False))
    )
    # A hit can look at other rows (`.over("game_id")`): what is asked for is chosen after it.
    return (games.keep_selected(told) if games else told).filter(pl.sql_expr(wanted(request)))


def edition_condition(request: Request) -> pl.Expr:
    """Whether a row's game is one that the edition takes."""
    if request.edition != RELEASE:
        return pl.col("is_finished")
    return pl.col("game_index") < request.num_of_game


def with_game(rows: pl.LazyFrame, tables: Tables, columns: Sequence[str]) -> pl.LazyFrame:
    """The rows with these columns of their game."""
    if not columns:
        return rows
    games = tables("games")
    if "opponent" in columns:
        opponents = tables("results").group_by("game_id").agg(pl.col("opponent").min())
        games = games.join(opponents, on="game_id", how="left")
    keys = [key_of_setting(name) for name in columns if is_key(name)]
    of_game = games.with_columns(*keys).select("game_id", *columns)
    return rows.drop(columns, strict=False).join(of_game, on="game_id", how="left")


def with_compared(
    name: str, edition: Edition, attempts: pl.LazyFrame, tables: Tables
) -> pl.LazyFrame:
    """The metric's rows with the column `COMPARED`: the players sought, the secret word, the end.

    A file in `sql/evidence` selects it of the rows `attempts`: polars and DuckDB run the same text.
    The files of `sql/shared` that it names stand in it as subqueries, in which polars 2.0 knows no
    WITH. Without a file it is null.
    """
    file = compared_file(name, edition)
    if file is None:
        return attempts.with_columns(pl.lit(None, pl.String).alias(COMPARED))
    select = sql_files.read_select(file)
    read = {table: tables(table) for table in _READ.findall(select) if table in TABLES}
    return pl.SQLContext(read, attempts=attempts).execute(select, eager=False)


def wanted(request: Request) -> str:
    """The condition that a row is of the requested models and types, and meets the one given."""
    conditions = []
    if request.models is not None:
        conditions.append(f"model IN ({sql_literals(request.models)})")
    if request.game_types is not None and not request.is_rolled_up:
        conditions.append(f"game_type IN ({sql_literals(request.game_types)})")
    if request.where is not None:
        conditions.append(request.where.sql)
    return " AND ".join(conditions) or "TRUE"


def sql_literals(values: Iterable[str]) -> str:
    return ", ".join(map(quote_literal, sorted(values))) or "NULL"


def selects(metrics: Iterable[str], request: Request) -> dict[str, str]:
    """What is counted, by name: the same in SQL, as a FROM takes it, but for rows of a metric that
    are of other game types than its own.

    Most files leave these out by themselves, and DuckDB takes a tenth more time to do it again.
    """
    columns = ["game_id", "model", "game_type", "game_index", "is_finished", "is_tested"]
    columns += request.used_columns
    results = _with_game_sql("SELECT * FROM results", columns, request)
    sides = f"SELECT * FROM ({results}) AS rows WHERE is_tested AND {wanted(request)}"
    of_metrics = {name: f"({_select(name, _OF_ROW, request)})" for name in metrics}
    return {RESULTS: f"({sides})", **of_metrics}


def attempts(name: str, edition: Edition) -> str:
    """The SELECT of the rows that a metric is about: its file, with another end."""
    # Who adds a metric may give a hit as a Boolean.
    columns = "* EXCLUDE (hit), CAST(hit AS DOUBLE) AS hit" if is_added(name) else "*"
    return f"{extract_with_clause(metric_sql(name, edition)).text}\nSELECT {columns} FROM attempts"


def compared(name: str, edition: Edition) -> str:
    """The same rows, each with what it is `compared_with`; null where the metric does not say."""
    if file := compared_file(name, edition):
        return f"{extract_with_clause(metric_sql(name, edition)).text}\n{sql_files.read_file(file)}"
    return f"SELECT *, CAST(NULL AS VARCHAR) AS {COMPARED} FROM ({attempts(name, edition)}) AS rows"


def rows_where(condition: str, name: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of these columns of the metric's rows that are wanted and meet the condition, and
    of its `unclear_others`.

    What is not counted is no hit and no miss.
    """
    columns = [*columns]
    needed = [*columns, "model", "game_type", "hit", "parse_status", "is_counted"]
    types = sql_literals(metric_spec(name, request.edition).game_types)
    hit = {"hit": "CASE WHEN is_counted THEN hit END AS hit"}
    listed = ", ".join(hit.get(column) or quote_identifier(column) for column in columns)
    is_chosen = f"({condition}) AND game_type IN ({types})"
    if not request.has_unclear_others:
        return (
            f"SELECT {listed}\nFROM ({_select(name, needed, request)}) AS wanted\nWHERE {is_chosen}"
        )
    of_metric = _rows_sql(name, [*needed, *_OF_ACT], request)
    own = f"SELECT {listed} FROM of_metric WHERE {wanted(request)} AND {is_chosen}"
    others = [_others_sql(table, columns, request) for table in _tables_of_acts(name)]
    return f"WITH of_metric AS ({of_metric})\n" + "\nUNION ALL\n".join([own, *others])


def _others_sql(table: str, columns: Sequence[str], request: Request) -> str:
    """The SELECT of the `unclear_others` in one table, beside the metric's rows `of_metric`."""
    is_same = " AND ".join(f"of_metric.{key} IS NOT DISTINCT FROM acts.{key}" for key in _OF_ACT)
    acts = f"""SELECT * FROM {table} AS acts
WHERE parse_status <> '{ParseStatus.OK}'
    AND NOT EXISTS (SELECT 1 FROM of_metric WHERE {is_same})"""
    known = TABLES[table].columns()
    rows = _with_game_sql(acts, [*filter(known.get, columns), *request.used_columns], request)
    absent = {"is_counted": "FALSE AS is_counted"}
    listed = ", ".join(
        quote_identifier(column) if column in known else absent.get(column, f"NULL AS {column}")
        for column in columns
    )
    return f"SELECT {listed} FROM ({rows}) AS others WHERE {wanted(request)}"


def _select(name: str, columns: Sequence[str], request: Request) -> str:
    """The SELECT of the metric's rows that are wanted, of any game type."""
    rows = _rows_sql(name, columns, request)
    return f"SELECT * FROM ({rows}) AS attempts WHERE {wanted(request)}"


def _rows_sql(name: str, columns: Sequence[str], request: Request) -> str:
    """The SELECT of all of the metric's rows."""
    of_metric = compared if COMPARED in columns else attempts
    return _with_game_sql(
        of_metric(name, request.edition), [*columns, *request.used_columns], request
    )


def _with_game_sql(rows: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of the rows with the requested columns of their game."""
    if not request.of_game:
        return rows
    of_row = [name for name in dict.fromkeys(columns) if name not in request.of_game]
    listed = [f"counted.{quote_identifier(name)}" for name in of_row]
    listed += [_of_game_sql(name) for name in request.of_game]
    return f"""SELECT {", ".join(listed)}
FROM ({rows}) AS counted
LEFT JOIN ({_GAMES}) AS games
    ON games.game_id = counted.game_id"""


def _of_game_sql(column: str) -> str:
    """A column of the game in SQL: of a key of the setting its text, as `key_of_setting` has it."""
    path = "".join(f'."{key}"' for key in column.split(".")[1:])
    value = f"json_extract_string(games.setting, {quote_literal(f'${path}')})"
    text = f"{value} AS {quote_identifier(column)}"
    return text if is_key(column) else f"games.{quote_identifier(column)}"


# The views of SQL: the metrics, their terms and evidence, what texts say, and the audit.
#
# A file in one of the folders of `sql/` that are for reading is a view, and its folder is the
# view's schema: `sql/shared`, `sql/audit`; `sql` itself and `sql/metrics` are the main schema, and
# the folders in `sql/metrics` are the editions. The views of attempts, evidence and terms are made
# of the same files.

ALL_METRICS_VIEW = "metrics"
"""The view over all metrics in each schema that has a view for each metric."""
LEADERBOARD_VIEW = "leaderboard"
"""The view of the models with all metrics. This and that of all values are computed by Python."""

VIEW_COLUMNS: Mapping[str, column.Column] = {
    **METRIC_VALUE_COLUMNS,
    "game_type": GAME_TYPE_COLUMN,
    "term": column.text_column("the term (ratio) that counts the row, named as in docs/metrics.md"),
    "what": column.text_column("what was done, in a word or two"),
    "hit": column.number_column(
        "how much of a hit the row is, from 0 to 1; null if it is not counted"
    ),
    "compared_with": column.text_column(
        "what it is compared with to tell a hit, such as the players sought; null if the log does "
        "not say"
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
"""The columns of the rows that metrics and audits are about, and of values."""
_MEANINGS = {name: declared.description for name, declared in VIEW_COLUMNS.items()}
_OF_ATTEMPT = (
    *("term", "game_id", "game_type", "system", "setting_id", "game_index"),
    *("model", "role", "competition"),
    *("player", "seat", "round", "what", "hit", "parse_status", "message_index"),
)
_OF_TERM = ("edition", "metric", "system", "model", "game_type", "term")


def metric_views(num_of_game: int = DEFAULT_N_GAMES) -> dict[str, SqlView]:
    """Every view by its name, with its schema if that is not the main one; the order is one in
    which they can be made."""
    by_name = shared(num_of_game)
    for edition in EDITIONS:
        by_name |= _of_edition(Request(edition=edition, num_of_game=num_of_game))
    for kind in sql_files.list_files("audit"):
        by_name[f"audit.{kind}"] = _of_file(f"audit/{kind}")
    return by_name | {name: _of_file(name) for name in sql_files.list_files("")}


def qualified_view_name(schema: str, edition: Edition, name: str) -> str:
    """The name of a view in one of the schemas that each edition has: no view holds two editions.

    That of the edition paper has the plain name, as in `evidence.judgement`.
    """
    parts = (schema, "" if edition == PAPER else edition, name)
    return f"{'_'.join(filter(None, parts[:2]))}.{name}".lstrip(".")


def shared(num_of_game: int = DEFAULT_N_GAMES) -> dict[str, SqlView]:
    """The views that the metrics' files name. The release edition counts games below a number."""
    files = sql_files.list_files("shared")

    def depth(file: str) -> int:
        text = sql_files.read_file(f"shared/{file}")
        return 1 + max((depth(other) for other in files if f"shared.{other}" in text), default=0)

    # A view is made after those that it names.
    by_name = {f"shared.{file}": _of_file(f"shared/{file}") for file in sorted(files, key=depth)}
    parameters = f"SELECT CAST({num_of_game} AS BIGINT) AS num_of_game"
    name = "shared.release_parameters"
    return by_name | {name: by_name[name]._replace(select=parameters)}


def _of_edition(request: Request) -> dict[str, SqlView]:
    edition = request.edition
    # All have SQL but those that a lake was given.
    written = [name for name in metric_names(edition) if has_sql(name)]
    of_value = f"the value of {{}}, edition {edition}, for one model and game type"
    by_name = {
        qualified_view_name("", edition, name): _view(
            metric_sql(name, edition), of_value.format(name), name
        )
        for name in written
    }
    for schema, (select, row) in _OF_ROWS.items():
        of_edition = f"{row}, edition {edition}"
        for name in written:
            meaning = of_edition.format(name=name, row=sql_header(name, edition)["row"][0])
            by_name[qualified_view_name(schema, edition, name)] = _view(
                select(name, request), meaning, name
            )
        union = "\nUNION ALL\n".join(
            f"SELECT * FROM {qualified_view_name(schema, edition, name)}" for name in written
        )
        of_any = of_edition.format(name="a metric", row="one row that a metric is about")
        by_name[qualified_view_name(schema, edition, ALL_METRICS_VIEW)] = _view(union, of_any)
    return by_name


def _attempts(name: str, request: Request) -> str:
    # What is not counted is no hit and no miss: a mean of the column is one of what is counted.
    hit = "CASE WHEN is_counted THEN hit END AS hit"
    columns = ", ".join(hit if column == "hit" else column for column in _OF_ATTEMPT)
    return f"""SELECT
    {quote_literal(request.edition)} AS edition, {quote_literal(name)} AS metric,
    {columns}, is_counted
FROM ({attempts(name, request.edition)}) AS attempts"""


def _evidence(name: str, request: Request) -> str:
    columns = ", ".join(f"counted.{column}" for column in (*_OF_ATTEMPT, COMPARED))
    return f"""SELECT
    {quote_literal(request.edition)} AS edition, {quote_literal(name)} AS metric,
    {columns}, messages.content
FROM ({compared(name, request.edition)}) AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index
WHERE counted.is_counted"""


def _terms(name: str, request: Request) -> str:
    """The SELECT of hits and counted by model, game type and term, from the view of attempts.

    A term without a row is left out, unless its denominator is fixed: then it has no hit.
    """
    declared = metric_spec(name, request.edition)
    shown = ", ".join(map(quote_literal, request.shown_types(declared)))
    fixed = {
        term.name: term.fixed_count(request.num_of_game)
        for term in declared.terms
        if term.fixed_count
    }
    counted = f"""SELECT
    edition, metric, system, model, term,
    coalesce(game_type, {quote_literal(ALL_GAME_TYPES)}) AS game_type,
    CAST(sum(CAST(hit AS {HITS})) AS DOUBLE) AS hits,
    count(*) AS counted,
    count(*) - count(hit) AS n_unknown,
    count(DISTINCT game_id) AS n_games
FROM {qualified_view_name("attempts", request.edition, name)} AS attempts
WHERE is_counted
GROUP BY edition, metric, system, model, term, GROUPING SETS ((game_type), ())"""
    return f"""SELECT
    {", ".join(_OF_TERM)},
    CASE WHEN n_unknown = 0 THEN hits / counted END AS value,
    CASE WHEN n_unknown = 0 THEN hits END AS hits,
    counted,
    n_games
FROM ({_with_fixed(counted, fixed) if fixed else counted}) AS terms
WHERE game_type IN ({shown})"""


def _with_fixed(counted: str, fixed: Mapping[str, int]) -> str:
    """The terms with their fixed denominators, also those of which a model has no row."""
    keys = ", ".join(_OF_TERM)
    absent = "\nUNION ALL\n".join(
        f"SELECT DISTINCT edition, metric, system, model, game_type, {quote_literal(term)} AS "
        "term,\n"
        "    CAST(0 AS DOUBLE) AS hits, 0 AS counted, 0 AS n_unknown, 0 AS n_games\n"
        "FROM counted"
        for term in fixed
    )
    whens = " ".join(f"WHEN {quote_literal(term)} THEN {n}" for term, n in fixed.items())
    return f"""WITH counted AS ({counted})
SELECT
    {keys},
    sum(hits) AS hits,
    CAST(CASE term {whens} ELSE sum(counted) END AS BIGINT) AS counted,
    CAST(sum(n_unknown) AS BIGINT) AS n_unknown,
    CAST(sum(n_games) AS BIGINT) AS n_games
FROM (SELECT {keys}, hits, counted, n_unknown, n_games FROM counted UNION ALL {absent}) AS terms
GROUP BY {keys}"""


_OF_ROWS = {
    "attempts": (_attempts, "{row}, counted or not"),
    "evidence": (_evidence, "{row}, if it was counted"),
    "terms": (_terms, "one term of a value of {name}, for one model and game type"),
}


# The names of tables, of views and their schemas, and of the leaderboard's columns.
_TAKEN = {
    *(*TABLES, *sql_files.list_files(""), ALL_METRICS_VIEW, LEADERBOARD_VIEW, "shared", "audit"),
    *(
        qualified_view_name(schema, one, "").strip(".")
        for schema in ("", *_OF_ROWS)
        for one in EDITIONS
    ),
    *(*registry.LEADERBOARD_COLUMNS, *registry.ORIGIN_COLUMNS, *registry.VIEW_COLUMNS),
}


def check_declared(name: str, declared: Metric, others: Collection[str]) -> None:
    """Raises MetricError for a name that is taken, for two terms of one name, and for terms of no
    game that there is.

    Columns of the leaderboard must not be called like this metric and like one of the others.
    """
    is_beside_another = any(
        name == f"{other}{end}" or other == f"{name}{end}"
        for other in others
        for end in registry.ESTIMATE_FIELDS
    )
    if not NAME_PATTERN.fullmatch(name) or name in _TAKEN or is_beside_another:
        raise MetricError(
            f"`{name}` cannot be the name of a new metric: choose another, of {NAME_RULE}"
        )
    if not declared.terms:
        raise MetricError(f"`{name}` has no Term, so it counts nothing: add one")
    of_terms = [term.name for term in declared.terms]
    for term in declared.terms:
        if of_terms.count(term.name) > 1:
            raise MetricError(
                f"`{name}` has several terms `{term.name}`, so the ratio would count several "
                "times: make them one Term of all their game types, or give each its own name"
            )
        if not term.game_types:
            raise MetricError(f"the term `{term.name}` of `{name}` names no game type: name one")
        if strangers := [str(one) for one in term.game_types if one not in games.game_type_names()]:
            raise MetricError(
                f"the term `{term.name}` of `{name}` names an unknown game type: "
                f"{', '.join(strangers)}; {suggest_names(strangers, games.game_type_names())}"
            )


@cache
def check_plugin_metrics() -> None:
    """Raises PluginError for a metric of a package that `check_declared` refuses."""
    added = installed()
    for plugin in load_plugins(METRICS):
        try:
            others = [name for name in (*NAMES, *added) if name != plugin.name]
            check_declared(plugin.name, added[plugin.name].declared, others)
        except MetricError as error:
            raise PluginError(f"{plugin}: {error}") from None


def _view(select: str, row: str, name: str = "") -> SqlView:
    """A view of our own, or of the package that the metric of this name is of."""
    return SqlView(select, row, _MEANINGS, package_of(name))


def _of_file(file: str) -> SqlView:
    header = sql_files.read_header(file)
    described = dict(line.split(" | ", 1) for line in header.get("column", []))
    return SqlView(sql_files.read_file(file), header["row"][0], _MEANINGS | described)
