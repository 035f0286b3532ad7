"""The classes of an interchange document, which is one game in JSON.

Decoding, encoding, the JSON Schema and the checks of types follow from these classes. A field that
a document omits has the default of its class, or it is derived by `reading`.
"""

from collections.abc import Mapping
from datetime import datetime
from inspect import cleandoc
from types import NoneType
from typing import Annotated, Any, Literal, Union, cast, get_args

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields, replace

from pipeline import game_record
from pipeline.action_tables import ACTION_TABLES, RESULT_COLUMNS
from pipeline.column import Column
from pipeline.formats.record_builder import EVERYONE, Int64, ModelName
from pipeline.formats.sniffer import (
    UNDECODABLE,
    decode,
    invalid_document_error,
    iter_keys_and_leaves_with_path_and_depth,
)
from pipeline.game_record import (
    TYPE_RULE,
    Event as GameEvent,
    InvalidDocumentError,
    RecordError,
    find_type_errors,
)
from pipeline.games import SEAT_COLUMNS, game_definitions

# The actions of players. Each is a row of the table that its key `act` names.
#
# A field that a document has is what the log states. An omitted field is derived from the action's
# other fields or from the game. Types and ranges are those of the table's event and columns.

MAX_INT32 = 2**31 - 1
Round = Annotated[int, Meta(ge=0, le=MAX_INT32)]
# The field for what the game registered; if it is omitted, it is parsed from the event's text.
REGISTERED_FIELD = {"votes": "target", "proposals": "share", "proposal_votes": "candidate"}
# The description of an action and the default of each field, for tables whose `EventTable` does not
# say enough: by default, an action is described by its row, and a field can be omitted if it can be
# null, as can the `number` of an action of its seat and round.
# UNSET means that an omitted field is derived, and NODEFAULT that it cannot be omitted. The second
# and later lines of a description are indented like those of a docstring.
_DESCRIPTION_AND_DEFAULTS: dict[str, tuple[str, dict[str, Any]]] = {
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


def struct_field_definitions(
    event_type: type[Struct],
    columns: Mapping[str, Column],
    default_by_field: Mapping[str, Any],
) -> list[tuple[str, Any, Any]]:
    """Return the name, type and default of each field, as `msgspec.defstruct` takes them.

    Args:
        event_type: The class that defines the types of the fields.
        columns: The columns that limit the range of numbers.
        default_by_field: The fields and their defaults.
    """
    event_fields = {field.name: field for field in fields(event_type)}
    return [
        (
            name,
            _field_type_limited_to_column_range(
                event_fields[name].type, columns.get(name), default
            ),
            default,
        )
        for name, default in default_by_field.items()
    ]


def default_of_omitted_field(field: FieldInfo) -> Any:
    """Return the default of a field; None if it has no default but can be null.

    Args:
        field: The field of an event.
    """
    can_be_null = field.default is NODEFAULT and NoneType in get_args(field.type)
    return None if can_be_null else field.default


def _field_type_limited_to_column_range(
    field_type: Any, column: Column | None, default: Any
) -> Any:
    member_types = [type_ for type_ in get_args(field_type) if type_ is not NoneType] or [
        field_type
    ]
    if column is not None and member_types in ([int], [float]):
        type_max = {"Int32": MAX_INT32, "Int64": 2**63 - 1}.get(str(column.dtype))
        low = column.min if type_max is None or column.min is not None else -type_max - 1
        high = type_max if column.max is None else column.max
        number = Annotated[member_types[0], Meta(ge=low, le=high)]  # type: ignore[valid-type]
        field_type = number | None if NoneType in get_args(field_type) else number
    return field_type | UnsetType if default is UNSET else field_type


def _define_act_class(table: str) -> type[Act]:
    event, columns = TABLES[table].event, TABLES[table].columns
    event_defaults = {
        field.name: default_of_omitted_field(field)
        for field in fields(event)
        if field.name not in FIELDS_OF_ALL_ROWS
    }
    event_defaults |= {"number": UNSET} if table in TABLES_WITH_NUMBER else {}
    is_shared = table in ACTION_TABLES
    description, default_by_field = _DESCRIPTION_AND_DEFAULTS.get(
        table, (TABLES[table].row, event_defaults)
    )
    title = event.__name__ if is_shared else "".join(map(str.capitalize, table.split("_")))
    field_definitions = struct_field_definitions(event, columns, default_by_field)
    act_class = defstruct(
        title, field_definitions, bases=(Act,), frozen=True, kw_only=True, tag=table
    )
    act_class.__doc__ = description
    return cast(type[Act], act_class)


FIELDS_OF_ALL_ROWS = tuple(GameEvent.__struct_fields__)
"""The fields that the rows of all tables have."""
GAME_TYPE_BY_OWN_TABLE = {
    table: definition.name
    for definition in game_definitions().values()
    for table in definition.tables
}
TABLES = {
    **ACTION_TABLES,
    **{
        name: game_definitions()[game_type].tables[name]
        for name, game_type in GAME_TYPE_BY_OWN_TABLE.items()
    },
}
TABLES_WITH_NUMBER = {
    table for table, shared in ACTION_TABLES.items() if "number" in shared.event.__struct_fields__
}
"""The shared tables whose rows are numbered within a seat and round; documents can omit this."""
ACTS = {table: _define_act_class(table) for table in TABLES}
TABLE_BY_ACT_CLASS = {act: table for table, act in ACTS.items()}
AnyAct: Any = Union[tuple(ACTS.values())]  # noqa: UP007 - made of what is there
# The fields that name players, one or several, who have seats.
PLAYER_NAME_FIELDS = {
    table: [name for name in (*SEAT_COLUMNS, "candidate", "team") if name in act.__struct_fields__]
    for table, act in ACTS.items()
}


# The fields that identify an action in its table, such as seat and round.
KEY_FIELDS = {
    name: tuple(
        field
        for field, is_part in {
            **{"seat": True, "round": True},
            **{
                field: column.primary_key
                for field, column in table.columns.items()
                if field in table.event.__struct_fields__
            },
        }.items()
        if is_part
    )
    for name, table in TABLES.items()
}

VERSION: Literal[1] = 1
Name = Annotated[str, Meta(min_length=1)]
# Any value is accepted, because an invalid amount does not reject the game: see `parse_usage`.
Tokens = Annotated[Any, Meta(extra_json_schema={"type": ["integer", "null"], "minimum": 0})]
Amount = Annotated[Any, Meta(extra_json_schema={"type": ["number", "null"], "minimum": 0})]


class _Part(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of every part of a document: an unknown key is an error: it may be misspelt."""


class Seat(_Part, kw_only=True):
    """One player. Its seat is its place in the list, from 1.

    `role` can be left out in a game with one role for all. `is_tested` is whether its model is
    under test: true, unless it is a bot. `is_bot` is null where nobody knows. `score` are the
    points at the end. `is_win` is whether it won, in a game in which each plays for itself; where
    there are sides, the outcome says who won. `failure` is how it failed, in the log's words, so
    that the game ended. What its calls of the model took are tokens, seconds and US dollars.
    """

    player: Name
    model: ModelName | None = None
    role: str | UnsetType = UNSET
    is_tested: bool | UnsetType = UNSET
    is_bot: bool | None = False
    score: float | None = None
    is_win: bool | None = None
    failure: str | None = None
    input_tokens: Tokens = None
    output_tokens: Tokens = None
    seconds: Amount = None
    cost: Amount = None


class End(_Part, kw_only=True):
    """How the game ended: one of the outcomes of its kind, the log's own code of it, and why.

    `ended_by` is why it did not run its course, in the log's words.
    """

    outcome: str | None = None
    outcome_code: Int64 | None = None
    ended_by: str | None = None


class Event(_Part, kw_only=True):
    """What happened: a text that somebody wrote, what was done by it or without words, or both.

    `actor` is the player, null for the moderator. The text was shown to all, or to those named in
    `visible_to`. `phase` is what the text is in the game: by default what its acts are.
    """

    actor: str | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    round: Round | None = None
    phase: str | UnsetType = UNSET
    turn: Int64 | None = None
    msg_type: str | None = None
    text: str | None = None
    acts: list[AnyAct] = []


Result = defstruct(
    "Result",
    struct_field_definitions(
        game_record.Result,
        RESULT_COLUMNS,
        {field.name: default_of_omitted_field(field) for field in fields(game_record.Result)},
    ),
    bases=(_Part,),
    kw_only=True,
)
Result.__doc__ = "A row of `results`, only for what does not follow from outcome, seats and acts."


class Document(_Part, kw_only=True):
    """One game: who played what and how it ended, and what happened, in order.

    `system` is the harness that ran it. `setting` is what was fixed before play, without models;
    `is_repeatable` says that games of equal settings repeat one another. `n_rounds` is by default
    the highest round of any event. `unseated` are names that acts may name although no player has
    them, as in a vote for somebody who is not in the game. `game_index` is the game's number in its
    competition. `format_version` is the variant of the log that the document was made of, and
    `log_sha256` the hash of that log's bytes, by which two writings of one game stay two games.
    """

    magic_interchange: Literal[1]
    system: Name
    game_type: str
    setting: dict[str, Any] = {}
    is_repeatable: bool = False
    is_finished: bool
    end: End | None = None
    started_at: Annotated[datetime, Meta(tz=True)] | None = None
    game_index: Annotated[int, Meta(ge=0, le=10**9 - 1)] | None = None
    format_version: Name = str(VERSION)
    log_sha256: Name | None = None
    n_rounds: Round | UnsetType = UNSET
    seats: Annotated[list[Seat], Meta(min_length=1)]
    unseated: tuple[str, ...] = ()
    events: list[Event] = []
    results: list[Result] | UnsetType = UNSET  # type: ignore[valid-type]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of interchange documents as a dictionary."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    described = msgspec.json.schema(Document)
    for definition in described["$defs"].values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return dialect | described


# The integers that can be encoded as JSON and hashed.
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
# The limit is far above what a setting needs, and far below Python's recursion limit.
_MAX_DEPTH = 100
_PAYOFFS = [keys[1] for keys in game_record.FIXED_SETTING_KEYS.values() if keys[0] == "payoffs"]
# The types of the setting's keys that are columns of `games`, if they are not strings. All of these
# keys are optional, and all other keys can have any value.
_TYPE_BY_SETTING_KEY: dict[str, Any] = {
    "rounds": Round,
    "multiplier": float,
    game_record.VARIANT_KEYS: list[str],
    "payoffs": defstruct("Payoffs", [(name, float | None, None) for name in _PAYOFFS]),
}
_KEYS = (
    "code",
    "civilian_code",
    game_record.VARIANT_KEYS,
    *(keys[0] for keys in game_record.FIXED_SETTING_KEYS.values()),
)
Fixed = defstruct(
    "Fixed",
    [(key, _TYPE_BY_SETTING_KEY.get(key, str) | None, None) for key in dict.fromkeys(_KEYS)],
)
# In a setting with a secret word the topic of the word is a string. Other topics can be any value.
OfWords = defstruct("OfWords", [("topic", str | None, None)], bases=(Fixed,))


def parse_document(data: bytes, json_path: str = "$") -> Document:
    """Parse the JSON text of an interchange document; raise an error that lists all wrong types.

    Args:
        data: The JSON text.
        json_path: The JSON path of the data in its file, for errors.

    Raises:
        InvalidDocumentError: If the text is not JSON, or values have a wrong type.
    """
    try:
        return decode(Document, data, json_path)
    except InvalidDocumentError as error:
        faults = _type_faults_of_document(data, json_path) if error.fault.rule == TYPE_RULE else []
        raise InvalidDocumentError(*(faults or error.faults)) from error


def _type_faults_of_document(data: bytes, json_path: str) -> list[RecordError]:
    try:
        value = msgspec.json.decode(data)
    except UNDECODABLE:  # the decoder of documents stopped before it, at a value of a wrong type
        return []
    faults = find_type_errors(value, Document, json_path)
    setting = value.get("setting") if isinstance(value, dict) else None
    if isinstance(setting, dict):
        faults += _type_faults_of_setting(setting, f"{json_path}.setting")
    return [
        replace(fault, message=f"{fault.message}: choose from {', '.join(ACTS)}")
        if fault.json_path.endswith(".act")
        else fault
        for fault in faults
    ]


def _type_faults_of_setting(setting: Mapping[str, Any], json_path: str) -> list[RecordError]:
    return find_type_errors(setting, OfWords if "code" in setting else Fixed, json_path)


def check_setting_can_be_stored(setting: Mapping[str, Any]) -> None:
    """Check that a setting's known keys have their types and that it can be encoded and hashed.

    Raises InvalidDocumentError for a key of another type, a value nested too deeply, or an integer
    that is too large.
    """
    if faults := _type_faults_of_setting(setting, "$.setting"):
        raise InvalidDocumentError(*faults)
    for path, depth, value in iter_keys_and_leaves_with_path_and_depth(setting):
        if depth > _MAX_DEPTH:
            rule = f"a setting has at most {_MAX_DEPTH} lists or objects inside of one another"
            raise invalid_document_error("$.setting", rule, "there are more")
        if isinstance(value, int) and not _MIN_INTEGER <= value <= _MAX_INTEGER:
            rule = (
                f"a whole number is from {_MIN_INTEGER} to {_MAX_INTEGER}: write another as a text"
            )
            raise invalid_document_error(f"$.setting{path}", rule, str(value)[:60])
