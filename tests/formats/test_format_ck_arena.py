"""CK-Arena, one game at a time."""

import pytest
from logs.ck_arena import Log, cut_off, voted, watched
from rawlogs import encode, fault_of, game_of

from pipeline.formats import read_game


def test_votes_are_silent_and_for_whom_the_log_says() -> None:
    votes = game_of(voted()).votes
    assert [(one.seat, one.round, one.target, one.is_valid) for one in votes] == [
        (1, 1, "Player_3", True),
        (2, 1, "Player_5", False),
        (3, 1, None, False),
        (4, 1, "Player_3", True),
        (6, 1, "Player_3", True),
        (1, 2, "Player_6", True),
        (2, 2, "Player_3", False),
        (4, 2, "Player_6", True),
        (6, 2, "Player_1", True),
    ]
    assert {one.message_index for one in votes} == {None}
    assert [one.parse_status for one in votes].count("unreadable") == 1


def test_a_judge_puts_a_player_out_at_its_statement() -> None:
    game = game_of(voted())
    by_metric = next(one for one in game.eliminations if one.cause == "metric")
    said = game.messages[by_metric.message_index]
    assert (by_metric.seat, by_metric.round, by_metric.is_before_vote) == (5, 1, True)
    assert (said.player, said.round, said.phase) == ("Player_5", 1, "clue")


def test_an_audience_decides_in_the_place_of_votes() -> None:
    game = game_of(watched())
    assert game.votes == []
    assert [(one.seat, one.round, one.cause) for one in game.eliminations] == [
        (1, 1, "audience"),
        (2, 2, "audience"),
    ]
    assert game.setting["decided_by"] == "audience"
    assert game.outcome == "parity"


def test_a_game_without_a_winner_is_unfinished_and_a_person_is_not_tested() -> None:
    game = game_of(cut_off())
    assert (game.is_finished, game.outcome) == (False, None)
    assert [(one.model, one.is_tested, one.is_bot) for one in game.seats] == [
        (None, False, False),
        ("model-b", True, False),
        ("model-a", True, False),
    ]


def test_a_vote_for_no_player_is_a_fault_of_its_own() -> None:
    log = voted()
    log["game_record"]["game_process"]["voting_rounds"][1]["votes"][0]["voted_for"] = 9
    game = read_game(encode(log))
    assert [(fault.json_path, fault.message) for fault in game.faults] == [
        ("$.game_record.game_process.voting_rounds[1].votes[0].voted_for", "9")
    ]
    assert game.votes[5].target is None


_PROCESS = "$.game_record.game_process"
_FIRST = f"{_PROCESS}.voting_rounds[0]"
_BALLOT = f"{_FIRST}.votes[1]"


@pytest.mark.parametrize(
    ("act", "faulty", "at", "kept"),
    [
        ("votes", {"voted_for": 5}, _BALLOT, (8, 3)),
        ("votes", {"voter_id": 9, "voted_for": 5}, f"{_BALLOT}.voter_id", (8, 3)),
        ("votes", {"voter_id": None, "voted_for": 5}, f"{_BALLOT}.voter_id", (8, 3)),
        ("votes", {"voter_id": True, "voted_for": 5}, f"{_BALLOT}.voter_id", (8, 3)),
        ("votes", {"voter_id": [2], "voted_for": 5}, f"{_BALLOT}.voter_id", (8, 3)),
        ("votes", None, _BALLOT, (8, 3)),
        ("eliminated", {"player_id": 9}, f"{_FIRST}.eliminated[1].player_id", (9, 3)),
        ("eliminated", {}, f"{_FIRST}.eliminated[1]", (9, 3)),
    ],
)
def test_an_act_that_is_broken_costs_itself_alone(
    act: str, faulty: object, at: str, kept: tuple[int, int]
) -> None:
    log = voted()
    log["game_record"]["game_process"]["voting_rounds"][0][act][1:2] = [faulty]
    game = game_of(log)
    assert [fault.json_path for fault in game.faults] == [at]
    assert (len(game.votes), len(game.eliminations)) == kept


@pytest.mark.parametrize(("act", "kept"), [("votes", (4, 3)), ("eliminated", (9, 2))])
def test_acts_that_are_no_list_cost_those_of_their_round(act: str, kept: tuple[int, int]) -> None:
    log = voted()
    log["game_record"]["game_process"]["voting_rounds"][0][act] = None
    game = game_of(log)
    assert [fault.json_path for fault in game.faults] == [f"{_FIRST}.{act}"]
    assert (len(game.votes), len(game.eliminations)) == kept


def test_a_judge_who_names_no_player_puts_nobody_out() -> None:
    log = voted()
    log["game_record"]["game_process"]["metric_eliminations"][0]["elimination_round"] = 0
    game = game_of(log)
    at = f"{_PROCESS}.metric_eliminations[0].elimination_round"
    assert [fault.json_path for fault in game.faults] == [at]
    assert {one.cause for one in game.eliminations} == {"vote"}


def test_whoever_acts_can_be_a_number_written_as_a_text() -> None:
    log, same = voted(), game_of(voted())
    log["game_record"]["game_process"]["voting_rounds"][0]["votes"][1]["voter_id"] = "2"
    log["game_record"]["game_process"]["metric_eliminations"][0]["player_id"] = "5"
    game = game_of(log)
    assert (game.votes, game.eliminations, game.faults) == (same.votes, same.eliminations, [])


def test_no_rounds_of_votes_are_a_game_without_votes() -> None:
    log = watched()
    log["game_record"]["game_process"]["voting_rounds"] = None
    assert game_of(log).faults == []


def bent(key: str, value: object) -> Log:
    log = voted()
    log["game_record"][key] = value
    return log


@pytest.mark.parametrize(
    ("log", "json_path"),
    [
        (bent("players", []), "$.game_record.game_process.statements[0].player_id"),
        (bent("players", "six"), "$.game_record.players"),
        (bent("game_summary", {"winner_role": "judge"}), "$.game_record.game_summary.winner_role"),
        (bent("game_process", {}), "$.game_record.game_process"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(log: Log, json_path: str) -> None:
    assert fault_of(log).json_path == json_path


def test_a_document_that_only_speaks_of_a_record_is_none() -> None:
    assert read_game(encode({"text": "game_record", "inner": {"game_record": {}}})) is None
