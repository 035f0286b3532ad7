"""Compute a hash of the code that determines the rows of an ingest."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipeline import sql_files
from pipeline.plugins import magic_entry_points, package_name

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
"""The parts of this package that `pipeline.ingest` imports; a test checks the list.

If one of them has changed, an ingest reads unchanged archives again.
"""
_SQL = "internal/ingest"
_CODE = ("**/*.py", "**/*.sql")


@cache
def hash_ingest_code() -> str:
    """Return a SHA-256 hash of all code that determines which rows an ingest writes.

    It covers the files of `PARTS`, the SQL of the ingest, and the name, version and files of each
    package that adds formats, games or metrics. Unlike the version number, it changes with each
    edit of the code.

    Returns:
        64 hexadecimal digits.
    """
    patterns = (pattern for part in PARTS for pattern in (f"{part}.py", f"{part}/**/*.py"))
    digest = hashlib.sha256()
    for part in [
        *_iter_file_names_and_contents(Path(__file__).parent, *patterns),
        *_iter_file_names_and_contents(sql_files.sql_folder() / _SQL, *_CODE),
        *_iter_plugin_versions_and_files(),
    ]:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def _iter_plugin_versions_and_files() -> Iterator[bytes]:
    """Yield the version, entry points and code files of each package with plugins."""
    for point in magic_entry_points():
        version = point.dist.version if point.dist else ""
        yield "\n".join(
            [package_name(point), version, point.group, point.name, point.value]
        ).encode()
    for top_module in sorted({point.module.partition(".")[0] for point in magic_entry_points()}):
        spec = find_spec(top_module)
        folders = spec.submodule_search_locations if spec else None
        for folder in folders or ():
            yield from _iter_file_names_and_contents(Path(folder), *_CODE)
        if spec and not folders and spec.origin:
            # A module can have a SQL file beside it.
            for file in sorted(Path(spec.origin).parent.glob(f"{top_module}.*")):
                if file.is_file():
                    yield file.read_bytes()


def _iter_file_names_and_contents(folder: Path, *patterns: str) -> Iterator[bytes]:
    for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
        yield file.relative_to(folder).as_posix().encode()
        yield file.read_bytes()
