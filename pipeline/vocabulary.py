"""The categories that columns of the event tables can contain, each defined once.

They are stored as strings. Code and table definitions refer to them by these enums and constants.
"""

from enum import StrEnum
from typing import Final, Literal, get_args

Edition = Literal["paper", "release", "audited"]
EDITIONS: tuple[Edition, ...] = get_args(Edition)
PAPER: Final = "paper"
RELEASE: Final = "release"
AUDITED: Final = "audited"
DEFAULT_N_GAMES: Final = 21
"""The published script counts only games with a lower number."""
Engine = Literal["polars", "duckdb", "spark"]
ExportKind = Literal["every-eval-ever", "inspect-scout", "battles", "dataset"]
Failures = Literal["exclude", "loss"]
"""How a game counts for the side that failed it: excluded if it has no result, or as a loss."""
EXCLUDE: Final = "exclude"
LOSS: Final = "loss"
MAGIC_SYSTEM = "magic"
"""The name of the system that runs the games of the benchmark MAgIC."""
PLAYER: Final = "player"
"""The role of all players in a game without roles."""
ALL_GAME_TYPES = "all"
"""The game type of rows that cover all game types together."""


class GameType(StrEnum):
    """The game types of MAgIC, in its order; see `pipeline.games.game_type_names` for all."""

    CHAMELEON = "chameleon"
    UNDERCOVER = "undercover"
    COST_SHARING = "cost_sharing"
    PRISONERS_DILEMMA = "prisoners_dilemma"
    PUBLIC_GOOD = "public_good"


class Side(StrEnum):
    """The sides of a game: the members of the hidden side know each other; or no side."""

    HIDDEN = "hidden"
    CIVILIAN = "civilian"
    NONE = "none"


class ParseStatus(StrEnum):
    """How clearly a message states the action that is counted."""

    OK = "ok"  # the message states exactly one action
    AMBIGUOUS = "ambiguous"  # several actions, or another one than the game registered
    UNREADABLE = "unreadable"  # no action
    OUTAGE = "outage"  # the message replaces an answer, because the player's API failed


class Choice(StrEnum):
    """A choice in the Prisoner's Dilemma."""

    COOPERATE = "cooperate"
    DEFECT = "defect"


class AnalysisKind(StrEnum):
    """The reference of an analysis of roles: the true roles, or the analyses of other players."""

    GOLD = "gold"
    INTER = "inter"


class Phase(StrEnum):
    """The phase of a game that a message belongs to; a game type can define further phases."""

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
    """Outcomes of games without sides; see `pipeline.games.outcome_names` for all."""

    AGREED = "agreed"
    NOT_AGREED = "not_agreed"
    COMPLETED = "completed"


class DocumentStatus(StrEnum):
    """The result of an ingest for one document."""

    INGESTED = "ingested"
    REPLACING = "replacing"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    IGNORED = "ignored"


HIDDEN_ROLE_GAMES = (GameType.CHAMELEON, GameType.UNDERCOVER)
"""The game types of MAgIC with hidden roles, in which it asks players about all roles."""
