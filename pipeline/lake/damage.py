"""How a table's files differ from its log."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipeline.errors import DAMAGE_HINT, DENIED_HINT, DeniedError, LakeError
from pipeline.lake.contents import hash_of, hashed
from pipeline.library_errors import check_machine, is_denied, reason
from pipeline.stores import Location

DENIED = "denied"
_LAST_BYTES = b"PAR1"  # of a Parquet file
# To say which file is damaged, so many bytes are read; the rest is left to `magic verify`.
_MOST_READ = 2**30


class Difference(NamedTuple):
    """How a file differs from its log: the check that finds it, in words, and as columns."""

    check: str
    text: str
    columns: dict[str, object]


def difference(
    folder: Location, name: str, n_bytes: int | None, logged: int, *, read: bool
) -> Difference | None:
    """How a file of `n_bytes` (None: no such file) differs from its log; None if it does not.

    Only with `read` all its bytes are read, and their hash is compared with the one in its name.
    """
    if n_bytes is None:
        return Difference("file_missing", "is missing", {})
    if n_bytes != logged:
        sizes: dict[str, object] = {"n_bytes": n_bytes, "logged": logged}
        return Difference("file_size", f"has {n_bytes:,} bytes, not {logged:,}", sizes)
    try:
        return _changed(folder / name, hash_of(name)) if read else _cut(folder / name, logged)
    except OSError as error:
        check_machine(error)
        why = reason(error)
        if is_denied(error):
            return Difference(DENIED, f"may not be read: {why}", {"error": why})
        return Difference("file_damaged", f"cannot be read: {why}", {"error": why})


def _changed(file: Location, committed: str | None) -> Difference | None:
    if committed is None or (sha256 := hashed(file)) == committed:
        return None
    text = "has changed: its SHA-256 is not the one in its name"
    return Difference("file_hash", text, {"sha256": sha256})


def _cut(file: Location, n_bytes: int) -> Difference | None:
    last = file.read_range(n_bytes - len(_LAST_BYTES), len(_LAST_BYTES))
    if last == _LAST_BYTES:
        return None
    return Difference("file_damaged", "is not a Parquet file", {"error": "it does not end as one"})


def damaged(folder: Location, logged: Mapping[str, int], *, read: bool) -> Iterator[Difference]:
    """The difference of each file that is not as logged; its text names the file and the table."""
    table = str(folder).rpartition("/")[2]
    sizes = {file.name: file.n_bytes for file in folder.files()}
    for name, n_bytes in logged.items():
        if unlike := difference(folder, name, sizes.get(name), n_bytes, read=read):
            text = f"the file {name} of the table `{table}` {unlike.text}"
            yield unlike._replace(text=text)


def damage(tables: Mapping[Location, Mapping[str, int]]) -> LakeError | None:
    """The error that names the damaged files of these tables, None if none is found.

    `tables` has the bytes of each file as the log has them, by the table's folder. A DeniedError
    where all that is wrong is that this user may not read some.

    At first only sizes and last bytes are compared. If those are right, files are read whole, up to
    a bound, until one is found that has changed.
    """
    differences = [
        unlike
        for folder, logged in tables.items()
        for unlike in damaged(folder, logged, read=False)
    ] or _first_changed(tables)
    if broken := [text for check, text, _ in differences if check != DENIED]:
        more = f", and {len(broken) - 1:,} more are damaged" if broken[1:] else ""
        return LakeError(f"the lake is damaged: {broken[0]}{more}; {DAMAGE_HINT}")
    if differences:
        more = f", nor {len(differences) - 1:,} more" if differences[1:] else ""
        return DeniedError(f"{differences[0].text}{more}; {DENIED_HINT}")
    return None


def _first_changed(tables: Mapping[Location, Mapping[str, int]]) -> list[Difference]:
    n_read = 0
    for folder, logged in tables.items():
        for name, n_bytes in logged.items():
            n_read += n_bytes
            if n_read > _MOST_READ:
                return []
            if differences := list(damaged(folder, {name: n_bytes}, read=True)):
                return differences
    return []
