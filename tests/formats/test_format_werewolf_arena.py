"""Werewolf Arena: small games round by round."""

from copy import deepcopy

import pytest
from logs.werewolf_arena import NIGHT, VILLAGERS_WIN, WEREWOLVES_WIN
from rawlogs import bent, encode, fault_of, record_of


def test_players_and_setting() -> None:
    game = record_of(VILLAGERS_WIN)
    assert [(s.player, s.model, s.role) for s in game.seats][:3] == [
        ("Ada", "alpha", "villager"),
        ("Björn", "beta", "werewolf"),
        ("Cy", "alpha", "seer"),
    ]
    assert all(seat.is_tested for seat in game.seats)
    assert game.setting == {"roles": {"doctor": 1, "seer": 1, "villager": 3, "werewolf": 1}}


def test_the_last_tally_of_a_day_decides() -> None:
    votes = [(v.round, v.seat, v.target) for v in record_of(VILLAGERS_WIN).votes]
    assert votes[:6] == [
        (1, 1, "Björn"),
        (1, 2, "Cy"),
        (1, 3, "Björn"),
        (1, 4, "Cy"),
        (1, 5, "Cy"),
        (1, 6, "Eve"),
    ]
    assert [day for day, *_ in votes] == [1] * 6 + [2] * 5


def test_nights_belong_to_the_day_before() -> None:
    game = record_of(VILLAGERS_WIN)
    used = [(a.round, a.seat, a.kind, a.target, a.finding) for a in game.abilities]
    assert used == [
        (0, 2, "attack", "Cy", None),
        (0, 4, "protect", "Cy", None),
        (0, 3, "unmask", "Björn", "werewolf"),
        (1, 2, "attack", "Eve", None),
        (1, 4, "protect", "Cy", None),
        (1, 3, "unmask", "Ada", "villager"),
    ]
    assert [(e.round, e.seat, e.cause) for e in game.eliminations] == [
        (1, 5, "attack"),
        (2, 2, "vote"),
    ]
    assert game.n_rounds == 2
    assert list(game.messages.course.round) == [1, 1, 2]


def test_a_game_can_end_in_the_night() -> None:
    game = record_of(NIGHT)
    assert (game.outcome, game.n_rounds) == ("werewolves_won", 2)
    assert (game.eliminations[-1].round, game.eliminations[-1].seat) == (2, 5)


def test_an_interrupted_game_is_unfinished_and_its_last_tally_no_vote() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    log |= {"winner": "", "error_message": "no answer"}
    log["rounds"][1] |= {"success": False, "exiled": None}
    game = record_of(log)
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, "no answer")
    assert {result.is_win for result in game.results} == {None}
    assert {vote.round for vote in game.votes} == {1}


def test_a_vote_for_no_player_is_a_fault() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    voters = [*log["rounds"][0]["votes"][-1]]
    log["rounds"][0]["votes"][-1] |= {voters[0]: "skip", voters[1]: "Zed"}
    game = record_of(log)
    n_tallies = len(log["rounds"][0]["votes"])
    assert [vote.target for vote in game.votes if vote.round == 1].count(None) == 2
    assert [(fault.json_path, fault.message) for fault in game.faults] == [
        (f"$.rounds[0].votes[{n_tallies - 1}].{voters[1]}", "'Zed'")
    ]


def test_an_ability_of_nobody_is_reported() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    log["rounds"][1]["protected"] = "Flo"
    game = record_of(log)
    assert [fault.json_path for fault in game.faults] == ["$.rounds[1].protected"]


@pytest.mark.parametrize(
    ("place", "value", "json_path", "rule"),
    [
        (["winner"], "Nobody", "$.winner", "the winner is Villagers or Werewolves"),
        (["players", "Ada", "role"], "Fox", "$.players.Ada.role", "a role is one of"),
        (["rounds", 1, "exiled"], "Ada", "$.rounds[1].exiled", "whoever leaves the game is still"),
        (["rounds", 1, "eliminated"], "Cy", "$.rounds[1].eliminated", "whoever leaves the game"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(
    place: list[str | int], value: object, json_path: str, rule: str
) -> None:
    fault = fault_of(bent(WEREWOLVES_WIN, *place, value=value))
    assert fault.json_path == json_path
    assert fault.rule.startswith(rule)


def with_a_name_twice() -> bytes:
    data = encode(WEREWOLVES_WIN).decode()
    start = data.index('"players"')
    return (data[:start] + data[start:].replace('"Flo": {', '"Ada": {', 1)).encode()


def test_a_name_that_comes_twice_is_refused() -> None:
    """The decoder skips what nobody asks for, whatever it is; what looks for names does not."""
    data = with_a_name_twice()
    assert fault_of(data).rule == "no two players have the same name"
    fault = fault_of(data.replace(b'"Ada": {', b'"Ada": {"note": "\xbb", ', 1))
    assert fault.json_path == "$.players"
    assert "byte 0xbb" in fault.message


@pytest.mark.parametrize(
    ("place", "value", "json_path"),
    [
        (["rounds", 0, "debate", 0, 0], "Zed", "$.rounds[0].debate[0]"),
        (["rounds", 0, "votes", -1, "Zed"], "Ada", "$.rounds[0].votes[1]"),
    ],
)
def test_what_somebody_without_a_seat_does_is_a_fault(
    place: list[str | int], value: str, json_path: str
) -> None:
    log = bent(VILLAGERS_WIN, *place, value=value)
    (fault,) = record_of(log).faults
    assert (fault.json_path, fault.rule) == (json_path, "whoever acts is a player")
    assert len(record_of(log).votes) == len(record_of(VILLAGERS_WIN).votes)


@pytest.mark.parametrize("nobody", ["", "None", "no_elimination"])
@pytest.mark.parametrize("key", ["eliminated", "exiled"])
def test_a_word_for_nobody_is_no_player(key: str, nobody: str) -> None:
    written, null = (
        record_of(bent(WEREWOLVES_WIN, "rounds", 1, key, value=value)) for value in (nobody, None)
    )
    assert (written.eliminations, written.faults) == (null.eliminations, [])
