"""Comparisons of shapes that are far from even: each was wrong once."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from event_tables import Frames, results_of, table as table_of

from pipeline.reports.compare import compare
from pipeline.reports.diff import diff
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard

ROUNDS = 5
Hits = Iterable[int]
# A model's wins, by setting: one of each replay.
Wins = list[list[bool]]


def rational(first: int = 1, **models: tuple[Hits, Hits]) -> Frames:
    """Each model's dilemmas and public goods, a setting each, by their betrayals and least puts."""
    texts = {
        "results": ["game | model | setting_id | game_type | win_credit"],
        "decisions": ["game | model | setting_id | game_type | round | choice"],
        "contributions": ["game | model | setting_id | game_type | round | amount | is_least"],
    }
    games = [
        (f"{model} | {mark}{setting:031x} | {game_type}", table, words, n)
        for model, of_types in models.items()
        for (mark, game_type, table, words), hits in zip(KINDS, of_types, strict=True)
        for setting, n in enumerate(hits)
    ]
    for number, (game, table, words, n) in enumerate(games, start=first):
        texts["results"].append(f"{number} | {game} | 0")
        texts[table] += [
            f"{number} | {game} | {place + 1} | {words[int(place < n)]}" for place in range(ROUNDS)
        ]
    return Frames({name: table_of(name, "\n".join(text)) for name, text in texts.items()})


KINDS = (
    ("a", "prisoners_dilemma", "decisions", ("cooperate", "defect")),
    ("b", "public_good", "contributions", ("9 | no", "1 | yes")),
)


def winning(**models: Wins) -> Frames:
    """Each model's games of public goods, by setting and replay."""
    games = [
        (model, setting, replay, float(is_won))
        for model, settings in models.items()
        for setting, replays in enumerate(settings)
        for replay, is_won in enumerate(replays)
    ]
    return Frames({"results": results_of(games)})


def agree(row: dict[str, Any], level: float = 0.05) -> bool:
    return (row["p_value"] <= level) is (row["ci_low"] > 0 or row["ci_high"] < 0)


@pytest.fixture(scope="module")
def fallen() -> list[Frames]:
    """A state with thirty dilemmas and two public goods, and one in which these went worse."""
    generator = np.random.default_rng(1)
    betrayals = generator.binomial(ROUNDS, 0.5, (2, 30)).tolist()
    states = zip(betrayals, ((5, 2), (3, 0)), strict=True)
    return [rational(first, m=state) for first, state in zip((1, 100), states, strict=True)]


def test_two_settings_are_no_regression(fallen):
    """Two settings deviate from their mean in opposite directions, so they correlate at ±1: p_drop
    was 0.0000 where p was .7."""
    found = diff(*fallen, margin=0.0)
    (row,) = found.filter(metric="rationality").to_dicts()
    assert row["difference"] < -0.3
    assert agree(row)
    assert row["p_drop"] >= row["p_value"] / 2
    assert row["p_value"] > 0.05
    assert row["is_regression"] is False
    assert [one["n_effective"] for one in row["small_sample_terms"]] == [2.0]


def test_a_plan_from_two_settings_is_marked():
    generator = np.random.default_rng(2)
    many = [generator.binomial(ROUNDS, 0.5, 60) for _ in range(2)]
    lake = rational(a=(many[0], (5, 2)), b=(many[1], (2, 5)))
    (row,) = plan(lake, "rationality", 0.2).to_dicts()
    assert [one["term"] for one in row["small_sample_terms"]] == ["least_contributions"]
    assert row["n_settings"] == 62
    # The two carry most of the variance: planned as if from 62, it would be too few by far.
    assert row["settings"] > 1000


def test_a_model_that_replays_is_not_told_apart_for_it():
    """10 of 200 games won against 0 of 20: p was .00098, Fisher's is .60."""
    won = np.random.default_rng(3).permutation(200) < 10
    lake = winning(a=won.reshape(20, 10).tolist(), b=[[False]] * 20)
    (row,) = compare(lake, ("a", "b"), metric="win_rate").to_dicts()
    assert row["is_replayed"] is True
    assert row["p_value"] > 0.3
    assert agree(row)
    assert leaderboard(lake)["group_letters"].to_list() == ["a", "a"]
    alike = winning(**dict.fromkeys("ab", [[True, False, False]] * 6))
    assert compare(alike, metric="win_rate")["is_replayed"].to_list() == [False]


def test_a_model_that_replays_and_wins_is_told_apart():
    many = [[(setting + replay) % 10 > 0 for replay in range(10)] for setting in range(20)]
    lake = winning(a=many, b=[[setting < 4] for setting in range(20)])
    (row,) = compare(lake, ("a", "b"), metric="win_rate").to_dicts()
    assert row["is_replayed"] is True
    assert row["p_value"] < 0.001
    assert row["ci_low"] > 0


def test_where_interval_and_p_disagree_the_far_end_stays():
    """The interval was narrowed as a whole, so much that few differences were in it.

    At 95 % p has 0 outside and MOVER's interval has it inside, at 99 % both have it inside. The
    difference, .21, is of one hit in each of two games, so it reaches about as far at both.
    """
    generator = np.random.default_rng(5)
    many = [generator.binomial(ROUNDS, 0.02, 100) for _ in range(2)]
    lake = rational(a=(many[0], (1, 1)), b=(many[1], (0, 0)))
    ends = []
    for confidence in (0.8, 0.9, 0.95, 0.99):
        asked = {"metric": "rationality", "confidence": confidence}
        (row,) = compare(lake, ("a", "b"), **asked).to_dicts()
        assert agree(row, 1 - confidence)
        ends.append(row["ci_high"] - row["difference"])
    assert ends == sorted(ends)
    assert ends[2] > 0.7 * ends[3], ends


@pytest.mark.slow
def test_sixty_six_models_have_letters():
    """Of no win and of wins alone: they shared a letter, since 20,000 drawn patterns of signs show
    no p below .000025, which times 2,145 is more than .05."""
    models = {f"m{n:02}": [[n % 2 > 0]] * 27 for n in range(66)}
    found = dict(leaderboard(winning(**models)).select("model", "group_letters").iter_rows())
    assert {found[model] for model in [*models][1::2]} == {"a"}
    assert {found[model] for model in [*models][::2]} == {"b"}
