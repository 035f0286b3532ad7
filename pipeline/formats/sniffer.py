"""Inspection and decoding of documents for all log formats.

Contains `DocumentSniffer`, by which a format decides if a document is one of its logs, JSON
decoding whose errors name the path and the rule, and the checks of a game against its definition.
"""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC
from functools import cache
from itertools import chain
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import astuple

from pipeline.archives.sources import encoding_problem
from pipeline.archives.splitting import is_multiline_json, iter_json_values
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, to_record_error
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
    """Return the error for a document with an invalid value at a JSON path.

    Args:
        json_path: The path of the invalid value, such as `$.seats[0]`.
        rule: The rule that the document breaks.
        message: The value that was found; an empty string becomes "it is empty".
    """
    return InvalidDocumentError(RecordError(json_path, rule, message or "it is empty"))


def decode(
    type_or_decoder: type[T] | msgspec.json.Decoder[T], data: bytes | Raw, json_path: str = "$"
) -> T:
    """Decode JSON data to a value of a type.

    Args:
        type_or_decoder: The type, or a decoder for it. The decoder of a type is created once.
        data: The JSON text.
        json_path: The JSON path of the data in its document, for errors.

    Returns:
        The value.

    Raises:
        InvalidDocumentError: If the data is not JSON, or its value does not have the type.
    """
    decoder = (
        type_or_decoder
        if isinstance(type_or_decoder, msgspec.json.Decoder)
        else _decoder_for_type(type_or_decoder)
    )
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise InvalidDocumentError(to_record_error(error, json_path)) from error
    except UNDECODABLE as error:
        raise not_json_error(error, bytes(data), json_path) from error


def iter_valid_entries_and_add_faults(
    entries: Any, entry_type: type[T], json_path: str, faults: list[RecordError]
) -> Iterator[tuple[str, T]]:
    """Yield each valid entry of a list; add a validation error for each invalid entry.

    Args:
        entries: The list. Any other value is one validation error and has no entries.
        entry_type: The type of a valid entry.
        json_path: The JSON path of the list.
        faults: The list to which the validation errors are added.

    Yields:
        The JSON path and the converted value of each valid entry.
    """
    for number, entry in enumerate(
        _convert_or_add_fault(entries, list[Any], json_path, faults) or ()
    ):
        entry_path = f"{json_path}[{number}]"
        if (converted := _convert_or_add_fault(entry, entry_type, entry_path, faults)) is not None:
            yield entry_path, converted


def _convert_or_add_fault(
    value: Any, target_type: type[T], json_path: str, faults: list[RecordError]
) -> T | None:
    try:
        return msgspec.convert(value, target_type)
    except msgspec.ValidationError as error:
        faults.append(to_record_error(error, json_path))
        return None


def build_ignoring_truncated_last_line(build: Callable[[bytes], F], data: bytes) -> F:
    """Build a game from the lines of a document, without the last line if that is truncated.

    A program that is killed while it writes leaves such a line.

    Args:
        build: The function that builds the game from the document's bytes.
        data: The bytes of the document.

    Returns:
        The game. If the last line was ignored, its error is one of the game's validation errors.

    Raises:
        InvalidDocumentError: If any line but the last is invalid.
    """
    try:
        return build(data)
    except InvalidDocumentError as error:
        complete_lines, _, last_line = data.rpartition(b"\n")
        last_line_index = complete_lines.count(b"\n") + 1
        if not (complete_lines and last_line) or error.fault.json_path != f"$[{last_line_index}]":
            raise
        game = build(complete_lines)
        game.faults.append(error.fault)
        return game


def decode_utf8(data: bytes, rule: str, *, may_be_cut: bool = False) -> str:
    """Decode bytes in UTF-8 to a string; raise InvalidDocumentError for invalid bytes.

    Args:
        data: The bytes.
        rule: The rule that the error names.
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


def iter_csv_rows_by_name(data: bytes, columns: Collection[str]) -> Iterator[dict[str, str]]:
    """Iterate over the rows of a CSV document, each with its values by column.

    Args:
        data: The document: a header and rows. Blank lines are skipped.
        columns: The columns that the table must have.

    Yields:
        The values of a row by column, as strings.

    Raises:
        InvalidDocumentError: If the document is not UTF-8 or not well-formed CSV, lacks a column,
            has a column twice, or has a row with another number of values.
    """
    # The module's own limit is less than a document's.
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))
    text = decode_utf8(data, "the document is in UTF-8")
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        records = filter(None, table)
        header = next(records, [])
        if len(set(header)) < len(header) or not set(header) >= {*columns}:
            raise invalid_document_error(
                "$", "the table has each of its columns once", ", ".join(header)[:200]
            )
        for number, values in enumerate(records):
            if len(values) != len(header):
                rule = "each row of the table has a value for each column"
                counts = f"{len(values)} values for {len(header)} columns"
                raise invalid_document_error(f"$[{number}]", rule, counts)
            yield dict(zip(header, values, strict=True))
    except csv.Error as error:
        rule = "the table is well-formed CSV (RFC 4180)"
        raise invalid_document_error("$", rule, f"line {table.line_num:,}: {error}") from error


def _not_utf8_message(data: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"


def not_json_error(error: Exception, data: bytes, json_path: str) -> InvalidDocumentError:
    """Return the error that says why data is not JSON, for data that a decoder has rejected.

    Args:
        error: The error of the decoder.
        data: The rejected data.
        json_path: The JSON path of the data in its document.
    """
    return _non_json_value_error(data, json_path) or invalid_document_error(
        json_path, WELL_FORMED, _not_json_message(error, data)
    )


def _not_json_message(error: Exception, data: bytes) -> str:
    """Return the reason why data is not JSON, with the line and column if the error has them."""
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


def _non_json_value_error(data: bytes, json_path: str) -> InvalidDocumentError | None:
    """Return the error for the first NaN, infinity or lone surrogate in the data; None without."""
    if len(data) > 1 << 23 or not _NON_JSON_VALUE.search(data):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for path, _, leaf in iter_keys_and_leaves_with_path_and_depth(value):
        if isinstance(leaf, float) and not math.isfinite(leaf):
            message = f"{json.dumps(leaf)} is no number of JSON: write null, or another number"
            return invalid_document_error(json_path + path, WELL_FORMED, message)
        if isinstance(leaf, str) and (surrogate := _LONE_SURROGATE.search(leaf)):
            escape = surrogate[0].encode("ascii", "backslashreplace").decode()
            message = f"{escape} is half of a character, the other half is missing"
            return invalid_document_error(json_path + path, WELL_FORMED, message)
    return None


def iter_keys_and_leaves_with_path_and_depth(value: Any) -> Iterator[tuple[str, int, Any]]:
    """Yield each object key, string, number, boolean and null of a decoded JSON value.

    Args:
        value: The decoded JSON value.

    Yields:
        The JSON path without `$`, the depth of nesting, and the key or value, in the order of the
        document. An empty list or object is also yielded.
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


# Decoders of structs that list every key a log may have, reject any other key, and leave missing
# keys UNSET. They save a separate pass for the keys.
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
        whole_log: The log as a struct, if a decoder of whole logs decoded it when `keys` was read.
    """

    __slots__ = (
        *("_keys", "_list_entries", "_top", "_whole_log_decoders"),
        *("data", "first", "path", "whole_log"),
    )

    def __init__(self, path: str, data: bytes, whole_log_decoders: WholeLogDecoders = ()) -> None:
        """Store the document without decoding it.

        Args:
            path: The document's path in its source.
            data: The bytes of the document.
            whole_log_decoders: The decoders that are tried before the keys alone are decoded.
        """
        self.path = path
        self.data = data
        first_byte = _NOT_BLANK.search(data)
        self.first = chr(data[first_byte.start()]) if first_byte else ""
        self._whole_log_decoders = whole_log_decoders
        # Plain fields, because `cached_property` takes a lock for each of millions of documents.
        self._top: Mapping[str, Raw] | None = None
        self._keys: Set[str] | None = None
        self._list_entries: Sequence[Raw] | None = None
        self.whole_log: Struct | None = None

    @property
    def top(self) -> Mapping[str, Raw]:
        """The undecoded values of the document's JSON object by key; empty if it is no object.

        If the document has several objects, as JSON lines have, these are the values of the first.
        """
        if self._top is None:
            self._top = _parse_first_json_object(self.data) if self.first == "{" else {}
        return self._top

    @property
    def keys(self) -> Set[str]:
        """The keys of the document's JSON object, or of all objects in its JSON list."""
        if self._keys is None:
            if self.first == "[":
                self._keys = dict.fromkeys(
                    chain.from_iterable(map(parse_object, self.list_entries()))
                ).keys()
            else:
                self._keys = self._decode_whole_log_to_keys() or self.top.keys()
        return self._keys

    def _decode_whole_log_to_keys(self) -> Set[str]:
        """Set `whole_log` with the first decoder that fits, and return its keys; else no keys."""
        for decoder in self._whole_log_decoders:
            try:
                log = decoder.decode(self.data)
            except UNDECODABLE:
                continue
            self.whole_log = log
            values = zip(log.__struct_fields__, astuple(log), strict=True)
            return {name for name, value in values if value is not UNSET}
        return frozenset()

    def has_keys(self, keys: Set[str], min_keys: int) -> bool:
        """Return whether the document is a JSON object with at least `min_keys` of these keys.

        Args:
            keys: The keys to look for.
            min_keys: The minimum number of them.
        """
        return self.first == "{" and len(keys & self.keys) >= min_keys

    def within(self, key: str) -> Set[str]:
        """Return the keys of the JSON object that is the value of a top-level key.

        Args:
            key: The top-level key. If its value is not an object, the result is empty.
        """
        return parse_object(bytes(self.top.get(key, b""))).keys()

    def list_entries(self) -> Iterator[bytes]:
        """Return the undecoded entries of the document's JSON list; empty if it is no list."""
        if self._list_entries is None:
            try:
                self._list_entries = _LIST.decode(self.data)
            except UNDECODABLE:
                self._list_entries = ()
        return map(bytes, self._list_entries)

    def lists(self, key: str, *alternative_keys: str) -> bool:
        """Return whether the document is a JSON list in which some object has these keys.

        Args:
            key: The key that the object must have.
            *alternative_keys: The same object must have at least one of these, if any are passed.
        """
        return self.first == "[" and any(
            key in entry and (not alternative_keys or not entry.keys().isdisjoint(alternative_keys))
            for entry in map(parse_object, self.list_entries())
        )


def parse_truncated_object(head: bytes) -> dict[str, Any]:
    """Parse the complete values of a JSON object of which only the first bytes are known.

    Args:
        head: The first bytes of a file. They can end in the middle of a value.

    Returns:
        The values by key; the value of the last key is None if it is truncated.
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
    match = _BLANK.match(text, start)
    return start if match is None else match.end()


def _parse_first_json_object(data: bytes) -> Mapping[str, Raw]:
    """Return the undecoded values, by key, of the first JSON object in the data."""
    end = data.find(b"\n")
    # The first line of JSON lines is enough. A decoder would read all lines before it fails.
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
        data: The JSON text; it must not begin with whitespace.
    """
    try:
        return _OBJECT.decode(data) if data[:1] == b"{" else {}
    except UNDECODABLE:
        return {}


# Checks of a game against its definition. They are needed because the contract of a table allows
# the roles and outcomes of all game types, and because several fields say if the game is finished.


def check_against_game_definition(game: GameRecord) -> None:
    """Check that the game type exists and defines the game's roles, event tables and outcome.

    The start time and the winners are checked too.

    Args:
        game: The game that a format has read.

    Raises:
        InvalidDocumentError: If the game breaks one of these rules.
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
    """Check that the start time of a game can be stored in UTC.

    Args:
        game: The game that a format has read.
        json_path: The JSON path of the start time in the document.

    Raises:
        InvalidDocumentError: If the time in UTC is outside the years 1 to 9999.
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
        InvalidDocumentError: If the outcome is missing, unknown, or set in an unfinished game.
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
    """Check that results say who won if the game is finished, and only then.

    Args:
        game: The game that a format has read.
        json_path: The JSON path of the results in the document.

    Raises:
        InvalidDocumentError: If a result of a finished game lacks `is_win` or `win_credit`, or a
            result of an unfinished game has one.
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
    """Return the error for a role, an outcome or a table that the game's type does not define."""
    rule = f"{noun} of {game.game_type} is one of: {', '.join(sorted(allowed_values)) or 'none'}"
    return invalid_document_error(
        json_path,
        rule,
        "there is none, and the game is finished" if value is None else repr(str(value)),
    )
