"""The tables of the lake: what a row is, what columns mean, and a sample of rows."""

from typing import Any

from pipeline.answers import AnsweringLake
from pipeline.events.contracts import TABLES
from pipeline.pages.address import Field, address
from pipeline.pages.content import Content
from pipeline.reports.schema import known_views, meaning

LANE = "quick"
SAMPLE = 20
_VIEW_COLUMNS = ("column", "type", "description")


Parameters = address(Field("table"))


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The tables with their sizes, and one of them, or a view, in detail.

    `rows` is a row for each table, or the sample of the table that is asked for. Of a view there is
    no sample, which could take long: `rows` are its `columns`.
    """
    name, sizes = asked.table, lake.tables()
    if not name:
        parts = {"sizes": sizes, "columns": None, "meaning": None, "is_view": False}
        return Content(title="Tables", rows=sizes, parts=parts)
    views = known_views([name])
    columns = lake.schema(name)
    return Content(
        title=f"{'View' if views else 'Table'} {name}",
        rows=columns.select(_VIEW_COLUMNS) if views else lake.table(name).head(SAMPLE).collect(),
        parts={
            "sizes": sizes,
            "columns": columns,
            "meaning": meaning(name, views).rstrip("."),
            "is_view": name not in TABLES,
        },
    )
