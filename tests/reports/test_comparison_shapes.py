"""Comparisons of shapes that are far from even, on lakes of raw logs: each was wrong once."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rawlogs import PAYOFFS, by_seat, encode, moderate, prisoners_dilemma, public_good

from pipeline.cli import main
from pipeline.cli.exits import CHECK_FAILED, FAILED
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.reports.compare import compare
from pipeline.reports.diff import diff
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard

ROUNDS = 5
Logs = Iterator[tuple[str, dict[str, Any]]]


def dilemma(setting: int, model: str, betrayals: int, *, wins: bool = False) -> dict[str, Any]:
    """A Prisoner's Dilemma of five rounds in a setting of that number."""
    said = ["Defect"] * betrayals + ["Cooperate"] * (ROUNDS - betrayals)
    rounds = [by_seat(text, "Cooperate", "Cooperate") for text in said]
    log = prisoners_dilemma(rounds, scores=None, result="win" if wins else "lose", model=model)
    log["game_setting"]["topic_values"] = {**PAYOFFS, "cooperate": 10 + setting}
    return log


def public(setting: int, model: str, least: int, *, wins: bool = False) -> dict[str, Any]:
    """A Public Good of five rounds, in which the tested seat gives the least so often."""
    rounds = [by_seat("I contribute 1.", "I contribute 5.", "I contribute 5.")] * least
    rounds += [by_seat("I contribute 9.", "I contribute 5.", "I contribute 5.")] * (ROUNDS - least)
    result = "win" if wins else "lose"
    return public_good(
        rounds, scores=None, result=result, multiplier=2 + setting / 1000, model=model
    )


def lake_of(folder: Path, logs: Iterable[tuple[str, dict[str, Any]]]) -> StoredLake:
    source = folder / "results"
    for name, log in logs:
        # Documents of equal content would be taken for copies of one game.
        log["history"].append(moderate(f"This was {name}."))
        path = source / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(log))
    ingest([source], folder / "lake")
    return open_lake(folder / "lake")


def rational(model: str, betrayals: Iterable[int], least: Iterable[int]) -> Logs:
    """A model's dilemmas and public goods, a setting each."""
    for setting, n in enumerate(betrayals):
        yield f"{model}/pd{setting}", dilemma(setting, model, n)
    for setting, n in enumerate(least):
        yield f"{model}/pg{setting}", public(setting, model, n)


def agree(row: dict[str, Any], level: float = 0.05) -> bool:
    return (row["p_value"] <= level) is (row["ci_low"] > 0 or row["ci_high"] < 0)


@pytest.fixture(scope="module")
def fallen(tmp_path_factory) -> tuple[StoredLake, StoredLake]:
    """A state with thirty dilemmas and two public goods, and one in which these went worse."""
    generator = np.random.default_rng(1)
    betrayals = generator.binomial(ROUNDS, 0.5, (2, 30)).tolist()
    states = zip(betrayals, ((5, 2), (3, 0)), strict=True)
    before, after = (
        lake_of(tmp_path_factory.mktemp("lake"), rational("m", *state)) for state in states
    )
    return before, after


def test_two_settings_are_no_regression(fallen):
    """Two settings deviate from their mean in opposite directions, so they correlate at ±1: p_fall
    was 0.0000 where p was .7."""
    found = diff(*fallen, margin=0.0)
    (row,) = found.filter(metric="rationality").to_dicts()
    assert row["difference"] < -0.3
    assert agree(row)
    assert row["p_fall"] >= row["p_value"] / 2
    assert row["p_value"] > 0.05
    assert row["is_regression"] is False
    assert [one["n_effective"] for one in row["thin"]] == [2.0]


@pytest.mark.slow
def test_a_regression_has_another_exit_code_than_a_missing_lake(tmp_path, capfd):
    """Of thirty dilemmas all rounds were betrayed before, and none after."""
    states = {"before": ROUNDS, "after": 0}
    for name, n_betrayals in states.items():
        lake_of(tmp_path / name, rational("m", [n_betrayals] * 30, [5, 4, 3] * 4))
    before, after = (str(tmp_path / name / "lake") for name in states)
    check = ("--fail-on-regression", "0.1", "--format", "json")
    assert main(["diff", before, after, *check]) == CHECK_FAILED
    assert "regression: rationality of m fell" in capfd.readouterr().err
    assert main(["diff", after, before, *check]) == 0
    assert main(["diff", before, str(tmp_path / "nowhere"), *check]) == FAILED


def test_a_plan_from_two_settings_is_marked(tmp_path):
    generator = np.random.default_rng(2)
    logs = [
        *rational("a", generator.binomial(ROUNDS, 0.5, 60), (5, 2)),
        *rational("b", generator.binomial(ROUNDS, 0.5, 60), (2, 5)),
    ]
    (row,) = plan(lake_of(tmp_path, logs), "rationality", 0.2).to_dicts()
    assert [one["term"] for one in row["thin"]] == ["least_contributions"]
    assert row["n_settings"] == 62
    # The two carry most of the variance: planned as if from 62, it would be too few by far.
    assert row["settings"] > 1000


@pytest.mark.parametrize(("replays", "wins"), [(10, 10), (30, 30)])
def test_a_model_that_replays_is_not_told_apart_for_it(tmp_path, replays, wins):
    """10 of 200 games won against 0 of 20: p was .00098, Fisher's is .60."""
    many = [n < wins for n in range(20 * replays)]
    order = np.random.default_rng(3).permutation(len(many))
    logs = [
        (
            f"a/{setting}-{replay}",
            public(setting, "a", 0, wins=many[order[setting * replays + replay]]),
        )
        for setting in range(20)
        for replay in range(replays)
    ]
    logs += [(f"b/{setting}", public(setting, "b", 0)) for setting in range(20)]
    lake = lake_of(tmp_path, logs)
    (row,) = compare(lake, ("a", "b"), metric="win_rate").to_dicts()
    assert row["is_replayed"] is True
    assert row["p_value"] > 0.3
    assert agree(row)
    assert leaderboard(lake)["letters"].to_list() == ["a", "a"]


def test_a_model_that_replays_and_wins_is_told_apart(tmp_path):
    logs = [
        (f"a/{setting}-{replay}", public(setting, "a", 0, wins=(setting + replay) % 10 > 0))
        for setting in range(20)
        for replay in range(10)
    ]
    logs += [(f"b/{setting}", public(setting, "b", 0, wins=setting < 4)) for setting in range(20)]
    (row,) = compare(lake_of(tmp_path, logs), ("a", "b"), metric="win_rate").to_dicts()
    assert row["is_replayed"] is True
    assert row["p_value"] < 0.001
    assert row["ci_low"] > 0


def test_as_many_replays_of_both_are_none(tmp_path):
    logs = [
        (f"{model}/{setting}-{replay}", public(setting, model, 0, wins=replay == 0))
        for model in "ab"
        for setting in range(6)
        for replay in range(3)
    ]
    (row,) = compare(lake_of(tmp_path, logs), ("a", "b"), metric="win_rate").to_dicts()
    assert row["is_replayed"] is False


def test_where_interval_and_p_disagree_the_far_end_stays(tmp_path):
    """The interval was narrowed as a whole, so much that few differences were in it.

    At 95 % p has 0 outside and MOVER's interval has it inside, at 99 % both have it inside. The
    difference, .21, is of one hit in each of two games, so it reaches about as far at both.
    """
    generator = np.random.default_rng(5)
    logs = [
        *rational("a", generator.binomial(ROUNDS, 0.02, 100), (1, 1)),
        *rational("b", generator.binomial(ROUNDS, 0.02, 100), (0, 0)),
    ]
    lake = lake_of(tmp_path, logs)
    ends = []
    for confidence in (0.8, 0.9, 0.95, 0.99):
        asked = {"metric": "rationality", "confidence": confidence}
        (row,) = compare(lake, ("a", "b"), **asked).to_dicts()
        assert agree(row, 1 - confidence)
        ends.append(row["ci_high"] - row["difference"])
    assert ends == sorted(ends)
    assert ends[2] > 0.7 * ends[3], ends


@pytest.mark.slow
def test_sixty_six_models_have_letters(tmp_path):
    """Of no win and of wins alone: they shared a letter, since 20,000 drawn patterns of signs show
    no p below .000025, which times 2,145 is more than .05."""
    models = [f"m{n:02}" for n in range(66)]
    logs = [
        (f"{model}/{kind.__name__}{setting}", kind(setting, model, 0, wins=n % 2 > 0))
        for n, model in enumerate(models)
        for kind, settings in ((dilemma, 17), (public, 10))
        for setting in range(settings)
    ]
    found = dict(leaderboard(lake_of(tmp_path, logs)).select("model", "letters").iter_rows())
    assert {found[model] for model in models[1::2]} == {"a"}
    assert {found[model] for model in models[::2]} == {"b"}
