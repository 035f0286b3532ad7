"""What the shell offers after Tab: columns, tables, and what the lake has.

Each is loaded only when somebody presses Tab; what does not begin as typed is left out later.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

import pipeline
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pipeline.api import Lake

Suggested = Callable[[click.Context, str], Iterable[str]]
_MOST_GAMES = 50


def _of_lake(names: Callable[["Lake", str], Iterable[str]]) -> Suggested:
    """Names in the lake that the command line names so far, else the default one."""

    def complete(ctx: click.Context, incomplete: str) -> Iterable[str]:
        try:
            lake, joined = (ctx.params.get(name) for name in ("lake", "names"))
            return list(names(pipeline.open_lake(lake, names=joined), incomplete))
        except (PipelineError, OSError):  # no place for an error
            return []

    return complete


def _models(lake: "Lake", _: str) -> Iterable[str]:
    tested = lake.table("results").filter("is_tested").select("model").drop_nulls().unique()
    return tested.collect()["model"].sort()


def _games(lake: "Lake", begin: str) -> Iterable[str]:
    """The first ids that begin so: a lake has millions of others."""
    import polars as pl

    begins = pl.col("game_id").str.starts_with(begin)
    rows = lake.table("games").filter(begins).select("game_id").head(_MOST_GAMES)
    return rows.collect()["game_id"].sort()


systems = _of_lake(lambda lake, _: lake.systems)
games = _of_lake(_games)
models = _of_lake(_models)


def metrics(_context: click.Context, _incomplete: str) -> Iterable[str]:
    from pipeline.metrics.known import names

    return names("paper")


def tables(_context: click.Context, _incomplete: str) -> Iterable[str]:
    from pipeline.events.contracts import TABLES
    from pipeline.reports.views import views

    return [*TABLES, *views()]


def columns(_context: click.Context, incomplete: str) -> Iterable[str]:
    """The columns that results and games have; of several with commas, the last is completed."""
    from pipeline.events.contracts import polars_schema
    from pipeline.metrics.request import GAME_COLUMNS

    before, comma, _ = incomplete.rpartition(",")
    known = dict.fromkeys([*polars_schema("results"), *GAME_COLUMNS])
    return [f"{before}{comma}{name}" for name in known]
