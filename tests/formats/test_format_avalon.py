"""Multi-round Avalon, one game at a time."""

from typing import Any

import pytest
from logs.avalon import MODEL, Log, cut_short, good_won, merlin_found, quests_failed
from rawlogs import bent, encode, fault_of, game_of

from pipeline.formats import read_game


def test_messages_are_in_the_order_of_play() -> None:
    game = game_of(merlin_found())
    course = [(one.phase, one.round) for one in game.messages]
    first = [*[("talk", 1)] * 5, ("team", 1), *[("team_vote", 1)] * 5]
    assert course[: len(first)] == first
    assert course[-3:] == [("assassination", 3)] * 3
    assert game.messages[-1].visible_to == ["Di"]
    assert game.messages[-2].visible_to == ["Di", "Eve"]
    assert game.messages[6].visible_to == ["Ann"]


def test_a_team_that_nobody_was_asked_about() -> None:
    teams = game_of(quests_failed()).team_proposals
    assert [(one.round, one.attempt, one.is_voted_on, one.is_approved) for one in teams] == [
        (1, 1, True, True),
        (2, 1, True, True),
        *[(3, attempt, True, False) for attempt in range(1, 5)],
        (3, 5, False, True),
    ]
    assert [one.is_quest_failed for one in teams] == [True, True, None, None, None, None, True]
    assert teams[-1].team == ["Eve", "Gus"]


def test_quests_are_played_in_silence() -> None:
    plays = game_of(quests_failed()).quest_plays
    assert [(one.seat, one.round, one.is_fail, one.message_index) for one in plays[:2]] == [
        (1, 1, False, None),
        (6, 1, True, None),
    ]


def test_roles_have_their_name_in_the_field() -> None:
    seats = game_of(merlin_found()).seats
    assert [one.role for one in seats] == ["merlin", "servant", "servant", "assassin", "minion"]
    assert [one.side for one in seats] == ["civilian"] * 3 + ["hidden"] * 2
    assert {one.model for one in seats} == {MODEL}


def test_a_game_without_a_winner_is_unfinished() -> None:
    game = game_of(cut_short())
    assert (game.is_finished, game.outcome, game.n_rounds) == (False, None, 2)
    assert [one.is_win for one in game.results] == [None] * 4


def test_an_assassin_without_a_target_and_a_vote_without_words() -> None:
    log = good_won()
    log["assassin_phase"]["guess"] = "Nobody"
    log["missions"][0]["proposals"][0]["votes"][0]["comment"] = None
    game = game_of(log)
    (choice,) = game.assassinations
    assert (choice.target, choice.target_seat, choice.is_correct) == (None, None, False)
    assert (game.team_votes[0].message_index, game.team_votes[0].approves) == (None, True)


@pytest.mark.parametrize(
    ("log", "json_path"),
    [
        (bent(good_won(), "players", 0, "role", value="jester"), "$.players[0].role"),
        (bent(good_won(), "players", 1, "name", value="Ann"), "$.players"),
        (bent(good_won(), "winner", value="nobody"), "$.winner"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(log: Log, json_path: str) -> None:
    assert fault_of(log).json_path == json_path


TEAM = ("missions", 0, "proposals", 0)
STRANGERS: list[tuple[tuple[Any, ...], str]] = [
    (("missions", 1, "discussion", 0, "player"), "messages"),
    ((*TEAM, "leader"), "team_proposals"),
    ((*TEAM, "team_members"), "team_votes"),
    ((*TEAM, "votes", 0, "player"), "team_votes"),
    (("missions", 0, "quest_actions", 0, "player"), "quest_plays"),
    (("assassin_phase", "evil_discussion", 0, "player"), "messages"),
    (("assassin_phase", "assassin"), "assassinations"),
]


@pytest.mark.parametrize(("place", "table"), STRANGERS)
def test_what_somebody_without_a_seat_does_is_a_fault(place: tuple[Any, ...], table: str) -> None:
    """Of a team the stranger alone is left out, with no row less."""
    whole = game_of(bent(good_won(), "winner", value="good"))
    is_team = place[-1] == "team_members"
    game = game_of(bent(good_won(), *place, value=["Zoë", "Ann"] if is_team else "Zoë"))
    (fault,) = game.faults
    assert fault.json_path.replace("[", ".").replace("]", "") == ".".join(map(str, ("$", *place)))
    n_rows = [len(getattr(one, table)) for one in (game, whole)]
    assert n_rows[0] == n_rows[1] if is_team else n_rows[0] < n_rows[1]
    assert game.outcome == whole.outcome


def test_other_documents_are_none() -> None:
    assert read_game(encode({"session_id": "s", "total_games": 1, "games": [good_won()]})) is None
    assert read_game(encode({"players": [], "missions": []})) is None
