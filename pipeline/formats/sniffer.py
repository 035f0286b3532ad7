"""What every format sees of a document in order to decide whether it is one of its logs.

Contains `DocumentSniffer`, JSON decoding whose errors name the path and the rule, and the checks of
a game against its definition. All formats use it; it depends on `archives` and `games`.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC
from functools import cache
from itertools import chain
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import astuple

from pipeline.archives.sources import encoding_problem
from pipeline.archives.splitting import is_multiline_json, iter_json_values
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, type_error
from pipeline.games import game_definitions

# Decoding with errors that name the JSON path and the broken rule.

T = TypeVar("T")


class _HasFaults(Protocol):
    faults: list[RecordError]


F = TypeVar("F", bound=_HasFaults)

_NON_JSON_VALUE = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_decoder_for_type: Callable[[Any], Any] = cache(msgspec.json.Decoder)
UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
WELL_FORMED = "the document is well-formed JSON in UTF-8"


def invalid_document_error(json_path: str, rule: str, message: str) -> InvalidDocumentError:
    """Return the error for a document that breaks a rule at a JSON path.

    Args:
        json_path: The path of the invalid value, such as `$.seats[0]`.
        rule: The rule that the document breaks.
        message: What was found instead; an empty value becomes "it is empty".
    """
    return InvalidDocumentError(RecordError(json_path, rule, message or "it is empty"))


def decode(kind: type[T] | msgspec.json.Decoder[T], data: bytes | Raw, json_path: str = "$") -> T:
    """Decode JSON data to a value of a type.

    Args:
        kind: The type, or a decoder for it. The decoder of a type is created once.
        data: The JSON text.
        json_path: The JSON path of the data in its document, for errors.

    Returns:
        The decoded value.

    Raises:
        InvalidDocumentError: If the data is not JSON, or its value does not have the type.
    """
    decoder = kind if isinstance(kind, msgspec.json.Decoder) else _decoder_for_type(kind)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise InvalidDocumentError(type_error(error, json_path)) from error
    except UNDECODABLE as error:
        raise not_json_error(error, bytes(data), json_path) from error


def iter_valid_entries(
    listed: Any, kind: type[T], json_path: str, faults: list[RecordError]
) -> Iterator[tuple[str, T]]:
    """Yield each valid entry of a list with its JSON path, and add a fault for each invalid entry.

    Args:
        listed: The value that should be a list. Another value has no entries and is one fault.
        kind: The type of a valid entry.
        json_path: The JSON path of the list.
        faults: The list to which faults are added.

    Yields:
        The JSON path and the converted value of each valid entry.
    """
    for number, entry in enumerate(
        _convert_or_add_fault(listed, list[Any], json_path, faults) or ()
    ):
        entry_path = f"{json_path}[{number}]"
        if (converted := _convert_or_add_fault(entry, kind, entry_path, faults)) is not None:
            yield entry_path, converted


def _convert_or_add_fault(
    value: Any, kind: type[T], json_path: str, faults: list[RecordError]
) -> T | None:
    """Return the value converted to a type; add a fault and return None if that is impossible."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        faults.append(type_error(error, json_path))
        return None


def build_ignoring_truncated_last_line(build: Callable[[bytes], F], data: bytes) -> F:
    """Build a game from a document in lines, and ignore the last line if it is truncated.

    A program that is killed leaves such a line.

    Args:
        build: The function that builds the result from the document's bytes.
        data: The bytes of the document.

    Returns:
        The result of `build`. If the last line was ignored, its error is one of the faults.

    Raises:
        InvalidDocumentError: If another line is invalid.
    """
    try:
        return build(data)
    except InvalidDocumentError as error:
        before, _, last_line_text = data.rpartition(b"\n")
        last_line = before.count(b"\n") + 1
        if not (before and last_line_text) or error.fault.json_path != f"$[{last_line}]":
            raise
        built = build(before)
        built.faults.append(error.fault)
        return built


def decode_utf8(data: bytes, rule: str, *, may_be_cut: bool = False) -> str:
    """Decode bytes in UTF-8 to a string.

    Args:
        data: The bytes.
        rule: The rule of the error for invalid bytes.
        may_be_cut: Whether to ignore an incomplete last character.

    Returns:
        The string.

    Raises:
        InvalidDocumentError: If the bytes are not valid UTF-8.
    """
    try:
        return codecs.utf_8_decode(data, "strict", not may_be_cut)[0]
    except UnicodeDecodeError as error:
        raise invalid_document_error("$", rule, _not_utf8_message(data, error)) from error


def _not_utf8_message(data: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"


def not_json_error(error: Exception, data: bytes, json_path: str) -> InvalidDocumentError:
    """Return the error for data at a JSON path that a decoder rejects because it is not JSON.

    Args:
        error: The error of the decoder.
        data: The rejected data.
        json_path: The JSON path of the data.
    """
    path, message = _non_json_value_error(data) or ("", _not_json_message(error, data))
    return invalid_document_error(json_path + path, WELL_FORMED, message)


def _not_json_message(error: Exception, data: bytes) -> str:
    """Return why data is not JSON, with the line and column if they are known."""
    if message := encoding_problem(data):
        return message
    try:
        data.decode()
    except UnicodeDecodeError as decode_error:
        return _not_utf8_message(data, decode_error)
    if not data.strip():
        return "the document is empty"
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply"
    if str(error) == "Input data was truncated":
        return "the text ends too early, or an escape such as \\ud83e lacks its second half"
    message, separator, position = str(error).partition(" (byte ")
    if not separator:
        return message
    before = data[: int(position.rstrip(")"))].decode(errors="replace")
    column = len(before) - before.rfind("\n")
    return f"{message} in line {before.count(chr(10)) + 1:,}, column {column:,}"


def _non_json_value_error(data: bytes) -> tuple[str, str] | None:
    """Return the path and a description of the first NaN, infinity or lone surrogate."""
    if len(data) > 1 << 23 or not _NON_JSON_VALUE.search(data):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for path, _, leaf in iter_keys_and_leaves_with_path_and_depth(value):
        if isinstance(leaf, float) and not math.isfinite(leaf):
            literal = json.dumps(leaf)
            return path, f"{literal} is no number of JSON: write null, or another number"
        if isinstance(leaf, str) and (surrogate := _LONE_SURROGATE.search(leaf)):
            escape = surrogate[0].encode("ascii", "backslashreplace").decode()
            return path, f"{escape} is half of a character, the other half is missing"
    return None


def iter_keys_and_leaves_with_path_and_depth(value: Any) -> Iterator[tuple[str, int, Any]]:
    """Yield each key and each leaf of a decoded JSON value in document order.

    Args:
        value: The decoded JSON value.

    Yields:
        The path below `$`, the depth, and the key or leaf (a scalar or an empty container).
    """
    stack = [("", 0, value)]
    while stack:
        path, depth, node = stack.pop()
        if isinstance(node, dict) and node:
            yield from ((path, depth, key) for key in node)
            stack += [(f"{path}.{key}", depth + 1, inner) for key, inner in node.items()][::-1]
        elif isinstance(node, list) and node:
            stack += [(f"{path}[{n}]", depth + 1, inner) for n, inner in enumerate(node)][::-1]
        else:
            yield path, depth, node


WholeLogDecoders = Sequence[msgspec.json.Decoder[Any]]

_BLANK = re.compile(r"[ \t\r\n]*")
_VALUE = json.JSONDecoder()
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_OBJECT = msgspec.json.Decoder(dict[str, Raw])

_LIST = msgspec.json.Decoder(list[Raw])


class DocumentSniffer:
    """A document whose keys and values are decoded only when a format asks for them.

    Attributes:
        path: The document's path in its source, such as `runs/a.csv#17`; can be empty.
        data: The bytes of the document.
        first: The first byte that is not whitespace, as a string; empty if there is none.
        shaped: The whole log as a struct, if one of the `shapes` decoded it when `keys` was read.
    """

    __slots__ = ("_keys", "_listed", "_shapes", "_top", "data", "first", "path", "shaped")

    def __init__(self, path: str, data: bytes, shapes: WholeLogDecoders = ()) -> None:
        """Store the document without decoding it.

        Args:
            path: The document's path in its source.
            data: The bytes of the document.
            shapes: Decoders of structs that list every key a log may have, reject other keys,
                and leave missing keys UNSET. They save a separate pass for the keys.
        """
        self.path = path
        self.data = data
        first_byte = _NOT_BLANK.search(data)
        self.first = chr(data[first_byte.start()]) if first_byte else ""
        self._shapes = shapes
        # Plain fields, because `cached_property` takes a lock for each of millions of documents.
        self._top: Mapping[str, Raw] | None = None
        self._keys: Set[str] | None = None
        self._listed: Sequence[Raw] | None = None
        self.shaped: Struct | None = None

    @property
    def top(self) -> Mapping[str, Raw]:
        """The undecoded values of a JSON object by key; empty for any other document.

        If several objects follow one another, as in JSON lines, only the first one counts.
        """
        if self._top is None:
            self._top = _parse_first_object(self.data) if self.first == "{" else {}
        return self._top

    @property
    def keys(self) -> Set[str]:
        """The keys of the JSON object, or of all objects in the JSON list, in any order."""
        if self._keys is None:
            if self.first == "[":
                self._keys = dict.fromkeys(
                    chain.from_iterable(map(parse_object, self.list_entries()))
                ).keys()
            else:
                self._keys = self._keys_by_shape() or self.top.keys()
        return self._keys

    def _keys_by_shape(self) -> Set[str]:
        """Return the keys of a document that one of the shapes decodes, else none."""
        for shape in self._shapes:
            try:
                log = shape.decode(self.data)
            except UNDECODABLE:
                continue
            self.shaped = log
            values = zip(log.__struct_fields__, astuple(log), strict=True)
            return {name for name, value in values if value is not UNSET}
        return frozenset()

    def has_keys(self, keys: Set[str], least: int) -> bool:
        """Return whether the document is an object that has at least `least` of the keys.

        Args:
            keys: The keys to look for.
            least: The minimum number of them.
        """
        return self.first == "{" and len(keys & self.keys) >= least

    def within(self, key: str) -> Set[str]:
        """Return the keys of the object at a top-level key; empty if the value is not an object.

        Args:
            key: The top-level key.
        """
        return parse_object(bytes(self.top.get(key, b""))).keys()

    def list_entries(self) -> Iterator[bytes]:
        """Return an iterator over the undecoded entries of the JSON list, if it is one."""
        if self._listed is None:
            try:
                self._listed = _LIST.decode(self.data)
            except UNDECODABLE:
                self._listed = ()
        return map(bytes, self._listed)

    def lists(self, key: str, *others: str) -> bool:
        """Return whether an object in the JSON list has the key and one of any `others`.

        Args:
            key: The required key.
            *others: Alternative keys, of which the same object needs at least one.
        """
        return self.first == "[" and any(
            key in entry and (not others or not entry.keys().isdisjoint(others))
            for entry in map(parse_object, self.list_entries())
        )


def parse_truncated_object(head: bytes) -> dict[str, Any]:
    """Return the values of the JSON object at the start of a file's first bytes.

    Args:
        head: The first bytes of a file, which can end anywhere.

    Returns:
        The complete values by key; None for the last key if its value is truncated.
    """
    text = head.decode(errors="replace").lstrip()
    members: dict[str, Any] = {}
    end, delimiter = 0, text[:1]
    try:
        while delimiter in ("{", ","):
            key, end = _VALUE.raw_decode(text, _skip_whitespace(text, end + 1))
            members[key] = None
            # The value begins after the colon.
            members[key], end = _VALUE.raw_decode(
                text, _skip_whitespace(text, _skip_whitespace(text, end) + 1)
            )
            end = _skip_whitespace(text, end)
            delimiter = text[end : end + 1]
    except (ValueError, TypeError, RecursionError):
        pass
    return members


def _skip_whitespace(text: str, start: int) -> int:
    """Return the index of the first character at or after `start` that is not whitespace."""
    match = _BLANK.match(text, start)
    return start if match is None else match.end()


def _parse_first_object(data: bytes) -> Mapping[str, Raw]:
    """Return the undecoded values of a document's first JSON object by key."""
    end = data.find(b"\n")
    # The first line of a log in lines is enough: a decoder would read all of it, and then fail.
    if data[end + 1 : end + 2] == b"{" and end > 0 and (first := parse_object(data[:end])):
        return first
    try:
        return _OBJECT.decode(data)
    except UNDECODABLE:
        if not is_multiline_json(data[: 1 << 12]):
            return parse_object(data.lstrip().partition(b"\n")[0])
        part = next(iter_json_values(iter((data,)), len(data)))
        return parse_object((part.data or b"").lstrip())


def parse_object(data: bytes) -> Mapping[str, Raw]:
    """Return the undecoded values of a JSON object by key; empty if the data is not an object.

    Args:
        data: The JSON text, without whitespace at its start.
    """
    try:
        return _OBJECT.decode(data) if data[:1] == b"{" else {}
    except UNDECODABLE:
        return {}


# Checks of a game against its definition, because the contracts of tables allow in a column the
# words of all games. Whether the game ended is stated in several places, which must agree.


def check_against_game_definition(game: GameRecord) -> None:
    """Check that the roles, event tables, outcome and winners of a game are those of its game type.

    Args:
        game: The game that a format has read.

    Raises:
        InvalidDocumentError: If the game has a role, an outcome or a table that its type lacks.
    """
    definition = game_definitions().get(game.game_type)
    if definition is None:
        raise invalid_document_error("$", "the kind of game is known", repr(game.game_type))
    roles = {role.name for role in definition.roles}
    for seat in game.seats:
        if seat.role not in roles:
            raise _value_unknown_to_game_type_error("a role", seat.role, roles, game)
    for table in game.events:
        if table not in definition.tables:
            raise _value_unknown_to_game_type_error("a table", table, definition.tables, game)
    check_start_time(game)
    check_outcome(game)
    check_results_state_winners(game)


def check_start_time(game: GameRecord, json_path: str = "$") -> None:
    """Check that the start of a game is a valid time in UTC.

    Args:
        game: The game that a format has read.
        json_path: The JSON path of the start in the document.

    Raises:
        InvalidDocumentError: If the start in UTC is outside the years 1 to 9999.
    """
    try:
        _ = game.started_at and game.started_at.astimezone(UTC)
    except OverflowError as error:
        rule = "a time in UTC is of one of the years 1 to 9999"
        raise invalid_document_error(json_path, rule, str(game.started_at)) from error


def check_outcome(game: GameRecord, json_path: str = "$") -> None:
    """Check that a finished game has an outcome of its game type, and an unfinished game has none.

    Args:
        game: The game that a format has read.
        json_path: The JSON path of the outcome in the document.

    Raises:
        InvalidDocumentError: If the outcome is missing, unknown, or that of an unfinished game.
    """
    outcome = game.outcome
    if outcome is not None and not game.is_finished:
        raise invalid_document_error(
            json_path, "an unfinished game has no outcome", repr(str(outcome))
        )
    outcomes = {ending.outcome for ending in game_definitions()[game.game_type].endings}
    if game.is_finished and outcome not in outcomes:
        raise _value_unknown_to_game_type_error("an outcome", outcome, outcomes, game, json_path)


def check_results_state_winners(game: GameRecord, json_path: str = "$") -> None:
    """Check that each result says who won if the game is finished, and does not otherwise.

    Args:
        game: The game that a format has read.
        json_path: The JSON path of the results in the document.

    Raises:
        InvalidDocumentError: If a result has or lacks `is_win` or `win_credit` against this rule.
    """
    for result in game.results:
        if {result.is_win is not None, result.win_credit is not None} != {game.is_finished}:
            rule = (
                "a result of a finished game has `is_win` and `win_credit`"
                if game.is_finished
                else "a result of an unfinished game has neither `is_win` nor `win_credit`"
            )
            has = (
                f"is_win {result.is_win}, win_credit {result.win_credit} "
                f"({result.role}, seat {result.seat})"
            )
            raise invalid_document_error(json_path, rule, has)


def _value_unknown_to_game_type_error(
    noun: str,
    value: str | None,
    allowed_values: Iterable[str],
    game: GameRecord,
    json_path: str = "$",
) -> InvalidDocumentError:
    """Return the error for a role, an outcome or a table that the game type does not define."""
    rule = f"{noun} of {game.game_type} is one of: {', '.join(sorted(allowed_values)) or 'none'}"
    return invalid_document_error(
        json_path,
        rule,
        "there is none, and the game is finished" if value is None else repr(str(value)),
    )
