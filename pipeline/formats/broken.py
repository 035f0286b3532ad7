"""Decoding that names the place and the rule where a document, or a part of one, is broken."""

import re
from typing import TypeVar

import msgspec

from pipeline.game import BrokenDocument, Fault

T = TypeVar("T")

_AT = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
WELL_FORMED = "the document is well-formed JSON in UTF-8"


def broken(json_path: str, rule: str, message: str) -> BrokenDocument:
    """The error to raise for a document that breaks a rule at a JSON path."""
    return BrokenDocument(Fault(json_path, rule, message))


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw, at: str = "$") -> T:
    """What the decoder makes of the data, which stands at `at`; raises BrokenDocument."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BrokenDocument(_fault(error, at)) from error


def _fault(error: Exception, at: str) -> Fault:
    if not isinstance(error, msgspec.ValidationError):
        return Fault(at, WELL_FORMED, str(error))
    found = _AT.match(str(error))
    if found is None:
        return Fault(at, "every field has its type", str(error))
    return Fault(at + found["path"][1:], "every field has its type", found["message"])
