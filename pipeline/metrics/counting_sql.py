"""The rows of a metric, counted in SQL by DuckDB or Spark.

The rows are those of the CTE `attempts` in the metric's SQL file. The queries around it are made
here, since they depend on the request.
"""

from collections.abc import Iterable

from pipeline import sqlfiles
from pipeline.metrics.compared import COMPARED
from pipeline.metrics.counts import GAME_MARK, Clusters, Question
from pipeline.metrics.known import compared_file, is_added, metric, sql
from pipeline.metrics.request import RELEASE, Request
from pipeline.sqlfiles import identifier, literal, with_clause
from pipeline.vocabulary import Edition

HITS = "DECIMAL(38, 18)"
_GAMES = """SELECT games.*, opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id"""


def queries(question: Question) -> list[str]:
    """The SELECTs of `sides`, and then of each metric's sums and games."""
    selects = [_sides(question.request)]
    for name in question.metrics:
        selects += [_sums(name, question), _games(name, question)]
    return selects


def attempts(name: str, edition: Edition) -> str:
    """The SELECT of the rows that a metric is about: its file, with another end."""
    return _with_hits(name, with_clause(sql(name, edition)).text, "attempts")


def compared(name: str, edition: Edition) -> str:
    """The same rows, each with what it is `compared_with`; null where the metric does not say."""
    clause = with_clause(sql(name, edition))
    if file := compared_file(name, edition):
        return f"{clause.text}\n{sqlfiles.text(file)}"
    if "compared" in clause.names:
        return _with_hits(name, clause.text, "compared")
    return f"SELECT *, CAST(NULL AS VARCHAR) AS {COMPARED} FROM ({attempts(name, edition)}) AS rows"


def _with_hits(name: str, clause: str, rows: str) -> str:
    # Who adds a metric may give a hit as a Boolean.
    columns = "* EXCLUDE (hit), CAST(hit AS DOUBLE) AS hit" if is_added(name) else "*"
    return f"{clause}\nSELECT {columns} FROM {rows}"


def counted_rows(name: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of these columns of the metric's rows that are wanted and counted."""
    needed = [*columns, *request.columns, "model", "game_type", "is_counted"]
    of_metric = compared if COMPARED in needed else attempts
    rows = _with_game(of_metric(name, request.edition), needed, request)
    listed = ", ".join(map(identifier, columns))
    is_of_type = f"game_type IN ({_literals(metric(name, request.edition).game_types)})"
    wanted = f"is_counted AND {is_of_type} AND {_wanted(request)}"
    return f"SELECT {listed} FROM ({rows}) AS attempts WHERE {wanted}"


def _sums(name: str, question: Question) -> str:
    request = question.request
    keys = [*map(identifier, request.fine)]
    if question.clusters is not None:
        keys += ["stratum", "cluster"]
    return f"""SELECT
    {literal(name)} AS metric,
    {_listed(keys)}
    term,
    sum(CASE WHEN is_counted THEN CAST(hit AS {HITS}) END) AS hits,
    count(*) FILTER (WHERE is_counted) AS counted,
    count(*) FILTER (WHERE parse_status <> 'ok') AS n_unreadable,
    count(*) FILTER (WHERE hit IS NULL AND parse_status <> 'outage') AS n_unknown,
    count(*) FILTER (WHERE is_counted AND hit IS NULL) AS n_hits_unknown
FROM ({_rows(name, question)}) AS attempts
GROUP BY {_listed(keys)} term"""


def _games(name: str, question: Question) -> str:
    fine = _listed(map(identifier, question.request.fine))
    none = "CAST(0 AS BIGINT)"
    counts_games, can_be_unknown = name in question.with_games, question.can_be_unknown(name)
    n_games = "count(DISTINCT game_id)" if counts_games else none
    n_unknown = "count(DISTINCT CASE WHEN hit IS NULL THEN game_id END)"
    select = f"""SELECT
    {literal(name)} AS metric,
    {fine}
    {n_games} AS n_games,
    {n_unknown if can_be_unknown else none} AS n_games_unknown
FROM ({_rows(name, question)}) AS attempts
WHERE is_counted
GROUP BY {fine.removesuffix(",")}"""
    return select if counts_games or can_be_unknown else f"{select}\nLIMIT 0"


def _rows(name: str, question: Question) -> str:
    """The SELECT of the metric's rows that are wanted, with their cluster."""
    request = question.request
    needed = ("game_id", "term", "hit", "is_counted", "parse_status", "setting_id", "competition")
    selected = [*needed, "model", "game_type", *request.columns]
    rows = _with_game(attempts(name, request.edition), selected, request)
    cluster = _cluster(question.clusters or Clusters())
    return f"""SELECT *, competition AS stratum, {cluster} AS cluster
FROM ({rows}) AS attempts
WHERE {_wanted(request)}"""


def _sides(request: Request) -> str:
    fine = _listed(map(identifier, request.fine))
    if not request.is_of_results:
        return "SELECT CAST(0 AS BIGINT) AS n_unfinished LIMIT 0"
    is_in_scope = f"game_index < {request.num_of_game}" if request.edition == RELEASE else "TRUE"
    needed = ["game_id", "game_index", "is_finished", "is_tested", "model", "game_type"]
    rows = _with_game("SELECT * FROM results", [*needed, *request.columns], request)
    return f"""SELECT
    {fine}
    count(DISTINCT CASE WHEN NOT is_finished AND {is_in_scope} THEN game_id END) AS n_unfinished
FROM ({rows}) AS results
WHERE is_tested AND {_wanted(request)}
GROUP BY {fine.removesuffix(",")}"""


def _with_game(rows: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of the rows with the requested columns of their game."""
    if not request.of_game:
        return rows
    of_row = [name for name in dict.fromkeys(columns) if name not in request.of_game]
    listed = [f"counted.{identifier(name)}" for name in of_row]
    listed += [f"games.{identifier(name)}" for name in request.of_game]
    return f"""SELECT {", ".join(listed)}
FROM ({rows}) AS counted
LEFT JOIN ({_GAMES}) AS games
    ON games.game_id = counted.game_id"""


def _cluster(clusters: Clusters) -> str:
    if not clusters.by_game:
        return "setting_id"
    sides = ", ".join(f"({literal(m)}, {literal(c)})" for m, c in clusters.by_game)
    cut = f"substr(game_id, 1, {clusters.digits}) || coalesce(model, '')"
    game = cut if clusters.is_cut else "game_id"
    is_by_game = f"(coalesce(model, ''), competition) IN ({sides})"
    return f"CASE WHEN {is_by_game} THEN {literal(GAME_MARK)} || {game} ELSE setting_id END"


def _wanted(request: Request) -> str:
    """The condition that a row is of the requested models and game types."""
    wanted = []
    if request.models is not None:
        wanted.append(f"model IN ({_literals(request.models)})")
    if request.game_types is not None and not request.is_rolled_up:
        wanted.append(f"game_type IN ({_literals(request.game_types)})")
    if request.where is not None:
        wanted.append(f"({request.where.sql})")
    return " AND ".join(wanted) or "TRUE"


def _literals(values: Iterable[str]) -> str:
    return ", ".join(map(literal, sorted(values))) or "NULL"


def _listed(columns: Iterable[str]) -> str:
    """The columns with a comma after each."""
    return " ".join(f"{column}," for column in columns)
