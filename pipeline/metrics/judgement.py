"""Judgement: votes for the hidden player over all votes, playing on the civilian side."""

import polars as pl
from msgspec.structs import replace

from pipeline.games import game_types_with_sought_roles
from pipeline.metrics.registry import Combine, Metric, Rows, Term, as_hit, one
from pipeline.vocabulary import GameType, Side

PAPER = Metric(
    terms=(Term("votes", game_types_with_sought_roles()),),
    has_partial_hits=False,
    rows=(
        Rows(
            "votes",
            term=one("votes"),
            where=pl.col("side") == Side.CIVILIAN,
            # Of a vote that nobody registered, and whose text does not decide, nothing is known.
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
    # Its two games are named, whatever roles they have.
    rows=(replace(*PAPER.rows, term=pl.col("competition"), roles=None),),
    # The script fails where either competition has no vote.
    combine=Combine.POOLED_OVER_ALL,
)
