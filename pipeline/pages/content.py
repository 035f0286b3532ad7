"""What the contents of all pages have in common."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl
from msgspec import Struct

from pipeline import games
from pipeline.errors import UsageError
from pipeline.metrics.known import header, metric, names
from pipeline.vocabulary import Edition

ROWS = 50
"""A page of a long list has so many rows."""


class Address(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an address can say to a page: texts, numbers and words, each with a default."""


class OfSystem(Address, frozen=True, kw_only=True):
    """The address of a page that counts: games of one system, by default the largest."""

    system: str = ""


class Content(Struct, frozen=True, kw_only=True):
    """What a page shows: `rows` is the frame that `.csv` gives.

    `faults` are the errors of the request, each beside the field that it is about. Of a page that
    counts, `system` is the one whose games it counts, and `systems` are all with their games.
    """

    title: str
    rows: pl.DataFrame
    notes: Sequence[str] = ()
    faults: Mapping[str, str] = {}
    system: str | None = None
    systems: Mapping[str, int] = {}


class Head(Struct, frozen=True):
    """A metric as the heading of a column: its name, title and range, and what it counts."""

    name: str
    title: str
    low: float
    high: float
    row: str
    value: str


def heads(edition: Edition, only: Sequence[str] | None = None) -> tuple[Head, ...]:
    """The metrics of an edition, in order."""
    return tuple(head(name, edition) for name in names(edition) if only is None or name in only)


def head(name: str, edition: Edition) -> Head:
    """The metric as a heading; raises UsageError for an unknown name."""
    declared = metric(name, edition)
    said = {key: " ".join(lines) for key, lines in header(name, edition).items()}
    return Head(name, said["title"], declared.low, declared.high, said["row"], said["value"])


class Faults(dict[str, str]):
    """The errors of a request, by field."""

    @contextmanager
    def of(self, field: str) -> Iterator[None]:
        """Keeps a UsageError as the field's."""
        try:
            yield
        except UsageError as error:
            self.setdefault(field, str(error))


def tested_models(models: pl.Series) -> tuple[str, ...]:
    """The names in a column of models, sorted; a nameless one is left out."""
    return tuple(models.drop_nulls().unique().sort().to_list())


def listed(text: str) -> tuple[str, ...]:
    """The names in a text, separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def game_types() -> tuple[str, ...]:
    return games.names()
