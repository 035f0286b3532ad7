"""What is in one file: a document, a document a line, or the members of an archive."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, cast

from pipeline.archives.compression import chunks, decompressed, read_lines, read_whole
from pipeline.archives.expansion import Expansion
from pipeline.archives.failures import UNREADABLE, LostArchiveError, check_size, too_large, why
from pipeline.archives.member import Member
from pipeline.archives.meter import Metered
from pipeline.archives.names import PLAIN, Form, form_of, label, unlike_a_line, why_passed_over
from pipeline.archives.repeats import Distinct
from pipeline.archives.tar import tar_members
from pipeline.archives.zip import spooled, zip_members


class Part(NamedTuple):
    """A part of a file, and `path` what its own path continues with.

    That is empty for the file as a whole, `#3` for a line, `/x/0.json` for a member.
    """

    path: str
    data: bytes | None = None
    reason: str | None = None
    is_broken: bool = False


_NOTHING = "no document in it"
_NESTED = "an archive inside an archive is not opened: unpack the outer one, and ingest the folder"

Opener = Callable[[], AbstractContextManager[Metered]]


def parts(open_file: Opener, form: Form, limit: int, expansion: Expansion) -> Iterator[Part]:
    """Yield the parts of a file, and where reading fails, last the file itself as broken.

    A document of more bytes than the limit is named and not read; where more comes out of the
    file than its expansion allows, reading fails.
    """
    last: str | None = None
    try:
        with open_file() as file:
            for part in (
                _archived(file, form, limit, expansion)
                if form.is_archive
                else _logs(chunks(file), form, limit, expansion)
            ):
                last = part.path
                yield part
        if last is None:
            yield Part("", reason=_NOTHING)
    except (*UNREADABLE, LostArchiveError) as error:
        yield Part("", None, _loss(last, error), is_broken=True)


def _loss(last: str | None, error: BaseException) -> str:
    """Say how much is lost: all, or what comes after the last part that could be read."""
    reason = why(error)
    return reason if last is None else f"everything after {last.lstrip('/')} is lost: {reason}"


def _logs(pieces: Iterator[bytes], form: Form, limit: int, expansion: Expansion) -> Iterator[Part]:
    """Yield the documents of what is no archive."""
    content = decompressed(pieces, form.codec, expansion)
    if form.kind == "json":
        yield Part("", read_whole(content, limit))
        return
    for number, line in read_lines(content, limit):
        if line is None:
            yield Part(f"#{number}", None, too_large(limit), is_broken=True)
        else:
            yield Part(f"#{number}", line.rstrip(b"\r\n"))


def _archived(file: Metered, form: Form, limit: int, expansion: Expansion) -> Iterator[Part]:
    """Yield the parts of all members of an archive, no two with the same path."""
    distinct = Distinct()
    for member in _members(file, form, expansion):
        name = member.name.removeprefix("./")
        yield from _member(member, name, distinct.name("/" + label(name)), limit, expansion)


def _members(file: Metered, form: Form, expansion: Expansion) -> Iterator[Member]:
    if form.kind == "tar":
        yield from tar_members(decompressed(chunks(file), form.codec, expansion), expansion)
    elif form.codec is None:
        yield from zip_members(cast(BinaryIO, file), expansion)
    else:
        with spooled(decompressed(chunks(file), form.codec, expansion)) as unpacked:
            yield from zip_members(unpacked, expansion)


def _member(
    member: Member, name: str, path: str, limit: int, expansion: Expansion
) -> Iterator[Part]:
    """Yield the parts of a member of an archive."""
    form = form_of(name)
    if member.open is None:
        yield Part(unlike_a_line(path), reason="not a regular file")
    elif reason := why_passed_over(name):
        yield Part(unlike_a_line(path), reason=reason)
    elif form.is_archive:
        yield Part(path, None, _NESTED, is_broken=True)
    else:
        last: str | None = None
        try:
            if form == PLAIN:
                check_size(member.n_bytes, limit)
            for part in _logs(member.open(), form, limit, expansion):
                last = part.path
                yield Part(path + last, *part[1:])
            if last is None:
                yield Part(path, reason=_NOTHING)
        except UNREADABLE as error:
            yield Part(path, None, _loss(last, error), is_broken=True)
