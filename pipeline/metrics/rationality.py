"""Rationality: the share of decisions to defect, plus the share of lowest contributions."""

import polars as pl
from msgspec.structs import replace

from pipeline.events.text_parsing import has_reasoning_text, remove_thoughts_before_answers
from pipeline.metrics.registry import (
    Combine,
    Metric,
    Rows,
    Tables,
    Term,
    as_hit,
    constant_term,
    text_by_flag,
)
from pipeline.vocabulary import Choice, GameType

_TERMS = (
    Term("betrayals", (GameType.PRISONERS_DILEMMA,)),
    Term("least_contributions", (GameType.PUBLIC_GOOD,)),
)
_BETRAYALS = Rows(
    "decisions",
    term=constant_term("betrayals"),
    what=pl.col("choice"),
    hit=as_hit(pl.col("choice") == Choice.DEFECT),
)
_LEAST_CONTRIBUTIONS = Rows(
    "contributions",
    term=constant_term("least_contributions"),
    what=text_by_flag(pl.col("is_least"), "least", "not least"),
    hit=as_hit(pl.col("is_least")),
)


def _tested_contributions_in_groups_of_three(tables: Tables) -> pl.LazyFrame:
    """Return the tested player's contribution from each three consecutive contributions.

    The published script takes the place among the three as the seat. It parses the amount with its
    own regular expression and uses 0 if that does not match. `least_amount` is the lowest of the
    three.
    """
    turn_order = ["message_index", "round", "seat"]  # without words they have no message
    place = pl.int_range(pl.len()).over("game_id", order_by=turn_order, nulls_last=True)
    parsed_amount = (
        pl.col("text").str.extract(r"contribute ([0-9]+)").cast(pl.Float64).fill_null(0.0)
    )
    contributions = (
        tables("contributions")
        .select(
            "game_id", "round", "message_index", "parse_status", place=place, amount=parsed_amount
        )
        .with_columns(three=pl.col("place") // 3, seat=(pl.col("place") % 3 + 1).cast(pl.Int32))
        .with_columns(
            n_amounts=pl.len().over("game_id", "three"),
            least_amount=pl.col("amount").min().over("game_id", "three"),
        )
        .filter(pl.col("n_amounts") == 3)
    )
    tested_results = tables("results").drop("round", "message_index", "parse_status")
    return tested_results.join(contributions, on=["game_id", "seat"])


# The systems whose engine parses choices and amounts from texts.
_SYSTEM_PARSES_TEXTS = pl.col("system").is_in(["magic", "chatarena"])


def _decisions_parsed_without_thoughts(tables: Tables) -> pl.LazyFrame:
    """Return the decisions, and parse those whose text contains reasoning again without it."""
    text = pl.col("text")
    answer = text.map_batches(remove_thoughts_before_answers, pl.String)
    choice = (
        pl.when(answer.str.to_lowercase().str.contains(Choice.COOPERATE, literal=True))
        .then(pl.lit(str(Choice.COOPERATE)))
        .when(answer.str.contains(r"\S"))
        .then(pl.lit(str(Choice.DEFECT)))
    )
    is_parsed_again = _SYSTEM_PARSES_TEXTS & has_reasoning_text(text)
    return tables("decisions").with_columns(
        choice=pl.when(is_parsed_again).then(choice).otherwise("choice")
    )


def _contributions_parsed_without_thoughts(tables: Tables) -> pl.LazyFrame:
    """Return the contributions, and parse those whose text contains reasoning again without it.

    Whether a contribution is the lowest of its round is computed again for these rounds.
    """
    games = tables("games").select("game_id", "format_version", "n_players")
    text, amount, is_parsed_again = pl.col("text"), pl.col("amount"), pl.col("is_read")
    answer, is_pgm = (
        text.map_batches(remove_thoughts_before_answers, pl.String),
        pl.col("format_version") == "pgm",
    )
    pgm_amount, first_number = (
        answer.str.extract(r"I contribute ([0-9]+)"),
        answer.str.extract(r"\b([0-9]+)\b"),
    )
    parsed_amount = pl.when(is_pgm).then(pgm_amount).otherwise(first_number).cast(pl.Float64)
    round_keys = ["game_id", "round"]
    is_complete_round = amount.count() == pl.col("n_players").max()
    is_least = pl.when(is_complete_round.over(round_keys)).then(amount == pl.col("least_amount"))
    return (
        tables("contributions")
        .join(games, on="game_id")
        .with_columns(
            is_read=(_SYSTEM_PARSES_TEXTS & has_reasoning_text(text)).fill_null(value=False)
        )
        .with_columns(amount=pl.when(is_parsed_again).then(parsed_amount).otherwise(amount))
        .with_columns(least_amount=amount.min().over(round_keys))
        .with_columns(
            is_least=pl.when(is_parsed_again.any().over(round_keys))
            .then(is_least)
            .otherwise("is_least")
        )
        .drop("format_version", "n_players")
    )


PAPER = Metric(
    terms=_TERMS,
    has_partial_hits=False,
    rows=(_BETRAYALS, _LEAST_CONTRIBUTIONS),
    high=2.0,
)
AUDITED = replace(
    PAPER,
    rows=(
        replace(_BETRAYALS, table=_decisions_parsed_without_thoughts),
        replace(_LEAST_CONTRIBUTIONS, table=_contributions_parsed_without_thoughts),
    ),
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        _BETRAYALS,
        Rows(
            _tested_contributions_in_groups_of_three,
            term=constant_term("least_contributions"),
            what=text_by_flag(pl.col("amount") == pl.col("least_amount"), "least", "not least"),
            hit=as_hit(pl.col("amount") == pl.col("least_amount")),
        ),
    ),
    combine=Combine.POOLED,
)
