"""What every format is shown of a document, to say whether it is one of its own."""

import re
from collections.abc import Iterator, KeysView, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

Shapes = Sequence[msgspec.json.Decoder[Any]]

_OPENING = (b"{", b"[")
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class Look:
    """A document: its path and its bytes, and what these begin with; the rest when asked for.

    `first` is the first byte that is not blank, as text; empty where there is none. `path` is the
    document's in its source, such as `runs/a.csv#17`, and can be empty. `shapes` decode structs
    that list every key a log may have, refuse others, and leave UNSET those that are missing: what
    one made of the document is `shaped` once keys were asked for, which then took no pass of their
    own.
    """

    __slots__ = ("_keys", "_shapes", "_top", "data", "first", "path", "shaped")

    def __init__(self, path: str, data: bytes, shapes: Shapes = ()) -> None:
        self.path = path
        self.data = data
        self.first = _first(data)
        self._shapes = shapes
        # Plain fields: `cached_property` takes a lock, for each of millions of documents.
        self._top: Mapping[str, Raw] | None = None
        self._keys: Set[str] | None = None
        self.shaped: Struct | None = None

    @property
    def top(self) -> Mapping[str, Raw]:
        """The values of a JSON object by key, not decoded; nothing for another document.

        Where each line is an object, it is the one on the first line.
        """
        if self._top is None:
            self._top = _top(self.data) if self.first == "{" else {}
        return self._top

    @property
    def keys(self) -> Set[str]:
        """The keys of `top`, of a JSON list those of all its objects; by a shape in no order."""
        if self._keys is None:
            if self.first == "[":
                self._keys = _keys(self.data)
            else:
                self._keys = self._keys_by_shape() or self.top.keys()
        return self._keys

    def _keys_by_shape(self) -> Set[str]:
        """The keys of a document that one of the shapes decodes, none for another."""
        for shape in self._shapes:
            try:
                whole = shape.decode(self.data)
            except _UNDECODABLE:
                continue
            self.shaped = whole
            return {name for name in whole.__struct_fields__ if getattr(whole, name) is not UNSET}
        return frozenset()

    def lists(self, key: str) -> bool:
        """Whether any object in a JSON list has the key; the first that has it is the last read."""
        return self.first == "[" and any(key in entry for entry in _entries(self.data))


def _first(data: bytes) -> str:
    if data[:1] in _OPENING:
        return data[:1].decode()
    found = _NOT_BLANK.search(data)
    return chr(data[found.start()]) if found else ""


def _top(data: bytes) -> Mapping[str, Raw]:
    end = data.find(b"\n")
    # Of a log in lines the first is enough: all of it would be read, and refused for the second.
    if data[end + 1 : end + 2] == b"{" and end > 0 and (first := _object(data[:end])):
        return first
    try:
        return _OBJECT.decode(data)
    except _UNDECODABLE:
        return _object(data.lstrip().partition(b"\n")[0])


def _keys(data: bytes) -> KeysView[str]:
    """The keys of all objects in a JSON list, in their order."""
    return dict.fromkeys(chain.from_iterable(_entries(data))).keys()


def _entries(data: bytes) -> Iterator[Mapping[str, Raw]]:
    """The values of each object in a JSON list by key; none for another document."""
    try:
        entries = _LIST.decode(data)
    except _UNDECODABLE:
        return iter(())
    return map(_object, map(bytes, entries))


def _object(data: bytes) -> Mapping[str, Raw]:
    """A JSON object's values by key; nothing for what is none."""
    try:
        return _OBJECT.decode(data) if data[:1] == b"{" else {}
    except _UNDECODABLE:
        return {}
