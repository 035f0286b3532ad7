"""The only module that talks to the terminal: results to stdout, notes and complaints to stderr.

What comes from logs is hostile: nothing is written to a terminal but through `escape_unprintable`.
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

from pipeline.errors import PipelineError, error_reason
from pipeline.registry import LAKE_COMMANDS
from pipeline.text_format import escape_unprintable, replace_line_breaks

# Replacements of our signs for a terminal without UTF-8; each is as wide as the sign.
_PLAIN = str.maketrans("─│–−†…×·⏎“”‘’\N{NO-BREAK SPACE}", "-|--!.x./\"\"'' ")
LACKING = "plain signs"
# What a hint names to run, of the commands that read the lake of --lake alone.
_COMMAND = re.compile(rf"`magic (?:{'|'.join(LAKE_COMMANDS)})\b(?! --help)(?![^`]*--lake)")


def _replace_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks: our symbols by ASCII, others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode(error.encoding, "backslashreplace").decode(error.encoding), error.end


codecs.register_error(LACKING, _replace_unencodable)


class OutputError(PipelineError):
    """Results cannot be written to stdout."""


def replace_unencodable_output() -> None:
    """Replace characters that the encodings of stdout and stderr lack.

    A stream that is closed from the start is null in Python. Without stderr, notes are dropped;
    without stdout, writing results fails, as in other programs.
    """
    suggest_commands_for_lake("")
    for name, mode in (("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, mode)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LACKING)


def reserve_stdout() -> None:
    """Reserve stdout for results; what libraries and child processes print goes to stderr.

    They know it as file descriptor 1. Results go through a copy that no other process inherits.
    """
    global _results  # noqa: PLW0603 - a process has one terminal
    copy = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), 1)
    _results = open(copy, "w", encoding=sys.stdout.encoding, errors=LACKING)  # noqa: PTH123, SIM115
    for name in ("stdout", "__stdout__"):  # the terminal's size is read from the second
        setattr(sys, name, _results)


# The lake that the commands in notes have to name, as this one was given it; empty for none.
_lake = ""


def suggest_commands_for_lake(path: str) -> None:
    """Add this lake as `--lake` to the commands that notes and errors suggest."""
    global _lake  # noqa: PLW0603 - a process has one terminal
    _lake = path


def _add_lake_option(text: str) -> str:
    return _COMMAND.sub(lambda to_run: f"{to_run[0]} --lake {shlex.quote(_lake)}", text)


# Where the program's results go, when `sys.stdout` is for what others print.
_results: TextIO | None = None


def result_stream() -> TextIO:
    """Return the stream that results are written to."""
    return _results or sys.stdout


def library_output_stream() -> TextIO:
    """Return the stream for what libraries and packages print while a command runs."""
    return sys.stderr if _results else sys.stdout


def is_out_terminal() -> bool:
    """Return whether results are written to a terminal."""
    return result_stream().isatty()


def is_note_terminal() -> bool:
    """Return whether notes are written to a terminal, so that progress can be shown."""
    return sys.stderr.isatty()


def is_in_terminal() -> bool:
    """Return whether input comes from a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def terminal_width() -> int | None:
    """Return the width of the output terminal in columns, or None if it is not a terminal."""
    return shutil.get_terminal_size().columns if is_out_terminal() else None


# By what a piece of text is, how it looks.
STYLES = {"heading": "1", "aside": "2", "hit": "32", "miss": "31"}


def write_result(text: str, style: str | None = None) -> None:
    """Write a result's text in one of `STYLES`, with control characters escaped."""
    text = escape_unprintable(text)
    if style and is_out_terminal() and os.environ.get("TERM", "dumb") != "dumb":
        text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
    _or_explain(result_stream().write, text)


def write_result_bytes(data: bytes) -> None:
    """Write a piece of a result unchanged, in UTF-8 if it is text."""
    flush_results()
    _or_explain(result_stream().buffer.write, data)


def flush_results() -> None:
    """Flush buffered results; raise OutputError if that fails."""
    _or_explain(result_stream().flush)


def _or_explain(write: Callable[..., Any], *data: str | bytes) -> None:
    try:
        write(*data)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else error_reason(error)
        raise OutputError(f"the result cannot be written to stdout: {why}") from None


@contextmanager
def report_completed_work(done: str) -> Iterator[None]:
    """If printing fails in the block, raise an error that also says what was completed."""
    try:
        yield
        flush_results()
    except OutputError as error:
        raise OutputError(f"{done}, and only this failed: {error}") from None


def print_note(*texts: str, is_wrapped: bool = True) -> None:
    """Print each text as a line on stderr; drop it if stderr is closed.

    On a terminal it is broken between words, if `is_wrapped`.
    """
    flush_results()
    _print_to_stderr(texts, is_wrapped=is_wrapped)


def _print_to_stderr(texts: Iterable[str], *, is_wrapped: bool) -> None:
    # A name with a line break makes no line of its own, which could say anything.
    said = map(_add_lake_option, texts) if _lake else texts
    lines = [replace_line_breaks(escape_unprintable(text)) for text in said]
    if is_wrapped and is_note_terminal():
        # Loaded here, since it takes time and `--help` has no notes.
        from pipeline.render.terminal import wrap_text

        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in wrap_text(line, width)]
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)


def print_error(text: str, place: str = "") -> None:
    """Print an error as one line on stderr, even if stdout cannot be written.

    `place` is shown below as it is: the line of a query, with a mark.
    """
    with suppress(OSError, OutputError):
        flush_results()
    line = " ".join(text.split()) or "an error without a message; please report it"
    _print_to_stderr(["magic: " + line, *place.splitlines()], is_wrapped=False)


# Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest.

SECONDS_BETWEEN_LINES = 30
_PERCENTAGE = "{task.percentage:.0f} %"


@contextmanager
def document_progress(
    measure: Callable[[], tuple[int, int]],
) -> Iterator[Callable[[int, int], None]]:
    """Return a progress function to call with the numbers of documents and bytes just read.

    `measure` returns the numbers of files and of bytes that there are to read.
    """
    is_drawn = is_note_terminal()
    total = measure()[1] if is_drawn else 0
    n_documents = n_bytes = 0
    began_at = reported_at = time.monotonic()

    with _progress_bar(
        "reading", total, "{task.fields[n]:,} documents", _PERCENTAGE, n=0
    ) as update:

        def add(more_documents: int, more_bytes: int) -> None:
            nonlocal n_documents, n_bytes, reported_at
            n_documents, n_bytes = n_documents + more_documents, n_bytes + more_bytes
            step = "reading" if n_bytes < total else "writing"
            update(description=step, completed=n_bytes, n=n_documents)
            now = time.monotonic()
            if not is_drawn and now - reported_at >= SECONDS_BETWEEN_LINES:
                reported_at = now
                print_note(
                    f"reading: {n_documents:,} documents and {n_bytes >> 20:,} MiB "
                    f"in {now - began_at:,.0f} s"
                )

        yield add


@contextmanager
def game_progress(n_games: int) -> Iterator[Callable[[int], None]]:
    """Return a progress function to call with the number of games written so far."""
    with _progress_bar("writing", n_games, "{task.completed:,.0f} games") as update:
        yield lambda n_written: update(completed=n_written)


@contextmanager
def step_progress(first: str = "looking") -> Iterator[Callable[[str], None]]:
    """Return a progress function to call with the name of the next step."""
    with _progress_bar(first, None, "{task.elapsed:.0f} s") as update:
        yield lambda step: update(description=step)


@contextmanager
def _progress_bar(
    step: str, total: int | None, *columns: str, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Return a function that advances the progress bar; it does nothing without a terminal."""
    if not is_note_terminal():
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
        yield partial(bar.update, bar.add_task(step, total=total, **fields))
