"""Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.cli import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

SECONDS_BETWEEN_LINES = 30


@contextmanager
def of_documents(measure: Callable[[], tuple[int, int]]) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the documents and bytes that were just read.

    `measure` returns the numbers of files and of bytes that there are to read.
    """
    if not terminal.is_note_terminal():
        yield _Lines().add
        return
    from rich import progress
    from rich.table import Column

    _, n_bytes = measure()
    columns = [
        progress.TextColumn("{task.fields[n_documents]:,} documents"),
        progress.DownloadColumn(table_column=Column(no_wrap=True)),
        progress.TransferSpeedColumn(table_column=Column(no_wrap=True)),
    ]
    with _bar(columns) as bar:
        task = bar.add_task("reading", total=n_bytes, n_documents=0)

        def add(n_documents: int, n_bytes: int) -> None:
            shown = bar.tasks[task]
            bar.update(
                task,
                advance=n_bytes,
                n_documents=shown.fields["n_documents"] + n_documents,
                description="writing" if shown.remaining == n_bytes else "reading",
            )

        yield add


@contextmanager
def of_games(n_games: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of games written so far."""
    if not terminal.is_note_terminal():
        yield lambda n_written: None
        return
    from rich import progress

    with _bar([progress.TextColumn("{task.completed:,.0f} games")]) as bar:
        task = bar.add_task("writing", total=n_games)
        yield lambda n_written: bar.update(task, completed=n_written)


@contextmanager
def of_steps() -> Iterator[Callable[[str], None]]:
    """A function to call with the name of the next step, of an unknown number."""
    if not terminal.is_note_terminal():
        yield lambda step: None
        return
    from rich import progress

    with _bar([progress.TimeElapsedColumn()]) as bar:
        task = bar.add_task("looking", total=None)
        yield lambda step: bar.update(task, description=step)


@contextmanager
def of_waiting() -> Iterator[None]:
    """Shows for how long a query has been running."""
    with of_steps() as show_step:
        show_step("running the query")
        yield


def _bar(columns: "list[ProgressColumn]") -> "Progress":
    from rich import console, progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=None),
        *columns,
        progress.TimeRemainingColumn(),
        console=console.Console(stderr=True),
        expand=True,
        transient=True,
    )


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
