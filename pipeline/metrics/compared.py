"""What a row is compared with to tell a hit: the players sought, the secret word, the ending.

A file in `sql/evidence` selects it of the rows `attempts`: polars and DuckDB run the same text. The
files of `sql/shared` that it names stand in it as subqueries, in which polars 2.0 knows no WITH.
"""

import re

import polars as pl

from pipeline import sqlfiles
from pipeline.events.contracts import TABLES
from pipeline.metrics.declaration import Tables
from pipeline.metrics.known import compared_file
from pipeline.vocabulary import Edition

COMPARED = "compared_with"
_READ = re.compile(r"\b(?:FROM|JOIN) (\w+)")


def with_compared(
    name: str, edition: Edition, attempts: pl.LazyFrame, tables: Tables
) -> pl.LazyFrame:
    """The metric's rows with the column `COMPARED`, null where no file says it."""
    file = compared_file(name, edition)
    if file is None:
        return attempts.with_columns(pl.lit(None, pl.String).alias(COMPARED))
    select = sqlfiles.whole(file)
    read = {table: tables(table) for table in _READ.findall(select) if table in TABLES}
    return pl.SQLContext(read, attempts=attempts).execute(select, eager=False)
