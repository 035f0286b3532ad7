"""What is there of each model, what is missing, and what could not be read."""

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.pages.content import Content, OfSystem
from pipeline.vocabulary import Edition

LANE = "long"


class Parameters(OfSystem, frozen=True, kw_only=True):
    expected: int | None = None
    edition: Edition = "paper"


class CompletenessContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `completeness`, and `readability` those of the method of this name."""

    readability: pl.DataFrame


def content(lake: AnsweringLake, asked: Parameters) -> CompletenessContent:
    """The games of each model and competition, and the bounds of values."""
    return CompletenessContent(
        title="Completeness",
        rows=lake.completeness(expected=asked.expected),
        readability=lake.readability(edition=asked.edition, expected=asked.expected),
    )
