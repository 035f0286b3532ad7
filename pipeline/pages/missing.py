"""The settings that a model has still to play or to finish."""

from collections.abc import Iterable

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.metrics.paging import order_by, page_of
from pipeline.pages.content import ROWS, Content, Faults, OfSystem, Order, key, paged
from pipeline.reports.missing import COLUMNS, SETTING

LANE = "long"
KEY = ("model", "competition", "game_index", "setting_id")
FIXED = tuple(name for name in SETTING if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""


class Parameters(OfSystem, frozen=True, kw_only=True):
    model: str = ""
    competition: str = ""
    sort: str = ""
    order: Order = "up"
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
    faults, after = Faults(), None
    rows = pl.DataFrame(schema=schema(COLUMNS))
    with faults.of("model"):
        rows = lake.missing(model=asked.model or None)
    counts = dict(rows.group_by("competition", maintain_order=True).len().iter_rows())
    if asked.competition:
        rows = rows.filter(competition=asked.competition)
    page = rows.clear()
    with faults.of("after"):
        after = key(asked.after)
        order = order_by(asked.sort, KEY, COLUMNS)
        is_down = asked.order == "down"
        page = page_of(rows.lazy(), order, after, ROWS + 1, descending=is_down).collect()
    shown, next_key = paged(page, order_by(asked.sort, KEY), after)
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
