"""What models counted by cell, and what two of them have in common: their contributions by setting.

A cell is a term, a stratum and a cluster. Of each that both models have, h_A of c_A and h_B of c_B:

    w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B

so that both models have the same number of items w in each, however often either played it. Setting
s adds to the difference, over its cells of terms k, of share a_k of the metric's range,

    x_s = Σ a_k · (h'_A − h'_B) / Σ_k w

and a model's own contribution, about its ratio r_k and the mean of the stratum, is

    u_s = Σ a_k · (e − mean e) / Σ_k w,   e = h' − r_k w

Two states of one lake can hold the very same games. Their cells tell of no change, so they are left
out of what is common. But they tie the whole values to one another: if items are equally variable,
these correlate by √(p_A p_B), p being the share of a term's items that are the same in both.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.statistics.flips import Floats
from pipeline.statistics.interval import LEAST_BESIDE, TIMES_AS_MANY
from pipeline.statistics.sums import exact_sum

Ints = NDArray[np.int64]
REPLAYED = 1.5
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

    def common(self, one: str, other: str) -> "Common":
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
        self.total = self._terms.sums(self.w)
        self.weight = (own[0].weight + own[1].weight)[of_term] / 2
        items = np.zeros((2, len(own[0].counted)))
        items[:, of_term] = self._terms.sums(c)
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
        self.is_replayed = bool((games.max(axis=0) >= REPLAYED * games.min(axis=0)).any())

    @property
    def is_uneven(self) -> bool:
        """Whether one replayed, or a term has few settings beside another's.

        Then signs are no fair test of the values. The mean of ten games is rarely as far from the
        truth as a single game is; and models that differ in two terms, in opposite directions, have
        equal values, which few settings of one of the terms seldom show.
        """
        n = self.total**2 / self._terms.sums(self.w**2)
        is_thin = n.min() < LEAST_BESIDE and n.max() >= TIMES_AS_MANY * n.min()
        return self.is_replayed or bool(is_thin)

    @property
    def x(self) -> Floats:
        """What each setting adds to the difference."""
        return self._by_setting(self.h[0] - self.h[1])

    @cached_property
    def u(self) -> tuple[Floats, Floats]:
        """Each model's own contributions by setting."""
        terms, strata = self._terms, self._keys.strata
        e = self.h - terms.spread(terms.sums(self.h) / self.total) * self.w
        one, other = e - strata.spread(strata.sums(e) / strata.sizes)
        return self._by_setting(one), self._by_setting(other)

    def _by_setting(self, values: Floats) -> Floats:
        share = self._terms.spread(self.weight / self.total)
        return np.bincount(self._keys.cluster, share * values)[self._keys.is_there].astype(
            np.float64
        )

    def cells(self) -> pl.DataFrame:
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

    def sums(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.starts, axis=-1) if len(self.starts) else values

    def spread(self, values: Floats) -> Floats:
        return np.repeat(values, self.sizes, axis=-1)
