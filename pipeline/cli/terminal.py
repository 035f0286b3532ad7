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


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks: our symbols by ASCII, others by escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode(error.encoding, "backslashreplace").decode(error.encoding), error.end


codecs.register_error(LACKING, _plain)


class OutputError(PipelineError):
    """Results cannot be written to stdout."""


def prepare() -> None:
    """Replace characters that the encodings of stdout and stderr lack.

    A stream that is closed from the start is null in Python. Without stderr, notes are dropped;
    without stdout, writing results fails, as in other programs.
    """
    of_lake("")
    for name, mode in (("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, mode)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LACKING)


def guard() -> None:
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


def of_lake(path: str) -> None:
    """Add this lake as `--lake` to the commands that notes and errors suggest."""
    global _lake  # noqa: PLW0603 - a process has one terminal
    _lake = path


def _with_lake(text: str) -> str:
    return _COMMAND.sub(lambda to_run: f"{to_run[0]} --lake {shlex.quote(_lake)}", text)


# Where the program's results go, when `sys.stdout` is for what others print.
_results: TextIO | None = None


def stream() -> TextIO:
    """Return the stream that results are written to."""
    return _results or sys.stdout


def stream_of_others() -> TextIO:
    """Return the stream for what libraries and packages print while a command runs."""
    return sys.stderr if _results else sys.stdout


def is_out_terminal() -> bool:
    """Return whether results are written to a terminal."""
    return stream().isatty()


def is_note_terminal() -> bool:
    """Return whether notes are written to a terminal, so that progress can be shown."""
    return sys.stderr.isatty()


def is_in_terminal() -> bool:
    """Return whether input comes from a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def width() -> int | None:
    """Return the width of the output terminal in columns, or None if it is not a terminal."""
    return shutil.get_terminal_size().columns if is_out_terminal() else None


# By what a piece of text is, how it looks.
STYLES = {"heading": "1", "aside": "2", "hit": "32", "miss": "31"}


def out(text: str, style: str | None = None) -> None:
    """Write a result's text in one of `STYLES`, with control characters escaped."""
    text = escape_unprintable(text)
    if style and is_out_terminal() and os.environ.get("TERM", "dumb") != "dumb":
        text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
    _or_explain(stream().write, text)


def out_bytes(data: bytes) -> None:
    """Write a piece of a result unchanged, in UTF-8 if it is text."""
    flush()
    _or_explain(stream().buffer.write, data)


def flush() -> None:
    """Flush buffered results; raise OutputError if that fails."""
    _or_explain(stream().flush)


def _or_explain(write: Callable[..., Any], *data: str | bytes) -> None:
    try:
        write(*data)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else error_reason(error)
        raise OutputError(f"the result cannot be written to stdout: {why}") from None


@contextmanager
def reporting(done: str) -> Iterator[None]:
    """If printing fails in the block, raise an error that also says what was completed."""
    try:
        yield
        flush()
    except OutputError as error:
        raise OutputError(f"{done}, and only this failed: {error}") from None


def note(*texts: str, is_wrapped: bool = True) -> None:
    """Print each text as a line on stderr; drop it if stderr is closed.

    On a terminal it is broken between words, if `is_wrapped`.
    """
    flush()
    _to_stderr(texts, is_wrapped=is_wrapped)


def _to_stderr(texts: Iterable[str], *, is_wrapped: bool) -> None:
    # A name with a line break makes no line of its own, which could say anything.
    said = map(_with_lake, texts) if _lake else texts
    lines = [replace_line_breaks(escape_unprintable(text)) for text in said]
    if is_wrapped and is_note_terminal():
        # Loaded here, since it takes time and `--help` has no notes.
        from pipeline.render.terminal import wrap_text

        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in wrap_text(line, width)]
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)


def complain(text: str, place: str = "") -> None:
    """Print an error as one line on stderr, even if stdout cannot be written.

    `place` is shown below as it is: the line of a query, with a mark.
    """
    with suppress(OSError, OutputError):
        flush()
    line = " ".join(text.split()) or "an error without a message; please report it"
    _to_stderr(["magic: " + line, *place.splitlines()], is_wrapped=False)


# Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest.

SECONDS_BETWEEN_LINES = 30
_PERCENTAGE = "{task.percentage:.0f} %"


@contextmanager
def of_documents(measure: Callable[[], tuple[int, int]]) -> Iterator[Callable[[int, int], None]]:
    """Return a progress function to call with the numbers of documents and bytes just read.

    `measure` returns the numbers of files and of bytes that there are to read.
    """
    is_drawn = is_note_terminal()
    total = measure()[1] if is_drawn else 0
    n_documents = n_bytes = 0
    began_at = reported_at = time.monotonic()

    with _bar("reading", total, "{task.fields[n]:,} documents", _PERCENTAGE, n=0) as update:

        def add(more_documents: int, more_bytes: int) -> None:
            nonlocal n_documents, n_bytes, reported_at
            n_documents, n_bytes = n_documents + more_documents, n_bytes + more_bytes
            step = "reading" if n_bytes < total else "writing"
            update(description=step, completed=n_bytes, n=n_documents)
            now = time.monotonic()
            if not is_drawn and now - reported_at >= SECONDS_BETWEEN_LINES:
                reported_at = now
                note(
                    f"reading: {n_documents:,} documents and {n_bytes >> 20:,} MiB "
                    f"in {now - began_at:,.0f} s"
                )

        yield add


@contextmanager
def of_games(n_games: int) -> Iterator[Callable[[int], None]]:
    """Return a progress function to call with the number of games written so far."""
    with _bar("writing", n_games, "{task.completed:,.0f} games") as update:
        yield lambda n_written: update(completed=n_written)


@contextmanager
def of_steps(first: str = "looking") -> Iterator[Callable[[str], None]]:
    """Return a progress function to call with the name of the next step."""
    with _bar(first, None, "{task.elapsed:.0f} s") as update:
        yield lambda step: update(description=step)


@contextmanager
def _bar(
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
