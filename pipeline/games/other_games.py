"""The definitions of games that other systems play, with the tables that only these games have."""

from pipeline import column
from pipeline.game_record import Event
from pipeline.games import Ending, EventTable, GameDefinition, Role, game_without_roles
from pipeline.vocabulary import Side


class TeamProposal(Event, frozen=True, gc=False):
    """A team that an Avalon leader proposed for a quest."""

    attempt: int
    team: tuple[str, ...]
    is_voted_on: bool
    is_approved: bool | None
    is_quest_failed: bool | None


class TeamVote(Event, frozen=True, gc=False):
    """A player's vote on a proposed team in Avalon."""

    attempt: int
    leader: str | None
    team: tuple[str, ...]
    approves: bool
    is_approved: bool | None


class QuestPlay(Event, frozen=True, gc=False):
    """The card, success or fail, that a team member played on a quest in Avalon."""

    is_fail: bool
    is_quest_failed: bool | None


class Assassination(Event, frozen=True, gc=False):
    """The assassin's guess at the end of Avalon of who Merlin is."""

    target: str | None
    is_correct: bool


_EVIL, _GOOD = "avalon_as_evil", "avalon_as_good"
_ATTEMPT = column.small_integer_column(
    "number of the proposal for the quest, from 1", primary_key=True
)

AVALON = GameDefinition(
    name="avalon",
    roles=(
        Role("assassin", Side.HIDDEN, _EVIL),
        Role("morgana", Side.HIDDEN, _EVIL),
        Role("mordred", Side.HIDDEN, _EVIL),
        Role("oberon", Side.HIDDEN, _EVIL),
        Role("minion", Side.HIDDEN, _EVIL),
        Role("merlin", Side.CIVILIAN, _GOOD),
        Role("percival", Side.CIVILIAN, _GOOD),
        Role("servant", Side.CIVILIAN, _GOOD),
    ),
    endings=(
        Ending("good_won", hidden=0.0, civilian=1.0),
        Ending("quests_failed", hidden=1.0, civilian=0.0),
        Ending("teams_rejected", hidden=1.0, civilian=0.0),
        Ending("merlin_found", hidden=1.0, civilian=0.0),
        # The log says that evil won, and not how.
        Ending("evil_won", hidden=1.0, civilian=0.0),
    ),
    phases=("talk", "team", "team_vote", "assassination"),
    order=("talk", "team", "team_vote", "quest_plays", "assassination"),
    secret_phases=("assassination",),
    tables={
        "team_proposals": EventTable(
            TeamProposal,
            "One team that a leader proposed for a quest.",
            {
                "attempt": _ATTEMPT,
                "team": column.text_list_column("the players of the team"),
                "is_voted_on": column.boolean_column(
                    "whether there was a vote; the last possible team needs none"
                ),
                "is_approved": column.boolean_column(
                    "whether the team went on the quest", nullable=True
                ),
                "is_quest_failed": column.boolean_column(
                    "whether the quest of this team failed, null if it did not go", nullable=True
                ),
            },
        ),
        "team_votes": EventTable(
            TeamVote,
            "One vote for or against the team that a leader proposed for a quest.",
            {
                "attempt": _ATTEMPT,
                "leader": column.text_column("the player who proposed the team", nullable=True),
                "leader_seat": column.small_integer_column("the leader's seat", nullable=True),
                "team": column.text_list_column("the players of the team"),
                "approves": column.boolean_column("whether the vote is for the team"),
                "is_approved": column.boolean_column(
                    "whether the team was approved", nullable=True
                ),
            },
        ),
        "quest_plays": EventTable(
            QuestPlay,
            "One player's choice on a quest, if the log names the players.",
            {
                "is_fail": column.boolean_column("whether the player chose to fail the quest"),
                "is_quest_failed": column.boolean_column("whether the quest failed", nullable=True),
            },
        ),
        "assassinations": EventTable(
            Assassination,
            "The assassin's final choice of a player; evil wins if the player is Merlin.",
            {
                "target": column.text_column("the chosen player, null if unknown", nullable=True),
                "target_seat": column.small_integer_column(
                    "the chosen player's seat", nullable=True
                ),
                "is_correct": column.boolean_column("whether the chosen player is Merlin"),
            },
        ),
    },
)

# Bargaining: two players divide items of secret worth by offers in turn, or get nothing.

BARGAINING = game_without_roles("bargaining", Ending("agreed"), Ending("not_agreed"))

# Coin Game: players collect coins on a board, and each is secretly told which it should want.

COIN_GAME = game_without_roles("coin_game", Ending("completed"))

# Negotiation: two players divide items of secret worth, and signal as they offer.

NEGOTIATION = game_without_roles(
    "negotiation", Ending("agreed"), Ending("not_agreed"), phases=("talk",)
)

# Werewolf: at night the werewolves kill a player, and by day all vote to execute one.

_WOLVES, _VILLAGE = "werewolf_as_werewolf", "werewolf_as_villager"

WEREWOLF = GameDefinition(
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
