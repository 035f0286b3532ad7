"""The rows behind a value: who did what, hit or miss, and the message it was read from."""

from collections.abc import Iterable
from typing import Any, Literal
from weakref import WeakKeyDictionary

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.metrics.evidence import COLUMNS, KEY, evidence_parts
from pipeline.metrics.known import names
from pipeline.pages.address import AFTER, EDITION, GAME_TYPE, METRIC, Field, address, given, text
from pipeline.pages.content import Content, Faults, head, listing
from pipeline.reports.evidence_sum import COLUMNS as SUM_COLUMNS
from pipeline.reports.evidence_sum import sum_of
from pipeline.vocabulary import Edition

LANE = "long"
_SLICES = 16
"""So many slices of a lake are kept with the values of all models."""
IS_HIT = {"hits": True, "misses": False}


_CONDITIONS = ("model", "game_type", "where")
Parameters = address(
    METRIC,
    text("model", "Model", "all", 14),
    GAME_TYPE,
    Field(
        "hit",
        "Rows",
        Literal["", "hits", "misses"],
        values=lambda *_: IS_HIT,
        nothing="hits and misses",
    ),
    text("where", "Where", "role = 'civilian'", 24),
    EDITION,
    AFTER,
    is_of_system=True,
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """A page of the rows that the metric counted.

    `head` is the metric's, and `sum` are the rows of `evidence_sum`, on the first page alone.
    """
    in_edition = names(asked.edition)
    metric_head = head(asked.metric if asked.metric in in_edition else in_edition[0], asked.edition)
    fields = {
        "metric": {"metric": asked.metric, "edition": asked.edition},
        **{name: given(asked, name) for name in _CONDITIONS},
        "hit": {"hit": IS_HIT.get(asked.hit)},
    }
    title = f"Evidence of {metric_head.title}"
    shown = listing(asked, COLUMNS, KEY, lake.evidence_page, fields, title=title)
    faults, total = Faults(shown.faults), pl.DataFrame(schema=schema(SUM_COLUMNS))
    if not asked.after and not faults:
        with faults.of("where" if asked.where else "metric"):
            total = _sum(lake, asked)
    return replace(shown, parts={"head": metric_head, "sum": total}, faults=faults)


def _sum(lake: AnsweringLake, asked: Any) -> pl.DataFrame:
    """The rows of `evidence_sum`; those of one model from the values of all."""
    if asked.model:
        slice_ = _asked(asked)
        values = _values(lake, asked.metric, asked.edition, slice_["game_type"], slice_["where"])
        for row in values.filter(model=asked.model).iter_rows(named=True):
            return sum_of(row, asked.edition)
    return lake.evidence_sum(asked.metric, **_asked(asked))


# The values of all models, for each open lake: a reader goes from model to model.
_known: WeakKeyDictionary[AnsweringLake, dict[tuple[object, ...], pl.DataFrame]] = (
    WeakKeyDictionary()
)


def _values(
    lake: AnsweringLake, metric: str, edition: Edition, game_type: str | None, where: str | None
) -> pl.DataFrame:
    """The values of all models, of the slices that were requested last."""
    known, key = _known.get(lake, {}), (metric, edition, game_type, where)
    if key not in known:
        values = lake.metrics(
            metric=metric, edition=edition, by=["model"], game_type=game_type, where=where
        )
        _known[lake] = dict([*known.items(), (key, values)][-_SLICES:])
    return _known[lake][key]


def whole(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All rows that the metric counted, whatever the page."""
    return evidence_parts(lake, asked.metric, hit=IS_HIT.get(asked.hit), **_asked(asked))


def _asked(asked: Any) -> dict[str, Any]:
    return {"edition": asked.edition, **given(asked, *_CONDITIONS)}
