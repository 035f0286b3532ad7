"""What is in one file: a document, several parts of it, or the members of an archive."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from typing import BinaryIO, NamedTuple, cast

from pipeline.archives.compression import Expansion, Readable, chunks, decompressed, fetched
from pipeline.archives.failures import (
    UNREADABLE,
    LostArchiveError,
    check_size,
    encoding_of,
    is_pointer,
    too_large,
    why,
    why_unclaimed,
)
from pipeline.archives.inspect_log import sample_members
from pipeline.archives.members import Distinct, Member
from pipeline.archives.names import (
    INSPECT,
    PLAIN,
    Form,
    form_of,
    label,
    unlike_a_part,
    why_passed_over,
)
from pipeline.archives.splitting import (
    Splitter,
    begins_json,
    is_spread,
    lines,
    values,
    whole,
)
from pipeline.archives.tar import tar_members
from pipeline.archives.zip import spooled, zip_members


class Part(NamedTuple):
    """A part of a file, and `path` what its own path continues with.

    That is empty for the file as a whole, `#3` for a line or other part, `/x/0.json` for a member
    or a part that has a name.
    """

    path: str
    data: bytes | None = None
    reason: str | None = None
    is_broken: bool = False


_NOTHING = "no document in it"
_NO_INSPECT = "not a log: the name ends in .eval"
_NESTED = "an archive inside an archive is not opened: unpack the outer one, and ingest the folder"

Opened = AbstractContextManager[Readable]
# Of the path and the first bytes of a file: how it is to be cut; null where nobody asks for it.
Choose = Callable[[str, bytes], Splitter | None]

# What a format is shown of a file; where none asks for it, the form of JSON is told by less.
HEAD_BYTES = 1 << 16
_FORM_BYTES = 1 << 12


class Reading(NamedTuple):
    """How a file is read: no document of more bytes than the limit, no more than it may expand to.

    `path` is the file's.
    """

    path: str
    choose: Choose
    limit: int
    expansion: Expansion


def parts(opened: Opened, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the parts of a file, and where reading fails, last the file itself as broken.

    A document that is too large is named and not read; where more comes out of the file than its
    expansion allows, reading fails.
    """
    last: str | None = None
    try:
        with opened as file:
            for part in (
                _archived(file, form, reading)
                if form.is_archive
                else _logs(chunks(file), "", form, reading)
            ):
                last = part.path
                yield part
        if last is None:
            yield Part("", reason=_NOTHING)
    except (*UNREADABLE, LostArchiveError) as error:
        yield _lost("", last, error)


def _lost(path: str, last: str | None, error: BaseException) -> Part:
    """Return what is lost of a file: all, or what comes after the last part that could be read."""
    reason = why(error)
    if last is not None:
        reason = f"everything after {last.lstrip('/') or 'the document'} is lost: {reason}"
    # A file that was read as one document is in the lake by its own path.
    return Part(f"{path}#2" if last == "" else path, None, reason, is_broken=True)


def _logs(pieces: Iterator[bytes], path: str, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the documents of what is no archive, at a path within the file."""
    head, content = _with_head(decompressed(pieces, form.codec, reading.expansion))
    splitter, head = reading.choose(reading.path + path, head), head[:_FORM_BYTES]
    splitter = splitter or _by_form(form, head)
    if splitter is None:
        yield Part(unlike_a_part(path), reason=why_unclaimed(head))
        return
    for key, data in splitter(content, reading.limit):
        place = path if key is None else f"{path}{'/' if isinstance(key, str) else '#'}{key}"
        if data is None:
            yield Part(place, None, too_large(reading.limit), is_broken=True)
        else:
            yield Part(place, data)


def _by_form(form: Form, head: bytes) -> Splitter | None:
    """Return how a file that no format asks for is cut; null where it is no JSON."""
    if form.kind == "json" or is_pointer(head):
        return whole
    if form.kind == "jsonl":
        return whole if encoding_of(head) else values if is_spread(head) else lines
    return values if begins_json(head) else None


def _with_head(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return what the pieces begin with, and all of them.

    Where reading fails so early, what was read until then comes before the failure.
    """
    head = b""
    try:
        for piece in pieces:
            head += piece
            if len(head) >= HEAD_BYTES:
                break
    except (*UNREADABLE, LostArchiveError) as error:
        if not head:
            raise
        return head, _then_fail(head, error)
    return head[:HEAD_BYTES], chain((head,), pieces)


def _then_fail(head: bytes, error: Exception) -> Iterator[bytes]:
    yield head
    raise error


def _archived(file: Readable, form: Form, reading: Reading) -> Iterator[Part]:
    """Yield the parts of all members of an archive, no two with the same path."""
    distinct = Distinct()
    if form == INSPECT and not _is_zip(cast(BinaryIO, file)):
        yield Part(unlike_a_part(""), reason=_NO_INSPECT)
        return
    for member in _members(file, form, reading):
        name = member.name.removeprefix("./")
        yield from _member(member, name, distinct.name("/" + label(name)), reading)


def _is_zip(file: BinaryIO) -> bool:
    """Say whether a file begins as a zip, or stands for one that Git LFS has not fetched."""
    head = file.read(_FORM_BYTES)
    file.seek(0)
    return head.startswith(b"PK") or is_pointer(head)


def _members(file: Readable, form: Form, reading: Reading) -> Iterator[Member]:
    expansion = reading.expansion
    is_inspect = form.kind == INSPECT.kind
    in_zip = partial(sample_members, limit=reading.limit) if is_inspect else zip_members
    if form.kind == "tar":
        pieces = fetched(chunks(file))
        yield from tar_members(decompressed(pieces, form.codec, expansion), expansion)
    elif form.codec is None:
        yield from in_zip(cast(BinaryIO, file), expansion)
    else:
        with spooled(decompressed(chunks(file), form.codec, expansion)) as unpacked:
            yield from in_zip(unpacked, expansion)


def _member(member: Member, name: str, path: str, reading: Reading) -> Iterator[Part]:
    """Yield the parts of a member of an archive."""
    form = form_of(name)
    if member.open is None:
        yield Part(unlike_a_part(path), reason="not a regular file")
    elif reason := why_passed_over(name):
        yield Part(unlike_a_part(path), reason=reason)
    elif form.is_archive:
        yield Part(path, None, _NESTED, is_broken=True)
    else:
        last: str | None = None
        try:
            if form == PLAIN:
                check_size(member.n_bytes, reading.limit)
            for part in _logs(member.open(), path, form, reading):
                last = part.path.removeprefix(path)
                yield part
            if last is None:
                yield Part(path, reason=_NOTHING)
        except UNREADABLE as error:
            yield _lost(path, last, error)
