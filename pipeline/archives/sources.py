"""List the files of sources: each file once, in the same order on each machine.

This module also determines the type of a file from its name, and why bytes cannot be read.
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
from pipeline.stores import is_remote, iter_objects, local_path, object_size

# The name of a file determines its type, or why it is not a log.

_KIND_BY_EXTENSION = {
    **{".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tar": "tar", ".zip": "zip"},
    # A text is a document only if a format recognizes it.
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
# Common archives that are not supported.
_UNSUPPORTED_ARCHIVE_EXTENSIONS = (".7z", ".rar", ".lz4", ".br", ".lz", ".lzma", ".z")
_UNPACK_HINT = ", which is not read: unpack it, or pack it as .zip or .tar.zst"
_HIDDEN_FOLDER_NAMES = {"__MACOSX", "_delta_log"}
_REPETITION_NUMBERS = re.compile(r"( \([0-9]+\))+$")  # Appended by `UniqueNames`.
_MAX_NAME_LENGTH = 4096  # The longest path of common file systems.


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
        """Whether the file contains members with names."""
        return self.kind in ("tar", "zip", "inspect")

    @property
    def is_compressed(self) -> bool:
        """Whether the contents are probably larger than the file."""
        return self.is_archive or self.codec is not None

    @property
    def can_hold_many_documents(self) -> bool:
        """Whether a file of this type can contain more than one document."""
        return self.is_archive or self.kind in ("jsonl", "text")


PLAIN = FileType("json", None)
INSPECT = FileType("inspect", None)
NO_LOG = FileType(None, None)
# The content determines what it is.
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
    """Return the file type for the extension of a file name or path.

    Args:
        name: The name or path.
    """
    return _file_type_of_name(name[name.rfind("/") + 1 :])


# Cached, because folders of logs have the same few file names, and each is looked up repeatedly.
@lru_cache(maxsize=1024)
def _file_type_of_name(name: str) -> FileType:
    if name and "." not in name:
        return _WITHOUT_EXTENSION
    second_last, last = _second_last_and_last_extension(name.lower())
    return _TYPE_BY_EXTENSION.get(last) or _TYPE_BY_EXTENSION.get(second_last + last, NO_LOG)


def reason_to_skip_by_name(path: str) -> str | None:
    """Return why a path cannot be a log, for example a hidden folder; None if it can.

    Args:
        path: The path of a file or member.
    """
    *folders, name = path.split("/")
    if any(map(is_hidden_folder_name, folders)):
        return "hidden folder"
    if name.startswith("."):
        return "hidden file"
    if file_type(name).kind is None:
        hint = _UNPACK_HINT if name.lower().endswith(_UNSUPPORTED_ARCHIVE_EXTENSIONS) else ""
        return f"not a log: {_extension_message(name)}{hint}"
    return None


def mark_as_file_if_like_part(path: str) -> str:
    """Append ` (file)` to the path of a file that looks like a part of a file: `a.jsonl#1`.

    Args:
        path: The path of a file that is not a log.
    """
    file_path, mark, number = path.rpartition("#")
    filetype = file_type(file_path)
    is_like_part = mark and number.isdecimal() and filetype.kind and not filetype.is_archive
    return f"{path} (file)" if is_like_part else path


def containing_file_path(path: str) -> str:
    """Return the path of the file that contains a part: `a.csv` for `a.csv#17`.

    Args:
        path: The path of a document; a path without `#` and a number is returned unchanged.
    """
    file_path, mark, number = path.rpartition("#")
    return file_path if mark and number.isdecimal() else path


def containing_file_type(path: str) -> FileType:
    """Return the type of the file that contains a document.

    Args:
        path: The path of the document.
    """
    return file_type(_REPETITION_NUMBERS.sub("", containing_file_path(path)))


def extension_for_exported_document(path: str) -> str:
    """Return the file extension for an exported document, such as `.json` or `.csv`.

    Args:
        path: The path of the document.

    Returns:
        The extension of a text file, or of a complete JSON Lines file; otherwise `.json`.
    """
    file = containing_file_path(path)
    second_last, last = _second_last_and_last_extension(_REPETITION_NUMBERS.sub("", file).lower())
    extension = last if last in _KIND_BY_EXTENSION else second_last
    kind = _KIND_BY_EXTENSION.get(extension)
    return extension if kind == "text" or (kind == "jsonl" and file == path) else ".json"


def is_hidden_folder_name(name: str) -> bool:
    """Return whether a folder name is hidden, such as `.git` or `_delta_log`."""
    return name in _HIDDEN_FOLDER_NAMES or (name.startswith(".") and name not in (".", ".."))


def to_valid_utf8(name: str) -> str:
    r"""Replace bytes of a name that are not UTF-8 by escape sequences such as `\udce9`.

    Args:
        name: A name from the file system or an archive.
    """
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def printable_member_name(name: str) -> str:
    """Return a member's name as valid UTF-8, shortened if it is longer than a path can be.

    Args:
        name: The name in the archive.
    """
    if len(name) > _MAX_NAME_LENGTH:
        name = f"{name[: _MAX_NAME_LENGTH // 2]}…{name[-_MAX_NAME_LENGTH // 2 :]}"
    return to_valid_utf8(name)


def _second_last_and_last_extension(name: str) -> tuple[str, str]:
    """Return the last two extensions of a path; empty strings if it has fewer."""
    _, *extensions = name[name.rfind("/") + 1 :].lstrip(".").split(".")
    if not extensions or not extensions[-1]:
        return "", ""
    second_last = extensions[-2] if len(extensions) > 1 else ""
    return second_last and "." + second_last, "." + extensions[-1]


def _extension_message(name: str) -> str:
    """Return a message that names the file extension; for a compressed file, the last two."""
    second_last, last = _second_last_and_last_extension(name)
    extension = second_last + last if last.lower() in _CODEC_BY_EXTENSION else last
    return f"the name ends in {to_valid_utf8(extension)}" if extension else "the name has no ending"


# Reasons why bytes cannot be read or are not a log. They name no details, because an ingest counts
# the documents with each reason.

# The exceptions of libraries for truncated or damaged bytes, including those of Python where a
# library trusts a length or a number. Any other exception is a bug in this package.
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
# The positions of nonzero bytes in the first four bytes of text without a byte order mark.
_ENCODING_BY_NONZERO_BYTES = {
    (0, 2): "UTF-16LE",
    (1, 3): "UTF-16BE",
    (0,): "UTF-32LE",
    (3,): "UTF-32BE",
}


def source_changed_error(file: str) -> SourceError:
    """Return the exception for a source file that was changed or removed during reading.

    Args:
        file: The path of the file.
    """
    return SourceError(
        f"{to_valid_utf8(file)}: it was changed or removed while it was being read; nothing was "
        "ingested; run the same command again when no other program writes there"
    )


class UnreadableArchiveError(Exception):
    """An archive cannot be read from some point on, so its remaining members are lost."""


class RejectedInputError(ValueError):
    """An input breaks a rule of this package."""


# The messages of these exceptions describe the file; others describe functions of Python.
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
    """Return the message of an exception in a few words, without the path of the file.

    Args:
        error: The exception that reading raised.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, _ERRORS_ABOUT_THE_FILE) and str(error):
        return str(error)
    if isinstance(error, EOFError):
        return "it is cut short"
    if isinstance(error, zlib.error):
        return "the compressed data is damaged"
    return "a header in it is damaged"


def check_size(n_bytes: int, max_document_bytes: int) -> None:
    """Raise RejectedInputError if a document has more bytes than the limit.

    Args:
        n_bytes: Size of the document.
        max_document_bytes: Maximum size.
    """
    if n_bytes > max_document_bytes:
        raise RejectedInputError(too_large_message(max_document_bytes))


def too_large_message(max_document_bytes: int) -> str:
    """Return the message for a document above the size limit; it names the option to change.

    Args:
        max_document_bytes: Maximum size in bytes.
    """
    return (
        f"the document is larger than {format_size(max_document_bytes)}; raise --max-document to "
        "read it"
    )


def format_size(n_bytes: int) -> str:
    """Format a number of bytes."""
    n_mib, rest = divmod(n_bytes, 1 << 20)
    return f"{n_bytes:,} bytes" if rest else f"{n_mib:,} MiB"


def is_lfs_pointer(head: bytes) -> bool:
    """Return whether a file is a Git LFS pointer instead of the file that it points to.

    Args:
        head: The first bytes of the file.
    """
    return head.startswith(_POINTER_STARTS)


def detect_wide_encoding(head: bytes) -> str | None:
    """Return the encoding of text in UTF-16 or UTF-32; None for other bytes.

    Args:
        head: The first bytes of the file.
    """
    for mark, encoding in _ENCODING_BY_BYTE_ORDER_MARK.items():
        if head.startswith(mark):
            return encoding
    first_bytes = head[:4]
    nonzero_bytes = first_bytes.replace(b"\0", b"")
    is_text = (
        len(first_bytes) == 4 and nonzero_bytes.isascii() and nonzero_bytes.decode().isprintable()
    )
    return (
        _ENCODING_BY_NONZERO_BYTES.get(tuple(n for n, byte in enumerate(first_bytes) if byte))
        if is_text
        else None
    )


def encoding_problem(head: bytes) -> str | None:
    """Return why bytes are not UTF-8 text and what to do; None if no problem is recognized.

    Args:
        head: The first bytes of the file.
    """
    if is_lfs_pointer(head):
        return POINTER
    if compression := next(
        (name for sign, name in _COMPRESSION_BY_MAGIC_NUMBER.items() if head.startswith(sign)), None
    ):
        return f"still compressed with {compression}: unpack it, or name it so, then ingest it"
    if encoding := detect_wide_encoding(head):
        return f"text in {encoding}: convert it by `iconv -f {encoding} -t UTF-8`, then ingest it"
    return None


def unrecognized_text_reason(head: bytes) -> str:
    """Return why a file that no format recognizes is not a log.

    Args:
        head: The first bytes of the file.
    """
    if not head.strip():
        return EMPTY
    if problem := encoding_problem(head):
        return f"not a log: {problem}"
    return BINARY if b"\0" in head else REASON_UNKNOWN_TEXT


class SourceFile(NamedTuple):
    """A file of a source, which any process can read by `iter_file_documents`.

    Attributes:
        source: The path or URL of the source.
        path: The path within the source.
        file: The path or URL of the file; None if it cannot be read.
        n_bytes: The size of the file.
        reason: Why the file is not read.
        is_broken: Whether listing a folder failed.
        is_source: Whether the file itself is a source, as opposed to a file in a folder.
        is_outside: Whether the file is a link whose target is outside of the source.
    """

    source: str
    path: str
    file: str | None
    n_bytes: int = 0
    reason: str | None = None
    is_broken: bool = False
    is_source: bool = False
    is_outside: bool = False

    @property
    def can_hold_many_documents(self) -> bool:
        """Whether the file can contain more than one document."""
        return self.file is not None and file_type(self.file).can_hold_many_documents

    @property
    def is_compressed(self) -> bool:
        """Whether the contents are probably larger than the file."""
        return self.file is not None and file_type(self.file).is_compressed


def resolve_sources(sources: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the absolute paths and URLs of all sources, without sources inside of another one.

    Args:
        sources: Paths, URLs or patterns; one or several.

    Returns:
        The paths and URLs in the order of the sources.

    Raises:
        SourceError: If a source does not exist or contains no files.
        UsageError: If a source is empty.
    """
    source_list = [sources] if isinstance(sources, (str, Path)) else sources
    matches = {
        str(source): _existing_path_or_pattern_matches(local_path(str(source)))
        for source in source_list
    }
    errors = [_unmatched_message(source) for source, paths in matches.items() if not paths]
    unique_paths = dict.fromkeys(
        _absolute_path(path) for paths in matches.values() for path in paths
    )
    roots = [path for path in unique_paths if not _is_inside_another_source(path, unique_paths)]
    errors += [error for root in roots if (error := _message_if_source_is_empty(root))]
    if errors:
        raise SourceError("; ".join(errors))
    return roots


def iter_files_of_source(root: str | Path) -> Iterator[SourceFile]:
    """Yield the files in a folder or at a URL, or the file itself.

    Hidden and linked folders, and folders that cannot be listed, are yielded with a reason.

    Args:
        root: A path or URL from `resolve_sources`.
    """
    root = str(root)
    if is_remote(root):
        return _iter_remote_objects(root)
    path = Path(root)
    if path.is_dir():
        return _iter_folder(_path_in_valid_utf8(path), root)
    printable_folder, is_outside = (
        _path_in_valid_utf8(path.parent),
        path.is_symlink() and _is_link_target_outside_folder(root, path.parent),
    )
    return iter(
        [
            SourceFile(
                printable_folder,
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
    """Return the source if it exists, else the existing paths that match it as a pattern."""
    if not source:
        raise UsageError(f"the path of a source {EMPTY_PATH_HINT}")
    # Patterns are supported only for local files. `Path.exists` raises for long patterns.
    if is_remote(source) or os.path.exists(source):  # noqa: PTH110
        return [source]
    source = os.path.expanduser(source)  # noqa: PTH111 - no shell expands `~` for Python
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
    """Return the message for a source that does not exist, or a pattern without matches."""
    if _is_pattern(source):
        return f"{to_valid_utf8(source)!r}: no path matches this pattern (try a part of it)"
    return f"{to_valid_utf8(source)!r}: no such path (check the spelling and the current folder)"


def _absolute_path(source: str) -> str:
    """Return the absolute path of a source, without links in its folders, or a URL unchanged."""
    if is_remote(source):
        return source.rstrip("/")
    path = Path(source)
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def _is_inside_another_source(path: str, roots: dict[str, None]) -> bool:
    is_folder = is_remote(path) or Path(path).is_dir()
    for containing_path in [path, *_parent_folders(path)] if is_folder else _parent_folders(path):
        if containing_path != path and containing_path in roots:
            return True
        if is_hidden_folder_name(containing_path.rpartition("/")[2]):
            return False
    return False


def _parent_folders(path: str) -> list[str]:
    """Return all folders that contain a path, the nearest first."""
    if not is_remote(path):
        return [str(folder) for folder in Path(path).parents]
    store, *names = path.split("/")
    return ["/".join([store, *names[:end]]) for end in range(len(names) - 1, 1, -1)]


def _message_if_source_is_empty(root: str) -> str | None:
    """Return why a source contains no files; None if it contains some."""
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
    """Yield the object at a URL, or else all objects below the URL."""
    source, _, name = url.rpartition("/")
    try:
        if (n_bytes := object_size(url)) is not None:
            yield SourceFile(source, name, url, n_bytes, is_source=True)
            return
        hidden_folder = None
        for key, n_bytes in iter_objects(url):
            names = key.split("/")
            hidden_folder_lengths = (
                n for n, name in enumerate(names[:-1], 1) if is_hidden_folder_name(name)
            )
            folder = next(("/".join(names[:n]) + "/" for n in hidden_folder_lengths), None)
            if folder is None:
                yield SourceFile(url, key, f"{url}/{key}", n_bytes)
            elif folder != hidden_folder:
                yield SourceFile(url, folder, None, 0, "hidden folder")
            hidden_folder = folder
    except OSError as error:
        yield SourceFile(url, ".", None, 0, describe_error(error), is_broken=True)


class _Folder(NamedTuple):
    """A folder to list; `prefix` is its path within the source, with a slash at the end."""

    file: str
    prefix: str


def _iter_folder(source: str, root: str) -> Iterator[SourceFile]:
    """Yield the files in a folder and its subfolders, in the order of their paths."""
    # A list instead of recursion, because folders can be nested deeper than calls.
    open_listings = [_iter_folder_entries(source, root, _Folder(root, ""))]
    while open_listings:
        entry = next(open_listings[-1], None)
        if entry is None:
            open_listings.pop()
        elif isinstance(entry, _Folder):
            open_listings.append(_iter_folder_entries(source, root, entry))
        else:
            yield entry


def _iter_folder_entries(source: str, root: str, folder: _Folder) -> Iterator[SourceFile | _Folder]:
    """Yield the files directly in a folder, and its subfolders, in the order of their paths."""
    file, prefix = folder
    try:
        with os.scandir(file) as listing:
            # In the order of complete paths: `a.json` comes before `a/0.json`.
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
    """Return whether an entry is a folder or links to one; false for a circular link."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)  # noqa: PTH112 - `is_dir` can raise
    return entry.is_dir()


def _is_link_target_outside_folder(link: str, root: str | Path) -> bool:
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(root))


def _file_size_or_zero(file: str | os.DirEntry[str]) -> int:
    try:
        return (os.stat(file) if isinstance(file, str) else file.stat()).st_size  # noqa: PTH116
    except OSError:
        return 0


def _path_in_valid_utf8(path: Path) -> str:
    return to_valid_utf8(path.as_posix())
