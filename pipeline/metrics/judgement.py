"""Judgement: the share of votes on the civilian side that were for the hidden player."""

import polars as pl
from msgspec.structs import replace

from pipeline.games import game_types_with_sought_roles
from pipeline.metrics.registry import Combine, Metric, Rows, Term, as_hit, constant_term
from pipeline.vocabulary import GameType, Side

PAPER = Metric(
    terms=(Term("votes", game_types_with_sought_roles()),),
    has_partial_hits=False,
    rows=(
        Rows(
            "votes",
            term=constant_term("votes"),
            where=pl.col("side") == Side.CIVILIAN,
            # A vote has no result if the log does not register it and its text is not clear.
            what=pl.when(pl.col("is_correct").is_not_null()).then(
                pl.col("target").fill_null("nobody")
            ),
            hit=as_hit(pl.col("is_correct")),
            roles=pl.col("is_sought"),
        ),
    ),
)
RELEASE = Metric(
    terms=(
        Term("chameleon_as_non_chameleon", (GameType.CHAMELEON,)),
        Term("undercover_as_civilian", (GameType.UNDERCOVER,)),
    ),
    # The edition has two fixed competitions, so roles are not checked.
    rows=(replace(*PAPER.rows, term=pl.col("competition"), roles=None),),
    # The published script stops with an error if one of the competitions has no vote.
    combine=Combine.POOLED_OVER_ALL,
)
