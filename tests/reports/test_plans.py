"""A plan: whose difference it is for, what it asks for, and what it says where there is none."""

from itertools import combinations, pairwise
from math import ceil
from typing import Any

import polars as pl
import pytest
from event_tables import Frames, results_of

from pipeline.errors import UsageError
from pipeline.render import build_result_table
from pipeline.reports.compare import compare
from pipeline.reports.plan import plan
from pipeline.statistics.pairs import t_test_power


def lake(wins: dict[str, list[int]], replays: int = 1, first: dict[str, int] | None = None) -> Any:
    """Each model's games, won or not, in settings from the `first` on, each played so often."""
    rows = [
        (model, setting + (first or {}).get(model, 0), index, hit)
        for model, hits in wins.items()
        for index in range(replays)
        for setting, hit in enumerate(hits)
    ]
    return Frames({"results": results_of(rows)})


WINS = {"A": [1, 1, 1, 0] * 5, "B": [1, 1, 0, 0] * 5, "C": [1, 0, 0, 0] * 5}


@pytest.mark.some(4, 8)
@pytest.mark.parametrize("replays", [1, 3])
@pytest.mark.parametrize("unpaired", [False, True])
@pytest.mark.parametrize("difference", [None, 0.1, -0.1])
@pytest.mark.parametrize("pair", [("A", "B"), ("C", "A")])
def test_a_plan_in_plain_python(
    pair: tuple[str, str], difference: float | None, unpaired: bool, replays: int
) -> None:
    """The least n of enough power; what is more than the pilot's 20; and the games of these."""
    of_wins = lake(WINS, replays)
    (row,) = plan(of_wins, difference=difference, pairs=[pair], unpaired=unpaired).to_dicts()
    one, other = (sum(WINS[model]) / 20 for model in pair)
    assert row["difference"] == pytest.approx(one - other if difference is None else difference)
    effect, n = abs(row["difference"]) / row["sd"], row["settings"]
    for n_settings, is_enough in ((n, True), (n - 1, False)):
        power = t_test_power(n_settings, effect, 0.05, is_paired=not unpaired)
        assert (power >= 0.8) is is_enough
    assert (row["n_settings"], row["n_more"]) == (20, max(0, n - 20))
    assert (row["games_per_setting"], row["games"]) == (replays, max(0, n - 20) * replays)


def test_games_are_rounded_up_and_never_below_0() -> None:
    """A model played each of 20 settings once, and one three times: 80 games of 40 settings."""
    alone = {"A": WINS["A"], "B": WINS["B"]}
    tables = [
        lake({"A": alone["A"]}).tables["results"],
        lake({"B": alone["B"]}, 3).tables["results"],
    ]
    several = tables[1].with_columns(game_id=pl.col("game_id") + "b")
    of_both = Frames({"results": pl.concat([tables[0], several])})
    for difference in (0.15, 0.2, 0.9):
        (row,) = plan(of_both, difference=difference, pairs=[("A", "B")]).to_dicts()
        assert row["games_per_setting"] == 2
        assert row["n_more"] == max(0, row["settings"] - 20)
        assert row["games"] == ceil(row["n_more"] * 2)


def test_the_observed_difference_is_that_of_compare() -> None:
    """A won 3 of its 4 settings, and all 3 that B, who won none, has played too."""
    of_both = lake({"A": [1, 1, 1, 0], "B": [0, 0, 0]})
    (compared,) = compare(of_both, ("A", "B"), metric="win_rate").to_dicts()
    assert plan(of_both)["difference"].item() == compared["difference"] == 1
    assert plan(of_both, unpaired=True)["difference"].item() == 0.75


@pytest.mark.parametrize(
    ("wins", "order"),
    [
        ({"A": [0, 0], "B": [1, 1], "C": [1, 0]}, "BCA"),
        ({"B": [1, 0], "A": [0, 1]}, "AB"),  # a tie, by name
        ({"A": [0] * 3, "B": [1] * 3, "C": [0, 0, 1], "D": [0, 1, 1]}, "BDCA"),
    ],
)
def test_without_models_each_is_planned_with_the_next_one(
    wins: dict[str, list[int]], order: str
) -> None:
    assert plan(lake(wins)).select("model", "other").rows() == list(pairwise(order))
    every = plan(lake(wins), all_pairs=True)
    assert every.select("model", "other").rows() == list(combinations(order, 2))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"pairs": [("A", "B")], "all_pairs": True}, "not both"),
        ({"pairs": [("A", "A")]}, "A is named twice"),
        ({"pairs": [("A", "Z")]}, "no game of Z"),
    ],
)
def test_what_names_no_pairs_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(lake(WINS), **asked)


def test_what_has_no_rank_is_no_neighbour() -> None:
    """B, between A and C, has no game of the second competition; named, it has no plan."""
    both = {"A": [1, 1, 1, 1], "C": [0, 0, 0, 1]}
    one = lake({**both, "B": [1, 0, 1, 0]}).tables["results"]
    other = (
        lake(both)
        .tables["results"]
        .with_columns(
            game_id=pl.col("game_id") + "x",
            game_type=pl.lit("cost_sharing"),
            competition=pl.lit("cost_sharing"),
        )
    )
    of_both = Frames({"results": pl.concat([one, other])})
    assert plan(of_both).select("model", "other").rows() == [("A", "C")]
    every = plan(of_both, all_pairs=True).select("model", "other", "reason").rows()
    assert {(*pair, reason) for *pair, reason in every if reason} == {
        ("A", "B", "only A has cost_sharing"),
        ("B", "C", "only C has cost_sharing"),
    }
    (row,) = plan(of_both, difference=0.1, pairs=[("A", "B")]).to_dicts()
    assert row["reason"] == "only A has cost_sharing"
    assert (row["n_settings"], row["settings"], row["games"]) == (None, None, None)
    with pytest.raises(
        UsageError, match=r"lack no competition, but the lake has 1; specify two models"
    ):
        plan(Frames({"results": pl.concat([one, other.filter(model="A")])}))


@pytest.mark.parametrize(
    ("wins", "first", "asked", "reason"),
    [
        (
            {"A": [1, 0], "B": [0, 1]},
            {},
            {},
            "the observed difference is 0: specify the difference to detect",
        ),
        ({"A": [1, 0, 1], "B": [0, 1, 0]}, {"B": 9}, {}, "fewer than two common settings"),
        ({"A": [1], "B": [0]}, {}, {}, "fewer than two common settings"),
        ({"A": [1], "B": [0]}, {}, {"unpaired": True}, "fewer than two settings of a model"),
        (WINS, {}, {"difference": 1e-4}, "more than 1,000,000 settings are needed"),
    ],
)
def test_what_has_no_plan_says_why(
    wins: dict[str, list[int]], first: dict[str, int], asked: dict[str, Any], reason: str
) -> None:
    rows = plan(lake(wins, first=first), pairs=[("A", "B")], **asked)
    (row,) = rows.to_dicts()
    assert row["reason"] == reason
    assert (row["settings"], row["n_more"], row["games"]) == (None, None, None)
    assert f"– A and B: {reason}" in build_result_table("plan", rows).notes


@pytest.mark.parametrize(
    ("settings", "n_more", "per_setting", "games", "said"),
    [
        (2487, 2387, 1.4, 3342, "about 2,487 settings: 2,387 more; at 1.4 games a setting 3,342"),
        (99, 79, 1.0, 79, "about 99 settings: 79 more; at 1 games a setting 79"),
        (101, 81, 2.5, 203, "about 101 settings: 81 more; at 2.5 games a setting 203"),
        (15, 0, 1.0, 0, "about 15 settings: 0 more; at 1 games a setting 0"),
    ],
)
def test_a_plan_of_one_pair_ends_with_a_sentence(
    settings: int, n_more: int, per_setting: float, games: int, said: str
) -> None:
    columns = {"settings": settings, "n_more": n_more, "games": games}
    rows = plan(lake(WINS), pairs=[("B", "A")], power=0.9, confidence=0.9).with_columns(
        *(pl.lit(n, pl.Int64).alias(name) for name, n in columns.items()),
        games_per_setting=pl.lit(per_setting),
    )
    asked = "to detect 0.25 in win_rate with power 0.9 at level 0.1: "
    assert build_result_table("plan", rows).notes[-1] == f"{asked}{said} games of each model"
