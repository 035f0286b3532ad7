"""What the shell offers after Tab: metrics, game types, tables, columns, and what the lake has.

Nothing is said of a lake that cannot be read: a shell that completes is no place for errors.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

import pipeline
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pipeline.api import Lake

_MOST_GAMES = 50


def metrics(incomplete: str) -> list[str]:
    """The metrics that begin so."""
    from pipeline.metrics.known import names

    return _starting(incomplete, names("paper"))


def game_types(incomplete: str) -> list[str]:
    """The game types that begin so."""
    from pipeline.games import names

    return _starting(incomplete, names())


def statuses(incomplete: str) -> list[str]:
    """The statuses of documents that begin so."""
    from pipeline.reports.documents import STATUSES

    return _starting(incomplete, STATUSES)


def competitions(incomplete: str) -> list[str]:
    """The competitions that begin so."""
    from pipeline.games import competitions as known

    return _starting(incomplete, known())


def outcomes(incomplete: str) -> list[str]:
    """The outcomes of games that begin so."""
    from pipeline.reports.games import OUTCOMES

    return _starting(incomplete, OUTCOMES)


def tables(incomplete: str) -> list[str]:
    """The tables and views that begin so."""
    from pipeline.events.contracts import TABLES
    from pipeline.reports.views import views

    return _starting(incomplete, [*TABLES, *views()])


def columns(incomplete: str) -> list[str]:
    """The columns that results and games have; of several with commas, the last is completed."""
    from pipeline.events.contracts import polars_schema
    from pipeline.metrics.columns import GAME_COLUMNS

    before, comma, last = incomplete.rpartition(",")
    known = dict.fromkeys([*polars_schema("results"), *GAME_COLUMNS])
    return [f"{before}{comma}{name}" for name in _starting(last, known)]


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """The tested models of the lake that begin so."""
    import polars as pl

    lake = _lake(ctx)
    if lake is None:
        return []
    tested = lake.table("results").filter("is_tested").select(pl.col("model").unique().sort())
    return _starting(incomplete, tested.drop_nulls().collect()["model"])


def systems(ctx: typer.Context, incomplete: str) -> list[str]:
    """The systems of the lake's games that begin so."""
    lake = _lake(ctx)
    return [] if lake is None else _starting(incomplete, lake.systems)


def games(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of games that begin so, the first of them."""
    import polars as pl

    lake = _lake(ctx)
    if lake is None:
        return []
    begin = pl.col("game_id").str.starts_with(incomplete)
    found = lake.table("games").filter(begin).select("game_id").head(_MOST_GAMES).collect()
    return found["game_id"].sort().to_list()


def _lake(ctx: typer.Context) -> "Lake | None":
    """The lake that the command line names so far, else the default one; None where it is none."""
    try:
        return pipeline.open_lake(ctx.params.get("lake"))
    except (PipelineError, OSError):
        return None


def _starting(begin: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(begin)]
