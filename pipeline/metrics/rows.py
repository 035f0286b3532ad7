"""The rows of a metric: in polars those of its declaration, in SQL the CTE `attempts` of its file.

Here the two writings of a metric meet: what follows, from the sums to the values, is one for all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace
from polars import selectors as cs

from pipeline import sqlfiles
from pipeline.events.contracts import TABLES
from pipeline.metrics.condition import is_key
from pipeline.metrics.declaration import IS_READABLE, Metric, Rows, Tables
from pipeline.metrics.known import compared_file, is_added, metric, sql
from pipeline.metrics.request import Request, is_of_game, key_of_setting
from pipeline.sqlfiles import identifier, literal, with_clause
from pipeline.vocabulary import RELEASE, Edition

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
_OF_RESULT = ("game_id", "model", "game_type", "game_index", "is_finished", "is_tested")
_GAMES = """SELECT games.*, opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id"""


def frames(
    metrics: Mapping[str, Metric], request: Request, tables: Tables
) -> dict[str, pl.LazyFrame]:
    """What is counted, by name: the wanted rows of each metric, and `RESULTS`."""
    games = chosen_games(tables, request)
    if games is not None:
        request = replace(request, where=None)
    results = with_game(tables("results"), tables, request.of_game)
    results = (games.of(results) if games else results).filter("is_tested")
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


class Chosen(NamedTuple):
    """Games by their ids: those that a condition keeps, or those that it leaves out."""

    ids: pl.DataFrame
    are_kept: bool

    def of(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of the games that are kept."""
        if self.ids.is_empty() and not self.are_kept:
            return rows
        return rows.join(self.ids.lazy(), on="game_id", how="semi" if self.are_kept else "anti")


def chosen_games(tables: Tables, request: Request) -> Chosen | None:
    """What a condition on games alone keeps or leaves out, whichever is less; None for another.

    Checking each game once is less work than joining the games to the rows of every table.
    Every row has its game: `magic verify` finds one that has none.
    """
    where = request.where
    if where is None or not all(is_of_game(n) and n not in request.by for n in where.columns):
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
        .filter("is_tested", in_scope(request), declared.where)
        .with_columns(
            term=declared.term, what=declared.what, hit=declared.hit, is_readable=IS_READABLE
        )
        .with_columns((cs.by_name("hit") & cs.boolean()).cast(pl.Int64))  # as in SQL
        .with_columns(is_counted=is_counted.fill_null(value=False))
    )
    # A hit can look at other rows (`.over("game_id")`): what is asked for is chosen after it.
    return (games.of(told) if games else told).filter(pl.sql_expr(wanted(request)))


def in_scope(request: Request) -> pl.Expr:
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
    select = sqlfiles.whole(file)
    read = {table: tables(table) for table in _READ.findall(select) if table in TABLES}
    return pl.SQLContext(read, attempts=attempts).execute(select, eager=False)


def wanted(request: Request) -> str:
    """The condition that a row is of the requested models and types, and meets the one given."""
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


def selects(metrics: Iterable[str], request: Request) -> dict[str, str]:
    """What is counted, by name: the same in SQL, as a FROM takes it, but for rows of a metric that
    are of other game types than its own.

    Most files leave these out by themselves, and DuckDB takes a tenth more time to do it again.
    """
    columns = [*_OF_RESULT, *request.columns]
    results = _with_game_sql("SELECT * FROM results", columns, request)
    sides = f"SELECT * FROM ({results}) AS rows WHERE is_tested AND {wanted(request)}"
    of_metrics = {name: f"({_select(name, _OF_ROW, request)})" for name in metrics}
    return {RESULTS: f"({sides})", **of_metrics}


def attempts(name: str, edition: Edition) -> str:
    """The SELECT of the rows that a metric is about: its file, with another end."""
    # Who adds a metric may give a hit as a Boolean.
    columns = "* EXCLUDE (hit), CAST(hit AS DOUBLE) AS hit" if is_added(name) else "*"
    return f"{with_clause(sql(name, edition)).text}\nSELECT {columns} FROM attempts"


def compared(name: str, edition: Edition) -> str:
    """The same rows, each with what it is `compared_with`; null where the metric does not say."""
    if file := compared_file(name, edition):
        return f"{with_clause(sql(name, edition)).text}\n{sqlfiles.text(file)}"
    return f"SELECT *, CAST(NULL AS VARCHAR) AS {COMPARED} FROM ({attempts(name, edition)}) AS rows"


def rows_where(condition: str, name: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of these columns of the metric's rows that are wanted and meet the condition.

    What is not counted is no hit and no miss.
    """
    needed = [*columns, "model", "game_type", "hit", "parse_status", "is_counted"]
    types = literals(metric(name, request.edition).game_types)
    hit = {"hit": "CASE WHEN is_counted THEN hit END AS hit"}
    return f"""SELECT {", ".join(hit.get(column) or identifier(column) for column in columns)}
FROM ({_select(name, needed, request)}) AS wanted
WHERE ({condition}) AND game_type IN ({types})"""


def _select(name: str, columns: Sequence[str], request: Request) -> str:
    """The SELECT of the metric's rows that are wanted, of any game type."""
    of_metric = compared if COMPARED in columns else attempts
    rows = _with_game_sql(of_metric(name, request.edition), [*columns, *request.columns], request)
    return f"SELECT * FROM ({rows}) AS attempts WHERE {wanted(request)}"


def _with_game_sql(rows: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of the rows with the requested columns of their game."""
    if not request.of_game:
        return rows
    of_row = [name for name in dict.fromkeys(columns) if name not in request.of_game]
    listed = [f"counted.{identifier(name)}" for name in of_row]
    listed += [_of_game_sql(name) for name in request.of_game]
    return f"""SELECT {", ".join(listed)}
FROM ({rows}) AS counted
LEFT JOIN ({_GAMES}) AS games
    ON games.game_id = counted.game_id"""


def _of_game_sql(column: str) -> str:
    """A column of the game in SQL: of a key of the setting its text, as `key_of_setting` has it."""
    name = identifier(column)
    if not is_key(column):
        return f"games.{name}"
    path = "".join(f'."{key}"' for key in column.split(".")[1:])
    return f"json_extract_string(games.setting, {literal(f'${path}')}) AS {name}"
