"""Differences between pairs of models, and the number of settings that is needed to detect one.

Used by `reports.compare`, `reports.diff` and `reports.plan`. Takes frames of hits and counted items
by setting, and the intervals and tests of `statistics.intervals` and `statistics.comparison`.

A comparison is paired if settings that both models played hold at least `MIN_SHARE_PAIRED` of the
items that either model counted in each term. All reported numbers are then about these common
settings, in which both models are given the same number of items (`CommonSettings`). p is the
p-value of the sign-flip test over the settings. The interval is MOVER's, from both models'
intervals over the common settings and the correlation of their contributions by setting. If the
sign-flip test does not fit the values (`CommonSettings.is_unfit_for_sign_flip_test`), p is at least
the significance level at which this interval reaches 0.

Otherwise the comparison is unpaired: the difference and MOVER's interval are computed from all
settings of each model, and p is the significance level at which the interval reaches 0, with
Wilson's ends. Games that are identical for both, as in two states of a lake, correlate the values
(`CommonSettings.tie`).

So p and the interval can come from different methods, and near the confidence level one may include
0 while the other does not. In this case the end next to 0 is moved to 0 or just beyond, and
`ci_method` says so; the other end stays.
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
    effective_number_of_settings,
    is_significant,
    mover_difference_interval,
    shrunk_correlation,
    sign_flip_p_value,
    smallest_z_of_interval_containing,
    two_sided_p_value,
)
from pipeline.statistics.intervals import (
    MIN_SETTINGS_OF_UNEVEN_TERM,
    RATE,
    UNEVEN_TERM_RATIO,
    order_independent_sum,
    rate_estimates,
)

# The counts of models by cell, and the contributions of the settings that two models share.
#
# A cell is a combination of term, stratum and cluster. In each cell that both models have, with h_A
# hits of c_A items and h_B of c_B, the hits are weighted to the same number of items w:
#
#     w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B
#
# so that it does not matter how often either model played the setting. Setting s adds to the
# difference, summed over its cells of terms k with the share a_k of the metric's range,
#
#     x_s = Σ a_k · (h'_A − h'_B) / Σ_k w
#
# and a model's own contribution, as a deviation from its ratio r_k and the mean of the stratum, is
#
#     u_s = Σ a_k · (e − mean e) / Σ_k w,   e = h' − r_k w
#
# Two states of one lake can hold identical games. Cells with identical games show no change, so
# they are excluded from the common cells. But they correlate the whole values: if all items are
# equally variable, the correlation is √(p_A p_B), where p is the share of a term's items that are
# identical.

Ints = NDArray[np.int64]
REPLAY_RATIO = 1.5
"""A model replayed the common settings if it has at least this many times as many games of a term
in them as the other model."""
_CELL = ("term", "stratum", "cluster")
_C = pl.col("c")


class ModelCounts(NamedTuple):
    """What one model counted.

    Attributes:
        cell: The numbers of the cells in which the model counted items, in ascending order.
        h: The hits in each of these cells.
        c: The counted items in each of these cells.
        weight: The weight of each term.
        counted: The counted items of each term.
        length: The mean number of items per game; 1 if the number of games is unknown.
    """

    cell: Ints
    h: Floats
    c: Floats
    weight: Floats
    counted: Floats
    length: float


class CountedCells:
    """Hits and counted items of several models by cell.

    Attributes:
        cells: A frame of model, term, stratum, cluster, h, c, and of the term its weight and
            `counted`, the number of items that the model has in the cells of the term.
    """

    def __init__(
        self, sums: pl.LazyFrame, terms: pl.LazyFrame, n_games: Mapping[str, int] | None = None
    ) -> None:
        """Add up the hits and counted items by cell.

        Args:
            sums: The columns model, stratum, cluster, term, h and c, as in `confidence_intervals`.
                An optional column `is_same` says that a cell holds the same games for all models
                that have it.
            terms: The columns model, term, weight and counted, as in `confidence_intervals`.
            n_games: The number of games that each model counted, if known.
        """
        sums_with_flag = (
            sums if "is_same" in sums.collect_schema() else sums.with_columns(is_same=False)
        )
        by_cell = sums_with_flag.group_by("model", *_CELL).agg(
            pl.col("is_same").any(), h=order_independent_sum(pl.col("h")), c=_C.sum()
        )
        n_items = _C.sum().over("model", "term")
        # The quotient comes first, because it is exactly 1 if both numbers are equal.
        weight = pl.col("weight") * (n_items / pl.col("counted"))
        joined = by_cell.filter(_C > 0).join(terms, on=["model", "term"])
        self.cells = joined.with_columns(weight=weight, counted=n_items).collect()
        numbered = self.cells.with_columns(
            _encode_names_as_integers(self.cells[name]) for name in _CELL
        )
        all_cells = numbered.group_by(_CELL).agg(pl.col("is_same").any()).sort(_CELL)
        numbered_cells = all_cells.with_row_index("cell")
        self._all_keys = _CellKeys(*(numbered_cells[name].to_numpy() for name in _CELL))
        self._is_same = numbered_cells["is_same"].to_numpy()
        cells_by_model = (
            numbered.join(numbered_cells, on=_CELL).sort("cell").partition_by("model", as_dict=True)
        )
        self._counts_by_model = {
            str(model): self._model_counts(model_cells, (n_games or {}).get(str(model)))
            for (model,), model_cells in cells_by_model.items()
        }
        self._first_model_cells: tuple[str | None, Floats] = (None, np.zeros(0))

    def _model_counts(self, model_cells: pl.DataFrame, n_games: int | None) -> ModelCounts:
        values_by_term = np.zeros((2, self._all_keys.term[-1] + 1))
        values_by_term[:, model_cells["term"]] = (
            model_cells.select("weight", "counted").to_numpy().T
        )
        cell, h, c = (model_cells[name].to_numpy() for name in ("cell", "h", "c"))
        weight, counted = values_by_term
        return ModelCounts(cell, h, c, weight, counted, counted.sum() / n_games if n_games else 1.0)

    def counts_in_common_settings(self, first_model: str, second_model: str) -> "CommonSettings":
        """Return the hits and items that two models counted in the settings that both played."""
        first, second = self._counts_by_model[first_model], self._counts_by_model[second_model]
        numbered_cells, n_cells = self._all_keys, len(self._all_keys.term)
        if len(first.cell) == len(second.cell) == n_cells and not self._is_same.any():
            hits, items = np.stack([first.h, second.h]), np.stack([first.c, second.c])
            return CommonSettings((first, second), numbered_cells, hits, items)
        if self._first_model_cells[0] != first_model:
            # Cached over all cells, because the pairs are sorted by their first model.
            self._first_model_cells = first_model, np.zeros((2, n_cells))
            self._first_model_cells[1][:, first.cell] = first.h, first.c
        hits_and_items = np.stack(
            [self._first_model_cells[1][:, second.cell], [second.h, second.c]], axis=1
        )
        is_in_both, is_same = hits_and_items[1, 0] > 0, self._is_same[second.cell]
        is_common, is_identical = is_in_both & ~is_same, is_in_both & is_same
        cell, (hits, items) = second.cell[is_common], hits_and_items[:, :, is_common]
        keys = _CellKeys(
            numbered_cells.term[cell], numbered_cells.stratum[cell], numbered_cells.cluster[cell]
        )
        tie = 0.0  # Only two states of a lake have identical games.
        if is_identical.any():
            tie = _correlation_by_identical_games(
                (first, second),
                numbered_cells.term[second.cell[is_identical]],
                hits_and_items[1][:, is_identical],
            )
        return CommonSettings((first, second), keys, hits, items, tie)


def _correlation_by_identical_games(
    counts: tuple[ModelCounts, ModelCounts], term: Ints, items_by_cell: Floats
) -> float:
    """Return the correlation of two values that comes from cells in which both have equal games.

    Notes:
        It is the mean over the terms of √(p_A p_B), where p is a model's share of items in such
        cells.
    """
    counted = np.stack([model_counts.counted for model_counts in counts])
    items = np.stack(
        [np.bincount(term, model_items, counted.shape[1]) for model_items in items_by_cell]
    )
    shares = np.divide(items, counted, out=np.zeros_like(counted), where=counted > 0)
    return float(
        np.average(np.sqrt(shares.prod(axis=0)), weights=counts[0].weight + counts[1].weight)
    )


def _encode_names_as_integers(names: pl.Series) -> pl.Series:
    """Encode names as integers in alphabetical order, which are joined faster; null becomes 0."""
    strings = names.cast(pl.String)
    number = strings.cast(pl.Enum(strings.drop_nulls().unique().sort())).to_physical()
    return (number.cast(pl.Int64) + 1).fill_null(0)


class CommonSettings:
    """What two models counted in the cells that both have, weighted to equal numbers of items.

    Attributes:
        h: The weighted hits of both models in each cell.
        w: The number of items in each cell, the same for both models.
        total: The sum of `w` in each term.
        weight: The mean weight of both models for each term.
        n_settings: The number of common settings.
        share_paired: The smallest share of a term's items that either model counted in common
            settings.
        is_all: Whether both models counted exactly these items, so that the weighting changes
            nothing.
        is_replayed: Whether one model counted at least `REPLAY_RATIO` times as many games of a term
            in the common settings as the other model.
        tie: The correlation of the models' whole values that is due to identical games.
    """

    def __init__(
        self,
        counts: tuple[ModelCounts, ModelCounts],
        keys: "_CellKeys",
        h: Floats,
        c: Floats,
        tie: float = 0.0,
    ) -> None:
        self.tie = tie
        self._keys, self._terms, self.n_settings = keys, keys.terms, keys.n_settings
        self.w = c.sum(axis=0) / 2
        self.h = self.w * h / c
        term_of_run = keys.term[self._terms.starts]
        self.total = self._terms.sums_by_run(self.w)
        self.weight = (counts[0].weight + counts[1].weight)[term_of_run] / 2
        items = np.zeros((2, len(counts[0].counted)))
        items[:, term_of_run] = self._terms.sums_by_run(c)
        shares = [
            common_items[model_counts.counted > 0] / model_counts.counted[model_counts.counted > 0]
            for common_items, model_counts in zip(items, counts, strict=True)
        ]
        self.share_paired = float(np.concatenate(shares).min())
        is_whole = self.share_paired == 1 and (counts[0].weight == counts[1].weight).all()
        self.is_all = bool(is_whole and (c[0] == c[1]).all())
        # Counting games would take as long as all the sums, so the number of games is estimated as
        # the number of items divided by the model's mean number of items per game.
        games = items[:, term_of_run] / [[model.length] for model in counts]
        self.is_replayed = bool((games.max(axis=0) >= REPLAY_RATIO * games.min(axis=0)).any())

    @property
    def is_unfit_for_sign_flip_test(self) -> bool:
        """Whether one model replayed the settings, or a term has far fewer of them than another.

        In both cases the sign-flip test does not fit the values. The mean of ten games is rarely as
        far from the truth as a single game. And models that differ in two terms in opposite
        directions can have equal values, which the few settings of one of the terms seldom show.
        """
        n = self.total**2 / self._terms.sums_by_run(self.w**2)
        is_thin = n.min() < MIN_SETTINGS_OF_UNEVEN_TERM and n.max() >= UNEVEN_TERM_RATIO * n.min()
        return self.is_replayed or bool(is_thin)

    @property
    def setting_differences(self) -> Floats:
        """How much each setting adds to the difference of both models' values."""
        return self._weighted_sums_by_setting(self.h[0] - self.h[1])

    @cached_property
    def deviations_by_setting(self) -> tuple[Floats, Floats]:
        """How far each model's contribution in each setting deviates from its expectation."""
        terms, strata = self._terms, self._keys.strata
        deviations = self.h - terms.repeat_by_run(terms.sums_by_run(self.h) / self.total) * self.w
        first, second = deviations - strata.repeat_by_run(
            strata.sums_by_run(deviations) / strata.sizes
        )
        return self._weighted_sums_by_setting(first), self._weighted_sums_by_setting(second)

    def _weighted_sums_by_setting(self, values_by_cell: Floats) -> Floats:
        share_per_item = self._terms.repeat_by_run(self.weight / self.total)
        return np.bincount(self._keys.cluster, share_per_item * values_by_cell)[
            self._keys.is_present
        ].astype(np.float64)

    def weighted_cells(self) -> pl.DataFrame:
        """Return a frame of the common cells with both models' hits, items, and term weights."""
        repeat_by_term = self._terms.repeat_by_run
        return pl.DataFrame(
            {
                **{name: getattr(self._keys, name) for name in _CELL},
                **{"h_one": self.h[0], "h_other": self.h[1], "c": self.w},
                **{"weight": repeat_by_term(self.weight), "counted": repeat_by_term(self.total)},
            }
        )


class _CellKeys:
    """The keys of cells that are sorted by term, then by stratum."""

    def __init__(self, term: Ints, stratum: Ints, cluster: Ints) -> None:
        self.term, self.stratum, self.cluster = term, stratum, cluster
        self.terms, self.strata = _EqualKeyRuns(term), _EqualKeyRuns(term, stratum)
        self.is_present = np.bincount(cluster) > 0
        self.n_settings = int(self.is_present.sum())


class _EqualKeyRuns:
    """Runs of consecutive cells that have equal keys."""

    def __init__(self, *keys: Ints) -> None:
        is_new = np.any([np.diff(key, prepend=-1) != 0 for key in keys], axis=0)
        self.starts = np.flatnonzero(is_new)
        self.sizes = np.diff(self.starts, append=len(is_new))

    def sums_by_run(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts, axis=-1) if len(self.starts) else values

    def repeat_by_run(self, values: Floats) -> Floats:
        return np.repeat(values, self.sizes, axis=-1)


# With a smaller share, the difference would ignore too many of the games.
MIN_SHARE_PAIRED = 0.5
# If the sign-flip test is not significant at this confidence level, the interval is not needed.
_PRECHECK_CONFIDENCE = 0.8
SMALLEST_NONZERO_END = 1e-9
"""The distance from 0 of an interval end that is moved because p is significant."""
# Maximum number of cells of the pairs that are computed together; it limits the memory.
MAX_CELLS_PER_BATCH = 2_000_000
PAIRED, UNPAIRED = "paired by setting", "unpaired"
MOVER_METHOD = "MOVER"
METHOD_LOW_END_MOVED, METHOD_HIGH_END_MOVED = (
    f"{MOVER_METHOD}, {end} end moved to agree with p" for end in ("low", "high")
)
"""Values of `ci_method` if an end was moved to the side of 0 that agrees with p."""
BASIS_TYPE = pl.Struct(
    {"one": pl.Struct(RATE), "other": pl.Struct(RATE), "correlation": pl.Float64()}
)
"""Type of the column `basis`: both rates and their correlation, which the interval is made from."""
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
        "basis": BASIS_TYPE,
    }
)
_PAIR = ("one", "other")


class PilotData(NamedTuple):
    """What a pilot study says about a pair of models.

    Attributes:
        n_settings: The number of common settings.
        n_effective: The effective number of settings.
        correlation: The correlation of both models' contributions by setting.
    """

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
    """Return the difference of each pair of models in one metric, with interval and p-value.

    Args:
        sums: The columns model, stratum, cluster, term, h and c, as in `confidence_intervals`; an
            optional column `is_same` marks cells with identical games.
        terms: The columns model, term, weight and counted, as in `confidence_intervals`.
        pairs: Pairs of models. Both models have a value, with the same terms.
        confidence: The confidence level, between 0 and 1.
        n_games: The number of games that each model counted, if known.
        with_intervals: Whether to compute intervals, which take far longer than p-values. Without
            them, a paired comparison may have no difference and no basis.

    Returns:
        One row per pair, in the order of `pairs`, with the columns of `DIFFERENCE_SCHEMA`.
        `n_settings` is the number of common settings, `share_paired` the smallest share of a term's
        items that either model counted in them, and `basis` what the interval is computed from.
    """
    counted = CountedCells(sums, terms, n_games)
    # Estimated at the first use, because only some pairs need the rates over all settings.
    estimate_rates_by_model = cache(
        lambda: _rate_fields_by_group(counted.cells, ["model"], confidence)
    )
    n_models = max(1, counted.cells["model"].n_unique())
    batch_size = max(1, MAX_CELLS_PER_BATCH * n_models // max(1, counted.cells.height))
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(pairs), batch_size):
        batch = [
            _apply_sign_flip_test_if_paired(counted, pair, confidence)
            for pair in pairs[start : start + batch_size]
        ]
        pairs_with_rates = [
            tested_pair for tested_pair in batch if with_intervals or tested_pair.needs_interval
        ]
        common_rates = _iter_rates_over_common_settings(
            [
                tested_pair.common
                for tested_pair in pairs_with_rates
                if not tested_pair.uses_all_settings
            ],
            confidence,
        )
        for tested_pair in batch:
            rates_of_pair: Sequence[dict[str, Any]] = ()
            if with_intervals or tested_pair.needs_interval:
                rates_of_pair = (
                    [estimate_rates_by_model()[model,] for model in tested_pair.pair]
                    if tested_pair.uses_all_settings
                    else next(common_rates)
                )
            rows.append(_difference_row_of_pair(tested_pair, rates_of_pair, confidence))
    return pl.DataFrame(rows, schema=DIFFERENCE_SCHEMA, orient="row")


def pilot_data(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]]
) -> list[PilotData]:
    """Return the number of common settings and the correlation of each pair of models.

    Args:
        sums: Hits and counted items, as in `pairwise_differences`.
        terms: The weight of each term, as in `pairwise_differences`.
        pairs: Pairs of models.

    Returns:
        One item per pair. The correlation is shrunk; it is 0 without common settings.
    """
    counted = CountedCells(sums, terms)
    return [
        PilotData(
            common.n_settings,
            effective_number_of_settings(*common.deviations_by_setting),
            shrunk_correlation(*common.deviations_by_setting),
        )
        for common in (counted.counts_in_common_settings(*pair) for pair in pairs)
    ]


class _TestedPair(NamedTuple):
    """A pair of models with the result of the sign-flip test.

    Attributes:
        pair: The names of both models.
        common: What both counted in common settings.
        sign_flip_p: The p-value of the sign-flip test; None if the comparison is unpaired.
        needs_interval: Whether p also depends on the interval.
    """

    pair: tuple[str, str]
    common: CommonSettings
    sign_flip_p: float | None
    needs_interval: bool

    @property
    def uses_all_settings(self) -> bool:
        """Whether the models are compared over all of their settings, not only the common ones."""
        return self.sign_flip_p is None or self.common.is_all


def _apply_sign_flip_test_if_paired(
    counted: CountedCells, pair: tuple[str, str], confidence: float
) -> _TestedPair:
    """Apply the sign-flip test to a pair of models, if they have enough settings in common."""
    common = counted.counts_in_common_settings(*pair)
    if common.share_paired < MIN_SHARE_PAIRED:
        return _TestedPair(pair, common, None, needs_interval=True)
    p = sign_flip_p_value(common.setting_differences)
    needs_interval = (
        is_significant(p, min(_PRECHECK_CONFIDENCE, confidence))
        and common.is_unfit_for_sign_flip_test
    )
    return _TestedPair(pair, common, p, needs_interval)


def _difference_row_of_pair(
    tested_pair: _TestedPair, rates: Sequence[dict[str, Any]], confidence: float
) -> tuple[Any, ...]:
    """Return the row of a pair of models, without difference and interval if there are no rates."""
    common, p = tested_pair.common, tested_pair.sign_flip_p or 0.0
    basis: dict[str, Any] | None = None
    interval: tuple[Any, ...] = (None,) * 4
    if rates:
        correlation = (
            common.tie
            if tested_pair.sign_flip_p is None
            else shrunk_correlation(*common.deviations_by_setting)
        )
        basis = dict(zip(_PAIR, rates, strict=True)) | {"correlation": correlation}
        if tested_pair.needs_interval:
            first, second, _ = rates_and_correlation_from_basis(basis)
            p = max(
                p,
                two_sided_p_value(
                    smallest_z_of_interval_containing(first, second, 0.0, correlation)
                ),
            )
        interval = _interval_and_method_consistent_with_p(basis, p, confidence)
    method = UNPAIRED if tested_pair.sign_flip_p is None else PAIRED
    pairing = (common.n_settings, common.share_paired, common.is_replayed)
    return (*tested_pair.pair, *interval, p, method, *pairing, basis)


def rates_and_correlation_from_basis(
    basis: dict[str, Any],
) -> tuple[RateEstimate, RateEstimate, float]:
    """Unpack two rates and their correlation from a value of the column `basis`.

    Args:
        basis: A value of the column `basis` of `pairwise_differences`.

    Returns:
        The rate of the first model, the rate of the second model, and their correlation.
    """
    return (
        RateEstimate.from_fields(basis["one"]),
        RateEstimate.from_fields(basis["other"]),
        basis["correlation"],
    )


def _interval_and_method_consistent_with_p(
    basis: dict[str, Any], p: float, confidence: float
) -> tuple[float, float, float, str]:
    """Return the interval of a difference, with one end moved if the p-value contradicts it."""
    first, second = (
        Interval(side["rate"] * side["range"], side["ci_low"], side["ci_high"])
        for side in (basis["one"], basis["other"])
    )
    value, low, high = mover_difference_interval(first, second, basis["correlation"])
    is_apart = is_significant(p, confidence)
    if is_apart == (low > 0 or high < 0):
        return value, low, high, MOVER_METHOD
    moved_end = SMALLEST_NONZERO_END if is_apart else 0.0
    if value > 0:
        return value, moved_end, high, METHOD_LOW_END_MOVED
    # Subtracted from 0, because −0.0 would be displayed with a minus sign.
    return value, low, 0.0 - moved_end, METHOD_HIGH_END_MOVED


def _rate_fields_by_group(
    hits_by_cell: pl.DataFrame, group_columns: Sequence[str], confidence: float
) -> dict[Any, dict[str, Any]]:
    """Return the rate, interval and terms of each group as a dictionary, by the group's values."""
    terms = hits_by_cell.select(*group_columns, "term", "weight", "counted").unique()
    estimates = rate_estimates(
        hits_by_cell.lazy(), terms.lazy(), group_columns, confidence
    ).collect()
    rows = estimates.select(RATE.names()).iter_rows(named=True)
    return dict(zip(estimates.select(group_columns).iter_rows(), rows, strict=True))


def _iter_rates_over_common_settings(
    settings_of_pairs: Sequence[CommonSettings], confidence: float
) -> Iterator[list[dict[str, Any]]]:
    """Yield for each pair the rates of both models over the settings that both played."""
    if not settings_of_pairs:
        return iter(())
    cells = pl.concat(
        common.weighted_cells().with_columns(pair=pl.lit(n, pl.UInt32))
        for n, common in enumerate(settings_of_pairs)
    )
    cells_by_side = pl.concat(
        cells.with_columns(side=pl.lit(side), h=f"h_{side}") for side in _PAIR
    )
    rates = _rate_fields_by_group(cells_by_side, ["pair", "side"], confidence)
    return ([rates[n, side] for side in _PAIR] for n in range(len(settings_of_pairs)))


# The number of settings that is needed to detect a difference.

MAX_SETTINGS = 1_000_000


def required_settings(
    difference: float,
    standard_deviation: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    is_paired: bool = True,
) -> int | None:
    """Return how many settings two models must play so that a test detects a difference.

    Args:
        difference: The difference to detect, in the unit of the metric.
        standard_deviation: The standard deviation of a setting's difference if both models play the
            same settings, otherwise that of a setting of one model, in the unit of the metric.
        power: The probability of detection, between 0 and 1.
        level: The significance level of the two-sided test.
        is_paired: Whether both models play the same settings (paired t-test) or not (two samples).

    Returns:
        The number of settings, at least 2; None if it is more than `MAX_SETTINGS`.
    """
    if standard_deviation == 0:
        return 2
    effect = abs(difference) / standard_deviation

    def is_enough(n: int) -> bool:
        return t_test_power(n, effect, level, is_paired=is_paired) >= power

    needed = bisect_left(range(MAX_SETTINGS + 1), x=True, lo=2, key=is_enough)
    return needed if needed <= MAX_SETTINGS else None


def t_test_power(n_settings: int, effect: float, level: float, *, is_paired: bool) -> float:
    """Return the power of a two-sided t-test.

    The other tail (a significant result with the wrong sign) is left out, because scipy returns NaN
    for it in many places, and a solver that adds it (such as that of statsmodels) fails at small
    levels.

    Args:
        n_settings: The number of settings per model, at least 2.
        effect: The difference divided by the standard deviation of a setting.
        level: The significance level.
        is_paired: Whether both models play the same settings.

    Returns:
        The probability of a significant result, between 0 and 1.
    """
    from scipy.stats import nct, t

    df, noncentrality_per_effect = (
        (n_settings - 1, math.sqrt(n_settings))
        if is_paired
        else (2 * n_settings - 2, math.sqrt(n_settings / 2))
    )
    return float(nct.sf(t.isf(level / 2, df), df, effect * noncentrality_per_effect))


def upper_bound_of_variance(
    variance: float, degrees_of_freedom: float, *, assurance: float = 0.8
) -> float:
    """Return an upper confidence bound for the variance that a pilot study observed.

    A pilot study's own variance is too low in half of all pilot studies.

    Args:
        variance: The variance that the pilot study observed.
        degrees_of_freedom: Its degrees of freedom.
        assurance: The probability that the result is above the true variance.

    Returns:
        A value that the true variance exceeds only with probability 1 − assurance:
        variance × df / χ²₍₁₋assurance₎(df).

    References:
        R. H. Browne, Statistics in Medicine 14 (1995) 1933–1940.
    """
    from scipy.stats import chi2

    return variance * degrees_of_freedom / float(chi2.ppf(1 - assurance, degrees_of_freedom))


def degrees_of_freedom_of_pilot(pilot: PilotData) -> float:
    """Return the degrees of freedom of the variance that a pilot study observed.

    The result is about the number of settings n for normal differences, and smaller for rare ones.

    Args:
        pilot: The number of settings and their effective number, 1 / Σ v².

    Returns:
        The degrees of freedom, at most n − 1; n − 1 if no setting varies.

    Notes:
        The result is min(n − 1, 2 / (Σ v² − 1/n)), where v is a setting's share of the sum of
        squares. The squared coefficient of variation of that sum is Σ v² − 1/n, and that of χ² with
        d degrees of freedom is 2/d. For normal differences Σ v² is about 3/n.

    References:
        F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110–114.
    """
    n = pilot.n_settings
    excess = 1 / pilot.n_effective - 1 / n if pilot.n_effective else 0.0
    return min(n - 1, 2 / excess) if excess > 0 else n - 1


def standard_deviation_per_setting(
    first_rate: RateEstimate,
    second_rate: RateEstimate,
    n_settings: tuple[int, int],
    pilots: Sequence[PilotData],
    *,
    difference: float,
    is_paired: bool,
) -> float | None:
    """Return a cautious estimate, from a pilot study, of the standard deviation between settings.

    It is that of a setting's difference if both models play the same settings, otherwise that of a
    setting of one model. The rates of a pilot's models can be closer to each other than the
    difference to detect, and then vary less than rates that are so far apart: near 0 or 1 far less.
    So the lower rate is moved down or the higher one up, whichever gives the larger variance.

    Args:
        first_rate: The rate of one model in the pilot.
        second_rate: The rate of the other model.
        n_settings: The number of settings of each rate.
        pilots: What the models have in common, or if unpaired what each has with itself.
        difference: The difference to detect, in the metric's unit.
        is_paired: Whether both models will play the same settings.

    Returns:
        The standard deviation in the metric's unit; None if a pilot has fewer than two settings.
    """
    if min(pilot.n_settings for pilot in pilots) < 2:
        return None
    sides = sorted(
        zip((first_rate, second_rate), n_settings, strict=True), key=lambda side: side[0].rate
    )

    def variances(*rates: float) -> list[float]:
        sides_at_rates = zip(sides, rates, strict=True)
        return [
            n * _variance_with_a_hit_and_a_miss_added(value._replace(rate=rate))
            for (value, n), rate in sides_at_rates
        ]

    (low, _), (high, _) = sides
    observed = math.prod(variances(low.rate, high.rate))
    rate_difference = abs(difference) / first_rate.range
    lowered_rate, raised_rate = (
        max(0.0, high.rate - rate_difference),
        min(1.0, low.rate + rate_difference),
    )
    max_variance = 0.0
    for rate_pair in (
        (min(low.rate, lowered_rate), max(high.rate, min(1.0, lowered_rate + rate_difference))),
        (min(low.rate, max(0.0, raised_rate - rate_difference)), max(high.rate, raised_rate)),
    ):
        rate_variances = variances(*rate_pair)
        # The covariance does not grow if the rates are moved apart.
        covariance = pilots[0].correlation * math.sqrt(min(observed, math.prod(rate_variances)))
        variance_sum = sum(rate_variances)
        max_variance = max(
            max_variance, variance_sum - 2 * covariance if is_paired else variance_sum / 2
        )
    return math.sqrt(
        upper_bound_of_variance(max_variance, sum(map(degrees_of_freedom_of_pilot, pilots)))
    )


def _variance_with_a_hit_and_a_miss_added(value: RateEstimate) -> float:
    """Return the variance of a value after one hit and one miss are added to its items."""
    n = value.effective_items
    rate = (value.rate * n + 1) / (n + 2)
    return value.range**2 * rate * (1 - rate) / n
