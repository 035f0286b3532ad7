"""Self-Awareness: right answers to who one is and what one's role is, over all answers."""

import polars as pl

from pipeline.metrics.declaration import Metric, Rows, Term, as_hit, one
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

PAPER = Metric(
    terms=(Term("identifications", HIDDEN_ROLE_GAMES),),
    rows=(
        Rows(
            "role_identifications",
            term=one("identifications"),
            what=pl.col("role"),
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
            what=pl.col("role"),
            hit=as_hit(pl.col("is_correct_as_read")),
        ),
    ),
)
