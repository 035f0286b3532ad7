"""A game is held to the words of its own kind: contracts allow those of all games."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rawlogs import encode, public_good

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
