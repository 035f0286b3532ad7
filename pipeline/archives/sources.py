"""What sources lead to on disk: every file once, in the same order on every machine."""

import glob
import lzma
import os
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import zstandard

from pipeline.errors import EMPTY_PATH_HINT as errors_EMPTY, SourceError, UsageError
from pipeline.stores import is_remote, list_objects, local_path, object_size

# What a file's name says: the form that it has, or why it is no log.

_KINDS = {
    **{".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tar": "tar", ".zip": "zip"},
    # Of these a document is only what a format asks for.
    **dict.fromkeys((".csv", ".tsv", ".txt", ".log"), "text"),
    ".eval": "inspect",
}
_CODECS = {"": None, ".gz": "gz", ".zst": "zst", ".xz": "xz", ".bz2": "bz2"}
_SHORT = {".tgz": ".tar.gz", ".tzst": ".tar.zst", ".txz": ".tar.xz", ".tbz2": ".tar.bz2"}
# What people pack logs with, and we do not read.
_PACKED_OTHERWISE = (".7z", ".rar", ".lz4", ".br", ".lz", ".lzma", ".z")
_UNPACK = ", which is not read: unpack it, or pack it as .zip or .tar.zst"
_HIDDEN = {"__MACOSX", "_delta_log"}
_AGAIN = re.compile(r"( \([0-9]+\))+$")  # as `Distinct` has it
_LONGEST_LABEL = 4096  # no file system's paths are longer


class Form(NamedTuple):
    """How a file holds its documents, and what it is compressed with; null where by nothing."""

    kind: str | None
    codec: str | None

    @property
    def is_archive(self) -> bool:
        """Whether it has members with names of their own."""
        return self.kind in ("tar", "zip", "inspect")

    @property
    def is_compressed(self) -> bool:
        """Whether more comes out of it than its size."""
        return self.is_archive or self.codec is not None

    @property
    def can_hold_many_documents(self) -> bool:
        """Whether it can hold any number of documents, by its kind."""
        return self.is_archive or self.kind in ("jsonl", "text")


PLAIN = Form("json", None)
INSPECT = Form("inspect", None)
NO_LOG = Form(None, None)
# What it is, its content says.
_NO_ENDING = Form("text", None)
_FORMS = {kind + codec: Form(_KINDS[kind], _CODECS[codec]) for kind in _KINDS for codec in _CODECS}
_FORMS |= {short: _FORMS[long] for short, long in _SHORT.items()}


def file_type(name: str) -> Form:
    """Return the form that the ending of a name stands for; its kind is null for what is no log."""
    return _form_of_file(name[name.rfind("/") + 1 :])


# A run's files have the same few names in each folder, and each is asked for several times.
@lru_cache(maxsize=1024)
def _form_of_file(name: str) -> Form:
    if name and "." not in name:
        return _NO_ENDING
    before, last = _endings(name.lower())
    return _FORMS.get(last) or _FORMS.get(before + last, NO_LOG)


def why_passed_over(path: str) -> str | None:
    """Return why a file, or member of an archive, is no log by its name; null if it is one."""
    *folders, name = path.split("/")
    if any(map(is_hidden_folder, folders)):
        return "hidden folder"
    if name.startswith("."):
        return "hidden file"
    if file_type(name).kind is None:
        way_out = _UNPACK if name.lower().endswith(_PACKED_OTHERWISE) else ""
        return f"not a log: {_ending(name)}{way_out}"
    return None


def unlike_a_part(path: str) -> str:
    """Return the path of what is no log, marked where it reads like a part of one: `a.jsonl#1`.

    Else two documents would have one path.
    """
    before, sign, number = path.rpartition("#")
    form = file_type(before)
    is_like = sign and number.isdecimal() and form.kind and not form.is_archive
    return f"{path} (file)" if is_like else path


def containing_file_path(path: str) -> str:
    """Return the path of the file that a part is of: `a.csv` for `a.csv#17`; else the path."""
    before, sign, number = path.rpartition("#")
    return before if sign and number.isdecimal() else path


def containing_file_type(path: str) -> Form:
    """Return the form of the file that a document is in; its name can have a number added."""
    return file_type(_AGAIN.sub("", containing_file_path(path)))


def containing_file_extension(path: str) -> str:
    """Return the ending for a file of this document alone: its own file's, if that is known.

    A line and an entry are JSON; a row with its header is a table, and a section a text.
    """
    file = containing_file_path(path)
    before, last = _endings(_AGAIN.sub("", file).lower())
    ending = last if last in _KINDS else before
    kind = _KINDS.get(ending)
    return ending if kind == "text" or (kind == "jsonl" and file == path) else ".json"


def is_hidden_folder(name: str) -> bool:
    """Say whether a folder holds what people do not look at: `.git`, a lake's own log."""
    return name in _HIDDEN or (name.startswith(".") and name not in (".", ".."))


def to_valid_utf8(name: str) -> str:
    r"""Return a name that UTF-8 can hold: a byte that was none of it reads `\udce9`, say.

    Escaped and not replaced by one sign, so that two such names stay two.
    """
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def label(name: str) -> str:
    """Return a member's name to call it by: printable, and without the middle of a very long one.

    Its end stays, which has the game's index; a tar can hold names of any length.
    """
    if len(name) > _LONGEST_LABEL:
        name = f"{name[: _LONGEST_LABEL // 2]}…{name[-_LONGEST_LABEL // 2 :]}"
    return to_valid_utf8(name)


def _endings(name: str) -> tuple[str, str]:
    """Return the last two endings of the last name in a path, empty where it has fewer."""
    _, *endings = name[name.rfind("/") + 1 :].lstrip(".").split(".")
    if not endings or not endings[-1]:
        return "", ""
    before = endings[-2] if len(endings) > 1 else ""
    return before and "." + before, "." + endings[-1]


def _ending(name: str) -> str:
    """Describe a name's ending, a compressed one with the ending before it."""
    before, last = _endings(name)
    ending = before + last if last.lower() in _CODECS else last
    return f"the name ends in {to_valid_utf8(ending)}" if ending else "the name has no ending"


# What is wrong with bytes, in few words: how reading fails, and what no format reads.
#
# An ingest counts the documents of each reason, so that many share one.

# What the libraries raise on bytes that are cut short or damaged: each its own, and a few of
# Python's where they trust a length or a number. Anything else is a defect of ours.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)
EMPTY = "not a log: it is empty"
BINARY = "not a log: binary data"
REASON_UNKNOWN_TEXT = "not a log: text that no format reads"
POINTER = (
    "a Git LFS pointer in place of the file: run `git lfs pull` in its repository, then ingest it"
)
_BEGIN_OF_POINTER = (b"version https://git-lfs", b"version https://hawser")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Without a mark: which of the first four bytes are not zero, if two letters stand there, or one.
_WIDE = {(0, 2): "UTF-16LE", (1, 3): "UTF-16BE", (0,): "UTF-32LE", (3,): "UTF-32BE"}


def moved_on(file: str) -> SourceError:
    """Return the error for a source that somebody changes or takes away while it is read."""
    return SourceError(
        f"{to_valid_utf8(file)}: it was changed or removed while it was being read; nothing was "
        "ingested; run the same command again when no other program writes there"
    )


class LostArchiveError(Exception):
    """An archive failed as a whole: what went wrong is no member's own, and nothing can follow."""


class RejectedInputError(ValueError):
    """What we refuse ourselves, in our own words."""


# What these say is about the file. Of other errors the text is about Python's own functions.
_OF_THE_FILE = (
    OSError,
    LostArchiveError,
    RejectedInputError,
    EOFError,
    NotImplementedError,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def why(error: BaseException) -> str:
    """Return what went wrong in a few words; an `OSError` without its path, which is a label's."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _OF_THE_FILE) and str(error):
        return str(error)
    if isinstance(error, EOFError):
        return "it is cut short"
    if isinstance(error, zlib.error):
        return "the compressed data is damaged"
    return "a header in it is damaged"


def check_size(n_bytes: int, limit: int) -> None:
    """Refuse what would fill the memory: a few kilobytes can decompress to terabytes."""
    if n_bytes > limit:
        raise RejectedInputError(too_large(limit))


def too_large(limit: int) -> str:
    """Say that a document is larger than it may be, and what to do."""
    return f"the document is larger than {size(limit)}; raise --max-document to read it"


def size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    n_mib, rest = divmod(n_bytes, 1 << 20)
    return f"{n_bytes:,} bytes" if rest else f"{n_mib:,} MiB"


def is_lfs_pointer(head: bytes) -> bool:
    """Say whether what begins so stands for a file that Git LFS has not fetched."""
    return head.startswith(_BEGIN_OF_POINTER)


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text that is not in UTF-8 but in one with zeros; else null."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    first = head[:4]
    letters = first.replace(b"\0", b"")
    is_text = len(first) == 4 and letters.isascii() and letters.decode().isprintable()
    return _WIDE.get(tuple(n for n, byte in enumerate(first) if byte)) if is_text else None


def encoding_problem(head: bytes) -> str | None:
    """Return why what begins so cannot be read, and what to do; null where it may be UTF-8."""
    if is_lfs_pointer(head):
        return POINTER
    if packed := next((name for sign, name in _PACKED.items() if head.startswith(sign)), None):
        return f"still compressed with {packed}: unpack it, or name it so, then ingest it"
    if encoding := encoding_of(head):
        return f"text in {encoding}: convert it by `iconv -f {encoding} -t UTF-8`, then ingest it"
    return None


def unclaimed_text_reason(head: bytes) -> str:
    """Return why what begins so is no log, where it is not JSON."""
    if not head.strip():
        return EMPTY
    if why := encoding_problem(head):
        return f"not a log: {why}"
    return BINARY if b"\0" in head else REASON_UNKNOWN_TEXT


class Unit(NamedTuple):
    """One thing on disk: a small value to be dealt out, and read by `read_unit` anywhere.

    `file` is what to open, null where there is only a `reason`.
    """

    source: str
    path: str
    file: str | None
    n_bytes: int = 0
    reason: str | None = None
    is_broken: bool = False
    is_source: bool = False  # a source itself, not found in a folder
    is_outside: bool = False  # a link whose target is not in the source

    @property
    def can_hold_many_documents(self) -> bool:
        """Whether it can hold any number of documents, so that its size says little of it."""
        return self.file is not None and file_type(self.file).can_hold_many_documents

    @property
    def is_compressed(self) -> bool:
        """Whether it is likely to hold more than its size."""
        return self.file is not None and file_type(self.file).is_compressed


def resolve_sources(sources: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the absolute paths and the URLs to read, none of them inside another.

    Raises `SourceError` for all sources together that do not exist or hold no file.
    """
    named = [sources] if isinstance(sources, (str, Path)) else sources
    matches = {str(source): _matches(local_path(str(source))) for source in named}
    faults = [_why_unmatched(source) for source, paths in matches.items() if not paths]
    unique = dict.fromkeys(_absolute(path) for paths in matches.values() for path in paths)
    roots = [path for path in unique if not _is_reached(path, unique)]
    faults += [fault for root in roots if (fault := _why_empty(root))]
    if faults:
        raise SourceError("; ".join(faults))
    return roots


def units_in(root: str | Path) -> Iterator[Unit]:
    """Yield what is under a folder, hidden and linked folders unentered; or the file itself."""
    root = str(root)
    if is_remote(root):
        return _objects(root)
    path = Path(root)
    if path.is_dir():
        return _walk(_label(path), root)
    label, is_outside = _label(path.parent), path.is_symlink() and _leads_out(root, path.parent)
    return iter(
        [Unit(label, to_valid_utf8(path.name), root, _size(root), None, False, True, is_outside)]
    )


def _matches(source: str) -> list[str]:
    """Return the paths that a source stands for: itself if it exists, else as a pattern."""
    if not source:
        raise UsageError(f"the path of a source {errors_EMPTY}")
    if is_remote(source):
        return [source]  # patterns are of files on this machine
    if os.path.exists(source):  # noqa: PTH110 - of a long pattern `Path.exists` raises
        return [source]
    source = os.path.expanduser(source)  # noqa: PTH111 - `~`, which no shell expands for Python
    if os.path.exists(source):  # noqa: PTH110
        return [source]
    if not _is_pattern(source):
        return []
    try:
        return sorted(glob.glob(source, recursive=True))  # noqa: PTH207 - a whole path as pattern
    except RecursionError:
        raise SourceError(
            f"{to_valid_utf8(source)!r}: folders are nested too deeply for a pattern with ** (give "
            "the folder itself)"
        ) from None


def _is_pattern(source: str) -> bool:
    return any(sign in source for sign in "*?[")


def _why_unmatched(source: str) -> str:
    """Say that nothing is there, and what to look at."""
    if _is_pattern(source):
        return f"{to_valid_utf8(source)!r}: no path matches this pattern (try a part of it)"
    return f"{to_valid_utf8(source)!r}: no such path (check the spelling and the current folder)"


def _absolute(source: str) -> str:
    """Return the absolute path with links resolved, except in a file's own name; or the URL.

    A linked file keeps its name: it is listed by that in its folder, and often only that ends in
    `.json`, where the link's target is a hash.
    """
    if is_remote(source):
        return source.rstrip("/")
    path = Path(source)
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def _is_reached(path: str, roots: dict[str, None]) -> bool:
    """Say whether another of the folders leads to this path; hidden folders are not entered."""
    is_folder = is_remote(path) or Path(path).is_dir()
    for hop in [path, *_above(path)] if is_folder else _above(path):
        if hop != path and hop in roots:
            return True
        if is_hidden_folder(hop.rpartition("/")[2]):
            return False
    return False


def _above(path: str) -> list[str]:
    """Return the folders that a path is in, the nearest first."""
    if not is_remote(path):
        return [str(folder) for folder in Path(path).parents]
    store, *names = path.split("/")
    return ["/".join([store, *names[:end]]) for end in range(len(names) - 1, 1, -1)]


def _why_empty(root: str) -> str | None:
    """Say why a source that exists leads to nothing; null if it leads to a file."""
    for entry in units_in(root):
        if entry.path == "." and entry.is_broken:
            return f"{entry.source!r}: the folder cannot be listed ({entry.reason})"
        if entry.file is not None or entry.is_broken:
            return None
    if is_remote(root) and _is_pattern(root):
        return (
            f"{root!r}: patterns work only for files on this machine "
            "(give the folder, or each object)"
        )
    return (
        f"{to_valid_utf8(root)!r}: this folder has no files (give one that holds logs or archives)"
    )


def _objects(url: str) -> Iterator[Unit]:
    """Yield the objects below a URL as the files of a folder are; or the object itself."""
    source, _, name = url.rpartition("/")
    try:
        if (n_bytes := object_size(url)) is not None:
            yield Unit(source, name, url, n_bytes, is_source=True)
            return
        hidden = None
        for key, n_bytes in list_objects(url):
            names = key.split("/")
            ends = (n for n, name in enumerate(names[:-1], 1) if is_hidden_folder(name))
            folder = next(("/".join(names[:n]) + "/" for n in ends), None)
            if folder is None:
                yield Unit(url, key, f"{url}/{key}", n_bytes)
            elif folder != hidden:
                yield Unit(url, folder, None, 0, "hidden folder")
            hidden = folder
    except OSError as error:
        yield Unit(url, ".", None, 0, why(error), is_broken=True)


class _Folder(NamedTuple):
    """A folder to be listed; `prefix` is its path within the source, with a slash."""

    file: str
    prefix: str


def _walk(source: str, root: str) -> Iterator[Unit]:
    """Yield what is under a folder, by POSIX path."""
    # Those begun are held here and not by calls in calls: folders can be nested deeper than these.
    begun = [_listed(source, root, _Folder(root, ""))]
    while begun:
        entry = next(begun[-1], None)
        if entry is None:
            begun.pop()
        elif isinstance(entry, _Folder):
            begun.append(_listed(source, root, entry))
        else:
            yield entry


def _listed(source: str, root: str, folder: _Folder) -> Iterator[Unit | _Folder]:
    """Yield what is directly within a folder, and in their places the folders to go on with."""
    file, prefix = folder
    try:
        with os.scandir(file) as listing:
            # In the order of whole paths: `a.json` before `a/0.json`, as text has it.
            entries = sorted((entry.name + "/" * _is_folder(entry), entry) for entry in listing)
    except FileNotFoundError:
        raise moved_on(file) from None
    except OSError as error:
        yield Unit(source, to_valid_utf8(prefix) or ".", None, 0, why(error), is_broken=True)
        return
    for name, entry in entries:
        path = prefix + name
        if not name.endswith("/"):
            is_outside = entry.is_symlink() and _leads_out(entry.path, root)
            yield Unit(source, to_valid_utf8(path), entry.path, _size(entry), is_outside=is_outside)
        elif is_hidden_folder(entry.name):
            yield Unit(source, to_valid_utf8(path), None, 0, "hidden folder")
        elif entry.is_symlink():
            yield Unit(source, to_valid_utf8(path), None, 0, "a linked folder is not followed")
        else:
            yield _Folder(entry.path, path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Say whether it is a folder or a link to one; a link in a circle is none, and no error."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)  # noqa: PTH112 - `is_dir` can raise
    return entry.is_dir()


def _leads_out(link: str, root: str | Path) -> bool:
    """Say whether a link's target is outside of the folder."""
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def _size(file: str | os.DirEntry[str]) -> int:
    """Return the bytes on disk; 0 for a file that is gone, which is reported when it is read."""
    try:
        return (os.stat(file) if isinstance(file, str) else file.stat()).st_size  # noqa: PTH116
    except OSError:
        return 0


def _label(path: Path) -> str:
    return to_valid_utf8(path.as_posix())
