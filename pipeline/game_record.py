"""The typed record of one game, which every log format returns and the event tables are made of.

The fields of an event are columns of its table with the same name (`pipeline.events.contracts`).
Values that all events of a game share (ids, models, roles) are in `GameRecord` and `Seat`; they are
joined later, as are values that are parsed from free text.
Seats and rounds are counted from 1, message indices from 0.
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

# The start of a message that replaces an answer, because the player's API failed.
OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"
# The prefix of the message type of answers to the benchmark's questions. No player sees them,
# although their rows say "all".
QUESTION_MARK = "metric_"

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"

# Columns of `games` with values from the setting, and the path of keys to each value.
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
"""The key of a setting that lists the keys in which settings of one task differ."""


class RecordError(Struct, frozen=True, gc=False):
    """An error in a document, or in a part of one, which cannot be used.

    Attributes:
        json_path: The place in the document.
        rule: The rule that is broken.
        message: What is wrong.
    """

    json_path: str
    rule: str
    message: str


class InvalidDocumentError(Exception):
    """A document has the format of a game, but breaks a rule of the format.

    Attributes:
        fault: The first error.
        faults: All errors; only type errors are collected, other rules stop at the first error.
    """

    def __init__(self, fault: RecordError, *more_faults: RecordError) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.faults = (fault, *more_faults)


# Type errors: values with another type than their field, described without names of Python types.

_MESSAGE_PATTERN = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
_FIELD_ERROR_PATTERN = re.compile(
    r"Object (?P<how>missing|contains).* field `(?P<name>.*)`", re.DOTALL
)
_TYPE_ERROR_PATTERN = re.compile(
    r"Expected `(?P<types>[^`]*)`(?P<limit>[^,]*)(?:, got `(?P<has>[^`]*)`)?"
)
_INVALID_VALUE_PATTERN = re.compile(r"Invalid (?:enum )?value ")
_TYPE_DESCRIPTIONS = {
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
_MAX_NAME_LENGTH = 100
TYPE_RULE = "every field has its type"
MAX_TYPE_ERRORS = 20


def find_type_errors(value: Any, expected_type: Any, json_path: str = "$") -> list[RecordError]:
    """Return the places of a JSON or TOML value that do not have the expected type.

    Args:
        value: The decoded JSON or TOML value.
        expected_type: A type to which msgspec can convert, such as a Struct.
        json_path: The JSON path of the value.

    Returns:
        The first `MAX_TYPE_ERRORS` errors in the order of the document, and a last one that says
        that there are more. In an object, missing fields come last. Empty if the value has the
        type.
    """
    faults = list(islice(_iter_type_errors(value, expected_type, json_path), MAX_TYPE_ERRORS + 1))
    if len(faults) > MAX_TYPE_ERRORS:
        faults[-1] = RecordError(
            json_path, TYPE_RULE, f"there are more faults than these {MAX_TYPE_ERRORS}"
        )
    return faults


def _iter_type_errors(value: Any, expected_type: Any, json_path: str) -> Iterator[RecordError]:
    try:
        msgspec.convert(value, expected_type)
    except msgspec.ValidationError as error:
        # The error of the value itself is reported only if its parts have no errors.
        inner_errors = _iter_inner_type_errors(value, expected_type, json_path)
        yield next(inner_errors, to_record_error(error, json_path))
        yield from inner_errors


def _iter_inner_type_errors(
    value: Any, expected_type: Any, json_path: str
) -> Iterator[RecordError]:
    types = _union_member_types(expected_type)
    if isinstance(value, list):
        for list_type in (type_ for type_ in types if get_origin(type_) in (list, tuple)):
            for number, entry in enumerate(value):
                yield from _iter_type_errors(
                    entry, get_args(list_type)[0], f"{json_path}[{number}]"
                )
    if (
        isinstance(value, dict)
        and (struct := _struct_type_with_matching_tag(value, types)) is not None
    ):
        config = struct.__struct_config__
        struct_fields = _struct_fields(struct)
        for name, inner in value.items():
            if name in struct_fields:
                yield from _iter_type_errors(inner, struct_fields[name].type, f"{json_path}.{name}")
            elif config.forbid_unknown_fields and name != config.tag_field:
                yield _unknown_field_error(name, json_path)
        yield from (
            _missing_field_error(name, json_path)
            for name, info in struct_fields.items()
            if info.required and name not in value
        )


@cache
def _struct_fields(struct: type[Struct]) -> dict[str, FieldInfo]:
    return {field.encode_name: field for field in fields(struct)}


@cache
def _union_member_types(type_: Any) -> list[Any]:
    """Return the types in a union, or the only type, each without `Annotated`."""
    if get_origin(type_) is Annotated:
        return _union_member_types(get_args(type_)[0])
    if get_origin(type_) in (Union, UnionType):
        return [member for part in get_args(type_) for member in _union_member_types(part)]
    return [type_]


def _struct_type_with_matching_tag(
    json_object: Mapping[str, Any], types: Iterable[Any]
) -> type[Struct] | None:
    """Return the first Struct type without a tag, or with the tag of the JSON object, or None."""
    for type_ in types:
        if isinstance(type_, type) and issubclass(type_, Struct):
            config = type_.__struct_config__
            if config.tag_field is None or config.tag == json_object.get(config.tag_field):
                return type_
    return None


def to_record_error(error: msgspec.ValidationError, json_path: str = "$") -> RecordError:
    """Convert a validation error of msgspec to a RecordError with a plain message.

    Args:
        error: The error of msgspec.
        json_path: The place in the document of the value that was validated.
    """
    match = _MESSAGE_PATTERN.match(str(error))
    message, path = (
        (match["message"], json_path + match["path"][1:]) if match else (str(error), json_path)
    )
    if field := _FIELD_ERROR_PATTERN.fullmatch(message):
        is_missing = field["how"] == "missing"
        return (_missing_field_error if is_missing else _unknown_field_error)(field["name"], path)
    name = path.removesuffix("[...]").rpartition(".")[2]
    return RecordError(path, TYPE_RULE, f"`{name}` {_type_error_in_plain_words(message)}")


def _type_error_in_plain_words(message: str) -> str:
    if message.endswith("out of range"):
        return "is beyond what a number can be, about 1.8e308"
    if message.endswith("encoded datetime"):
        return f"is not {_TYPE_DESCRIPTIONS['datetime']}"
    if (match := _TYPE_ERROR_PATTERN.fullmatch(message)) is None:
        return _INVALID_VALUE_PATTERN.sub("cannot be ", message)
    expected = [_TYPE_DESCRIPTIONS.get(name, name) for name in match["types"].split(" | ")]
    actual = match["has"] and f", not {_TYPE_DESCRIPTIONS.get(match['has'], match['has'])}"
    return f"is {' or '.join(expected)}{match['limit']}{actual or ''}"


def _missing_field_error(name: str, json_path: str) -> RecordError:
    return RecordError(json_path, TYPE_RULE, f"`{name[:_MAX_NAME_LENGTH]}` is missing")


def _unknown_field_error(name: str, json_path: str) -> RecordError:
    name = name[:_MAX_NAME_LENGTH]
    return RecordError(
        f"{json_path}.{name}", TYPE_RULE, f"`{name}` is no field here: it may be misspelt"
    )


class Seat(Struct, frozen=True, array_like=True, gc=False):
    """A player of a game; its seat number is its position in `GameRecord.seats`, from 1.

    Attributes:
        player: The name in the log.
        model: The language model, or None if the log does not name it.
        role: The role in the game.
        is_tested: Whether the model is under test.
        final_score: Points at the end of the game.
        is_bot: Whether the player follows fixed rules; None if the log does not say.
    """

    player: str
    model: str | None
    role: str
    is_tested: bool
    final_score: float | None = None
    is_bot: bool | None = False


class Usage(Struct, frozen=True, array_like=True, gc=False):
    """Resources that a player's calls of its model used in a game; None if the log does not say.

    Attributes:
        input_tokens: Number of input tokens.
        output_tokens: Number of output tokens.
        seconds: Duration of the calls.
        cost: Price in US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None


class MessageColumns(Struct, frozen=True, eq=False, gc=False):
    """The columns of a game's messages except their texts; position i belongs to message i.

    The seat is None for the moderator, and the round is None outside of rounds. `visible_to` is a
    name or a tuple of names. Many games have equal columns and share one object, so objects are
    compared by identity.

    Attributes:
        spoken: Indices of messages of seats, by phase.
        answers: Indices of messages, by phase and player.
    """

    player: tuple[str, ...]
    seat: tuple[int | None, ...]
    round: tuple[int | None, ...]
    phase: tuple[str, ...]
    turn: tuple[int | None, ...]
    visible_to: tuple[str | tuple[str, ...], ...]
    msg_type: tuple[str | None, ...]
    spoken: Mapping[str, Sequence[int]]
    answers: Mapping[str, Mapping[str, Sequence[int]]]

    def message_indices(self, phase: str) -> Sequence[int]:
        """Return the indices of the messages that the players of the game wrote in a phase."""
        return self.spoken.get(phase, ())

    def message_indices_by_player(self, phase: str) -> Mapping[str, Sequence[int]]:
        """Return the indices of the messages in a phase, by the name of the player who wrote them.

        Names that are not players of the game are included.
        """
        return self.answers.get(phase, {})

    def highest_round(self, phase: str) -> int:
        """Return the last round in which a player wrote a message of a phase, or 0 if none did."""
        return max((self.round[index] or 0 for index in self.message_indices(phase)), default=0)


class Messages(Struct, frozen=True, gc=False):
    """The messages of a game: their columns and their texts."""

    course: MessageColumns
    content: Sequence[str]

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.content)


class Event(Struct, frozen=True, array_like=True, gc=False):
    """Base class of a player's actions.

    Values that are parsed from free text are added later, for all games at once
    (`pipeline.events.text_parsing`).

    Attributes:
        seat: The acting seat.
        round: The round of the action.
        message_index: The message with the action, or None for an action without a message.
    """

    seat: int
    round: int
    message_index: int | None


class Result(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The result of a game for one tested side; `seat` is None if the row covers several seats."""

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
    """A vote; `target` is the registered player, or None if only the text states it."""

    target: str | None
    is_logged: bool = True


class Guess(Event, frozen=True, gc=False):
    """A guess of the secret word."""

    secret: str
    is_correct: bool
    guess: str | None
    parse_status: ParseStatus


class RoleIdentification(Event, frozen=True, gc=False):
    """An answer to the question who the player is and which role it has."""

    is_correct: bool


class RoleAnalysis(Event, frozen=True, gc=False):
    """An analysis of the roles, with its correctness by both references (`AnalysisKind`).

    Each value of `gold` and `inter` that is not None becomes a row.
    """

    gold: bool | None
    inter: bool | None


class Decision(Event, frozen=True, gc=False):
    """A choice in the Prisoner's Dilemma."""

    choice: Choice
    payoff: float | None


class Contribution(Event, frozen=True, gc=False):
    """A contribution to the Public Good."""

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
    """A vote for a proposal; `candidate` is None if only the text names the player."""

    candidate: str | None
    is_logged: bool
    is_final_round: bool


class Transfer(Event, frozen=True, gc=False):
    """Points that a player gives to another player, or takes away at a cost of its own.

    Attributes:
        number: The number among the seat's transfers of the round, from 1.
        target: The other player.
        kind: The game's word, such as `punishment` or `reward`.
        amount: Points that the other player gets; negative if it loses them.
        cost: Points that the acting player pays.
    """

    number: int
    target: str | None
    kind: str
    amount: float | None
    cost: float | None


class Ability(Event, frozen=True, gc=False):
    """The use of a role's ability, such as a seer's look.

    Attributes:
        number: The number among the seat's uses in the round, from 1.
        kind: The ability, in the game's word.
        target: The player that it was used on.
        finding: What the acting player learnt.
    """

    number: int
    kind: str
    target: str | None
    finding: str | None


class Elimination(Event, frozen=True, gc=False):
    """The elimination of a seat at the end of a round.

    Attributes:
        cause: The cause, in the game's word.
        is_before_vote: Whether the seat left before the votes of the round; then none of these
            votes can be for it.
    """

    cause: str
    is_before_vote: bool = False


class GameRecord(Struct, kw_only=True, omit_defaults=True):
    """One game as recorded in its log.

    Attributes:
        game_type: The type of the game.
        system: The system (harness) that ran the game.
        format: The log format.
        format_version: The variant of the format; most formats have one.
        setting: The values that were fixed before play, without names of models.
        is_repeatable: Whether games of equal settings repeat one another. Then they are one cluster
            of an interval and one pair of a comparison, and every model is expected to play them.
            Otherwise each game has its own setting.
        is_finished: Whether the game has an end.
        outcome: How it ended, or None.
        ended_by: In the log's words, why a game ended that did not finish.
        outcome_code: The log's own code of the outcome.
        n_rounds: Number of rounds.
        started_at: When it started, in UTC.
        game_index: The number of the game in its competition, if the log states it.
        log_id: The id that the system gave the game. Logs with the same id and the same content are
            one game.
        assigned_model: The model that the user passed to the ingest for a log that names none.
        seats: The players.
        failures: How players failed, by seat, if that ended the game.
        usage: Resources of each seat; empty if the log does not say.
        messages: The messages.
        events: Rows of the tables that only games of this type have, by table.
        faults: Errors in parts of the log, which were not used.
        order: The order of messages and of actions without a message, if the log states it: None
            for the next message, and the table's name for the next such action.
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
        """The topic of the secret word, or None if the game has no topic."""
        return self.setting.get("topic") if "code" in self.setting else None

    @property
    def word(self) -> JsonValue:
        """The secret word that the civilians know, or None if the game has no secret word."""
        return self.setting.get("code", self.setting.get("civilian_code"))

    def setting_value_for_column(self, column: str) -> JsonValue:
        """Return the value that the game's setting has for a column of the table `games`, or None.

        Args:
            column: A column of `FIXED_SETTING_KEYS`.
        """
        first, *rest = FIXED_SETTING_KEYS[column]
        value = self.setting.get(first)
        for key in rest:
            value = value.get(key) if isinstance(value, dict) else None
        return value
