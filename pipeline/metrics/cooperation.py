"""Cooperation: the share of negotiations that ended in agreement."""

import polars as pl

from pipeline.metrics.registry import Metric, Rows, Term, as_hit, constant_term, text_by_flag
from pipeline.vocabulary import GameType

_TERMS = (Term("agreements", (GameType.COST_SHARING,)),)
_IS_NEGOTIATION = pl.col("game_type") == GameType.COST_SHARING
_AGREED = pl.col("agreed")
# The published script counts a negotiation without an end as failed.
_AGREED_IN_RELEASE = _AGREED.fill_null(value=False)
_WORDS_FOR_AGREED = ("agreed", "not agreed")

PAPER = Metric(
    terms=_TERMS,
    has_partial_hits=False,
    rows=(
        Rows(
            "results",
            term=constant_term("agreements"),
            where=_IS_NEGOTIATION,
            what=text_by_flag(_AGREED, *_WORDS_FOR_AGREED),
            hit=as_hit(_AGREED),
        ),
    ),
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        Rows(
            "results",
            term=constant_term("agreements"),
            where=_IS_NEGOTIATION,
            what=text_by_flag(_AGREED_IN_RELEASE, *_WORDS_FOR_AGREED),
            hit=as_hit(_AGREED_IN_RELEASE),
        ),
    ),
)
