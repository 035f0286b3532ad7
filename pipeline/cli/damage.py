"""What is told where a library cannot read a lake's files: which of them are damaged.

A library complains wherever rows are asked for, and does not say of which file. So whatever command
it was, its lakes are looked at once that has happened.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from pipeline.errors import LakeError

if TYPE_CHECKING:
    from pipeline.lake import Lake

# The libraries that read a lake's files.
_READERS = {"polars", "_duckdb", "duckdb", "pyarrow", "deltalake"}


def with_damage(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which names the damaged files of its lakes where a library complains."""

    @wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**given)
        except Exception as error:
            if not is_of_a_reader(error) and not _is_of_a_file(error):
                raise
            raise _damage(error, list(_states(**given))) or error from None

    return run


def is_of_a_reader(error: Exception) -> bool:
    """Whether a library that reads a lake's files complains, as it does of no whole one."""
    return type(error).__module__.partition(".")[0] in _READERS


def _is_of_a_file(error: Exception) -> bool:
    """Whether the system complains about a file such as a lake's."""
    return isinstance(error, OSError) and ".parquet" in str(error)


def _states(
    lake: str | None = None,
    lakes: Sequence[str] | None = None,
    as_of: Sequence[int] | None = None,
    **_: Any,
) -> "Iterator[Lake]":
    """The states of lakes that a command with these arguments reads."""
    from pipeline.lake import open_lake

    paths = [*(lakes or ())]
    if lake is not None and (not paths or (len(paths) == 1 and not as_of)):
        paths.append(lake)  # `magic diff` names one or two
    for path in paths:
        yield open_lake(path)
        yield from (open_lake(path, ingest_id) for ingest_id in as_of or ())


def _damage(error: Exception, states: "Sequence[Lake]") -> LakeError | None:
    """The error that tells of what is damaged, None where all seems whole."""
    for state in states:
        if found := state.damage():
            return found
    # Only paths that polars opened itself have no field of their own.
    if states and isinstance(error, FileNotFoundError) and error.filename is None:
        return LakeError(
            f"{states[0].path}: a file was deleted while it was read, as `magic maintain` deletes "
            "what is older than its --keep; run the command again"
        )
    return None
