"""Coordination: the share of agreements that were reached on the model's own proposal."""

import polars as pl

from pipeline.metrics.registry import (
    Metric,
    Rows,
    Tables,
    Term,
    as_hit,
    constant_term,
    text_by_flag,
)
from pipeline.vocabulary import GameType

_TERMS = (Term("own_proposals", (GameType.COST_SHARING,)),)
_IS_AGREEMENT = (pl.col("game_type") == GameType.COST_SHARING) & pl.col("agreed")


def _results_with_last_proposed_shares(tables: Tables) -> pl.LazyFrame:
    """Return the rows of `results` with the last shares that two players proposed, as logged.

    `chosen` is the proposal that the first voter chose, and `own` that of the row's player.
    """
    shares = (
        tables("proposals")
        .filter("is_last")
        .sort("position")
        .group_by("game_id", "seat")
        .agg("share_text")
    )
    chosen = shares.select("game_id", first_choice_seat="seat", chosen="share_text")
    last = shares.select("game_id", "seat", own="share_text")
    return (
        tables("results")
        .join(chosen, on=["game_id", "first_choice_seat"], how="left")
        .join(last, on=["game_id", "seat"], how="left")
    )


PAPER = Metric(
    terms=_TERMS,
    has_partial_hits=False,
    rows=(
        Rows(
            "results",
            term=constant_term("own_proposals"),
            where=_IS_AGREEMENT,
            what=text_by_flag(pl.col("proposed_agreement"), "own proposal", "other proposal"),
            hit=as_hit(pl.col("proposed_agreement")),
        ),
    ),
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        Rows(
            _results_with_last_proposed_shares,
            term=constant_term("own_proposals"),
            where=_IS_AGREEMENT,
            what=pl.format("first choice: seat {}", "first_choice_seat"),
            hit=pl.when(pl.col("chosen").is_not_null()).then(
                as_hit(pl.col("chosen").eq_missing(pl.col("own")))
            ),
            # The published script stops with an error if the choice of one game is unknown.
            counted=pl.lit(value=True),
        ),
    ),
)
