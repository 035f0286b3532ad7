"""A query on the lake, in a process of its own with limits of time and memory."""

import polars as pl

from pipeline.api import Lake
from pipeline.errors import PipelineError
from pipeline.events.contracts import TABLES
from pipeline.pages.content import Address, Content, Faults
from pipeline.sandbox import Sandbox

LANE = "free"
SECONDS = 20.0
MEMORY = 2**30
SHOWN = 1000
"""A page shows so many rows; `.csv` and `.json` have all."""


class Parameters(Address, frozen=True, kw_only=True):
    query: str = ""
    x: str = ""
    y: str = ""


class Sql(Content, frozen=True, kw_only=True):
    """`rows` is the result; `plot` is of two of its columns."""

    tables: tuple[str, ...]
    has_run: bool
    plot: str | None
    shown: int
    seconds: float


def content(lake: Lake, asked: Parameters) -> Sql:
    """The result of the query; nothing before there is one."""
    faults = Faults()
    rows, plot = pl.DataFrame(), None
    if asked.query.strip():
        rows = _answer(lake, asked.query, faults)
    if asked.x and asked.y and not faults:
        plot = _plot(rows, asked, faults)
    return Sql(
        title="SQL",
        rows=rows,
        tables=tuple(TABLES),
        has_run=bool(asked.query.strip()) and not faults.get("query"),
        plot=plot,
        shown=SHOWN,
        seconds=SECONDS,
        faults=faults,
    )


def _answer(lake: Lake, query: str, faults: Faults) -> pl.DataFrame:
    try:
        with Sandbox(seconds=SECONDS, memory=MEMORY) as sandbox:
            return sandbox.sql(lake, query)
    except PipelineError as error:
        faults["query"] = str(error)
        return pl.DataFrame()


def _plot(rows: pl.DataFrame, asked: Parameters, faults: Faults) -> str | None:
    from pipeline.plots import plot_columns, svg

    plot = None
    with faults.of("x"):
        plot = svg(plot_columns(rows, asked.x, asked.y))
    return plot
