"""Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pipeline.cli import terminal

SECONDS_BETWEEN_LINES = 30


@contextmanager
def of_documents(measure: Callable[[], tuple[int, int]]) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the documents and bytes that were just read.

    `measure` returns the numbers of files and of bytes that there are to read.
    """
    if not terminal.is_note_terminal():
        yield _Lines().add
        return
    _, total = measure()
    all_documents = all_bytes = 0
    with _bar("reading", total, "{task.fields[n]:,} documents", _PERCENTAGE, n=0) as update:

        def add(n_documents: int, n_bytes: int) -> None:
            nonlocal all_documents, all_bytes
            all_documents, all_bytes = all_documents + n_documents, all_bytes + n_bytes
            step = "reading" if all_bytes < total else "writing"
            update(description=step, completed=all_bytes, n=all_documents)

        yield add


@contextmanager
def of_games(n_games: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of games written so far."""
    with _bar("writing", n_games, "{task.completed:,.0f} games") as update:
        yield lambda n_written: update(completed=n_written)


@contextmanager
def of_steps() -> Iterator[Callable[[str], None]]:
    """A function to call with the name of the next step, of an unknown number."""
    with _bar("looking", None, "{task.elapsed:.0f} s") as update:
        yield lambda step: update(description=step)


@contextmanager
def of_waiting() -> Iterator[None]:
    """Shows for how long a query has been running."""
    with of_steps() as show_step:
        show_step("running the query")
        yield


_PERCENTAGE = "{task.percentage:.0f} %"


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


class _Lines:
    """Prints a line now and then; for short work none."""

    def __init__(self) -> None:
        self._n_documents = self._n_bytes = 0
        self._began_at = self._reported_at = time.monotonic()

    def add(self, n_documents: int, n_bytes: int) -> None:
        self._n_documents += n_documents
        self._n_bytes += n_bytes
        now = time.monotonic()
        if now - self._reported_at >= SECONDS_BETWEEN_LINES:
            self._reported_at = now
            terminal.note(
                f"reading: {self._n_documents:,} documents and {self._n_bytes >> 20:,} MiB "
                f"in {now - self._began_at:,.0f} s"
            )
