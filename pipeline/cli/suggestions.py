"""What the shell offers after Tab: metrics, game types, tables, columns, and what the lake has.

Each is loaded only when somebody presses Tab.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer

import pipeline
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pipeline.api import Lake

_MOST = 100
"""Of a lake's names so many are offered."""


def _of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _of_lake(names: Callable[["Lake"], Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    """The same of the lake that the command line names so far, else the default one."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            known = names(pipeline.open_lake(ctx.params.get("lake")))
        except (PipelineError, OSError):  # no place for an error
            return []
        return list(islice((name for name in known if name.startswith(incomplete)), _MOST))

    return complete


def _module(name: str) -> Any:
    return import_module(f"pipeline.{name}")


metrics = _of(lambda: _module("metrics.known").names("paper"))
game_types = _of(lambda: _module("games").names())
competitions = _of(lambda: _module("games").competitions())
statuses = _of(lambda: _module("reports.documents").STATUSES)
outcomes = _of(lambda: _module("reports.games").OUTCOMES)
tables = _of(lambda: [*_module("events.contracts").TABLES, *_module("reports.views").views()])
systems = _of_lake(lambda lake: lake.systems)
games = _of_lake(lambda lake: lake.table("games").select("game_id").collect()["game_id"].sort())
models = _of_lake(
    lambda lake: (
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
