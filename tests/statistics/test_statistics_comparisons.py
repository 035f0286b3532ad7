"""Comparisons: against McNemar's tests, Newcombe's intervals, statsmodels, and by hand."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, chi, norm, t as student

from pipeline.statistics import comparison
from pipeline.statistics.comparison import (
    MAX_EXACT_SETTINGS,
    MIN_NORMAL_SETTINGS,
    Interval,
    RateEstimate,
    adjust_holm,
    compact_letters,
    effective_number_of_settings,
    exact_sign_flip_p_value,
    mover_difference_interval,
    shrunk_correlation,
    sign_flip_p_value,
    smallest_z_of_interval_containing,
    two_sided_p_value,
)
from pipeline.statistics.pairs import (
    PilotData,
    degrees_of_freedom_of_pilot,
    required_settings,
    upper_bound_of_variance,
)


def of_pairs(a_only: int, b_only: int, same: int) -> np.ndarray:
    """Contributions of settings of one trial: where A alone hit, where B alone did, neither."""
    a = np.array([1.0] * a_only + [0.0] * b_only + [1.0] * same)
    b = np.array([0.0] * a_only + [1.0] * b_only + [1.0] * same)
    return (a - b) / len(a)


@pytest.mark.parametrize(
    ("a_only", "b_only"),
    [(0, 0), (1, 0), (7, 2), (1, 8), (30, 30), (480, 530), (800, 800)],
)
def test_with_one_trial_a_setting_it_is_mcnemars_mid_p(a_only, b_only):
    n, least = a_only + b_only, min(a_only, b_only)
    exact = min(1.0, 2 * binom.cdf(least, n, 0.5))
    mid_p = (
        exact - binom.pmf(least, n, 0.5) if a_only != b_only else 1 - binom.pmf(least, n, 0.5) / 2
    )
    x = of_pairs(a_only, b_only, 5)
    assert sign_flip_p_value(x) == pytest.approx(mid_p if n else 1.0)


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=11))
def test_all_signs_are_counted(x):
    """Gone through one by one, with many sums that are equal."""
    sums = [abs(sum(signs)) for signs in itertools.product(*((-one, one) for one in x))]
    beyond = sum(one > abs(sum(x)) for one in sums) + sum(one == abs(sum(x)) for one in sums) / 2
    assert exact_sign_flip_p_value(np.array(x, float)) == pytest.approx(beyond / 2 ** len(x))


def test_fagerlands_example():
    """Fagerland, Lydersen and Laake (2013), airway hyper-responsiveness: 1 against 7 of 21 pairs.

    The exact test gives 0.0703, mid-p 0.0391.
    """
    assert round(sign_flip_p_value(of_pairs(1, 7, 13)), 4) == 0.0391


def in_tenths(x: np.ndarray) -> float:
    """The mid-p value of numbers in tenths: the distribution of their sum, added one by one."""
    steps = np.rint(np.abs(x) * 10).astype(int)
    chances = np.zeros(2 * steps.sum() + 1)
    chances[steps.sum()] = 1.0
    for step in steps:
        chances = (np.roll(chances, step) + np.roll(chances, -step)) / 2
    sums, observed = np.abs(np.arange(len(chances)) - steps.sum()), abs(round(x.sum() * 10))
    return float(chances[sums > observed].sum() + chances[sums == observed].sum() / 2)


SIZES = {
    "even": lambda generator, n: generator.integers(1, 4, n).astype(float),
    "uneven": lambda generator, n: np.round(generator.exponential(1, n), 1) + 0.1,
    "few large": lambda generator, n: generator.choice([0.1, 1.0], n),
    "one far larger": lambda generator, n: np.array([17.3] + [0.1] * (n - 1)),
}


def signed(generator: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """With few signs against the others, or with half of them."""
    return x * np.where(generator.random(len(x)) < generator.choice([0.02, 0.1, 0.2, 0.5]), -1, 1)


@pytest.mark.parametrize("n", [5, MAX_EXACT_SETTINGS + 1, 120])
@pytest.mark.parametrize("sizes", SIZES)
def test_p_is_exact_where_sums_are_steps_apart(n, sizes):
    """However small it is, with ties, and where a few settings have most of the difference."""
    generator = np.random.default_rng(n)
    for _ in range(20):
        x = signed(generator, SIZES[sizes](generator, n))
        # Of thirds of tenths, as weights make them: no size is a number of digits.
        assert sign_flip_p_value(x / 3) == pytest.approx(in_tenths(x), rel=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_p_is_within_two_per_cent_where_sums_are_not_steps_apart(sigma, monkeypatch):
    """Against all patterns of as many settings as can be counted: with more it is nearer."""
    generator = np.random.default_rng(9)
    xs = [signed(generator, generator.lognormal(0, sigma, MAX_EXACT_SETTINGS)) for _ in range(30)]
    exact = np.array([sign_flip_p_value(x) for x in xs])
    assert list(exact) == [exact_sign_flip_p_value(x) for x in xs]
    monkeypatch.setattr(comparison, "MAX_EXACT_SETTINGS", 0)
    summed = np.array([sign_flip_p_value(x) for x in xs])
    is_frequent = exact > 1e-4
    assert is_frequent.sum() >= 10
    assert summed[is_frequent] == pytest.approx(exact[is_frequent], rel=0.02)
    assert summed == pytest.approx(exact, rel=0.5)


def test_of_many_settings_p_is_nearly_normal():
    """Within one per cent down to 10⁻⁶, of n hardly large enough."""
    generator = np.random.default_rng(10)
    for share in np.linspace(0.5, 0.37, 27):
        x = generator.integers(1, 4, round(1.6 * MIN_NORMAL_SETTINGS)) / 10
        x *= np.where(generator.random(len(x)) < share, -1, 1)
        assert (x @ x) ** 2 / (x**4).sum() >= MIN_NORMAL_SETTINGS
        assert (exact := in_tenths(x)) > 1e-9
        assert sign_flip_p_value(x) == pytest.approx(exact, rel=0.01 if exact > 1e-6 else 0.05)


@given(st.lists(st.floats(0.01, 1) | st.integers(1, 5), min_size=1, max_size=60), st.randoms())
def test_neither_order_nor_side_nor_unit_changes_p(x, random):
    x = [random.choice((-1, 1)) * one for one in x]
    p = sign_flip_p_value(np.array(x))
    random.shuffle(x)
    assert sign_flip_p_value(-np.array(x)) == pytest.approx(p, rel=1e-6)
    assert sign_flip_p_value(np.array([0.0, *x, 0.0]) / 7) == pytest.approx(p, rel=1e-6)


def test_a_last_digit_is_no_difference():
    x = np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    assert sign_flip_p_value(np.array([*x, 1e-17, -1e-17])) == sign_flip_p_value(x) == 2.0**-5


def test_many_small_steps_take_no_longer_than_none():
    """A thousand steps to the largest size, of 250 settings: far too many sums to go through."""
    generator = np.random.default_rng(13)
    x = np.append(generator.integers(1, 1001, 250), 1000) * generator.choice([-1, 1], 251)
    assert sign_flip_p_value(x / 3000) == pytest.approx(in_tenths(x / 10), rel=1e-3)


def test_models_that_never_agree_are_far_apart():
    """Each setting the same way, by another amount: only one pattern in 2⁴⁰ comes as far."""
    assert sign_flip_p_value(np.arange(1.0, 41.0)) == pytest.approx(2.0**-40)
    assert sign_flip_p_value(np.arange(1.0, MAX_EXACT_SETTINGS + 1)) == 2.0**-MAX_EXACT_SETTINGS


def wilson(hits: int, n: int) -> Interval:
    rate, z = hits / n, norm.isf(0.025)
    middle, half = rate + z**2 / (2 * n), z * (rate * (1 - rate) / n + (z / (2 * n)) ** 2) ** 0.5
    return Interval(rate, *((middle + side * half) / (1 + z**2 / n) for side in (-1, 1)))


# Newcombe, Statistics in Medicine 17 (1998) 873–890, table II: cases a to h, method 10.
NEWCOMBE = {
    (56, 70, 48, 80): (0.0524, 0.3339),
    (9, 10, 3, 10): (0.1705, 0.8090),
    (5, 56, 0, 29): (-0.0381, 0.1926),
    (0, 10, 0, 10): (-0.2775, 0.2775),
    (10, 10, 0, 20): (0.6791, 1.0),
}


@pytest.mark.parametrize("case", NEWCOMBE)
def test_mover_without_correlation_is_newcombes_interval(case):
    hits_a, n_a, hits_b, n_b = case
    found = mover_difference_interval(wilson(hits_a, n_a), wilson(hits_b, n_b))
    assert tuple(round(end, 4) for end in found[1:]) == pytest.approx(NEWCOMBE[case])


def test_correlation_is_shrunk_by_the_settings_that_carry_it():
    """Four of one size count as four, n − 1 / n + 1 = 3/5; two with nearly all count as two."""
    u = np.array([1.0, -1.0, 1.0, -1.0])
    assert effective_number_of_settings(u, u) == pytest.approx(4)
    assert shrunk_correlation(u, u) == pytest.approx(3 / 5)
    assert shrunk_correlation(u, -u) == pytest.approx(-3 / 5)
    assert shrunk_correlation(u, np.zeros(4)) == 0.0
    two = np.array([1.0, -1.0, *[0.001, -0.001] * 50])
    assert shrunk_correlation(two, two) == pytest.approx(1 / 3, abs=1e-3)
    assert effective_number_of_settings(u, np.zeros(4)) == pytest.approx(4)
    assert effective_number_of_settings(np.zeros(4), np.zeros(4)) == 0.0


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_is_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1] if p_values else []
    p = pl.DataFrame({"p": p_values}, schema={"p": pl.Float64})
    found = p.select(adjust_holm(pl.col("p")))["p"]
    assert found.to_list() == pytest.approx(list(expected))


@given(st.integers(1, 8), st.integers(0, 2**28 - 1))
def test_letters_are_shared_exactly_where_nothing_tells_apart(n, bits):
    apart = np.zeros((n, n), bool)
    for place, (one, other) in enumerate(zip(*np.triu_indices(n, 1), strict=True)):
        apart[one, other] = apart[other, one] = bool(bits >> place & 1)
    letters = compact_letters(apart)
    for one, other in zip(*np.triu_indices(n, 1), strict=True):
        assert bool(set(letters[one]) & set(letters[other])) is not bool(apart[one, other])
    assert letters[0].startswith("a")


def test_a_plan_has_the_power_it_promises():
    """34 pairs see half a standard deviation with power .8 at 5 %: Cohen (1988), table 2.4."""
    assert required_settings(0.5, 1.0) == 34
    assert required_settings(-0.5, 1.0) == 34
    assert required_settings(1e-6, 1.0) is None


@pytest.mark.parametrize("n_pairs", [1, 190, 100_000])
def test_a_plan_for_many_pairs_has_the_power_it_promises(n_pairs):
    """Power by integration over the sample's sd: .8 where the plan says so, less with one fewer."""
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    for effect, is_paired in itertools.product((0.2, 0.4, 1.0), (True, False)):
        level = 0.05 / n_pairs
        n = required_settings(effect, 1.0, level=level, is_paired=is_paired)
        powers = []
        for number in (n, n - 1):
            df, shift = (number - 1, number) if is_paired else (2 * number - 2, number / 2)
            sd = chi.ppf(quantiles, df) / np.sqrt(df)
            powers.append(norm.sf(student.isf(level / 2, df) * sd - effect * shift**0.5).mean())
        assert powers[0] >= 0.8 - 1e-4
        assert powers[1] < 0.8 + 1e-4


def test_a_pilots_variance_is_raised():
    """χ² of 19 degrees of freedom at .2 is 13.716."""
    assert upper_bound_of_variance(1.0, 19) == pytest.approx(19 / 13.716, rel=1e-4)


def test_a_pilot_has_the_degrees_of_freedom_of_its_sum_of_squares():
    """χ²'s own for normal differences, whose sum has them by definition; fewer for rare ones.

    Of 20 settings: if all have the same share, or none differs, 19; if one has everything,
    2 / (1 − 1/20); of two settings never more than 1.
    """
    of = degrees_of_freedom_of_pilot
    assert of(PilotData(20, 20.0, 0.0)) == of(PilotData(20, 0.0, 0.0)) == 19
    assert of(PilotData(20, 1.0, 0.0)) == pytest.approx(2 / 0.95)
    assert of(PilotData(2, 2.0, 0.0)) == of(PilotData(2, 1.5, 0.0)) == 1
    generator = np.random.default_rng(2)
    for draw in (generator.normal, lambda size: generator.binomial(1, 0.03, size) - 0.03):
        squares = np.square(draw(size=(4_000, 400)))
        share = squares / squares.sum(axis=1, keepdims=True)
        found = np.median([of(PilotData(400, float(1 / n), 0.0)) for n in (share**2).sum(axis=1)])
        sums = squares.sum(axis=1)
        assert found == pytest.approx(2 * sums.mean() ** 2 / sums.var(), rel=0.15)


@pytest.mark.parametrize(("n_old", "n_new"), [(20, 5), (100, 40)])
def test_games_that_two_states_share_raise_no_more_alarms(n_old: int, n_new: int) -> None:
    """Counted over all outcomes of old games and new ones of one rate, an item each."""
    tie = (n_old / (n_old + n_new)) ** 0.5
    is_alarm = np.zeros((n_old + 1, n_new + 1))
    for old, new in itertools.product(range(0, n_old + 1, n_old // 20), range(n_new + 1)):
        after = RateEstimate((old + new) / (n_old + n_new), n_old + n_new)
        is_alarm[old, new] = (
            two_sided_p_value(
                smallest_z_of_interval_containing(after, RateEstimate(old / n_old, n_old), 0.0, tie)
            )
            <= 0.05
        )
    for rate in (0.02, 0.1, 0.3, 0.5, 0.84, 0.95):
        counted = np.arange(0, n_old + 1, n_old // 20)
        of_old = binom.pmf(counted, n_old, rate)
        chances = np.multiply.outer(
            of_old / of_old.sum(), binom.pmf(np.arange(n_new + 1), n_new, rate)
        )
        assert (is_alarm[counted] * chances).sum() < 0.064
