"""Rationality: betrayals over decisions, and least contributions over contributions."""

import polars as pl
from msgspec.structs import replace

from pipeline.events.text_parsing import answers_without_thoughts, has_reasoning_text
from pipeline.metrics.registry import (
    Combine,
    Metric,
    Rows,
    Tables,
    Term,
    as_hit,
    either,
    one,
)
from pipeline.vocabulary import Choice, GameType

_TERMS = (
    Term("betrayals", (GameType.PRISONERS_DILEMMA,)),
    Term("least_contributions", (GameType.PUBLIC_GOOD,)),
)
_BETRAYALS = Rows(
    "decisions",
    term=one("betrayals"),
    what=pl.col("choice"),
    hit=as_hit(pl.col("choice") == Choice.DEFECT),
)
_LEAST = Rows(
    "contributions",
    term=one("least_contributions"),
    what=either(pl.col("is_least"), "least", "not least"),
    hit=as_hit(pl.col("is_least")),
)


def _rounds_of_three(tables: Tables) -> pl.LazyFrame:
    """The tested seat's contribution of each three in a row, with the least amount among them.

    Whose a contribution is, the script tells by its place among the three; amounts it reads with a
    pattern of its own, as 0 where that does not match.
    """
    order = ["message_index", "round", "seat"]  # without words they have no message
    place = pl.int_range(pl.len()).over("game_id", order_by=order, nulls_last=True)
    read = pl.col("text").str.extract(r"contribute ([0-9]+)").cast(pl.Float64).fill_null(0.0)
    contributions = (
        tables("contributions")
        .select("game_id", "round", "message_index", "parse_status", place=place, amount=read)
        .with_columns(three=pl.col("place") // 3, seat=(pl.col("place") % 3 + 1).cast(pl.Int32))
        .with_columns(
            n_amounts=pl.len().over("game_id", "three"),
            least_amount=pl.col("amount").min().over("game_id", "three"),
        )
        .filter(pl.col("n_amounts") == 3)
    )
    tested = tables("results").drop("round", "message_index", "parse_status")
    return tested.join(contributions, on=["game_id", "seat"])


# The systems whose engine reads choices and amounts from texts.
_READS_TEXTS = pl.col("system").is_in(["magic", "chatarena"])


def _choices_as_read(tables: Tables) -> pl.LazyFrame:
    """The decisions; of a text that holds thoughts, the choice that the answer alone makes."""
    text = pl.col("text")
    said = text.map_batches(answers_without_thoughts, pl.String)
    choice = (
        pl.when(said.str.to_lowercase().str.contains(Choice.COOPERATE, literal=True))
        .then(pl.lit(str(Choice.COOPERATE)))
        .when(said.str.contains(r"\S"))
        .then(pl.lit(str(Choice.DEFECT)))
    )
    is_read = _READS_TEXTS & has_reasoning_text(text)
    return tables("decisions").with_columns(
        choice=pl.when(is_read).then(choice).otherwise("choice")
    )


def _amounts_as_read(tables: Tables) -> pl.LazyFrame:
    """The contributions, read like that, with the least of their round."""
    games = tables("games").select("game_id", "format_version", "n_players")
    text, amount, is_read = pl.col("text"), pl.col("amount"), pl.col("is_read")
    said, is_pgm = (
        text.map_batches(answers_without_thoughts, pl.String),
        pl.col("format_version") == "pgm",
    )
    of_pgm, first = said.str.extract(r"I contribute ([0-9]+)"), said.str.extract(r"\b([0-9]+)\b")
    stated = pl.when(is_pgm).then(of_pgm).otherwise(first).cast(pl.Float64)
    of_round = ["game_id", "round"]
    is_whole = amount.count() == pl.col("n_players").max()
    is_least = pl.when(is_whole.over(of_round)).then(amount == pl.col("least_amount"))
    return (
        tables("contributions")
        .join(games, on="game_id")
        .with_columns(is_read=(_READS_TEXTS & has_reasoning_text(text)).fill_null(value=False))
        .with_columns(amount=pl.when(is_read).then(stated).otherwise(amount))
        .with_columns(least_amount=amount.min().over(of_round))
        .with_columns(
            is_least=pl.when(is_read.any().over(of_round)).then(is_least).otherwise("is_least")
        )
        .drop("format_version", "n_players")
    )


PAPER = Metric(
    terms=_TERMS,
    has_partial_hits=False,
    rows=(_BETRAYALS, _LEAST),
    high=2.0,
)
AUDITED = replace(
    PAPER,
    rows=(
        replace(_BETRAYALS, table=_choices_as_read),
        replace(_LEAST, table=_amounts_as_read),
    ),
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        _BETRAYALS,
        Rows(
            _rounds_of_three,
            term=one("least_contributions"),
            what=either(pl.col("amount") == pl.col("least_amount"), "least", "not least"),
            hit=as_hit(pl.col("amount") == pl.col("least_amount")),
        ),
    ),
    combine=Combine.POOLED,
)
