"""What every format is shown of a document, to say whether it is one of its own."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import astuple

from pipeline.archives.splitting import is_spread, values

Shapes = Sequence[msgspec.json.Decoder[Any]]

_SPREAD_BYTES = 1 << 12
_BLANK = re.compile(r"[ \t\r\n]*")
_VALUE = json.JSONDecoder()
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_OBJECT = msgspec.json.Decoder(dict[str, Raw])

_LIST = msgspec.json.Decoder(list[Raw])
UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class Look:
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
        return object_of(_first_value(data))


def _first_value(data: bytes) -> bytes:
    if not is_spread(data[:_SPREAD_BYTES]):
        return data.lstrip().partition(b"\n")[0]
    first = next(values(iter((data,)), len(data)))
    return (first.data or b"").lstrip()


def object_of(data: bytes) -> Mapping[str, Raw]:
    """A JSON object's values by key; nothing for what is none."""
    try:
        return _OBJECT.decode(data) if data[:1] == b"{" else {}
    except UNDECODABLE:
        return {}
