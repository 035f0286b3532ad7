"""Kaggle's episodes of the Prisoner's Dilemma, held against plain counts; other games are named."""

from copy import deepcopy
from typing import Any

import pytest
from logs.kaggle import FORFEIT, PLAYED, POINTS, TEAMS, VILLAGERS_WIN, failed, ipd, repeated
from rawlogs import encode, fault_of, record_of

from pipeline.formats import ignored_reason, read_game
from pipeline.game_record import GameRecord

Log = dict[str, Any]
BOTH = pytest.mark.parametrize("log", [ipd(), repeated()], ids=["ipd", "open_spiel"])


def changed(log: Log, step: int, player: int, **parts: Any) -> Log:
    log = deepcopy(log)
    log["steps"][step][player] |= parts
    return log


def wins(game: GameRecord) -> list[bool | None]:
    return [result.is_win for result in game.results]


@BOTH
def test_actions_rewards_and_names(log: Log) -> None:
    """As a plain loop over the choices counts them."""
    game = record_of(log)
    assert [seat.model for seat in game.seats] == list(TEAMS)
    words = ("cooperate", "defect")
    assert [(d.seat, d.round, d.choice, d.payoff) for d in game.decisions] == [
        (seat, number, words[pair[seat - 1]], POINTS[pair[seat - 1]][pair[2 - seat]])
        for number, pair in enumerate(PLAYED, start=1)
        for seat in (1, 2)
    ]
    totals = [sum(POINTS[a][b] for a, b in PLAYED), sum(POINTS[b][a] for a, b in PLAYED)]
    assert [seat.final_score for seat in game.seats] == totals == [26, 16]
    assert (game.n_rounds, game.setting["rounds"]) == (5, 5)
    assert (game.is_finished, game.outcome, game.ended_by) == (True, "completed", None)
    assert wins(game) == [True, False]
    assert game.faults == []


def test_a_tie_is_won_by_both() -> None:
    assert wins(record_of(ipd([(0, 1), (1, 0)]))) == [True, True]


def test_thoughts_are_reflections_that_nobody_is_shown() -> None:
    course = (messages := record_of(repeated()).messages).course
    assert messages.content == tuple(f"I take {choice}." for _, choice in PLAYED)
    assert set(zip(course.player, course.phase, course.visible_to, strict=True)) == {
        ("Player 2", "reflection", ())
    }
    assert course.round == (1, 2, 3, 4, 5)


def test_a_model_is_the_team_else_the_only_one_called() -> None:
    log = repeated()
    del log["info"]["TeamNames"]
    assert [(seat.model, seat.is_bot) for seat in record_of(log).seats] == [
        (None, None),
        ("epsilon-2", False),
    ]
    log["steps"][3][1]["action"]["call_details"][0]["model"] = "another"
    assert record_of(log).seats[1].model is None
    log["info"]["TeamNames"] = ["one", "", "three"]
    assert "3 names" in fault_of(log).message


# Games that did not run their course


@pytest.mark.parametrize(
    ("log", "ended_by", "won"),
    [
        (FORFEIT, "forfeit: UNPARSABLE", [True, False]),
        (failed(("DONE", "DONE"), (1, -1), submission=7), "forfeit", [True, False]),
        # In the strict mode who fails loses alone; else nobody is credited.
        (failed(("DONE", "TIMEOUT"), (1, None)), "timeout", [True, False]),
        (failed(("DONE", "ERROR"), (1, None)), "error", [True, False]),
        (failed(("ERROR", "TIMEOUT"), (None, None)), "timeout", [None, None]),
        (failed(("ERROR", "ERROR"), (None, None)), "error", [None, None]),
        (failed(("ACTIVE", "ACTIVE"), (None, None)), None, [None, None]),
    ],
)
def test_forfeits_and_timeouts(log: Log, ended_by: str | None, won: list[bool | None]) -> None:
    """A reward is then no number of points, and the round was not played."""
    game = record_of(log)
    assert (game.ended_by, wins(game)) == (ended_by, won)
    assert game.is_finished == (won != [None, None])
    assert [seat.final_score for seat in game.seats] == [None, None]
    assert (game.n_rounds, len(game.decisions)) == (2, 4)


@pytest.mark.parametrize("submission", [-1, 7])
def test_a_forfeit_is_no_round(submission: int) -> None:
    """The states of both keep what was applied in the round before."""
    log = failed(("DONE", "DONE"), (1, -1), submission=submission)
    for now, before in zip(log["steps"][-1], log["steps"][-2], strict=True):
        now["info"] = before["info"]
    log["steps"][-1][0]["action"] = log["steps"][-2][0]["action"]
    game = record_of(log)
    assert (game.ended_by, wins(game), game.faults) == ("forfeit", [True, False], [])
    assert (game.n_rounds, len(game.decisions)) == (2, 4)


def test_a_player_that_fails_in_ipd_leaves_the_game_unfinished() -> None:
    log = changed(ipd(), -1, 1, status="TIMEOUT", action=None, reward=None)
    game = record_of(log)
    assert (game.is_finished, game.ended_by, game.n_rounds) == (False, "timeout", 4)
    assert game.faults == []


# What cannot be read


@pytest.mark.parametrize("odd", [None, "", -1, 2, 0.5, True, [], {}, {"submission": "x"}])
def test_an_odd_choice_costs_only_that_choice(odd: Any) -> None:
    for log in (changed(ipd(), 2, 1, action=odd), repeated()):
        if log["name"] != "ipd":
            log["steps"][3][1]["info"]["actionApplied"] = odd
        game = record_of(log)
        assert len(game.decisions) == 9
        assert [fault.json_path for fault in game.faults] == [
            f"$.steps[{3 - (log['name'] == 'ipd')}][1]"
        ]
        assert game.n_rounds == 5


def test_odd_thoughts_cost_only_these() -> None:
    log = repeated()
    log["steps"][2][1]["action"]["thoughts"] = 5
    game = record_of(log)
    assert len(game.decisions) == 10
    assert [fault.json_path for fault in game.faults] == ["$.steps[2][1].action.thoughts"]


# Other games


@pytest.mark.parametrize(
    "name",
    [
        *("connectx", "open_spiel_chess", "open_spiel_coin_game_arena", "negotiation"),
        *("ipd_2", "Werewolf"),
    ],
)
def test_an_episode_of_another_game_is_named(name: str) -> None:
    for log in (VILLAGERS_WIN | {"name": name}, repeated() | {"name": name}):
        assert read_game(encode(log)) is None
        assert ignored_reason(encode(log)) == f"not read: a Kaggle episode of {name}"


@pytest.mark.parametrize("name", ["", "x" * 61, "two words", "Zoë", 5, None])
def test_a_name_that_is_no_word_is_not_repeated(name: Any) -> None:
    log = ipd() | {"name": name}
    assert read_game(encode(log)) is None
    assert ignored_reason(encode(log)).startswith("not a log: JSON with other keys (name, ")


def test_another_game_that_is_repeated_is_none_of_ours() -> None:
    """What is repeated says the game as loaded; else the text and the parameters both say it."""
    log = repeated(stage="matrix_mp")
    assert read_game(encode(log)) is None
    assert ignored_reason(encode(log)) == "not read: a Kaggle episode of open_spiel_repeated_game"
    older = repeated()
    del older["info"]["openSpielGameStringResolved"]
    assert record_of(older).setting["rounds"] is None
    for place, value in (
        ("openSpielGameString", "repeated_game(stage_game=matrix_mp())"),
        ("openSpielGameParameters", {"stage_game": {"name": "matrix_mp"}}),
    ):
        other = deepcopy(older)
        other["configuration"][place] = value
        assert read_game(encode(other)) is None
    del older["configuration"]["openSpielGameParameters"]
    assert record_of(older).is_finished


# Games that the package plays
