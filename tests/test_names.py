"""The names of a game's own seats, read from texts: whole, as written, in many scripts."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rawlogs import encode, game_of, games_of

from pipeline.formats import read

NOBODY, SEVERAL = "unreadable", "ambiguous"


def votes(seats: Sequence[str], texts: Sequence[str], **act: object) -> list[str]:
    """Whom each text of the first seat votes for, or its status where it is for nobody."""
    document = {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "undercover",
        "is_finished": True,
        "end": {"outcome": "caught"},
        "seats": [
            {"player": seat, "model": "m", "role": "civilian" if number else "undercover"}
            for number, seat in enumerate(seats)
        ],
        "events": [
            {"actor": seats[0], "round": n, "text": text, "acts": [{"act": "votes", **act}]}
            for n, text in enumerate(texts, start=1)
        ],
    }
    return [
        vote.stated_target or str(vote.parse_status)
        for vote in sorted(game_of(document).votes, key=lambda vote: vote.round)
    ]


# The seats, and by text whom it names.
CASES: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (
        ("Ann", "Bob", "Anna", "Zo\u00eb"),
        {
            "My vote goes to Bob!": "Bob",
            "I vote for Anna.": "Anna",
            "Annabel?": NOBODY,
            "bob": "Bob",
            "It is BOB.": "Bob",
            "As Ann, I vote for Bob": "Bob",
            "I'm Ann and I think that Bob lies": "Bob",
            "I\u2019m Ann. Bob it is": "Bob",
            "Ann's clue was odd": "Ann",
            "_Bob_ and **Bob**": "Bob",
            "Ann or Bob": SEVERAL,
            "I vote for Ann and Bob": SEVERAL,
            "I vote for Bob because Ann's clue was good": "Bob",
            "I vote for bob. Ann agrees": "Bob",
            "Zoe\u0308 it is": "Zo\u00eb",
            "Zo\u00e9 it is": NOBODY,
            "I vote for Player 2": NOBODY,
            "I don't vote for Ann but for Bob": "Bob",
            "I'm not voting for Ann; Bob it is": "Bob",
            "Not Ann. Bob.": "Bob",
            "I will never vote for Ann. My vote goes to Bob": "Bob",
            "Ann said 'I vote for Bob'. I won't vote for Anna": "Bob",
            "Ich stimme nicht f\u00fcr Ann, sondern f\u00fcr Bob": "Bob",
            "No voto por Ann": NOBODY,
            "I vote for nobody; Bob is fine": NOBODY,
            "Bob gets my vote, Ann is fine": "Bob",
            "nobody": NOBODY,
            "": NOBODY,
        },
    ),
    (
        ("Will", "May", "Mark", "Rose"),
        {
            "I will vote for May": "May",
            "I vote for will": "Will",
            "Will lies": "Will",
            "I will abstain": NOBODY,
            "i may abstain": NOBODY,
            "The clue of Mark may fit": "Mark",
            "Rosewood": NOBODY,
        },
    ),
    (
        ("A", "B", "C"),
        {
            "I vote for A.": "A",
            "I vote for B because a clue was odd": "B",
            "I vote for a liar": NOBODY,
            "A is the undercover": "A",
            "A clue was odd": SEVERAL,
            "A clue of B was odd": SEVERAL,
            "**C**": "C",
        },
    ),
    (("O'Brien", "Brien"), {"I vote for O\u2019Brien": "O'Brien", "Brien it is": "Brien"}),
    (("I", "J"), {"I think J lies": "J", "I vote for I": "I", "I'm sure, I abstain": NOBODY}),
    (
        ("Agent-2", "Agent-21", "Agent-1"),
        {
            "I vote for Agent-21": "Agent-21",
            "Agent-2.": "Agent-2",
            "agent 2": "Agent-2",
            "Agent_1": "Agent-1",
            "AGENT TWO": "Agent-2",
            "Agent-211": NOBODY,
        },
    ),
    (
        ("player_1", "Player 12", "Bob"),
        {"Player 1": "player_1", "I vote for Player one": "player_1", "Player_12": "Player 12"},
    ),
    (("3", "13", "4"), {"I vote for 13": "13", "3": "3", "3 or 4": SEVERAL, "31": NOBODY}),
    (("Bob", "bob"), {"Bob": "Bob", "bob": "bob", "BOB": SEVERAL}),
    (
        ("O'Brien", "A.I. (x)", "[Z] $1", "Mary Ann", "Ann", "Mary"),
        {
            "I vote for O\u2019Brien": "O'Brien",
            "A.I. (x)": "A.I. (x)",
            "[Z] $1": "[Z] $1",
            "Mary Ann": "Mary Ann",
            "mary-ann": "Mary Ann",
            "Ann": "Ann",
        },
    ),
    (
        ("李", "王", "13号", "3号", "三号", "Bo"),
        {
            "我投李一票": "李",
            "王说谎，我投票给李": "李",
            "我是李，王说谎": "王",
            "我13号": "13号",
            "我不投王，我投李": "李",
            "我不会投给王": NOBODY,
            "投3号": "3号",
            "十三号": NOBODY,
            "113号": NOBODY,
            "我投Bo一票": "Bo",
        },
    ),
    (
        ("田中", "佐藤"),
        {
            "佐藤は怪しいが田中に投票します": "田中",
            "田中として、佐藤が怪しい": "佐藤",
        },
    ),
    (
        ("민수", "지우"),
        {"민수에게 투표, 지우는 아니다": "민수"},
    ),
    (("Ana", "Luis"), {"Voto por Luis. Ana no": "Luis", "Soy Ana; Luis miente": "Luis"}),
    (("Player 1", "Player 2"), {"I vote for Player 2": "Player 2", "player two": "Player 2"}),
]


@pytest.mark.parametrize(("seats", "named"), CASES, ids=[", ".join(seats) for seats, _ in CASES])
def test_whom_a_text_names(seats: tuple[str, ...], named: dict[str, str]) -> None:
    assert dict(zip(named, votes(seats, list(named)), strict=True)) == named


def test_the_text_is_read_beside_what_was_registered() -> None:
    """The audit compares the two: a vote for Bob whose text says Ann."""
    assert votes(("Eve", "Ann", "Bob"), ["I vote for Ann."], target="Bob") == ["Ann"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(NAMES | st.sampled_from(["A", "a", "\x01", "\x02,1", "Player 1"]), unique=True))
def test_any_names_are_read_or_not_and_break_nothing(seats: list[str]) -> None:
    """As many votes as texts, each for a seat or for nobody."""
    seats = [seat for seat in seats if seat not in ("Moderator", "all")] or ["Ann"]
    texts = [f"I vote for {seat}\x04 {seat}" for seat in seats] + ["", "\x02"]
    named = votes(seats, texts)
    assert len(named) == len(texts)
    assert set(named) <= {*seats, NOBODY, SEVERAL}


def test_texts_and_seats_of_many_games_do_not_mix() -> None:
    """A hundred casts in one batch, each with names that others have for other seats."""
    games = []
    for number in range(100):
        seats = [f"Ann{number}", "Bob", f"Bob{number}"]
        if number % 3 == 0:
            seats = ["Player 1", "Player 2", "Player 3"]
        document = {
            "magic_interchange": 1,
            "system": "lab",
            "game_type": "undercover",
            "is_finished": True,
            "end": {"outcome": "caught"},
            "seats": [
                {"player": seat, "role": "civilian" if place else "undercover"}
                for place, seat in enumerate(seats)
            ],
            "events": [
                {"actor": seat, "round": 1, "text": f"{other}!", "acts": [{"act": "votes"}]}
                for seat, other in zip(seats, reversed(seats), strict=True)
            ],
        }
        game = read(encode(document))
        assert game
        games.append(game)
    for game in games_of(games):
        seats = [seat.player for seat in game.seats]
        assert {vote.player: vote.target for vote in game.votes} == dict(
            zip(seats, reversed(seats), strict=True)
        )
