"""Logs of `goods` and `pgg_bench` as they can be bent: what is refused, kept, or unknown."""

import json

import pytest
from poollogs import PUNISHING, Event, event, final, init, lines, punish, put, say
from rawlogs import Game, fault_of, game_of

from pipeline.archives import HEAD_BYTES
from pipeline.archives.splitting import read_whole_file
from pipeline.formats import find_splitter
from pipeline.vocabulary import Outcome, ParseStatus

OK = ParseStatus.OK


def goods(*amounts: tuple[float, float, float]) -> list[Event]:
    """A game whose three seats put in these amounts, round by round, without its end."""
    puts = [
        put(seat, round_, amount)
        for round_, of_round in enumerate(amounts, start=1)
        for seat, amount in enumerate(of_round, start=1)
    ]
    return [init(len(amounts)), *puts]


def pgg(*events: Event) -> bytes:
    return lines([init(1, **PUNISHING), *events])


def test_players_are_called_by_the_labels_that_they_call_each_other() -> None:
    game = game_of(lines([*goods((1, 2, 3)), final(9, 8, 7)]))
    found = [(s.player, s.model, s.final_score, s.score_rank, s.is_tested) for s in game.seats]
    assert found == [
        ("P1", "model-a", 9, 1, True),
        ("P2", "model-b", 8, 2, True),
        ("P3", "model-c", 7, 3, True),
    ]
    assert (game.system, game.format, game.outcome) == ("goods", "goods", Outcome.COMPLETED)
    assert game.setting == {"rounds": 1, "players": 3, "multiplier": 2, "starting_amount": 10}


def test_contributions_have_an_amount_and_no_words() -> None:
    game = game_of(lines([*goods((4, 1, 1), (2, 2, 2)), final(9, 8, 7)]))
    assert game.messages == []
    rows = [(c.seat, c.round, c.amount, c.is_least, c.round_total) for c in game.contributions]
    assert rows == [
        (1, 1, 4, False, 6),
        (2, 1, 1, True, 6),
        (3, 1, 1, True, 6),
        (1, 2, 2, True, 6),
        (2, 2, 2, True, 6),
        (3, 2, 2, True, 6),
    ]
    assert {
        (c.message_index, c.text, c.stated_amount, c.parse_status) for c in game.contributions
    } == {(None, None, None, OK)}


def test_all_with_the_highest_balance_win() -> None:
    game = game_of(lines([*goods((1, 2, 3)), final(9, 7, 9)]))
    assert [(r.is_win, r.win_credit) for r in game.results] == [(True, 1), (False, 0), (True, 1)]


def test_a_game_without_its_end_is_unfinished() -> None:
    game = game_of(lines(goods((1, 2, 3), (4, 5, 6))[:-2]))
    assert (game.is_finished, game.outcome) == (False, None)
    assert {(r.is_win, r.win_credit) for r in game.results} == {(None, None)}
    assert [s.final_score for s in game.seats] == [None] * 3
    assert [(c.is_least, c.round_total) for c in game.contributions if c.round == 2] == [
        (None, None)
    ]


def test_talk_and_punishments() -> None:
    game = game_of(
        pgg(
            say(3, 1, "All in!"),
            punish(1, 3, 1, 2),
            punish(1, 2, 1, 1),
            punish(2, 1, 1, 0.5),
        )
    )
    assert (game.system, game.format) == ("pgg_bench", "pgg_bench")
    (message,) = game.messages
    assert (message.seat, message.round, message.phase, message.content) == (
        3,
        1,
        "talk",
        "All in!",
    )
    found = [(t.seat, t.number, t.target, t.target_seat, t.amount, t.cost) for t in game.transfers]
    assert found == [(1, 1, "P3", 3, -6, 2), (1, 2, "P2", 2, -3, 1), (2, 1, "P1", 1, -1.5, 0.5)]
    assert {(t.kind, t.message_index, t.parse_status) for t in game.transfers} == {
        ("punishment", None, OK)
    }
    assert game.setting["punish_ratio"] == 3
    assert not {"random_seed", "game_id"} & set(game.setting)


def test_an_unknown_event_is_named_and_the_rest_kept() -> None:
    game = game_of(pgg(event("reward", round=1), say(1, 1, "Hi")))
    (fault,) = game.faults
    assert (fault.json_path, fault.message) == ("$[1].type", "'reward'")
    assert len(game.messages) == 1


def test_blank_lines_do_not_matter() -> None:
    data = lines([*goods((1, 2, 3)), final(9, 8, 7)])
    assert game_of(b"\n  \n" + data.replace(b"\n", b"\r\n\r\n")) == game_of(data)


@pytest.mark.parametrize("settings", [{}, PUNISHING])
def test_a_file_is_one_document(settings: dict[str, object]) -> None:
    assert find_splitter("a.jsonl", lines([init(1, **settings)])[:600]) is read_whole_file
    assert find_splitter("a.jsonl", lines([put(1, 1, 4)])) is None
    assert find_splitter("a.jsonl", b'{"type": "init"}\n') is None


def test_a_file_is_one_document_however_its_first_line_is_written() -> None:
    log = init(1, prompt="x" * 20_000)
    late = {"settings": log["settings"], **log}
    assert next(iter(late)) == "settings"
    for first in (json.dumps(late), json.dumps(late, indent=2)):
        data = first.encode() + b"\n" + lines([put(seat, 1, 4) for seat in (1, 2, 3)])
        assert find_splitter("a.jsonl", data[:HEAD_BYTES]) is read_whole_file
        assert len(game_of(data).contributions) == 3


STRANGER = "Player9_Game1_nobody"
BENT = {
    # In a file whose first line it is not, so that each line is a document.
    "a beginning alone": (lines([init(1)]), "$[0]", "goes on"),
    "two players of one label": (
        lines([init(1)]).replace(b'"P2"', b'"P1"'),
        "$[0].short_name_map",
        "same",
    ),
    "a second beginning": (lines([*goods((1, 2, 3)), init(1)]), "$[4]", "one game"),
    "an event of another game": (
        lines([*goods((1, 2, 3)), final(9, 8, 7) | {"game_id": 5}]),
        "$[4].game_id",
        "one game",
    ),
    "a second end": (
        lines([*goods((1, 2, 3)), final(9, 8, 7), final(9, 8, 7)]),
        "$[5]",
        "ends once",
    ),
    "a balance missing": (
        lines([*goods((1, 2, 3)), event("final", final_tokens={"model-a": 1})]),
        "$[4].final_tokens",
        "has a balance",
    ),
    "no balance at all": (
        lines([*goods((1, 2, 3)), event("final", final_tokens={})]),
        "$[4].final_tokens",
        "has a balance",
    ),
    "two puts in a round": (
        lines([*goods((1, 2, 3)), put(1, 1, 4)]),
        "$[4]",
        "once a round",
    ),
    "a put of a stranger": (
        lines([*goods((1, 2, 3)), put(1, 2, 4) | {"player_id": STRANGER}]),
        "$[4].player_id",
        "has a seat",
    ),
    "a message of a stranger": (
        pgg(say(1, 1, "Hi") | {"player_id": "Moderator"}),
        "$[1].player_id",
        "has a seat",
    ),
    "too few players": (lines([init(1, num_players=4)]), "$[0].short_name_map", "as many"),
    "a line cut short": (
        lines(goods((1, 2, 3))).replace(b"0}\n", b"0\n", 1),
        "$[1]",
        "well-formed",
    ),
}


@pytest.mark.parametrize(("log", "json_path", "rule"), BENT.values(), ids=BENT)
def test_a_bent_log_is_refused_with_the_place_and_the_rule(
    log: bytes, json_path: str, rule: str
) -> None:
    fault = fault_of(log)
    assert fault.json_path == json_path
    assert rule in fault.rule
    assert fault.message


def test_a_last_line_that_was_not_cut_can_be_wrong_without_its_end_of_line() -> None:
    twice = lines([*goods((1, 2, 3)), final(9, 8, 7), final(9, 8, 7)])
    for data in (twice, twice[:-1]):
        assert fault_of(data).rule == "a game ends once"


@pytest.mark.parametrize("n_bytes", [2, 9, 40])
def test_a_last_line_that_was_cut_costs_no_game(n_bytes: int) -> None:
    """As a writer leaves it that was killed: the game is one that ended a line earlier."""
    events = goods((1, 2, 3), (4, 4, 1))
    whole, cut = game_of(lines(events[:-1])), game_of(lines(events)[:-n_bytes])
    assert [fault.json_path for fault in cut.faults] == [f"$[{len(events) - 1}]"]
    assert (cut.is_finished, cut.contributions) == (whole.is_finished, whole.contributions)


SELF_PLAY = ("m", "m", "o")


def self_play(*ends: tuple[str, float]) -> Game:
    """Three seats, two of one model, put in 1, 2, 3 and 4, 4, 1; balances are those of models."""
    puts = [
        put(seat, round_, amount, SELF_PLAY)
        for round_, of_round in enumerate([(1, 2, 3), (4, 4, 1)], start=1)
        for seat, amount in enumerate(of_round, start=1)
    ]
    return game_of(lines([init(2, SELF_PLAY), *puts, event("final", final_tokens=dict(ends))]))


def test_seats_of_one_model_have_the_balances_that_follow() -> None:
    """All begin with 10. Round 1: 6 · 2 = 12, 4 each: 13, 12, 11. Round 2: 9 · 2 = 18, 6 each:
    13 - 4 + 6 = 15, 14 and 16. Of the two seats of m the last to be written is logged."""
    game = self_play(("m", 14), ("o", 16))
    assert [seat.final_score for seat in game.seats] == [15, 14, 16]
    assert [(r.seat, r.is_win) for r in game.results] == [(1, False), (2, False), (3, True)]
    assert (game.is_finished, len(game.contributions), game.faults) == (True, 6, [])


def test_seats_of_one_model_whose_balances_do_not_follow_have_none() -> None:
    game = self_play(("m", 13), ("o", 16))
    assert [seat.final_score for seat in game.seats] == [None] * 3
    assert (game.is_finished, len(game.contributions)) == (False, 6)
    assert [fault.json_path for fault in game.faults] == ["$[7].final_tokens"]
