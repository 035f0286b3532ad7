"""The scripts of `simulations/`, at a size that takes a moment: a few cells hold their limits."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "simulations"))

import differences
import false_alarms
import margins
import plans
import rare_rates
from coverage import cell
from shapes import METRICS, UNEVEN, is_one_trial, metric_shape

SOME = 400
# What is exact is exact: at ten games of one item and a rate of .05, 0 to 2 hits hold the rate.
OF_TEN = 0.95**10 + 10 * 0.05 * 0.95**9 + 45 * 0.05**2 * 0.95**8


def test_exact_coverage_is_met():
    assert cell(metric_shape("cooperation", 10), 0.05, 10_000).coverage == pytest.approx(
        OF_TEN, abs=0.004
    )
    exact = rare_rates.exact(rare_rates.of_numbers([10]), np.array([0.05]))
    assert exact == pytest.approx([OF_TEN])


@pytest.mark.parametrize(("n", "promised"), [(5, 0.91), (20, 0.915)])
def test_intervals_cover_rare_rates(n, promised):
    """Wilson's ends held .83 to .84 of the rates just below that of one hit."""
    rows = rare_rates.of_numbers([n])
    assert rare_rates.least(rows) >= promised
    assert rare_rates.least(rows, "former_") < 0.85


@pytest.mark.some(3)
@pytest.mark.parametrize("metric", METRICS)
def test_intervals_cover(metric):
    """Of 400 draws, at a true coverage of .95, under .90 is some five standard errors off."""
    streak = 0.0 if is_one_trial(metric) else 0.5
    found = cell(metric_shape(metric, 20, streak), 0.5, SOME)
    assert found.coverage >= 0.90
    assert found.width < 1.6 * found.known_width


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "rationality, 60 + 1 games, streak 0.5",
        "win rate, 7 × 2 games",
        "replays, 1 to 20 of 20 settings, 5 items, correlation 0.3",
        "two roles share 20 settings, reasoning, correlation 0.6",
        "two tested seats, deception, 60 games",
        "win rate, 6 × 100 + 5 games, the few at 0.5",
    ],
)
def test_intervals_cover_uneven_shapes(name):
    """Each of them was far below: at .09 to .85 of nominal 95 %."""
    assert cell(UNEVEN[name], 0.5, SOME).coverage >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("few", [2, 5])
def test_intervals_cover_terms_of_unlike_rates(few):
    """Six terms of rate .99 and one of .5 with few games: .500 and .830 before."""
    found = cell(UNEVEN[f"win rate, 6 × 100 + {few} games, the few at 0.5"], 0.99, SOME)
    assert found.coverage >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("apart", differences.APART)
def test_intervals_cover_true_differences(apart):
    """A hundred games of a term and two of the other: .494 before."""
    shape = differences.SHAPES["rationality, 100 + 2 games, correlation 0"]
    assert differences.coverage(shape, 0.02, apart, 200) >= 0.88
    assert differences.coverage(differences.SHAPES["judgement, 20 games"], 0.5, apart, 200) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("case", false_alarms.CASES)
def test_models_alike_are_seldom_told_apart(case):
    """One that replays thirty times was told apart in .33. Of 200 draws, .10 is three standard
    errors above .05."""
    rate, draws = (0.05, SOME) if "replays" in case else (0.5, SOME // 2)
    found = false_alarms.alike("judgement", case, 10, rate, draws)
    assert max(found.by_p, found.falls) <= 0.10
    assert found.disagree == 0


@pytest.mark.slow
def test_few_games_of_a_term_fall_seldom():
    """A hundred games of a term and two of the other: .109 before."""
    found = false_alarms.small("rationality, 100 + 2 games", 0.5, SOME)
    assert max(found.by_p, found.falls) <= 0.10
    assert found.disagree == 0


@pytest.mark.slow
def test_of_three_models_one_that_replays_is_seldom_told_apart():
    """Of 100 draws, .12 is three standard errors above .05."""
    share = false_alarms.family_wise("cooperation", 100, 3, first="ten times", rate=0.05)
    assert share <= 0.12


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["reasoning", "win_rate"])
def test_models_at_the_margin_are_seldom_called_alike(metric):
    """Of 200 draws, .12 is more than four standard errors above .05; equal ones mostly are."""
    assert margins.alike(metric, 40, 0.5, margins.MARGIN, 200) <= 0.12
    assert margins.alike(metric, 100, 0.5, 0.0, 100) >= 0.8


@pytest.mark.slow
def test_a_fall_is_seen_as_often_as_is_said():
    """Of 200 draws, .12 is four standard errors."""
    _, share = margins.falls("reasoning", 20, 0.5, 200)
    assert share == pytest.approx(margins.POWER, abs=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        ("rationality, 100 + 2 games", 0.5),
        ("win rate, 7 × 5 games", 0.5),
        ("cooperation, 200 games", 0.05),
        ("judgement, 2 × 100 games", 0.9),
    ],
)
@pytest.mark.parametrize("is_paired", [True, False])
def test_a_plan_is_mostly_large_enough(shape, rate, is_paired):
    """In .00 of pilots near 0 and 1 before. Of 60 draws, .15 is three standard errors."""
    found = plans.plans(plans.SHAPES[shape], rate, 60, is_paired=is_paired)
    assert found.enough >= plans.PROMISED - 0.15
    assert found.without == 0
