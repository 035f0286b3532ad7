"""What a table consists of, as an ingest records it and as the table's log says.

A Delta log has no checksum: if a line of it is lost, the table still opens, with other rows. So
each ingest records what every table consists of, and whoever opens a table compares.
A data file's name ends in the hash of its bytes, so whatever names the file also has its hash: the
log, its checkpoints, and the commits of a merge or a cluster. `sha256sum` gives the same 64 digits.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from pipeline.stores import File, Location

# A commit is written under another name, `NUMBER.json#1`, and takes its own when it is whole.
_LOGGED = re.compile(r"\d{20}\.(json|checkpoint[^#]*)")
SUFFIX = ".parquet"
CATALOG = "magic.duckdb"
"""A DuckDB database beside the tables, for other tools. No reader of the lake opens it."""
DRAFT = ".draft"
# A draft of a catalogue that is older was left by a process that was killed.
_DRAFT_HOURS = 1
WRITING = ".writing"
"""A folder of locks, held by processes that write files which no commit names yet."""
_BLOCK_BYTES = 2**20
_HASH = re.compile(rf"-([0-9a-f]{{64}}){re.escape(SUFFIX)}$")


def delete_old_drafts(folder: Location, name: str) -> None:
    """Delete the drafts of a catalogue of this name that killed processes left in a folder."""
    if not folder.is_local:
        return
    since = datetime.now(UTC) - timedelta(hours=_DRAFT_HOURS)
    for file in folder.files():
        is_draft = file.name.startswith(f".{name}.") and DRAFT in file.name
        if is_draft and file.modified_at < since:
            (folder / file.name).unlink(missing_ok=True)


class Contents(Struct, frozen=True):
    """A table's files at one version: how many, their rows, and a hash of their names.

    A file's name has the hash of its bytes, so equal hashes of names mean equal tables. `n_rows` is
    null where a log has no counts: another tool can leave them out of a checkpoint.
    """

    n_files: int
    n_rows: int | None
    files_sha256: str

    def agrees(self, recorded: "Contents") -> bool:
        """Whether a log with these contents is the log of the recorded table."""
        is_same = self.files_sha256 == recorded.files_sha256
        return is_same and self.n_rows in (None, recorded.n_rows)

    def __str__(self) -> str:
        rows = "" if self.n_rows is None else f" with {self.n_rows:,} rows"
        return f"{self.n_files:,} files{rows}"


def contents_of(counts: Mapping[str, int | None]) -> Contents:
    """What a table of files with these rows consists of."""
    known = [n_rows for n_rows in counts.values() if n_rows is not None]
    return Contents(
        n_files=len(counts),
        n_rows=sum(known) if len(known) == len(counts) else None,
        files_sha256=sha256("\n".join(sorted(counts)).encode()).hexdigest(),
    )


EMPTY = contents_of({})


def has_log(folder: Location) -> bool:
    """Whether a table's log names a version: what a writer that was killed had begun names none."""
    return any(not _is_empty(file) for file in _logged(folder))


def empty_commits(folder: Location, version: int | None = None) -> list[str]:
    """The names of a log's commits up to the version without an action, as a power loss leaves.

    Delta takes such a file for a commit that changes nothing.
    """
    names = [file.name for file in _logged(folder) if _is_empty(file)]
    return [name for name in names if version is None or int(name[:20]) <= version]


def _logged(folder: Location) -> list[File]:
    """The commits and the checkpoints of a table's log."""
    return [file for file in (folder / "_delta_log").files() if _LOGGED.fullmatch(file.name)]


def _is_empty(file: File) -> bool:
    return file.n_bytes <= 1


def named(begun: str, file: Path) -> str:
    """The final name of a file that was written under the name `begun`."""
    return f"{begun.removesuffix(SUFFIX)}-{hashed(file)}{SUFFIX}"


def hash_of(name: str) -> str | None:
    """The hash in a file's name, None for a file that another tool wrote."""
    match = _HASH.search(name)
    return match[1] if match else None


def hashed(file: Location | Path) -> str:
    """The hash of the bytes that the file has now."""
    digest = sha256()
    with file.open("rb") if isinstance(file, Path) else file.open() as opened:
        while block := opened.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
