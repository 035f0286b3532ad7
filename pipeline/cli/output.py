"""Writes a table to stdout in the form asked for."""

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import polars as pl

from pipeline.cli import terminal
from pipeline.cli.options import SAFE_CSV
from pipeline.present import latex, markdown
from pipeline.present.table import Table
from pipeline.present.terminal import laid_out
from pipeline.printable import printable
from pipeline.written import csv_texts, first_part, json_texts, safe_csv_texts

LINES_SHOWN = 1000
"""A table on a terminal has no more lines than this."""
LINES_PAGED = 10_000
"""And no more in a pager: it is laid out as a whole before its first line is seen."""
DOCUMENTS = {"markdown": markdown, "latex": latex}
"""Forms that others read with the notes that belong to a table."""


def show(table: Table | pl.DataFrame, form: str) -> None:
    """Writes the table with its notes; a frame is a table whose columns are called as they are."""
    if isinstance(table, pl.DataFrame):
        table = Table("", table)
    show_parts([table.rows], form, table.of_rows)


def show_parts(parts: Iterable[pl.DataFrame], form: str, table: Callable[..., Table]) -> int:
    """Writes rows that come in parts, each as it comes; returns their number.

    There is at least one part. `table` makes one of each, for eyes; the first part with rows
    decides how all are laid out, and has the notes.
    """
    n_rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for part in parts:
            n_rows += part.height
            yield part

    if form == "table" or form in DOCUMENTS:
        first, frames = first_part(counted())
        next(frames)
        _show(table(first), map(table, frames), form)
    else:
        for chunk in _parquet_parts(counted()) if form == "parquet" else _WRITERS[form](counted()):
            terminal.out_bytes(chunk)
    return n_rows


def _show(first: Table, others: Iterable[Table], form: str) -> None:
    if form == "table":
        _lines(first, others)
        return
    for text in DOCUMENTS[form].table(first, others):
        terminal.out_bytes(text.encode())
    say(first.notes, form)


def say(lines: Iterable[str], form: str) -> None:
    """Says what whoever reads the table has to know; in a document it stays with the table."""
    if form == "table":
        for line in lines:
            terminal.note(line)
    elif form in DOCUMENTS:
        terminal.out_bytes(DOCUMENTS[form].items(lines).encode())


def _lines(first: Table, others: Iterable[Table]) -> None:
    """Writes the table as wide as the terminal, and its notes."""
    width = terminal.width()
    most = None if width is None else LINES_PAGED if terminal.is_paged() else LINES_SHOWN
    if most is not None:
        first = first.of_rows(first.rows.head(most))
    shown = laid_out(first, width, others)
    lines = iter(shown.lines)
    for number, line in enumerate(islice(lines, most)):
        terminal.out(line, "heading" if number < shown.n_of_heading else None)
        terminal.out("\n")
    if most is not None and next(lines, None) is not None:
        terminal.note(
            f"… cut after {most:,} lines. For all rows, write to a file, as by "
            "`--format csv > rows.csv`, or to a pager, as by `| less -S`"
        )
    say(shown.notes, "table")


def _json(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """A list of records, one a line."""
    return (text.encode() for text in json_texts(parts))


def _csv(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """Comma-separated, nested values as JSON; to a terminal only what is printable."""
    for text in csv_texts(parts):
        yield (printable(text) if terminal.is_out_terminal() else text).encode()


def _safe_csv(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """The same for a spreadsheet: what it would run begins with an apostrophe, all is printable."""
    return (text.encode() for text in safe_csv_texts(parts))


def _parquet_parts(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """A Parquet file, a row group for each part."""
    import pyarrow.parquet as pq

    first, frames = first_part(parts)
    file = _Pieces()
    with pq.ParquetWriter(file, first.to_arrow().schema, compression="zstd") as writer:
        for frame in frames:
            writer.write_table(frame.to_arrow())
            yield file.taken()
    yield file.taken()


class _Pieces(io.RawIOBase):
    """A file that is only written: what was written is taken from it piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._n_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self._n_bytes += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._n_bytes

    def taken(self) -> bytes:
        """What was written since this was last called."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


_WRITERS: dict[str, Callable[[Iterable[pl.DataFrame]], Iterator[bytes]]] = {
    "json": _json,
    "csv": _csv,
    SAFE_CSV: _safe_csv,
}
