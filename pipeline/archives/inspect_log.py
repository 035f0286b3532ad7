"""Logs of Inspect, cut into their samples: `.eval`, a zip with a member for each, or one of JSON.

A part is `{"eval": {"task", "model", "model_roles"}, "sample": {...}}`: what the log's header says
of the models, and a sample as it was logged. A number that JSON lacks, such as NaN, is a text.
A sample of JSON has the name that it would have in a zip, so it is the same wherever it stands.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

import msgspec
from msgspec import Struct

from pipeline.archives.members import Distinct, Expansion, Member, zip_members
from pipeline.archives.sources import RejectedInputError, check_size, label
from pipeline.archives.splitting import BYTE_ORDER_MARK, DocumentPart, read_whole

# The log's own header comes at its end: while a task runs, there is only the other.
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLES = "samples/"
_LIST = re.compile(rb',?\s*"samples"\s*:\s*\[\Z')
_LONGEST_START = 1 << 8  # of the list of samples: its key, and blanks
# What a sample begins with, be it larger than the limit.
_BEGINNING = re.compile(
    rb'\{\s*"id"\s*:\s*(-?[0-9]{1,40}|"(?:[^"\\]|\\.)*+")\s*,\s*"epoch"\s*:\s*([0-9]+)'
)
_SIGN = re.compile(rb'["{}\[\]]')
_REST_OF_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_ODD = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(?:NaN|Infinity)', re.DOTALL)
_BETWEEN = b", \t\r\n"


class Role(Struct, omit_defaults=True):
    model: str | None = None


class EvalHeader(Struct, omit_defaults=True):
    task: str | None = None
    model: str | None = None
    model_roles: dict[str, Role | list[Role]] | None = None

    def model_of(self, role: str) -> str | None:
        """Return the model that a call in this role goes to; null for one of several models."""
        bound = (self.model_roles or {}).get(role)
        if isinstance(bound, list):
            return None
        return (bound.model if bound else None) or self.model


class _Header(Struct):
    eval: EvalHeader


_HEADER = msgspec.json.Decoder(_Header)


def sample_members(file: BinaryIO, expansion: Expansion, limit: int) -> Iterator[Member]:
    """Yield the samples of a zip as members; raises `UnfitError` where its header cannot be read.

    A failure in a sample is its own. Neither header nor sample may be larger than the limit.
    """
    headers = {
        member.name: read_whole(member.open(), limit)
        for member in zip_members(file, expansion)
        if member.open and member.name in _HEADERS
    }
    if not headers:
        raise RejectedInputError("it has no header: it is not a log of Inspect, or it is cut short")
    head = _head(next(headers[name] for name in _HEADERS if name in headers))
    for member in zip_members(file, expansion):
        if member.name.startswith(_SAMPLES):
            opened = member.open and partial(_opened, head, member.open, limit)
            yield Member(member.name, member.n_bytes, opened)


def _opened(head: bytes, read: Callable[[], Iterator[bytes]], limit: int) -> Iterator[bytes]:
    yield _with_head(head, read_whole(read(), limit))


def iter_samples(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield the samples of a log that is a JSON object, in which its header comes before them.

    One sample at a time is in memory. What a log without samples has is one part, as it is.
    """
    segments = _segments(pieces)
    header, has_list = _before_samples(segments, limit)
    number, head, distinct = 0, _head(header), Distinct()
    for number, (sample, is_whole) in enumerate(_elements(segments, limit), start=1):
        name = _name(sample)
        key = number if name is None else distinct.unique_name(name)
        yield DocumentPart(key, _with_head(head, sample) if is_whole else None)
    if has_list and sum(step for _, step in segments) != -1:  # the end of the object
        raise EOFError
    if number == 0:
        yield DocumentPart(None, _as_json(header))


def _head(header: bytes) -> bytes:
    """Return what a header says of the models, as JSON."""
    try:
        return msgspec.json.encode(_HEADER.decode(_as_json(header)).eval)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RejectedInputError(f"the header of the log is damaged: {error}") from None


def _name(sample: bytes) -> str | None:
    """Return the name of a sample, by the id and epoch that it begins with; null without them."""
    if (found := _BEGINNING.match(sample)) is None:
        return None
    try:
        sample_id = msgspec.json.decode(found[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return label(f"{_SAMPLES}{sample_id}_epoch_{found[2].decode()}.json")


def _with_head(head: bytes, sample: bytes) -> bytes:
    return b'{"eval":%b,"sample":%b}' % (head, _as_json(sample))


def _as_json(data: bytes) -> bytes:
    """Return the data with quotes around each number that Python writes and JSON lacks."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _ODD.sub(lambda found: found[0] if found[0][:1] == b'"' else b'"%b"' % found[0], data)


def _before_samples(segments: Iterator[tuple[bytes, int]], limit: int) -> tuple[bytes, bool]:
    """Return the object as it is before its samples, and whether it has a list of them."""
    held, depth = bytearray(), 0
    for data, step in segments:
        held += data
        depth += step
        check_size(len(held), limit)
        if depth == 2 and (found := _LIST.search(held, max(len(held) - _LONGEST_START, 0))):
            return bytes(held[: found.start()]) + b"}", True
    return bytes(held), False


def _elements(segments: Iterator[tuple[bytes, int]], limit: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the objects of the list that was begun, and whether each is all there.

    Of one larger than the limit it is what it begins with.
    """
    held, n_bytes, depth = bytearray(), 0, 0
    for data, step in segments:
        n_bytes += len(data)
        held += data[: limit - len(held)]
        depth += step
        if depth < 0:
            return
        if depth == 0 and step:
            yield bytes(held).lstrip(_BETWEEN), n_bytes <= limit
            held.clear()
            n_bytes = 0


def _segments(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield JSON cut behind each bracket outside of texts, with 1 for one that opens, else -1.

    What a piece has after its last bracket comes with 0.
    """
    is_text, left = False, b""
    for piece in pieces:
        data, start, place = left + piece, 0, 0
        while place < len(data):
            found = (_REST_OF_TEXT if is_text else _SIGN).search(data, place)
            if is_text and found:
                place, is_text = found.end(), not found[1]
                if is_text:  # the first half of an escape may be left
                    break
            elif found is None:
                place = len(data)
            else:
                place, is_text = found.end(), found[0] == b'"'
                if not is_text:
                    yield data[start:place], 1 if found[0] in b"{[" else -1
                    start = place
        yield data[start:place], 0
        left = data[place:]
