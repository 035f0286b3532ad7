"""The terms of a metric's values in SQL: its rows by term, with the denominators that are fixed."""

from collections.abc import Iterable, Mapping

from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import Request
from pipeline.metrics.tally import HITS
from pipeline.sqlfiles import literal
from pipeline.vocabulary import ALL

_KEYS = ("edition", "metric", "system", "model", "game_type", "term")


def of_terms(rows: str, declared: Metric, request: Request) -> str:
    """The SELECT of hits and counted by model, game type and term, from the SELECT of attempts.

    A term without a row is left out, unless its denominator is fixed: then it has no hit.
    """
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
FROM ({rows}) AS attempts
WHERE is_counted
GROUP BY edition, metric, system, model, term, GROUPING SETS ((game_type), ())"""
    return f"""SELECT
    {", ".join(_KEYS)},
    CASE WHEN n_unknown = 0 THEN hits / counted END AS value,
    CASE WHEN n_unknown = 0 THEN hits END AS hits,
    counted,
    n_games
FROM ({_with_fixed(counted, fixed) if fixed else counted}) AS terms
WHERE game_type IN ({shown})"""


def _with_fixed(counted: str, fixed: Mapping[str, int]) -> str:
    """The terms with their fixed denominators, also those of which a model has no row."""
    keys = ", ".join(_KEYS)
    absent = "\nUNION ALL\n".join(
        f"SELECT DISTINCT edition, metric, system, model, game_type, {literal(term)} AS term,\n"
        "    CAST(0 AS DOUBLE) AS hits, 0 AS counted, 0 AS n_unknown, 0 AS n_games\n"
        "FROM counted"
        for term in fixed
    )
    return f"""WITH counted AS ({counted})
SELECT
    {keys},
    sum(hits) AS hits,
    {_counted(fixed.items())} AS counted,
    CAST(sum(n_unknown) AS BIGINT) AS n_unknown,
    CAST(sum(n_games) AS BIGINT) AS n_games
FROM (SELECT {keys}, hits, counted, n_unknown, n_games FROM counted UNION ALL {absent}) AS terms
GROUP BY {keys}"""


def _counted(fixed: Iterable[tuple[str, int]]) -> str:
    whens = " ".join(f"WHEN {literal(term)} THEN {n}" for term, n in fixed)
    return f"CAST(CASE term {whens} ELSE sum(counted) END AS BIGINT)"
