"""What the shell offers after Tab: metrics, game types, tables, columns, and what the lake has.

Each is loaded only when somebody presses Tab.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

import pipeline
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pipeline.api import Lake

_MOST_GAMES = 50


def _of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _of_lake(
    names: Callable[["Lake", str], Iterable[str]],
) -> Callable[[typer.Context, str], list[str]]:
    """The same of the lake that the command line names so far, else the default one.

    `names` is told how they begin, so that it need not read more than it can.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            known = names(pipeline.open_lake(ctx.params.get("lake")), incomplete)
        except (PipelineError, OSError):  # no place for an error
            return []
        return [name for name in known if name.startswith(incomplete)]

    return complete


def _module(name: str) -> Any:
    return import_module(f"pipeline.{name}")


def _games(lake: "Lake", begin: str) -> Iterable[str]:
    """The first ids that begin so: a lake has millions of others."""
    import polars as pl

    begins = pl.col("game_id").str.starts_with(begin)
    rows = lake.table("games").filter(begins).select("game_id").head(_MOST_GAMES)
    return rows.collect()["game_id"].sort()


metrics = _of(lambda: _module("metrics.known").names("paper"))
game_types = _of(lambda: _module("games").names())
competitions = _of(lambda: _module("games").competitions())
statuses = _of(lambda: _module("reports.documents").STATUSES)
outcomes = _of(lambda: _module("reports.games").OUTCOMES)
tables = _of(lambda: [*_module("events.contracts").TABLES, *_module("reports.views").views()])
systems = _of_lake(lambda lake, _: lake.systems)
games = _of_lake(_games)
models = _of_lake(
    lambda lake, _: (
        lake.table("results")
        .filter("is_tested")
        .select("model")
        .drop_nulls()
        .unique()
        .collect()["model"]
        .sort()
    )
)


def columns(incomplete: str) -> list[str]:
    """The columns that results and games have; of several with commas, the last is completed."""
    before, comma, last = incomplete.rpartition(",")
    of_results = _module("events.contracts").polars_schema("results")
    known = dict.fromkeys([*of_results, *_module("metrics.columns").GAME_COLUMNS])
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]
