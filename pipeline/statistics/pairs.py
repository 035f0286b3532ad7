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

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.statistics.comparison import (
    Floats,
    Interval,
    RateEstimate,
    effective_settings,
    is_significant,
    mover,
    p_of,
    shrunk_correlation,
    sign_flip_p,
    z_at,
)
from pipeline.statistics.intervals import (
    LEAST_BESIDE,
    RATE,
    TIMES_AS_MANY,
    exact_sum,
    rate_estimates,
)

# What models counted by cell, and what two of them have in common: their contributions by setting.
#
# A cell is a term, a stratum and a cluster. Of each that both models have, h_A of c_A and h_B of
# c_B:
#
#     w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B
#
# so that both models have the same number of items w in each, however often either played it.
# Setting s adds to the difference, over its cells of terms k, of share a_k of the metric's range,
#
#     x_s = Σ a_k · (h'_A − h'_B) / Σ_k w
#
# and a model's own contribution, about its ratio r_k and the mean of the stratum, is
#
#     u_s = Σ a_k · (e − mean e) / Σ_k w,   e = h' − r_k w
#
# Two states of one lake can hold the very same games. Their cells tell of no change, so they are
# left out of what is common. But they tie the whole values to one another: if items are equally
# variable, these correlate by √(p_A p_B), p being the share of a term's items that are the same in
# both.

Ints = NDArray[np.int64]
REPLAY_RATIO = 1.5
"""So many times as many games of common settings as the other model: it replayed them."""
_CELL = ("term", "stratum", "cluster")
_C = pl.col("c")


class Own(NamedTuple):
    """What one model counted: its cells, in order, the weight and all items of each term, and how
    many items a game has."""

    cell: Ints
    h: Floats
    c: Floats
    weight: Floats
    counted: Floats
    length: float


class Counted:
    """What models counted, from the `sums` and `terms` of `intervals` by model, and `n_games`.

    `sums` may have `is_same`: whether the cell holds the same games for all models that have it.
    `cells` has model, term, stratum, cluster, h, c, and of the term its weight and `counted`, all
    that the cells have.
    """

    def __init__(
        self, sums: pl.LazyFrame, terms: pl.LazyFrame, n_games: Mapping[str, int] | None = None
    ) -> None:
        known = sums if "is_same" in sums.collect_schema() else sums.with_columns(is_same=False)
        by_cell = known.group_by("model", *_CELL).agg(
            pl.col("is_same").any(), h=exact_sum(pl.col("h")), c=_C.sum()
        )
        total = _C.sum().over("model", "term")
        # In this order, since total and counted are mostly the same: their ratio is then 1 exactly.
        weight = pl.col("weight") * (total / pl.col("counted"))
        joined = by_cell.filter(_C > 0).join(terms, on=["model", "term"])
        self.cells = joined.with_columns(weight=weight, counted=total).collect()
        numbered = self.cells.with_columns(_numbers(self.cells[name]) for name in _CELL)
        of_cell = numbered.group_by(_CELL).agg(pl.col("is_same").any()).sort(_CELL)
        every = of_cell.with_row_index("cell")
        self._every = _Keys(*(every[name].to_numpy() for name in _CELL))
        self._is_same = every["is_same"].to_numpy()
        parts = numbered.join(every, on=_CELL).sort("cell").partition_by("model", as_dict=True)
        self._own = {
            str(model): self._of_model(part, (n_games or {}).get(str(model)))
            for (model,), part in parts.items()
        }
        self._spread: tuple[str | None, Floats] = (None, np.zeros(0))

    def _of_model(self, part: pl.DataFrame, n_games: int | None) -> Own:
        of_terms = np.zeros((2, self._every.term[-1] + 1))
        of_terms[:, part["term"]] = part.select("weight", "counted").to_numpy().T
        cell, h, c = (part[name].to_numpy() for name in ("cell", "h", "c"))
        weight, counted = of_terms
        return Own(cell, h, c, weight, counted, counted.sum() / n_games if n_games else 1.0)

    def common_settings(self, one: str, other: str) -> "Common":
        """What the two have in common."""
        own, others = self._own[one], self._own[other]
        every, n_cells = self._every, len(self._every.term)
        if len(own.cell) == len(others.cell) == n_cells and not self._is_same.any():
            h, c = np.stack([own.h, others.h]), np.stack([own.c, others.c])
            return Common((own, others), every, h, c)
        if self._spread[0] != one:
            # Over every cell: pairs come sorted by the first model.
            self._spread = one, np.zeros((2, n_cells))
            self._spread[1][:, own.cell] = own.h, own.c
        both = np.stack([self._spread[1][:, others.cell], [others.h, others.c]], axis=1)
        of_both, is_same = both[1, 0] > 0, self._is_same[others.cell]
        is_common, same = of_both & ~is_same, of_both & is_same
        cell, (h, c) = others.cell[is_common], both[:, :, is_common]
        keys = _Keys(every.term[cell], every.stratum[cell], every.cluster[cell])
        tie = 0.0  # as of all but two states of a lake, so nothing is added up for them
        if same.any():
            tie = _tie((own, others), every.term[others.cell[same]], both[1][:, same])
        return Common((own, others), keys, h, c, tie)


def _tie(own: tuple[Own, Own], term: Ints, c: Floats) -> float:
    """How both values go together by the cells that are the same: the mean over their terms."""
    counted = np.stack([one.counted for one in own])
    items = np.stack([np.bincount(term, of_one, counted.shape[1]) for of_one in c])
    shares = np.divide(items, counted, out=np.zeros_like(counted), where=counted > 0)
    return float(np.average(np.sqrt(shares.prod(axis=0)), weights=own[0].weight + own[1].weight))


def _numbers(names: pl.Series) -> pl.Series:
    """Numbers in the order of the names, which are sorted and joined much faster; 0 for null."""
    texts = names.cast(pl.String)
    number = texts.cast(pl.Enum(texts.drop_nulls().unique().sort())).to_physical()
    return (number.cast(pl.Int64) + 1).fill_null(0)


class Common:
    """What two models have in common, cell by cell: `h` of both, evened, of `w` items.

    `tie` is the correlation of their whole values by games that are the same.
    """

    def __init__(
        self, own: tuple[Own, Own], keys: "_Keys", h: Floats, c: Floats, tie: float = 0.0
    ) -> None:
        self.tie = tie
        self._keys, self._terms, self.n_settings = keys, keys.terms, keys.n_settings
        self.w = c.sum(axis=0) / 2
        self.h = self.w * h / c
        of_term = keys.term[self._terms.starts]
        self.total = self._terms.run_sums(self.w)
        self.weight = (own[0].weight + own[1].weight)[of_term] / 2
        items = np.zeros((2, len(own[0].counted)))
        items[:, of_term] = self._terms.run_sums(c)
        shares = [
            part[of.counted > 0] / of.counted[of.counted > 0]
            for part, of in zip(items, own, strict=True)
        ]
        self.share_paired = float(np.concatenate(shares).min())
        """The least share of a term's items that either model counted in common settings."""
        is_whole = self.share_paired == 1 and (own[0].weight == own[1].weight).all()
        self.is_all = bool(is_whole and (c[0] == c[1]).all())
        """Whether both models counted just this, so that evening changes nothing."""
        # To count games takes as long as all the sums, so their number is that of items, over those
        # of a mean game of the model.
        games = items[:, of_term] / [[one.length] for one in own]
        self.is_replayed = bool((games.max(axis=0) >= REPLAY_RATIO * games.min(axis=0)).any())

    @property
    def is_uneven(self) -> bool:
        """Whether one replayed, or a term has few settings beside another's.

        Then signs are no fair test of the values. The mean of ten games is rarely as far from the
        truth as a single game is; and models that differ in two terms, in opposite directions, have
        equal values, which few settings of one of the terms seldom show.
        """
        n = self.total**2 / self._terms.run_sums(self.w**2)
        is_thin = n.min() < LEAST_BESIDE and n.max() >= TIMES_AS_MANY * n.min()
        return self.is_replayed or bool(is_thin)

    @property
    def setting_differences(self) -> Floats:
        """What each setting adds to the difference."""
        return self._by_setting(self.h[0] - self.h[1])

    @cached_property
    def u(self) -> tuple[Floats, Floats]:
        """Each model's own contributions by setting."""
        terms, strata = self._terms, self._keys.strata
        e = self.h - terms.spread(terms.run_sums(self.h) / self.total) * self.w
        one, other = e - strata.spread(strata.run_sums(e) / strata.sizes)
        return self._by_setting(one), self._by_setting(other)

    def _by_setting(self, values: Floats) -> Floats:
        share = self._terms.spread(self.weight / self.total)
        return np.bincount(self._keys.cluster, share * values)[self._keys.is_there].astype(
            np.float64
        )

    def weighted_cells(self) -> pl.DataFrame:
        """Its cells, with those of each term its weight and all of its items, as `counted`."""
        spread = self._terms.spread
        return pl.DataFrame(
            {
                **{name: getattr(self._keys, name) for name in _CELL},
                **{"h_one": self.h[0], "h_other": self.h[1], "c": self.w},
                **{"weight": spread(self.weight), "counted": spread(self.total)},
            }
        )


class _Keys:
    """Cells in order: those of a term are next to each other, and in it those of a stratum."""

    def __init__(self, term: Ints, stratum: Ints, cluster: Ints) -> None:
        self.term, self.stratum, self.cluster = term, stratum, cluster
        self.terms, self.strata = _Runs(term), _Runs(term, stratum)
        self.is_there = np.bincount(cluster) > 0
        self.n_settings = int(self.is_there.sum())


class _Runs:
    """Runs of equal keys."""

    def __init__(self, *keys: Ints) -> None:
        is_new = np.any([np.diff(key, prepend=-1) != 0 for key in keys], axis=0)
        self.starts = np.flatnonzero(is_new)
        self.sizes = np.diff(self.starts, append=len(is_new))

    def run_sums(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts, axis=-1) if len(self.starts) else values

    def spread(self, values: Floats) -> Floats:
        return np.repeat(values, self.sizes, axis=-1)


# Where less is common, too much of what was played would not be in the difference.
LEAST_PAIRED = 0.5
# A p-value of flipped signs that does not even reach this tells nobody apart.
_SURELY_APART = 0.8
NEXT_TO_0 = 1e-9
"""Where an end of an interval is put that p has beyond 0: next to it."""
# Of all pairs that are worked out at once: more would take more memory.
MOST_CELLS = 2_000_000
PAIRED, UNPAIRED = "paired by setting", "unpaired"
MOVER_METHOD = "MOVER"
MOVED_LOW, MOVED_HIGH = (
    f"{MOVER_METHOD}, {end} end moved to agree with p" for end in ("low", "high")
)
"""How an interval was computed: an end that p has on the other side of 0 is moved there."""
BASIS = pl.Struct({"one": pl.Struct(RATE), "other": pl.Struct(RATE), "correlation": pl.Float64()})
"""What a difference and its interval are made of: both rates, and how they go together."""
DIFFERENCE_SCHEMA = pl.Schema(
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


class PilotData(NamedTuple):
    """What a plan knows of a pair: settings, effective settings, and their correlation."""

    n_settings: int
    n_effective: float
    correlation: float


def pairwise_differences(
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
    return pl.DataFrame(rows, schema=DIFFERENCE_SCHEMA, orient="row")


def pilot_data(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]]
) -> list[PilotData]:
    """Of each pair the settings in common, and how their contributions in these go together.

    The arguments are those of `differences`; the correlation is shrunk, and 0 without settings.
    """
    counted = Counted(sums, terms)
    return [
        PilotData(common.n_settings, effective_settings(*common.u), shrunk_correlation(*common.u))
        for common in (counted.common_settings(*pair) for pair in pairs)
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
    common = counted.common_settings(*pair)
    if common.share_paired < LEAST_PAIRED:
        return _Tested(pair, common, None, asks=True)
    p = sign_flip_p(common.setting_differences)
    asks = is_significant(p, min(_SURELY_APART, confidence)) and common.is_uneven
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
            one, other, _ = rates_from_basis(basis)
            p = max(p, p_of(z_at(one, other, 0.0, correlation)))
        interval = _agreed(basis, p, confidence)
    method = UNPAIRED if row.flipped is None else PAIRED
    of_common = (common.n_settings, common.share_paired, common.is_replayed)
    return (*row.pair, *interval, p, method, *of_common, basis)


def rates_from_basis(basis: dict[str, Any]) -> tuple[RateEstimate, RateEstimate, float]:
    """Both rates that a difference is made of, and their correlation."""
    return RateEstimate.of(basis["one"]), RateEstimate.of(basis["other"]), basis["correlation"]


def _agreed(basis: dict[str, Any], p: float, confidence: float) -> tuple[float, float, float, str]:
    """MOVER's interval and its method, the end next to 0 on that side of it where p has it."""
    one, other = (
        Interval(side["rate"] * side["range"], side["ci_low"], side["ci_high"])
        for side in (basis["one"], basis["other"])
    )
    value, low, high = mover(one, other, basis["correlation"])
    is_apart = is_significant(p, confidence)
    if is_apart == (low > 0 or high < 0):
        return value, low, high, MOVER_METHOD
    end = NEXT_TO_0 if is_apart else 0.0
    if value > 0:
        return value, end, high, MOVED_LOW
    # Not `-end`: that of 0 would be shown as if it were below 0.
    return value, low, 0.0 - end, MOVED_HIGH


def _rates(cells: pl.DataFrame, by: Sequence[str], confidence: float) -> dict[Any, dict[str, Any]]:
    """The rate of each group, a row of `RATE`."""
    terms = cells.select(*by, "term", "weight", "counted").unique()
    of_groups = rate_estimates(cells.lazy(), terms.lazy(), by, confidence).collect()
    rows = of_groups.select(RATE.names()).iter_rows(named=True)
    return dict(zip(of_groups.select(by).iter_rows(), rows, strict=True))


def _even_rates(commons: Sequence[Common], confidence: float) -> Iterator[list[dict[str, Any]]]:
    """Both sides' rates over what the two have in common, pair by pair."""
    if not commons:
        return iter(())
    cells = pl.concat(
        common.weighted_cells().with_columns(pair=pl.lit(n, pl.UInt32))
        for n, common in enumerate(commons)
    )
    sides = pl.concat(cells.with_columns(side=pl.lit(side), h=f"h_{side}") for side in _PAIR)
    rates_of = _rates(sides, ["pair", "side"], confidence)
    return ([rates_of[n, side] for side in _PAIR] for n in range(len(commons)))


# How many settings it takes to see a difference.

MAX_SETTINGS = 1_000_000


def settings_needed(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    is_paired: bool = True,
) -> int | None:
    """Settings that each of two models has to play for a test to see the difference.

    `sd` is the standard deviation of a setting's difference if both play the same settings, else
    that of a setting of one model; in the metric's unit, as is `difference`. By the power of the
    t-test, paired or of two samples, two-sided; None past a million settings.
    """
    if sd == 0:
        return 2
    effect = abs(difference) / sd

    def is_enough(n: int) -> bool:
        return power_of(n, effect, level, is_paired=is_paired) >= power

    needed = bisect_left(range(MAX_SETTINGS + 1), x=True, lo=2, key=is_enough)
    return needed if needed <= MAX_SETTINGS else None


def power_of(n: int, effect: float, level: float, *, is_paired: bool) -> float:
    """The power of a two-sided t-test of n settings a model, an effect in standard deviations.

    Less the other tail, a false alarm of the wrong sign: scipy's is NaN at many places, so that a
    solver that adds it (such as that of statsmodels) ends anywhere at small levels.
    """
    from scipy.stats import nct, t

    df, shift = (n - 1, math.sqrt(n)) if is_paired else (2 * n - 2, math.sqrt(n / 2))
    return float(nct.sf(t.isf(level / 2, df), df, effect * shift))


def cautious_variance(variance: float, degrees: float, *, assurance: float = 0.8) -> float:
    """A variance seen with so many degrees of freedom, raised to be mostly above the true one.

    variance × df / χ²₍₁₋assurance₎(df), with the probability `assurance`: a pilot's own variance
    is too low in half of them (R. H. Browne, Statistics in Medicine 14 (1995) 1933–1940).
    """
    from scipy.stats import chi2

    return variance * degrees / float(chi2.ppf(1 - assurance, degrees))


def degrees_of_freedom(pilot: PilotData) -> float:
    """How well a pilot of n settings shows its variance: min(n − 1, 2 / (Σ v² − 1/n)).

    v is a setting's share of the sum of squares. That sum has the squared coefficient of variation
    Σ v² − 1/n, and χ² with d degrees of freedom has 2/d (F. E. Satterthwaite, Biometrics Bulletin 2
    (1946) 110–114): n of them for normal differences, where Σ v² is about 3/n, and fewer for rare
    ones. Settings that differ in nothing count in full.
    """
    n = pilot.n_settings
    excess = 1 / pilot.n_effective - 1 / n if pilot.n_effective else 0.0
    return min(n - 1, 2 / excess) if excess > 0 else n - 1


def standard_deviation_per_setting(
    one: RateEstimate,
    other: RateEstimate,
    n_settings: tuple[int, int],
    pilots: Sequence[PilotData],
    *,
    difference: float,
    is_paired: bool,
) -> float | None:
    """Return the cautious standard deviation of a setting's difference, or of one model's setting.

    The rates of a pilot's models can be closer to each other than the difference to detect, and
    then vary less than rates that are so far apart: near 0 or 1 far less. So the lower rate is
    moved down or the higher one up, whichever gives the larger variance.

    Args:
        one: The rate of one model in the pilot.
        other: The rate of the other model.
        n_settings: The number of settings of each rate.
        pilots: What the models have in common, or if unpaired what each has with itself.
        difference: The difference to detect, in the metric's unit.
        is_paired: Whether both models will play the same settings.

    Returns:
        The standard deviation in the metric's unit; None if a pilot has fewer than two settings.
    """
    if min(pilot.n_settings for pilot in pilots) < 2:
        return None
    sides = sorted(zip((one, other), n_settings, strict=True), key=lambda side: side[0].rate)

    def variances(*rates: float) -> list[float]:
        moved = zip(sides, rates, strict=True)
        return [n * _smoothed_variance(value._replace(rate=rate)) for (value, n), rate in moved]

    (low, _), (high, _) = sides
    observed = math.prod(variances(low.rate, high.rate))
    apart = abs(difference) / one.range
    down, up = max(0.0, high.rate - apart), min(1.0, low.rate + apart)
    both = 0.0
    for rate_pair in (
        (min(low.rate, down), max(high.rate, min(1.0, down + apart))),
        (min(low.rate, max(0.0, up - apart)), max(high.rate, up)),
    ):
        of_rates = variances(*rate_pair)
        # What settings have in common does not grow because the models are further apart.
        shared = pilots[0].correlation * math.sqrt(min(observed, math.prod(of_rates)))
        total = sum(of_rates)
        both = max(both, total - 2 * shared if is_paired else total / 2)
    return math.sqrt(cautious_variance(both, sum(map(degrees_of_freedom, pilots))))


def _smoothed_variance(value: RateEstimate) -> float:
    """A value's variance, at its rate with a hit and a miss more: at a ceiling it shows none."""
    n = value.effective_items
    rate = (value.rate * n + 1) / (n + 2)
    return value.range**2 * rate * (1 - rate) / n
