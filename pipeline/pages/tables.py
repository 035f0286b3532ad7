"""The tables of the lake: what a row is, what columns mean, and a sample of rows."""

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.events.contracts import TABLES
from pipeline.pages.content import Address, Content
from pipeline.reports.schema import known_views, meaning

LANE = "quick"
SAMPLE = 20
_OF_A_VIEW = ("column", "type", "description")


class Parameters(Address, frozen=True, kw_only=True):
    table: str = ""


class TablesContent(Content, frozen=True, kw_only=True):
    """`rows` is a row for each table, or the sample of the table that is asked for.

    Of a view there is no sample, which could take long: `rows` are its `columns`.
    """

    sizes: pl.DataFrame
    columns: pl.DataFrame | None
    meaning: str | None
    is_view: bool


def content(lake: AnsweringLake, asked: Parameters) -> TablesContent:
    """The tables with their sizes, and one of them, or a view, in detail."""
    name, sizes = asked.table, lake.tables()
    if not name:
        return TablesContent(
            title="Tables", rows=sizes, sizes=sizes, columns=None, meaning=None, is_view=False
        )
    views = known_views([name])
    columns = lake.schema(name)
    return TablesContent(
        title=f"{'View' if views else 'Table'} {name}",
        rows=columns.select(_OF_A_VIEW) if views else lake.table(name).head(SAMPLE).collect(),
        sizes=sizes,
        columns=columns,
        meaning=meaning(name, views).rstrip("."),
        is_view=name not in TABLES,
    )
