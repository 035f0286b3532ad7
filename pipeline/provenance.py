"""Which code decides the rows of an ingest."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipeline import sql_files
from pipeline.plugins import entry_points, package_name

PARTS = (
    *(
        "action_tables",
        "archives",
        "column",
        "errors",
        "events",
        "formats",
        "game_record",
        "games",
        "ingest",
        "lake",
    ),
    *("plugins", "processes", "provenance", "sql_files", "stores"),
    *("thinking_text", "version", "vocabulary", "warehouse"),
)
"""The parts of this package that `pipeline.ingest` imports, as a test checks.

What an ingest read before is read again if one of these has changed, and not if a page has.
"""
_SQL = "internal/ingest"
_CODE = ("**/*.py", "**/*.sql")


@cache
def hash_ingest_code() -> str:
    """A hash of the files of `PARTS` and of the ingest's SQL: 64 hexadecimal digits.

    A version's number stays while code is worked on; this does not. Packages that add something
    are part of it, by name, version, and what is in their files.
    """
    ours = (pattern for part in PARTS for pattern in (f"{part}.py", f"{part}/**/*.py"))
    whole = hashlib.sha256()
    for part in [
        *_files(Path(__file__).parent, *ours),
        *_files(sql_files.sql_folder() / _SQL, *_CODE),
        *_of_plugins(),
    ]:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def _of_plugins() -> Iterator[bytes]:
    """The name and version of each package that adds something, what it adds, and its code."""
    for point in entry_points():
        version = point.dist.version if point.dist else ""
        yield "\n".join(
            [package_name(point), version, point.group, point.name, point.value]
        ).encode()
    for top in sorted({point.module.partition(".")[0] for point in entry_points()}):
        spec = find_spec(top)
        folders = spec.submodule_search_locations if spec else None
        for folder in folders or ():
            yield from _files(Path(folder), *_CODE)
        if spec and not folders and spec.origin:
            # A module may have its SQL beside it.
            for file in sorted(Path(spec.origin).parent.glob(f"{top}.*")):
                if file.is_file():
                    yield file.read_bytes()


def _files(folder: Path, *patterns: str) -> Iterator[bytes]:
    """The names and the contents of the folder's files of these patterns."""
    for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
        yield file.relative_to(folder).as_posix().encode()
        yield file.read_bytes()
