"""The views of SQL: the metrics, their terms and evidence, what texts say, and the audit.

A file in one of the folders of `sql/` that are for reading is a view, and its folder is the view's
schema: `sql/shared`, `sql/audit`; `sql` itself and `sql/metrics` are the main schema, and the
folders in `sql/metrics` are the editions. The views of attempts, evidence and terms are made of the
same files.
"""

from collections.abc import Iterable

from pipeline import sqlfiles
from pipeline.metrics.catalogue import has_sql, header, metric, names, sql
from pipeline.metrics.counting_sql import attempts
from pipeline.metrics.request import DEFAULT_GAMES, EDITIONS, PAPER, Request
from pipeline.metrics.terms_sql import of_terms
from pipeline.sqlfiles import View, literal

OF_ALL = "metrics"
"""The view over all metrics in the main schema and in those of editions, terms and evidence."""

COLUMNS = {
    "metric": "the metric's name",
    "edition": "the edition: paper, release or audited",
    "game_type": "the game type, or `all` for all game types of the metric",
    "value": "hits / counted, or the metric's formula over several such ratios",
    "hits": "the numerator of the value, null if the value combines several ratios",
    "counted": "the denominator of the value, null if the value combines several ratios",
    "n_games": "number of games with a counted row",
    "term": "the term (ratio) that counts the row, named as in docs/metrics.md",
    "what": "what was done, in a word or two",
    "hit": "how much of a hit the row is, from 0 to 1",
    "is_counted": "whether the metric counts the row",
    "content": "the text of the row's message, null if the log has none",
    "seat": "the acting player's seat, null if the row belongs to a whole side",
    "round": "the round, null if the row belongs to the whole game",
    "message_index": "the message that the row was read from, from 0",
    "parse_status": "how clearly the row could be read from its text",
    "logged": "what the log states",
    "says": "what the rest of the log says",
    "is_found": "whether the two contradict each other",
    "hit_logged": "the metric's hit as logged, null if the metric does not count the row",
    "hit_read": "the metric's hit according to the rest of the log",
}
_OF_ATTEMPT = (
    *("term", "game_id", "game_type", "setting_id", "game_index", "model", "role", "competition"),
    *("player", "seat", "round", "what", "hit", "parse_status", "message_index"),
)


def views(num_of_game: int = DEFAULT_GAMES) -> dict[str, View]:
    """Every view by its name, with its schema if that is not the main one; the order is one in
    which they can be made."""
    found = shared(num_of_game) | {name: _of_file(name) for name in sqlfiles.names("")}
    for edition in EDITIONS:
        found |= _of_edition(edition)
    for schema, (select, row) in _OF_ROWS.items():
        for name in _written(PAPER):
            requests = [
                Request(edition=edition, num_of_game=num_of_game)
                for edition in EDITIONS
                if name in names(edition)
            ]
            union = _union(select(name, request) for request in requests)
            of_file = header(name)["row"][0]
            found[f"{schema}.{name}"] = _view(union, row.format(name=name, row=of_file))
        union = _union(f"SELECT * FROM {schema}.{name}" for name in _written(PAPER))
        of_any = row.format(name="a metric", row="one row that a metric is about")
        found[f"{schema}.{OF_ALL}"] = _view(union, of_any)
    for kind in sqlfiles.names("audit"):
        found[f"audit.{kind}"] = _of_file(f"audit/{kind}")
    return found


def _written(edition: str) -> list[str]:
    """The metrics of an edition that have SQL, as all have but those that a lake was given."""
    return [name for name in names(edition) if has_sql(name)]


def shared(num_of_game: int = DEFAULT_GAMES) -> dict[str, View]:
    """The views that the metrics' files name. The release edition counts games below a number."""
    files = sqlfiles.names("shared")

    def n_named(file: str) -> int:
        return sum(other in sqlfiles.text(f"shared/{file}") for other in files)

    # A view is made after those that it names.
    found = {f"shared.{file}": _of_file(f"shared/{file}") for file in sorted(files, key=n_named)}
    parameters = f"SELECT CAST({num_of_game} AS BIGINT) AS num_of_game"
    name = "shared.release_parameters"
    return found | {name: found[name]._replace(select=parameters)}


def _of_edition(edition: str) -> dict[str, View]:
    schema = "" if edition == PAPER else f"{edition}."
    row = f"the value of {{}}, edition {edition}, for one model and game type"
    found = {
        f"{schema}{name}": _view(sql(name, edition), row.format(name)) for name in _written(edition)
    }
    union = _union(
        f"SELECT {literal(edition)} AS edition, {literal(name)} AS metric, * FROM {schema}{name}"
        for name in _written(edition)
    )
    return found | {f"{schema}{OF_ALL}": _view(union, row.format("one metric"))}


def _attempts(name: str, request: Request) -> str:
    columns = ", ".join(_OF_ATTEMPT)
    return f"""SELECT
    {literal(request.edition)} AS edition, {literal(name)} AS metric, {columns}, is_counted
FROM ({attempts(name, request.edition)}) AS attempts"""


def _evidence(name: str, request: Request) -> str:
    columns = ", ".join(f"attempts.{column}" for column in ("edition", "metric", *_OF_ATTEMPT))
    return f"""SELECT {columns}, messages.content
FROM attempts.{name} AS attempts
LEFT JOIN messages
    ON messages.game_id = attempts.game_id AND messages.message_index = attempts.message_index
WHERE attempts.is_counted AND attempts.edition = {literal(request.edition)}"""


def _terms(name: str, request: Request) -> str:
    rows = f"SELECT * FROM attempts.{name} WHERE edition = {literal(request.edition)}"
    return of_terms(rows, metric(name, request.edition), request)


_OF_ROWS = {
    "attempts": (_attempts, "{row}, counted or not, in one edition"),
    "evidence": (_evidence, "{row}, if it was counted, in one edition"),
    "terms": (_terms, "one term of a value of {name}, for one edition, model and game type"),
}


def _union(selects: Iterable[str]) -> str:
    return "\nUNION ALL\n".join(selects)


def _view(select: str, row: str) -> View:
    return View(select, row, COLUMNS)


def _of_file(file: str) -> View:
    header = sqlfiles.header(file)
    own = dict(line.split(" | ", 1) for line in header.get("column", []))
    return View(sqlfiles.text(file), header["row"][0], COLUMNS | own)
