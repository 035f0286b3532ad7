"""Games dealt anew: against all deals gone through one by one, and a normal distribution."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

from pipeline.statistics import games
from pipeline.statistics.games import dealt_p

Games = list[tuple[float, float]]


def cells(settings: list[tuple[Games, Games]]) -> pl.DataFrame:
    """The games (hits, counted) of both models in each setting, all settings of one weight."""
    rows = [
        {
            "stratum": "s",
            "cluster": f"{number:03}",
            "game": f"{side}{place}",
            "is_one": side == "a",
            "term": "t",
            "h": float(h),
            "c": float(c),
            "share": 1 / len(settings),
        }
        for number, both in enumerate(settings)
        for side, own in zip("ab", both, strict=True)
        for place, (h, c) in enumerate(own)
    ]
    return pl.DataFrame(rows)


def naive(settings: list[tuple[Games, Games]]) -> float:
    """The share of all deals with a larger difference; equal ones count half."""
    of_settings = []
    for one, other in settings:
        both = [*one, *other]
        ways = []
        for chosen in combinations(range(len(both)), len(one)):
            sides = [
                [both[n] for n in range(len(both)) if (n in chosen) is is_one]
                for is_one in (True, False)
            ]
            ratios = [sum(h for h, _ in side) / sum(c for _, c in side) for side in sides]
            ways.append(ratios[0] - ratios[1])
        of_settings.append(ways)
    sums = np.abs([sum(deal) for deal in product(*of_settings)])
    observed = abs(sum(ways[0] for ways in of_settings))
    beyond, equal = sums > observed + 1e-9, np.abs(sums - observed) <= 1e-9
    return float(beyond.mean() + equal.mean() / 2)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_share_of_all_deals(seed):
    """Of 400 deals, or of 4,000 where p is small: .06 and .015 are about three errors."""
    generator = np.random.default_rng(seed)
    settings = []
    for _ in range(4):
        counted = generator.integers(1, 4, 5)
        hits = generator.binomial(counted, 0.4 + 0.1 * (seed % 3))
        own = list(zip(hits.tolist(), counted.tolist(), strict=True))
        settings.append((own[:3], own[3:]))
    expected = naive(settings)
    assert dealt_p(cells(settings)) == pytest.approx(expected, abs=0.07 if expected > 0.1 else 0.02)


def test_with_one_game_each_it_is_a_flipped_sign():
    """Eight settings that all go one way: the two extreme patterns of 2⁸, each counting half."""
    settings: list[tuple[Games, Games]] = [([(1, 1)], [(0, 1)]) for _ in range(8)]
    assert dealt_p(cells(settings)) == pytest.approx(2 * 2.0**-8 / 2, rel=0.5)


def test_small_p_values_are_those_of_the_tail():
    """Ten games of hits against one of a miss in 12 settings: (1/11)¹² / 2, one in 10¹²."""
    settings: list[tuple[Games, Games]] = [([(1, 1)] * 10, [(0, 1)]) for _ in range(12)]
    assert dealt_p(cells(settings)) == pytest.approx(11.0**-12 / 2, rel=0.5)


def test_very_many_games_have_a_normal_distribution(monkeypatch: pytest.MonkeyPatch):
    generator = np.random.default_rng(1)
    settings = []
    for rate in generator.beta(4, 4, 60):
        hits = (
            generator.binomial(1, min(1.0, rate + 0.03), 8).tolist(),
            [int(generator.binomial(1, rate))],
        )
        settings.append(tuple([(h, 1) for h in own] for own in hits))
    drawn = dealt_p(cells(settings))
    monkeypatch.setattr(games, "MANY_GAMES", 10)
    assert dealt_p(cells(settings)) == pytest.approx(drawn, abs=0.05)
    same = [([(1, 1), (1, 1)], [(1, 1)])] * 5
    assert dealt_p(cells(same)) == 1.0
