"""Progress on stderr: a bar where that is a terminal, else a line now and then of an ingest."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.cli import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

SECONDS_BETWEEN = 0.05
SECONDS_BETWEEN_LINES = 30


@contextmanager
def of_documents(measure: Callable[[], tuple[int, int]]) -> Iterator[Callable[[int, int], None]]:
    """What to tell of documents and of bytes as they are read; `measure` foretells files, bytes."""
    if not terminal.is_note_terminal():
        yield _Lines().tell
        return
    from rich import progress
    from rich.table import Column

    n_bytes = measure()[1]
    columns = [
        progress.TextColumn("{task.fields[n_documents]:,} documents"),
        progress.DownloadColumn(table_column=Column(no_wrap=True)),
        progress.TransferSpeedColumn(table_column=Column(no_wrap=True)),
    ]
    with _bar(columns) as bar:
        yield _Documents(bar, n_bytes).tell


@contextmanager
def of_games(n_games: int) -> Iterator[Callable[[int], None]]:
    """What to tell of games written so far."""
    if not terminal.is_note_terminal():
        yield lambda n_written: None
        return
    from rich import progress

    with _bar([progress.TextColumn("{task.completed:,.0f} games")]) as bar:
        task = bar.add_task("writing", total=n_games)
        yield lambda n_written: bar.update(task, completed=n_written)


@contextmanager
def of_steps() -> Iterator[Callable[[str], None]]:
    """What to tell of the next step of a work whose length nobody knows."""
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
    with of_steps() as tell:
        tell("running the query")
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

    def tell(self, n_documents: int, n_bytes: int) -> None:
        self._n_documents += n_documents
        self._n_bytes += n_bytes
        now = time.monotonic()
        if now - self._reported_at >= SECONDS_BETWEEN_LINES:
            self._reported_at = now
            terminal.note(
                f"reading: {self._n_documents:,} documents and {self._n_bytes >> 20:,} MiB "
                f"in {now - self._began_at:,.0f} s"
            )


class _Documents:
    """Adds up the counts and passes them on a few times a second."""

    def __init__(self, bar: "Progress", total_bytes: int) -> None:
        self._bar = bar
        self._total_bytes = total_bytes
        self._task = bar.add_task("reading", total=total_bytes, n_documents=0)
        self._n_documents = self._n_bytes = 0
        self._reported_at = 0.0

    def tell(self, n_documents: int, n_bytes: int) -> None:
        self._n_documents += n_documents
        self._n_bytes += n_bytes
        is_read = self._n_bytes >= self._total_bytes
        now = time.monotonic()
        if not is_read and now - self._reported_at < SECONDS_BETWEEN:
            return
        self._reported_at = now
        self._bar.update(
            self._task,
            completed=self._n_bytes,
            n_documents=self._n_documents,
            description="writing" if is_read else "reading",
        )
