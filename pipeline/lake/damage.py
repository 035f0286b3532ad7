"""How a table's files differ from its log, and which of them a library could not read.

The libraries complain wherever rows are asked for, and do not say of which file. `explanation` is
the one place that turns what they raise into a line with table, file and what to do.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pipeline.errors import (
    DAMAGE_HINT,
    DENIED_HINT,
    DeniedError,
    LakeError,
    PipelineError,
    first_line,
    is_denied,
)
from pipeline.lake.names import hash_of, hashed
from pipeline.stores import Location

if TYPE_CHECKING:
    from pipeline.lake.lake import StoredLake

DENIED = "denied"
_LAST_BYTES = b"PAR1"  # of a Parquet file
# To say which file is damaged, so many bytes are read; the rest is left to `magic verify`.
_MOST_READ = 2**30


class Fault(NamedTuple):
    """How a file differs from its log: the check that finds it, in words, and as columns."""

    check: str
    text: str
    columns: dict[str, object]


def fault(
    folder: Location, name: str, found: int | None, logged: int, *, read: bool
) -> Fault | None:
    """How a file of `found` bytes (None: no such file) differs from its log; None if it does not.

    Only with `read` all its bytes are read, and their hash is compared with the one in its name.
    """
    if found is None:
        return Fault("file_missing", "is missing", {})
    if found != logged:
        sizes: dict[str, object] = {"n_bytes": found, "logged": logged}
        return Fault("file_size", f"has {found:,} bytes, not {logged:,}", sizes)
    try:
        return _changed(folder / name, hash_of(name)) if read else _cut(folder / name, logged)
    except OSError as error:
        reason = error.strerror or first_line(error)
        if is_denied(error):
            return Fault(DENIED, f"may not be read: {reason}", {"error": reason})
        return Fault("file_damaged", f"cannot be read: {reason}", {"error": reason})


def _changed(file: Location, committed: str | None) -> Fault | None:
    if committed is None or (found := hashed(file)) == committed:
        return None
    text = "has changed: its SHA-256 is not the one in its name"
    return Fault("file_hash", text, {"sha256": found})


def _cut(file: Location, n_bytes: int) -> Fault | None:
    last = file.read_range(n_bytes - len(_LAST_BYTES), len(_LAST_BYTES))
    if last == _LAST_BYTES:
        return None
    return Fault("file_damaged", "is not a Parquet file", {"error": "it does not end as one"})


def damaged(folder: Location, logged: Mapping[str, int], *, read: bool) -> Iterator[Fault]:
    """A fault, its text with the file and the table, for each file that is not as logged."""
    table = str(folder).rpartition("/")[2]
    found = {file.name: file.n_bytes for file in folder.files()}
    for name, n_bytes in logged.items():
        if one := fault(folder, name, found.get(name), n_bytes, read=read):
            yield one._replace(text=f"the file {name} of the table `{table}` {one.text}")


def damage(lake: "StoredLake", tables: Iterable[str]) -> LakeError | None:
    """The error that names the damaged files of these tables, None if none is found.

    A DeniedError where all that is wrong is that this user may not read some.

    At first only sizes and last bytes are compared. If those are right, files are read whole, up to
    a bound, until one is found that has changed.
    """
    logged = {table: lake.sizes(table) for table in tables}
    faults = [
        one
        for table, sizes in logged.items()
        for one in damaged(lake.folder(table), sizes, read=False)
    ] or _first_changed(lake, logged)
    if broken := [one.text for one in faults if one.check != DENIED]:
        more = f", and {len(broken) - 1:,} more are damaged" if broken[1:] else ""
        return LakeError(f"the lake is damaged: {broken[0]}{more}; {DAMAGE_HINT}")
    if faults:
        more = f", nor {len(faults) - 1:,} more" if faults[1:] else ""
        return DeniedError(f"{faults[0].text}{more}; {DENIED_HINT}")
    return None


def _first_changed(lake: "StoredLake", logged: Mapping[str, Mapping[str, int]]) -> list[Fault]:
    n_read = 0
    for table, sizes in logged.items():
        for name, n_bytes in sizes.items():
            n_read += n_bytes
            if n_read > _MOST_READ:
                return []
            if faults := list(damaged(lake.folder(table), {name: n_bytes}, read=True)):
                return faults
    return []


def explanation(error: BaseException, states: Iterable["StoredLake"]) -> BaseException:
    """What to raise for an error that reading a file of these states may have caused.

    This is an error that names the damaged file, if one is found. Otherwise it is the error itself
    if its text is clear to a user, and else one that quotes it and blames no file. The path of a
    single lake is left out: the user of a command knows it, and a query should not show it.
    """
    is_clear = isinstance(error, PipelineError | OSError)
    try:
        states = list(states)
    except LakeError as unopened:
        return error if is_clear else unopened
    for state in states:
        if found := damage(state, state.own_tables):
            return type(found)(f"{state.path}: {found}") if states[1:] else found
    # Only paths that polars opened itself have no field of their own.
    if states and isinstance(error, FileNotFoundError) and error.filename is None:
        return LakeError(
            f"{states[0].path}: a file was deleted while it was being read, probably by `magic "
            "maintain`; run the command again"
        )
    if is_clear or not states:
        return error
    return LakeError(
        f"the lake's files are as they were committed, but this failed: {first_line(error)}"
    )
