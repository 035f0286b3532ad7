"""The settings of which a model has games still to play or to finish."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.metrics.paging import order_by, page_of
from pipeline.metrics.request import several
from pipeline.metrics.validation import check_competitions
from pipeline.pages.content import Content, Faults, Sorted, listing
from pipeline.reports.missing import COLUMNS, SETTING

LANE = "long"
KEY = ("model", "competition", "game_index", "setting_id")
FIXED = tuple(name for name in SETTING if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""


class Parameters(Sorted, frozen=True, kw_only=True):
    IS_OF_SYSTEM: ClassVar[bool] = True

    system: str = ""
    model: str = ""
    competition: str = ""


class MissingContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `missing`, a page of them. `competitions` has the games that the models
    asked for lack in each; `fixed` are the columns of what is fixed in a setting.
    """

    competitions: dict[str, int]
    fixed: tuple[str, ...]
    after: str | None


def content(lake: AnsweringLake, asked: Parameters) -> MissingContent:
    """A page of what is missing, sorted by model, competition and game."""
    faults, rows = Faults(), pl.DataFrame(schema=schema(COLUMNS))
    with faults.of("model"):
        rows = lake.missing(model=asked.model or None)
    with faults.of("competition"):
        check_competitions(lake, several(asked.competition or None))
    by_competition = rows.group_by("competition", maintain_order=True)
    counts = dict(by_competition.agg(pl.col("n_missing").sum()).iter_rows())
    if asked.competition and not faults:
        rows = rows.filter(competition=asked.competition)

    def rows_after(after: Sequence[object] | None, limit: int) -> pl.DataFrame:
        order, is_down = order_by(asked.sort, KEY, COLUMNS), asked.order == "down"
        return page_of(rows.lazy(), order, after, limit, descending=is_down).collect()

    listed = listing(asked, "after", COLUMNS, KEY, rows_after)
    faults |= listed.pop("faults")
    return MissingContent(
        title="Missing games", competitions=counts, fixed=FIXED, faults=faults, **listed
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All that is missing, whatever the page."""
    return [lake.missing(model=asked.model or None, competition=asked.competition or None)]
