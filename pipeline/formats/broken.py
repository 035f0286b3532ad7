"""Decoding that names the place and the rule where a document, or a part of one, is broken."""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import msgspec

from pipeline.archives.failures import why_no_utf8
from pipeline.game import BrokenDocument, Fault

T = TypeVar("T")


class _Faulty(Protocol):
    faults: list[Fault]


F = TypeVar("F", bound=_Faulty)

_AT = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
_ODD = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")
_HALF = re.compile(r"[\ud800-\udfff]")
_MOST_SEARCHED = 1 << 23
_FIELD = re.compile(r"Object (?P<how>missing|contains).* field `(?P<name>.*)`", re.DOTALL)
_WANTED = re.compile(r"Expected `(?P<types>[^`]*)`(?P<limit>[^,]*)(?:, got `(?P<has>[^`]*)`)?")
_NOT_POSSIBLE = re.compile(r"Invalid (?:enum )?value ")
_IN_WORDS = {
    "str": "a text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "datetime": "a time such as 2024-05-01T12:00:00Z",
}
_LONGEST_NAME = 100
TYPED = "every field has its type"
WELL_FORMED = "the document is well-formed JSON in UTF-8"


def broken(json_path: str, rule: str, message: str) -> BrokenDocument:
    """The error to raise for a document that breaks a rule at a JSON path.

    A message that is a value of the log may be empty, and then says so.
    """
    return BrokenDocument(Fault(json_path, rule, message or "it is empty"))


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, at: str = "$") -> T:
    """What the decoder makes of the data, which stands at `at`; raises BrokenDocument."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise BrokenDocument(mistyped(error, at)) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise not_json(error, bytes(data), at) from error


def each(listed: Any, kind: type[T], at: str, faults: list[Fault]) -> Iterator[tuple[str, T]]:
    """The entries of the list `at`, each with its place; of one that is no `kind`, a fault.

    So one that is broken leaves the others, and a list that is none has no entries.
    """
    for number, entry in enumerate(_converted(listed, list[Any], at, faults) or ()):
        place = f"{at}[{number}]"
        if (converted := _converted(entry, kind, place, faults)) is not None:
            yield place, converted


def _converted(value: Any, kind: type[T], at: str, faults: list[Fault]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        faults.append(mistyped(error, at))
        return None


def but_for_a_cut_line(build: Callable[[bytes], F], data: bytes) -> F:
    """What is built of a document's lines; where the last was cut, of those before it.

    So a writer leaves it that was killed: broken, and without an end. It is then a fault.
    """
    try:
        return build(data)
    except BrokenDocument as error:
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
        raise broken("$", rule, _not_utf8(data, error)) from error


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    return f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"


def not_json(error: Exception, data: bytes, at: str) -> BrokenDocument:
    """The error to raise for data at `at` that a decoder refuses because they are no JSON."""
    path, why = _odd_value(data) or ("", _why_not_json(error, data))
    return broken(at + path, WELL_FORMED, why)


def mistyped(error: msgspec.ValidationError, at: str = "$") -> Fault:
    """The fault that a value at `at`, or one in it, has another type than its field, and which."""
    found = _AT.match(str(error))
    message, path = (found["message"], at + found["path"][1:]) if found else (str(error), at)
    if field := _FIELD.fullmatch(message):
        name = field["name"][:_LONGEST_NAME]
        if field["how"] == "missing":
            return Fault(path, TYPED, f"`{name}` is missing")
        return Fault(f"{path}.{name}", TYPED, f"`{name}` is no field here: it may be misspelt")
    name = path.removesuffix("[...]").rpartition(".")[2]
    return Fault(path, TYPED, f"`{name}` {_in_words(message)}")


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


def _why_not_json(error: Exception, data: bytes) -> str:
    """Why a text does not decode, without Python's own words."""
    if why := why_no_utf8(data):
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
    if len(data) > _MOST_SEARCHED or not _ODD.search(data):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return next(filter(None, map(_why_odd, leaves(value))), None)


def _why_odd(leaf: tuple[str, int, Any]) -> tuple[str, str] | None:
    path, _, value = leaf
    if isinstance(value, float) and not math.isfinite(value):
        sign = json.dumps(value)
        return path, f"{sign} is no number of JSON: write null, or another number"
    if isinstance(value, str) and (half := _HALF.search(value)):
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
