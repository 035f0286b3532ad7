"""What sources lead to: every file once, in the same order on every machine.

Also what a file's name says of its form, and what is wrong with bytes that cannot be read.
"""

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

from pipeline.errors import EMPTY_PATH_HINT, SourceError, UsageError
from pipeline.stores import is_remote, list_objects, local_path, object_size

# What a file's name says: the form that it has, or why it is no log.

_KIND_BY_EXTENSION = {
    **{".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tar": "tar", ".zip": "zip"},
    # Of these a document is only what a format asks for.
    **dict.fromkeys((".csv", ".tsv", ".txt", ".log"), "text"),
    ".eval": "inspect",
}
_CODEC_BY_EXTENSION = {"": None, ".gz": "gz", ".zst": "zst", ".xz": "xz", ".bz2": "bz2"}
_LONG_FORM_OF_EXTENSION = {
    ".tgz": ".tar.gz",
    ".tzst": ".tar.zst",
    ".txz": ".tar.xz",
    ".tbz2": ".tar.bz2",
}
# What people pack logs with, and we do not read.
_UNSUPPORTED_ARCHIVE_EXTENSIONS = (".7z", ".rar", ".lz4", ".br", ".lz", ".lzma", ".z")
_UNPACK_HINT = ", which is not read: unpack it, or pack it as .zip or .tar.zst"
_HIDDEN_FOLDER_NAMES = {"__MACOSX", "_delta_log"}
_REPETITION_NUMBERS = re.compile(r"( \([0-9]+\))+$")  # as `UniqueNames` numbers them
_MAX_NAME_LENGTH = 4096  # no file system's paths are longer


class FileType(NamedTuple):
    """The type of a file: how it stores documents, and its compression.

    Attributes:
        kind: The kind of container or document; None for a file that is no log.
        codec: The compression, or None.
    """

    kind: str | None
    codec: str | None

    @property
    def is_archive(self) -> bool:
        """Whether the file has named members."""
        return self.kind in ("tar", "zip", "inspect")

    @property
    def is_compressed(self) -> bool:
        """Whether the contents are larger than the file."""
        return self.is_archive or self.codec is not None

    @property
    def can_hold_many_documents(self) -> bool:
        """Whether a file of this type can contain any number of documents."""
        return self.is_archive or self.kind in ("jsonl", "text")


PLAIN = FileType("json", None)
INSPECT = FileType("inspect", None)
NO_LOG = FileType(None, None)
# What it is, its content says.
_WITHOUT_EXTENSION = FileType("text", None)
_TYPE_BY_EXTENSION = {
    kind + codec: FileType(_KIND_BY_EXTENSION[kind], _CODEC_BY_EXTENSION[codec])
    for kind in _KIND_BY_EXTENSION
    for codec in _CODEC_BY_EXTENSION
}
_TYPE_BY_EXTENSION |= {
    short: _TYPE_BY_EXTENSION[long] for short, long in _LONG_FORM_OF_EXTENSION.items()
}


def file_type(name: str) -> FileType:
    """Return the file type that a file extension selects."""
    return _file_type_of_name(name[name.rfind("/") + 1 :])


# A run's files have the same few names in each folder, and each is asked for several times.
@lru_cache(maxsize=1024)
def _file_type_of_name(name: str) -> FileType:
    if name and "." not in name:
        return _WITHOUT_EXTENSION
    before, last = _second_last_and_last_extension(name.lower())
    return _TYPE_BY_EXTENSION.get(last) or _TYPE_BY_EXTENSION.get(before + last, NO_LOG)


def reason_to_skip_by_name(path: str) -> str | None:
    """Return the reason why a file or member is no log by its name, or None if it can be one."""
    *folders, name = path.split("/")
    if any(map(is_hidden_folder_name, folders)):
        return "hidden folder"
    if name.startswith("."):
        return "hidden file"
    if file_type(name).kind is None:
        way_out = _UNPACK_HINT if name.lower().endswith(_UNSUPPORTED_ARCHIVE_EXTENSIONS) else ""
        return f"not a log: {_extension_message(name)}{way_out}"
    return None


def mark_as_file_if_like_part(path: str) -> str:
    """Return the path of a file that is no log, changed if it looks like a part: `a.jsonl#1`."""
    before, sign, number = path.rpartition("#")
    form = file_type(before)
    is_like = sign and number.isdecimal() and form.kind and not form.is_archive
    return f"{path} (file)" if is_like else path


def containing_file_path(path: str) -> str:
    """Return the path of the file that contains a part: `a.csv` for `a.csv#17`."""
    before, sign, number = path.rpartition("#")
    return before if sign and number.isdecimal() else path


def containing_file_type(path: str) -> FileType:
    """Return the type of the file that contains a document."""
    return file_type(_REPETITION_NUMBERS.sub("", containing_file_path(path)))


def containing_file_extension(path: str) -> str:
    """Return the extension of the file that contains a document, if it is a known one."""
    file = containing_file_path(path)
    before, last = _second_last_and_last_extension(_REPETITION_NUMBERS.sub("", file).lower())
    ending = last if last in _KIND_BY_EXTENSION else before
    kind = _KIND_BY_EXTENSION.get(ending)
    return ending if kind == "text" or (kind == "jsonl" and file == path) else ".json"


def is_hidden_folder_name(name: str) -> bool:
    """Return whether a folder is hidden, such as `.git` or the log of a Delta table."""
    return name in _HIDDEN_FOLDER_NAMES or (name.startswith(".") and name not in (".", ".."))


def to_valid_utf8(name: str) -> str:
    r"""Replace bytes of a name that are not UTF-8 by escape sequences such as `\udce9`."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def printable_member_name(name: str) -> str:
    """Return a member's name with escaped characters, shortened if it is very long."""
    if len(name) > _MAX_NAME_LENGTH:
        name = f"{name[: _MAX_NAME_LENGTH // 2]}…{name[-_MAX_NAME_LENGTH // 2 :]}"
    return to_valid_utf8(name)


def _second_last_and_last_extension(name: str) -> tuple[str, str]:
    """Return the last two extensions of a path; empty strings if it has fewer."""
    _, *endings = name[name.rfind("/") + 1 :].lstrip(".").split(".")
    if not endings or not endings[-1]:
        return "", ""
    before = endings[-2] if len(endings) > 1 else ""
    return before and "." + before, "." + endings[-1]


def _extension_message(name: str) -> str:
    """Return the extension of a file, and for a compressed file also the one before it."""
    before, last = _second_last_and_last_extension(name)
    ending = before + last if last.lower() in _CODEC_BY_EXTENSION else last
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
_POINTER_STARTS = (b"version https://git-lfs", b"version https://hawser")
_COMPRESSION_BY_MAGIC_NUMBER = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_ENCODING_BY_BYTE_ORDER_MARK = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Without a mark: which of the first four bytes are not zero, if two letters stand there, or one.
_ENCODING_BY_NONZERO_BYTES = {
    (0, 2): "UTF-16LE",
    (1, 3): "UTF-16BE",
    (0,): "UTF-32LE",
    (3,): "UTF-32BE",
}


def source_changed_error(file: str) -> SourceError:
    """Return the error for a source that was changed or removed while it was read."""
    return SourceError(
        f"{to_valid_utf8(file)}: it was changed or removed while it was being read; nothing was "
        "ingested; run the same command again when no other program writes there"
    )


class UnreadableArchiveError(Exception):
    """An archive cannot be read from some point on, so that its other members are lost."""


class RejectedInputError(ValueError):
    """An input is rejected by a rule of this package."""


# What these say is about the file. Of other errors the text is about Python's own functions.
_ERRORS_ABOUT_THE_FILE = (
    OSError,
    UnreadableArchiveError,
    RejectedInputError,
    EOFError,
    NotImplementedError,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def describe_error(error: BaseException) -> str:
    """Return the message of an error in a few words, for an OSError without its path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _ERRORS_ABOUT_THE_FILE) and str(error):
        return str(error)
    if isinstance(error, EOFError):
        return "it is cut short"
    if isinstance(error, zlib.error):
        return "the compressed data is damaged"
    return "a header in it is damaged"


def check_size(n_bytes: int, limit: int) -> None:
    """Raise RejectedInputError if a document is larger than the limit."""
    if n_bytes > limit:
        raise RejectedInputError(too_large_message(limit))


def too_large_message(limit: int) -> str:
    """Return the message for a document that is too large, with the option to change the limit."""
    return f"the document is larger than {format_size(limit)}; raise --max-document to read it"


def format_size(n_bytes: int) -> str:
    """Format a number of bytes."""
    n_mib, rest = divmod(n_bytes, 1 << 20)
    return f"{n_bytes:,} bytes" if rest else f"{n_mib:,} MiB"


def is_lfs_pointer(head: bytes) -> bool:
    """Return whether a file is a Git LFS pointer to a file that was not downloaded."""
    return head.startswith(_POINTER_STARTS)


def detect_wide_encoding(head: bytes) -> str | None:
    """Return the encoding of text in UTF-16 or UTF-32, or None."""
    for mark, encoding in _ENCODING_BY_BYTE_ORDER_MARK.items():
        if head.startswith(mark):
            return encoding
    first = head[:4]
    letters = first.replace(b"\0", b"")
    is_text = len(first) == 4 and letters.isascii() and letters.decode().isprintable()
    return (
        _ENCODING_BY_NONZERO_BYTES.get(tuple(n for n, byte in enumerate(first) if byte))
        if is_text
        else None
    )


def encoding_problem(head: bytes) -> str | None:
    """Return why the text is not UTF-8 and what to do, or None if it may be UTF-8."""
    if is_lfs_pointer(head):
        return POINTER
    if packed := next(
        (name for sign, name in _COMPRESSION_BY_MAGIC_NUMBER.items() if head.startswith(sign)), None
    ):
        return f"still compressed with {packed}: unpack it, or name it so, then ingest it"
    if encoding := detect_wide_encoding(head):
        return f"text in {encoding}: convert it by `iconv -f {encoding} -t UTF-8`, then ingest it"
    return None


def unclaimed_text_reason(head: bytes) -> str:
    """Return the reason why a file that is not JSON is no log."""
    if not head.strip():
        return EMPTY
    if why := encoding_problem(head):
        return f"not a log: {why}"
    return BINARY if b"\0" in head else REASON_UNKNOWN_TEXT


class SourceFile(NamedTuple):
    """A file of a source, a unit of work that any process can read (`iter_file_documents`)."""

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
        """Whether the file can contain any number of documents, so that its size says little."""
        return self.file is not None and file_type(self.file).can_hold_many_documents

    @property
    def is_compressed(self) -> bool:
        """Whether the contents are probably larger than the file."""
        return self.file is not None and file_type(self.file).is_compressed


def resolve_sources(sources: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the absolute paths and URLs to read, without those inside another one."""
    named = [sources] if isinstance(sources, (str, Path)) else sources
    matches = {
        str(source): _existing_path_or_pattern_matches(local_path(str(source))) for source in named
    }
    faults = [_unmatched_message(source) for source, paths in matches.items() if not paths]
    unique = dict.fromkeys(_absolute_path(path) for paths in matches.values() for path in paths)
    roots = [path for path in unique if not _is_inside_another_source(path, unique)]
    faults += [fault for root in roots if (fault := _message_if_source_is_empty(root))]
    if faults:
        raise SourceError("; ".join(faults))
    return roots


def iter_files_of_source(root: str | Path) -> Iterator[SourceFile]:
    """Yield the files in a folder, without hidden and linked folders, or the file itself."""
    root = str(root)
    if is_remote(root):
        return _iter_remote_objects(root)
    path = Path(root)
    if path.is_dir():
        return _iter_folder(_path_in_valid_utf8(path), root)
    label, is_outside = (
        _path_in_valid_utf8(path.parent),
        path.is_symlink() and _is_link_target_outside_folder(root, path.parent),
    )
    return iter(
        [
            SourceFile(
                label,
                to_valid_utf8(path.name),
                root,
                _file_size_or_zero(root),
                None,
                False,
                True,
                is_outside,
            )
        ]
    )


def _existing_path_or_pattern_matches(source: str) -> list[str]:
    """Return the source if it exists, and otherwise the paths that match it as a pattern."""
    if not source:
        raise UsageError(f"the path of a source {EMPTY_PATH_HINT}")
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


def _unmatched_message(source: str) -> str:
    """Return the message for a source that does not exist."""
    if _is_pattern(source):
        return f"{to_valid_utf8(source)!r}: no path matches this pattern (try a part of it)"
    return f"{to_valid_utf8(source)!r}: no such path (check the spelling and the current folder)"


def _absolute_path(source: str) -> str:
    """Return the absolute path of a source with resolved folders, or its URL."""
    if is_remote(source):
        return source.rstrip("/")
    path = Path(source)
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def _is_inside_another_source(path: str, roots: dict[str, None]) -> bool:
    """Return whether another source contains this path."""
    is_folder = is_remote(path) or Path(path).is_dir()
    for hop in [path, *_parent_folders(path)] if is_folder else _parent_folders(path):
        if hop != path and hop in roots:
            return True
        if is_hidden_folder_name(hop.rpartition("/")[2]):
            return False
    return False


def _parent_folders(path: str) -> list[str]:
    """Return the folders that contain a path, the nearest first."""
    if not is_remote(path):
        return [str(folder) for folder in Path(path).parents]
    store, *names = path.split("/")
    return ["/".join([store, *names[:end]]) for end in range(len(names) - 1, 1, -1)]


def _message_if_source_is_empty(root: str) -> str | None:
    """Return why a source contains no files, or None if it contains some."""
    for entry in iter_files_of_source(root):
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


def _iter_remote_objects(url: str) -> Iterator[SourceFile]:
    """Yield the objects below a URL, or the object at the URL."""
    source, _, name = url.rpartition("/")
    try:
        if (n_bytes := object_size(url)) is not None:
            yield SourceFile(source, name, url, n_bytes, is_source=True)
            return
        hidden = None
        for key, n_bytes in list_objects(url):
            names = key.split("/")
            ends = (n for n, name in enumerate(names[:-1], 1) if is_hidden_folder_name(name))
            folder = next(("/".join(names[:n]) + "/" for n in ends), None)
            if folder is None:
                yield SourceFile(url, key, f"{url}/{key}", n_bytes)
            elif folder != hidden:
                yield SourceFile(url, folder, None, 0, "hidden folder")
            hidden = folder
    except OSError as error:
        yield SourceFile(url, ".", None, 0, describe_error(error), is_broken=True)


class _Folder(NamedTuple):
    """A folder to list; `prefix` is its path within the source, with a slash."""

    file: str
    prefix: str


def _iter_folder(source: str, root: str) -> Iterator[SourceFile]:
    """Yield the files of a folder and its subfolders in the order of their paths."""
    # Those begun are held here and not by calls in calls: folders can be nested deeper than these.
    begun = [_iter_folder_entries(source, root, _Folder(root, ""))]
    while begun:
        entry = next(begun[-1], None)
        if entry is None:
            begun.pop()
        elif isinstance(entry, _Folder):
            begun.append(_iter_folder_entries(source, root, entry))
        else:
            yield entry


def _iter_folder_entries(source: str, root: str, folder: _Folder) -> Iterator[SourceFile | _Folder]:
    """Yield the files directly in a folder, and its subfolders at their positions."""
    file, prefix = folder
    try:
        with os.scandir(file) as listing:
            # In the order of whole paths: `a.json` before `a/0.json`, as text has it.
            entries = sorted(
                (entry.name + "/" * _is_folder_or_link_to_one(entry), entry) for entry in listing
            )
    except FileNotFoundError:
        raise source_changed_error(file) from None
    except OSError as error:
        yield SourceFile(
            source, to_valid_utf8(prefix) or ".", None, 0, describe_error(error), is_broken=True
        )
        return
    for name, entry in entries:
        path = prefix + name
        if not name.endswith("/"):
            is_outside = entry.is_symlink() and _is_link_target_outside_folder(entry.path, root)
            yield SourceFile(
                source,
                to_valid_utf8(path),
                entry.path,
                _file_size_or_zero(entry),
                is_outside=is_outside,
            )
        elif is_hidden_folder_name(entry.name):
            yield SourceFile(source, to_valid_utf8(path), None, 0, "hidden folder")
        elif entry.is_symlink():
            yield SourceFile(
                source, to_valid_utf8(path), None, 0, "a linked folder is not followed"
            )
        else:
            yield _Folder(entry.path, path)


def _is_folder_or_link_to_one(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; a circular link is not."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)  # noqa: PTH112 - `is_dir` can raise
    return entry.is_dir()


def _is_link_target_outside_folder(link: str, root: str | Path) -> bool:
    """Return whether the target of a link is outside of the folder."""
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def _file_size_or_zero(file: str | os.DirEntry[str]) -> int:
    """Return the size of a file, or 0 if it no longer exists."""
    try:
        return (os.stat(file) if isinstance(file, str) else file.stat()).st_size  # noqa: PTH116
    except OSError:
        return 0


def _path_in_valid_utf8(path: Path) -> str:
    return to_valid_utf8(path.as_posix())
