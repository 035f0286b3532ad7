"""What models counted by cell, and what two of them have in common: their contributions by setting.

A cell is a term, a stratum and a cluster. Of each that both models have, h_A of c_A and h_B of c_B:

    w = (c_A + c_B) / 2,   h'_A = w h_A / c_A,   h'_B = w h_B / c_B

so that both models have the same number of items w in each, however often either played it. Setting
s adds to the difference, over its cells of terms k, of share a_k of the metric's range,

    x_s = Σ a_k · (h'_A − h'_B) / Σ_k w

and a model's own contribution, about its ratio r_k and the mean of the stratum, is

    u_s = Σ a_k · (e − mean e) / Σ_k w,   e = h' − r_k w
"""

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
"""So many times as many items of common settings as the other model: it replayed them."""
_CELL = ("term", "stratum", "cluster")
_C = pl.col("c")


class Own(NamedTuple):
    """What one model counted: its cells, in order, and by term its weight and all of its items."""

    cell: Ints
    h: Floats
    c: Floats
    weight: Floats
    counted: Floats


class Counted:
    """What models counted, from the `sums` and `terms` of `intervals` by model.

    `cells` has model, term, stratum, cluster, h, c, and of the term its weight and `counted`, all
    that the cells have.
    """

    def __init__(self, sums: pl.LazyFrame, terms: pl.LazyFrame) -> None:
        by_cell = sums.group_by("model", *_CELL).agg(h=exact_sum(pl.col("h")), c=_C.sum())
        total = _C.sum().over("model", "term")
        # In this order, since total and counted are mostly the same: their ratio is then 1 exactly.
        weight = pl.col("weight") * (total / pl.col("counted"))
        joined = by_cell.filter(_C > 0).join(terms, on=["model", "term"])
        self.cells = joined.with_columns(weight=weight, counted=total).collect()
        # Numbers in the order of the names, which are sorted and compared much faster.
        numbers = [pl.col(name).rank("dense").fill_null(0).cast(pl.Int64) for name in _CELL]
        numbered = self.cells.with_columns(numbers)
        self.clusters = numbered.select("cluster", name=self.cells["cluster"]).unique()
        every = numbered.select(_CELL).unique().sort(_CELL).with_row_index("cell")
        self.term, self.stratum, self.cluster = (every[name].to_numpy() for name in _CELL)
        parts = numbered.join(every, on=_CELL).sort("cell").partition_by("model", as_dict=True)
        self._own = {str(model): self._of_model(part) for (model,), part in parts.items()}
        self._spread: tuple[str | None, Floats] = (None, np.zeros(0))

    def _of_model(self, part: pl.DataFrame) -> Own:
        of_terms = np.zeros((2, self.term[-1] + 1))
        of_terms[:, part["term"]] = part.select("weight", "counted").to_numpy().T
        return Own(*(part[name].to_numpy() for name in ("cell", "h", "c")), *of_terms)

    def common(self, one: str, other: str) -> "Common":
        """What the two have in common."""
        own, others = self._own[one], self._own[other]
        if self._spread[0] != one:
            # Of every cell: pairs come sorted by the first model.
            self._spread = one, np.zeros((2, len(self.term)))
            self._spread[1][:, own.cell] = own.h, own.c
        h, c = self._spread[1][:, others.cell]
        is_both = c > 0
        cell = others.cell[is_both]
        h, c = (
            np.stack([mine[is_both], its[is_both]]) for mine, its in ((h, others.h), (c, others.c))
        )
        keys = self.term[cell], self.stratum[cell], self.cluster[cell]
        return Common((own, others), keys, h, c)


class Common:
    """What two models have in common, cell by cell: `h` of both, evened, of `w` items."""

    def __init__(
        self, own: tuple[Own, Own], keys: tuple[Ints, Ints, Ints], h: Floats, c: Floats
    ) -> None:
        self.term, self.stratum, self.cluster = keys
        self.w = c.sum(axis=0) / 2
        self.h = self.w * h / c
        # The cells of a term are next to each other, and within it those of a stratum.
        self._terms, self._strata = _Runs(self.term), _Runs(self.term, self.stratum)
        of_term = self.term[self._terms.starts]
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
        most, least = items.max(axis=0), items.min(axis=0)
        self.is_replayed = bool((most >= REPLAYED * least)[of_term].any())
        self._is_there = np.bincount(self.cluster) > 0
        self.n_settings = int(self._is_there.sum())

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
        terms, strata = self._terms, self._strata
        e = self.h - terms.spread(terms.sums(self.h) / self.total) * self.w
        one, other = e - strata.spread(strata.sums(e) / strata.sizes)
        return self._by_setting(one), self._by_setting(other)

    def _by_setting(self, values: Floats) -> Floats:
        share = self._terms.spread(self.weight / self.total)
        return np.bincount(self.cluster, share * values)[self._is_there].astype(np.float64)

    def cells(self) -> pl.DataFrame:
        """Its cells, with those of each term its weight and all of its items, as `counted`."""
        spread = self._terms.spread
        return pl.DataFrame(
            {
                **{name: getattr(self, name) for name in _CELL},
                **{"h_one": self.h[0], "h_other": self.h[1], "c": self.w},
                **{"weight": spread(self.weight), "counted": spread(self.total)},
            }
        )


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
