"""Decoding that names the place and the rule where a document, or a part of one, is broken."""

import re
from typing import TypeVar

import msgspec

from pipeline.game import BrokenDocument, Fault

T = TypeVar("T")

_AT = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
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
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BrokenDocument(_fault(error, bytes(data), at)) from error


def not_json(error: Exception, data: bytes, at: str) -> BrokenDocument:
    """The error to raise for data at `at` that a decoder refuses because they are no JSON."""
    return broken(at, WELL_FORMED, _why_not_json(error, data))


def _fault(error: Exception, data: bytes, at: str) -> Fault:
    if not isinstance(error, msgspec.ValidationError):
        return not_json(error, data, at).fault
    found = _AT.match(str(error))
    if found is None:
        return Fault(at, "every field has its type", str(error))
    return Fault(at + found["path"][1:], "every field has its type", found["message"])


def _why_not_json(error: Exception, data: bytes) -> str:
    """Why a text does not decode, without Python's own words."""
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"byte 0x{data[wrong.start]:02x} at position {wrong.start:,} is not UTF-8"
    if not data.strip():
        return "the document is empty"
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply"
    if str(error) == "Input data was truncated":
        return "the text ends too early, or an escape such as \\ud83e lacks its second half"
    return str(error)
