"""One rule says which games are expected, missing and replays; every table counts by it.

The rule is that of docs/metrics.md. Here it is counted again, game by game.
"""

from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import median_high, median_low
from typing import NamedTuple

import pytest
from event_tables import Frames, lake_of as written, table
from hypothesis import HealthCheck, given, settings, strategies as st

from pipeline.metrics import metrics
from pipeline.metrics.registry import MISSING_COLUMNS
from pipeline.render import build_result_table
from pipeline.reports.compare import compare
from pipeline.reports.completeness import completeness, readability
from pipeline.reports.games import missing
from pipeline.reports.ranking import leaderboard

CIVILIAN, HIDDEN = "undercover_as_civilian", "undercover_as_undercover"
OF_ROLE = {
    "civilian": ("undercover", CIVILIAN),
    "undercover": ("undercover", HIDDEN),
    "player": ("public_good", "public_good"),
}
COUNTED = {
    "win_rate": {CIVILIAN, HIDDEN, "public_good"},
    "judgement": {CIVILIAN},
    "deception": {HIDDEN},
}


class Played(NamedTuple):
    model: str
    roles: tuple[str, ...]
    setting: int | None  # None for a game that nobody can repeat
    is_finished: bool

    @property
    def game_type(self) -> str:
        return OF_ROLE[self.roles[0]][0]


def lake_of(games: list[Played]) -> Frames:
    """The games; each civilian votes, in unfinished games too."""
    results = ["game | model | game_type | role | setting_id | is_finished | win_credit | is_win"]
    votes = ["game | model | role | setting_id | is_finished | is_correct"]
    for number, game in enumerate(games, start=1):
        of_setting = f"{number:032x}" if game.setting is None else f"f{game.setting:031x}"
        won, is_win = ("1", "yes") if game.is_finished else ("-", "-")
        is_finished = "yes" if game.is_finished else "no"
        for role in game.roles:
            start = f"{number} | {game.model}"
            results.append(
                f"{start} | {game.game_type} | {role} | {of_setting} | {is_finished} | {won} | "
                f"{is_win}"
            )
            if role == "civilian":
                votes.append(f"{start} | {role} | {of_setting} | {is_finished} | yes")
    return Frames(
        {
            "results": table("results", "\n".join(results)),
            "votes": table("votes", "\n".join(votes), game_type="undercover"),
        }
    )


Numbers = dict[tuple[str, str], tuple[int, int, int]]
# Of a model, a competition and a setting: whether each game is finished.
Games = dict[tuple[str, str, object], list[bool]]


def wanted_of(there: Games, model: str, competition: str, of: object) -> int:
    """How many games of a setting are expected of a model."""
    begun = there.get((model, competition, of), [])
    if isinstance(of, str):  # nobody else can play it
        return int(bool(begun))
    others = [games for (_, c, one), games in there.items() if (c, one) == (competition, of)]
    mine = [games for (m, c, _), games in there.items() if (m, c) == (model, competition)]
    most = max(map(sum, mine), default=0)
    finished = [n for games in others if (n := sum(games))] or [1]
    low, high = median_low(finished), median_high(finished)
    wanted = min(max(most, low), high)
    if all(begun):
        return wanted
    own = [
        games
        for (m, c, one), games in there.items()
        if (m, c) == (model, competition) and isinstance(one, int)
    ]
    whole = max((sum(games) for games in (*others, *own) if all(games)), default=-1)
    enough = max(high, most) if whole >= sum(begun) else len(begun)
    return max(wanted, min(len(begun), enough))


def counted(games: list[Played], expected: int | None = None) -> Numbers:
    """Missing, expected and replayed games of each model and competition, counted one by one."""
    there: Games = defaultdict(list)
    for number, game in enumerate(games):
        of = f"own {number}" if game.setting is None else game.setting
        for role in game.roles:
            there[game.model, OF_ROLE[role][1], of].append(game.is_finished)
    models, competitions = ({key[place] for key in there} for place in (0, 1))
    found: Numbers = {}
    for model, competition in product(models, competitions):
        numbers = [0, 0, 0]
        for of in {of for _, c, of in there if c == competition}:
            n = wanted_of(there, model, competition, of)
            n_done = sum(there.get((model, competition, of), []))
            often = [
                wanted_of(there, *key)
                for other in models
                if (key := (other, competition, of)) in there
            ]
            numbers[0] += max(n - n_done, 0)
            numbers[1] += n
            numbers[2] += max(n_done - median_low(often), 0)
        if expected is not None:
            mine = [games for (m, c, _), games in there.items() if (m, c) == (model, competition)]
            numbers[:2] = max(expected - sum(map(sum, mine)), 0), expected
        found[model, competition] = tuple(numbers)
    return found


def check(games: list[Played], expected: int | None = None) -> Numbers:
    """Raises where a table has other numbers than those counted; returns these."""
    lake, numbers = lake_of(games), counted(games, expected)
    asked = {} if expected is None else {"expected": expected}
    there = completeness(lake, **asked)
    of_competition = {
        (model, competition): (n_missing, n)
        for model, competition, n_missing, n, is_complete in there.select(
            "model", "competition", "n_missing", "expected", "is_complete"
        ).iter_rows()
        if is_complete == (n_missing == 0)
    }
    assert of_competition == {key: one[:2] for key, one in numbers.items() if any(one)}
    models = {model for model, _ in numbers}

    def total(model: str, metric: str) -> tuple[int, ...]:
        some = [one for (m, c), one in numbers.items() if m == model and c in COUNTED[metric]]
        return tuple(map(sum, zip(*some, strict=True))) or (0, 0, 0)

    if expected is None:
        listed = defaultdict(int)
        for model, competition, n in (
            missing(lake).select("model", "competition", "n_missing").rows()
        ):
            listed[model, competition] += n
        assert listed == {key: n for key, (n, _, _) in numbers.items() if n}
    columns = ("model", *MISSING_COLUMNS, "n_replays", "is_complete")
    for row in leaderboard(lake, **asked).select(columns).rows():
        assert row[1:4] == total(row[0], "win_rate")
        assert row[4] is (row[1] == 0)
    there = {competition for _, competition in numbers}
    for metric, of in COUNTED.items():
        if not of & there:
            continue
        values = metrics(lake, metric=metric, by="model", **asked)
        alone = metrics(lake, metric=metric, by="model", model=min(models), **asked)
        for row in values.vstack(alone).select(columns).rows():
            assert row[1:4] == total(row[0], metric), metric
            assert row[4] is (row[1] == 0)
        for model, n, is_complete in (
            readability(lake, **asked)
            .filter(metric=metric)
            .select("model", "n_missing", "is_complete")
            .rows()
        ):
            assert n == total(model, metric)[0], metric
            assert is_complete is (n == 0)
    return numbers


GAME = st.builds(
    Played,
    st.sampled_from("abc"),
    st.sampled_from([("civilian",), ("undercover",), ("civilian", "undercover"), ("player",)]),
    st.sampled_from([0, 0, 1, 1, 2, None]),
    st.sampled_from([True, True, False]),
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=10)
@given(games=st.lists(GAME, min_size=1, max_size=30), expected=st.sampled_from([None, None, 3]))
def test_all_tables_count_by_one_rule(games: list[Played], expected: int | None) -> None:
    check(games, expected)


def games_of(model: str, role: str, *numbers: tuple[int, int]) -> list[Played]:
    """So many games of each setting, of which so many are finished."""
    return [
        Played(model, (role,), setting, n < n_finished)
        for setting, (n_games, n_finished) in enumerate(numbers)
        for n in range(n_games)
    ]


def test_replays_are_told_by_competition() -> None:
    """Each model has two games of each setting; b plays them in both roles, a in one role twice."""
    games = [game for role in ("civilian", "undercover") for game in games_of("b", role, (1, 1))]
    games += games_of("c", "civilian", (1, 1)) + games_of("c", "undercover", (1, 1))
    games += games_of("a", "civilian", (2, 2))
    numbers = check(games)
    assert numbers["a", CIVILIAN] == (0, 1, 1)
    assert numbers["a", HIDDEN] == (1, 1, 0)
    assert leaderboard(lake_of(games)).filter(model="a")["n_replays"].item() == 1


def test_a_value_lacks_only_games_of_competitions_that_it_counts() -> None:
    """The model a lacks two games as the hidden player, which Judgement cannot count."""
    games = [
        game
        for model, n in (("a", 1), ("b", 3))
        for game in games_of(model, "undercover", *[(1, 1)] * n)
        + games_of(model, "civilian", *[(1, 1)] * 3)
    ]
    check(games)
    lake = lake_of(games)
    lacks = dict(readability(lake, model="a").select("metric", "n_missing").rows())
    assert [lacks[metric] for metric in ("win_rate", "judgement", "deception")] == [2, 0, 2]
    of_roles = metrics(lake, metric="win_rate", by=["model", "role"]).filter(model="a")
    assert of_roles.select("role", *MISSING_COLUMNS).rows() == [
        ("civilian", 0, 3),
        ("undercover", 2, 3),
    ]
    civilians = leaderboard(lake, metric="win_rate", where="side = 'civilian'").filter(model="a")
    assert civilians.select(*MISSING_COLUMNS).row(0) == (0, 3)


def test_fewer_games_of_one_of_two_models_are_named(tmp_path: Path) -> None:
    """Nobody knows whether some were lost, or the others are a second run: who knows states it."""
    games = games_of("drop", "civilian", *[(2, 2)] * 4) + games_of(
        "keep", "civilian", *[(5, 5)] * 4
    )
    assert check(games) == {("drop", CIVILIAN): (0, 8, 0), ("keep", CIVILIAN): (0, 20, 12)}
    lake, of = written(tmp_path, lake_of(games).tables), {"metric": "win_rate"}
    said = (
        f"drop: 8 games where one has 20, in {CIVILIAN}; if games were lost, state `--expected 20`"
    )
    for name, rows in (
        ("completeness", completeness(lake)),
        ("readability", readability(lake)),
        ("leaderboard", leaderboard(lake, **of)),
        ("metrics", metrics(lake, **of)),
        ("compare", compare(lake, ("drop", "keep"), **of)),
    ):
        assert said in build_result_table(name, rows, lake=lake).notes, name
        assert said not in build_result_table(name, rows, lake=lake, expected=20).notes
    assert check(games, 20)["drop", CIVILIAN] == (12, 20, 0)
    compared = compare(lake, ("drop", "keep"), **of, expected=20)
    assert compared.select("n_missing", "other_n_missing").row(0) == (12, 0)
    alone = metrics(lake, **of, by="model", model="keep")
    assert not any(
        "where one has" in one for one in build_result_table("metrics", alone, lake=lake).notes
    )


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("numbers", "lacks"),
    [
        # Of finished games, as many are expected of a setting as the median of who has one.
        ({"a": [(5, 5), (2, 2)], "b": [(5, 5)] * 2, "c": [(5, 5)] * 2}, {"a": (3, 10)}),
        ({"a": [(5, 5), (2, 2), (0, 0)], "b": [(5, 5)] * 3}, {"a": (8, 15)}),
        ({"a": [(10, 10)] * 3, "b": [(5, 5)] * 3}, {}),
        ({"a": [(2, 2)] * 2, "b": [(2, 2)] * 2, "c": [(1, 1)] * 2, "d": [(1, 1)] * 2}, {}),
        ({"a": [(2, 2), (1, 1)], "b": [(1, 1)] * 2, "c": [(1, 1)] * 2}, {}),
        (
            {"a": [(2, 2)] * 2, "b": [(2, 2)] * 2, "c": [(2, 2), (1, 1)], "d": [(1, 1), (2, 2)]},
            {"c": (1, 4), "d": (1, 4)},
        ),
        ({"a": [(3, 3), (1, 1)], "b": [(3, 3), (1, 1)]}, {}),
        (
            {"a": [(2, 2), (0, 0)], "b": [(2, 2)] * 2, "c": [(2, 2), (0, 0)]},
            {"a": (2, 4), "c": (2, 4)},
        ),
        # Three games of each setting have no end.
        ({"a": [(10, 7)] * 5, "b": [(10, 10)] * 5}, {"a": (15, 50)}),
        ({"a": [(10, 7)] * 5}, {"a": (15, 50)}),
        ({"a": [(10, 7)]}, {"a": (3, 10)}),
        ({"a": [(10, 10), (10, 7), (10, 9)]}, {"a": (4, 30)}),
        ({"a": [(10, 7)], "b": [(10, 8)]}, {"a": (3, 10), "b": (2, 10)}),
        # Games that crashed and were played again.
        ({"a": [(6, 5), (5, 5), (7, 5)]}, {}),
        ({"a": [(6, 5)] * 3, "b": [(5, 5)] * 3}, {}),
        ({"a": [(2, 1), (1, 1)], "b": [(1, 1), (2, 1)], "c": [(1, 1), (1, 1)]}, {}),
        # One of the two that crashed was played again.
        ({"a": [(6, 4), (5, 5)], "b": [(5, 5), (5, 5)]}, {"a": (1, 10)}),
    ],
)
def test_games_that_are_lost_or_unfinished_are_missing_unless_they_were_played_again(
    numbers: dict[str, list[tuple[int, int]]], lacks: dict[str, tuple[int, int]]
) -> None:
    games = [game for model, of in numbers.items() for game in games_of(model, "civilian", *of)]
    found = check(games)
    assert {model: one[:2] for (model, _), one in found.items() if one[0]} == lacks
