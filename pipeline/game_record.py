"""One game, typed: what every log format is decoded into, and what the tables are made of.

The fields of an event are columns of its table by the same name (`pipeline.events.contracts`).
What all events of a game share (ids, models, roles) is in `GameRecord` and `Seat` and joined on
later, and so is what is read from prose.
Seats and rounds count from 1, message indices from 0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import FieldInfo, fields

from pipeline.vocabulary import Choice, ParseStatus

# How a message's content begins where a player's API failed to answer.
OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"
# How the type of an answer to the benchmark's own questions begins. No player is shown it, though
# its row says "all".
QUESTION_MARK = "metric_"

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"

# Columns of `games` that a setting fixes, and the keys that lead to each.
FIXED_SETTING_KEYS: dict[str, tuple[str, ...]] = {
    "other_word": ("undercover_code",),
    "hidden_player": ("hidden",),
    "tested_player": ("tested",),
    "n_rounds_fixed": ("rounds",),
    "multiplier": ("multiplier",),
    "payoff_cooperate": ("payoffs", "cooperate"),
    "payoff_defect": ("payoffs", "defect"),
    "payoff_one_defect": ("payoffs", "one_defect"),
    "payoff_two_defect": ("payoffs", "two_defect"),
}
VARIANT_KEYS = "variant_keys"
"""The key of a setting that lists those keys in which settings of one task differ."""


class RecordError(Struct, frozen=True, gc=False):
    """A document, or a part of one, that cannot be used, and the rule that it breaks."""

    json_path: str
    rule: str
    message: str


class InvalidDocumentError(Exception):
    """Raised by a format for a document that is one of its games and breaks a rule.

    `fault` is the first of its `faults`: of values that have another type than their fields, all
    are known at once.
    """

    def __init__(self, fault: RecordError, *others: RecordError) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.faults = (fault, *others)


# Values that have another type than their fields, told in words that need no knowledge of types.

_AT = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
_FIELD = re.compile(r"Object (?P<how>missing|contains).* field `(?P<name>.*)`", re.DOTALL)
_WANTED = re.compile(r"Expected `(?P<types>[^`]*)`(?P<limit>[^,]*)(?:, got `(?P<has>[^`]*)`)?")
_NOT_POSSIBLE = re.compile(r"Invalid (?:enum )?value ")
_IN_WORDS = {
    "str": "a text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "list": "a list",
    "object": "an object",
    "dict": "an object",
    "datetime": "a time such as 2024-05-01T12:00:00Z",
}
_LONGEST_NAME = 100
TYPE_RULE = "every field has its type"
MOST_MISTYPED = 20


def find_type_errors(value: Any, kind: Any, at: str = "$") -> list[RecordError]:
    """Return the faults of all values in one at `at` that have another type than their fields.

    They are in the order of the document; of an object, the fields that are missing come last. Of
    very many the list has the first `MOST_MISTYPED`, and says so. It is empty for a value that is
    of the kind: a type that msgspec can convert to.
    """
    faults = list(islice(_each_mistyped(value, kind, at), MOST_MISTYPED + 1))
    if len(faults) > MOST_MISTYPED:
        faults[-1] = RecordError(at, TYPE_RULE, f"there are more faults than these {MOST_MISTYPED}")
    return faults


def _each_mistyped(value: Any, kind: Any, at: str) -> Iterator[RecordError]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # What is wrong with the value itself is told only if all that is in it is right.
        inner = _mistyped_within(value, kind, at)
        yield next(inner, type_error(error, at))
        yield from inner


def _mistyped_within(value: Any, kind: Any, at: str) -> Iterator[RecordError]:
    kinds = _alternatives(kind)
    if isinstance(value, list):
        for of_list in (one for one in kinds if get_origin(one) in (list, tuple)):
            for number, entry in enumerate(value):
                yield from _each_mistyped(entry, get_args(of_list)[0], f"{at}[{number}]")
    if isinstance(value, dict) and (struct := _struct_of(value, kinds)) is not None:
        config = struct.__struct_config__
        known = _fields_of(struct)
        for name, inner in value.items():
            if name in known:
                yield from _each_mistyped(inner, known[name].type, f"{at}.{name}")
            elif config.forbid_unknown_fields and name != config.tag_field:
                yield _unknown(name, at)
        yield from (
            _missing(name, at) for name, one in known.items() if one.required and name not in value
        )


@cache
def _fields_of(struct: type[Struct]) -> dict[str, FieldInfo]:
    return {field.encode_name: field for field in fields(struct)}


@cache
def _alternatives(kind: Any) -> list[Any]:
    """The types of which a value can have one, without the limits of their values."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _alternatives(part)]
    return [kind]


def _struct_of(value: Mapping[str, Any], kinds: Iterable[Any]) -> type[Struct] | None:
    """The struct that an object is meant to be; of several, that of its tag. None for no struct."""
    structs = [one for one in kinds if isinstance(one, type) and issubclass(one, Struct)]
    for struct in structs:
        config = struct.__struct_config__
        if config.tag_field is None or config.tag == value.get(config.tag_field):
            return struct
    return None


def type_error(error: msgspec.ValidationError, at: str = "$") -> RecordError:
    """The fault that a value at `at`, or one in it, has another type than its field, and which."""
    found = _AT.match(str(error))
    message, path = (found["message"], at + found["path"][1:]) if found else (str(error), at)
    if field := _FIELD.fullmatch(message):
        is_missing = field["how"] == "missing"
        return (_missing if is_missing else _unknown)(field["name"], path)
    name = path.removesuffix("[...]").rpartition(".")[2]
    return RecordError(path, TYPE_RULE, f"`{name}` {_in_words(message)}")


def _in_words(message: str) -> str:
    """What a decoder says of a value, in words that need no knowledge of its types."""
    if message.endswith("out of range"):
        return "is beyond what a number can be, about 1.8e308"
    if message.endswith("encoded datetime"):
        return f"is not {_IN_WORDS['datetime']}"
    if (found := _WANTED.fullmatch(message)) is None:
        return _NOT_POSSIBLE.sub("cannot be ", message)
    words = [_IN_WORDS.get(one, one) for one in found["types"].split(" | ")]
    has = found["has"] and f", not {_IN_WORDS.get(found['has'], found['has'])}"
    return f"is {' or '.join(words)}{found['limit']}{has or ''}"


def _missing(name: str, at: str) -> RecordError:
    return RecordError(at, TYPE_RULE, f"`{name[:_LONGEST_NAME]}` is missing")


def _unknown(name: str, at: str) -> RecordError:
    name = name[:_LONGEST_NAME]
    return RecordError(f"{at}.{name}", TYPE_RULE, f"`{name}` is no field here: it may be misspelt")


class Seat(Struct, frozen=True, array_like=True, gc=False):
    """One player; its seat is its place in `GameRecord.seats`, counted from 1.

    A bot follows rules and is no language model; null where the log does not say.
    """

    player: str
    model: str | None
    role: str
    is_tested: bool
    final_score: float | None = None
    is_bot: bool | None = False


class Usage(Struct, frozen=True, array_like=True, gc=False):
    """What a player's calls of its model took in a game; null where the log does not say.

    `cost` is in US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None


class MessageColumns(Struct, frozen=True, eq=False, gc=False):
    """What a game's messages are, apart from their texts, column by column.

    A message's place is its index. Seat is null for the moderator, round outside of rounds; what is
    visible to one name alone may have that instead of a tuple. Games go the same few ways, so that
    one course is that of many, and equal to no other object.
    """

    player: tuple[str, ...]
    seat: tuple[int | None, ...]
    round: tuple[int | None, ...]
    phase: tuple[str, ...]
    turn: tuple[int | None, ...]
    visible_to: tuple[str | tuple[str, ...], ...]
    msg_type: tuple[str | None, ...]
    # The indices of what seats said, by phase; and of what each player did, by name.
    spoken: Mapping[str, Sequence[int]]
    answers: Mapping[str, Mapping[str, Sequence[int]]]

    def said(self, phase: str) -> Sequence[int]:
        """The indices of the messages that a seat said in a phase, in order."""
        return self.spoken.get(phase, ())

    def answered(self, phase: str) -> Mapping[str, Sequence[int]]:
        """The indices of each player's messages in a phase, in order, seated or not."""
        return self.answers.get(phase, {})

    def last_round(self, phase: str) -> int:
        """The highest round of what seats said in a phase, 0 where they said nothing."""
        return max((self.round[index] or 0 for index in self.said(phase)), default=0)


class Messages(Struct, frozen=True, gc=False):
    """A game's messages, by far the most of a log: what they are, and their texts."""

    course: MessageColumns
    content: Sequence[str]

    def __len__(self) -> int:
        return len(self.content)


class Event(Struct, frozen=True, array_like=True, gc=False):
    """What every event has: who, when, and the message that it was read from.

    An act without words, as by a button, has no message. What a text says is not in here: it is
    read for all games at once (`pipeline.events.text_parsing`).
    """

    seat: int
    round: int
    message_index: int | None


class Result(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """What the game came to for one tested side; `seat` is null where it stands for several."""

    model: str | None
    role: str
    seat: int | None
    message_index: int | None = None
    opponent: str | None = None
    is_win: bool | None = None
    win_credit: float | None = None
    guess_is_correct: bool | None = None
    agreed: bool | None = None
    first_choice_seat: int | None = None
    outcome_code: int | None = None


class Vote(Event, frozen=True, gc=False):
    """`target` is what the game registered; where the log does not say, the text decides."""

    target: str | None
    is_logged: bool = True


class Guess(Event, frozen=True, gc=False):
    secret: str
    is_correct: bool
    guess: str | None
    parse_status: ParseStatus


class RoleIdentification(Event, frozen=True, gc=False):
    is_correct: bool


class RoleAnalysis(Event, frozen=True, gc=False):
    """Whether the analysis is right by each of its two measures, null where that is unknown.

    `gold` and `inter` are `AnalysisKind`s; each that is known is a row of its own.
    """

    gold: bool | None
    inter: bool | None


class Decision(Event, frozen=True, gc=False):
    choice: Choice
    payoff: float | None


class Contribution(Event, frozen=True, gc=False):
    amount: float | None
    is_least: bool | None
    round_total: float | None


class Proposal(Event, frozen=True, gc=False):
    """`share` is what the game registered; where the log does not say, `share_text` decides."""

    party: str
    party_seat: int | None
    position: int
    share_text: str | None
    is_last: bool
    share: float | None = None
    is_logged: bool = False


class ProposalVote(Event, frozen=True, gc=False):
    """`candidate` is what the game registered; where the log does not say, the text decides."""

    candidate: str | None
    is_logged: bool
    is_final_round: bool


class Transfer(Event, frozen=True, gc=False):
    """Points given to or taken from another player: `amount` is the target's, `cost` the giver's.

    `number` counts the seat's in a round. `kind` is the game's word, such as `punishment` or
    `reward`; an amount taken is negative.
    """

    number: int
    target: str | None
    kind: str
    amount: float | None
    cost: float | None


class Ability(Event, frozen=True, gc=False):
    """What a role can do besides speaking and voting, and what the player learnt by it.

    `number` counts the seat's in a round.
    """

    number: int
    kind: str
    target: str | None
    finding: str | None


class Elimination(Event, frozen=True, gc=False):
    """The seat is out of the game from the end of this round, by a cause in the game's word.

    Where it left before the round's votes were cast, no vote of that round counts against it.
    """

    cause: str
    is_before_vote: bool = False


class GameRecord(Struct, kw_only=True, omit_defaults=True):
    """One game as its log tells it.

    `setting` holds what was fixed before play and no model's name. `is_repeatable` says that games
    of equal settings repeat one another: they are then one cluster of an interval, a pair of a
    comparison, and expected of every model. Other games have a setting each of their own.
    `game_index` is the game's number in its competition, where the log itself has it. `log_id` is
    the id that its system gave the game: logs with one id and one content are one game.
    `format_version` is the variant of the format, of which most have one.
    `faults` are the parts of the log that could not be used. `assigned_model` is the one that
    whoever ingested the log gave, where the log itself names none. `ended_by` is why a game ended
    that did not run its course, in the log's words. `events` are the rows of tables that only
    games of this type have. `failures` are how players failed, by seat, where that ended the game,
    and `usage` what each seat used, or nothing where the log does not say. `order` is how messages
    and acts without one follow each other, where the log says it: null for the next message, and
    for the next such act the name of its table.
    """

    game_type: str
    system: str
    format: str
    format_version: str = "1"
    setting: Mapping[str, JsonValue]
    is_repeatable: bool = False
    is_finished: bool
    outcome: str | None
    ended_by: str | None = None
    outcome_code: int | None = None
    n_rounds: int
    started_at: datetime | None = None
    game_index: int | None = None
    log_id: str | None = None
    assigned_model: str | None = None
    seats: list[Seat]
    failures: Mapping[int, str] = {}
    usage: Sequence[Usage] = ()
    messages: Messages
    results: list[Result] = field(default_factory=list)
    votes: list[Vote] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    role_identifications: list[RoleIdentification] = field(default_factory=list)
    role_analyses: list[RoleAnalysis] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    proposal_votes: list[ProposalVote] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    abilities: list[Ability] = field(default_factory=list)
    eliminations: list[Elimination] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)
    faults: list[RecordError] = field(default_factory=list)
    order: Sequence[str | None] = ()

    @property
    def topic(self) -> JsonValue:
        """What a secret word is about; the long texts that other games call so are no label."""
        return self.setting.get("topic") if "code" in self.setting else None

    @property
    def word(self) -> JsonValue:
        """The secret word that the civilian side knows."""
        return self.setting.get("code", self.setting.get("civilian_code"))

    def setting_value(self, column: str) -> JsonValue:
        """What the setting says for one of the columns `FIXED`, null if it does not."""
        first, *rest = FIXED_SETTING_KEYS[column]
        value = self.setting.get(first)
        for key in rest:
            value = value.get(key) if isinstance(value, dict) else None
        return value
