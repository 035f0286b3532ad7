"""The rows that a metric counted, one decision each, with the message behind it.

Their hits sum to the metric's by construction: they are the rows that it sums.
"""

from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import sql
from pipeline.metrics.catalogue import NAMES, metric
from pipeline.metrics.compute import rows
from pipeline.metrics.declaration import Tables
from pipeline.metrics.models import check_models
from pipeline.metrics.request import DEFAULT_GAMES, PAPER, Request, check, several
from pipeline.metrics.rows import chosen_by
from pipeline.sqlfiles import identifier, literal

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
_ORDER = (
    *("model", "game_type", "game_index", "game_id", "term", "round", "seat", "what"),
    *("role", "message_index"),
)


class Asked(TypedDict, total=False):
    """The arguments of `evidence` that say which rows a metric counts."""

    edition: str
    num_of_game: int
    models: Sequence[str] | None
    game_types: Sequence[str] | None
    where: str | None


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
    request = _request(
        lake,
        name,
        edition=edition,
        num_of_game=num_of_game,
        models=models,
        game_types=game_types,
        where=where,
    )
    if engine not in _ENGINES:
        raise UsageError(f"no engine `{engine}` for evidence: there are {', '.join(_ENGINES)}")
    found = _ENGINES[engine](lake, name, request)
    if is_hit is not None:
        has_hit = pl.col("hit").fill_null(0) > 0
        found = found.filter(has_hit if is_hit else ~has_hit)
    return found.select(pl.lit(name).alias("metric"), *COLUMNS).sort(_ORDER, nulls_last=True)


def evidence_parts(
    lake: Lake,
    name: str,
    *,
    is_hit: bool | None = None,
    limit: int | None = None,
    **asked: Unpack[Asked],
) -> Iterator[pl.DataFrame]:
    """The same rows as `evidence`, or the first `limit`, some at a time; at least one part.

    Memory is bounded, whatever the lake's size.
    """
    request = _request(lake, name, **asked)
    columns = ", ".join(map(identifier, COLUMNS))
    order = ", ".join(f"{identifier(column)} NULLS LAST" for column in _ORDER)
    select = (
        f"SELECT {literal(name)} AS metric, {columns} FROM {_rows(name, request, COLUMNS)} "
        f"WHERE {_is_asked(request, is_hit)} ORDER BY {order}"
    )
    if limit is not None:
        select += f" LIMIT {int(limit)}"
    return _parts(lake, request, select)


def evidence_totals(
    lake: Lake,
    name: str,
    *,
    is_hit: bool | None = None,
    **asked: Unpack[Asked],
) -> pl.DataFrame:
    """What the rows of `evidence` come to: term, hits, counted and n_games of each term.

    The last row, whose term is null, is of all terms.
    """
    request = _request(lake, name, **asked)
    # The messages are not needed, and are most of the work.
    rows = _rows(name, request, ("game_id", "term", "hit", "is_counted"), "rows")
    select = (
        "SELECT term, coalesce(sum(hit), 0) AS hits, count(*) AS counted, "
        f"count(DISTINCT game_id) AS n_games FROM {rows} "
        f"WHERE is_counted AND {_is_asked(request, is_hit)} "
        "GROUP BY GROUPING SETS ((term), ()) ORDER BY term NULLS LAST"
    )
    return pl.concat(_parts(lake, request, select))


def _request(
    lake: Lake,
    name: str,
    *,
    edition: str = PAPER,
    num_of_game: int = DEFAULT_GAMES,
    models: Sequence[str] | None = None,
    game_types: Sequence[str] | None = None,
    where: str | None = None,
) -> Request:
    """What is asked for; raises UsageError for a name that does not exist."""
    metric(name, PAPER)
    request = Request(
        edition=edition,
        by=("model",),
        num_of_game=num_of_game,
        models=several(models),
        game_types=several(game_types),
        where=None if where is None else chosen_by(lake, [name], where),
    )
    check(request, {name: ["model"]})
    check_models(lake, request.models)
    return request


def _rows(name: str, request: Request, needed: Sequence[str], kind: str = "evidence") -> str:
    return sql.with_game(f"{sql.sql_metric(name, request.edition).view}_{kind}", needed, request)


def _is_asked(request: Request, is_hit: bool | None) -> str:
    """The condition that a row is of what was asked for."""
    if is_hit is None:
        return sql.wanted(request)
    return f"{sql.wanted(request)} AND coalesce(hit, 0) {'>' if is_hit else '<='} 0"


def _parts(lake: Lake, request: Request, select: str) -> Iterator[pl.DataFrame]:
    from pipeline.warehouse import bounded, parts

    views = sql.views(NAMES, request.num_of_game)
    with bounded(lake, views, select, sorts_texts=True) as connection:
        yield from parts(connection, select)


def of_tables(tables: Tables, name: str, request: Request) -> pl.LazyFrame:
    """The rows that the metric counted, in no order, with all their own columns."""
    spoken = tables("messages").select("game_id", "message_index", "content")
    counted = rows(metric(name, request.edition), tables, request).filter("is_counted")
    return counted.join(spoken, on=["game_id", "message_index"], how="left")


def _by_polars(lake: Lake, name: str, request: Request) -> pl.DataFrame:
    return of_tables(lake.table, name, request).collect()


def _by_duckdb(lake: Lake, name: str, request: Request) -> pl.DataFrame:
    # Imported here, so that the other engine's answers do not wait for it.
    from pipeline.warehouse import connect, query

    columns = ", ".join(map(identifier, COLUMNS))
    select = f"SELECT {columns} FROM {_rows(name, request, COLUMNS)} WHERE {sql.wanted(request)}"
    with connect(lake, sql.views(NAMES, request.num_of_game), select) as connection:
        return query(connection, select)


_ENGINES = {"polars": _by_polars, "duckdb": _by_duckdb}
