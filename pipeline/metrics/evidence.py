"""The rows that a metric counted, one decision each, with the message behind it.

Their hits sum to the metric's by construction: they are the rows that it sums.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics.catalogue import metric
from pipeline.metrics.counting import rows
from pipeline.metrics.counting_sql import counted_rows
from pipeline.metrics.declaration import Tables
from pipeline.metrics.request import DEFAULT_GAMES, PAPER, Request, several
from pipeline.metrics.validation import check, condition_on
from pipeline.metrics.views import shared

COLUMNS = (
    "term",
    "game_id",
    "game_type",
    "setting_id",
    "game_index",
    "model",
    "role",
    "competition",
    "player",
    "seat",
    "round",
    "what",
    "hit",
    "parse_status",
    "message_index",
    "content",
)
_ORDER = ("model", "game_type", "game_index", "game_id", "term", "round", "seat", "what")


def evidence(
    lake: Lake,
    name: str,
    *,
    edition: str = PAPER,
    engine: str = "polars",
    num_of_game: int = DEFAULT_GAMES,
    models: Sequence[str] | None = None,
    game_types: Sequence[str] | None = None,
    where: str | None = None,
    is_hit: bool | None = None,
) -> pl.DataFrame:
    """A row for each row that the metric counted, in order of models and games.

    Columns: `metric` and `COLUMNS`, among them `what` the player did, `hit` (0..1), and the
    message that it was read from, `content`, with its index; both null where the log has none.
    `where` is a condition in SQL: see `pipeline.metrics.condition`. `is_hit` asks for rows with
    some hit, or with none. The engines are polars and duckdb. Raises UsageError for a name that
    does not exist, also of a model.
    """
    metric(name)
    request = Request(
        edition=edition,
        by=("model",),
        num_of_game=num_of_game,
        models=several(models),
        game_types=several(game_types),
        where=None if where is None else condition_on(lake, [name], where),
    )
    check(lake, request, [name])
    if engine not in _ENGINES:
        raise UsageError(f"no engine `{engine}` for evidence: there are {', '.join(_ENGINES)}")
    found = _ENGINES[engine](lake, name, request)
    if is_hit is not None:
        has_hit = pl.col("hit").fill_null(0) > 0
        found = found.filter(has_hit if is_hit else ~has_hit)
    return found.select(pl.lit(name).alias("metric"), *COLUMNS).sort(_ORDER, nulls_last=True)


def of_tables(tables: Tables, name: str, request: Request) -> pl.LazyFrame:
    """The rows that the metric counted, in no order, with all their own columns."""
    spoken = tables("messages").select("game_id", "message_index", "content")
    counted = rows(metric(name, request.edition), tables, request).filter("is_counted")
    return counted.join(spoken, on=["game_id", "message_index"], how="left")


def _by_polars(lake: Lake, name: str, request: Request) -> pl.DataFrame:
    return of_tables(lake.table, name, request).collect()


def _by_duckdb(lake: Lake, name: str, request: Request) -> pl.DataFrame:
    # Imported here, so that the other engine's answers do not wait for it.
    from pipeline.warehouse import answer, connect

    counted = counted_rows(name, COLUMNS[:-1], request)
    select = f"""SELECT counted.*, messages.content
FROM ({counted}) AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index"""
    with connect(lake, shared(request.num_of_game), select) as connection:
        return answer(connection, select)


_ENGINES = {"polars": _by_polars, "duckdb": _by_duckdb}
