"""The tables of the lake: what a row is, what columns mean, and a sample of rows."""

import polars as pl

from pipeline.api import Lake
from pipeline.errors import UsageError, choose
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.pages.content import Address, Content

LANE = "quick"
SAMPLE = 20


class Parameters(Address, frozen=True, kw_only=True):
    table: str = ""


class TablesContent(Content, frozen=True, kw_only=True):
    """`rows` is a row for each table, or the sample of the table that is asked for."""

    sizes: pl.DataFrame
    columns: pl.DataFrame | None
    meaning: str | None


def content(lake: Lake, asked: Parameters) -> TablesContent:
    """The tables with their sizes, and one of them in detail."""
    if asked.table and asked.table not in TABLES:
        raise UsageError(f"no table `{asked.table}`: {choose([asked.table], TABLES)}")
    sizes = lake.tables()
    sample = lake.table(asked.table).head(SAMPLE).collect() if asked.table else None
    return TablesContent(
        title=f"Table {asked.table}" if asked.table else "Tables",
        rows=sizes if sample is None else sample,
        sizes=sizes,
        columns=_columns(asked.table) if asked.table else None,
        meaning=row_meaning(asked.table).rstrip(".") if asked.table else None,
    )


def _columns(table: str) -> pl.DataFrame:
    rows = [
        {
            "column": name,
            "type": str(column.dtype),
            "meaning": column.description,
            "values": ", ".join(column.words or ()),
            "nullable": column.nullable,
        }
        for name, column in TABLES[table].columns().items()
    ]
    return pl.DataFrame(rows)
