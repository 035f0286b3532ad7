"""Prisoner's Dilemma and Public Good: what was registered, in which round, what it paid."""

from collections.abc import Callable
from typing import Any

import pytest
from rawlogs import (
    MODEL,
    OUTAGE,
    PLAYERS,
    Game,
    Row,
    by_seat,
    fault_of,
    game_of,
    moderate,
    prisoners_dilemma,
    public_good,
    say,
)

from pipeline.game_record import InvalidDocumentError
from pipeline.vocabulary import PLAYER, Choice, GameType, Outcome, ParseStatus, Phase

C, D = Choice.COOPERATE, Choice.DEFECT
OK, AMBIGUOUS = ParseStatus.OK, ParseStatus.AMBIGUOUS
UNREADABLE, OUT = ParseStatus.UNREADABLE, ParseStatus.OUTAGE
BUILDERS = [prisoners_dilemma, public_good]


def only(results: list[Row]) -> Row:
    (result,) = results
    return result


def places(game: Game) -> list[tuple[int, int]]:
    """Round and seat of each choice or contribution."""
    return [(e.round, e.seat) for e in (*game.decisions, *game.contributions)]


# What both have


def test_seats_of_a_prisoners_dilemma() -> None:
    game = game_of(prisoners_dilemma(tested="Player 2", scores=[3, 1, 2]))
    assert game.game_type == GameType.PRISONERS_DILEMMA
    assert [(s.player, s.model, s.role, s.is_tested, s.final_score) for s in game.seats] == [
        ("Player 1", "gpt-4", PLAYER, False, 3),
        ("Player 2", MODEL, PLAYER, True, 1),
        ("Player 3", "gpt-4", PLAYER, False, 2),
    ]
    assert game.setting == {
        "payoffs": {"cooperate": 3, "defect": 1, "one_defect": 5, "two_defect": 2},
        "tested": "Player 2",
    }


def test_seats_of_a_public_good_game() -> None:
    game = game_of(public_good(tested="Player 3", multiplier=2.5))
    assert game.game_type == GameType.PUBLIC_GOOD
    assert [s.is_tested for s in game.seats] == [False, False, True]
    assert [s.final_score for s in game.seats] == [130.0, 120.0, 110.0]
    assert game.setting == {"multiplier": 2.5, "rounds": 1, "topic": "", "tested": "Player 3"}


@pytest.mark.parametrize("build", BUILDERS)
def test_a_tested_gpt_4_is_told_by_its_name_alone(build: Callable[..., Any]) -> None:
    game = game_of(build(model="gpt-4", tested="Player 2"))
    assert [(s.model, s.is_tested) for s in game.seats] == [
        ("gpt-4", False),
        ("gpt-4", True),
        ("gpt-4", False),
    ]
    assert (only(game.results).seat, only(game.results).opponent) == (2, "gpt-4")


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("result", "is_win", "credit"), [("win", True, 1.0), ("lose", False, 0.0), (None, None, None)]
)
def test_the_result_is_the_logs_word(
    build: Callable[..., Any], result: str | None, is_win: bool | None, credit: float | None
) -> None:
    game = game_of(build(result=result))
    assert game.is_finished is (result is not None)
    assert game.outcome is (Outcome.COMPLETED if result else None)
    assert (only(game.results).is_win, only(game.results).win_credit) == (is_win, credit)


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("word", ["draw", "Win", ""])
def test_an_unknown_result_is_a_fault(build: Callable[..., Any], word: str) -> None:
    fault = fault_of(build(result=word))
    assert (fault.json_path, fault.message) == ("$.result", repr(word))


@pytest.mark.parametrize("build", BUILDERS)
def test_the_tested_players_name_may_be_in_the_setting_alone(build: Callable[..., Any]) -> None:
    log = build(tested="Player 2")
    del log["test_player_name"]
    assert [s.is_tested for s in game_of(log).seats] == [False, True, False]
    del log["game_setting"]["test_player_name"]
    assert fault_of(log).json_path == "$.test_player_name"


@pytest.mark.parametrize("build", BUILDERS)
def test_the_opponents_model_may_be_unknown(build: Callable[..., Any]) -> None:
    log = build()
    del log["game_setting"]["non-test_player"]
    game = game_of(log)
    assert [s.model for s in game.seats] == [MODEL, None, None]


@pytest.mark.parametrize(
    ("log", "key", "value", "json_path"),
    [
        (public_good(), "test_player", {"name": "m"}, "$.game_setting.test_player"),
        (prisoners_dilemma(), "test_player", "m", "$.game_setting.test_player"),
        (public_good(), "test_player", {"model": None}, "$.game_setting.test_player.model"),
        (prisoners_dilemma(), "topic_values", {"cooperate": 1, "defect": 1}, "$.game_setting"),
        (prisoners_dilemma(), "topic_values", {"a": 1, "b": 1}, "$.game_setting"),
        (public_good(), "multiplier", "2", "$.game_setting.multiplier"),
        (public_good(), "game_round", 2.5, "$.game_setting.game_round"),
        (public_good(), "game_round", -1, "$.game_setting.game_round"),
    ],
)
def test_a_setting_that_cannot_be_read(log: Any, key: str, value: object, json_path: str) -> None:
    log["game_setting"][key] = value
    assert fault_of(log).json_path.startswith(json_path)


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("scores", [["1"], [None], 7, {"Player 1": 3}])
def test_scores_that_cannot_be_read(build: Callable[..., Any], scores: object) -> None:
    assert fault_of(build() | {"scores": scores}).json_path.startswith("$.scores")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([], [None] * 3), ([7], [7, None, None]), (None, [None] * 3), ([-0.5, 2, 3], [-0.5, 2, 3])],
)
def test_scores_that_are_missing(scores: list[float] | None, expected: list[float | None]) -> None:
    for build in BUILDERS:
        assert [s.final_score for s in game_of(build(scores=scores)).seats] == expected


@pytest.mark.parametrize("build", BUILDERS)
def test_an_empty_history(build: Callable[..., Any]) -> None:
    game = game_of(build() | {"history": []})
    assert (game.messages, game.decisions, game.contributions) == ([], [], [])
    assert [s.player for s in game.seats] == list(PLAYERS)
    assert game.is_finished
    assert only(game.results).is_win is not None
    assert only(game.results).message_index is None


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    "name", ["Player 0", "Player 01", "Player \u0663", "player 1", "Alice", ""]
)
def test_a_tested_player_of_an_odd_name(build: Callable[..., Any], name: str) -> None:
    """It has a seat, or the log is refused; the other documents of an ingest must not suffer."""
    try:
        game = game_of(build() | {"test_player_name": name})
    except InvalidDocumentError:
        return
    assert [s.player for s in game.seats if s.is_tested] == [name]
    assert game.seats[(only(game.results).seat or 0) - 1].player == name


# Rounds: the log does not number them


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("model", ["m", "m-pgm"])
def test_rounds_are_those_of_the_moderator(build: Callable[..., Any], model: str) -> None:
    rounds = [by_seat("I contribute 1", "I contribute 2", "I contribute 3")] * 5
    game = game_of(build(rounds, model=model))
    assert game.n_rounds == 5
    assert places(game) == [(n, seat) for n in range(1, 6) for seat in (1, 2, 3)]
    assert game.format_version == ("pgm" if model.endswith("-pgm") else "plain")
    thoughts = [m for m in game.messages if m.phase == Phase.REFLECTION]
    assert [m.round for m in thoughts] == ([2, 3, 4, 5] if model.endswith("-pgm") else [])


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("missing", PLAYERS)
def test_a_decision_missing_in_the_middle_shifts_none(
    build: Callable[..., Any], missing: str
) -> None:
    full = by_seat("I contribute 1", "I contribute 2", "I contribute 3")
    gap = {player: text for player, text in full.items() if player != missing}
    game = game_of(build([full, gap, full]))
    lost = PLAYERS.index(missing) + 1
    assert places(game) == [
        (n, seat) for n in (1, 2, 3) for seat in (1, 2, 3) if (n, seat) != (2, lost)
    ]


@pytest.mark.parametrize("build", BUILDERS)
def test_rounds_without_a_moderator_between_them(build: Callable[..., Any]) -> None:
    """A player who decides a second time begins the next round."""
    log = build([by_seat("I contribute 1", "I contribute 2", "I contribute 3")] * 3)
    log["history"] = [
        row
        for row in log["history"]
        if row["agent_name"] != "Moderator" or "Round" not in row["content"]
    ]
    assert places(game_of(log)) == [(n, seat) for n in (1, 2, 3) for seat in (1, 2, 3)]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_history_that_ends_within_a_round(build: Callable[..., Any]) -> None:
    rounds = [
        by_seat("I contribute 1", "I contribute 2", "I contribute 3"),
        {"Player 1": "I contribute 4"},
    ]
    game = game_of(build(rounds, result=None, scores=None))
    assert places(game) == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert not game.is_finished


@pytest.mark.parametrize("build", BUILDERS)
def test_only_what_is_told_to_the_moderator_decides(build: Callable[..., Any]) -> None:
    log = build()
    log["history"][3:3] = [
        say("Player 2", "I cooperate and contribute 99."),
        say("Player 3", "I cooperate and contribute 99.", ["Moderator", "Player 1"]),
        say("Player 3", "I cooperate and contribute 99.", "Player 3"),
    ]
    assert places(game_of(log)) == [(1, 1), (1, 2), (1, 3)]


# Choices

CHOICES = [
    ("Cooperate", C, OK),
    ("cooperate.", C, OK),
    ("COOPERATE!", C, OK),
    ("I'd like to Cooperate (C).", C, OK),
    ("I will cooperate in this round to build trust.", C, OK),
    ("Cooperate.<eos>", C, OK),
    ("Defect", D, OK),
    ("DEFECT!", D, OK),
    ("I choose to defect in this round.", D, OK),
    ("Betray.", D, OK),
    # The game's reading is the fact, however the text was meant.
    ("I will not cooperate. Defect.", C, AMBIGUOUS),
    ("I cannot trust them to cooperate, so I defect.", C, AMBIGUOUS),
    ("Cooperation is the best choice.", D, AMBIGUOUS),
    ("Corporate.", D, UNREADABLE),
    ("C", D, UNREADABLE),
    ("D", D, UNREADABLE),
    ("I choose to stay silent.", D, UNREADABLE),
    ("", D, UNREADABLE),
    (OUTAGE.format("Player 1"), D, OUT),
]


@pytest.mark.parametrize(("text", "choice", "status"), CHOICES)
def test_a_choice_is_the_registered_one(text: str, choice: Choice, status: ParseStatus) -> None:
    game = game_of(prisoners_dilemma([by_seat(text, "Defect", "Defect")]))
    first = game.decisions[0]
    assert (first.choice, first.parse_status, first.text) == (choice, status, text)
    assert first.message_index is not None
    assert game.messages[first.message_index].content == text
    assert game.messages[first.message_index].phase == Phase.DECISION


PAYOFFS = [
    ((C, C, C), (3, 3, 3)),
    ((C, C, D), (0, 0, 5)),
    ((D, C, C), (5, 0, 0)),
    ((C, D, D), (0, 2, 2)),
    ((D, D, C), (2, 2, 0)),
    ((D, D, D), (1, 1, 1)),
]


@pytest.mark.parametrize(("choices", "payoffs"), PAYOFFS)
def test_payoffs(choices: tuple[Choice, ...], payoffs: tuple[int, ...]) -> None:
    """Of 3 for all who cooperate, 1 for all who defect, 5 to one and 2 to two defectors."""
    game = game_of(prisoners_dilemma([by_seat(*choices)]))
    assert tuple(d.choice for d in game.decisions) == choices
    assert tuple(d.payoff for d in game.decisions) == payoffs


def test_an_incomplete_round_pays_nothing_known() -> None:
    full, gap = by_seat("Cooperate", "Defect", "Defect"), {"Player 1": "Cooperate"}
    game = game_of(prisoners_dilemma([full, gap, full]))
    assert [d.payoff for d in game.decisions] == [0, 2, 2, None, 0, 2, 2]


# Contributions

PLAIN = [
    ("I contribute 20.", 20, 20, OK),
    ("I contribute 0 points.", 0, 0, OK),
    ("20", 20, 20, OK),
    ("I contribute $8.", 8, 8, OK),
    ("I contribute **8** points.", 8, 8, OK),
    ("My contribution is 8 points.", 8, 8, OK),
    ("As Player 1, I contribute 20", 1, 20, AMBIGUOUS),
    ("In round 3, I contribute 10 points.", 3, 10, AMBIGUOUS),
    ("I contribute 5.5 points.", 5, 5.5, AMBIGUOUS),
    ("I keep 60 of my 100 points.", 60, None, AMBIGUOUS),
    ("I contribute 9 out of my remaining 40 points.", 9, 9, OK),
    ("I contribute nothing.", None, None, UNREADABLE),
    ("", None, None, UNREADABLE),
    # Its first integer is the first part of an address that is all digits.
    (OUTAGE.format("Player 1"), 0, None, OUT),
]


@pytest.mark.parametrize(("text", "amount", "stated", "status"), PLAIN)
def test_a_plain_games_amount_is_the_first_integer(
    text: str, amount: float | None, stated: float | None, status: ParseStatus
) -> None:
    game = game_of(public_good([by_seat(text, "I contribute 2", "I contribute 3")]))
    first = game.contributions[0]
    assert (first.amount, first.stated_amount, first.parse_status) == (amount, stated, status)
    assert first.text == text
    assert first.message_index is not None
    assert game.messages[first.message_index].content == text
    assert game.messages[first.message_index].phase == Phase.CONTRIBUTION


PGM = [
    ("I contribute 20", 20, 20, OK),
    ("I contribute 20 points.", 20, 20, OK),
    ("As Player 1, I contribute 20", 20, 20, OK),
    ("In round 3, I contribute 10 points.", 10, 10, OK),
    ("I contribute 5.5 points.", 5, 5.5, AMBIGUOUS),
    ("I contribute 9 out of my remaining 40 points.", 9, 9, OK),
    ("20", None, 20, AMBIGUOUS),
    ("Contribute 20.", None, 20, AMBIGUOUS),
    ("", None, None, UNREADABLE),
]


@pytest.mark.parametrize(("text", "amount", "stated", "status"), PGM)
def test_a_pgm_games_amount_is_the_templates_integer(
    text: str, amount: float | None, stated: float | None, status: ParseStatus
) -> None:
    """For all three players, whichever of them is the tested one."""
    game = game_of(public_good([by_seat(text, text, text)], model="m-pgm"))
    found = {(one.amount, one.stated_amount, one.parse_status) for one in game.contributions}
    assert (len(game.contributions), found) == (3, {(amount, stated, status)})


@pytest.mark.parametrize(
    ("amounts", "is_least"),
    [
        ((10, 20, 30), (True, False, False)),
        ((30, 20, 20), (False, True, True)),
        ((5, 5, 5), (True, True, True)),
        ((1, 0, 2), (False, True, False)),
    ],
)
def test_the_least_of_a_round(amounts: tuple[int, ...], is_least: tuple[bool, ...]) -> None:
    game = game_of(public_good([by_seat(*(f"I contribute {n}." for n in amounts))]))
    assert tuple(c.is_least for c in game.contributions) == is_least
    assert {c.round_total for c in game.contributions} == {sum(amounts)}


@pytest.mark.parametrize(
    "gap",
    [
        {"Player 1": "I contribute 1", "Player 3": "I contribute 1"},
        by_seat("I contribute 1", "I contribute nothing.", "I contribute 1"),
    ],
    ids=["not made", "not registered"],
)
def test_a_round_with_a_contribution_missing_has_no_least(gap: dict[str, str]) -> None:
    full = by_seat("I contribute 1", "I contribute 2", "I contribute 3")
    game = game_of(public_good([full, gap, full]))
    for c in game.contributions:
        if c.round == 2:
            assert (c.is_least, c.round_total) == (None, None)
        else:
            assert (c.is_least, c.round_total) == (c.seat == 1, 6)


def test_registered_amounts_decide_who_put_in_least() -> None:
    """Player 1 says 20 and is taken for 1, as the first integer of what it says."""
    texts = by_seat("As Player 1, I contribute 20", "I contribute 5", "I contribute 30")
    game = game_of(public_good([texts]))
    assert [(c.amount, c.is_least) for c in game.contributions] == [
        (1, True),
        (5, False),
        (30, False),
    ]


def test_rounds_of_a_public_good_game_are_fixed_by_its_setting() -> None:
    game = game_of(public_good(game_round=7))
    assert game.n_rounds == 7
    assert {c.round for c in game.contributions} == {1}


def test_a_moderators_word_before_any_decision_ends_no_round() -> None:
    log = prisoners_dilemma()
    log["history"].insert(0, moderate("Welcome."))
    log["history"].insert(3, moderate("We start with Player 1."))
    assert places(game_of(log)) == [(1, 1), (1, 2), (1, 3)]
