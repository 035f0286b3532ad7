"""The top level of a MAgIC log: all games' keys; what is nested is read by its game."""

from collections.abc import Sequence, Set
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pipeline.formats.broken import WELL_FORMED, broken, decode
from pipeline.formats.players import ModelName
from pipeline.formats.rows import History, Int64, Row, history
from pipeline.game import BrokenDocument, Fault
from pipeline.vocabulary import MAGIC

SYSTEM = MAGIC
FORMAT = "magic"
PLAIN, PGM = "plain", "pgm"
PGM_SUFFIX = "-pgm"
FIXED_SUFFIX = "-fix"

Part = Raw | UnsetType
Votes: TypeAlias = dict[str, str | None]
Proposals: TypeAlias = dict[str, dict[str, str | None] | list[None]]
ProposalVotes: TypeAlias = dict[str, str | int]
Identifications: TypeAlias = dict[str, int]
T = TypeVar("T")

_KEYS = msgspec.json.Decoder(dict[str, Raw])


class Log(Struct, gc=False):
    """Every key that any of the games writes; nested parts stay raw until they are asked for."""

    history: list[Row] | UnsetType = UNSET
    chameleon: str | UnsetType = UNSET
    undercover: str | UnsetType = UNSET
    game_setting: Part = UNSET
    player_backends: Part = UNSET
    test_player_name: str | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    nego_turn: Int64 | UnsetType | None = UNSET
    result: str | UnsetType | None = UNSET
    win_flag: Int64 | UnsetType | None = UNSET
    player_votes: Part = UNSET
    player_vote: Part = UNSET
    proposal: Part = UNSET
    vote: Part = UNSET
    scores: list[float] | UnsetType | None = UNSET
    consistency_metric: Part = UNSET
    pgm_metric: Part = UNSET


class Backend(Struct):
    """What plays a player."""

    model: ModelName


class Analyses(Struct, frozen=True, gc=False):
    """One round's analyses that were right, by seat."""

    gold: tuple[int, ...]
    inter: tuple[int, ...]


_Speaker: TypeAlias = Literal["Moderator", "Player 1", "Player 2", "Player 3"]
_Shown: TypeAlias = Literal["all", "Moderator", "Player 1", "Player 2", "Player 3"]
_Kind: TypeAlias = Literal[
    "text", "clue", "accuse", "guess", "pgm", "metric_consistency", "metric_pgm"
]


class _UsualRow(Row, gc=False):
    """A row with the benchmark's own names, which come out as the same objects each time."""

    agent_name: _Speaker
    content: str
    turn: Int64 | None = None
    visible_to: _Shown | tuple[_Shown, ...] = "all"
    msg_type: _Kind | None = None


# A log as the benchmark writes it, as nearly all are: without any other key, and decoded in one
# pass. A part has the type that is asked of it in any other log as well.
UsualLog = msgspec.defstruct(
    "UsualLog",
    [
        ("history", list[_UsualRow] | UnsetType, UNSET),
        ("player_votes", Votes | UnsetType, UNSET),
        ("player_vote", Votes | UnsetType, UNSET),
        ("proposal", Proposals | UnsetType, UNSET),
        ("vote", ProposalVotes | UnsetType, UNSET),
        ("consistency_metric", dict[str, Identifications] | UnsetType, UNSET),
        ("pgm_metric", dict[str, Analyses] | UnsetType, UNSET),
    ],
    bases=(Log,),
    forbid_unknown_fields=True,
    gc=False,
)


def known(value: T | UnsetType) -> T | None:
    """A value that a log may lack, None where it does."""
    return None if isinstance(value, UnsetType) else value


def history_of(log: Log) -> History:
    """The log's message rows, column by column."""
    assert log.history is not UNSET
    return history(log.history)


def setting_keys(log: Log) -> Set[str]:
    """The keys of the game's setting, none where it is missing or no object."""
    if isinstance(log.game_setting, UnsetType):
        return frozenset()
    try:
        return decode(_KEYS, log.game_setting, "$.game_setting").keys()
    except BrokenDocument as error:
        if error.fault.rule == WELL_FORMED:
            raise
        return frozenset()


def required(part: Any, decoder: msgspec.json.Decoder[T], key: str) -> T:
    """A nested part without which there is no game; raises BrokenDocument.

    A usual log has it decoded already.
    """
    if isinstance(part, UnsetType):
        raise broken("$", f"`{key}` is present", "it is missing")
    if isinstance(part, Raw | bytes):
        return decode(decoder, part, f"$.{key}")
    decoded: T = part
    return decoded


def as_bytes(part: Part) -> bytes | UnsetType:
    """A nested part in a form by which equal ones are known."""
    return part if isinstance(part, UnsetType) else bytes(part)


def optional(
    part: Any, decoder: msgspec.json.Decoder[T], key: str, faults: list[Fault]
) -> T | None:
    """A nested part that a game can do without; what is wrong with it is added to the faults."""
    try:
        return required(part, decoder, key)
    except BrokenDocument as error:
        fault = error.fault
        path = f"$.{key}" if fault.json_path == "$" else fault.json_path
        faults.append(Fault(path, fault.rule, fault.message))
        return None


def result(log: Log, allowed: Sequence[str]) -> str | None:
    """The log's result, None where the game was cut off; raises BrokenDocument for another word."""
    word = known(log.result)
    if word is not None and word not in allowed:
        raise broken("$.result", f"a result is one of {', '.join(allowed)}", repr(word))
    return word
