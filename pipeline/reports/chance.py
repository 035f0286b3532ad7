"""Judgement compared with chance: the value that random votes would have, game by game."""

import polars as pl

from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.counting import rows
from pipeline.metrics.known import metric
from pipeline.metrics.request import PAPER, Request

_VOTE = ["model", "game_type", "game_id", "seat", "round", "hit"]
_CHANCE = pl.col("n_sought") / pl.when(pl.col("n_others") > 0).then("n_others")
_IS_KNOWN = pl.col("chance").is_not_null().all()


@of_one_system
def judgement_by_chance(lake: StoredLake) -> pl.DataFrame:
    """A row for each model and game type with its judgement, and the judgement of random votes.

    The game type `all` is over all types. The chance of a vote is the share of sought players among
    the players who are still in the game, without the voter. The rows are those of the view
    `judgement_by_chance`, for one system.

    Columns:

    - `model`, `game_type`: whose votes, and in which game.
    - `value`: judgement, hits / counted, in 0..1.
    - `chance`: the value that chance alone leads to, expected / counted.
    - `hits`, `expected`: right votes, and how many of them to expect by chance, the sum of the
      votes' chances; null if a vote had nobody to name.
    - `counted`, `n_games`: votes that judgement counts, and their games.

    >>> rows = lake.judgement_by_chance().filter(model="sim-atlas")
    >>> rows.select("game_type", "value", "chance").rows()[0]
    ('all', 0.5, 0.5)
    """
    votes = _chances(lake).collect()
    whole = votes.with_columns(game_type=pl.lit("all"))
    return (
        pl.concat([votes, whole])
        .group_by("model", "game_type")
        .agg(
            value=pl.col("hit").mean(),
            chance=pl.when(_IS_KNOWN).then(pl.col("chance").mean()),
            hits=pl.col("hit").sum(),
            expected=pl.when(_IS_KNOWN).then(pl.col("chance").sum()),
            counted=pl.len().cast(pl.Int64),
            n_games=pl.col("game_id").n_unique().cast(pl.Int64),
        )
        .sort("model", "game_type", nulls_last=True)
    )


def _chances(lake: StoredLake) -> pl.LazyFrame:
    """The votes that judgement counts, each with its `chance`."""
    judgement = rows(metric("judgement", PAPER), lake.table, Request())
    votes = judgement.filter("is_counted").select(_VOTE)
    others = votes.join(_seats(lake), on="game_id").filter(
        pl.col("other_seat") != pl.col("seat"),
        (pl.col("first_without") > pl.col("round")).fill_null(value=True),
    )
    counts = others.group_by("game_id", "seat", "round").agg(
        n_sought=pl.col("is_sought").sum(), n_others=pl.len()
    )
    return votes.join(counts, on=["game_id", "seat", "round"], how="left").with_columns(
        chance=_CHANCE
    )


def _seats(lake: StoredLake) -> pl.LazyFrame:
    """Every seat, whether a vote for it is correct, and the first round in which it is out."""
    first_without = pl.col("round") + (~pl.col("is_before_vote")).cast(pl.Int32)
    left = lake.table("eliminations").select("game_id", "seat", first_without=first_without)
    sought = lake.table("roles").select("game_type", "role", "is_sought")
    return (
        lake.table("players")
        .join(sought, on=["game_type", "role"], how="left")
        .join(left, on=["game_id", "seat"], how="left")
        .select(
            "game_id",
            "first_without",
            other_seat="seat",
            is_sought=pl.col("is_sought").fill_null(value=False),
        )
    )
