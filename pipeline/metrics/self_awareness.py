"""Self-Awareness: the share of correct answers of a model about its own role."""

import polars as pl
from msgspec.structs import replace

from pipeline.metrics.registry import Metric, Rows, Term, as_hit, constant_term
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

PAPER = Metric(
    terms=(Term("identifications", HIDDEN_ROLE_GAMES),),
    has_partial_hits=False,
    rows=(
        Rows(
            "role_identifications",
            term=constant_term("identifications"),
            what=pl.col("claimed_role").fill_null("no clear role"),
            hit=as_hit(pl.col("is_correct")),
        ),
    ),
)
RELEASE = PAPER
AUDITED = replace(PAPER, rows=(replace(*PAPER.rows, hit=as_hit(pl.col("is_correct_as_read"))),))
