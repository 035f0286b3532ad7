"""Writes a table to stdout in one of the forms."""

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import polars as pl

from pipeline.cells import bold_parts, printable
from pipeline.cli import terminal
from pipeline.cli.options import SAFE_CSV
from pipeline.present import DOCUMENTS, markdown
from pipeline.present.layout import wrapped
from pipeline.present.table import Table
from pipeline.present.terminal import laid_out
from pipeline.written import (
    csv_texts,
    first_part,
    json_lines,
    json_texts,
    parquet,
    safe_csv_texts,
)

LINES_SHOWN = 1000
"""A table on a terminal has no more lines than this."""


def show(table: Table | pl.DataFrame, form: str) -> None:
    """Writes the table with its notes; a frame is a table whose columns are called as they are."""
    if isinstance(table, pl.DataFrame):
        table = Table("", table)
    show_parts([table.rows], form, table.with_rows)
    is_nothing = table.rows.is_empty() and table.nothing
    for hint in [table.nothing] if is_nothing else table.hints:
        terminal.note(hint)


def show_parts(parts: Iterable[pl.DataFrame], form: str, table: Callable[..., Table]) -> int | None:
    """Writes rows that come in parts, each as it comes; returns their number, None if they are cut.

    There is at least one part. `table` makes a table of each, for readers; the first part with rows
    decides how all are laid out, and has the notes.
    """
    n_rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for part in parts:
            n_rows += part.height
            yield part

    if form == "table" or form in DOCUMENTS:
        rows, frames = first_part(counted())
        next(frames)
        first, others = table(rows), map(table, frames)
        if form == "table":
            return None if _lines(first, others) else n_rows
        document = DOCUMENTS[form]
        for text in (*document.table(first, others), document.items(first.cited)):
            terminal.out_bytes(text.encode())
    else:
        write(counted(), form, terminal.out_bytes)
    return n_rows


def write(parts: Iterable[pl.DataFrame], form: str, put: Callable[[bytes], Any]) -> None:
    """Puts rows somewhere, piece by piece, in a form for programs.

    To a terminal CSV goes with only what is printable.
    """
    if form == "parquet":
        parquet(parts, _Put(put))
        return
    is_seen = form == "csv" and put is terminal.out_bytes and terminal.is_out_terminal()
    for text in TEXTS[form](parts):
        put((printable(text) if is_seen else text).encode())


def heading(text: str, form: str, level: int = 2) -> None:
    """Writes a heading above a table."""
    if form == "markdown":
        terminal.out(markdown.heading(text, level))
        return
    terminal.out("\n" if level == 2 else "")
    for line in wrapped(printable(text), terminal.width()):
        terminal.out(line, "heading")
        terminal.out("\n")


def _lines(first: Table, others: Iterable[Table]) -> bool:
    """Writes the table as wide as the terminal, and its notes; whether it had too many lines."""
    width = terminal.width()
    most = None if width is None else LINES_SHOWN
    if most is not None:
        first = first.with_rows(first.rows.head(most))
    lines, n_of_heading, notes = laid_out(first, width, others)
    for number, line in enumerate(islice(lines, most)):
        for at, part in enumerate(bold_parts(line)):
            terminal.out(part, "heading" if number < n_of_heading or at % 2 else None)
        terminal.out("\n")
    is_cut = most is not None and next(lines, None) is not None
    if is_cut:
        terminal.note(
            f"… cut after {most:,} lines. For all rows, write to a file, as by "
            "`--format csv > rows.csv`, or to a pager, as by `| less -S`"
        )
    for note in notes:
        terminal.note(note)
    return is_cut


TEXTS: dict[str, Callable[[Iterable[pl.DataFrame]], Iterator[str]]] = {
    "json": json_texts,
    "jsonl": json_lines,
    "csv": csv_texts,
    SAFE_CSV: safe_csv_texts,
}


class _Put(io.RawIOBase):
    """A file that is only written and knows its length, which a pipe does not."""

    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self._put = put
        self._n_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._put(bytes(data))
        self._n_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        return self._n_bytes
