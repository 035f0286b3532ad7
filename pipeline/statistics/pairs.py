"""Pairs of models from sums by setting: the difference, its interval, p-value, and what was paired.

Where at least `LEAST_PAIRED` of what either model counted in each term is on settings of both, the
comparison is paired, and all that is printed is about these common settings. Of each of them, term
and stratum, h_A of c_A and h_B of c_B:

    w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B

so that both models have the same number of items w in each setting, however often either played it.
The difference is that of the values of these sums; x_s is what setting s adds to it; p is that of
flipped signs of x. The interval is MOVER's, of both models' intervals over these sums and the
correlation of their deviations by setting. Where that interval and p disagree at the level asked
for, one holding 0 and the other not, the interval is drawn at that z at which they agree: z times
z_M / z_p, where z_M is that at which MOVER's interval begins to hold 0, and z_p that of p (the idea
is O. S. Miettinen's test-based limits, American Journal of Epidemiology 103 (1976) 226–235).

Elsewhere the comparison is unpaired: the difference is that of the models' own values, and p is the
level at which its interval begins to hold 0.
"""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pipeline.statistics.contrast import (
    MOST_Z,
    Floats,
    Interval,
    Rate,
    difference,
    p_of,
    shrunk_correlation,
    sign_flip_ps,
    z_at,
)
from pipeline.statistics.influence import changes, extremes
from pipeline.statistics.interval import intervals
from pipeline.statistics.sums import exact_sum, scaled_sum

# Where less is common, too much of what was played would not be in the difference.
LEAST_PAIRED = 0.5
# Of all pairs that are worked out at once: more would take more memory.
MOST_CELLS = 2_000_000
PAIRED, UNPAIRED = "paired by setting", "unpaired"
_RATE = dict.fromkeys(Rate._fields, pl.Float64())
BASIS = pl.Struct({"one": pl.Struct(_RATE), "other": pl.Struct(_RATE), "correlation": pl.Float64()})
"""What a difference and its interval are made of: both rates, and how they go together."""
DIFFERENCE = pl.Schema(
    {
        "one": pl.String(),
        "other": pl.String(),
        "difference": pl.Float64(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "p_value": pl.Float64(),
        "method": pl.String(),
        "n_settings": pl.Int64(),
        "share_paired": pl.Float64(),
        "basis": BASIS,
    }
)
_PAIR = ("one", "other")
_CELL = ("stratum", "cluster", "term")
_H, _C = pl.col("h"), pl.col("c")


class Paired(NamedTuple):
    """What common settings say of a pair: each an array by setting."""

    x: Floats
    u_one: Floats
    u_other: Floats


def differences(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]], confidence: float
) -> pl.DataFrame:
    """A row for each pair of models, in their order, with the columns of `DIFFERENCE`.

    `sums` (model, stratum, cluster, term, h, c) and `terms` (model, term, weight, counted) are
    those of `intervals` by model, of one metric. Both models of a pair have a value, of the same
    terms. `n_settings` are those in common, `share_paired` the least share of a term's items that
    either model counted in them, `basis` what the interval is made of.
    """
    cells = sums.group_by("model", *_CELL).agg(h=exact_sum(_H), c=_C.sum()).filter(_C > 0).collect()
    # Numbers in the same order as the names: they are joined and grouped by much faster.
    cells = cells.with_columns(pl.col("stratum", "cluster").rank("dense"))
    weighted = _weighted(cells, terms)
    own = _rates(cells, weighted, ["model"])
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(pairs), at_once := _at_once(cells)):
        rows += _rows(cells, weighted, own, pairs[start : start + at_once], confidence)
    return pl.DataFrame(rows, schema=DIFFERENCE, orient="row")


def _at_once(cells: pl.DataFrame) -> int:
    """How many pairs are worked out at once, to bound the memory."""
    n_models = max(1, cells["model"].n_unique())
    return max(1, MOST_CELLS * n_models // max(1, cells.height))


def correlations(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]]
) -> list[tuple[int, float]]:
    """Of each pair the settings in common, and how their deviations in these go together.

    The arguments are those of `differences`; the correlation is shrunk, and 0 without settings.
    """
    cells = sums.group_by("model", *_CELL).agg(h=exact_sum(_H), c=_C.sum()).filter(_C > 0).collect()
    weighted = _weighted(cells, terms)
    found: list[tuple[int, float]] = []
    for start in range(0, len(pairs), at_once := _at_once(cells)):
        some = pairs[start : start + at_once]
        of_pairs = pl.DataFrame(list(some), schema=list(_PAIR), orient="row")
        of_some = _by_setting(_common(cells, weighted, of_pairs))
        for pair in some:
            own = of_some.get(pair)
            rho = 0.0 if own is None else shrunk_correlation(own.u_one, own.u_other)
            found.append((0 if own is None else len(own.x), rho))
    return found


def left_out(sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Of each pair the difference without any one setting: one, other, and `influence.COLUMNS`.

    The arguments are those of `differences`, and of its rows one, other, difference and method.
    """
    cells = sums.group_by("model", *_CELL).agg(h=exact_sum(_H), c=_C.sum()).filter(_C > 0).collect()
    weighted = _weighted(cells, terms)
    parts = [_left_out(cells, weighted, part) for part in pairs.iter_slices(_at_once(cells))]
    return pl.concat(parts or [_left_out(cells, weighted, pairs)])


def _left_out(cells: pl.DataFrame, weighted: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    is_paired = pl.col("method") == PAIRED
    common = _common(cells, weighted, pairs.filter(is_paired).select(_PAIR))
    paired = changes(common.with_columns(h=pl.col("h_one") - pl.col("h_other")), _PAIR)
    own = [
        changes(
            pairs.filter(~is_paired)
            .select(_PAIR)
            .join(
                cells.join(weighted.drop("counted"), on=["model", "term"]),
                left_on=side,
                right_on="model",
            )
            .with_columns(h=sign * _H),
            _PAIR,
        )
        for side, sign in zip(_PAIR, (1, -1), strict=True)
    ]
    return extremes(pl.concat([paired, *own]), pairs, _PAIR, "difference")


def _rows(
    cells: pl.DataFrame,
    weighted: pl.DataFrame,
    own: dict[Any, Rate],
    pairs: Sequence[tuple[str, str]],
    confidence: float,
) -> Iterator[tuple[Any, ...]]:
    """The rows of `DIFFERENCE`."""
    of_pairs = pl.DataFrame(list(pairs), schema=list(_PAIR), orient="row")
    common = _common(cells, weighted, of_pairs)
    even = _rates(_sides(common), _sides_terms(common), [*_PAIR, "side"])
    by_setting = _by_setting(common)
    p_values = _p_values([one.x for one in by_setting.values()])
    flipped = dict(zip(by_setting, p_values, strict=True))
    for pair, share in zip(pairs, _shares_paired(common, weighted, of_pairs), strict=True):
        found = by_setting.get(pair)
        if found is not None and share >= LEAST_PAIRED:
            sides = even[*pair, "one"], even[*pair, "other"]
            correlation = shrunk_correlation(found.u_one, found.u_other)
            row = _paired(*sides, correlation, flipped[pair], confidence)
        else:
            sides, correlation = (own[pair[0],], own[pair[1],]), 0.0
            row = _unpaired(*sides, confidence)
        basis = dict(zip(("one", "other"), (one._asdict() for one in sides), strict=True))
        n_settings = 0 if found is None else len(found.x)
        yield (*pair, *row, n_settings, share, basis | {"correlation": correlation})


def _paired(
    one: Rate, other: Rate, correlation: float, p: float, confidence: float
) -> tuple[Any, ...]:
    """Difference, ends, p and method, of both models' rates over common settings."""
    normal = NormalDist()
    z = normal.inv_cdf((1 + confidence) / 2)
    interval = difference(one, other, z, correlation)
    if (p <= 1 - confidence) != _excludes_zero(interval):
        z_p = -normal.inv_cdf(max(p, 1e-300) / 2)
        z_m = z_at(one, other, 0.0, correlation)
        interval = difference(one, other, min(MOST_Z, z * z_m / max(z_p, 1e-9)), correlation)
    return *interval, p, PAIRED


def _unpaired(one: Rate, other: Rate, confidence: float) -> tuple[Any, ...]:
    """The same of both models' own values."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return *difference(one, other, z), p_of(z_at(one, other, 0.0)), UNPAIRED


def _excludes_zero(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _weighted(cells: pl.DataFrame, terms: pl.LazyFrame) -> pl.DataFrame:
    """Each model's terms, with C as `counted`, and what their ratios weigh in its value."""
    totals = cells.group_by("model", "term").agg(total=_C.sum())
    found = terms.collect().join(totals, on=["model", "term"])
    weight = pl.col("weight") * pl.col("total") / pl.col("counted")
    return found.select("model", "term", weight=weight, counted="total")


def _rates(cells: pl.DataFrame, terms: pl.DataFrame, by: Sequence[str]) -> dict[Any, Rate]:
    """The rate of each group."""
    effective_items = (
        intervals(cells.lazy(), terms.lazy(), by, 0.95).select(*by, "effective_items").collect()
    )
    ratios = (
        cells.group_by(*by, "term").agg(r=exact_sum(_H) / _C.sum()).join(terms, on=[*by, "term"])
    )
    weight = pl.col("weight")
    found = (
        ratios.group_by(by)
        .agg(y=scaled_sum(weight * pl.col("r")) / scaled_sum(weight), range=scaled_sum(weight))
        .join(effective_items, on=by)
    )
    return {
        tuple(key): Rate(y, n, range_)
        for *key, y, range_, n in found.select(*by, "y", "range", "effective_items").iter_rows()
    }


def _common(cells: pl.DataFrame, weighted: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The cells of both models of each pair: h_one, h_other, c, and c_one, c_other before evening.

    `weight` is the term's in the pair, `total` its Σ c.
    """
    weights = weighted.select("model", "term", "weight")
    sides = [
        pairs.join(
            cells.join(weights, on=["model", "term"]).rename(
                {"model": side, **{name: f"{name}_{side}" for name in ("h", "c", "weight")}}
            ),
            on=side,
        )
        for side in _PAIR
    ]
    both = sides[0].join(sides[1], on=[*_PAIR, *_CELL], nulls_equal=True)
    mean = {name: (pl.col(f"{name}_one") + pl.col(f"{name}_other")) / 2 for name in ("c", "weight")}
    return both.with_columns(**mean).with_columns(
        *((_C * pl.col(f"h_{one}") / pl.col(f"c_{one}")).alias(f"h_{one}") for one in _PAIR),
        total=scaled_sum(_C).over(*_PAIR, "term"),
    )


def _sides(common: pl.DataFrame) -> pl.DataFrame:
    """The evened sums of each pair's sides."""
    return pl.concat(
        common.select(*_PAIR, *_CELL, "c", side=pl.lit(side), h=f"h_{side}") for side in _PAIR
    )


def _sides_terms(common: pl.DataFrame) -> pl.DataFrame:
    terms = common.select(*_PAIR, "term", "weight", counted="total").unique()
    return pl.concat(terms.with_columns(side=pl.lit(side)) for side in _PAIR)


def _by_setting(common: pl.DataFrame) -> dict[Any, Paired]:
    """Of each pair x, and each side's deviations u from its rates, in the settings' order."""
    of_term, of_stratum = [*_PAIR, "term"], [*_PAIR, "term", "stratum"]
    share = pl.col("weight") / pl.col("total")
    h_one, h_other = pl.col("h_one"), pl.col("h_other")

    def deviation(h: pl.Expr) -> pl.Expr:
        return h - scaled_sum(h).over(of_term) / pl.col("total") * _C

    def u(name: str) -> pl.Expr:
        mean = scaled_sum(pl.col(name)).over(of_stratum) / pl.len().over(of_stratum)
        return (share * (pl.col(name) - mean)).alias(name)

    # In two steps: a window within a window would be summed within the stratum only.
    deviations = common.with_columns(u_one=deviation(h_one), u_other=deviation(h_other))
    added = deviations.select(
        *_PAIR, "cluster", u("u_one"), u("u_other"), x=share * (h_one - h_other)
    )
    # In an order of their own, so that no other pair changes what signs are drawn.
    summed = added.group_by(*_PAIR, "cluster").agg(
        exact_sum(pl.col(name)).alias(name) for name in ("x", "u_one", "u_other")
    )
    parts = summed.sort("cluster").partition_by(_PAIR, as_dict=True)
    return {
        pair: Paired(*(part[name].to_numpy() for name in Paired._fields))
        for pair, part in parts.items()
    }


def _p_values(x: Sequence[Floats]) -> list[float]:
    """Of each the p-value of flipped signs."""
    padded = np.zeros((len(x), max(map(len, x), default=0)))
    for row, one in zip(padded, x, strict=True):
        row[: len(one)] = one
    return [float(p) for p in sign_flip_ps(padded)]


def _shares_paired(
    common: pl.DataFrame, weighted: pl.DataFrame, pairs: pl.DataFrame
) -> Iterator[float]:
    """Of each pair the least share of a term's items on common settings, on either side."""
    numbered = pairs.with_row_index("row")
    of_common = common.group_by(*_PAIR, "term").agg(pl.col("c_one", "c_other").sum())
    least = []
    for side in _PAIR:
        own = weighted.select("term", "counted", **{side: "model"})
        found = numbered.join(own, on=side).join(of_common, on=[*_PAIR, "term"], how="left")
        share = pl.col(f"c_{side}").fill_null(0) / pl.col("counted")
        least.append(found.group_by("row").agg(share=share.min()))
    shares = pl.concat(least).group_by("row").agg(pl.col("share").min())
    yield from numbered.join(shares, on="row", how="left").sort("row")["share"].fill_null(0.0)
