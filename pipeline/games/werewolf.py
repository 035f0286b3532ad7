"""Werewolf: at night the werewolves kill a player, and by day all vote to execute one."""

from pipeline.games.kind import Ending, GameKind, Role
from pipeline.vocabulary import Side

_WOLVES, _VILLAGE = "werewolf_as_werewolf", "werewolf_as_villager"

KIND = GameKind(
    name="werewolf",
    roles=(
        Role("werewolf", Side.HIDDEN, _WOLVES, is_sought=True),
        # A human who wins with the werewolves, and is none.
        Role("possessed", Side.HIDDEN, _WOLVES),
        Role("villager", Side.CIVILIAN, _VILLAGE),
        Role("seer", Side.CIVILIAN, _VILLAGE),
        Role("medium", Side.CIVILIAN, _VILLAGE),
        Role("bodyguard", Side.CIVILIAN, _VILLAGE),
        Role("doctor", Side.CIVILIAN, _VILLAGE),
    ),
    endings=(
        Ending("werewolves_won", hidden=1.0, civilian=0.0),
        Ending("villagers_won", hidden=0.0, civilian=1.0),
        # By a rule of some harnesses: the last day is over, or nobody is left.
        Ending("draw", hidden=0.5, civilian=0.5),
    ),
    phases=("talk", "whisper"),
    # The votes end the day; the werewolves whisper in the night after it.
    order=("talk", "votes", "eliminations.vote", "whisper", "abilities", "eliminations"),
    secret_phases=("whisper",),
)
