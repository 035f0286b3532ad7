"""The rows behind a value: who did what, hit or miss, and the message it was read from."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.metrics.evidence import COLUMNS, KEY, evidence_parts
from pipeline.metrics.known import names
from pipeline.pages.content import (
    ROWS,
    Content,
    Faults,
    Head,
    OfSystem,
    answered,
    choices,
    game_types,
    head,
    key,
    paged,
)
from pipeline.reports.evidence_sum import COLUMNS as OF_SUM
from pipeline.reports.evidence_sum import sum_of
from pipeline.vocabulary import ALL, Edition

LANE = "long"
_SLICES = 16
"""So many slices of a lake are kept with the values of all models."""
IS_HIT = {"hits": True, "misses": False}


class Parameters(OfSystem, frozen=True, kw_only=True):
    metric: str = "win_rate"
    model: str = ""
    edition: Edition = "paper"
    game_type: str = ALL
    where: str = ""
    hit: Literal["", "hits", "misses"] = ""
    after: str = ""


class EvidenceContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `evidence`, a page of them; `after` is the key of the next page.

    `sum` are those of `evidence_sum`, on the first page; none on the others.
    """

    head: Head
    names: tuple[str, ...]
    game_types: tuple[str, ...]
    after: str | None
    sum: pl.DataFrame


def content(lake: AnsweringLake, asked: Parameters) -> EvidenceContent:
    """A page of the rows that the metric counted."""
    key_faults, after = Faults(), None
    with key_faults.of("metric"):
        after = key(asked.after)
    page_after = partial(lake.evidence_page, after=after, limit=ROWS + 1)
    fields = {
        "metric": {"metric": asked.metric, "edition": asked.edition},
        **{name: choices(asked, name) for name in ("model", "game_type", "where")},
        "hit": {"hit": IS_HIT.get(asked.hit)},
    }
    rows, faults = answered(page_after, fields)
    faults |= key_faults
    if rows is None or faults:
        rows = pl.DataFrame(schema=schema(COLUMNS))
    total = pl.DataFrame(schema=schema(OF_SUM))
    if after is None and not faults:
        with faults.of("where" if asked.where else "metric"):
            total = _sum(lake, asked)
    shown, next_key = paged(rows, KEY, after)
    in_edition = names(asked.edition)
    known = asked.metric if asked.metric in in_edition else in_edition[0]
    return EvidenceContent(
        title=f"Evidence of {head(known, asked.edition).title}",
        rows=shown,
        head=head(known, asked.edition),
        names=in_edition,
        game_types=game_types(lake, asked.game_type),
        after=next_key,
        sum=total,
        faults=faults,
    )


def _sum(lake: AnsweringLake, asked: Parameters) -> pl.DataFrame:
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


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All rows that the metric counted, whatever the page."""
    return evidence_parts(lake, asked.metric, hit=IS_HIT.get(asked.hit), **_asked(asked))


def _asked(asked: Parameters) -> dict[str, Any]:
    return {"edition": asked.edition, **choices(asked, "model", "game_type", "where")}
