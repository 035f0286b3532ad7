"""Rationality: betrayals over decisions, and least contributions over contributions."""

import polars as pl

from pipeline.metrics.compared import COMPARED, number, text_of
from pipeline.metrics.declaration import Combine, Metric, Rows, Tables, Term, as_hit, either, one
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
    compared_with=text_of(pl.lit(str(Choice.DEFECT))),
)
_AMOUNTS = pl.format(
    "gave {}, the least: {}", number(pl.col("amount")), number(pl.col("least"))
).alias(COMPARED)


def _with_least(rows: pl.LazyFrame, tables: Tables) -> pl.LazyFrame:
    """The contributions compared with the least of their round."""
    keys = ["game_id", "round"]
    least = tables("contributions").group_by(keys).agg(least=pl.col("amount").min())
    return rows.join(least, on=keys, how="left").with_columns(_AMOUNTS)


def _rounds_of_three(tables: Tables) -> pl.LazyFrame:
    """The tested seat's contribution of each three in a row, with the least amount among them.

    Whose a contribution is, the script tells by its place among the three; amounts it reads with a
    pattern of its own, as 0 where that does not match.
    """
    place = pl.int_range(pl.len()).over("game_id", order_by="message_index", nulls_last=True)
    read = pl.col("text").str.extract(r"contribute ([0-9]+)").cast(pl.Float64).fill_null(0.0)
    contributions = (
        tables("contributions")
        .select("game_id", "round", "message_index", "parse_status", place=place, amount=read)
        .with_columns(three=pl.col("place") // 3, seat=(pl.col("place") % 3 + 1).cast(pl.Int32))
        .with_columns(
            n_amounts=pl.len().over("game_id", "three"),
            least=pl.col("amount").min().over("game_id", "three"),
        )
        .filter(pl.col("n_amounts") == 3)
    )
    tested = tables("results").drop("round", "message_index", "parse_status")
    return tested.join(contributions, on=["game_id", "seat"])


PAPER = Metric(
    terms=_TERMS,
    rows=(
        _BETRAYALS,
        Rows(
            "contributions",
            term=one("least_contributions"),
            what=either(pl.col("is_least"), "least", "not least"),
            hit=as_hit(pl.col("is_least")),
            compared_with=_with_least,
        ),
    ),
    high=2.0,
)
RELEASE = Metric(
    terms=_TERMS,
    rows=(
        _BETRAYALS,
        Rows(
            _rounds_of_three,
            term=one("least_contributions"),
            what=either(pl.col("amount") == pl.col("least"), "least", "not least"),
            hit=as_hit(pl.col("amount") == pl.col("least")),
            compared_with=text_of(_AMOUNTS),
        ),
    ),
    combine=Combine.POOLED,
)
