"""What players do, as a document says it: a row each of the table that `act` names.

A field that is left out is derived from the others, or from the game. One that is there is what
the log states. What it can be follows from the event and the columns of the act's table.
"""

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, Union, cast, get_args

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from pipeline.acts import ACTS as SHARED
from pipeline.column import Column
from pipeline.game import Event
from pipeline.games import kinds
from pipeline.games.kind import SEATED

MOST = 2**31 - 1
Round = Annotated[int, Meta(ge=0, le=MOST)]
# What the game registered; if it is left out, the text decides.
REGISTERED = {"votes": "target", "proposals": "share", "proposal_votes": "candidate"}
# Fields that name players, one or several, who have seats.
_PLAYERS = (*SEATED, "candidate", "team")
_MOST = {"Int32": MOST, "Int64": 2**63 - 1}
# What a document says of an act that games share, its fields in order, each with what it is if it
# is left out: UNSET is derived, and NODEFAULT cannot be. Later lines begin as those of a docstring.
_SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "votes": (
        "A vote for a player, null if it names nobody; left out, the event's text decides.",
        {"target": UNSET},
    ),
    "guesses": (
        "A guess of the secret word, which is the setting's `code` or `civilian_code`.",
        {"guess": None, "is_correct": NODEFAULT, "secret": UNSET, "parse_status": UNSET},
    ),
    "role_identifications": (
        "An answer to 'who are you and what is your role', and whether the game took it as right.",
        {"is_correct": NODEFAULT},
    ),
    "role_analyses": (
        "An analysis of all roles: right by the true roles, and by what the others think.",
        {"gold": None, "inter": None},
    ),
    "decisions": (
        "A choice in the Prisoner's Dilemma, and the points that it brought in its round.",
        {"choice": NODEFAULT, "payoff": None},
    ),
    "contributions": (
        "Points put into the pool, null if they are unknown.",
        {"amount": NODEFAULT, "is_least": UNSET, "round_total": UNSET},
    ),
    "proposals": (
        "One party's share of a proposal, which is an act for each party.\n\n"
        "    `share` is a fraction of the whole; left out, `share_text` decides, the share as "
        "written. The\n    party is by default the player of that name.",
        {
            "party": NODEFAULT,
            "share": UNSET,
            "share_text": None,
            "party_seat": UNSET,
            "position": UNSET,
            "is_last": UNSET,
        },
    ),
    "proposal_votes": (
        "A vote for a player's proposal, null for none; left out, the event's text decides.",
        {"candidate": UNSET, "is_final_round": UNSET},
    ),
    "transfers": (
        "Points given to another player or, if negative, taken; `cost` is the giver's.",
        {"target": NODEFAULT, "kind": NODEFAULT, "amount": None, "cost": None, "number": UNSET},
    ),
    "abilities": (
        "A use of what the role can do, on whom, and what the player learnt by it.",
        {"kind": NODEFAULT, "target": None, "finding": None, "number": UNSET},
    ),
    "eliminations": (
        "The player is out of the game from the end of the round, or from before its votes.\n\n"
        "    Left out, `is_before_vote` is whether the act stands before all votes of its round.",
        {"cause": NODEFAULT, "is_before_vote": UNSET},
    ),
}


class Act(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="act",
):
    """Base of every act: `player` is the event's actor, `round` the event's, unless stated.

    `outage` says that the player's API failed, so that nobody did what the game registered.
    """

    player: str | UnsetType = UNSET
    round: Round | UnsetType = UNSET
    outage: bool = False


def declared(
    event: type[Struct], columns: Mapping[str, Column], left_out: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """The fields of an event for a struct of a document: what they hold, and are if left out."""
    of_event = {field.name: field for field in fields(event)}
    return [
        (name, _bounded(of_event[name].type, columns.get(name), default), default)
        for name, default in left_out.items()
    ]


def default_of(field: FieldInfo) -> Any:
    """What a field of an event is if it is left out: its default, or null where it can be."""
    can_be_null = field.default is NODEFAULT and NoneType in get_args(field.type)
    return None if can_be_null else field.default


def _bounded(kind: Any, column: Column | None, default: Any) -> Any:
    """The type, a number within what its column can hold."""
    held = [one for one in get_args(kind) if one is not NoneType] or [kind]
    if column is not None and held in ([int], [float]):
        most = _MOST.get(str(column.dtype))
        low = column.min if most is None or column.min is not None else -most - 1
        high = most if column.max is None else column.max
        number = Annotated[held[0], Meta(ge=low, le=high)]  # type: ignore[valid-type]
        kind = number | None if NoneType in get_args(kind) else number
    return kind | UnsetType if default is UNSET else kind


def _act(table: str) -> type[Act]:
    event, columns = TABLES[table].event, TABLES[table].columns
    own = {field.name: default_of(field) for field in fields(event) if field.name not in OF_EVENT}
    meaning, left_out = _SAID.get(table, (TABLES[table].row, own))
    title = event.__name__ if table in _SAID else "".join(map(str.capitalize, table.split("_")))
    members = declared(event, columns, left_out)
    made = defstruct(title, members, bases=(Act,), frozen=True, kw_only=True, tag=table)
    made.__doc__ = meaning
    return cast(type[Act], made)


OF_EVENT = tuple(Event.__struct_fields__)
"""What a row has besides its own fields."""
OWN_TABLES = {name: kind.name for kind in kinds().values() for name in kind.tables}
TABLES = {**SHARED, **{name: kinds()[of].tables[name] for name, of in OWN_TABLES.items()}}
ACTS = {table: _act(table) for table in TABLES}
TABLE_OF = {act: table for table, act in ACTS.items()}
AnyAct: Any = Union[tuple(ACTS.values())]  # noqa: UP007 - made of what is there
NAMING = {
    table: [name for name in _PLAYERS if name in act.__struct_fields__]
    for table, act in ACTS.items()
}


def _key(table: str) -> tuple[str, ...]:
    """The fields by which no two acts of a table are alike: a player leaves a game once."""
    of_event = TABLES[table].event.__struct_fields__
    columns = TABLES[table].columns
    is_key = {"seat": True, "round": True} | {
        name: column.primary_key for name, column in columns.items() if name in of_event
    }
    return tuple(name for name, is_part in is_key.items() if is_part)


KEYS = {table: _key(table) for table in ACTS}
