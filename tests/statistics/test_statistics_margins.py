"""Margins, falls that can be seen, and differences: each against a naive twin."""

from collections import defaultdict
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, strategies as st

from pipeline.statistics.comparison import (
    RateEstimate,
    TermRate,
    equivalence_p_value,
    minimum_detectable_drop,
    p_value_of_difference_above_bound,
    wilson_difference_interval,
)
from pipeline.statistics.pairs import PAIRED, UNPAIRED, pairwise_differences

NORMAL = NormalDist()
_PARTS = st.lists(
    st.builds(TermRate, st.floats(0.01, 1), st.floats(0, 1), st.floats(1, 500)),
    min_size=1,
    max_size=3,
)


@st.composite
def rates(draw: st.DrawFn) -> RateEstimate:
    """Of one term or of several, whose shares add up to the whole."""
    parts = draw(_PARTS)
    total = sum(one.share for one in parts)
    parts = [one._replace(share=one.share / total) for one in parts]
    rate = sum(one.share * one.rate for one in parts)
    return RateEstimate(min(1.0, rate), draw(st.floats(1, 500)), 1.0, tuple(parts))


RATES = rates()


@given(RATES, RATES, st.floats(-0.9, 0.9), st.floats(-1, 1), st.floats(0.01, 0.45))
def test_a_difference_is_above_a_bound_where_the_one_sided_interval_is(a, b, bound, rho, level):
    """Schuirmann's two one-sided tests at a level are an interval at 1 − 2 × the level."""
    p = p_value_of_difference_above_bound(a, b, bound, rho)
    assume(abs(p - level) > 1e-6)
    low = wilson_difference_interval(a, b, NORMAL.inv_cdf(1 - level), rho).low
    assert (p < level) is (low > bound)


@given(RATES, RATES, st.floats(0.01, 0.9), st.floats(-1, 1), st.floats(0.01, 0.45))
def test_models_are_alike_where_the_interval_is_within_the_margin(a, b, margin, rho, level):
    p = equivalence_p_value(a, b, margin, rho)
    assume(abs(p - level) > 1e-6)
    found = wilson_difference_interval(a, b, NORMAL.inv_cdf(1 - level), rho)
    assert (p < level) is (-margin < found.low and found.high < margin)


@pytest.mark.parametrize(("margin", "correlation"), [(0.0, 0.0), (0.05, 0.0), (0.05, 0.5)])
def test_the_fall_that_is_seen_is_the_smallest(margin, correlation):
    """Searched for step by step: the interval's upper end, .8415 standard errors up, is at −M."""
    n, rate, z = 60, 0.8, NORMAL.inv_cdf(0.95)
    for step in range(1, 8000):
        fall = step / 10_000
        after = rate - fall
        own, other = after * (1 - after) / n, rate * (1 - rate) / n
        error = (own + other - 2 * correlation * (own * other) ** 0.5) ** 0.5
        high = wilson_difference_interval(
            RateEstimate(after, n), RateEstimate(rate, n), z, correlation
        ).high
        if high + 0.8416212 * error < -margin:
            break
    found = minimum_detectable_drop(
        RateEstimate(0.7, n), RateEstimate(rate, n), margin, 0.05, correlation=correlation
    )
    assert found == pytest.approx(fall, abs=1e-4)


def test_too_few_games_see_no_fall():
    assert minimum_detectable_drop(RateEstimate(0.5, 3), RateEstimate(0.5, 3), 0.05, 0.05) is None
    assert minimum_detectable_drop(
        RateEstimate(1.0, 30, 2.0), RateEstimate(1.0, 30, 2.0), 0.0, 0.05
    ) == pytest.approx(
        2 * minimum_detectable_drop(RateEstimate(1.0, 30), RateEstimate(1.0, 30), 0.0, 0.05)
    )


def test_a_fall_is_that_of_the_value_where_ranges_differ():
    """From .8 of a range of 1, which is .4 of 2: what is seen begins there."""
    own = minimum_detectable_drop(RateEstimate(0.4, 100, 2.0), RateEstimate(0.8, 100), 0.05, 0.05)
    assert own is not None
    assert 0.05 < own < 0.8
    after = RateEstimate((0.8 - own) / 2, 100, 2.0)
    errors = [
        one.range * (one.rate * (1 - one.rate) / 100) ** 0.5
        for one in (after, RateEstimate(0.8, 100))
    ]
    high = wilson_difference_interval(after, RateEstimate(0.8, 100), NORMAL.inv_cdf(0.95)).high
    assert high + NORMAL.inv_cdf(0.8) * np.hypot(*errors) == pytest.approx(-0.05)


_SUMS = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("123456"), st.sampled_from("xy")),
    st.integers(1, 5).flatmap(lambda c: st.tuples(st.integers(0, c), st.just(c))),
    min_size=4,
)
WEIGHTS = {"x": 1.0, "y": 0.25}


def frames(cells) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    rows = [
        {"model": m, "stratum": "s", "cluster": s, "term": t, "h": float(h), "c": float(c)}
        for (m, s, t), (h, c) in cells.items()
    ]
    sums = pl.LazyFrame(rows)
    weight = pl.col("term").replace_strict(WEIGHTS, return_dtype=pl.Float64)
    return sums, sums.group_by("model", "term").agg(counted=pl.col("c").sum()).with_columns(
        weight=weight
    )


def naive(cells, method: str) -> float | None:
    """The difference a − b: of common settings, each of the mean of both numbers, or of all."""
    total = 0.0
    for term in {t for _, _, t in cells}:
        own = {m: {s: v for (n, s, t), v in cells.items() if (n, t) == (m, term)} for m in "ab"}
        if method == PAIRED:
            both = own["a"].keys() & own["b"].keys()
            w = {s: (own["a"][s][1] + own["b"][s][1]) / 2 for s in both}
            if not w:
                return None
            d = sum(
                w[s] * (own["a"][s][0] / own["a"][s][1] - own["b"][s][0] / own["b"][s][1])
                for s in both
            )
            total += WEIGHTS[term] * d / sum(w.values())
        else:
            if not own["a"] or not own["b"]:
                return None
            for m, sign in (("a", 1), ("b", -1)):
                hits, counted = map(sum, zip(*own[m].values(), strict=True))
                total += sign * WEIGHTS[term] * hits / counted
    return total


@given(_SUMS)
def test_a_difference_is_that_of_a_naive_sum(cells):
    terms_of = defaultdict(set)
    for model, _, term in cells:
        terms_of[model].add(term)
    assume(terms_of["a"] == terms_of["b"] != set())
    sums, terms = frames(cells)
    found = pairwise_differences(sums, terms, [("a", "b")], 0.95)
    method = found["method"].item()
    assert method in (PAIRED, UNPAIRED)
    assert found["difference"].item() == pytest.approx(naive(cells, method), abs=1e-9)
