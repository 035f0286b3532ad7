"""The settings that a model has still to play or to finish."""

from collections.abc import Iterable

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.pages.content import ROWS, Content, Faults, OfSystem, key, paged
from pipeline.reports.missing import SETTING

LANE = "long"
KEY = ("model", "competition", "setting_id")
FIXED = tuple(name for name in SETTING if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""


class Parameters(OfSystem, frozen=True, kw_only=True):
    model: str = ""
    competition: str = ""
    after: str = ""


class MissingContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `missing`, a page of them. `competitions` has their number by competition
    of the models asked for; `fixed` are the columns of what is fixed in a setting.
    """

    competitions: dict[str, int]
    fixed: tuple[str, ...]
    after: str | None


def content(lake: AnsweringLake, asked: Parameters) -> MissingContent:
    """A page of what is missing, sorted by model, competition and game."""
    faults, start = Faults(), 0
    rows = pl.DataFrame(schema=dict.fromkeys((*KEY, *SETTING), pl.String))
    with faults.of("model"):
        rows = lake.missing(model=asked.model or None)
    counts = dict(rows.group_by("competition", maintain_order=True).len().iter_rows())
    if asked.competition:
        rows = rows.filter(competition=asked.competition)
    with faults.of("after"):
        start = _start(rows, key(asked.after))
    shown, next_key = paged(rows.slice(start, ROWS + 1), lambda page: page.select(KEY).row(-1))
    return MissingContent(
        title="Missing games",
        rows=shown,
        competitions=counts,
        fixed=FIXED,
        after=next_key,
        faults=faults,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All that is missing, whatever the page."""
    return [lake.missing(model=asked.model or None, competition=asked.competition or None)]


def _start(rows: pl.DataFrame, after: list[object] | None) -> int:
    """The place of the row that follows the one with this key."""
    if after is None:
        return 0
    at = rows.select(KEY).rows()
    if tuple(after) not in at:
        raise UsageError("the key of the page is of no missing game: start at the first page")
    return at.index(tuple(after)) + 1
