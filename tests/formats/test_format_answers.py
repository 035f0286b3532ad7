"""Texts and what is read in them: forms that models write, and forms that say too much or nothing.

A reading is strict: a text that says two things is `ambiguous`, one that says none `unreadable`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from rawlogs import OUTAGE

from pipeline.events import readings, text_parsing
from pipeline.formats.hidden_roles import parse_guessed_word
from pipeline.formats.record_builder import number_in_player_name
from pipeline.vocabulary import ParseStatus

OK = ParseStatus.OK
AMBIGUOUS = (None, ParseStatus.AMBIGUOUS)
UNREADABLE = (None, ParseStatus.UNREADABLE)

SPEAKER = "Player 3"
TEXT = pl.col("text")
Reading = tuple[Any, str]


def read_in(texts: Sequence[str | None], value: pl.Expr, status: pl.Expr) -> list[Reading]:
    """A value and a status as they are read in each text."""
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return frame.select(value.alias("value"), status.alias("status")).rows()


def stated_players(texts: Sequence[str]) -> list[Reading]:
    answers = pl.DataFrame({"answer": texts, "player": [SPEAKER] * len(texts)})
    found = pl.lit(text_parsing.parse_numbered_players_in_votes(answers))
    return read_in(
        texts,
        text_parsing.only_element_or_null(found),
        text_parsing.outage_else_parse_status(
            TEXT, text_parsing.parse_status_by_value_count(found)
        ),
    )


def shares(texts: Sequence[str | None]) -> list[Reading]:
    numbers = text_parsing.extract_numbers_as_written(TEXT)
    return read_in(
        texts,
        text_parsing.parse_percent_share(numbers),
        text_parsing.share_parse_status(numbers, text_parsing.parse_percent_share(numbers)),
    )


def stated_amounts(texts: Sequence[str], registered: float = 8) -> list[Reading]:
    """The amounts, and how surely each text states what the game registered."""
    written = readings.extract_contributed_number_as_written(TEXT)
    stated = readings.parse_written_number(written)
    own = readings.remove_amounts_not_contributed_by_speaker(pl.Series(texts)).to_list()
    return read_in(
        own, stated, text_parsing.amount_parse_status(pl.lit(registered), written, stated)
    )


def as_read(read: Callable[[list[Any]], list[Reading]], table: list[tuple[Any, Any]]) -> list[Any]:
    """The table with what is read of each text in place of what is to be."""
    texts = [text for text, _ in table]
    return list(zip(texts, read(texts), strict=True))


ONE, TWO = ("Player 1", OK), ("Player 2", OK)
# Without a name the text decides for nobody.
NOBODY = ("", OK)
PLAYERS = [
    ("I agree with Player 2's proposal.", TWO),
    ("I'm not sure, but I vote for Player 2.", TWO),
    ("I vote for Player 2. Player 1's clue was good.", TWO),
    ('Looking at the clues:\n- Player 1: "Mane" - good clue', AMBIGUOUS),
    ("I vote for Player 2.", TWO),
    ("i vote for player 2", TWO),
    ("I vote for PLAYER 2!", TWO),
    ("I vote for player2", TWO),
    ("I vote for Player_2.", TWO),
    ("I vote for Player Two.", TWO),
    ("I vote for player  two", TWO),
    ("I vote for Player 2.<eos>", TWO),
    ("I vote for Player 2 as the chameleon.", TWO),
    ("I vote for Player 2's proposal.", TWO),
    ("I vote for Player 2\u2019s proposal.", TWO),
    ("I vote for Player_2's proposal.", TWO),
    ('"I vote for Player 2\'s proposal".', TWO),
    ("I'd vote for Player 2's proposal.", TWO),
    ("My vote goes to Player 2.", TWO),
    ("My vote: Player 2!", TWO),
    ("I am voting for Player 2.", TWO),
    ("Player 2 is the chameleon.", TWO),
    ("Judging by the clues, I think Player 2 is the chameleon.", TWO),
    ("I agree with Player 2", AMBIGUOUS),
    ("I vote for Player 12.", ("Player 12", OK)),
    ("As Player 3, I vote for Player 1", ONE),
    ("As Player 3, I vote for Player 1's proposal.", ONE),
    ("As Player Player 3, I agree with Player 1.", AMBIGUOUS),
    ("I am Player 3 and I think that Player 1 is the chameleon.", ONE),
    ("I'm player three. Player one it is.", AMBIGUOUS),
    ("I vote for Player 1 because Player 2's clue was more specific than theirs.", ONE),
    ("I vote for Player 1.\nI trust Player 2.", AMBIGUOUS),
    ("I vote for my own proposal.", (SPEAKER, OK)),
    ("I vote for Player 3.", (SPEAKER, OK)),
    ("Player 1 or Player 2, I cannot tell.", AMBIGUOUS),
    ("I do not vote for Player 1, I vote for Player 2.", AMBIGUOUS),
    ("I won\u2019t vote for Player 1, but for Player 2.", AMBIGUOUS),
    ("I vote not for Player 1 but for Player 2", AMBIGUOUS),
    ("I can't help but vote for Player 2", AMBIGUOUS),
    ("I'm not sure. Vote: Player 2", TWO),
    ("Not Player 1. Player 2.", AMBIGUOUS),
    ("I vote for Player 2, not Player 1", AMBIGUOUS),
    ("Not Player 1.", AMBIGUOUS),
    ("Player 2 gets my vote, Player 1 is fine.", AMBIGUOUS),
    ("I will not vote for Player 1 or Player 2.", AMBIGUOUS),
    ("I'm not going to vote for Player 1.", AMBIGUOUS),
    ("I vote for nobody. Player 1 is fine.", AMBIGUOUS),
    ("I abstain: Player 1 seems honest.", AMBIGUOUS),
    ("I vote for Player 1 or Player 2.", AMBIGUOUS),
    ("I vote for Player 1 and Player 2.", AMBIGUOUS),
    ("I switch my vote from Player 1 to Player 2.", AMBIGUOUS),
    ("I changed my vote: Player 1 to Player 2", AMBIGUOUS),
    ("I change my vote to Player 2 from Player 1", AMBIGUOUS),
    ("Vote: Player 1 \u2192 Player 2", AMBIGUOUS),
    ("Vote: Player 1->Player 2", AMBIGUOUS),
    ("I vote with Player 1 for Player 2", AMBIGUOUS),
    ("I vote for Player 1 or for Player 2", AMBIGUOUS),
    ("My vote is for neither Player 1 nor Player 2", AMBIGUOUS),
    ("I vote neither for Player 1 nor for Player 2", AMBIGUOUS),
    ("Everyone but Player 1", AMBIGUOUS),
    ("I vote for Player 2 to save Player 1", AMBIGUOUS),
    ("I vote for Player 2, for Player 1 is fine", AMBIGUOUS),
    ("I vote for Player 2 but Player 1 is odd too", AMBIGUOUS),
    ("I would need more clues before I can vote.", UNREADABLE),
    ("As Player 3, I abstain.", NOBODY),
    ("I vote for nobody.", NOBODY),
    ("I vote for the 2nd player.", UNREADABLE),
    ("", UNREADABLE),
    (OUTAGE.format(SPEAKER), (None, ParseStatus.OUTAGE)),
]


def test_player_that_a_vote_states() -> None:
    assert as_read(stated_players, PLAYERS) == PLAYERS


GUESSES = [
    ('I guess the code is "Tiger".', ("Tiger", OK)),
    ('I guess the code is "tiger"', ("tiger", OK)),
    ("I guess the code is \u201cTiger\u201d.", ("Tiger", OK)),
    ("I guess the code is 'Tiger'.", ("Tiger", OK)),
    ("I guess the code is \u2018Tiger\u2019.", ("Tiger", OK)),
    ("I guess the code is Tiger.", ("Tiger", OK)),
    ("I guess the code is Tiger", ("Tiger", OK)),
    ("I guess the code is Tiger<eos>", ("Tiger", OK)),
    ('I guess the code is "Tiger".<eos>', ("Tiger", OK)),
    ('I guess the secret word is "Tiger".', ("Tiger", OK)),
    ("The word is: Tiger", ("Tiger", OK)),
    ('My guess for the secret code would be "Tiger"!', ("Tiger", OK)),
    ('I guess the code is "Tiger", because it has stripes.', ("Tiger", OK)),
    ("I guess the code is Tiger because it has stripes.", ("Tiger", OK)),
    ('I guess the code is "ice hockey".', ("ice hockey", OK)),
    ("I guess the code is ice hockey.", ("ice hockey", OK)),
    ('I guess the code is "Rubik\'s cube".', ("Rubik's cube", OK)),
    ("I guess the code is 'Rubik's cube'.", ("Rubik's cube", OK)),
    ('"Tiger"', ("Tiger", OK)),
    ('It must be "Tiger".', ("Tiger", OK)),
    ('I guess the code is "Caf\u00e9 au lait".', ("Caf\u00e9 au lait", OK)),
    ('I guess the code is "Tiger". Yes, the code is "Tiger".', ("Tiger", OK)),
    ('Either "Tiger" or "Lion".', AMBIGUOUS),
    ('I guess the code is "Tiger". No, the code is "Lion".', AMBIGUOUS),
    ('I guess the code is "Tiger" or "Lion".', AMBIGUOUS),
    ('I guess the code is "...".', UNREADABLE),
    ('I guess the code is "".', UNREADABLE),
    ("I have no idea.", UNREADABLE),
    ("", UNREADABLE),
    (OUTAGE.format(SPEAKER), (None, ParseStatus.OUTAGE)),
]


def test_word_that_a_guess_states() -> None:
    assert as_read(lambda texts: [*map(parse_guessed_word, texts)], GUESSES) == GUESSES


AMOUNTS = [
    ("I contribute 20.", 20),
    ("As Player 1, I contribute 20", 20),
    ("In round 3, I contribute 10 points.", 10),
    ("I contribute 5.5 points.", 5.5),
    ("I contribute 0", 0),
    ("I contribute $8.", 8),
    ("I contribute **8** points.", 8),
    ("I CONTRIBUTE 8", 8),
    ("I contribute 8.<eos>", 8),
    ("Contribute 8.", 8),
    ("I will contribute 8 points to the communal pool.", 8),
    ("My contribution is 8 points.", 8),
    ("I contribute 9 out of my remaining 40 points.", 9),
    ("I'll put in 8 points and keep the rest.", 8),
    ("8", 8),
    ("I contribute\n8", 8),
    ("I contribute 1,000 points", 1000),
    ("I contribute $1,000.50!", 1000.5),
    ("I contribute 1,234,567", 1234567),
    ("I contribute 1 000 points", 1000),
    ("I contribute 1\u202f000 points", 1000),
    ("I contribute 1'000 points", 1000),
    ("I contribute 1.000,50 points", 1000.5),
    ("I contribute 1.000.000 points", 1000000),
    ("I contribute 20,5 points", 20.5),
    ("I contribute 0.125 points", 0.125),
    ("I contribute 2.5k", 2500),
    ("I contribute 2 thousand points", 2000),
    ("I contribute all 100 points.", 100),
    ("I put in 1,000 points.", 1000),
    ("My contribution in round 3 is 10 points.", 10),
    ("As Player 2, I put in 8 points.", 8),
    ("Agent-2 puts in 8 points.", 8),
    ("I contribute twenty-five points.", 25),
    ("I contribute twenty\u2011five points.", 25),
    ("I give twenty \u2010 five points.", 25),
    ("I contribute Twenty\u2013Five\u00a0points.", 25),
    ("I contribute one\u2011hundred\u2011and\u2011twenty\u2011five points.", 125),
    ("I contribute forty or fifty points.", None),
    ("I contribute 10\u201120 points", None),
    ("As Agent\u20112, I put in 8 points.", 8),
    ("I contribute one hundred coins.", 100),
    ("I contribute a hundred and fifty points.", 150),
    ("I contribute two hundred twenty-five points.", 225),
    ("I contribute one thousand and twenty points.", None),
    ("I contribute .5 points", 0.5),
    ("They contributed 30, so I will contribute 10.", 10),
    ("Contributions were 5 and 6. My contribution is 7.", 7),
    ("I will not contribute 50; I contribute 10.", 10),
    ("The total contribution was 90. I put in 10.", 10),
    ("My total contribution is 10.", 10),
    ("I contribute 10, so that the total contribution is 30.", 10),
    ("I don\u2019t contribute 10 but 20.", 20),
    ("I won't contribute more than 10.", None),
    ("I contribute at least 10 points.", None),
    ("I contribute no more than 10.", None),
    ("I contribute 1e3 points.", None),
    ("I contribute 1.000 points", None),
    ("I contribute 50% of my points", None),
    ("I contribute 1/3 of my points", None),
    ("I contribute 10-20 points", None),
    ("I contribute 10 or 20 points", None),
    ("I contribute 10 + 5", None),
    ("I contribute 2 x 5 points", None),
    ("I contribute 10 plus 5.", None),
    ("I contribute \uff11\uff15", 15),
    ("\uff11\uff15 points", 15),
    ('{"round": 3, "give": 10}', 10),
    ("I contribute -5 points", None),
    ("I contribute as much as the last one.", None),
    ("I keep 60 of my 100 points.", None),
    ("I contribute nothing.", None),
    ("", None),
]


def test_amount_that_a_text_states() -> None:
    read = as_read(stated_amounts, AMOUNTS)
    assert [(text, amount) for text, (amount, _) in read] == AMOUNTS


SHARES = [
    ("40", (0.4, OK)),
    ("33.3", (0.333, OK)),
    ("40 ", (0.4, OK)),
    ("40%", (0.4, OK)),
    ("40 %", (0.4, OK)),
    ("37,5", (0.375, OK)),
    ("37,5%", (0.375, OK)),
    ("5%", (0.05, OK)),
    ("0", (0.0, OK)),
    ("100", (1.0, OK)),
    ("30.0%", (0.3, OK)),
    ("33.333", (0.33333, OK)),
    ("45 or 50", AMBIGUOUS),
    ("45% (previously 40", AMBIGUOUS),
    ("40%, Airline B: 30%, Airline C: 30", AMBIGUOUS),
    ("1/3", AMBIGUOUS),
    ("1,000", AMBIGUOUS),
    ("12.5.3", AMBIGUOUS),
    ("100.5", UNREADABLE),
    ("400", UNREADABLE),
    ("a third", UNREADABLE),
    ("", UNREADABLE),
    (None, UNREADABLE),
]


def test_share_of_the_whole() -> None:
    read = as_read(shares, SHARES)
    assert [
        (text, (found and pytest.approx(found, rel=1e-12), status))
        for text, (found, status) in read
    ] == SHARES


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Player 1", 1),
        ("Player 12", 12),
        ("player 1", None),
        ("Player 1 ", None),
        ("Player One", None),
        ("Moderator", None),
        ("", None),
    ],
)
def test_number_of_a_player(name: str, number: int | None) -> None:
    assert number_in_player_name(name) == number


def test_an_outage_is_told_by_how_it_begins() -> None:
    texts = [OUTAGE.format("Player 1"), "I saw <<<<<<END_OF_CONVERSATION>>>>>> yesterday.", ""]
    frame = pl.DataFrame({"text": texts})
    assert frame.select(text_parsing.is_outage_message(TEXT)).to_series().to_list() == [
        True,
        False,
        False,
    ]


# Texts of the very words that the readings look for, so that many come near to one.
WORDS = st.lists(
    st.sampled_from(
        [
            *("vote", "voting", "for", "Player", "player_", "1", "2", "Two", "my", "own"),
            *("proposal", "As", "the", "code", "word", "is", '"Tiger"', "'", "\u201c", "\u2019"),
            *("contribute", "10", "5.5", "1,000", "%", ",", ".", "\n", "because", "<eos>"),
            *("40", "or", "45", "\u0663", "99999999999"),
        ]
    )
).map(" ".join)


@given(st.text() | WORDS)
def test_any_text_is_read_strictly(text: str) -> None:
    """What is read is given a value, what is not is given none, and shares are shares."""
    (share,) = shares([text])
    for value, status in (*stated_players([text]), parse_guessed_word(text), share):
        assert (value is not None) == (status == OK)
    assert share[0] is None or 0 <= share[0] <= 1
    ((amount, status),) = stated_amounts([text])
    assert amount is None or amount >= 0
    # Digits of other scripts may be unreadable; no amount was plainly stated then.
    assert (amount == 8) == (status == OK)
