"""What players do, as a document says it: a row each of the table that `act` names.

A field that is left out is derived from the others, or from the game. One that is there is what
the log states. Tables that only games of one kind have are acts too, made of their events.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Union, cast, get_args, get_origin

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from pipeline.column import Column
from pipeline.game import Event, GameRecord
from pipeline.games import kinds
from pipeline.games.kind import SEATED, EventTable
from pipeline.vocabulary import Choice, ParseStatus

MOST = 2**31 - 1
Round = Annotated[int, Meta(ge=0, le=MOST)]
Number = Annotated[int, Meta(ge=1, le=MOST)]
# What a row has besides its own fields.
OF_EVENT = tuple(field.name for field in fields(Event))
# What the game registered; if it is left out, the text decides.
REGISTERED = {"votes": "target", "proposals": "share", "proposal_votes": "candidate"}
# Fields that name players, one or several, who have seats.
_PLAYERS = (*SEATED, "candidate", "team")
# What tells the acts of a player in a round apart, where there may be several.
_TELLING = {
    "proposals": ("position",),
    "transfers": ("number",),
    "abilities": ("number",),
}
_HIGHEST = {"Int32": MOST, "Int64": 2**63 - 1}


class Act(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="act",
):
    """Base of every act: `player` is the event's actor, `round` the event's, unless stated."""

    player: str | UnsetType = UNSET
    round: Round | UnsetType = UNSET


class Vote(Act, frozen=True, kw_only=True, tag="votes"):
    """A vote for a player, null if it names nobody; left out, the event's text decides."""

    target: str | UnsetType | None = UNSET


class Guess(Act, frozen=True, kw_only=True, tag="guesses"):
    """A guess of the secret word, which is the setting's `code` or `civilian_code`."""

    guess: str | None = None
    is_correct: bool
    secret: str | UnsetType = UNSET
    parse_status: ParseStatus | UnsetType = UNSET


class RoleIdentification(Act, frozen=True, kw_only=True, tag="role_identifications"):
    """An answer to 'who are you and what is your role', and whether the game took it as right."""

    is_correct: bool


class RoleAnalysis(Act, frozen=True, kw_only=True, tag="role_analyses"):
    """An analysis of all roles: right by the true roles, and by what the others think."""

    gold: bool | None = None
    inter: bool | None = None


class Decision(Act, frozen=True, kw_only=True, tag="decisions"):
    """A choice in the Prisoner's Dilemma, and the points that it brought in its round."""

    choice: Choice
    payoff: float | None = None


class Contribution(Act, frozen=True, kw_only=True, tag="contributions"):
    """Points put into the pool, null if they are unknown."""

    amount: Annotated[float, Meta(ge=0)] | None
    is_least: bool | UnsetType | None = UNSET
    round_total: Annotated[float, Meta(ge=0)] | UnsetType | None = UNSET


class Proposal(Act, frozen=True, kw_only=True, tag="proposals"):
    """One party's share of a proposal, which is an act for each party.

    `share` is a fraction of the whole; left out, `share_text` decides, the share as written. The
    party is by default the player of that name.
    """

    party: str
    share: Annotated[float, Meta(ge=0, le=1)] | UnsetType | None = UNSET
    share_text: str | None = None
    party_seat: Number | UnsetType | None = UNSET
    position: Number | UnsetType = UNSET
    is_last: bool | UnsetType = UNSET


class ProposalVote(Act, frozen=True, kw_only=True, tag="proposal_votes"):
    """A vote for a player's proposal, null for none; left out, the event's text decides."""

    candidate: str | UnsetType | None = UNSET
    is_final_round: bool | UnsetType = UNSET


class Transfer(Act, frozen=True, kw_only=True, tag="transfers"):
    """Points given to another player or, if negative, taken; `cost` is the giver's."""

    target: str | None
    kind: str
    amount: float | None = None
    cost: Annotated[float, Meta(ge=0)] | None = None
    number: Number | UnsetType = UNSET


class Ability(Act, frozen=True, kw_only=True, tag="abilities"):
    """A use of what the role can do, on whom, and what the player learnt by it."""

    kind: str
    target: str | None = None
    finding: str | None = None
    number: Number | UnsetType = UNSET


class Elimination(Act, frozen=True, kw_only=True, tag="eliminations"):
    """The player is out of the game from the end of the round, or from before its votes.

    Left out, `is_before_vote` is whether the act stands before all votes of its round.
    """

    cause: str
    is_before_vote: bool | UnsetType = UNSET


def _of_kind(name: str, table: EventTable) -> type[Act]:
    """The act that a row of a kind's own table is: with the fields of its event."""
    own = [field for field in fields(table.event) if field.name not in OF_EVENT]
    declared = [_declared(field, table.columns.get(field.name)) for field in own]
    title = "".join(map(str.capitalize, name.split("_")))
    made = defstruct(title, declared, bases=(Act,), frozen=True, kw_only=True, tag=name)
    made.__doc__ = table.row
    return cast(type[Act], made)


def _declared(field: FieldInfo, column: Column | None) -> tuple[str, Any, Any]:
    is_optional = field.default is not NODEFAULT or type(None) in get_args(field.type)
    default = None if field.default is NODEFAULT else field.default
    bounded = _bounded(field.type, column)
    return (field.name, bounded, default) if is_optional else (field.name, bounded, NODEFAULT)


def _bounded(kind: Any, column: Column | None) -> Any:
    """The type, a whole number within what its column can hold."""
    inner = [one for one in get_args(kind) if one is not type(None)] or [kind]
    highest = _HIGHEST.get(str(column.dtype)) if column else None
    if inner != [int] or highest is None or column is None or get_origin(kind) is Annotated:
        return kind
    low = -highest - 1 if column.min is None else int(column.min)
    number = Annotated[int, Meta(ge=low, le=highest)]
    return number | None if type(None) in get_args(kind) else number


def _events() -> Iterator[tuple[str, type[Event]]]:
    """Each table that acts are rows of, with the event that a row is made of."""
    for act in Act.__subclasses__():
        tag = str(act.__struct_config__.tag)
        if tag in GameRecord.__annotations__:
            yield tag, get_args(GameRecord.__annotations__[tag])[0]
    for kind in kinds().values():
        yield from ((name, table.event) for name, table in kind.tables.items())


EVENTS = dict(_events())
OWN_TABLES = {name: kind.name for kind in kinds().values() for name in kind.tables}
ACTS: dict[str, type[Act]] = {
    str(act.__struct_config__.tag): act for act in Act.__subclasses__()
} | {
    name: _of_kind(name, table) for kind in kinds().values() for name, table in kind.tables.items()
}
TABLE_OF = {act: table for table, act in ACTS.items()}
AnyAct: Any = Union[tuple(ACTS.values())]  # noqa: UP007 - made of what is there
NAMING = {
    table: [name for name in _PLAYERS if name in act.__struct_fields__]
    for table, act in ACTS.items()
}


def _key(table: str) -> tuple[str, ...]:
    """The fields by which no two acts of a table are alike: a player leaves a game once."""
    if table == "eliminations":
        return ("seat",)
    columns = kinds()[OWN_TABLES[table]].tables[table].columns if table in OWN_TABLES else {}
    own = [name for name, column in columns.items() if column.primary_key]
    return ("seat", "round", *_TELLING.get(table, own))


KEYS = {table: _key(table) for table in ACTS}
