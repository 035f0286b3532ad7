"""Every error that a user can cause, under one base class.

The command line turns a `PipelineError` into one line on stderr; anything else is a defect of ours.
"""

import re
from collections.abc import Iterable

DAMAGE_HINT = (
    "run `magic verify` on this lake to list all damage; then restore the lake from a copy, or "
    "ingest the logs into a new lake"
)
DENIED_HINT = "check its permissions and those of the folders above it"
# How the system's and the stores' refusals of a user end up in the libraries' texts.
_DENIED = re.compile(
    r"permission ?denied|os error 13\b|access ?denied|lacked the necessary privileges",
    re.IGNORECASE,
)
# The libraries that read a lake's files, by the module of their errors: that of deltalake's is
# `_internal`, and a panic of any that is written in Rust has another.
_READERS = {"polars", "_duckdb", "duckdb", "pyarrow", "deltalake", "_internal", "pyo3_runtime"}
# What the libraries raise for a wrong query, or for a limit, and not for a file.
_OF_QUERIES = {
    *("ColumnNotFoundError", "DuplicateError", "InvalidOperationError", "ShapeError"),
    *("BinderException", "CatalogException", "ParserException", "SyntaxException"),
    *("ConversionException", "OutOfRangeException", "TypeMismatchException"),
    *("InterruptException", "OutOfMemoryException", "PermissionException"),
}
# What polars says to its developers, who would see the whole of a path.
_ADVICE = re.compile(r" *\(set POLARS_\w+=[^)]*\)")


def first_line(error: BaseException) -> str:
    """The first line of a library's error, without its advice."""
    text = _ADVICE.sub("", str(error))
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)


def nearest(wrong: Iterable[str], known: Iterable[str]) -> str | None:
    """The known names that wrong ones may mean, as a question; None if none is near."""
    from difflib import get_close_matches

    names = list(known)
    near = [found for one in wrong if (found := get_close_matches(one, names, n=1))]
    return f"did you mean {' or '.join(f'`{one}`' for (one,) in near)}?" if near else None


def choose(wrong: Iterable[str], known: Iterable[str]) -> str:
    """What to do about wrong names: the nearest known name, or all that can be chosen from."""
    names = list(map(str, known))
    return nearest(wrong, names) or f"choose from {', '.join(names)}"


class PipelineError(Exception):
    """A mistake that the user can mend; the text says what, where and what to do."""


class UsageError(PipelineError):
    """The request itself is wrong: an unknown metric, column, format or option."""


class SourceError(PipelineError):
    """A source of documents cannot be read, or holds nothing to read."""


class LakeError(PipelineError):
    """A folder is not a lake, or a lake that this version cannot open or write."""


class DeniedError(LakeError):
    """What a lake consists of may not be read or written by this user; it may well be whole."""


class MetricError(PipelineError):
    """A metric that somebody adds is not yet written for both engines."""


class QueryError(PipelineError):
    """A SQL query is wrong, or asks for more than reading.

    `place` is the line of the query that is wrong, with a mark below; empty where nobody knows it.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.message}\n{self.place}" if self.place else self.message


def is_denied(error: BaseException) -> bool:
    """Whether a user has no permission for what failed: that is no damage."""
    is_known = isinstance(error, PermissionError | DeniedError)
    return is_known or _DENIED.search(str(error)) is not None


def may_be_of_a_file(error: BaseException) -> bool:
    """Whether a library, or the system, may have failed to read a file of a lake.

    Our own error, which a library's one was turned into, has that as its context.
    """
    if isinstance(error, LakeError | QueryError):
        return error.__context__ is not None and may_be_of_a_file(error.__context__)
    if isinstance(error, OSError):
        return error.errno is None or ".parquet" in str(error)
    module = type(error).__module__.partition(".")[0]
    return module in _READERS and type(error).__name__ not in _OF_QUERIES
