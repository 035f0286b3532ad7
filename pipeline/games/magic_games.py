"""The definitions of the five games of MAgIC."""

from pipeline.games import Ending, GameDefinition, Role, game_without_roles
from pipeline.vocabulary import Side

CHAMELEON = GameDefinition(
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

# Cost Sharing: players negotiate who pays how much, and agree or do not.

COST_SHARING = game_without_roles(
    "cost_sharing",
    Ending("agreed"),
    Ending("not_agreed"),
    phases=("talk",),
    order=("talk", "proposal", "proposal_votes", "reflection"),
)

# The Prisoner's Dilemma: in each round, a player cooperates or defects.

PRISONERS_DILEMMA = game_without_roles(
    "prisoners_dilemma", Ending("completed"), most_points_win=True
)

# Public Good: in each round, players put points into a pool that is multiplied and shared.

PUBLIC_GOOD = game_without_roles(
    "public_good", Ending("completed"), phases=("talk",), most_points_win=True
)

# Undercover: some players have another secret word, and the others vote for who they are.

UNDERCOVER = GameDefinition(
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
