"""Pairs of models from sums by setting: the difference, its interval, p-value, and what was paired.

Where at least `LEAST_PAIRED` of what either model counted in each term is on settings of both, the
comparison is paired, and all that is printed is about these common settings. Of each of them, term
and stratum, h_A of c_A and h_B of c_B:

    w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B

so that both models have the same number of items w in each setting, however often either played it.
The difference is that of the values of these sums. Setting s adds to it, over its terms k of share
a_k of the metric's range,

    x_s = Σ_k a_k · (h'_A − h'_B) / Σ w

p is that of flipped signs of x (`flips`). Where one model played `REPLAYED` times as many games of
these settings as the other, p is also that of dealing the games anew (`games`), and the larger
counts. The interval is MOVER's, of both models' intervals over these sums and the correlation of
their deviations by setting.

Elsewhere the comparison is unpaired: the difference and MOVER's interval are those of the models'
own values, and p is the level at which it begins to hold 0, with Wilson's ends.

Either p is another method than the interval, so near the level asked for one may hold 0 and the
other not. Then the end next to 0 is moved to 0 or just beyond, and the other end stays.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

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
from pipeline.statistics.flips import Floats, sign_flip_p
from pipeline.statistics.games import dealt_p
from pipeline.statistics.influence import changes, extremes
from pipeline.statistics.interval import RATE, rates
from pipeline.statistics.sums import exact_sum, scaled_sum

# Where less is common, too much of what was played would not be in the difference.
LEAST_PAIRED = 0.5
REPLAYED = 1.5
"""So many times as many games of common settings as the other model: it replayed them."""
# A p-value of flipped signs that does not even reach this tells nobody apart: nothing is dealt.
_SURELY_APART = 0.8
NEXT_TO_0 = 1e-9
"""Where an end of an interval is put that p has beyond 0: next to it."""
# Of all pairs that are worked out at once: more would take more memory.
MOST_CELLS = 2_000_000
PAIRED, UNPAIRED = "paired by setting", "unpaired"
BASIS = pl.Struct({"one": pl.Struct(RATE), "other": pl.Struct(RATE), "correlation": pl.Float64()})
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
        "is_replayed": pl.Boolean(),
        "basis": BASIS,
    }
)
_PAIR = ("one", "other")
_CELL = ("stratum", "cluster", "term")
_H, _C = pl.col("h"), pl.col("c")
GamesOf = Callable[[Sequence[str]], pl.DataFrame]
"""The sums of these models by game: model, stratum, cluster, term, game, h, c."""


class Paired(NamedTuple):
    """What common settings say of a pair: each an array by setting."""

    x: Floats
    u_one: Floats
    u_other: Floats


class Common(NamedTuple):
    """What two models have in common: settings, effective settings, and their correlation."""

    n_settings: int
    n_effective: float
    correlation: float


def differences(
    sums: pl.LazyFrame,
    terms: pl.LazyFrame,
    pairs: Sequence[tuple[str, str]],
    confidence: float,
    games_of: GamesOf | None = None,
    *,
    of_one_item: Collection[str] = (),
) -> pl.DataFrame:
    """A row for each pair of models, in their order, with the columns of `DIFFERENCE`.

    `sums` (model, stratum, cluster, term, h, c) and `terms` (model, term, weight, counted) are
    those of `intervals` by model, of one metric. Both models of a pair have a value, of the same
    terms. `n_settings` are those in common, `share_paired` the least share of a term's items that
    either model counted in them, `basis` what the interval is made of. `games_of` is asked about
    models that may have replayed; without it `is_replayed` is null and no game is dealt.
    The games of the models `of_one_item` have one item each, so that items are games.
    """
    named = _by_cell(sums)
    # Numbers in the same order as the names: they are joined and grouped by much faster.
    cells = named.with_columns(pl.col("stratum", "cluster").rank("dense"))
    weighted = _weighted(cells, terms)
    # Only pairs without common settings ask for them.
    rates_of = cache(lambda: _rates(cells, weighted, ["model"], confidence))

    def numbered(models: Sequence[str]) -> pl.DataFrame:
        assert games_of is not None
        return _numbered(games_of(models), named, cells)

    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(pairs), at_once := _at_once(cells)):
        some = _of_pairs(pairs[start : start + at_once])
        common = _common(cells, weighted, some)
        of_pairs = list(_rows(common, weighted, rates_of, some, confidence))
        if games_of is not None:
            of_pairs = _with_replays(of_pairs, common, numbered, of_one_item, confidence)
        rows += of_pairs
    return pl.DataFrame(rows, schema=DIFFERENCE, orient="row")


def _by_cell(sums: pl.LazyFrame) -> pl.DataFrame:
    by_cell = sums.group_by("model", *_CELL).agg(h=exact_sum(_H), c=_C.sum())
    return by_cell.filter(_C > 0).collect()


def _numbered(games: pl.DataFrame, named: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """The games with the numbers that strata and clusters have in `cells`, rows as in `named`."""
    for column in ("stratum", "cluster"):
        numbers = pl.DataFrame({column: named[column], "number": cells[column]}).unique()
        games = games.join(numbers, on=column).drop(column).rename({"number": column})
    return games


def _of_pairs(pairs: Sequence[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(list(pairs), schema=list(_PAIR), orient="row")


def _at_once(cells: pl.DataFrame) -> int:
    """How many pairs are worked out at once, to bound the memory."""
    n_models = max(1, cells["model"].n_unique())
    return max(1, MOST_CELLS * n_models // max(1, cells.height))


def in_common(
    sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: Sequence[tuple[str, str]]
) -> list[Common]:
    """Of each pair the settings in common, and how their deviations in these go together.

    The arguments are those of `differences`; the correlation is shrunk, and 0 without settings.
    """
    cells = _by_cell(sums)
    weighted = _weighted(cells, terms)
    commons: list[Common] = []
    for start in range(0, len(pairs), at_once := _at_once(cells)):
        some = pairs[start : start + at_once]
        of_some = _by_setting(_common(cells, weighted, _of_pairs(some)))
        for pair in some:
            in_pair = of_some.get(pair)
            if in_pair is None:
                commons.append(Common(0, 0.0, 0.0))
            else:
                u = in_pair.u_one, in_pair.u_other
                n_effective = effective_settings(*u)
                commons.append(Common(len(in_pair.x), n_effective, shrunk_correlation(*u)))
    return commons


def left_out(sums: pl.LazyFrame, terms: pl.LazyFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Of each pair the difference without any one setting: one, other, and `influence.COLUMNS`.

    The arguments are those of `differences`, and of its rows one, other, difference and method.
    """
    cells = _by_cell(sums)
    weighted = _weighted(cells, terms)
    parts = [_left_out(cells, weighted, part) for part in pairs.iter_slices(_at_once(cells))]
    return pl.concat(parts or [_left_out(cells, weighted, pairs)])


def _left_out(cells: pl.DataFrame, weighted: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    is_paired = pl.col("method") == PAIRED
    common = _common(cells, weighted, pairs.filter(is_paired).select(_PAIR))
    paired = changes(common.with_columns(h=pl.col("h_one") - pl.col("h_other")), _PAIR)
    unpaired = [
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
    return extremes(pl.concat([paired, *unpaired]), pairs, _PAIR, "difference")


class _Row(NamedTuple):
    """A row of `DIFFERENCE`."""

    one: str
    other: str
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    method: str
    n_settings: int
    share_paired: float
    is_replayed: bool | None
    basis: dict[str, Any]


def _rows(
    common: pl.DataFrame,
    weighted: pl.DataFrame,
    rates_of: Callable[[], dict[Any, dict[str, Any]]],
    of_pairs: pl.DataFrame,
    confidence: float,
) -> Iterator[_Row]:
    """The rows of the pairs, as flipped signs have them."""
    pairs = list(of_pairs.iter_rows())
    even = _rates(_sides(common), _sides_terms(common), [*_PAIR, "side"], confidence)
    by_setting = _by_setting(common)
    for pair, share in zip(pairs, _shares_paired(common, weighted, of_pairs), strict=True):
        common_of = by_setting.get(pair)
        n_settings = 0 if common_of is None else len(common_of.x)
        if common_of is not None and share >= LEAST_PAIRED:
            sides = even[*pair, "one"], even[*pair, "other"]
            correlation = shrunk_correlation(common_of.u_one, common_of.u_other)
            basis = _basis(*sides, correlation)
            method, p = PAIRED, sign_flip_p(common_of.x)
        else:
            basis = _basis(rates_of()[pair[0],], rates_of()[pair[1],], 0.0)
            one, other, _ = of_basis(basis)
            method, p = UNPAIRED, p_of(z_at(one, other, 0.0))
        one_name, other_name = pair
        yield _Row(
            *(one_name, other_name),
            *_agreed(basis, p, confidence),
            p_value=p,
            method=method,
            n_settings=n_settings,
            share_paired=share,
            is_replayed=None,
            basis=basis,
        )


def _basis(one: dict[str, Any], other: dict[str, Any], correlation: float) -> dict[str, Any]:
    return {"one": one, "other": other, "correlation": correlation}


def of_basis(basis: dict[str, Any]) -> tuple[Rate, Rate, float]:
    """Both rates that a difference is made of, and their correlation."""
    return Rate.of(basis["one"]), Rate.of(basis["other"]), basis["correlation"]


def _agreed(basis: dict[str, Any], p: float, confidence: float) -> Interval:
    """MOVER's interval, with the end next to 0 on that side of it where p has it."""
    one, other = (
        Interval(side["rate"] * side["range"], side["ci_low"], side["ci_high"])
        for side in (basis["one"], basis["other"])
    )
    interval = mover(one, other, basis["correlation"])
    is_apart = reaches(p, confidence)
    if is_apart == _excludes_zero(interval):
        return interval
    end = NEXT_TO_0 if is_apart else 0.0
    # Not `-end`: that of 0 would be shown as if it were below 0.
    return interval._replace(low=end) if interval.value > 0 else interval._replace(high=0.0 - end)


def _with_replays(
    rows: list[_Row],
    common: pl.DataFrame,
    games_of: GamesOf,
    of_one_item: Collection[str],
    confidence: float,
) -> list[_Row]:
    """The rows with `is_replayed`, and p and interval where games were dealt."""
    many = _may_be_replayed(common, of_one_item)
    if many.is_empty():
        return [row._replace(is_replayed=False) for row in rows]
    games = games_of(sorted({*many["one"], *many["other"]})).filter(_C > 0)
    parts = games.partition_by("model", as_dict=True)
    games_of_model = {str(model): part for (model,), part in parts.items()}
    cells = common.with_columns(share=pl.col("weight") * _C / pl.col("total"))
    by_pair = cells.join(many, on=list(_PAIR)).partition_by(_PAIR, as_dict=True)
    changed_rows = []
    for row in rows:
        part = by_pair.get((row.one, row.other))
        dealt = None
        if part is not None and {row.one, row.other} <= games_of_model.keys():
            dealt = _dealt(part, games_of_model[row.one], games_of_model[row.other])
        is_replayed = dealt is not None and _is_replayed(dealt)
        p = row.p_value
        is_doubtful = row.method == PAIRED and reaches(p, min(_SURELY_APART, confidence))
        if dealt is not None and is_replayed and is_doubtful:
            p = max(p, dealt_p(dealt))
        changed = row._replace(is_replayed=is_replayed)
        if p > row.p_value:
            low, high = _agreed(row.basis, p, confidence)[1:]
            changed = changed._replace(p_value=p, ci_low=low, ci_high=high)
        changed_rows.append(changed)
    return changed_rows


def _may_be_replayed(common: pl.DataFrame, of_one_item: Collection[str]) -> pl.DataFrame:
    """The pairs of which one may have replayed settings of the other.

    To count games takes as long as all the sums, so it is not done where items tell their number.
    """
    items = common.group_by(*_PAIR, "term").agg(pl.col("c_one", "c_other").sum())
    is_told = pl.all_horizontal(pl.col(*_PAIR).is_in(list(of_one_item)))
    return items.filter(~is_told | _is_more("c_one", "c_other")).select(_PAIR).unique()


def _dealt(cells: pl.DataFrame, one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The games of both models in the pair's cells, as `dealt_p` takes them."""
    sides = [
        one.with_columns(is_one=pl.lit(value=True)),
        other.with_columns(is_one=pl.lit(value=False)),
    ]
    return pl.concat(sides).join(cells.select(*_CELL, "share"), on=_CELL)


def _is_replayed(games: pl.DataFrame) -> bool:
    """Whether a term has `REPLAYED` times as many games of one model as of the other."""
    game, is_one = pl.col("game"), pl.col("is_one")
    numbers = games.group_by("term").agg(
        c_one=game.filter(is_one).n_unique(), c_other=game.filter(~is_one).n_unique()
    )
    return bool(numbers.select(_is_more("c_one", "c_other").any()).item())


def _is_more(one: str, other: str) -> pl.Expr:
    """Whether either is `REPLAYED` times the other."""
    most, least = pl.max_horizontal(one, other), pl.min_horizontal(one, other)
    return most >= REPLAYED * least


def _excludes_zero(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _weighted(cells: pl.DataFrame, terms: pl.LazyFrame) -> pl.DataFrame:
    """Each model's terms, with C as `counted`, and what their ratios weigh in its value."""
    totals = cells.group_by("model", "term").agg(total=_C.sum())
    joined = terms.collect().join(totals, on=["model", "term"])
    # In this order, since total and counted are mostly the same: their ratio is then 1 exactly.
    weight = pl.col("weight") * (pl.col("total") / pl.col("counted"))
    return joined.select("model", "term", weight=weight, counted="total")


def _rates(
    cells: pl.DataFrame, terms: pl.DataFrame, by: Sequence[str], confidence: float
) -> dict[Any, dict[str, Any]]:
    """The rate of each group, a row of `RATE`."""
    of_groups = rates(cells.lazy(), terms.lazy(), by, confidence).collect()
    rows = of_groups.select(RATE.names()).iter_rows(named=True)
    return dict(zip(of_groups.select(by).iter_rows(), rows, strict=True))


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
        *((_C * pl.col(f"h_{end}") / pl.col(f"c_{end}")).alias(f"h_{end}") for end in _PAIR),
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


def _shares_paired(
    common: pl.DataFrame, weighted: pl.DataFrame, pairs: pl.DataFrame
) -> Iterator[float]:
    """Of each pair the least share of a term's items on common settings, on either side."""
    numbered = pairs.with_row_index("row")
    of_common = common.group_by(*_PAIR, "term").agg(pl.col("c_one", "c_other").sum())
    least = []
    for side in _PAIR:
        of_side = weighted.select("term", "counted", **{side: "model"})
        joined = numbered.join(of_side, on=side).join(of_common, on=[*_PAIR, "term"], how="left")
        share = pl.col(f"c_{side}").fill_null(0) / pl.col("counted")
        least.append(joined.group_by("row").agg(share=share.min()))
    shares = pl.concat(least).group_by("row").agg(pl.col("share").min())
    yield from numbered.join(shares, on="row", how="left").sort("row")["share"].fill_null(0.0)
