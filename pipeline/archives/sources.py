"""What sources lead to on disk: every file once, in the same order on every machine."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.archives.failures import moved_on, why
from pipeline.archives.names import form_of, is_hidden_folder, printable
from pipeline.errors import EMPTY, SourceError, UsageError
from pipeline.stores import is_remote, local_path, objects, size_of


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
    def holds_many(self) -> bool:
        """Whether it can hold any number of documents, so that its size says little of it."""
        return self.file is not None and form_of(self.file).holds_many

    @property
    def is_packed(self) -> bool:
        """Whether it is likely to hold more than its size."""
        return self.file is not None and form_of(self.file).is_packed


def resolved(sources: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the absolute paths and the URLs to read, none of them inside another.

    Raises `SourceError` for all sources together that do not exist or hold no file.
    """
    named = [sources] if isinstance(sources, (str, Path)) else sources
    matches = {str(source): _matches(local_path(str(source))) for source in named}
    faults = [_why_unmatched(source) for source, paths in matches.items() if not paths]
    roots = _without_overlap(_absolute(path) for paths in matches.values() for path in paths)
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
        [Unit(label, printable(path.name), root, _size(root), None, False, True, is_outside)]
    )


def _matches(source: str) -> list[str]:
    """Return the paths that a source stands for: itself if it exists, else as a pattern."""
    if not source:
        raise UsageError(f"the path of a source {EMPTY}")
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
            f"{printable(source)!r}: folders are nested too deeply for a pattern with ** (give "
            "the folder itself)"
        ) from None


def _is_pattern(source: str) -> bool:
    return any(sign in source for sign in "*?[")


def _why_unmatched(source: str) -> str:
    """Say that nothing is there, and what to look at."""
    if _is_pattern(source):
        return f"{printable(source)!r}: no path matches this pattern (try a part of it)"
    return f"{printable(source)!r}: no such path (check the spelling and the current folder)"


def _absolute(source: str) -> str:
    """Return the absolute path with links resolved, except in a file's own name; or the URL.

    A linked file keeps its name: it is listed by that in its folder, and often only that ends in
    `.json`, where the link's target is a hash.
    """
    if is_remote(source):
        return source.rstrip("/")
    path = Path(source)
    return str(path.resolve() if path.is_dir() else path.parent.resolve() / path.name)


def _without_overlap(paths: Iterable[str]) -> list[str]:
    """Return the paths without repetition, and without those that another one's walk reaches."""
    unique = dict.fromkeys(paths)
    return [path for path in unique if not _is_reached(path, unique)]


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
    return f"{printable(root)!r}: this folder has no files (give one that holds logs or archives)"


def _objects(url: str) -> Iterator[Unit]:
    """Yield the objects below a URL as the files of a folder are; or the object itself."""
    source, _, name = url.rpartition("/")
    try:
        if (n_bytes := size_of(url)) is not None:
            yield Unit(source, name, url, n_bytes, is_source=True)
            return
        hidden = None
        for key, n_bytes in objects(url):
            folder = _hidden_folder(key)
            if folder is None:
                yield Unit(url, key, f"{url}/{key}", n_bytes)
            elif folder != hidden:
                yield Unit(url, folder, None, 0, "hidden folder")
            hidden = folder
    except OSError as error:
        yield Unit(url, ".", None, 0, why(error), is_broken=True)


def _hidden_folder(key: str) -> str | None:
    """Return the first hidden folder that an object is in, null if there is none."""
    *folders, _ = key.split("/")
    for number, name in enumerate(folders, start=1):
        if is_hidden_folder(name):
            return "/".join(folders[:number]) + "/"
    return None


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
            entries = sorted((_name(entry), entry) for entry in listing)
    except FileNotFoundError:
        raise moved_on(file) from None
    except OSError as error:
        yield Unit(source, printable(prefix) or ".", None, 0, why(error), is_broken=True)
        return
    for name, entry in entries:
        path = prefix + name
        if not name.endswith("/"):
            is_outside = entry.is_symlink() and _leads_out(entry.path, root)
            yield Unit(source, printable(path), entry.path, _size(entry), is_outside=is_outside)
        elif reason := _why_not_entered(entry):
            yield Unit(source, printable(path), None, 0, reason)
        else:
            yield _Folder(entry.path, path)


def _name(entry: os.DirEntry[str]) -> str:
    """Return the entry's name, a folder's with a slash."""
    return entry.name + "/" if _is_folder(entry) else entry.name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Say whether it is a folder or a link to one; a link in a circle is none, and no error."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)  # noqa: PTH112 - `is_dir` can raise
    return entry.is_dir()


def _why_not_entered(entry: os.DirEntry[str]) -> str | None:
    if is_hidden_folder(entry.name):
        return "hidden folder"
    return "a linked folder is not followed" if entry.is_symlink() else None


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
    return printable(path.as_posix())
