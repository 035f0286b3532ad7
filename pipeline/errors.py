"""Exception classes for errors that a user can correct, and functions that classify other errors.

The command line prints a `PipelineError` as one line on stderr. Any other exception is a bug of
this package. All other modules use this one; it imports none of them.
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


def similar_names_hint(wrong_names: Iterable[str], known_names: Iterable[str]) -> str | None:
    """Return the text "did you mean ...?" with similar known names, or None if there are none."""
    from difflib import get_close_matches

    names = list(known_names)
    matches = [match for name in wrong_names if (match := get_close_matches(name, names, n=1))]
    return f"did you mean {' or '.join(f'`{name}`' for (name,) in matches)}?" if matches else None


def known_names_hint(wrong_names: Iterable[str], known_names: Iterable[str]) -> str:
    """Return "did you mean ...?" with similar known names, or "choose from" with all of them."""
    names = list(map(str, known_names))
    return similar_names_hint(wrong_names, names) or f"choose from {', '.join(names)}"


def single_quotes_hint(text: str) -> str:
    """Return the advice to write the text in quotes, because SQL parsed it as a column name."""
    return f"if it is a text, write it in single quotes: '{text}'"


class PipelineError(Exception):
    """Base class of errors that a user can correct.

    The message says what is wrong, where it is, and what to do.
    """


class UsageError(PipelineError):
    """The request is wrong: it names an unknown metric, column, format or option."""


class OtherSystemError(UsageError):
    """The request names something that exists only in another system of the lake.

    Attributes:
        problem: The message without the advice.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}: {advice}")
        self.problem = problem


class SourceError(PipelineError):
    """A source of logs cannot be read, or contains nothing to read."""


class LakeError(PipelineError):
    """A folder is not a lake, or this version cannot open or write the lake."""


class DeniedError(LakeError):
    """The user has no permission to read or write a file of the lake."""


class MachineError(PipelineError):
    """The machine has too little memory, disk space, or too few file handles."""


class MissingExtraError(PipelineError):
    """An optional dependency is not installed; the message says how to install it."""


class MetricError(PipelineError):
    """A metric cannot be registered: it is incomplete, or its polars and SQL results differ."""


class QueryError(PipelineError):
    """A SQL query is wrong, or it does more than read.

    Attributes:
        message: What is wrong.
        place: The line of the query with a marker below the error; empty if it is not known.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        """Return the message, and below it the place if the error has one."""
        return f"{self.message}\n{self.place}" if self.place else self.message


# Errors of libraries: their message in one line, and whether a file of a lake can be the cause.
#
# `LIBRARIES` identifies an error by the module of its class, because importing the class would load
# the library.

# Parts of messages that do not help a user: advice for developers of polars, colours, and positions
# in Rust code.
_INTERNAL_DETAILS = re.compile(
    r" *\(set POLARS_\w+=[^)]*\)|\x1b\[[0-9;]*m|\s+0: <unknown>.*|: ParsedLogPath \{.*", re.DOTALL
)
_CAUSE = "↳"


def _first_line_and_causes_in_one_line(message: str) -> str:
    lines = [
        line.strip() for line in _INTERNAL_DETAILS.sub("", message).splitlines() if line.strip()
    ]
    causes = [line.lstrip(f" {_CAUSE}") for line in lines[1:] if line.startswith(_CAUSE)]
    return ": ".join(dict.fromkeys(lines[:1] + causes))


def _first_line_outside_traceback(message: str) -> str:
    _, is_python, message_end = message.rpartition("Traceback (most recent call last):\n")
    lines = (line for line in message_end.splitlines() if not (is_python and line[:1].isspace()))
    own_lines = (line.strip(" :") for line in lines if "An error occurred while" not in line)
    return next(filter(None, own_lines), "")


class Library(NamedTuple):
    """How to interpret the errors of a library.

    Attributes:
        modules: Top-level modules that define the library's exception classes.
        to_line: Function that shortens a message to one line.
        reads_lakes: Whether the library reads the files of a lake.
        query_errors: Names of exception classes that are about a query or a limit. Every other
            error may be about a file of the lake, if the library reads them.
    """

    modules: tuple[str, ...]
    to_line: Callable[[str], str] = _first_line_and_causes_in_one_line
    reads_lakes: bool = True
    query_errors: tuple[str, ...] = ()


LIBRARIES = (
    Library(
        ("polars",),
        query_errors=(
            *("ColumnNotFoundError", "DuplicateError"),
            *("InvalidOperationError", "ShapeError"),
        ),
    ),
    Library(
        ("duckdb", "_duckdb"),
        to_line=_first_line_outside_traceback,
        query_errors=(
            *("BinderException", "CatalogException", "ParserException", "SyntaxException"),
            *("ConversionException", "OutOfRangeException", "TypeMismatchException"),
            *("InterruptException", "OutOfMemoryException", "PermissionException"),
        ),
    ),
    Library(("pyarrow",)),
    # `_internal` has the errors of deltalake, and `pyo3_runtime` a panic of any that is in Rust.
    Library(("deltalake", "_internal", "pyo3_runtime")),
    Library(("pyspark", "py4j"), to_line=_first_line_outside_traceback, reads_lakes=False),
)
_UNKNOWN_LIBRARY = Library((), reads_lakes=False)
# How messages of libraries say that the system or an object store denied access.
_DENIED_ACCESS_PATTERN = re.compile(
    r"permission ?denied|os error 13\b|access ?denied|lacked the necessary privileges",
    re.IGNORECASE,
)


_MISSING_FILE_PATTERN = re.compile(
    r"no such file|no files found|not found|path does not exist", re.IGNORECASE
)
# How messages of libraries name a Parquet file, and the table to whose folder it belongs.
_PARQUET_PATTERN = re.compile(r"parquet|thrift|TProtocol", re.IGNORECASE)
_TABLE_FOLDER_PATTERN = re.compile(r"(\w+)/[^/\s]+\.parquet")


class _Resource(NamedTuple):
    """A resource of the machine that can run out.

    Attributes:
        message: What to tell the user.
        error_numbers: `errno` values of the operating system.
        pattern: Matches messages of libraries.
    """

    message: str
    error_numbers: tuple[int, ...]
    pattern: re.Pattern[str]


_RESOURCES = (
    _Resource(
        "not enough memory: process less at a time, raise `ulimit -v`, or use a larger machine",
        (errno.ENOMEM, errno.EAGAIN),
        re.compile(
            r"cannot allocate memory|failed to map segment|alloc(?:ation)? of size|bad_alloc"
            r"|not enough memory|out of memory|resource temporarily unavailable|os error 1[12]\b"
            r"|can't start new thread",
            re.IGNORECASE,
        ),
    ),
    _Resource(
        "a disk is full: free some room, or name a larger folder for temporary files by TMPDIR",
        (errno.ENOSPC, errno.EDQUOT),
        re.compile(r"no space left|quota exceeded|os error (?:28|122)\b", re.IGNORECASE),
    ),
    _Resource(
        "too many files are open: raise `ulimit -n`",
        (errno.EMFILE, errno.ENFILE),
        re.compile(r"too many open files|os error 2[34]\b", re.IGNORECASE),
    ),
)


def exhausted_resource_message(error: BaseException) -> str | None:
    """Return a message if an error means that memory, a disk or file handles ran out, else None."""
    if isinstance(error, PipelineError):
        return str(error) if isinstance(error, MachineError) else None
    if isinstance(error, MemoryError):
        return _RESOURCES[0].message
    number = getattr(error, "errno", None)
    is_cause = (
        number in resource.error_numbers if number else resource.pattern.search(str(error))
        for resource in _RESOURCES
    )
    causes = zip(_RESOURCES, is_cause, strict=True)
    return next((resource.message for resource, is_match in causes if is_match), None)


def raise_if_resources_exhausted(error: BaseException) -> None:
    """Raise MachineError if an error means that memory, a disk or file handles ran out."""
    if text := exhausted_resource_message(error):
        raise MachineError(text) from None


def _library_of_error(error: BaseException) -> Library:
    module = type(error).__module__.partition(".")[0]
    return next((library for library in LIBRARIES if module in library.modules), _UNKNOWN_LIBRARY)


def one_line_message(error: BaseException) -> str:
    """Return the message of an error in one line, or the name of its class if it has none."""
    file = error.filename if isinstance(error, OSError) and error.strerror else None
    return (
        one_line_message_without_path(error)
        if file is None
        else f"{file}: {one_line_message_without_path(error)}"
    )


def one_line_message_without_path(error: BaseException) -> str:
    """Return the message of an error in one line, without the file path of an OSError."""
    system_message = isinstance(error, OSError) and error.strerror
    return system_message or _library_of_error(error).to_line(str(error)) or type(error).__name__


def is_permission_error(error: BaseException) -> bool:
    """Return whether an error means that the user has no permission."""
    has_class = isinstance(error, PermissionError | DeniedError)
    return has_class or _DENIED_ACCESS_PATTERN.search(str(error)) is not None


def is_missing_parquet_file_error(error: BaseException) -> bool:
    """Return whether an error means that a Parquet file does not exist."""
    text = str(error)
    return ".parquet" in text and _MISSING_FILE_PATTERN.search(text) is not None


def is_parquet_error(error: BaseException) -> bool:
    """Return whether the first line of an error's message is about a Parquet file.

    Further lines do not count, because they can contain the plan of a query, which names files.
    """
    return _PARQUET_PATTERN.search(one_line_message(error)) is not None


def may_be_lake_read_error(error: BaseException) -> bool:
    """Return whether an error may have been caused by a file of a lake that cannot be read.

    A PipelineError counts if it was raised while such an error about a Parquet file was handled
    (its `__context__`), unless it is a LakeError or a MachineError, which say the cause already.
    """
    if isinstance(error, PipelineError):
        cause = error.__context__
        if cause is None or isinstance(error, LakeError | MachineError):
            return False
        return is_parquet_error(cause) and may_be_lake_read_error(cause)
    if isinstance(error, OSError):
        return error.errno is None or ".parquet" in str(error)
    library = _library_of_error(error)
    return library.reads_lakes and type(error).__name__ not in library.query_errors


def lake_read_error(error: BaseException, table: str | None = None) -> PipelineError:
    """Return the PipelineError to raise in place of a library's error about a file of a lake.

    Args:
        error: The error of the library.
        table: The table that was read. If None, it is taken from the path in the message, if any.

    Returns:
        MachineError if a resource ran out, DeniedError if the user has no permission, and LakeError
        otherwise. The message quotes the library and advises to run `magic verify`.
    """
    if text := exhausted_resource_message(error):
        return MachineError(text)
    match = _TABLE_FOLDER_PATTERN.search(str(error))
    table = table or (match and match[1])
    subject = f"the table `{table}`" if table else "the lake"
    text = one_line_message(error)
    if is_permission_error(error):
        return DeniedError(f"{subject} may not be read: {text}; {DENIED_HINT}")
    if is_missing_parquet_file_error(error):
        return LakeError(
            f"a file of {subject} was deleted while it was being read, perhaps by `magic maintain` "
            f"({text}): run the command again, and `magic verify` if it fails again"
        )
    return LakeError(f"{subject} cannot be read: {text}; {DAMAGE_HINT}")


@contextmanager
def reraise_as_lake_read_errors() -> Iterator[None]:
    """Raise a PipelineError in place of a library's error about a file of a lake, in the block."""
    try:
        yield
    except BaseException as error:
        if not may_be_lake_read_error(error):
            raise
        raise lake_read_error(error) from None
