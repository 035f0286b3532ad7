"""The eight metrics, each written twice: in polars here, and in SQL in `sql/metrics/`.

An engine counts (`engines`); what follows is made of its counts in one way, whichever it is.
"""

from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from pipeline.column import listed
from pipeline.errors import UsageError
from pipeline.lake import StoredLake, by_system
from pipeline.metrics.answer import DEFAULT_CONFIDENCE, Answer, answered, in_order
from pipeline.metrics.engines import ENGINES
from pipeline.metrics.influence import with_influence
from pipeline.metrics.known import NAMES, TITLES, metric
from pipeline.metrics.known import names as edition_names
from pipeline.metrics.request import ALL, DEFAULT_BY, DEFAULT_GAMES, PAPER, Request, several
from pipeline.metrics.results import VALUES
from pipeline.metrics.validation import check_models, condition_on, tested
from pipeline.vocabulary import Edition, Engine

__all__ = [
    "ALL",
    "DEFAULT_BY",
    "DEFAULT_CONFIDENCE",
    "DEFAULT_GAMES",
    "ENGINES",
    "NAMES",
    "PAPER",
    "TITLES",
    "Answer",
    "answered",
    "metric",
    "metrics",
]

_SYSTEM = "system"


@listed(VALUES)
def metrics(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    engine: Engine = "polars",
    master: str | None = None,
    by: str | Sequence[str] | None = DEFAULT_BY,
    num_of_game: int = DEFAULT_GAMES,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
    influence: bool = False,
) -> pl.DataFrame:
    """The metrics' values, a row for each metric and group.

    `metric`, `model` and `game_type` choose rows: each is a value of its column or several, by
    default all. With `game_type` in `by`, rows with the game type `all` cover all types. If `by` is
    None or empty, there is one group. Only games of one system are counted, see `Lake.of_system`;
    with `system` in `by`, those of each system, as if the lake had no others. `where` is a SQL
    condition on the rows: see `pipeline.metrics.condition.condition`. The engines polars, duckdb
    and spark give the same rows; `master` is for spark: see `pipeline.spark.open_session`.
    `num_of_game` is for the edition release: only games with a lower number count. The columns of
    `by` follow the metric.

    If `confidence` is None, the interval, `thin` and `is_complete` are left out; they take as long
    as the rest. With `influence`, also `without_low` and `without_high` (the range of the value if
    any one setting is left out; a game, if `ci_method` says so) and `influential` (the clusters
    that change it most, with the value without each).

    Raises UsageError for an unknown metric, model, column or edition, and for a wrong condition.

    >>> values = lake.metrics(metric="judgement", by="model")
    >>> values.select("model", "value", "hits", "counted").rows()[0]
    ('sim-atlas', 0.5, 8.0, 16)
    >>> civilians = lake.metrics(metric="judgement", by="role", where="side = 'civilian'")
    >>> civilians.select("role", "hits", "counted").rows()
    [('civilian', 25.0, 32), ('non_chameleon', 20.0, 32)]
    """
    names = several(edition_names(edition) if metric is None else metric)
    by, models = several(by or ()), several(model)
    if influence and confidence is None:
        raise UsageError("influence comes with intervals: leave out `confidence=None`")
    request = Request(
        edition=edition,
        by=tuple(column for column in by if column != _SYSTEM),
        num_of_game=num_of_game,
        models=models,
        game_types=several(game_type),
        where=None if where is None else condition_on(lake, names, where),
    )

    def of(part: StoredLake, request: Request) -> pl.DataFrame:
        answer = answered(
            part, request, engine=engine, master=master, names=names, confidence=confidence
        )
        if not influence or answer.sums is None:
            return answer.rows
        return with_influence(answer.rows, names, answer.sums, request)

    if _SYSTEM not in by:
        return of(lake, request)
    check_models(lake, models)
    rows = by_system(lake, lambda one: of(one, replace(request, models=tested(one, models))))
    keys = ("edition", "metric", *by)
    return in_order(rows.select(*keys, pl.exclude(keys)), names, by)
