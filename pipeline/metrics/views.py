"""The views of SQL: the metrics, their terms and evidence, what texts say, and the audit.

A file in one of the folders of `sql/` that are for reading is a view, and its folder is the view's
schema: `sql/shared`, `sql/audit`; `sql` itself and `sql/metrics` are the main schema, and the
folders in `sql/metrics` are the editions. The views of attempts, evidence and terms are made of the
same files.
"""

from collections.abc import Collection, Mapping
from functools import cache

from pipeline import column, games, sqlfiles
from pipeline.errors import MetricError, choose
from pipeline.events.contracts import TABLES
from pipeline.metrics import results
from pipeline.metrics.declaration import Metric
from pipeline.metrics.known import (
    NAMES,
    has_sql,
    header,
    installed,
    metric,
    names,
    package_of,
    sql,
)
from pipeline.metrics.request import Request
from pipeline.metrics.results import GAME_TYPE, VALUES
from pipeline.metrics.rows import COMPARED, HITS, attempts, compared
from pipeline.plugins import LETTERS, METRICS, NAME, PluginError, plugins
from pipeline.sqlfiles import View, literal
from pipeline.vocabulary import ALL, DEFAULT_GAMES, EDITIONS, PAPER, Edition

OF_ALL = "metrics"
"""The view over all metrics in each schema that has a view for each metric."""
LEADERBOARD = "leaderboard"
"""The view of the models with all metrics. This and that of all values are computed by Python."""

COLUMNS: Mapping[str, column.Column] = {
    **VALUES,
    "game_type": GAME_TYPE,
    "term": column.text("the term (ratio) that counts the row, named as in docs/metrics.md"),
    "what": column.text("what was done, in a word or two"),
    "hit": column.number("how much of a hit the row is, from 0 to 1; null if it is not counted"),
    "compared_with": column.text(
        "what it is compared with to tell a hit, such as the players sought; null if the log does "
        "not say"
    ),
    "is_counted": column.flag("whether the metric counts the row").shown("counted"),
    "content": column.text("the text of the row's message, null if the log has none"),
    "seat": column.small("the acting player's seat, null if the row belongs to a whole side"),
    "round": column.small("the round, null if the row belongs to the whole game"),
    "message_index": column.small("the message that the row was read from, from 0").shown(
        "message"
    ),
    "parse_status": column.text("how clearly the row could be read from its text"),
    "logged": column.text("what the log states"),
    "says": column.text("what the rest of the log says"),
    "is_found": column.flag("whether the two contradict each other"),
    "hit_logged": column.number(
        "the metric's hit as logged, null if the metric does not count the row"
    ),
    "hit_read": column.number("the metric's hit according to the rest of the log"),
}
"""The columns of the rows that metrics and audits are about, and of values."""
_MEANINGS = {name: declared.description for name, declared in COLUMNS.items()}
_OF_ATTEMPT = (
    *("term", "game_id", "game_type", "system", "setting_id", "game_index"),
    *("model", "role", "competition"),
    *("player", "seat", "round", "what", "hit", "parse_status", "message_index"),
)
_OF_TERM = ("edition", "metric", "system", "model", "game_type", "term")


def views(num_of_game: int = DEFAULT_GAMES) -> dict[str, View]:
    """Every view by its name, with its schema if that is not the main one; the order is one in
    which they can be made."""
    by_name = shared(num_of_game)
    for edition in EDITIONS:
        by_name |= _of_edition(Request(edition=edition, num_of_game=num_of_game))
    for kind in sqlfiles.names("audit"):
        by_name[f"audit.{kind}"] = _of_file(f"audit/{kind}")
    return by_name | {name: _of_file(name) for name in sqlfiles.names("")}


def in_schema(schema: str, edition: Edition, name: str) -> str:
    """The name of a view in one of the schemas that each edition has: no view holds two editions.

    That of the edition paper has the plain name, as in `evidence.judgement`.
    """
    parts = [schema] if schema else []
    return f"{'_'.join([*parts, *([] if edition == PAPER else [edition])])}.{name}".lstrip(".")


def shared(num_of_game: int = DEFAULT_GAMES) -> dict[str, View]:
    """The views that the metrics' files name. The release edition counts games below a number."""
    files = sqlfiles.names("shared")

    def depth(file: str) -> int:
        text = sqlfiles.text(f"shared/{file}")
        return 1 + max((depth(other) for other in files if f"shared.{other}" in text), default=0)

    # A view is made after those that it names.
    by_name = {f"shared.{file}": _of_file(f"shared/{file}") for file in sorted(files, key=depth)}
    parameters = f"SELECT CAST({num_of_game} AS BIGINT) AS num_of_game"
    name = "shared.release_parameters"
    return by_name | {name: by_name[name]._replace(select=parameters)}


def _of_edition(request: Request) -> dict[str, View]:
    edition = request.edition
    # All have SQL but those that a lake was given.
    written = [name for name in names(edition) if has_sql(name)]
    of_value = f"the value of {{}}, edition {edition}, for one model and game type"
    by_name = {
        in_schema("", edition, name): _view(sql(name, edition), of_value.format(name), name)
        for name in written
    }
    for schema, (select, row) in _OF_ROWS.items():
        of_edition = f"{row}, edition {edition}"
        for name in written:
            meaning = of_edition.format(name=name, row=header(name, edition)["row"][0])
            by_name[in_schema(schema, edition, name)] = _view(select(name, request), meaning, name)
        union = "\nUNION ALL\n".join(
            f"SELECT * FROM {in_schema(schema, edition, name)}" for name in written
        )
        of_any = of_edition.format(name="a metric", row="one row that a metric is about")
        by_name[in_schema(schema, edition, OF_ALL)] = _view(union, of_any)
    return by_name


def _attempts(name: str, request: Request) -> str:
    # What is not counted is no hit and no miss: a mean of the column is one of what is counted.
    hit = "CASE WHEN is_counted THEN hit END AS hit"
    columns = ", ".join(hit if column == "hit" else column for column in _OF_ATTEMPT)
    return f"""SELECT
    {literal(request.edition)} AS edition, {literal(name)} AS metric, {columns}, is_counted
FROM ({attempts(name, request.edition)}) AS attempts"""


def _evidence(name: str, request: Request) -> str:
    columns = ", ".join(f"counted.{column}" for column in (*_OF_ATTEMPT, COMPARED))
    return f"""SELECT
    {literal(request.edition)} AS edition, {literal(name)} AS metric, {columns}, messages.content
FROM ({compared(name, request.edition)}) AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index
WHERE counted.is_counted"""


def _terms(name: str, request: Request) -> str:
    """The SELECT of hits and counted by model, game type and term, from the view of attempts.

    A term without a row is left out, unless its denominator is fixed: then it has no hit.
    """
    declared = metric(name, request.edition)
    shown = ", ".join(map(literal, request.shown_types(declared)))
    fixed = {
        term.name: term.fixed_count(request.num_of_game)
        for term in declared.terms
        if term.fixed_count
    }
    counted = f"""SELECT
    edition, metric, system, model, term,
    coalesce(game_type, {literal(ALL)}) AS game_type,
    CAST(sum(CAST(hit AS {HITS})) AS DOUBLE) AS hits,
    count(*) AS counted,
    count(*) - count(hit) AS n_unknown,
    count(DISTINCT game_id) AS n_games
FROM {in_schema("attempts", request.edition, name)} AS attempts
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
        f"SELECT DISTINCT edition, metric, system, model, game_type, {literal(term)} AS term,\n"
        "    CAST(0 AS DOUBLE) AS hits, 0 AS counted, 0 AS n_unknown, 0 AS n_games\n"
        "FROM counted"
        for term in fixed
    )
    whens = " ".join(f"WHEN {literal(term)} THEN {n}" for term, n in fixed.items())
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


_SCHEMAS = [in_schema(schema, one, "").strip(".") for schema in ("", *_OF_ROWS) for one in EDITIONS]
_OF_VIEWS = (*sqlfiles.names(""), *_SCHEMAS, OF_ALL, LEADERBOARD, "shared", "audit")
_OF_LEADERBOARD = (*results.LEADERBOARD, *results.ORIGIN, *results.SEEN_AS)
_TAKEN = frozenset((*TABLES, *_OF_VIEWS, *_OF_LEADERBOARD))


def check_declared(name: str, declared: Metric, others: Collection[str]) -> None:
    """Raises MetricError for a name that is taken, for two terms of one name, and for terms of no
    game that there is.

    Columns of the leaderboard must not be called like this metric and like one of the others.
    """
    is_beside_another = any(
        name == f"{other}{end}" or other == f"{name}{end}"
        for other in others
        for end in results.ESTIMATE
    )
    if not NAME.fullmatch(name) or name in _TAKEN or is_beside_another:
        raise MetricError(
            f"`{name}` cannot be the name of a new metric: choose another, of {LETTERS}"
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
        if strangers := [str(one) for one in term.game_types if one not in games.names()]:
            raise MetricError(
                f"the term `{term.name}` of `{name}` names an unknown game type: "
                f"{', '.join(strangers)}; {choose(strangers, games.names())}"
            )


@cache
def check_installed() -> None:
    """Raises PluginError for a metric of a package that `check_declared` refuses."""
    added = installed()
    for plugin in plugins(METRICS):
        try:
            others = [name for name in (*NAMES, *added) if name != plugin.name]
            check_declared(plugin.name, added[plugin.name].declared, others)
        except MetricError as error:
            raise PluginError(f"{plugin}: {error}") from None


def _view(select: str, row: str, name: str = "") -> View:
    """A view of our own, or of the package that the metric of this name is of."""
    return View(select, row, _MEANINGS, package_of(name))


def _of_file(file: str) -> View:
    header = sqlfiles.header(file)
    described = dict(line.split(" | ", 1) for line in header.get("column", []))
    return View(sqlfiles.text(file), header["row"][0], _MEANINGS | described)
