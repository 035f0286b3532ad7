"""Pairs of models: the paired difference, its interval and p-value, by hand and by properties."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from exact_ends import exact_ends
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

from pipeline.statistics.comparison import (
    Interval,
    RateEstimate,
    mover_difference_interval,
    smallest_z_of_interval_containing,
    two_sided_p_value,
    wilson_difference_interval,
)
from pipeline.statistics.pairs import (
    METHOD_HIGH_END_MOVED,
    METHOD_LOW_END_MOVED,
    MIN_SHARE_PAIRED,
    MOVER_METHOD,
    SMALLEST_NONZERO_END,
    UNPAIRED,
    pairwise_differences,
    pilot_data,
    rates_and_correlation_from_basis,
)

Z = 1.959963984540054


def sums_of(model: str, cells: dict[str, tuple[float, float]], term: str = "t") -> pl.LazyFrame:
    """Hits and counted of each setting."""
    rows = [
        {
            "model": model,
            "stratum": "s",
            "cluster": setting,
            "term": term,
            "h": float(h),
            "c": float(c),
        }
        for setting, (h, c) in cells.items()
    ]
    return pl.LazyFrame(rows)


def exact(rate: float, n: float) -> Interval:
    return Interval(rate, *exact_ends(rate, n))


def compared(*sums: pl.LazyFrame, pair: tuple[str, str] = ("a", "b"), confidence: float = 0.95):
    return all_compared(sums, [pair], confidence).row(0, named=True)


def all_compared(sums, pairs: list[tuple[str, str]], confidence: float = 0.95) -> pl.DataFrame:
    together = pl.concat(sums)
    terms = together.group_by("model", "term").agg(counted=pl.col("c").sum(), weight=pl.lit(1.0))
    return pairwise_differences(together, terms, pairs, confidence)


def test_who_replayed_is_decided_by_items():
    """Three items of each setting or two, and two; eight settings differ, one way: 2⁻⁸ by signs."""
    b = sums_of("b", {str(n): (0, 2) for n in range(12)})
    found = {
        counted: compared(sums_of("a", {str(n): (n < 8, counted) for n in range(12)}), b)
        for counted in (3, 2)
    }
    assert [row["is_replayed"] for row in found.values()] == [True, False]
    assert found[2]["p_value"] == 2**-8
    one, other, correlation = rates_and_correlation_from_basis(found[3]["basis"])
    assert (
        found[3]["p_value"]
        == two_sided_p_value(smallest_z_of_interval_containing(one, other, 0.0, correlation))
        > 0.05
    )


@pytest.mark.parametrize(("games_of_a", "is_replayed"), [(60, True), (12, False), (None, False)])
def test_who_replayed_is_decided_by_games_too(games_of_a, is_replayed):
    """As many items, but of each setting `a` has five games of one item, and `b` one of five."""
    a = sums_of("a", {str(n): (n % 3, 5) for n in range(12)})
    b = sums_of("b", {str(n): (5 * (n < 2), 5) for n in range(12)})
    assert was_replayed(a, b, games_of_a) is is_replayed


def was_replayed(a: pl.LazyFrame, b: pl.LazyFrame, games_of_a: int | None) -> bool:
    sums = pl.concat([a, b])
    terms = sums.group_by("model", "term").agg(counted=pl.col("c").sum(), weight=pl.lit(1.0))
    n_games = None if games_of_a is None else {"a": games_of_a, "b": 12}
    found = pairwise_differences(sums, terms, [("a", "b")], 0.95, n_games=n_games)
    return found["is_replayed"].item()


@pytest.mark.parametrize(("games_of_a", "is_replayed"), [(20, True), (12, False), (None, True)])
def test_longer_games_are_no_replays(games_of_a, is_replayed):
    """Twice as many items of each setting, of as many games; or of more games."""
    a, b = (sums_of(m, {str(n): (1, c) for n in range(12)}) for m, c in (("a", 4), ("b", 2)))
    assert was_replayed(a, b, games_of_a) is is_replayed


def test_few_settings_of_a_term_do_not_tell_apart_by_signs_alone():
    """A hundred settings of one term and two of the other: p is the level of the interval."""
    a = {f"{n:03}": (n < 15, 1) for n in range(100)}, {"x": (4, 5), "y": (3, 5)}
    b = {f"{n:03}": (4 < n < 10, 1) for n in range(100)}, {"x": (1, 5), "y": (1, 5)}
    sums = [
        sums_of(model, cells, term)
        for model, both in (("a", a), ("b", b))
        for cells, term in zip(both, "tu", strict=True)
    ]
    found = compared(*sums)
    one, other, correlation = rates_and_correlation_from_basis(found["basis"])
    assert (
        found["p_value"]
        == two_sided_p_value(smallest_z_of_interval_containing(one, other, 0.0, correlation))
        > 0.01
    )
    assert found["is_replayed"] is False
    assert found["ci_method"] == MOVER_METHOD


def test_equal_values_have_no_difference():
    """1/5 + 2/5 is not 3/5 to the last digit."""
    a, b = RateEstimate((1 / 5 + 2 / 5) / 2, 10.0), RateEstimate(3 / 5 / 2, 10.0)
    assert a.rate != b.rate
    assert wilson_difference_interval(a, b, Z).value == 0.0


def test_a_setting_weighs_by_what_both_counted_in_it():
    """w = 3, 2: (3·(1 − 0) + 2·(1/2 − 1/2)) / 5; what one alone played plays no part."""
    a = sums_of("a", {"1": (4, 4), "2": (1, 2), "3": (0, 1)})
    b = sums_of("b", {"1": (0, 2), "2": (1, 2), "4": (1, 1)})
    found = compared(a, b)
    assert found["difference"] == pytest.approx(3 / 5)
    assert found["n_settings"] == 2
    assert found["share_paired"] == pytest.approx(4 / 5)


def test_the_interval_is_movers_where_it_agrees_with_p():
    """One item a setting, 12 and 9 of 20: their mid-p intervals and the shrunk correlation."""
    hits_a, hits_b = [1] * 12 + [0] * 8, [1] * 6 + [0] * 6 + [1] * 3 + [0] * 5
    a = sums_of("a", {f"{n:02}": (h, 1) for n, h in enumerate(hits_a)})
    b = sums_of("b", {f"{n:02}": (h, 1) for n, h in enumerate(hits_b)})
    u = [np.square(np.array(hits) - np.mean(hits)) for hits in (hits_a, hits_b)]
    n = 1 / float((np.mean([one / one.sum() for one in u], axis=0) ** 2).sum())
    rho = float(np.corrcoef(hits_a, hits_b)[0, 1]) * (n - 1) / (n + 1)
    expected = mover_difference_interval(exact(0.6, 20), exact(0.45, 20), rho)
    found = compared(a, b)
    assert (found["difference"], found["ci_low"], found["ci_high"]) == pytest.approx(
        tuple(expected)
    )


def test_interval_and_p_value_agree_where_nothing_is_paired():
    """p is of Wilson's ends, the interval of mid-p ends: of all pairs of 30 games a few differ."""
    sums = [sums_of(f"{h:02}", {f"{h} {n}": (n < h, 1) for n in range(30)}) for h in range(31)]
    pairs = [(f"{a:02}", f"{b:02}") for a in range(31) for b in range(a)]
    found = all_compared(sums, pairs)
    assert set(found["method"]) == {UNPAIRED}
    is_apart = (found["ci_low"] > 0) | (found["ci_high"] < 0)
    assert (is_apart == (found["p_value"] <= 0.05)).all()
    is_moved = pl.col("ci_low").is_in([0.0, SMALLEST_NONZERO_END])
    moved = found.filter(is_moved)
    assert 0 < moved.height < 0.02 * found.height
    assert set(moved["ci_method"]) == {METHOD_LOW_END_MOVED}
    assert set(found.filter(~is_moved)["ci_method"]) == {MOVER_METHOD}
    turned = all_compared(sums, [pair[::-1] for pair in pairs])
    of_high = turned.filter(pl.col("ci_high").is_in([0.0, -SMALLEST_NONZERO_END]))
    assert set(of_high["ci_method"]) == {METHOD_HIGH_END_MOVED}
    assert of_high.height == moved.height


def test_too_little_in_common_is_unpaired():
    """Each model's own value and interval; half of the items of one term are not enough."""
    a = sums_of("a", {str(n): (n % 2, 1) for n in range(20)})
    b = sums_of("b", {str(n): (n % 2, 1) for n in range(11, 31)})
    found = compared(a, b)
    assert found["share_paired"] == 9 / 20 < MIN_SHARE_PAIRED
    assert found["method"] == UNPAIRED
    assert (found["difference"], found["ci_low"], found["ci_high"]) == pytest.approx(
        tuple(mover_difference_interval(exact(0.5, 20), exact(0.5, 20)))
    )
    apart = compared(a, sums_of("b", {"x": (1, 1)}))
    assert (apart["share_paired"], apart["n_settings"]) == (0.0, 0)


def test_a_term_without_common_settings_is_unpaired():
    a = [sums_of("a", {str(n): (1, 2) for n in range(9)}), sums_of("a", {"x": (1, 1)}, "u")]
    b = [sums_of("b", {str(n): (1, 2) for n in range(9)}), sums_of("b", {"y": (1, 1)}, "u")]
    assert compared(*a, *b)["method"] == UNPAIRED


def test_correlations_are_those_of_the_comparisons(monkeypatch):
    """Also a part of the pairs at a time; 0 settings where none are common."""
    generator = np.random.default_rng(7)
    sums = [
        sums_of(model, {f"{n:02}": (generator.integers(0, 5), 5) for n in range(start, end)})
        for model, start, end in (("a", 0, 30), ("b", 3, 30), ("c", 5, 28), ("d", 50, 60))
    ]
    pairs = [("a", "b"), ("c", "a"), ("a", "d")]
    rows = all_compared(sums, pairs).select("n_settings", "basis").to_dicts()
    expected = [(row["n_settings"], row["basis"]["correlation"]) for row in rows]
    by_term = pl.concat(sums).group_by("model", "term")
    terms = by_term.agg(weight=pl.lit(1.0), counted=pl.col("c").sum())
    for most in (2_000_000, 1):
        monkeypatch.setattr("pipeline.statistics.pairs.MAX_CELLS_PER_BATCH", most)
        found = pilot_data(pl.concat(sums), terms, pairs)
        assert [(one.n_settings, one.correlation) for one in found] == expected
    assert expected[2] == (0, 0.0)


def test_the_correlation_is_about_each_competitions_mean():
    """Two competitions of unlike rates: what models share is how settings deviate within each."""
    generator = np.random.default_rng(3)
    rates, strata = [0.2] * 12 + [0.9] * 12, ["low"] * 12 + ["high"] * 12
    counted = 5.0
    hits = {m: generator.binomial(5, rates).astype(float) for m in "ab"}
    sums = [
        sums_of(m, {f"{n:02}": (h, counted) for n, h in enumerate(hits[m])})
        .with_row_index("n")
        .with_columns(stratum=pl.Series(strata))
        .drop("n")
        for m in "ab"
    ]
    centred = [
        np.concatenate([h[:12] - h[:12].mean(), h[12:] - h[12:].mean()]) for h in hits.values()
    ]
    one, other = centred
    shares = (one**2 / (one @ one) + other**2 / (other @ other)) / 2
    n = 1 / float(shares @ shares)
    rho = float(one @ other / np.sqrt((one @ one) * (other @ other))) * (n - 1) / (n + 1)
    assert compared(*sums)["basis"]["correlation"] == pytest.approx(rho)


_MODELS, _SETTINGS = "abc", ["s1", "s2", "s3", "s4", "s5"]
_COUNTS = st.integers(1, 5).flatmap(lambda c: st.tuples(st.integers(0, c), st.just(c)))
_LAKES = st.fixed_dictionaries(
    {(model, setting, term): _COUNTS for model in _MODELS for setting in _SETTINGS for term in "tu"}
)


def p_values(lake, models: str, settings: list[str], pairs: list[tuple[str, str]]) -> list[float]:
    """Of these pairs, with other names of models and settings."""
    model_of, setting_of = (
        dict(zip(of, names, strict=True))
        for of, names in ((_MODELS, models), (_SETTINGS, settings))
    )
    sums = [
        sums_of(model_of[model], {setting_of[setting]: counts}, term)
        for (model, setting, term), counts in lake.items()
    ]
    named = [(model_of[one], model_of[other]) for one, other in pairs]
    return all_compared(sums, named)["p_value"].to_list()


@settings(max_examples=5)
@given(_LAKES, st.permutations(_SETTINGS), st.permutations(_MODELS), st.randoms())
def test_neither_order_nor_names_nor_other_pairs_change_p(lake, settings, models, random):
    pairs = list(combinations(_MODELS, 2))
    expected = p_values(lake, _MODELS, _SETTINGS, pairs)
    assert p_values(lake, "".join(models), settings, pairs) == pytest.approx(expected, rel=1e-9)
    turned = [pair[::-1] for pair in pairs]
    assert p_values(lake, _MODELS, _SETTINGS, turned) == pytest.approx(expected, rel=1e-9)
    rows = list(lake.items())
    random.shuffle(rows)
    place = random.randrange(3)
    (alone,) = p_values(dict(rows), _MODELS, _SETTINGS, [pairs[place]])
    assert alone == expected[place]


def test_p_values_are_the_same_without_intervals():
    """Also where a model replayed, or too little is in common: then there is an interval."""
    generator = np.random.default_rng(6)
    sums = [
        sums_of(model, {f"{n:02}": (generator.integers(0, c + 1), c) for n in range(start, end)})
        for model, start, end, c in (
            ("a", 0, 30, 3),
            ("b", 3, 30, 3),
            ("c", 0, 30, 5),
            ("d", 20, 60, 3),
        )
    ]
    pairs = list(combinations("abcd", 2))
    terms = pl.concat(sums).group_by("model", "term").agg(counted=pl.col("c").sum())
    terms = terms.with_columns(weight=pl.lit(1.0))
    found = pairwise_differences(pl.concat(sums), terms, pairs, 0.95, with_intervals=False)
    expected = all_compared(sums, pairs)
    kept = ["one", "other", "p_value", "method", "n_settings", "share_paired", "is_replayed"]
    assert_frame_equal(found.select(kept), expected.select(kept))
    assert found["difference"].null_count() >= 1
