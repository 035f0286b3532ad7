"""How a metric is declared: the rows that it counts, what a hit is, and how its terms combine."""

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from math import fsum, inf

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import games
from pipeline.errors import MetricError
from pipeline.statistics.sums import ROUNDING
from pipeline.vocabulary import ParseStatus

Tables = Callable[[str], pl.LazyFrame]
IS_READABLE = pl.col("parse_status") != ParseStatus.OUTAGE


class Combine(StrEnum):
    """How the terms become a value. A ratio with nothing counted is null."""

    SUM = "sum"  # of weight × ratio; null if any term is
    MEAN = "mean"  # of the ratios that there are; null if there is none
    POOLED = "pooled"  # all hits over all that was counted
    POOLED_OVER_ALL = "pooled over all"  # the same, null if any term counts nothing


POOLED = (Combine.POOLED, Combine.POOLED_OVER_ALL)  # all terms as one ratio


class Term(Struct, frozen=True):
    """One ratio of hits to counted rows. It exists only in games of its types.

    `fixed_count` gives the denominator where it is not the number of rows; its argument is the
    release edition's number of games. Raises MetricError for a weight that is not above 0: it would
    make the value a difference of ratios, for which there is no interval.
    """

    name: str
    game_types: tuple[str, ...]
    weight: float = 1.0
    fixed_count: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight < inf:
            raise MetricError(
                f"the term `{self.name}` has the weight {self.weight:g}: give it one above 0"
            )


class Rows(Struct, frozen=True):
    """Rows of an event table that a metric counts.

    `where` selects the rows that are about the metric at all, `term` names the term that each is
    for, `what` says in a word or two what the player did, `hit` is its share of success in 0..1,
    and `counted` whether it is counted: by default where a hit is known. `table` is a name, or a
    function of the tables for what needs more than one. `roles` is a condition on the lake's table
    `roles` that a role of the row's game type has to meet. `spans_games` says that one of these
    looks at other games than the row's own, as a rank over all games of a model does.
    """

    table: str | Callable[[Tables], pl.LazyFrame]
    term: pl.Expr
    what: pl.Expr
    hit: pl.Expr
    where: pl.Expr = pl.lit(value=True)
    counted: pl.Expr | None = None
    roles: pl.Expr | None = None
    spans_games: bool = False


class Metric(Struct, frozen=True):
    """One metric in one edition. Its range is from 0 to `high`.

    `unknown` is the reason for no value where `{}` games have a counted row without a hit.
    Unless it `has_partial_hits`, each hit is 0 or 1, and hits take less time to add up. Raises
    MetricError for a `high` below the largest value that the terms can have: for `Combine.SUM` the
    sum of their weights, else 1.
    """

    terms: tuple[Term, ...]
    rows: tuple[Rows, ...]
    combine: Combine = Combine.SUM
    high: float = 1.0
    unknown: str = "outcome unknown in {} games"
    has_partial_hits: bool = True

    def __post_init__(self) -> None:
        is_sum = self.combine == Combine.SUM
        most = fsum(term.weight for term in self.terms) if is_sum else 1.0
        # Weights that are parts of 1 may add up to a little more.
        if not most * (1 - ROUNDING) <= self.high < inf:
            raise MetricError(
                f"`high` is the largest value that there can be, which is {most:g}, not "
                f"{self.high:g}: give the Metric `high={most}`"
            )

    @property
    def game_types(self) -> tuple[str, ...]:
        """The game types that the metric is defined for: rows of others are not counted."""
        of_terms = {str(game_type) for term in self.terms for game_type in term.game_types}
        return tuple(name for name in games.names() if name in of_terms)

    @property
    def is_share(self) -> bool:
        """Whether its values are made of shares: a weight above 1 gives them a unit of its own."""
        return all(term.weight <= 1 for term in self.terms)

    @property
    def term_of_type(self) -> dict[str, str]:
        """The term of all rows of each game type; empty if rows or declared terms say otherwise."""
        of_types = [(str(one), term.name) for term in self.terms for one in term.game_types]
        is_told = all(part.term.meta.is_literal() for part in self.rows)
        return dict(of_types) if is_told and len(dict(of_types)) == len(of_types) else {}

    def among(self, played: Collection[str]) -> "Metric":
        """The metric without the terms of games that are not among those played.

        Its `high` is the most that the remaining terms can add up to. It is as declared where no
        term would remain.
        """
        kept = tuple(
            replace(term, game_types=types)
            for term in self.terms
            if (types := tuple(name for name in term.game_types if name in played))
        )
        if not kept:
            return self
        is_sum = self.combine == Combine.SUM
        # A term of a fixed count can exceed its weight, so `high` keeps what it is above the sum.
        dropped = fsum(term.weight for term in self.terms) - fsum(term.weight for term in kept)
        return replace(self, terms=kept, high=self.high - dropped if is_sum else self.high)


def types_of(
    metrics: Mapping[str, Metric], types: Callable[[Metric], Iterable[str]]
) -> pl.DataFrame:
    """metric, game_type: a row for each of the types of each metric."""
    rows = [(name, str(one)) for name, declared in metrics.items() for one in types(declared)]
    return pl.DataFrame(rows, {"metric": pl.String, "game_type": pl.String}, orient="row")


def one(name: str) -> pl.Expr:
    """The term of rows that are all for the same one."""
    return pl.lit(name)


def either(flag: pl.Expr, yes: str, no: str) -> pl.Expr:
    """One word where the flag is set, the other where it is not, and null where it is unknown."""
    return pl.when(flag).then(pl.lit(yes)).when(~flag).then(pl.lit(no))


def as_hit(flag: pl.Expr) -> pl.Expr:
    """A yes or no as a hit: 1, 0, or null."""
    return flag.cast(pl.Int64)
