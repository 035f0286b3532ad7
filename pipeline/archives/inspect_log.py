"""Split logs of Inspect into their samples.

A log is a zip (`.eval`) with a member for each sample, or one JSON file. A part is `{"eval":
{"task", "model", "model_roles"}, "sample": {...}}`: the models that the header of the log names,
and a sample. Numbers that JSON does not allow, such as NaN, become strings. A sample in a JSON log
gets the name that it would have in a zip, so that both are the same document.
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

# `header.json` is written when the task ends; until then, a log has only `start.json`.
_HEADER_MEMBER_NAMES = ("header.json", "_journal/start.json")
_SAMPLES_FOLDER = "samples/"
_SAMPLES_KEY_PATTERN = re.compile(rb',?\s*"samples"\s*:\s*\[\Z')
_MAX_SAMPLES_KEY_LENGTH = 1 << 8
# The beginning of a sample, which is read even if the sample is larger than the limit.
_ID_AND_EPOCH_PATTERN = re.compile(
    rb'\{\s*"id"\s*:\s*(-?[0-9]{1,40}|"(?:[^"\\]|\\.)*+")\s*,\s*"epoch"\s*:\s*([0-9]+)'
)
_QUOTE_OR_BRACKET = re.compile(rb'["{}\[\]]')
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_STRING_OR_NONSTANDARD_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(?:NaN|Infinity)', re.DOTALL
)
_LIST_SEPARATORS = b", \t\r\n"


_SegmentAndDepthChange = tuple[bytes, int]


class Role(Struct, omit_defaults=True):
    """The model that plays a role in an Inspect log."""

    model: str | None = None


class EvalHeader(Struct, omit_defaults=True):
    """The header of an Inspect log: the task and its models."""

    task: str | None = None
    model: str | None = None
    model_roles: dict[str, Role | list[Role]] | None = None

    def model_of_role(self, role: str) -> str | None:
        """Return the model that plays a role; None if several models do.

        Args:
            role: The name of the role.

        Returns:
            The model of the role, or else the model of the log.
        """
        bound = (self.model_roles or {}).get(role)
        if isinstance(bound, list):
            return None
        return (bound.model if bound else None) or self.model


class _Header(Struct):
    eval: EvalHeader


_HEADER = msgspec.json.Decoder(_Header)


def iter_zipped_samples(
    file: BinaryIO, expansion: ExpansionLimit, max_document_bytes: int
) -> Iterator[Member]:
    """Yield the samples of a zipped log as archive members, each with the header of the log.

    Raises:
        RejectedInputError: If the header of the log cannot be read.
    """
    headers = {
        member.name: read_bytes_within_limit(member.open(), max_document_bytes)
        for member in iter_zip_members(file, expansion)
        if member.open and member.name in _HEADER_MEMBER_NAMES
    }
    if not headers:
        raise RejectedInputError("it has no header: it is not a log of Inspect, or it is cut short")
    encoded_header = _encode_task_and_models(
        next(headers[name] for name in _HEADER_MEMBER_NAMES if name in headers)
    )
    for member in iter_zip_members(file, expansion):
        if member.name.startswith(_SAMPLES_FOLDER):
            open_sample = member.open and partial(
                _open_with_header, encoded_header, member.open, max_document_bytes
            )
            yield Member(member.name, member.n_bytes, open_sample)


def _open_with_header(
    encoded_header: bytes, open_member: Callable[[], Iterator[bytes]], max_document_bytes: int
) -> Iterator[bytes]:
    yield _add_header(encoded_header, read_bytes_within_limit(open_member(), max_document_bytes))


def iter_samples_of_json_log(
    pieces: Iterator[bytes], max_document_bytes: int
) -> Iterator[DocumentPart]:
    """Yield the samples of a JSON log as documents, each with the header of the log.

    Args:
        pieces: The bytes of the log.
        max_document_bytes: Maximum number of bytes of a sample; a larger one has no data.

    Yields:
        The samples by name, or by number if they have no id. A log without samples is one document.

    Raises:
        RejectedInputError: If the header cannot be read.
        EOFError: If the log is truncated.
    """
    segments = _iter_segments_ending_at_brackets(pieces)
    header, has_samples = _read_json_before_samples(segments, max_document_bytes)
    number, encoded_header, unique_names = 0, _encode_task_and_models(header), UniqueNames()
    for number, (sample, is_complete) in enumerate(
        _iter_sample_objects_with_completeness(segments, max_document_bytes), start=1
    ):
        name = _sample_name_from_id_and_epoch(sample)
        key = number if name is None else unique_names.unique_name(name)
        yield DocumentPart(key, _add_header(encoded_header, sample) if is_complete else None)
    if has_samples and sum(step for _, step in segments) != -1:  # The log's object must end.
        raise EOFError
    if number == 0:
        yield DocumentPart(None, _quote_nonstandard_numbers(header))


def _encode_task_and_models(header: bytes) -> bytes:
    """Return the task and models in the header of a log, as JSON."""
    try:
        return msgspec.json.encode(_HEADER.decode(_quote_nonstandard_numbers(header)).eval)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RejectedInputError(f"the header of the log is damaged: {error}") from None


def _sample_name_from_id_and_epoch(sample: bytes) -> str | None:
    """Return the name that a sample would have in a zip; None without an id and epoch."""
    if (match := _ID_AND_EPOCH_PATTERN.match(sample)) is None:
        return None
    try:
        sample_id = msgspec.json.decode(match[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return printable_member_name(f"{_SAMPLES_FOLDER}{sample_id}_epoch_{match[2].decode()}.json")


def _add_header(encoded_header: bytes, sample: bytes) -> bytes:
    return b'{"eval":%b,"sample":%b}' % (encoded_header, _quote_nonstandard_numbers(sample))


def _quote_nonstandard_numbers(data: bytes) -> bytes:
    """Convert numbers that Python writes but JSON does not allow, such as NaN, to strings."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _STRING_OR_NONSTANDARD_NUMBER.sub(
        lambda match: match[0] if match[0][:1] == b'"' else b'"%b"' % match[0], data
    )


def _read_json_before_samples(
    segments: Iterator[_SegmentAndDepthChange], max_document_bytes: int
) -> tuple[bytes, bool]:
    """Return the JSON before the list of samples, and whether the log has such a list."""
    json_before, depth = bytearray(), 0
    for data, depth_change in segments:
        json_before += data
        depth += depth_change
        check_size(len(json_before), max_document_bytes)
        if depth == 2 and (
            match := _SAMPLES_KEY_PATTERN.search(
                json_before, max(len(json_before) - _MAX_SAMPLES_KEY_LENGTH, 0)
            )
        ):
            return bytes(json_before[: match.start()]) + b"}", True
    return bytes(json_before), False


def _iter_sample_objects_with_completeness(
    segments: Iterator[_SegmentAndDepthChange], max_document_bytes: int
) -> Iterator[tuple[bytes, bool]]:
    """Yield each object in the list of samples, and whether it is complete.

    An object of more than `max_document_bytes` is truncated.
    """
    sample, n_bytes, depth = bytearray(), 0, 0
    for data, depth_change in segments:
        n_bytes += len(data)
        sample += data[: max_document_bytes - len(sample)]
        depth += depth_change
        if depth < 0:
            return
        if depth == 0 and depth_change:
            yield bytes(sample).lstrip(_LIST_SEPARATORS), n_bytes <= max_document_bytes
            sample.clear()
            n_bytes = 0


def _iter_segments_ending_at_brackets(pieces: Iterator[bytes]) -> Iterator[_SegmentAndDepthChange]:
    """Split JSON after each bracket outside of strings.

    Each segment has the change of the depth at its end: 1 after an opening bracket, -1 after a
    closing one, and 0 at the end of a piece.
    """
    is_in_string, unsearched = False, b""
    for piece in pieces:
        data, start, position = unsearched + piece, 0, 0
        while position < len(data):
            match = (_REST_OF_STRING if is_in_string else _QUOTE_OR_BRACKET).search(data, position)
            if is_in_string and match:
                position, is_in_string = match.end(), not match[1]
                if is_in_string:  # An escape may be incomplete.
                    break
            elif match is None:
                position = len(data)
            else:
                position, is_in_string = match.end(), match[0] == b'"'
                if not is_in_string:
                    yield data[start:position], 1 if match[0] in b"{[" else -1
                    start = position
        yield data[start:position], 0
        unsearched = data[position:]
