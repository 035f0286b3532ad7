"""Undercover: some players have another secret word, and the others vote for who they are."""

from pipeline.games.kind import Ending, GameKind, Role
from pipeline.vocabulary import Side

KIND = GameKind(
    name="undercover",
    roles=(
        Role("undercover", Side.HIDDEN, "undercover_as_undercover", is_sought=True),
        Role("civilian", Side.CIVILIAN, "undercover_as_civilian"),
    ),
    endings=(
        Ending("caught", hidden=0.0, civilian=1.0),
        Ending("voted_wrong", hidden=1.0, civilian=0.0),
        Ending("tie", hidden=2 / 3, civilian=1 / 3, hidden_wins=True),
        # With players out round by round: no more civilians are left than undercovers.
        Ending("parity", hidden=1.0, civilian=0.0),
        # An undercover was still in the game after the last round that its rules allow.
        Ending("survived", hidden=1.0, civilian=0.0),
    ),
)
