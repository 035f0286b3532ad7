"""Chameleon: one player does not know the secret word, and the others vote for who that is."""

from pipeline.games.kind import Ending, GameKind, Role
from pipeline.vocabulary import Side

KIND = GameKind(
    name="chameleon",
    roles=(
        Role("chameleon", Side.HIDDEN, "chameleon_as_chameleon", is_sought=True),
        Role("non_chameleon", Side.CIVILIAN, "chameleon_as_non_chameleon"),
    ),
    endings=(
        Ending("guessed_wrong", hidden=0.0, civilian=1.0),
        Ending("guessed_right", hidden=0.5, civilian=0.5, hidden_wins=True),
        Ending("voted_wrong", hidden=1.0, civilian=0.0),
        Ending("tie", hidden=0.5, civilian=0.5, hidden_wins=True),
    ),
    # Only the chameleon is asked for the word.
    secret_phases=("guess",),
)
