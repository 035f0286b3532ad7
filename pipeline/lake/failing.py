"""Results in which a game that a side failed is its loss, by choice of whoever asks a lake.

What a failure is, and what a loss, is written down once, in `sql/internal/failed_results.sql`:
polars, DuckDB and Spark run its text. What is stored stays as it is.
"""

from collections.abc import Callable

import polars as pl

from pipeline.events.contracts import polars_schema
from pipeline.sqlfiles import filled, identifier

READ = ("results", "players", "messages")
_CHANGED = ("is_finished", "parse_status", "is_win", "win_credit", "agreed", "guess_is_correct")


def failed_results(select: Callable[[str], str]) -> str:
    """The SELECT of the results with losses, and `is_failed`; `select` gives that of a table."""
    columns = (identifier(name) for name in polars_schema("results") if name not in _CHANGED)
    tables = {name: select(name) for name in READ}
    return filled("internal/failed_results", columns=",\n    ".join(columns), **tables)


def with_losses(table: Callable[[str], pl.LazyFrame]) -> pl.LazyFrame:
    """The same rows by polars; `table` gives the tables, with the names of models as counted."""
    context = pl.SQLContext({name: table(name) for name in READ})
    return context.execute(failed_results("SELECT * FROM {}".format), eager=False)
