"""TextArena's Avalon, one game at a time."""

import pytest
from logs.textarena import Log, cut_off, good_won, merlin_found, of_one_agent
from rawlogs import bent, encode, fault_of, game_of

from pipeline.formats import read_game


def test_phases_and_rounds_follow_from_the_state() -> None:
    game = game_of(merlin_found())
    spoken = [one for one in game.messages if one.seat is not None]
    of_attempt = [*["talk"] * 5, "team", *["team_vote"] * 5]
    assert [one.phase for one in spoken] == of_attempt * 4
    assert [one.round for one in spoken] == [1] * 11 + [2] * 22 + [3] * 11
    assert [(one.round, one.attempt, one.leader) for one in game.team_votes[::5]] == [
        (1, 1, "Player 3"),
        (2, 1, "Player 4"),
        (2, 2, "Player 0"),
        (3, 1, "Player 1"),
    ]
    assert [one.is_quest_failed for one in game.team_proposals] == [False, None, False, False]


def test_the_moderator_addresses_whom_its_text_names() -> None:
    game = game_of(good_won())
    shown = {one.content.split("\n")[-1]: one.visible_to for one in game.messages}
    assert shown["You are the leader, propose a team."] == ["Player 0"]
    assert shown["You are on the mission team. Choose."] == ["Player 0", "Player 4"]
    assert shown["Evil team, you have one chance."] == ["Player 2", "Player 3"]
    invalid = [one for one in game.messages if "invalid move" in one.content]
    assert [one.visible_to for one in invalid] == [["Player 2"], ["Player 3"]]
    assert shown["Mission Succeeded. All actions"] == ["all"]


def test_an_invalid_move_is_told_and_the_game_is_finished() -> None:
    game = read_game(encode(good_won()))
    assert game.ended_by == "invalid move: Merlin guess not in valid format"
    assert (game.is_finished, game.outcome) == (True, "good_won")


def test_the_fifth_team_goes_unasked() -> None:
    game = game_of(of_one_agent("model-c"))
    teams = [
        (one.round, one.attempt, one.is_voted_on, one.is_approved) for one in game.team_proposals
    ]
    assert teams[3:6] == [(1, 4, True, False), (1, 5, False, True), (2, 1, True, True)]
    assert [one.is_quest_failed for one in game.team_proposals] == [None] * 4 + [True] * 3
    assert {one.model for one in game.seats} == {"model-c"}


def test_one_name_for_several_agents_is_no_model() -> None:
    game = game_of(of_one_agent("mixed"))
    assert {(one.model, one.is_bot, one.is_tested) for one in game.seats} == {(None, None, False)}
    bots = game_of(of_one_agent("deeprole-llm"))
    assert {(one.model, one.is_bot, one.is_tested) for one in bots.seats} == {
        ("deeprole-llm", True, False)
    }


def test_a_log_that_ends_in_a_vote_is_unfinished() -> None:
    log = cut_off()
    game = read_game(encode(log))
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, "Time is up.")
    votes = game_of(log).team_votes
    assert [(one.seat, one.approves, one.is_approved) for one in votes] == [
        (1, True, None),
        (2, True, None),
    ]
    assert [one.is_approved for one in game_of(log).team_proposals] == [None]


def test_a_log_without_rows_is_a_game_without_words() -> None:
    game = read_game(encode({**good_won(), "logs": []}))
    assert len(game.messages) == 0


def test_a_vote_that_was_not_registered_is_a_fault() -> None:
    log = cut_off()
    log["logs"][-1]["message"] = "I pass."
    game = read_game(encode(log))
    (fault,) = game.faults
    assert fault.json_path == f"$.logs[{len(log['logs']) - 1}]"
    assert len(game.events["team_votes"]) == 1


@pytest.mark.parametrize(
    ("log", "json_path"),
    [
        (bent(merlin_found(), "seat_agents", value=["model-a"]), "$.seat_agents"),
        (bent(merlin_found(), "game_info", "0", "role", value="Jester"), "$.game_info[...].role"),
        (bent(merlin_found(), "game_info", "5", value={"role": "Minion"}), "$.seat_agents"),
        (bent(merlin_found(), "logs", 3, "from", value=9), "$.logs[3].from"),
        (
            bent(merlin_found(), "logs", 10, "message", value="<game_state>{</game_state>"),
            "$.logs[10].message",
        ),
        (bent(merlin_found(), "rewards", value=[1, -1]), "$.rewards"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(log: Log, json_path: str) -> None:
    assert fault_of(log).json_path == json_path


def test_logs_of_another_environment_are_none() -> None:
    assert read_game(encode({**merlin_found(), "env_id": "SecretMafia-v0"})) is None
