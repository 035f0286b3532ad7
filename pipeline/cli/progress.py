"""Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pipeline.cli import terminal

SECONDS_BETWEEN_LINES = 30
_PERCENTAGE = "{task.percentage:.0f} %"


@contextmanager
def of_documents(measure: Callable[[], tuple[int, int]]) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the documents and bytes that were just read.

    `measure` returns the numbers of files and of bytes that there are to read.
    """
    is_drawn = terminal.is_note_terminal()
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
                terminal.note(
                    f"reading: {n_documents:,} documents and {n_bytes >> 20:,} MiB "
                    f"in {now - began_at:,.0f} s"
                )

        yield add


@contextmanager
def of_games(n_games: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of games written so far."""
    with _bar("writing", n_games, "{task.completed:,.0f} games") as update:
        yield lambda n_written: update(completed=n_written)


@contextmanager
def of_steps(first: str = "looking") -> Iterator[Callable[[str], None]]:
    """A function to call with the name of the next step, of an unknown number."""
    with _bar(first, None, "{task.elapsed:.0f} s") as update:
        yield lambda step: update(description=step)


@contextmanager
def _bar(
    step: str, total: int | None, *columns: str, **fields: Any
) -> Iterator[Callable[..., None]]:
    """A function that changes the bar; without a terminal, one that does nothing."""
    if not terminal.is_note_terminal():
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
