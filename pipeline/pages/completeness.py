"""What is there of each model, what is missing, and what could not be read."""

from typing import Any

from pipeline.answers import AnsweringLake
from pipeline.pages.address import EDITION, Field, address
from pipeline.pages.content import Content

LANE = "long"
Parameters = address(
    Field("expected", "Games expected", int | None, None, hint="as others played", size=14),
    EDITION,
    is_of_system=True,
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The games of each model and competition, and the bounds of values."""
    readability = lake.readability(edition=asked.edition, expected=asked.expected)
    rows = lake.completeness(expected=asked.expected)
    return Content(title="Completeness", rows=rows, parts={"readability": readability})
