"""A game is held to the words of its own kind: contracts allow those of all games."""

import math
from typing import Any

import pytest
from msgspec.structs import replace
from rawlogs import public_good, record_of

import pipeline.formats
from pipeline.events.frames import SEAT_RULE, IdentifiedGame, build_event_frames
from pipeline.formats.sniffer import check_against_game_definition
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError

WHOLE = record_of(public_good())


@pytest.mark.parametrize(
    ("changes", "rule", "value"),
    [
        (
            {"seats": [replace(WHOLE.seats[0], role="werewolf"), *WHOLE.seats[1:]]},
            "a role of public_good is one of: player",
            "'werewolf'",
        ),
        (
            {"outcome": "werewolves_won"},
            "an outcome of public_good is one of: completed",
            "'werewolves_won'",
        ),
        (
            {"events": {"team_vote": []}},
            "a table of public_good is one of: none",
            "'team_vote'",
        ),
        ({"game_type": "cabal"}, "the kind of game is known", "'cabal'"),
        (
            {"outcome": None},
            "an outcome of public_good is one of: completed",
            "there is none, and the game is finished",
        ),
        ({"is_finished": False}, "an unfinished game has no outcome", "'completed'"),
        (
            {"results": [replace(one, is_win=None) for one in WHOLE.results]},
            "a result of a finished game has `is_win` and `win_credit`",
            "is_win None, win_credit 1.0 (player, seat 1)",
        ),
        (
            {"is_finished": False, "outcome": None},
            "a result of an unfinished game has neither `is_win` nor `win_credit`",
            "is_win True, win_credit 1.0 (player, seat 1)",
        ),
    ],
)
def test_what_no_game_of_its_kind_says_is_refused(
    changes: dict[str, Any], rule: str, value: str
) -> None:
    game = record_of(public_good())
    check_against_game_definition(game)
    for name, changed in changes.items():
        setattr(game, name, changed)
    with pytest.raises(InvalidDocumentError) as caught:
        check_against_game_definition(game)
    assert (caught.value.fault.rule, caught.value.fault.message) == (rule, value)


def broken_rows(*games: GameRecord) -> dict[str, RecordError]:
    """The first row of each game that breaks a contract, by the game's place."""
    placed = [
        IdentifiedGame(game, str(place) * 32, None, "a" * 64, "b" * 32, "source", "path")
        for place, game in enumerate(games)
    ]
    return {
        game_id[0]: fault for game_id, fault in build_event_frames(placed).invalid_games.items()
    }


@pytest.mark.parametrize(("seat", "rule"), [(0, "seat is at least 1"), (99, SEAT_RULE)])
def test_a_seat_that_nobody_has_breaks_the_contract_of_its_table(seat: int, rule: str) -> None:
    """Formats that count seats from 0 are told so, and no other game's player has the row."""
    game = record_of(public_good())
    game.contributions[0] = replace(game.contributions[0], seat=seat)
    broken = broken_rows(game, game)
    assert broken.keys() == {"0", "1"}
    assert all(rule in fault.rule for fault in broken.values())


def test_a_fault_says_which_value_and_how_many_rows_of_its_own_game() -> None:
    """A text of the log is written out and cut; what another game of the batch breaks is not."""
    games = [record_of(public_good()) for _ in range(3)]
    first, second, _ = games
    for place in (0, 1):
        first.contributions[place] = replace(first.contributions[place], round=-2 - place)
    second.contributions[0] = replace(second.contributions[0], amount=math.inf)
    found = broken_rows(*games)
    assert {place: (fault.rule, fault.message) for place, fault in found.items()} == {
        "0": (
            "the contract of contributions: round is at least 0",
            "a row breaks the contract of contributions: round is at least 0 (round -2 in 2 rows)",
        ),
        "1": (
            "the contract of contributions: amount is finite",
            "a row breaks the contract of contributions: amount is finite (amount inf in 1 row)",
        ),
    }


def test_a_text_in_a_fault_is_written_out_and_cut() -> None:
    game = record_of(public_good())
    text = "\x1b[2J\n" + "x" * 10_000
    game.seats[0] = replace(game.seats[0], role=text)
    message = broken_rows(game)["0"].message
    assert "role '\\x1b[2J\\nxxx" in message
    assert "x..." in message
    assert message.isprintable()
    assert len(message) < 500


def test_two_formats_that_claim_a_document_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pipeline.formats, "package_of_plugin_format", {"a": None, "b": "other"}.__getitem__
    )
    assert pipeline.formats._claimed_by_several_formats_message(["a", "b"]) == (
        "the formats a and b of the package other claim it: this is a bug, please report it; "
        "without one of their packages the document is read"
    )
