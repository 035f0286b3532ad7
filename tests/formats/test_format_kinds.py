"""A game is held to the words of its own kind: contracts allow those of all games."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rawlogs import encode, public_good

import pipeline.formats
from pipeline.events.frames import IdentifiedGame, frames
from pipeline.formats import read
from pipeline.formats.kinds import check_kind
from pipeline.game import BrokenDocument, GameRecord


def with_role(game: GameRecord) -> None:
    game.seats = [replace(game.seats[0], role="werewolf"), *game.seats[1:]]


def with_outcome(game: GameRecord) -> None:
    game.outcome = "werewolves_won"


def with_table(game: GameRecord) -> None:
    game.events = {"team_vote": []}


def with_type(game: GameRecord) -> None:
    game.game_type = "cabal"


@pytest.mark.parametrize(
    ("change", "rule", "value"),
    [
        (with_role, "a role of public_good is one of: player", "'werewolf'"),
        (with_outcome, "an outcome of public_good is one of: completed", "'werewolves_won'"),
        (with_table, "a table of public_good is one of: none", "'team_vote'"),
        (with_type, "the kind of game is known", "'cabal'"),
    ],
)
def test_a_word_of_another_kind_is_refused(
    change: Callable[[GameRecord], None], rule: str, value: str
) -> None:
    game = read(encode(public_good()))
    assert game is not None
    check_kind(game)
    change(game)
    with pytest.raises(BrokenDocument) as caught:
        check_kind(game)
    assert (caught.value.fault.rule, caught.value.fault.message) == (rule, value)


def test_a_seat_of_0_breaks_the_contract_of_its_table() -> None:
    """Formats that count seats from 0 are told so, and no other game's player has the row."""
    game = read(encode(public_good()))
    assert game is not None
    game.contributions[0] = replace(game.contributions[0], seat=0)
    identified = [
        IdentifiedGame(game, digit * 32, None, "a" * 64, "b" * 32, "source", "path")
        for digit in "01"
    ]
    broken = frames(identified).broken
    assert broken.keys() == {"0" * 32, "1" * 32}
    assert all("seat is at least 1" in rules for rules in broken.values())


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        ({"a": None, "b": None}, "this is a bug in magic, please report it"),
        ({"a": None, "b": "other"}, "uninstall one of the packages"),
        ({"a": "one", "b": "other"}, "uninstall one of the packages"),
        ({"a": "one", "b": "one"}, "this is a bug in the package one: report it there"),
    ],
)
def test_whose_bug_two_claims_are(
    monkeypatch: pytest.MonkeyPatch, packages: dict[str, str | None], says: str
) -> None:
    monkeypatch.setattr(pipeline.formats, "package_of", packages.__getitem__)
    assert pipeline.formats._claimed_twice(list(packages)).endswith(f" claim it; {says}")
