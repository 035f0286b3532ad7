"""The words that the event tables use, each written down once.

They are plain strings on disk; the enums exist so that code and contracts name them in one place.
"""

from enum import StrEnum
from typing import Final, Literal, get_args

Edition = Literal["paper", "release", "audited"]
EDITIONS: tuple[Edition, ...] = get_args(Edition)
PAPER: Final = "paper"
RELEASE: Final = "release"
AUDITED: Final = "audited"
DEFAULT_N_GAMES: Final = 21
"""The published script counts games with lower numbers."""
Engine = Literal["polars", "duckdb", "spark"]
ExportKind = Literal["every-eval-ever", "inspect-scout", "battles", "dataset"]
Failures = Literal["exclude", "loss"]
"""What a game is to the side that failed it: left out if it has no result, or a loss."""
EXCLUDE: Final = "exclude"
LOSS: Final = "loss"
MAGIC_SYSTEM = "magic"
"""The system that the benchmark MAgIC runs its games by."""
PLAYER: Final = "player"
"""The role of everybody in a game without roles."""
ALL_GAME_TYPES = "all"
"""What stands for all game types together."""


class GameType(StrEnum):
    """MAgIC's games, in its order. All that there are: `pipeline.games.game_type_names()`."""

    CHAMELEON = "chameleon"
    UNDERCOVER = "undercover"
    COST_SHARING = "cost_sharing"
    PRISONERS_DILEMMA = "prisoners_dilemma"
    PUBLIC_GOOD = "public_good"


class Side(StrEnum):
    """The sides of every game: the hidden one knows who is on it, and `none` is for no sides."""

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
    """What a message is in its game. A game can have phases of its own besides."""

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
    """How games of players end who are on no side. Others: `pipeline.games.outcome_names()`."""

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


HIDDEN_ROLE_GAMES = (GameType.CHAMELEON, GameType.UNDERCOVER)
"""MAgIC's games with hidden roles: those in which it asks players who they and the others are."""
