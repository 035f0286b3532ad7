"""What is in one file: a document, a document a line, or the members of an archive."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, BinaryIO, NamedTuple, Self, cast

from pipeline.archives.compression import (
    Readable,
    Stream,
    chunks,
    decompressed,
    read_lines,
    read_whole,
)
from pipeline.archives.failures import UNREADABLE, why
from pipeline.archives.names import Form, form_of, printable, why_passed_over


class Part(NamedTuple):
    """A part of a file, and `path` what its own path continues with.

    That is empty for the file as a whole, `#3` for a line, `/x/0.json` for a member.
    """

    path: str
    data: bytes | None = None
    reason: str | None = None
    is_broken: bool = False


_IS_ENCRYPTED = 1  # bit of a zip member's flags
Opener = Callable[[], AbstractContextManager[Readable]]


def parts(open_file: Opener, form: Form) -> Iterator[Part]:
    """Yield the parts of a file, and where reading fails, last the file itself as broken."""
    last: str | None = None
    try:
        with open_file() as file:
            for part in _READERS[form.kind](_plain(file, form.codec)):
                last = part.path
                yield part
    except UNREADABLE as error:
        yield Part("", None, _loss(last, error), is_broken=True)


def _plain(file: Readable, codec: str | None) -> Readable:
    return decompressed(file, codec) if codec else file


def _loss(last: str | None, error: BaseException) -> str:
    """Say how much is lost: all, or what comes after the last part that could be read."""
    return why(error) if last is None else f"all after {last.lstrip('/')} is lost: {why(error)}"


def _document(file: Readable) -> Iterator[Part]:
    yield Part("", read_whole(file))


def _lines(file: Readable) -> Iterator[Part]:
    """Yield each line that is not blank, counted as editors count them."""
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            yield Part(f"#{number}", line.rstrip(b"\r\n"))


def _tar(file: Readable) -> Iterator[Part]:
    """Yield the members of a tar in its own order, read once from front to back."""
    stream = cast(BinaryIO, file)  # only `read` is used of it in this mode
    with tarfile.open(
        fileobj=stream,
        mode="r|",
        bufsize=1 << 16,
        tarinfo=_Header,
        encoding="utf-8",
        errors="surrogateescape",
    ) as tar:
        while header := tar.next():
            tar.members.clear()  # type: ignore[attr-defined]  # it would hold every header
            if not header.isdir():
                yield from _tar_member(tar, header)
        if any(chunk.strip(b"\0") for chunk in chunks(cast(Readable, tar.fileobj))):
            raise tarfile.ReadError("more data follows the end of the archive")


def _tar_member(tar: tarfile.TarFile, header: tarfile.TarInfo) -> Iterator[Part]:
    """Yield the parts of one member; if the tar itself fails in it, raise for the whole tar."""
    try:
        yield from _member(header.name, _opener(tar, header) if header.isfile() else None)
    except _LostTarError as error:
        raise tarfile.ReadError(why(error)) from error


def _opener(tar: tarfile.TarFile, header: tarfile.TarInfo) -> Opener:
    return lambda: Stream(_unlost(cast(Readable, tar.extractfile(header))))


class _Header(tarfile.TarInfo):
    """A header that, where it should be and is not, ends the reading with an error.

    Past the first member the library takes a damaged header, or none, for the archive's end.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in a block; let only a block of zeros, the end marker, end it all."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(b"\0") == tarfile.BLOCKSIZE:
                raise
            is_cut = len(buf) < tarfile.BLOCKSIZE
            raise tarfile.ReadError("the archive is cut short" if is_cut else str(error)) from error


class _LostTarError(Exception):
    """A tar failed while a member was read: not the member's own fault, and nothing can follow."""


def _unlost(member: Readable) -> Iterator[bytes]:
    """Yield the bytes of a member of a tar."""
    try:
        yield from chunks(member)
    except UNREADABLE as error:
        raise _LostTarError(why(error)) from error


def _zip(file: Readable) -> Iterator[Part]:
    """Yield the members of a zip in the order of its directory, which stands at its end.

    So a compressed zip has to be in memory, and one cut short has no members left.
    """
    seekable = io.BytesIO(read_whole(file)) if isinstance(file, Stream) else cast(BinaryIO, file)
    if not zipfile.is_zipfile(seekable):
        raise zipfile.BadZipFile("no directory at its end: it is cut short, or no zip")
    with zipfile.ZipFile(seekable) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(("/", "\\")):
                yield from _zip_member(archive, entry)


def _zip_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[Part]:
    """Yield the parts of one member; a failure is its own, the next one is read from its place."""
    name = entry.filename.replace("\\", "/")  # of tools for Windows that ignore the format's rule
    is_regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    return _member(name, (lambda: _opened(archive, entry)) if is_regular else None)


def _opened(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    if entry.flag_bits & _IS_ENCRYPTED:
        raise NotImplementedError("encrypted")
    return archive.open(entry)


def _member(name: str, open_file: Opener | None) -> Iterator[Part]:
    """Yield the parts of a member of an archive, null for what is not a regular file."""
    name = name.removeprefix("./")
    path = "/" + printable(name)
    if open_file is None:
        yield Part(path, reason="not a regular file")
    elif reason := why_passed_over(name):
        yield Part(path, reason=reason)
    elif form_of(name).is_archive:
        yield Part(path, reason="an archive inside an archive is not opened")
    else:
        for part in parts(open_file, form_of(name)):
            yield part._replace(path=path + part.path)


_READERS: dict[str | None, Callable[[Readable], Iterator[Part]]] = {
    "json": _document,
    "jsonl": _lines,
    "tar": _tar,
    "zip": _zip,
}
