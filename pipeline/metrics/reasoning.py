"""Reasoning: the share of correct analyses of the players' roles and of what others think."""

import polars as pl
from msgspec.structs import replace

from pipeline.metrics.registry import Metric, Rows, Term, as_hit, constant_term
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

PAPER = Metric(
    terms=(Term("analyses", HIDDEN_ROLE_GAMES),),
    has_partial_hits=False,
    rows=(
        Rows(
            "role_analyses",
            term=constant_term("analyses"),
            what=pl.col("kind"),
            hit=as_hit(pl.col("is_correct")),
        ),
    ),
)
RELEASE = PAPER
AUDITED = replace(PAPER, rows=(replace(*PAPER.rows, hit=as_hit(pl.col("is_correct_as_read"))),))
