"""ChatArena transcripts of Chameleon: all that is known is in the rows, but for the model."""

import json

import pytest
from rawlogs import OUTAGE, Game, Row, chatarena, encode, fault_of, game_of, moderate, say

from pipeline.formats import read_game
from pipeline.vocabulary import GameType, ParseStatus, Phase

MODEL = "some model"
OK, AMBIGUOUS = ParseStatus.OK, ParseStatus.AMBIGUOUS
UNREADABLE, OUT = ParseStatus.UNREADABLE, ParseStatus.OUTAGE


def by_role(game: Game) -> dict[str, Row]:
    assert len({r.role for r in game.results}) == len(game.results)
    return {r.role: r for r in game.results}


def test_roles_word_and_topic_are_in_the_moderators_rows() -> None:
    game = game_of(chatarena(), MODEL)
    assert (game.game_type, game.system, game.format) == (
        GameType.CHAMELEON,
        "chatarena",
        "chatarena",
    )
    assert game.setting == {"topic": "Rivers", "code": "Danube", "hidden": "Player 2"}
    assert [(s.player, s.role) for s in game.seats] == [
        ("Player 1", "non_chameleon"),
        ("Player 2", "chameleon"),
        ("Player 3", "non_chameleon"),
    ]


def test_every_seat_is_tested_and_has_the_given_model() -> None:
    game = game_of(chatarena(), MODEL)
    assert {(s.model, s.is_tested) for s in game.seats} == {(MODEL, True)}
    assert game.assigned_model == MODEL
    assert {r.model for r in game.results} == {MODEL}
    assert {r.opponent for r in game.results} == {None}


def test_without_a_model_it_is_refused_with_the_remedy() -> None:
    fault = fault_of(chatarena())
    assert "--model" in fault.message


@pytest.mark.parametrize("words", ["You are not chameleon.", "You are not the chameleon."])
def test_forms_of_the_word_row(words: str) -> None:
    rows = chatarena()
    rows[1]["content"] = f"{words} The word is: Danube"
    assert game_of(rows, MODEL).setting["code"] == "Danube"


def test_ten_players_sit_in_the_order_of_their_numbers() -> None:
    game = game_of(chatarena(["I vote for Player 10."] * 11, "tie", hidden="Player 10"), MODEL)
    assert [s.player for s in game.seats] == [f"Player {n}" for n in range(1, 12)]
    assert {v.target_seat for v in game.votes} == {10}


@pytest.mark.parametrize(
    ("ending", "outcome", "hidden_credit", "civilian_credit", "guess_is_correct"),
    [
        ("wrong", "guessed_wrong", 0.0, 1.0, False),
        ("right", "guessed_right", 0.5, 0.5, True),
        ("another", "voted_wrong", 1.0, 0.0, None),
        ("tie", "tie", 0.5, 0.5, None),
    ],
)
def test_endings(
    ending: str,
    outcome: str,
    hidden_credit: float,
    civilian_credit: float,
    guess_is_correct: bool | None,
) -> None:
    game = game_of(chatarena(ending=ending), MODEL)
    assert (game.is_finished, game.outcome) == (True, outcome)
    rows = by_role(game)
    hidden, civilians = rows["chameleon"], rows["non_chameleon"]
    assert (hidden.win_credit, civilians.win_credit) == (hidden_credit, civilian_credit)
    assert (hidden.is_win, civilians.is_win) == (hidden_credit > 0, civilian_credit == 1)
    assert hidden.guess_is_correct is guess_is_correct
    assert (hidden.seat, civilians.seat) == (2, None)
    assert hidden.message_index == len(game.messages) - 1


def test_a_transcript_that_breaks_off_is_unfinished() -> None:
    game = game_of(chatarena(ending=None), MODEL)
    assert (game.is_finished, game.outcome, game.outcome_code) == (False, None, None)
    assert {(r.is_win, r.win_credit) for r in game.results} == {(None, None)}
    assert len(game.votes) == 3


def test_votes_are_what_the_texts_say() -> None:
    """The game registers none: of one that its text does not decide, nothing is known."""
    texts = [
        "Judging by the clues, I think Player 2 is the chameleon.",
        OUTAGE.format("Player 2"),
        "I vote for Player Three.",
        "Player 1 or Player 2.",
        "I cannot tell.",
        "I vote for nobody.",
    ]
    game = game_of(chatarena(texts), MODEL)
    found = [(v.seat, v.target_seat, v.is_correct, v.is_valid, v.parse_status) for v in game.votes]
    assert found == [
        (1, 2, True, True, OK),
        (2, None, None, None, OUT),
        (3, 3, False, False, OK),
        (4, None, None, None, AMBIGUOUS),
        (5, None, None, None, UNREADABLE),
        (6, None, False, False, OK),
    ]
    assert [v.target for v in game.votes] == [v.stated_target for v in game.votes]
    assert [game.messages[v.message_index or 0].content for v in game.votes] == texts


def test_votes_for_players_of_other_names() -> None:
    texts = ["I vote for Player 2.", "I vote for nobody.", "Player 2 or Player 3."]
    log = json.loads(json.dumps(chatarena(texts)).replace("Player 2", "Zoe"))
    found = {v.player: (v.target, v.is_correct, v.parse_status) for v in game_of(log, MODEL).votes}
    assert found == {
        "Player 1": ("Zoe", True, OK),
        "Zoe": (None, False, OK),
        "Player 3": (None, None, AMBIGUOUS),
    }


def test_the_guess() -> None:
    game = game_of(chatarena(ending="wrong", guess='I guess the secret word is "Rhine".'), MODEL)
    (guess,) = game.guesses
    assert (guess.seat, guess.guess, guess.secret, guess.is_correct) == (
        2,
        "Rhine",
        "Danube",
        False,
    )
    assert game.messages[guess.message_index or 0].phase == Phase.GUESS


def test_phases_follow_the_moderators_prompts() -> None:
    """All of its rows are of the type `text`."""
    game = game_of(chatarena(ending="right"), MODEL)
    assert [m.phase for m in game.messages if m.seat] == [Phase.CLUE] * 3 + [Phase.VOTE] * 3 + [
        Phase.GUESS
    ]
    assert [m.round for m in game.messages if m.phase == Phase.CLUE] == [1, 2, 3]
    assert game.n_rounds == 3


@pytest.mark.parametrize("lost", [1, 2])
def test_without_roles_or_word_it_is_refused(lost: int) -> None:
    rows = chatarena()
    del rows[lost]
    fault = fault_of(rows, MODEL)
    assert (fault.json_path, "moderator" in fault.rule) == ("$", True)


def test_a_list_of_no_message_rows_is_no_log() -> None:
    assert read_game(encode([{"name": "Player 1"}]), MODEL) is None
    assert read_game(b"[]", MODEL) is None


def test_a_list_of_half_a_message_row_is_refused() -> None:
    rows = chatarena()
    del rows[4]["content"]
    assert fault_of(rows, MODEL).json_path == "$[4]"


def test_only_the_moderator_tells_outcomes_and_roles() -> None:
    rows = chatarena(ending="tie")
    rows[4:4] = [
        say("Player 1", "You are the chameleon!", "Player 3"),
        say("Player 1", "You are not chameleon. The word is: Po"),
    ]
    rows.append(say("Player 3", "The accusation is incorrect."))
    game = game_of(rows, MODEL)
    assert game.setting == {"topic": "Rivers", "code": "Danube", "hidden": "Player 2"}
    assert game.outcome == "tie"


def test_the_last_word_of_the_moderator_may_come_before_a_farewell() -> None:
    rows = chatarena(ending="tie")
    rows.append(moderate("Thank you for playing."))
    assert game_of(rows, MODEL).outcome == "tie"
