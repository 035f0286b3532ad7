"""The settings of which a model has games still to play or to finish."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.metrics.paging import order_by, page_of
from pipeline.metrics.request import check_of_roles
from pipeline.pages.address import AFTER, Field, address, given, sorting, text
from pipeline.pages.content import Content, listing, sort_of
from pipeline.reports.missing import COLUMNS, SETTING

LANE = "long"
KEY = ("model", "competition", "game_index", "setting_id")
FIXED = tuple(name for name in SETTING if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""
Parameters = address(
    *sorting(),
    AFTER,
    text("model", "Model", "all"),
    Field("competition", "Competition", nothing="all"),
    is_of_system=True,
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """A page of what is missing, sorted by model, competition and game.

    `competitions` has the games that the models asked for lack in each; `fixed` are the columns of
    what is fixed in a setting.
    """
    counts: dict[str, int] = {}

    def missing(
        after: Sequence[object] | None,
        limit: int,
        sort: str | None = None,
        descending: bool = False,
        competition: str | None = None,
        **wanted: Any,
    ) -> pl.DataFrame:
        rows = lake.missing(**wanted)
        by_competition = rows.group_by("competition", maintain_order=True)
        counts.update(by_competition.agg(pl.col("n_missing").sum()).iter_rows())
        if competition:
            check_of_roles(lake, "competition", [competition])
            rows = rows.filter(competition=competition)
        order = order_by(sort, KEY, COLUMNS)
        return page_of(rows.lazy(), order, after, limit, descending=descending).collect()

    fields = {name: given(asked, name) for name in ("model", "competition")}
    fields["sort"] = sort_of(asked)
    shown = listing(asked, COLUMNS, KEY, missing, fields, title="Missing games")
    parts = {"competitions": counts, "fixed": FIXED}
    return replace(shown, parts=parts, choices={"competition": tuple(counts)})


def whole(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All that is missing, whatever the page."""
    return [lake.missing(**given(asked, "model", "competition"))]
