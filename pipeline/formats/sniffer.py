"""What every format is shown of a document, to say whether it is one of its own."""

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

# Decoding that names the place and the rule where a document, or a part of one, is broken.

T = TypeVar("T")


class _Faulty(Protocol):
    faults: list[RecordError]


F = TypeVar("F", bound=_Faulty)

_ODD = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")
_HALF = re.compile(r"[\ud800-\udfff]")
_decoder_of: Callable[[Any], Any] = cache(msgspec.json.Decoder)
UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
WELL_FORMED = "the document is well-formed JSON in UTF-8"


def invalid_document_error(json_path: str, rule: str, message: str) -> InvalidDocumentError:
    """The error to raise for a document that breaks a rule at a JSON path.

    A message that is a value of the log may be empty, and then says so.
    """
    return InvalidDocumentError(RecordError(json_path, rule, message or "it is empty"))


def decode(kind: type[T] | msgspec.json.Decoder[T], data: bytes | Raw, at: str = "$") -> T:
    """The value of the type, or of the decoder's, in data at the path `at`; raises BrokenDocument.

    The decoder of a type is made once.
    """
    decoder = kind if isinstance(kind, msgspec.json.Decoder) else _decoder_of(kind)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise InvalidDocumentError(type_error(error, at)) from error
    except UNDECODABLE as error:
        raise not_json(error, bytes(data), at) from error


def each(listed: Any, kind: type[T], at: str, faults: list[RecordError]) -> Iterator[tuple[str, T]]:
    """The entries of the list `at`, each with its place; of one that is no `kind`, a fault.

    So one that is broken leaves the others, and a list that is none has no entries.
    """
    for number, entry in enumerate(_converted(listed, list[Any], at, faults) or ()):
        place = f"{at}[{number}]"
        if (converted := _converted(entry, kind, place, faults)) is not None:
            yield place, converted


def _converted(value: Any, kind: type[T], at: str, faults: list[RecordError]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        faults.append(type_error(error, at))
        return None


def but_for_a_cut_line(build: Callable[[bytes], F], data: bytes) -> F:
    """What is built of a document's lines; where the last was cut, of those before it.

    So a writer leaves it that was killed: broken, and without an end. It is then a fault.
    """
    try:
        return build(data)
    except InvalidDocumentError as error:
        before, _, cut = data.rpartition(b"\n")
        last = before.count(b"\n") + 1
        if not (before and cut) or error.fault.json_path != f"$[{last}]":
            raise
        built = build(before)
        built.faults.append(error.fault)
        return built


def text_of(data: bytes, rule: str, *, may_be_cut: bool = False) -> str:
    """The bytes as text; raises BrokenDocument, with the rule, where they are not in UTF-8.

    Where they may be cut, a last character of which a part is there is left out.
    """
    try:
        return codecs.utf_8_decode(data, "strict", not may_be_cut)[0]
    except UnicodeDecodeError as error:
        raise invalid_document_error("$", rule, _not_utf8(data, error)) from error


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"


def not_json(error: Exception, data: bytes, at: str) -> InvalidDocumentError:
    """The error to raise for data at `at` that a decoder refuses because they are no JSON."""
    path, why = _odd_value(data) or ("", _why_not_json(error, data))
    return invalid_document_error(at + path, WELL_FORMED, why)


def _why_not_json(error: Exception, data: bytes) -> str:
    """Why a text does not decode, without Python's own words."""
    if why := encoding_problem(data):
        return why
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return _not_utf8(data, wrong)
    if not data.strip():
        return "the document is empty"
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply"
    if str(error) == "Input data was truncated":
        return "the text ends too early, or an escape such as \\ud83e lacks its second half"
    why, at, place = str(error).partition(" (byte ")
    if not at:
        return why
    before = data[: int(place.rstrip(")"))].decode(errors="replace")
    column = len(before) - before.rfind("\n")
    return f"{why} in line {before.count(chr(10)) + 1:,}, column {column:,}"


def _odd_value(data: bytes) -> tuple[str, str] | None:
    """The first value that programs write and JSON does not have: its path, and what it is."""
    if len(data) > 1 << 23 or not _ODD.search(data):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for path, _, leaf in leaves(value):
        if isinstance(leaf, float) and not math.isfinite(leaf):
            sign = json.dumps(leaf)
            return path, f"{sign} is no number of JSON: write null, or another number"
        if isinstance(leaf, str) and (half := _HALF.search(leaf)):
            escape = half[0].encode("ascii", "backslashreplace").decode()
            return path, f"{escape} is half of a character, the other half is missing"
    return None


def leaves(value: Any) -> Iterator[tuple[str, int, Any]]:
    """Each key and each value that holds no other, in order: its path below `$`, and its depth."""
    left = [("", 0, value)]
    while left:
        path, depth, part = left.pop()
        if isinstance(part, dict) and part:
            yield from ((path, depth, key) for key in part)
            left += [(f"{path}.{key}", depth + 1, inner) for key, inner in part.items()][::-1]
        elif isinstance(part, list) and part:
            left += [(f"{path}[{n}]", depth + 1, inner) for n, inner in enumerate(part)][::-1]
        else:
            yield path, depth, part


Shapes = Sequence[msgspec.json.Decoder[Any]]

_BLANK = re.compile(r"[ \t\r\n]*")
_VALUE = json.JSONDecoder()
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_OBJECT = msgspec.json.Decoder(dict[str, Raw])

_LIST = msgspec.json.Decoder(list[Raw])


class DocumentSniffer:
    """A document: its path and its bytes, and what these begin with; the rest when asked for.

    `first` is the first byte that is not blank, as text; empty where there is none. `path` is the
    document's in its source, such as `runs/a.csv#17`, and can be empty. `shapes` decode structs
    that list every key a log may have, refuse others, and leave UNSET those that are missing: what
    one made of the document is `shaped` once keys were asked for, which then took no pass of their
    own.
    """

    __slots__ = ("_keys", "_listed", "_shapes", "_top", "data", "first", "path", "shaped")

    def __init__(self, path: str, data: bytes, shapes: Shapes = ()) -> None:
        self.path = path
        self.data = data
        found = _NOT_BLANK.search(data)
        self.first = chr(data[found.start()]) if found else ""
        self._shapes = shapes
        # Plain fields: `cached_property` takes a lock, for each of millions of documents.
        self._top: Mapping[str, Raw] | None = None
        self._keys: Set[str] | None = None
        self._listed: Sequence[Raw] | None = None
        self.shaped: Struct | None = None

    @property
    def top(self) -> Mapping[str, Raw]:
        """The values of a JSON object by key, not decoded; nothing for another document.

        Where several follow one another, as in lines, it is the first.
        """
        if self._top is None:
            self._top = _top(self.data) if self.first == "{" else {}
        return self._top

    @property
    def keys(self) -> Set[str]:
        """The keys of `top`, of a JSON list those of all its objects; by a shape in no order."""
        if self._keys is None:
            if self.first == "[":
                self._keys = dict.fromkeys(
                    chain.from_iterable(map(object_of, self.listed()))
                ).keys()
            else:
                self._keys = self._keys_by_shape() or self.top.keys()
        return self._keys

    def _keys_by_shape(self) -> Set[str]:
        """The keys of a document that one of the shapes decodes, none for another."""
        for shape in self._shapes:
            try:
                whole = shape.decode(self.data)
            except UNDECODABLE:
                continue
            self.shaped = whole
            values = zip(whole.__struct_fields__, astuple(whole), strict=True)
            return {name for name, value in values if value is not UNSET}
        return frozenset()

    def has(self, keys: Set[str], least: int) -> bool:
        """Whether the document is an object with at least so many of the keys."""
        return self.first == "{" and len(keys & self.keys) >= least

    def within(self, key: str) -> Set[str]:
        """The keys of the object at a key of the document; none for another value."""
        return object_of(bytes(self.top.get(key, b""))).keys()

    def listed(self) -> Iterator[bytes]:
        """The entries of a JSON list, as they are written; none of what is no list."""
        if self._listed is None:
            try:
                self._listed = _LIST.decode(self.data)
            except UNDECODABLE:
                self._listed = ()
        return map(bytes, self._listed)

    def lists(self, key: str, *others: str) -> bool:
        """Whether any object in a JSON list has the key, and one of the others if there are some.

        The first that has is the last that is read.
        """
        return self.first == "[" and any(
            key in entry and (not others or not entry.keys().isdisjoint(others))
            for entry in map(object_of, self.listed())
        )


def begun(head: bytes) -> dict[str, Any]:
    """The values of the JSON object that a head begins with; null for the last if that is cut."""
    text = head.decode(errors="replace").lstrip()
    members: dict[str, Any] = {}
    end, sign = 0, text[:1]
    try:
        while sign in ("{", ","):
            key, end = _VALUE.raw_decode(text, _after(text, end + 1))
            members[key] = None
            # After the colon that stands between them.
            members[key], end = _VALUE.raw_decode(text, _after(text, _after(text, end) + 1))
            end = _after(text, end)
            sign = text[end : end + 1]
    except (ValueError, TypeError, RecursionError):
        pass
    return members


def _after(text: str, start: int) -> int:
    """The place of the first sign from a place on that is not blank."""
    found = _BLANK.match(text, start)
    return start if found is None else found.end()


def _top(data: bytes) -> Mapping[str, Raw]:
    end = data.find(b"\n")
    # Of a log in lines the first is enough: all of it would be read, and refused for the second.
    if data[end + 1 : end + 2] == b"{" and end > 0 and (first := object_of(data[:end])):
        return first
    try:
        return _OBJECT.decode(data)
    except UNDECODABLE:
        if not is_multiline_json(data[: 1 << 12]):
            return object_of(data.lstrip().partition(b"\n")[0])
        part = next(iter_json_values(iter((data,)), len(data)))
        return object_of((part.data or b"").lstrip())


def object_of(data: bytes) -> Mapping[str, Raw]:
    """A JSON object's values by key; nothing for what is none."""
    try:
        return _OBJECT.decode(data) if data[:1] == b"{" else {}
    except UNDECODABLE:
        return {}


# What a format gives held against the kind of its game: roles, outcome and tables of its own.
#
# Contracts allow the words of all games in a column; a game is held to those of its own kind.
# Whether it ended is said in several places, which agree.


def check_kind(game: GameRecord) -> None:
    """Raises BrokenDocument for a role, an outcome or a table that games of this kind lack."""
    kind = game_definitions().get(game.game_type)
    if kind is None:
        raise invalid_document_error("$", "the kind of game is known", repr(game.game_type))
    roles = {role.name for role in kind.roles}
    for seat in game.seats:
        if seat.role not in roles:
            raise _refused("a role", seat.role, roles, game)
    for table in game.events:
        if table not in kind.tables:
            raise _refused("a table", table, kind.tables, game)
    check_start(game)
    check_end(game)
    check_winners(game)


def check_start(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument for a start, which the document has at `at`, that no column holds."""
    try:
        _ = game.started_at and game.started_at.astimezone(UTC)
    except OverflowError as error:
        rule = "a time in UTC is of one of the years 1 to 9999"
        raise invalid_document_error(at, rule, str(game.started_at)) from error


def check_end(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument unless the outcome is one of its kind, and there where it is finished.

    `at` is where the document has its outcome.
    """
    outcome = game.outcome
    if outcome is not None and not game.is_finished:
        raise invalid_document_error(at, "an unfinished game has no outcome", repr(str(outcome)))
    outcomes = {ending.outcome for ending in game_definitions()[game.game_type].endings}
    if game.is_finished and outcome not in outcomes:
        raise _refused("an outcome", outcome, outcomes, game, at)


def check_winners(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument unless each result says who won if the game is finished, and only then.

    `at` is where the document has its results.
    """
    for one in game.results:
        if {one.is_win is not None, one.win_credit is not None} != {game.is_finished}:
            rule = (
                "a result of a finished game has `is_win` and `win_credit`"
                if game.is_finished
                else "a result of an unfinished game has neither `is_win` nor `win_credit`"
            )
            has = f"is_win {one.is_win}, win_credit {one.win_credit} ({one.role}, seat {one.seat})"
            raise invalid_document_error(at, rule, has)


def _refused(
    what: str, word: str | None, known: Iterable[str], game: GameRecord, at: str = "$"
) -> InvalidDocumentError:
    rule = f"{what} of {game.game_type} is one of: {', '.join(sorted(known)) or 'none'}"
    return invalid_document_error(
        at, rule, "there is none, and the game is finished" if word is None else repr(str(word))
    )
