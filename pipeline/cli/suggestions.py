"""What the shell offers after Tab: columns, tables, and what the lake has.

Each is loaded only when somebody presses Tab; what does not begin as typed is left out later.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

import pipeline
from pipeline.errors import PipelineError
from pipeline.vocabulary import ALL

if TYPE_CHECKING:
    from pipeline.api import Lake

Suggested = Callable[[click.Context, str], Iterable[str]]
_MOST_GAMES = 50


def lakes_asked(
    lake: str,
    lakes: Sequence[str] | None = None,
    as_of: Sequence[int] | None = None,
    **_: Any,
) -> list[str]:
    """The lakes of a command with these arguments: `magic diff` names one or two, others --lake.

    One that `magic diff` names is compared with that of --lake, or with itself, --as-of an ingest.
    """
    named = [*(lakes or ())]
    return [*named, lake] if not named or (len(named) == 1 and not as_of) else named


def _of_lake(names: Callable[["Lake", str], Iterable[str]]) -> Suggested:
    """Names in the lakes that the command line names so far, else in the default one."""

    def complete(ctx: click.Context, incomplete: str) -> Iterable[str]:
        offered: dict[str, None] = {}
        for lake in lakes_asked(**{**ctx.params, "lake": ctx.params.get("lake") or ""}):
            with suppress(PipelineError, OSError):  # no place for an error
                opened = pipeline.open_lake(lake or None, names=ctx.params.get("names"))
                offered |= dict.fromkeys(names(opened, incomplete))
        return [*offered]

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


def game_types(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Those of values, which are there for all types together, too."""
    from pipeline.games import names

    return [*names(), ALL]


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
