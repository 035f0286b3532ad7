"""Pairs of models from sums by setting: the difference, its interval, p-value, and what was paired.

Where at least `LEAST_PAIRED` of what either model counted in each term is on settings of both, the
comparison is paired, and all that is printed is about these common settings, with the same number
of items for both models in each (`common`).

p is that of flipped signs of what settings add to the difference (`flips`). The interval is
MOVER's, of both models' intervals over the evened sums and the correlation of their contributions
by setting. Where signs are no fair test of the values (`Common.is_uneven`), p is no less than the
level at which this interval begins to hold 0.

Elsewhere the comparison is unpaired: the difference and MOVER's interval are those of the models'
own values, and p is the level at which it begins to hold 0. Such levels are of Wilson's ends. Games
that are the same for both, as in two states of a lake, correlate these values (`Common.tie`).

So p can be another method than the interval, and near the level asked for one may hold 0 and the
other not. Then the end next to 0 is moved to 0 or just beyond, and `ci_method` says so; the other
end stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from pipeline.statistics.common import Common, Counted
from pipeline.statistics.contrast import (
    Interval,
    Rate,
    effective_settings,
    mover,
    p_of,
    shrunk_correlation,
    z_at,
)
from pipeline.statistics.families import reaches
from pipeline.statistics.flips import sign_flip_p
from pipeline.statistics.interval import RATE, rates

# Where less is common, too much of what was played would not be in the difference.
LEAST_PAIRED = 0.5
# A p-value of flipped signs that does not even reach this tells nobody apart.
_SURELY_APART = 0.8
NEXT_TO_0 = 1e-9
"""Where an end of an interval is put that p has beyond 0: next to it."""
# Of all pairs that are worked out at once: more would take more memory.
MOST_CELLS = 2_000_000
PAIRED, UNPAIRED = "paired by setting", "unpaired"
MOVER = "MOVER"
MOVED_LOW, MOVED_HIGH = (f"{MOVER}, {end} end moved to agree with p" for end in ("low", "high"))
"""How an interval was computed: an end that p has on the other side of 0 is moved there."""
BASIS = pl.Struct({"one": pl.Struct(RATE), "other": pl.Struct(RATE), "correlation": pl.Float64()})
"""What a difference and its interval are made of: both rates, and how they go together."""
DIFFERENCE = pl.Schema(
    {
        "one": pl.String(),
        "other": pl.String(),
        "difference": pl.Float64(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "p_value": pl.Float64(),
        "method": pl.String(),
        "n_settings": pl.Int64(),
        "share_paired": pl.Float64(),
        "is_replayed": pl.Boolean(),
        "basis": BASIS,
    }
)
_PAIR = ("one", "other")


class Pilot(NamedTuple):
    """What a plan knows of a pair: settings, effective settings, and their correlation."""

    n_settings: int
    n_effective: float
    correlation: float


def differences(
    sums: pl.LazyFrame,
    terms: pl.LazyFrame,
    pairs: Sequence[tuple[str, str]],
    confidence: float,
    *,
    n_games: Mapping[str, int] | None = None,
    with_intervals: bool = True,
) -> pl.DataFrame:
    """A row for each pair of models, in their order, with the columns of `DIFFERENCE`.

    `sums` (model, stratum, cluster, term, h, c) and `terms` (model, term, weight, counted) are
    those of `intervals` by model, of one metric. Both models of a pair have a value, of the same
    terms. `n_games` are the games that each model counted, if that is known. `n_settings` are those
    in common, `share_paired` the least share of a term's items that either model counted in them,
    `basis` what the interval is made of. Without intervals, which take far longer than p-values, a
    paired comparison may have no difference and no basis.
    """
    counted = Counted(sums, terms, n_games)
    # Only pairs without common settings ask for them.
    own = cache(lambda: _rates(counted.cells, ["model"], confidence))
    n_models = max(1, counted.cells["model"].n_unique())
    at_once = max(1, MOST_CELLS * n_models // max(1, counted.cells.height))
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(pairs), at_once):
        tested = [_tested(counted, pair, confidence) for pair in pairs[start : start + at_once]]
        asked = [one for one in tested if with_intervals or one.asks]
        even = _even_rates([one.common for one in asked if not one.is_own], confidence)
        for one in tested:
            of_pair: Sequence[dict[str, Any]] = ()
            if with_intervals or one.asks:
                of_pair = [own()[model,] for model in one.pair] if one.is_own else next(even)
            rows.append(_row(one, of_pair, confidence))
    return pl.DataFrame(rows, schema=DIFFERENCE, orient="row")


def pilots_of(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]]
) -> list[Pilot]:
    """Of each pair the settings in common, and how their contributions in these go together.

    The arguments are those of `differences`; the correlation is shrunk, and 0 without settings.
    """
    counted = Counted(sums, terms)
    return [
        Pilot(common.n_settings, effective_settings(*common.u), shrunk_correlation(*common.u))
        for common in (counted.common(*pair) for pair in pairs)
    ]


class _Tested(NamedTuple):
    """A pair and the p-value of flipped signs, None where nothing is paired.

    Whether p is to be no less than the level at which the interval begins to hold 0, is `asks`.
    """

    pair: tuple[str, str]
    common: Common
    flipped: float | None
    asks: bool

    @property
    def is_own(self) -> bool:
        """Whether the rates are the models' own: all of their items are common, or none counts."""
        return self.flipped is None or self.common.is_all


def _tested(counted: Counted, pair: tuple[str, str], confidence: float) -> _Tested:
    common = counted.common(*pair)
    if common.share_paired < LEAST_PAIRED:
        return _Tested(pair, common, None, asks=True)
    p = sign_flip_p(common.x)
    asks = reaches(p, min(_SURELY_APART, confidence)) and common.is_uneven
    return _Tested(pair, common, p, asks)


def _row(row: _Tested, of_pair: Sequence[dict[str, Any]], confidence: float) -> tuple[Any, ...]:
    """A row of `DIFFERENCE`, without an interval if both rates are not known."""
    common, p = row.common, row.flipped or 0.0
    basis: dict[str, Any] | None = None
    interval: tuple[Any, ...] = (None,) * 4
    if of_pair:
        correlation = common.tie if row.flipped is None else shrunk_correlation(*common.u)
        basis = dict(zip(_PAIR, of_pair, strict=True)) | {"correlation": correlation}
        if row.asks:
            one, other, _ = of_basis(basis)
            p = max(p, p_of(z_at(one, other, 0.0, correlation)))
        interval = _agreed(basis, p, confidence)
    method = UNPAIRED if row.flipped is None else PAIRED
    of_common = (common.n_settings, common.share_paired, common.is_replayed)
    return (*row.pair, *interval, p, method, *of_common, basis)


def of_basis(basis: dict[str, Any]) -> tuple[Rate, Rate, float]:
    """Both rates that a difference is made of, and their correlation."""
    return Rate.of(basis["one"]), Rate.of(basis["other"]), basis["correlation"]


def _agreed(basis: dict[str, Any], p: float, confidence: float) -> tuple[float, float, float, str]:
    """MOVER's interval and its method, the end next to 0 on that side of it where p has it."""
    one, other = (
        Interval(side["rate"] * side["range"], side["ci_low"], side["ci_high"])
        for side in (basis["one"], basis["other"])
    )
    value, low, high = mover(one, other, basis["correlation"])
    is_apart = reaches(p, confidence)
    if is_apart == (low > 0 or high < 0):
        return value, low, high, MOVER
    end = NEXT_TO_0 if is_apart else 0.0
    if value > 0:
        return value, end, high, MOVED_LOW
    # Not `-end`: that of 0 would be shown as if it were below 0.
    return value, low, 0.0 - end, MOVED_HIGH


def _rates(cells: pl.DataFrame, by: Sequence[str], confidence: float) -> dict[Any, dict[str, Any]]:
    """The rate of each group, a row of `RATE`."""
    terms = cells.select(*by, "term", "weight", "counted").unique()
    of_groups = rates(cells.lazy(), terms.lazy(), by, confidence).collect()
    rows = of_groups.select(RATE.names()).iter_rows(named=True)
    return dict(zip(of_groups.select(by).iter_rows(), rows, strict=True))


def _even_rates(commons: Sequence[Common], confidence: float) -> Iterator[list[dict[str, Any]]]:
    """Both sides' rates over what the two have in common, pair by pair."""
    if not commons:
        return iter(())
    cells = pl.concat(
        common.cells().with_columns(pair=pl.lit(n, pl.UInt32)) for n, common in enumerate(commons)
    )
    sides = pl.concat(cells.with_columns(side=pl.lit(side), h=f"h_{side}") for side in _PAIR)
    rates_of = _rates(sides, ["pair", "side"], confidence)
    return ([rates_of[n, side] for side in _PAIR] for n in range(len(commons)))
