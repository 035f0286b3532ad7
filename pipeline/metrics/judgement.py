"""Judgement: votes for the hidden player over all votes, playing on the civilian side."""

import polars as pl

from pipeline.games import with_sought_roles
from pipeline.metrics.compared import of_game, sought_players
from pipeline.metrics.declaration import Combine, Metric, Rows, Term, as_hit, one
from pipeline.vocabulary import GameType, Side

_IS_CIVILIAN = pl.col("side") == Side.CIVILIAN
_TARGET = pl.col("target").fill_null("nobody")
_IS_CORRECT = as_hit(pl.col("is_correct"))

PAPER = Metric(
    terms=(Term("votes", with_sought_roles()),),
    rows=(
        Rows(
            "votes",
            term=one("votes"),
            where=_IS_CIVILIAN,
            what=_TARGET,
            hit=_IS_CORRECT,
            compared_with=of_game(sought_players),
        ),
    ),
)
RELEASE = Metric(
    terms=(
        Term("chameleon_as_non_chameleon", (GameType.CHAMELEON,)),
        Term("undercover_as_civilian", (GameType.UNDERCOVER,)),
    ),
    rows=(
        Rows(
            "votes",
            term=pl.col("competition"),
            where=_IS_CIVILIAN,
            what=_TARGET,
            hit=_IS_CORRECT,
            compared_with=of_game(sought_players),
        ),
    ),
    # The script fails where either competition has no vote.
    combine=Combine.POOLED_OVER_ALL,
)
