"""Intervals: against scipy, statsmodels, a naive twin, and examples worked by hand."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from exact_ends import exact_ends
from hypothesis import given, strategies as st
from scipy.stats import binom

from pipeline.statistics.intervals import (
    INTERVAL,
    confidence_intervals,
    midp_interval,
)


class Cell(NamedTuple):
    """Hits and counted items of one cluster in one stratum and term."""

    term: str
    stratum: str
    cluster: str
    h: float
    c: float


def interval_of(
    cells: list[Cell], weights: dict[str, float] | None = None, *, confidence: float = 0.95
) -> dict[str, Any]:
    """The interval of one value."""
    sums = pl.LazyFrame(cells, orient="row")
    counted = sums.group_by("term").agg(counted=pl.col("c").sum())
    weight = pl.col("term").replace_strict(weights or {"t": 1.0}, return_dtype=pl.Float64)
    terms = counted.with_columns(weight=weight, model=pl.lit("m"))
    found = confidence_intervals(sums.with_columns(model=pl.lit("m")), terms, ["model"], confidence)
    return found.collect().row(0, named=True)


def one_term(
    sizes: list[tuple[float, float]], strata: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    """The interval of one ratio over clusters of (hits, counted)."""
    of = strata or ["one"] * len(sizes)
    cells = [Cell("t", of[n], f"s{n}", h, c) for n, (h, c) in enumerate(sizes)]
    return interval_of(cells, **more)


@pytest.mark.parametrize(("n", "confidence"), [(1, 0.95), (5, 0.9), (20, 0.99), (100, 0.95)])
def test_with_one_item_a_cluster_it_is_the_exact_one_by_mid_p(n, confidence):
    """At each end, what is beyond and half of what was seen has half of 1 − confidence."""
    for hits in {0, 1, n // 3, n - 1, n}:
        found = one_term([(1, 1)] * hits + [(0, 1)] * (n - hits), confidence=confidence)
        assert found["effective_items"] == pytest.approx(n)
        low, high = found["ci_low"], found["ci_high"]
        if 0 < hits < n:
            tails = binom.sf(hits, n, low), binom.cdf(hits - 1, n, high)
            seen = [binom.pmf(hits, n, end) for end in (low, high)]
            assert [tail + one / 2 for tail, one in zip(tails, seen, strict=True)] == (
                pytest.approx([(1 - confidence) / 2] * 2)
            )
        else:
            most = 1 - (1 - confidence) ** (1 / n)
            assert (low, high) == pytest.approx((1 - most, 1.0) if hits else (0.0, most))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_ends_are_scipys(confidence):
    """To 1e-11, for whole numbers of items and others, up to a million, and less than a hit."""
    rates = [0.0, 1e-4, 0.003, 0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 0.997, 1.0]
    items = [1.0, 1.02, 2, 3.7, 8, 50.5, 300, 10_000.5, 1e6]
    asked = pl.DataFrame([(y, n) for n in items for y in rates], ["y", "n"], orient="row")
    found = asked.select(midp_interval(pl.col("y"), pl.col("n"), confidence)).unnest("y")
    expected = [exact_ends(y, n, confidence) for y, n in asked.rows()]
    assert np.abs(found.to_numpy() - np.array(expected)).max() < 1e-11
    # No row depends on the others, but for the last digits.
    (few,) = asked[40:41].select(midp_interval(pl.col("y"), pl.col("n"), confidence)).rows()
    assert tuple(few[0].values()) == pytest.approx(expected[40], abs=1e-11)
    assert asked.clear().select(midp_interval(pl.col("y"), pl.col("n"), confidence)).is_empty()


# Newcombe, Statistics in Medicine 17 (1998) 857–872, table I, method 6: mid-p.
NEWCOMBE = {
    (81, 263): (0.2544, 0.3658),
    (15, 148): (0.0601, 0.1581),
    (0, 20): (0.0, 0.1391),
    (1, 29): (0.0017, 0.1585),
}


@pytest.mark.parametrize(("hits", "n"), NEWCOMBE)
def test_newcombes_examples(hits, n):
    found = one_term([(1, 1)] * hits + [(0, 1)] * (n - hits))
    assert (round(found["ci_low"], 4), round(found["ci_high"], 4)) == NEWCOMBE[hits, n]


def test_the_ends_are_exact_where_all_or_nothing_hits():
    assert one_term([(0, 3)] * 4)["ci_low"] == 0.0
    assert one_term([(3, 3)] * 4)["ci_high"] == 1.0
    cells = [Cell(term, term, f"{term}{n}", 1, 1) for term in "abc" for n in range(3)]
    assert interval_of(cells, {"a": 0.1, "b": 0.2, "c": 0.3})["ci_high"] == 0.6
    for n_terms, n_games in ((3, 25), (5, 3), (6, 25), (9, 7)):
        names = [str(n) for n in range(n_terms)]
        cells = [Cell(term, term, f"{term} {n}", 1, 1) for term in names for n in range(n_games)]
        assert interval_of(cells, dict.fromkeys(names, 1 / n_terms))["ci_high"] == 1.0


def test_three_clusters_by_hand():
    """The example of the module: six items in three clusters are worth three."""
    assert one_term([(2, 2), (1, 2), (0, 2)])["effective_items"] == pytest.approx(3.0)


@pytest.mark.slow
def test_the_variance_is_that_of_statsmodels_clustered_regression():
    """v of the ratio, and with it the effective items, for clusters of unlike sizes."""
    # Imported here: it takes a second, and each process of the tests loads this module.
    import statsmodels.api as sm

    generator = np.random.default_rng(7)
    sizes = generator.integers(2, 9, 30)
    clusters = [(int(generator.binomial(n, generator.beta(2, 3))), int(n)) for n in sizes]
    hit = np.concatenate([[1.0] * h + [0.0] * (c - h) for h, c in clusters])
    fitted = sm.OLS(hit, np.ones_like(hit)).fit(
        cov_type="cluster",
        cov_kwds={"groups": np.repeat(np.arange(len(sizes)), sizes), "use_correction": False},
    )
    rate, counted = hit.mean(), hit.size
    kappa = float((sizes**2).sum()) / counted**2
    v = float(fitted.cov_params()[0, 0]) / (1 - kappa)
    v = min(v, kappa * rate * (1 - rate))
    informative = min(sum(c for h, c in clusters if h), sum(c for h, c in clusters if h < c))
    g = informative / (counted * kappa)
    effective_items = 1 / (g / (g + 1) * v / (rate * (1 - rate)) + kappa / (g + 1))
    assert one_term(clusters)["effective_items"] == pytest.approx(effective_items, rel=1e-12)


def test_unlike_competitions_are_strata():
    """Two competitions whose clusters are alike within: their difference is no variance.

    r = 1/2 and u = ±1 everywhere in a stratum, so v = 0. Each cluster has two items: κ = 4·4/8² =
    1/4. Clusters with a hit: 2, with a miss: 2; λ = 2/3, so 1/n = 1/3 · 1/4.
    """
    clusters = [(2, 2), (2, 2), (0, 2), (0, 2)]
    assert one_term(clusters, ["a", "a", "b", "b"])["effective_items"] == pytest.approx(12.0)
    assert one_term(clusters)["effective_items"] == pytest.approx(4.0)


def test_a_fixed_denominator_lowers_a_terms_weight():
    """The release edition divides by 20 games whatever there are: the range is 10/20 of W."""
    sums = pl.LazyFrame(
        {"model": "m", "stratum": "s", "cluster": str(n), "term": "t", "h": n % 2, "c": 1}
        for n in range(10)
    )
    terms = pl.LazyFrame({"model": ["m"], "term": ["t"], "weight": [1.0], "counted": [20]})
    found = confidence_intervals(sums, terms, ["model"], 0.95).collect().row(0, named=True)
    low, high = exact_ends(0.5, 10)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low / 2, high / 2))


def test_groups_are_apart_and_null_is_one():
    """Rows of a cell in parts, groups with a null, and no group at all."""
    cells = [Cell("t", "s", str(n), n % 3, 2) for n in range(9)]
    alone = one_term([(n % 3, 2) for n in range(9)])
    halves = pl.LazyFrame(cells, orient="row").with_columns(h=pl.col("h") / 2, c=pl.col("c") / 2)
    parts = pl.concat([halves, halves])
    sums = pl.concat(parts.with_columns(model=pl.lit(m, pl.String)) for m in ("a", None))
    terms = sums.group_by("model", "term").agg(counted=pl.col("c").sum(), weight=pl.lit(1.0))
    found = confidence_intervals(sums, terms, ["model"], 0.95).collect()
    assert set(found["model"]) == {"a", None}
    whole = confidence_intervals(parts, terms.filter(model="a").drop("model"), [], 0.95).collect()
    assert whole.columns == INTERVAL.names()
    for row in (*found.iter_rows(named=True), *whole.iter_rows(named=True)):
        assert row["ci_low"] == pytest.approx(alone["ci_low"])
        assert row["ci_high"] == pytest.approx(alone["ci_high"])


def twin(cells: list[Cell], weights: dict[str, float]) -> list[float]:
    """The formula of the module, written naively: effective items, low, high."""
    terms = sorted({one.term for one in cells})
    range_ = sum(weights[term] for term in terms)
    if len(terms) > 1:
        return envelope(cells, weights, range_)
    return whole(cells, weights, range_)


def envelope(cells: list[Cell], weights: dict[str, float], range_: float) -> list[float]:
    """The wider ends of the whole value's interval, and of MOVER's over those of its terms."""
    n, low, high = whole(cells, weights, range_)
    value = down = up = 0.0
    for term in {one.term for one in cells}:
        own = [one for one in cells if one.term == term]
        rate = sum(one.h for one in own) / sum(one.c for one in own)
        _, own_low, own_high = whole(own, weights, weights[term])
        value += weights[term] * rate
        down += (weights[term] * rate - own_low) ** 2
        up += (own_high - weights[term] * rate) ** 2
    return [n, min(low, value - np.sqrt(down)), max(high, value + np.sqrt(up))]


def whole(cells: list[Cell], weights: dict[str, float], range_: float) -> list[float]:
    """The interval of all terms by one effective number of items."""
    y, by_cluster, shares = 0.0, defaultdict(float), defaultdict(float)
    hits = misses = 0.0
    for term in sorted({one.term for one in cells}):
        own = [one for one in cells if one.term == term]
        total = sum(one.c for one in own)
        r, a = sum(one.h for one in own) / total, weights[term] / range_
        zs, hs, cs = (defaultdict(float) for _ in range(3))
        for stratum in {one.stratum for one in own}:
            within = [one for one in own if one.stratum == stratum]
            u = [one.h - r * one.c for one in within]
            if len(u) > 1:
                c = np.array([one.c for one in within])
                u = (np.array(u) - np.mean(u)) / np.sqrt(1 - (c**2).sum() / c.sum() ** 2)
            for one, e in zip(within, u, strict=True):
                zs[one.cluster] += e / total
                hs[one.cluster] += one.h
                cs[one.cluster] += one.c
        kappa = sum(c**2 for c in cs.values()) / total**2
        v, most = sum(e**2 for e in zs.values()), kappa * r * (1 - r)
        bound = np.sqrt(most / v) if v > most else 1.0
        hit = sum(cs[s] for s in cs if hs[s] > 0)
        miss = sum(cs[s] for s in cs if hs[s] < cs[s])
        g = min(hit, miss) / (total * kappa)
        for s in cs:
            by_cluster[s] += a * np.sqrt(g / (g + 1)) * bound * zs[s]
            shares[s] += a * np.sqrt(1 / (g + 1)) * cs[s] / total
        y, hits, misses = y + a * r, hits + hit, misses + miss
    inverse = sum(c**2 for c in shares.values())
    if hits and misses:
        inverse += sum(e**2 for e in by_cluster.values()) / (y * (1 - y))
    n = 1 / inverse
    low, high = exact_ends(y if hits and misses else float(hits > 0), n)
    return [n, range_ * low, range_ * high]


_CELLS = st.tuples(
    st.sampled_from("xyz"), st.sampled_from("ab"), st.sampled_from("12345"), st.integers(1, 9)
)


@given(st.dictionaries(_CELLS.map(lambda one: one[:3]), _CELLS, min_size=1), st.randoms())
def test_it_is_the_formula(drawn, random):
    cells = [
        Cell(*key, float(random.randint(0, size)), float(size)) for key, (*_, size) in drawn.items()
    ]
    weights = {"x": 1.0, "y": 0.25, "z": 2.0}
    found = interval_of(cells, weights)
    assert [found["effective_items"], found["ci_low"], found["ci_high"]] == pytest.approx(
        twin(cells, weights), abs=1e-9
    )


def test_the_first_hit_narrows_an_interval_by_the_items_it_shows_to_be_free():
    """What docs/statistics.md says: 0 and 1 of 120 items, three of each of 40 settings."""
    none, one = one_term([(0, 3)] * 40), one_term([(0, 3)] * 39 + [(1, 3)])
    assert (none["effective_items"], round(one["effective_items"])) == (pytest.approx(40), 60)
    assert (round(none["ci_high"], 3), round(one["ci_high"], 3)) == (0.072, 0.065)
