"""A command that names what is damaged in its lakes where a library cannot read them."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from pipeline.library_errors import may_be_of_a_file

if TYPE_CHECKING:
    from pipeline.lake import StoredLake


def with_damage(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which names the damaged files of its lakes where a library complains."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        try:
            command(**arguments)
        except BaseException as error:
            if not may_be_of_a_file(error):
                raise
            # Imported here, so that no command waits for it.
            from pipeline.lake.explanation import explanation

            raise explanation(error, _states(**arguments)) from None

    return run


def _states(
    lake: str | None = None,
    lakes: Sequence[str] | None = None,
    as_of: Sequence[int] | None = None,
    **_: Any,
) -> "Iterator[StoredLake]":
    """The states of lakes that a command with these arguments reads."""
    from pipeline.lake import open_lake

    paths = [*(lakes or ())]
    if lake is not None and (not paths or (len(paths) == 1 and not as_of)):
        paths.append(lake)  # `magic diff` names one or two
    return (open_lake(path, state) for path in paths for state in (None, *(as_of or ())))
