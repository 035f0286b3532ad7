"""The rows of a metric in SQL, for DuckDB and Spark: the CTE `attempts` in the metric's file."""

from collections.abc import Callable, Iterable, Sequence

from pipeline import sqlfiles
from pipeline.metrics.compared import COMPARED
from pipeline.metrics.known import compared_file, is_added, metric, sql
from pipeline.metrics.request import Request
from pipeline.metrics.tally import RESULTS, Question, literals, wanted
from pipeline.sqlfiles import identifier, with_clause
from pipeline.vocabulary import Edition

_OF_ROW = (
    *("game_id", "model", "game_type", "competition", "setting_id"),
    *("term", "hit", "is_counted", "parse_status"),
)
_OF_RESULT = ("game_id", "model", "game_type", "game_index", "is_finished", "is_tested")
_GAMES = """SELECT games.*, opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id"""


def rows_of(question: Question) -> Callable[[str], str]:
    """What `tally.queries` counts: the SELECT of a metric's rows that are wanted, or of results."""
    request = question.request

    def rows(name: str) -> str:
        if name == RESULTS:
            selected = [*_OF_RESULT, *request.columns]
            results = _with_game("SELECT * FROM results", selected, request)
            return f"(SELECT * FROM ({results}) AS rows WHERE is_tested AND {wanted(request)})"
        return f"({_rows(name, _OF_ROW, question.metrics[name].game_types, request)})"

    return rows


def attempts(name: str, edition: Edition) -> str:
    """The SELECT of the rows that a metric is about: its file, with another end."""
    return _with_hits(name, with_clause(sql(name, edition)).text, "attempts")


def compared(name: str, edition: Edition) -> str:
    """The same rows, each with what it is `compared_with`; null where the metric does not say."""
    if file := compared_file(name, edition):
        return f"{with_clause(sql(name, edition)).text}\n{sqlfiles.text(file)}"
    return f"SELECT *, CAST(NULL AS VARCHAR) AS {COMPARED} FROM ({attempts(name, edition)}) AS rows"


def _with_hits(name: str, clause: str, rows: str) -> str:
    # Who adds a metric may give a hit as a Boolean.
    columns = "* EXCLUDE (hit), CAST(hit AS DOUBLE) AS hit" if is_added(name) else "*"
    return f"{clause}\nSELECT {columns} FROM {rows}"


def counted_rows(name: str, columns: Iterable[str], request: Request) -> str:
    """The SELECT of these columns of the metric's rows that are wanted and counted."""
    needed = [*columns, "model", "game_type", "is_counted"]
    rows = _rows(name, needed, metric(name, request.edition).game_types, request)
    listed = ", ".join(map(identifier, columns))
    return f"SELECT {listed} FROM ({rows}) AS wanted WHERE is_counted"


def _rows(name: str, columns: Sequence[str], types: Iterable[str], request: Request) -> str:
    """The SELECT of the metric's rows that are wanted, of these game types."""
    of_metric = compared if COMPARED in columns else attempts
    rows = _with_game(of_metric(name, request.edition), [*columns, *request.columns], request)
    condition = f"game_type IN ({literals(types)}) AND {wanted(request)}"
    return f"SELECT * FROM ({rows}) AS attempts WHERE {condition}"


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
