"""Self-Awareness: right answers to who one is and what one's role is, over all answers."""

import polars as pl

from pipeline.metrics.compared import text_of, with_role
from pipeline.metrics.declaration import Metric, Rows, Term, as_hit, one
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

_CLAIMED = pl.col("claimed_role").fill_null("no clear role")
_PLAYER = text_of(with_role(pl.col("player")))

PAPER = Metric(
    terms=(Term("identifications", HIDDEN_ROLE_GAMES),),
    rows=(
        Rows(
            "role_identifications",
            term=one("identifications"),
            what=_CLAIMED,
            compared_with=_PLAYER,
            hit=as_hit(pl.col("is_correct")),
        ),
    ),
)
RELEASE = PAPER
AUDITED = Metric(
    terms=PAPER.terms,
    rows=(
        Rows(
            "role_identifications",
            term=one("identifications"),
            what=_CLAIMED,
            compared_with=_PLAYER,
            hit=as_hit(pl.col("is_correct_as_read")),
        ),
    ),
)
