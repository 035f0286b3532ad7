"""Functions that write results to stdout, and notes, errors and progress to stderr.

All commands use this module; no other module writes to the terminal. Text from logs can contain
control characters, so all text is escaped with `escape_unprintable`.
"""

import codecs
import errno
import io
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TextIO

from pipeline.errors import PipelineError, one_line_message_without_path
from pipeline.registry import LAKE_COMMANDS
from pipeline.text_format import escape_unprintable, line_breaks_to_symbols

# ASCII replacements for terminals without UTF-8. Each has the same width, so columns stay aligned.
_ASCII_REPLACEMENTS = str.maketrans("─│–−†…×·⏎“”‘’\N{NO-BREAK SPACE}", "-|--!.x./\"\"'' ")
_ENCODING_ERROR_HANDLER = "replace_unencodable"
# Matches a suggested command that reads a lake, unless the suggestion already has --lake.
_SUGGESTED_COMMAND = re.compile(
    rf"`magic (?:{'|'.join(LAKE_COMMANDS)})\b(?! --help)(?![^`]*--lake)"
)


def _replace_unencodable_characters(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks: symbols such as ✓ by ASCII, others by escapes.

    It is an error handler for `codecs.register_error`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII_REPLACEMENTS)
    return text.encode(error.encoding, "backslashreplace").decode(error.encoding), error.end


codecs.register_error(_ENCODING_ERROR_HANDLER, _replace_unencodable_characters)


class OutputError(PipelineError):
    """Results cannot be written to stdout."""


def make_output_replace_unencodable_characters() -> None:
    """Make stdout and stderr replace characters that their encodings lack, without errors.

    Python sets a stream to None if it was closed when the program started. Such a stream is opened
    on the null device: notes to a closed stderr are dropped, results to a closed stdout fail. The
    lake of an earlier command in this process is forgotten.
    """
    add_lake_to_suggested_commands("")
    for name, mode in (("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            null_device = os.open(os.devnull, mode)
            setattr(sys, name, open(null_device, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ENCODING_ERROR_HANDLER)


def reserve_stdout_for_results() -> None:
    """Redirect output to stdout by libraries and child processes to stderr.

    Libraries and child processes write to file descriptor 1, which becomes a copy of stderr.
    Results are written to a copy of the original descriptor, which no child process inherits.
    """
    global _reserved_stdout  # noqa: PLW0603 - a process has one terminal
    copy = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), 1)
    _reserved_stdout = open(copy, "w", encoding=sys.stdout.encoding, errors=_ENCODING_ERROR_HANDLER)  # noqa: PTH123, SIM115
    for name in ("stdout", "__stdout__"):  # `shutil.get_terminal_size` uses the second
        setattr(sys, name, _reserved_stdout)


# The value of --lake that suggested commands repeat; empty if the option was not used.
_lake_of_suggested_commands = ""


def add_lake_to_suggested_commands(path: str) -> None:
    """Make notes and errors add `--lake PATH` to the commands that they suggest.

    Args:
        path: The path or URL of the lake; an empty string stops the addition.
    """
    global _lake_of_suggested_commands  # noqa: PLW0603 - a process has one terminal
    _lake_of_suggested_commands = path


# The stream for results if `reserve_stdout_for_results` was called, otherwise None.
_reserved_stdout: TextIO | None = None


def result_stream() -> TextIO:
    """Return the stream for results: the original stdout."""
    return _reserved_stdout or sys.stdout


def library_output_stream() -> TextIO:
    """Return the stream for output of libraries: stderr if stdout is reserved for results."""
    return sys.stderr if _reserved_stdout else sys.stdout


def is_stdout_terminal() -> bool:
    """Return whether stdout, the stream of results, is a terminal."""
    return result_stream().isatty()


def is_stderr_terminal() -> bool:
    """Return whether stderr, the stream of notes and progress, is a terminal."""
    return sys.stderr.isatty()


def is_stdin_terminal() -> bool:
    """Return whether stdin is a terminal, and not closed."""
    return sys.stdin is not None and sys.stdin.isatty()


def terminal_width_or_none() -> int | None:
    """Return the width of the terminal in columns, or None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if is_stdout_terminal() else None


# The ANSI code (Select Graphic Rendition) of each style.
STYLES = {"heading": "1", "aside": "2", "hit": "32", "miss": "31"}


def write_result(text: str, style: str | None = None) -> None:
    """Write text to stdout, with control characters escaped.

    Args:
        text: The text, with its line breaks.
        style: A key of `STYLES`; it has no effect outside of a terminal.

    Raises:
        OutputError: If stdout cannot be written.
    """
    text = escape_unprintable(text)
    if style and is_stdout_terminal() and os.environ.get("TERM", "dumb") != "dumb":
        text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
    _write_or_raise_output_error(result_stream().write, text)


def write_result_bytes(data: bytes) -> None:
    """Write bytes to stdout unchanged.

    Raises:
        OutputError: If stdout cannot be written.
    """
    flush_results()
    _write_or_raise_output_error(result_stream().buffer.write, data)


def flush_results() -> None:
    """Write the buffered text to stdout.

    Raises:
        OutputError: If stdout cannot be written.
    """
    _write_or_raise_output_error(result_stream().flush)


def _write_or_raise_output_error(write: Callable[..., Any], *data: str | bytes) -> None:
    """Call a function that writes to stdout, and raise its OSError as an OutputError."""
    try:
        write(*data)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (
            "it is closed" if error.errno == errno.EBADF else one_line_message_without_path(error)
        )
        raise OutputError(f"the result cannot be written to stdout: {reason}") from None


@contextmanager
def mention_completed_work_in_output_error(completed_work: str) -> Iterator[None]:
    """If the block cannot write its output, say in the error what was completed before.

    Args:
        completed_work: A clause such as "ingest 1 is committed".

    Raises:
        OutputError: If stdout cannot be written.
    """
    try:
        yield
        flush_results()
    except OutputError as error:
        raise OutputError(f"{completed_work}, and only this failed: {error}") from None


def print_note(*texts: str, is_wrapped: bool = True) -> None:
    """Print notes to stderr, each as one line; nothing is printed if stderr is closed.

    Args:
        texts: The notes, without line breaks at the end.
        is_wrapped: Whether lines are wrapped between words to the width of the terminal.
    """
    flush_results()
    _print_to_stderr(texts, is_wrapped=is_wrapped)


def _print_to_stderr(texts: Iterable[str], *, is_wrapped: bool) -> None:
    if _lake_of_suggested_commands:
        lake_option = f" --lake {shlex.quote(_lake_of_suggested_commands)}"
        texts = [
            _SUGGESTED_COMMAND.sub(lambda match: match[0] + lake_option, text) for text in texts
        ]
    # Line breaks are replaced, because a name from a log could otherwise imitate a note of magic.
    lines = [line_breaks_to_symbols(escape_unprintable(text)) for text in texts]
    if is_wrapped and is_stderr_terminal():
        # Imported here, because the import takes time and `--help` prints no notes.
        from pipeline.render.terminal import wrap_text

        width = shutil.get_terminal_size().columns
        lines = [wrapped for line in lines for wrapped in wrap_text(line, width)]
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)


def print_error(text: str, place: str = "") -> None:
    """Print an error as one line on stderr, even if stdout cannot be written.

    Args:
        text: The message.
        place: Lines to print below it, such as the line of a query with a mark under the error.
    """
    with suppress(OSError, OutputError):
        flush_results()
    line = " ".join(text.split()) or "an error without a message; please report it"
    _print_to_stderr(["magic: " + line, *place.splitlines()], is_wrapped=False)


# Progress is a bar if stderr is a terminal; otherwise an ingest prints a line every 30 seconds.

SECONDS_BETWEEN_PROGRESS_LINES = 30


@contextmanager
def show_document_progress(
    count_files_and_bytes: Callable[[], tuple[int, int]],
) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of an ingest: a bar on a terminal, otherwise a line every 30 seconds.

    Args:
        count_files_and_bytes: Returns the numbers of files and of bytes to read; it is called only
            if stderr is a terminal.

    Yields:
        A function to call with the numbers of documents and of bytes read since the last call.
    """
    has_bar = is_stderr_terminal()
    total = count_files_and_bytes()[1] if has_bar else 0
    n_documents = n_bytes = 0
    started_at = reported_at = time.monotonic()

    with _progress_bar(
        "reading", total, "{task.fields[n]:,} documents", "{task.percentage:.0f} %", n=0
    ) as update:

        def add(n_new_documents: int, n_new_bytes: int) -> None:
            nonlocal n_documents, n_bytes, reported_at
            n_documents, n_bytes = n_documents + n_new_documents, n_bytes + n_new_bytes
            update(
                description="reading" if n_bytes < total else "writing",
                completed=n_bytes,
                n=n_documents,
            )
            now = time.monotonic()
            if not has_bar and now - reported_at >= SECONDS_BETWEEN_PROGRESS_LINES:
                reported_at = now
                print_note(
                    f"reading: {n_documents:,} documents and {n_bytes >> 20:,} MiB "
                    f"in {now - started_at:,.0f} s"
                )

        yield add


@contextmanager
def show_game_progress(n_games: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of writing `n_games` games as a bar on a terminal.

    Yields:
        A function to call with the number of games written so far.
    """
    with _progress_bar("writing", n_games, "{task.completed:,.0f} games") as update:
        yield lambda n_written: update(completed=n_written)


@contextmanager
def show_step_progress(first_step: str = "looking") -> Iterator[Callable[[str], None]]:
    """Show the current step of a longer task and the elapsed seconds, on a terminal.

    Yields:
        A function to call with the name of the next step.
    """
    with _progress_bar(first_step, None, "{task.elapsed:.0f} s") as update:
        yield lambda step: update(description=step)


@contextmanager
def _progress_bar(
    first_step: str, n_total: int | None, *columns: str, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Yield a function that updates a progress bar; without a terminal it does nothing."""
    if not is_stderr_terminal():
        yield lambda **changes: None
        return
    from rich import console, progress

    with progress.Progress(
        "{task.description}",
        progress.BarColumn(bar_width=None),
        *columns,
        progress.TimeRemainingColumn(),
        console=console.Console(stderr=True),
        expand=True,
        transient=True,
    ) as bar:
        yield partial(bar.update, bar.add_task(first_step, total=n_total, **fields))
