"""Cooperation: negotiations that ended in agreement, over all."""

import polars as pl

from pipeline.metrics.registry import Metric, Rows, Term, as_hit, either, one
from pipeline.vocabulary import GameType

_TERMS = (Term("agreements", (GameType.COST_SHARING,)),)
_IS_NEGOTIATION = pl.col("game_type") == GameType.COST_SHARING
_AGREED = pl.col("agreed")
# A negotiation that was cut off is one that failed, to the published script.
_AGREED_IN_RELEASE = _AGREED.fill_null(value=False)
_WORDS = ("agreed", "not agreed")

PAPER = Metric(
    terms=_TERMS,
    has_partial_hits=False,
    rows=(
        Rows(
            "results",
            term=one("agreements"),
            where=_IS_NEGOTIATION,
            what=either(_AGREED, *_WORDS),
            hit=as_hit(_AGREED),
        ),
    ),
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        Rows(
            "results",
            term=one("agreements"),
            where=_IS_NEGOTIATION,
            what=either(_AGREED_IN_RELEASE, *_WORDS),
            hit=as_hit(_AGREED_IN_RELEASE),
        ),
    ),
)
