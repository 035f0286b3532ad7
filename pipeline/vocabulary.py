"""The words that the event tables use, each written down once.

They are plain strings on disk; the enums exist so that code and contracts name them in one place.
"""

from enum import StrEnum
from typing import Literal

Edition = Literal["paper", "release", "audited"]
Engine = Literal["polars", "duckdb", "spark"]


class GameType(StrEnum):
    """Which game was played. Logs of other games are not read."""

    CHAMELEON = "chameleon"
    UNDERCOVER = "undercover"
    COST_SHARING = "cost_sharing"
    PRISONERS_DILEMMA = "prisoners_dilemma"
    PUBLIC_GOOD = "public_good"


class Role(StrEnum):
    CHAMELEON = "chameleon"
    NON_CHAMELEON = "non_chameleon"
    UNDERCOVER = "undercover"
    CIVILIAN = "civilian"
    PLAYER = "player"


class Side(StrEnum):
    HIDDEN = "hidden"
    CIVILIAN = "civilian"
    NONE = "none"


class ParseStatus(StrEnum):
    """How clearly a text says what is counted: what the game registered, or what was read."""

    OK = "ok"  # it says so, and nothing else
    AMBIGUOUS = "ambiguous"  # it says several things, or another than was registered
    UNREADABLE = "unreadable"  # it says none
    OUTAGE = "outage"  # it stands where a player's API failed


class Choice(StrEnum):
    COOPERATE = "cooperate"
    DEFECT = "defect"


class AnalysisKind(StrEnum):
    """What an analysis of roles is compared with: the true roles, or what the others think."""

    GOLD = "gold"
    INTER = "inter"


class Phase(StrEnum):
    """What a message is in its game."""

    MODERATION = "moderation"
    CLUE = "clue"
    IDENTIFICATION = "identification"
    ANALYSIS = "analysis"
    REFLECTION = "reflection"
    VOTE = "vote"
    GUESS = "guess"
    PROPOSAL = "proposal"
    PROPOSAL_VOTE = "proposal_vote"
    DECISION = "decision"
    CONTRIBUTION = "contribution"
    OTHER = "other"


class Outcome(StrEnum):
    """How a game ended, from the game's point of view; null where it did not."""

    GUESSED_WRONG = "guessed_wrong"
    GUESSED_RIGHT = "guessed_right"
    CAUGHT = "caught"
    VOTED_WRONG = "voted_wrong"
    TIE = "tie"
    AGREED = "agreed"
    NOT_AGREED = "not_agreed"
    COMPLETED = "completed"


class DocumentStatus(StrEnum):
    """What became of a document that an ingest saw."""

    INGESTED = "ingested"
    REPLACING = "replacing"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    IGNORED = "ignored"


SIDE_OF_ROLE = {
    Role.CHAMELEON: Side.HIDDEN,
    Role.UNDERCOVER: Side.HIDDEN,
    Role.NON_CHAMELEON: Side.CIVILIAN,
    Role.CIVILIAN: Side.CIVILIAN,
    Role.PLAYER: Side.NONE,
}

HIDDEN_ROLE_GAMES = (GameType.CHAMELEON, GameType.UNDERCOVER)


def competition(game_type: GameType, role: Role) -> str:
    """The unit of Win Rate: the game type, with the tested role where a game has roles."""
    return str(game_type) if role is Role.PLAYER else f"{game_type}_as_{role}"


# The roles of a game whose players differ; in the others each is a player.
ROLES_OF_GAME = {
    GameType.CHAMELEON: (Role.CHAMELEON, Role.NON_CHAMELEON),
    GameType.UNDERCOVER: (Role.UNDERCOVER, Role.CIVILIAN),
}
COMPETITIONS = tuple(
    competition(game_type, role)
    for game_type in GameType
    for role in ROLES_OF_GAME.get(game_type, (Role.PLAYER,))
)
