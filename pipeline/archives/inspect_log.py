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

from pipeline.archives.members import ExpansionLimit, Member, UniqueNames, iter_zip_members
from pipeline.archives.sources import RejectedInputError, check_size, printable_member_name
from pipeline.archives.splitting import BYTE_ORDER_MARK, DocumentPart, read_bytes_within_limit

# The log's own header comes at its end: while a task runs, there is only the other.
_HEADER_MEMBER_NAMES = ("header.json", "_journal/start.json")
_SAMPLES_FOLDER = "samples/"
_SAMPLES_KEY_PATTERN = re.compile(rb',?\s*"samples"\s*:\s*\[\Z')
_MAX_SAMPLES_KEY_LENGTH = 1 << 8  # of the list of samples: its key, and blanks
# What a sample begins with, be it larger than the limit.
_ID_AND_EPOCH_PATTERN = re.compile(
    rb'\{\s*"id"\s*:\s*(-?[0-9]{1,40}|"(?:[^"\\]|\\.)*+")\s*,\s*"epoch"\s*:\s*([0-9]+)'
)
_QUOTE_OR_BRACKET = re.compile(rb'["{}\[\]]')
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_STRING_OR_NONSTANDARD_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(?:NaN|Infinity)', re.DOTALL
)
_LIST_SEPARATORS = b", \t\r\n"


class Role(Struct, omit_defaults=True):
    """The model that plays a role in an Inspect log."""

    model: str | None = None


class EvalHeader(Struct, omit_defaults=True):
    """The task and the models of an Inspect log, from its header."""

    task: str | None = None
    model: str | None = None
    model_roles: dict[str, Role | list[Role]] | None = None

    def model_of(self, role: str) -> str | None:
        """Return the model of a role, or None if the role is bound to several models."""
        bound = (self.model_roles or {}).get(role)
        if isinstance(bound, list):
            return None
        return (bound.model if bound else None) or self.model


class _Header(Struct):
    eval: EvalHeader


_HEADER = msgspec.json.Decoder(_Header)


def iter_zipped_samples(file: BinaryIO, expansion: ExpansionLimit, limit: int) -> Iterator[Member]:
    """Yield the samples of a zipped log as archive members.

    Raises:
        RejectedInputError: If the header of the log cannot be read.
    """
    headers = {
        member.name: read_bytes_within_limit(member.open(), limit)
        for member in iter_zip_members(file, expansion)
        if member.open and member.name in _HEADER_MEMBER_NAMES
    }
    if not headers:
        raise RejectedInputError("it has no header: it is not a log of Inspect, or it is cut short")
    head = _encode_task_and_models(
        next(headers[name] for name in _HEADER_MEMBER_NAMES if name in headers)
    )
    for member in iter_zip_members(file, expansion):
        if member.name.startswith(_SAMPLES_FOLDER):
            opened = member.open and partial(_open_with_header, head, member.open, limit)
            yield Member(member.name, member.n_bytes, opened)


def _open_with_header(
    head: bytes, read: Callable[[], Iterator[bytes]], limit: int
) -> Iterator[bytes]:
    yield _add_header(head, read_bytes_within_limit(read(), limit))


def iter_samples(pieces: Iterator[bytes], limit: int) -> Iterator[DocumentPart]:
    """Yield the samples of a log in JSON, each with the log's header."""
    segments = _iter_segments_ending_at_brackets(pieces)
    header, has_list = _read_json_before_samples(segments, limit)
    number, head, distinct = 0, _encode_task_and_models(header), UniqueNames()
    for number, (sample, is_whole) in enumerate(
        _iter_objects_of_sample_list(segments, limit), start=1
    ):
        name = _sample_name_from_id_and_epoch(sample)
        key = number if name is None else distinct.unique_name(name)
        yield DocumentPart(key, _add_header(head, sample) if is_whole else None)
    if has_list and sum(step for _, step in segments) != -1:  # the end of the object
        raise EOFError
    if number == 0:
        yield DocumentPart(None, _quote_nonstandard_numbers(header))


def _encode_task_and_models(header: bytes) -> bytes:
    """Return the models that a header names, as JSON."""
    try:
        return msgspec.json.encode(_HEADER.decode(_quote_nonstandard_numbers(header)).eval)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RejectedInputError(f"the header of the log is damaged: {error}") from None


def _sample_name_from_id_and_epoch(sample: bytes) -> str | None:
    """Return the name of a sample, made of its id and epoch; None if it lacks them."""
    if (match := _ID_AND_EPOCH_PATTERN.match(sample)) is None:
        return None
    try:
        sample_id = msgspec.json.decode(match[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return printable_member_name(f"{_SAMPLES_FOLDER}{sample_id}_epoch_{match[2].decode()}.json")


def _add_header(head: bytes, sample: bytes) -> bytes:
    return b'{"eval":%b,"sample":%b}' % (head, _quote_nonstandard_numbers(sample))


def _quote_nonstandard_numbers(data: bytes) -> bytes:
    """Quote numbers such as NaN that Python writes, but JSON does not allow."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _STRING_OR_NONSTANDARD_NUMBER.sub(
        lambda match: match[0] if match[0][:1] == b'"' else b'"%b"' % match[0], data
    )


def _read_json_before_samples(
    segments: Iterator[tuple[bytes, int]], limit: int
) -> tuple[bytes, bool]:
    """Return the JSON text before the list of samples, and whether there is such a list."""
    held, depth = bytearray(), 0
    for data, step in segments:
        held += data
        depth += step
        check_size(len(held), limit)
        if depth == 2 and (
            match := _SAMPLES_KEY_PATTERN.search(held, max(len(held) - _MAX_SAMPLES_KEY_LENGTH, 0))
        ):
            return bytes(held[: match.start()]) + b"}", True
    return bytes(held), False


def _iter_objects_of_sample_list(
    segments: Iterator[tuple[bytes, int]], limit: int
) -> Iterator[tuple[bytes, bool]]:
    """Yield each object of the list of samples, and whether it is complete."""
    held, n_bytes, depth = bytearray(), 0, 0
    for data, step in segments:
        n_bytes += len(data)
        held += data[: limit - len(held)]
        depth += step
        if depth < 0:
            return
        if depth == 0 and step:
            yield bytes(held).lstrip(_LIST_SEPARATORS), n_bytes <= limit
            held.clear()
            n_bytes = 0


def _iter_segments_ending_at_brackets(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Split JSON after each bracket outside of strings; yield +1 for an opening one, else -1."""
    is_text, left = False, b""
    for piece in pieces:
        data, start, place = left + piece, 0, 0
        while place < len(data):
            match = (_REST_OF_STRING if is_text else _QUOTE_OR_BRACKET).search(data, place)
            if is_text and match:
                place, is_text = match.end(), not match[1]
                if is_text:  # the first half of an escape may be left
                    break
            elif match is None:
                place = len(data)
            else:
                place, is_text = match.end(), match[0] == b'"'
                if not is_text:
                    yield data[start:place], 1 if match[0] in b"{[" else -1
                    start = place
        yield data[start:place], 0
        left = data[place:]
