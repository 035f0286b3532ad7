"""Every error that a user can cause, under one base class.

The command line turns a `PipelineError` into one line on stderr; anything else is a defect of ours.
"""

from collections.abc import Iterable

DAMAGE_HINT = (
    "run `magic verify` on this lake to list all damage; then restore the lake from a copy, or "
    "ingest the logs into a new lake"
)
EMPTY = "is empty, perhaps because a variable is not set: the current folder is `.`"
DENIED_HINT = "check its permissions and those of the folders above it"


def nearest(wrong: Iterable[str], known: Iterable[str]) -> str | None:
    """A question with the known names most similar to the wrong ones; None if none is similar."""
    from difflib import get_close_matches

    names = list(known)
    near = [close for name in wrong if (close := get_close_matches(name, names, n=1))]
    return f"did you mean {' or '.join(f'`{name}`' for (name,) in near)}?" if near else None


def choose(wrong: Iterable[str], known: Iterable[str]) -> str:
    """A hint for wrong names: the most similar known name, or the list of all known names."""
    names = list(map(str, known))
    return nearest(wrong, names) or f"choose from {', '.join(names)}"


def in_quotes(text: str) -> str:
    """A hint for what may be a text and was written like a name, as in `model = gpt-4`."""
    return f"if it is a text, write it in single quotes: '{text}'"


class PipelineError(Exception):
    """An error that the user can correct. Its text says what is wrong, where, and what to do."""


class UsageError(PipelineError):
    """The request itself is wrong: an unknown metric, column, format or option."""


class OtherSystemError(UsageError):
    """What the request names is in another system. `what` is the text without what to do."""

    def __init__(self, what: str, to_do: str) -> None:
        super().__init__(f"{what}: {to_do}")
        self.what = what


class SourceError(PipelineError):
    """A source of documents cannot be read, or holds nothing to read."""


class LakeError(PipelineError):
    """A folder is not a lake, or a lake that this version cannot open or write."""


class DeniedError(LakeError):
    """The user has no permission to read or write a file of the lake. It need not be damaged."""


class MachineError(PipelineError):
    """The machine lacks memory, room on a disk or open files: no file is to blame."""


class MissingExtraError(PipelineError):
    """An optional part of the installation is missing. The text says how to install it."""


class MetricError(PipelineError):
    """A metric cannot be added: it is incomplete, or polars and SQL count it differently."""


class QueryError(PipelineError):
    """A SQL query is wrong, or asks for more than reading.

    `place` is the wrong line of the query, with a mark below the error; empty if unknown.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.message}\n{self.place}" if self.place else self.message
