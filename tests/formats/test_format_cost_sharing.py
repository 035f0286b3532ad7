"""Cost Sharing: every round's proposals and votes, shares as written, whose proposal was agreed."""

import json
from typing import Any

import pytest
from rawlogs import (
    DEFENDER,
    EVEN,
    MODEL,
    OUTAGE,
    PLAYERS,
    Game,
    Row,
    cost_sharing,
    encode,
    fault_of,
    game_of,
    moderate,
    proposal_text,
    say,
)

from pipeline.game_record import RecordError
from pipeline.vocabulary import PLAYER, GameType, Outcome, ParseStatus, Phase

OK, AMBIGUOUS = ParseStatus.OK, ParseStatus.AMBIGUOUS
UNREADABLE, OUT = ParseStatus.UNREADABLE, ParseStatus.OUTAGE

ABSENT = object()
FOR_ONE = "I vote for Player 1's proposal."
FOR_TWO = "I vote for Player 2's proposal."
FOR_THREE = "I vote for Player 3's proposal."


def shares_of(game: Game, seat: int, round_: int = 1) -> dict[str, float | None]:
    return {p.party: p.share for p in game.proposals if (p.seat, p.round) == (seat, round_)}


def votes_of(game: Game) -> list[tuple[Any, ...]]:
    return [(v.round, v.seat, v.candidate_seat, v.is_final_round) for v in game.proposal_votes]


def only(results: list[Row]) -> Row:
    (result,) = results
    return result


# Who plays


def test_seats() -> None:
    game = game_of(cost_sharing(tested="Player 2"))
    assert game.game_type == GameType.COST_SHARING
    assert [(s.player, s.model, s.role, s.is_tested) for s in game.seats] == [
        ("Player 1", DEFENDER, PLAYER, False),
        ("Player 2", MODEL, PLAYER, True),
        ("Player 3", DEFENDER, PLAYER, False),
    ]
    assert (only(game.results).seat, only(game.results).opponent) == (2, DEFENDER)


def test_a_tested_gpt_4_is_told_by_its_name_alone() -> None:
    log = cost_sharing(tested="Player 3", model="gpt-4")
    log["player_backends"] = dict.fromkeys(PLAYERS, "gpt-4")
    game = game_of(log)
    assert [s.is_tested for s in game.seats] == [False, False, True]
    assert (only(game.results).model, only(game.results).opponent) == ("gpt-4", "gpt-4")


@pytest.mark.parametrize(
    ("changed", "json_path"),
    [
        *(({"test_player_name": name}, "$.test_player_name") for name in ("Player 4", "", "all")),
        ({"player_backends": None}, "$.player_backends"),
        ({"player_backends": {"Player 1": {"model": "m"}}}, "$.player_backends[...]"),
        ({"player_backends": []}, "$.player_backends"),
    ],
)
def test_the_tested_player_has_a_backend(changed: dict[str, Any], json_path: str) -> None:
    assert fault_of(cost_sharing() | changed).json_path == json_path


def test_who_plays_is_said() -> None:
    log = cost_sharing()
    del log["test_player_name"]
    assert fault_of(log).json_path == "$.test_player_name"
    del log["player_backends"]
    fault = fault_of(log)
    assert (fault.json_path, fault.rule) == ("$", "`player_backends` is present")


# Outcomes


@pytest.mark.parametrize(
    ("result", "outcome", "agreed", "credit"),
    [
        ("agree", Outcome.AGREED, True, 1.0),
        ("fail", Outcome.NOT_AGREED, False, 0.0),
        (None, None, None, None),
    ],
)
def test_what_an_outcome_is_worth(
    result: str | None, outcome: Outcome | None, agreed: bool | None, credit: float | None
) -> None:
    game = game_of(cost_sharing(result=result))
    assert (game.is_finished, game.outcome) == (result is not None, outcome)
    row = only(game.results)
    assert (row.agreed, row.is_win, row.win_credit) == (agreed, agreed, credit)
    assert row.message_index == len(game.messages) - 1
    if not agreed:
        assert row.proposed_agreement is None


@pytest.mark.parametrize("word", ["disagree", "Agree", "", "win"])
def test_an_unknown_result_is_a_fault(word: str) -> None:
    fault = fault_of(cost_sharing(result=word))
    assert (fault.json_path, fault.message) == ("$.result", repr(word))
    assert "agree, fail" in fault.rule


# Shares as written

SHARES = [
    ("40", 0.4, OK),
    ("37,5", 0.375, OK),
    ("45% (previously 40", None, AMBIGUOUS),
    ("400", None, UNREADABLE),
    (None, None, UNREADABLE),
]


@pytest.mark.parametrize(("text", "share", "status"), SHARES)
def test_a_logged_share(text: str | None, share: float | None, status: ParseStatus) -> None:
    shares = {"A": "20", "B": text, "C": "30"}
    log = cost_sharing(proposal=dict.fromkeys(PLAYERS, shares))
    game = game_of(log)
    second = [p for p in game.proposals if p.party == "B"]
    assert len(second) == 3
    for row in second:
        assert row.share == (share if share is None else pytest.approx(share))
        assert (row.share_text, row.parse_status, row.position) == (text, status, 2)
    assert {(p.share, p.parse_status) for p in game.proposals if p.party == "A"} == {(0.2, OK)}
    assert game.faults == []


def test_odd_parties_are_named_without_their_stars() -> None:
    shares = {"A**": "40", "B**": "35", "C**": "25"}
    game = game_of(cost_sharing(proposal=dict.fromkeys(PLAYERS, shares)))
    assert shares_of(game, 1) == {"A": 0.4, "B": 0.35, "C": 0.25}


def test_positions_are_the_orders_of_the_proposals() -> None:
    shares = {"C": "25", "A": "40", "B": "35"}
    game = game_of(cost_sharing(proposal=dict.fromkeys(PLAYERS, shares)))
    assert [(p.party, p.position) for p in game.proposals if p.seat == 2] == [
        ("C", 1),
        ("A", 2),
        ("B", 3),
    ]


def test_the_last_proposal_is_the_logged_one() -> None:
    """Whatever its text says; the game registered the log's."""
    logged = {"Player 1": {"A": "10"}, "Player 2": {"A": "20"}, "Player 3": {"A": "30"}}
    game = game_of(cost_sharing(proposal=logged))
    assert [(p.seat, p.share, p.is_last) for p in game.proposals] == [
        (1, 0.1, True),
        (2, 0.2, True),
        (3, 0.3, True),
    ]
    assert all(game.messages[p.message_index or 0].content == EVEN for p in game.proposals)


# Earlier rounds, from the texts

TEXTS = {
    "plain": "Airline A: 50%\nAirline B: 30%\nAirline C: 20%",
    "indented": "I propose:\n        Airline A: 50%\n        Airline B: 30%\n    Airline C: 20%",
    "bold": "**Airline A**: 50%\n**Airline B**: 30%\n**Airline C**: 20%",
    "bold with the colon": "**Airline A:** 50%\n**Airline B:** 30%\n**Airline C:** 20%",
    "list": "- Airline A: 50%\n- Airline B: 30%\n- Airline C: 20%",
    "one line": "Airline A: 50%, Airline B: 30%, Airline C: 20%",
    "one line of semicolons": "Airline A: 50%; Airline B: 30%; Airline C: 20%",
    "lower case": "airline a: 50%\nairline b: 30%\nairline c: 20%",
    "equals": "Airline A = 50%\nAirline B = 30%\nAirline C = 20%",
    "no percent": "Airline A: 50\nAirline B: 30\nAirline C: 20",
    "said around it": "As Player 1, representing Airline A, I propose the following:\n"
    "Airline A: 50%\nAirline B: 30%\nAirline C: 20%\n\nAirline B flies most.",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_earlier_rounds_proposal_is_read_from_its_text(text: str) -> None:
    none_yet = (FOR_ONE, FOR_TWO, FOR_THREE)
    game = game_of(cost_sharing([((text, EVEN, EVEN), none_yet), ((EVEN,) * 3, (FOR_ONE,) * 3)]))
    assert game.n_rounds == 2
    assert shares_of(game, 1, 1) == {"A": 0.5, "B": 0.3, "C": 0.2}
    first = [p for p in game.proposals if (p.seat, p.round) == (1, 1)]
    assert {(p.is_last, p.parse_status) for p in first} == {(False, OK)}
    assert [game.messages[p.message_index or 0].content for p in first] == [text] * 3
    assert shares_of(game, 1, 2) == {"A": 0.4, "B": 0.35, "C": 0.25}
    assert {p.is_last for p in game.proposals if p.round == 2} == {True}


@pytest.mark.parametrize(
    ("text", "shares", "status"),
    [
        ("I would rather not say.", {"A": None, "B": None, "C": None}, UNREADABLE),
        ("", {"A": None, "B": None, "C": None}, UNREADABLE),
        ("Airline A: 45 or 50%", {"A": None}, AMBIGUOUS),
        ("Airline A: a third", {"A": None}, UNREADABLE),
        (OUTAGE.format("Player 1"), {"A": None, "B": None, "C": None}, OUT),
    ],
)
def test_an_earlier_proposal_that_cannot_be_read(
    text: str, shares: dict[str, float | None], status: ParseStatus
) -> None:
    game = game_of(
        cost_sharing([((text, EVEN, EVEN), (FOR_ONE,) * 3), ((EVEN,) * 3, (FOR_ONE,) * 3)])
    )
    assert shares_of(game, 1, 1) == shares
    statuses = {p.parse_status for p in game.proposals if (p.seat, p.round) == (1, 1)}
    assert statuses == {status}


@pytest.mark.some(2)
@pytest.mark.parametrize("marks", ["* ", "- ", " \x0b", ", ", "a ", "airline "])
def test_no_text_is_slow_to_read(marks: str) -> None:
    """Any of these marks may begin what ends a share; to look on from each would take minutes."""
    text = f"Airline A: x{marks * 20_000}end"
    game = game_of(
        cost_sharing([((text, EVEN, EVEN), (FOR_ONE,) * 3), ((EVEN,) * 3, (FOR_ONE,) * 3)])
    )
    (share,) = [p for p in game.proposals if (p.seat, p.round) == (1, 1)]
    assert share.share_text == f"x{marks * 20_000}end"


def test_a_pgm_players_thoughts_are_no_proposals() -> None:
    """They are told only by being private; this one thinks of 90 percent."""
    rounds = [((EVEN,) * 3, (FOR_ONE, FOR_TWO, FOR_THREE)), ((EVEN,) * 3, (FOR_ONE,) * 3)]
    game = game_of(cost_sharing(rounds, model="m-pgm"))
    assert game.format_version == "pgm"
    assert [(m.phase, m.round) for m in game.messages if "90%" in m.content] == [
        (Phase.REFLECTION, 2)
    ]
    assert len(game.proposals) == 2 * 3 * 3
    assert {p.share for p in game.proposals} == {0.4, 0.35, 0.25}


# Votes


def test_votes_of_the_final_round_are_the_logged_ones() -> None:
    rounds = [
        ((EVEN,) * 3, (FOR_ONE, "As Player 2, I vote for Player_3's proposal.", FOR_TWO)),
        ((EVEN,) * 3, ("I vote for my own proposal.", FOR_THREE, FOR_THREE)),
    ]
    logged = {"Player 1": "Player 2", "Player 2": "Player 4", "Player 3": "Player 2"}
    game = game_of(cost_sharing(rounds, vote=logged))
    assert votes_of(game) == [
        (1, 1, 1, False),
        (1, 2, 3, False),
        (1, 3, 2, False),
        (2, 1, 2, True),
        (2, 2, None, True),
        (2, 3, 2, True),
    ]
    assert [v.candidate for v in game.proposal_votes][3:] == ["Player 2", "Player 4", "Player 2"]
    for v in game.proposal_votes:
        assert v.message_index is not None
        assert game.messages[v.message_index].seat == v.seat
        assert game.messages[v.message_index].phase == Phase.PROPOSAL_VOTE


def test_votes_without_the_key_are_read_from_the_last_rounds_texts() -> None:
    votes = (
        "I vote for my own proposal.",
        "I agree with Player 1's proposal",
        "No proposal suits me.",
    )
    log = cost_sharing([((EVEN,) * 3, votes)])
    del log["vote"]
    game = game_of(log)
    assert game.faults == []
    assert [(v.candidate_seat, v.parse_status) for v in game.proposal_votes] == [
        (1, OK),
        (1, OK),
        (None, UNREADABLE),
    ]
    assert {v.is_final_round for v in game.proposal_votes} == {True}


def test_a_vote_registered_for_nobody_is_unreadable_unless_its_text_names_a_player() -> None:
    votes = ("No proposal suits me.", "I vote for Player One.", "I vote for Player 1.")
    log = cost_sharing(
        [((EVEN,) * 3, votes)], vote={"Player 1": 0, "Player 2": "", "Player 3": "Player 1"}
    )
    game = game_of(log)
    assert [(v.candidate, v.candidate_seat, v.parse_status) for v in game.proposal_votes] == [
        (None, None, UNREADABLE),
        (None, None, AMBIGUOUS),
        ("Player 1", 1, OK),
    ]


def test_an_outage_for_a_vote() -> None:
    """The game stops there; its text names its own speaker, the others have yet to vote."""
    log = cost_sharing(
        [((EVEN,) * 3, (OUTAGE.format("Player 1"),))],
        result=None,
        vote={"Player 1": "Player 1", "Player 2": 0, "Player 3": 0},
    )
    game = game_of(log)
    assert not game.is_finished
    assert [(v.seat, v.candidate, v.parse_status) for v in game.proposal_votes] == [
        (1, "Player 1", OUT)
    ]


def test_an_outage_for_the_first_proposal() -> None:
    """The next player made none: logged as an empty list; nobody voted: logged as 0."""
    log = cost_sharing(
        [((EVEN, OUTAGE.format("Player 2")), ())],
        result=None,
        proposal={
            "Player 1": {"A": "40", "B": "35", "C": "25"},
            "Player 2": {"A": None, "B": None, "C": None},
            "Player 3": [],
        },
        vote=dict.fromkeys(PLAYERS, 0),
    )
    game = game_of(log)
    assert not game.is_finished
    assert [(p.seat, p.share, p.parse_status) for p in game.proposals] == [
        (1, 0.4, OK),
        (1, 0.35, OK),
        (1, 0.25, OK),
        (2, None, OUT),
        (2, None, OUT),
        (2, None, OUT),
    ]
    assert game.proposal_votes == []
    assert game.faults == []


def test_last_proposals_of_different_rounds() -> None:
    """Cut off in the second round: the third player's last proposal is that of the first."""
    first = proposal_text({"A": "10%", "B": "20%", "C": "70%"})
    log = cost_sharing(
        [((first,) * 3, (FOR_ONE, FOR_ONE, FOR_TWO)), ((EVEN, OUTAGE.format("Player 2")), ())],
        result=None,
        proposal={
            "Player 1": {"A": "40", "B": "35", "C": "25"},
            "Player 2": {"A": None, "B": None, "C": None},
            "Player 3": {"A": "10", "B": "20", "C": "70"},
        },
        vote={"Player 1": "Player 1", "Player 2": "Player 1", "Player 3": "Player 2"},
    )
    game = game_of(log)
    last = [(p.seat, p.round, p.share) for p in game.proposals if p.is_last and p.party == "A"]
    assert sorted(last, key=lambda row: row[0]) == [(1, 2, 0.4), (2, 2, None), (3, 1, 0.1)]
    # The votes are of the only round that voted.
    assert votes_of(game) == [(1, 1, 1, True), (1, 2, 1, True), (1, 3, 2, True)]


# Who proposed what was agreed

AUTHORS = [
    (("Player 1", "Player 1", "Player 1"), True),
    (("Player 2", "Player 2", "Player 2"), False),
    (("Player 2", "Player 1", "Player 1"), True),
    (("Player 1", "Player 2", "Player 3"), True),  # a tie goes to the earliest voter's choice
    (("Player 3", "Player 1", "Player 2"), False),
    (("Player 4", "Player 1", "Player 2"), True),  # nobody is Player 4: the tie is of 1 and 2
    ((0, "Player 2", "Player 1"), False),
    (("", "", "Player 1"), True),
    (("", 0, "Player 9"), None),
]


@pytest.mark.parametrize(("votes", "proposed"), AUTHORS)
def test_the_agreed_proposals_author(votes: tuple[object, ...], proposed: bool | None) -> None:
    """The player whom most voters named, votes that name no player left out (metrics.md)."""
    game = game_of(cost_sharing(vote=dict(zip(PLAYERS, votes, strict=True))))
    assert only(game.results).proposed_agreement is proposed


def test_only_final_votes_name_the_author() -> None:
    earlier = ((EVEN,) * 3, (FOR_ONE, FOR_ONE, FOR_ONE))
    rounds = [earlier, earlier, ((EVEN,) * 3, (FOR_TWO, FOR_TWO, FOR_TWO))]
    log = cost_sharing(rounds, vote=dict.fromkeys(PLAYERS, "Player 2"))
    assert only(game_of(log).results).proposed_agreement is False


def test_the_authors_votes_without_the_key() -> None:
    log = cost_sharing([((EVEN,) * 3, ("I agree with Player 2's proposal",) * 2 + ("Me.",))])
    del log["vote"]
    assert only(game_of(log).results).proposed_agreement is False


@pytest.mark.parametrize(
    ("vote", "last_text", "seat"),
    [
        ({"Player 1": "Player 3", "Player 2": "Player 1"}, FOR_ONE, 3),
        ({"Player 2": "Player 1", "Player 1": "Player 3"}, FOR_ONE, 1),
        ({"Player 1": "Player 4"}, FOR_ONE, None),
        ({"Player 1": 0, "Player 2": "Player 1"}, FOR_ONE, None),
        (None, FOR_TWO, 2),
        (None, "As Player 3, I vote for Player 1.", 1),
        (None, "I agree with Player 1", None),
        (None, "i vote for Player 1", None),
    ],
)
def test_first_choice_as_the_published_script_takes_it(
    vote: dict[str, object] | None, last_text: str, seat: int | None
) -> None:
    """The first logged vote's, or what the last message but one says in the template's words."""
    log = cost_sharing([((EVEN,) * 3, (FOR_ONE, FOR_ONE, last_text))], vote=vote)
    if vote is None:
        del log["vote"]
    assert only(game_of(log).results).first_choice_seat == seat


# Damaged logs


@pytest.mark.parametrize(
    ("key", "value", "json_path"),
    [
        ("proposal", ABSENT, "$.proposal"),
        ("proposal", None, "$.proposal"),
        ("proposal", {"Player 1": "all"}, "$.proposal[...]"),
        ("proposal", {"Player 1": {"A": 40}}, "$.proposal[...][...]"),
        ("vote", [], "$.vote"),
        ("vote", {"Player 1": None}, "$.vote[...]"),
    ],
)
def test_a_broken_part_is_a_fault_and_the_game_stays(
    key: str, value: object, json_path: str
) -> None:
    log = cost_sharing() | {key: value}
    game = game_of({key: part for key, part in log.items() if part is not ABSENT})
    (fault,) = game.faults
    assert fault.json_path == json_path
    assert game.is_finished
    # The texts say it as well.
    assert shares_of(game, 2) == {"A": 0.4, "B": 0.35, "C": 0.25}
    assert [v.candidate_seat for v in game.proposal_votes] == [1, 1, 1]


def test_an_empty_history() -> None:
    """Proposals and votes that were logged stay, without a message behind them."""
    game = game_of(cost_sharing() | {"history": []})
    assert (game.n_rounds, game.is_finished) == (0, True)
    assert only(game.results).message_index is None
    assert shares_of(game, 2) == {"A": 0.4, "B": 0.35, "C": 0.25}
    assert {p.message_index for p in game.proposals} == {None}
    assert [(v.candidate_seat, v.message_index) for v in game.proposal_votes] == [(1, None)] * 3
    assert only(game.results).proposed_agreement is True


def test_a_stranger_at_the_table() -> None:
    """Rows by a name that has no backend are messages and nothing more."""
    log = cost_sharing()
    log["history"].insert(3, say("Observer", EVEN))
    log["history"].append(moderate("Thank you."))
    game = game_of(log)
    assert {p.seat for p in game.proposals} == {1, 2, 3}
    assert [m.seat for m in game.messages if m.player == "Observer"] == [None]


def test_a_player_who_speaks_twice() -> None:
    """The fault shows a name that is empty, too."""
    log = cost_sharing()
    log["history"].insert(5, say("Player 3", EVEN))
    renamed = encode(log).replace(b'"Player 3"', b'""')
    (fault,) = game_of(json.loads(renamed)).faults
    assert fault == RecordError("$.history[5]", "a player speaks once when it is asked", "''")
