"""Every error that a user can cause, under one base class.

The command line turns a `PipelineError` into one line on stderr; anything else is a defect of ours.
"""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

DAMAGE_HINT = (
    "run `magic verify`, which names each damaged file; then restore the lake from a copy, or "
    "ingest the logs into a new lake"
)
EMPTY_PATH_HINT = "is empty, perhaps because a variable is not set: the current folder is `.`"
DENIED_HINT = "check its permissions and those of the folders above it"


def suggest_similar_names(wrong: Iterable[str], known: Iterable[str]) -> str | None:
    """A question with the known names most similar to the wrong ones; None if none is similar."""
    from difflib import get_close_matches

    names = list(known)
    near = [close for name in wrong if (close := get_close_matches(name, names, n=1))]
    return f"did you mean {' or '.join(f'`{name}`' for (name,) in near)}?" if near else None


def suggest_names(wrong: Iterable[str], known: Iterable[str]) -> str:
    """A hint for wrong names: the most similar known name, or the list of all known names."""
    names = list(map(str, known))
    return suggest_similar_names(wrong, names) or f"choose from {', '.join(names)}"


def suggest_quotes(text: str) -> str:
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


# What a library's error says in one line, and whether a file of a lake may be at fault.
#
# `LIBRARIES` is all that is known of the libraries. Their errors are known by the modules of their
# classes: to import the classes would load the libraries.

# What no user needs: polars' advice to its developers, who would see the whole of a path; colours;
# where in its code something written in Rust failed, and what that knows of a log's files.
_NOT_FOR_USERS = re.compile(
    r" *\(set POLARS_\w+=[^)]*\)|\x1b\[[0-9;]*m|\s+0: <unknown>.*|: ParsedLogPath \{.*", re.DOTALL
)
_CAUSE = "↳"


def _plain(text: str) -> str:
    """The first line, and the causes that a tree draws below it."""
    lines = [line.strip() for line in _NOT_FOR_USERS.sub("", text).splitlines() if line.strip()]
    causes = [line.lstrip(f" {_CAUSE}") for line in lines[1:] if line.startswith(_CAUSE)]
    return ": ".join(dict.fromkeys(lines[:1] + causes))


def _without_traceback(text: str) -> str:
    """Without the places in Spark's code; of Python within the library, what that has raised."""
    _, is_python, raised = text.rpartition("Traceback (most recent call last):\n")
    lines = (line for line in raised.splitlines() if not (is_python and line[:1].isspace()))
    plain = (line.strip(" :") for line in lines if "An error occurred while" not in line)
    return next(filter(None, plain), "")


class Library(NamedTuple):
    """A library: where its errors are from, how a line is had from their text, and which of them
    are about a query or a limit. All others may be about a file of a lake, if it reads them."""

    modules: tuple[str, ...]
    line: Callable[[str], str] = _plain
    reads_lakes: bool = True
    of_queries: tuple[str, ...] = ()


LIBRARIES = (
    Library(
        ("polars",),
        of_queries=(
            *("ColumnNotFoundError", "DuplicateError"),
            *("InvalidOperationError", "ShapeError"),
        ),
    ),
    Library(
        ("duckdb", "_duckdb"),
        line=_without_traceback,
        of_queries=(
            *("BinderException", "CatalogException", "ParserException", "SyntaxException"),
            *("ConversionException", "OutOfRangeException", "TypeMismatchException"),
            *("InterruptException", "OutOfMemoryException", "PermissionException"),
        ),
    ),
    Library(("pyarrow",)),
    # `_internal` has the errors of deltalake, and `pyo3_runtime` a panic of any that is in Rust.
    Library(("deltalake", "_internal", "pyo3_runtime")),
    Library(("pyspark", "py4j"), line=_without_traceback, reads_lakes=False),
)
_OTHER = Library((), reads_lakes=False)
# How the system's and the stores' refusals of a user end up in the libraries' texts.
_DENIED = re.compile(
    r"permission ?denied|os error 13\b|access ?denied|lacked the necessary privileges",
    re.IGNORECASE,
)


_MISSING = re.compile(r"no such file|no files found|not found|path does not exist", re.IGNORECASE)
# How the libraries' texts say that they read a Parquet file, and the table whose folder it is in.
_OF_PARQUET = re.compile(r"parquet|thrift|TProtocol", re.IGNORECASE)
_TABLE = re.compile(r"(\w+)/[^/\s]+\.parquet")


class _Lack(NamedTuple):
    """What a machine can lack: the text for a user, the system's numbers of such errors, and how
    the libraries' texts say it."""

    text: str
    numbers: tuple[int, ...]
    words: re.Pattern[str]


_LACKS = (
    _Lack(
        "not enough memory: process less at a time, raise `ulimit -v`, or use a larger machine",
        (errno.ENOMEM, errno.EAGAIN),
        re.compile(
            r"cannot allocate memory|failed to map segment|alloc(?:ation)? of size|bad_alloc"
            r"|not enough memory|out of memory|resource temporarily unavailable|os error 1[12]\b"
            r"|can't start new thread",
            re.IGNORECASE,
        ),
    ),
    _Lack(
        "a disk is full: free some room, or name a larger folder for temporary files by TMPDIR",
        (errno.ENOSPC, errno.EDQUOT),
        re.compile(r"no space left|quota exceeded|os error (?:28|122)\b", re.IGNORECASE),
    ),
    _Lack(
        "too many files are open: raise `ulimit -n`",
        (errno.EMFILE, errno.ENFILE),
        re.compile(r"too many open files|os error 2[34]\b", re.IGNORECASE),
    ),
)


def exhausted_resource(error: BaseException) -> str | None:
    """What the machine lacked and what to do, if that is why something failed; else None."""
    if isinstance(error, PipelineError):
        return str(error) if isinstance(error, MachineError) else None
    if isinstance(error, MemoryError):
        return _LACKS[0].text
    number = getattr(error, "errno", None)
    is_it = (number in one.numbers if number else one.words.search(str(error)) for one in _LACKS)
    return next((one.text for one, is_one in zip(_LACKS, is_it, strict=True) if is_one), None)


def raise_if_resources_exhausted(error: BaseException) -> None:
    """Raise MachineError if the machine lacked something. For whoever would blame a file."""
    if text := exhausted_resource(error):
        raise MachineError(text) from None


def _library(error: BaseException) -> Library:
    module = type(error).__module__.partition(".")[0]
    return next((library for library in LIBRARIES if module in library.modules), _OTHER)


def one_line_message(error: BaseException) -> str:
    """What an error says, in one line; the name of its class if it says nothing.

    Of the system's errors that is the file and the reason, without the number.
    """
    file = error.filename if isinstance(error, OSError) and error.strerror else None
    return error_reason(error) if file is None else f"{file}: {error_reason(error)}"


def error_reason(error: BaseException) -> str:
    """The same; of the system's errors without the path, for texts that name it themselves."""
    of_system = isinstance(error, OSError) and error.strerror
    return of_system or _library(error).line(str(error)) or type(error).__name__


def is_permission_error(error: BaseException) -> bool:
    """Whether a user has no permission for what failed: that is no damage."""
    is_known = isinstance(error, PermissionError | DeniedError)
    return is_known or _DENIED.search(str(error)) is not None


def is_file_missing_error(error: BaseException) -> bool:
    """Whether a Parquet file was not there, as one of a lake that `magic maintain` has deleted."""
    text = str(error)
    return ".parquet" in text and _MISSING.search(text) is not None


def is_parquet_error(error: BaseException) -> bool:
    """Whether a library's text says that a Parquet file could not be read."""
    return _OF_PARQUET.search(str(error)) is not None


def may_be_read_error(error: BaseException) -> bool:
    """Whether a library, or the system, may have failed to read a file of a lake.

    An error about a query may have been made of such an error, which it then has as its context.
    """
    if isinstance(error, PipelineError):
        cause = error.__context__
        if cause is None or isinstance(error, LakeError | MachineError):
            return False
        return is_parquet_error(cause) and may_be_read_error(cause)
    if isinstance(error, OSError):
        return error.errno is None or ".parquet" in str(error)
    library = _library(error)
    return library.reads_lakes and type(error).__name__ not in library.of_queries


def read_error(error: BaseException, table: str | None = None) -> PipelineError:
    """Return the error to raise where a library failed to read a file of a lake.

    It quotes the library, and names the table: `table`, else the one whose file the library names.
    Polars names no file if it cannot decode one. `magic verify` finds the file.
    """
    if text := exhausted_resource(error):
        return MachineError(text)
    named = _TABLE.search(str(error))
    table = table or (named and named[1])
    what = f"the table `{table}`" if table else "the lake"
    text = one_line_message(error)
    if is_permission_error(error):
        return DeniedError(f"{what} may not be read: {text}; {DENIED_HINT}")
    if is_file_missing_error(error):
        return LakeError(
            f"a file of {what} was deleted while it was being read, perhaps by `magic maintain` "
            f"({text}): run the command again, and `magic verify` if it fails again"
        )
    return LakeError(f"{what} cannot be read: {text}; {DAMAGE_HINT}")


@contextmanager
def reraise_read_errors() -> Iterator[None]:
    """Raise the error of `read_error` where a library fails to read a file of a lake."""
    try:
        yield
    except BaseException as error:
        if not may_be_read_error(error):
            raise
        raise read_error(error) from None
