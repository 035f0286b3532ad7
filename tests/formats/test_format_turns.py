"""Kaggle's episodes of negotiation, bargaining and the coin game, held against plain counts."""

import json
from copy import deepcopy
from typing import Any

import pytest
from logs.kaggle import IN_TURN, TEAMS, state
from rawlogs import fault_of, record_of

from pipeline.game_record import GameRecord, Usage

Log = dict[str, Any]
EACH = pytest.mark.parametrize("log", IN_TURN.values(), ids=IN_TURN)


def acts_of(log: Log) -> list[tuple[str, str]]:
    """Who did what, by a plain loop over the log."""
    return [
        (f"Player {n}", player["info"]["actionSubmittedToString"])
        for states in log["steps"]
        for n, player in enumerate(states, start=1)
        if player["info"]["actionApplied"] is not None
    ]


def said(game: GameRecord, *, thoughts: bool = False) -> list[tuple[str, str]]:
    """Who said what: all that is an act, or all that is thought."""
    course = game.messages.course
    rows = zip(course.player, game.messages.content, course.phase, strict=True)
    return [(player, text) for player, text, phase in rows if (phase == "reflection") == thoughts]


@EACH
def test_actions_rewards_and_names(log: Log) -> None:
    game = record_of(log)
    assert f"open_spiel_{game.game_type}" == log["name"]
    assert said(game) == acts_of(log)
    assert [seat.model for seat in game.seats] == list(TEAMS)
    rewards = [player["reward"] for player in log["steps"][-1]]
    assert [seat.final_score for seat in game.seats] == rewards
    credits = {0: (0.5, 0.5), 1: (1, 0), -1: (0, 1)}
    more = (rewards[0] > rewards[1]) - (rewards[0] < rewards[1])
    assert tuple(result.win_credit for result in game.results) == credits[more]
    assert [result.is_win for result in game.results] == [more > 0, more < 0]
    assert (game.is_finished, game.ended_by, game.faults) == (True, None, [])
    assert game.setting == {"max_turns": 10, "discount": 0.5, "is_private": True}


@pytest.mark.parametrize(
    ("name", "outcome", "n_rounds"),
    [
        ("bargaining", "agreed", 2),
        ("negotiation", "agreed", 2),
        ("no deal", "not_agreed", 2),
        ("coin_game", "completed", 3),
    ],
)
def test_how_a_game_ended(name: str, outcome: str, n_rounds: int) -> None:
    """A round has one turn of each player: an offer, and what is said with it."""
    game = record_of(IN_TURN[name])
    assert (game.outcome, game.n_rounds) == (outcome, n_rounds)


def test_what_an_act_is() -> None:
    kinds = {
        name: list(zip(course.round, course.phase, strict=True))
        for name in IN_TURN
        for course in [record_of(IN_TURN[name]).messages.course]
    }
    thought = "reflection"
    assert kinds["bargaining"] == [
        *[(1, "proposal"), (1, thought), (1, "proposal")],
        *[(2, "proposal"), (2, thought), (2, "proposal_vote")],
    ]
    assert kinds["negotiation"] == [
        *[(1, "proposal"), (1, "talk"), (1, thought), (1, "proposal"), (1, thought), (1, "talk")],
        (2, "proposal_vote"),
    ]
    assert kinds["coin_game"][:3] == [(1, "decision"), (1, thought), (1, "decision")]


@EACH
def test_thoughts_are_reflections_that_nobody_is_shown(log: Log) -> None:
    game = record_of(log)
    assert said(game, thoughts=True) == [
        (player, f"I think of {text}.") for player, text in acts_of(log) if player == "Player 2"
    ]
    course = game.messages.course
    shown = dict(zip(course.phase, course.visible_to, strict=True))
    assert shown.pop("reflection") == ()
    assert set(shown.values()) == {"all"}


# Games that did not run their course


@EACH
@pytest.mark.parametrize(
    ("statuses", "rewards", "ended_by", "won"),
    [
        (("DONE", "DONE"), (1, -1), "forfeit: ILLEGAL", [True, False]),
        (("DONE", "TIMEOUT"), (1, None), "timeout", [True, False]),
        (("ERROR", "TIMEOUT"), (None, None), "timeout", [None, None]),
        (("ERROR", "ERROR"), (None, None), "error", [None, None]),
        (("ACTIVE", "INACTIVE"), (None, None), None, [None, None]),
    ],
)
def test_forfeits_and_timeouts(
    log: Log, statuses: Any, rewards: Any, ended_by: str | None, won: list[bool | None]
) -> None:
    """A reward is then no number of points, and nothing was done at that step."""
    log = deepcopy(log)
    illegal = {"submission": -1, "failureCategory": "ILLEGAL"}
    ends = zip(({"submission": -1}, illegal), rewards, statuses, strict=True)
    log["steps"][-1] = [state(action, None, reward, status) for action, reward, status in ends]
    game = record_of(log)
    assert (game.ended_by, [result.is_win for result in game.results]) == (ended_by, won)
    credits = [None if one is None else float(one) for one in won]
    assert [result.win_credit for result in game.results] == credits
    assert game.is_finished == (won != [None, None]) == (game.outcome is not None)
    assert game.outcome != "agreed"
    assert [seat.final_score for seat in game.seats] == [None, None]
    assert said(game) == acts_of(log)


@EACH
@pytest.mark.parametrize(
    ("submission", "status"),
    [(-1, "DONE"), (-1.0, "DONE"), (999, "DONE"), (-1, "INVALID"), (None, "TIMEOUT")],
)
def test_at_a_forfeit_nothing_was_done(log: Log, submission: Any, status: str) -> None:
    """The states of both keep what was applied at their turns before, which is done once."""
    log = deepcopy(log)
    done = acts_of(log)[:-1]
    kept: list[Any] = [{}, {}]
    for states in log["steps"][:-1]:
        for seat, player in enumerate(states):
            if player["info"]["actionApplied"] is None:
                player["info"] |= kept[seat]
            kept[seat] = dict(player["info"])
    illegal = {"submission": submission, "failureCategory": "ILLEGAL"}
    log["steps"][-1] = [
        state({"submission": -1}, None, 1, "DONE") | {"info": kept[0]},
        state(illegal, None, -1, status) | {"info": kept[1]},
    ]
    game = record_of(log)
    assert said(game) == done
    assert (game.is_finished, game.outcome == "agreed", game.faults) == (True, False, [])
    assert [result.is_win for result in game.results] == [True, False]


@EACH
def test_what_calls_used_and_who_failed(log: Log) -> None:
    log, n_calls = json.loads(json.dumps(log)), 0  # no part is in two places
    for states in log["steps"][1:-1]:
        if isinstance(action := states[1]["action"], dict):
            call = {"prompt_tokens": 7, "generation_tokens": 2, "duration_secs": 0.5}
            action["call_details"] = [call, call]
            n_calls += 2
    log["steps"][-1] = [
        state({"submission": -1}, None, reward, status)
        for reward, status in ((1, "DONE"), (None, "TIMEOUT"))
    ]
    game = record_of(log)
    assert n_calls
    assert list(game.usage) == [Usage(), Usage(7 * n_calls, 2 * n_calls, 0.5 * n_calls)]
    assert game.failures == {2: "timeout"}


# What cannot be read


@EACH
@pytest.mark.parametrize("odd", [None, 5, [], {}])
def test_an_act_without_words_costs_only_that_act(log: Log, odd: Any) -> None:
    log, whole = deepcopy(log), record_of(log)
    log["steps"][2][0]["info"]["actionSubmittedToString"] = odd
    game = record_of(log)
    assert said(game) == said(whole)[1:]
    assert [fault.json_path for fault in game.faults] == [
        "$.steps[2][0].info.actionSubmittedToString"
    ]


def test_parameters_that_cannot_be_read_are_left_out() -> None:
    log = deepcopy(IN_TURN["bargaining"])
    log["info"]["openSpielGameStringResolved"] = "x(a=1.2.3,b=.,c=007,d=2,e=Trueish,f=-1,g=x)"
    assert record_of(log).setting == {"d": 2}
    del log["info"]["openSpielGameStringResolved"]
    assert record_of(log).setting == {}


def test_an_episode_is_of_two_players() -> None:
    log = deepcopy(IN_TURN["coin_game"])
    log["steps"][1].append(log["steps"][1][0])
    assert fault_of(log).json_path == "$.steps[1]"
