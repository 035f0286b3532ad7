"""A query on the lake, in a process of its own with limits of time and memory."""

from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.errors import PipelineError, QueryError, UsageError
from pipeline.pages.address import Field, address
from pipeline.pages.content import Content, Faults
from pipeline.plots import plot_columns
from pipeline.reports.views import schemas
from pipeline.sandbox import Sandbox

LANE = "free"
TIMEOUT = 20.0
MEMORY = 2**30
SHOWN = 1000
"""A page shows so many rows; `.csv` and `.json` have all."""


Parameters = address(Field("query"), Field("x"), Field("y"))


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The result of the query; nothing before there is one.

    The plot is of two of its columns, `place` is where the query fails. `columns` are those of the
    tables, and `schemas` those of the views.
    """
    faults = Faults()
    rows, place = pl.DataFrame(), ""
    if asked.query.strip():
        rows, place = _answer(lake, asked.query, faults)
    is_plotted, notes = bool(asked.x and asked.y and not faults), []
    if is_plotted:
        try:
            plot_columns(rows, asked.x, asked.y)
        except UsageError as error:  # the columns may be those of the query before
            is_plotted, notes = False, [f"no plot: {error}"]
    return Content(
        title="SQL",
        rows=rows,
        parts={
            "columns": lake.schema(),
            "schemas": tuple(schemas()),
            "place": place,
            "has_run": bool(asked.query.strip()) and not faults.get("query"),
            "is_plotted": is_plotted,
            "shown": SHOWN,
            "timeout": TIMEOUT,
        },
        notes=notes,
        faults=faults,
    )


def _answer(lake: AnsweringLake, query: str, faults: Faults) -> tuple[pl.DataFrame, str]:
    try:
        with Sandbox(timeout=TIMEOUT, memory=MEMORY) as sandbox:
            return sandbox.sql(lake, query), ""
    except QueryError as error:
        faults["query"] = error.message
        return pl.DataFrame(), error.place
    except PipelineError as error:
        faults["query"] = str(error)
        return pl.DataFrame(), ""
