"""Writes a table in one of the forms: to stdout, or to a file whose ending names it."""

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.atomic_files import atomic_write
from pipeline.cli import terminal
from pipeline.cli.options import SAFE_CSV
from pipeline.errors import PipelineError, UsageError
from pipeline.plugins import check_extra
from pipeline.render import DOCUMENT_RENDERERS, markdown
from pipeline.render.table import Table
from pipeline.render.terminal import fit_to_width, wrap_text
from pipeline.serialization import (
    flatten_nested,
    iter_csv,
    iter_json_lines,
    iter_json_records,
    iter_spreadsheet_csv,
    split_empty_parts,
    write_parquet,
)
from pipeline.text_format import escape_unprintable, split_bold_parts

LINES_SHOWN = 1000
"""A table on a terminal has no more lines than this."""


def print_table(table: Table | pl.DataFrame, form: str) -> None:
    """Print a table with its notes; a frame is printed with its column names as headings."""
    if isinstance(table, pl.DataFrame):
        table = Table("", table)
    print_parts([table.rows], form, table.with_rows)
    is_nothing = table.rows.is_empty() and table.nothing
    for hint in [table.nothing] if is_nothing else table.hints:
        terminal.print_note(hint)


def print_parts(
    parts: Iterable[pl.DataFrame], form: str, table: Callable[..., Table]
) -> int | None:
    """Print rows part by part; return the number of rows, or None if the output was truncated.

    There is at least one part. `table` makes a table of each, for readers; the first part with rows
    decides how all are laid out, and has the notes.
    """
    n_rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for part in parts:
            n_rows += part.height
            yield part

    if form == "table" or form in DOCUMENT_RENDERERS:
        rows, frames = split_empty_parts(counted())
        next(frames)
        first, others = table(rows), map(table, frames)
        if form == "table":
            return None if _print_lines(first, others) else n_rows
        document = DOCUMENT_RENDERERS[form]
        for text in (*document.table(first, others), document.format_notes(first.document_notes)):
            terminal.write_result_bytes(text.encode())
    else:
        write_rows(counted(), form, terminal.write_result_bytes)
    return n_rows


def write_rows(parts: Iterable[pl.DataFrame], form: str, put: Callable[[bytes], Any]) -> None:
    """Write rows in a machine-readable format, piece by piece, with the function `put`.

    To a terminal CSV goes with only what is printable.
    """
    if form == "parquet":
        write_parquet(parts, _WriteOnlyFile(put))
        return
    is_seen = form == "csv" and put is terminal.write_result_bytes and terminal.is_out_terminal()
    for text in TEXTS[form](parts):
        put((escape_unprintable(text) if is_seen else text).encode())


def print_heading(text: str, form: str, level: int = 2) -> None:
    """Print a heading above a table."""
    if form == "markdown":
        terminal.write_result(markdown.format_heading(text, level))
        return
    terminal.write_result("\n" if level == 2 else "")
    for line in wrap_text(escape_unprintable(text), terminal.terminal_width()):
        terminal.write_result(line, "heading")
        terminal.write_result("\n")


def _print_lines(first: Table, others: Iterable[Table]) -> bool:
    """Print the table in the terminal's width, with notes; return whether it was truncated."""
    width = terminal.terminal_width()
    most = None if width is None else LINES_SHOWN
    if most is not None:
        first = first.with_rows(first.rows.head(most))
    lines, n_of_heading, notes = fit_to_width(first, width, others)
    for number, line in enumerate(islice(lines, most)):
        for at, part in enumerate(split_bold_parts(line)):
            terminal.write_result(part, "heading" if number < n_of_heading or at % 2 else None)
        terminal.write_result("\n")
    is_cut = most is not None and next(lines, None) is not None
    if is_cut:
        terminal.print_note(
            f"… cut after {most:,} lines. For all rows, write to a file, as by "
            "`--format csv > rows.csv`, or to a pager, as by `| less -S`"
        )
    for note in notes:
        terminal.print_note(note)
    return is_cut


TEXTS: dict[str, Callable[[Iterable[pl.DataFrame]], Iterator[str]]] = {
    "json": iter_json_records,
    "jsonl": iter_json_lines,
    "csv": iter_csv,
    SAFE_CSV: iter_spreadsheet_csv,
}


class _WriteOnlyFile(io.RawIOBase):
    """A write-only file that knows its length, which a pipe does not."""

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


# --- a file -------------------------------------------------------------------------------------

FILE_FORMS = ("csv", "json", "jsonl", "parquet", "xlsx")
EXACT = 10**15
"""A spreadsheet keeps the digits of whole numbers up to here."""
_PLAIN = {"strings_to_formulas": False, "strings_to_urls": False}
_TIMES = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss"}
_TOO_MUCH = (
    "the result does not fit into an XLSX file: a sheet has 1,048,576 rows and 16,384 columns, and "
    "a cell 32,767 characters; write CSV or Parquet"
)


def check_output_file(file: Path, form: str) -> None:
    """Raise an error if the output file cannot be written, before a query is run.

    Its ending names its format; `form` may be the same, or "table", which stands for any.
    """
    own = _file_format(file)
    if own not in FILE_FORMS:
        known = ", ".join(f".{one}" for one in FILE_FORMS)
        raise UsageError(f"{file}: the ending must say the format; choose from {known}")
    if form not in ("table", own):
        raise UsageError(f"{file}: the ending says another format than --format {form}")
    check_output_path(file)
    if own == "xlsx":
        check_extra("an XLSX file", "excel", ("xlsxwriter",))


def check_output_path(file: Path) -> None:
    """Raise an error if the file is a folder, or if its parent folder does not exist."""
    if file.is_dir():
        raise PipelineError(f"{file}: is a folder; name a file")
    if not file.parent.is_dir():
        raise PipelineError(f"{file}: there is no folder {file.parent}; create it first")


def write_file(frame: pl.DataFrame, file: Path, *, is_safe: bool = False) -> None:
    """Write the frame to a file, which appears or is replaced when it is complete.

    `is_safe` is for CSV: see `iter_spreadsheet_csv`.
    """
    with atomic_write(file) as draft:
        if (form := _file_format(file)) == "xlsx":
            _write_xlsx(frame, draft)
            return
        with draft.open("wb") as out:
            write_rows([frame], SAFE_CSV if is_safe else form, out.write)


def _file_format(file: Path) -> str:
    """Return the format that the file extension selects."""
    return file.suffix.lower().removeprefix(".")


def _write_xlsx(frame: pl.DataFrame, file: Path) -> None:
    """Write an Excel sheet; strings that look like formulas or links are stored as strings."""
    columns = pl.DataFrame(
        [_to_excel_column(column) for column in flatten_nested(frame).iter_columns()]
    )
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    try:
        with Workbook(file, _PLAIN | {"constant_memory": True, "nan_inf_to_errors": True}) as book:
            sheet = book.add_worksheet()
            sheet.freeze_panes(1, 0)
            for number, dtype in enumerate(columns.dtypes):
                if form := _TIMES.get(dtype.base_type()):
                    sheet.set_column(number, number, None, book.add_format({"num_format": form}))
            codes = [sheet.write_row(0, 0, columns.columns, book.add_format({"bold": True}))]
            codes += [
                sheet.write_row(row, 0, cells) for row, cells in enumerate(columns.iter_rows(), 1)
            ]
            if any(codes):  # of cells that a sheet has no room for, which stay empty
                raise PipelineError(_TOO_MUCH)
    except FileCreateError as error:
        raise error.args[0] from None  # the system's own


def _to_excel_column(column: pl.Series) -> pl.Series:
    """Convert a column for Excel: unsupported types to strings, times to UTC without a zone.

    A sheet knows no day before 1900, and rounds whole numbers above `EXACT`.
    """
    if column.dtype.is_integer():
        is_exact = (column.cast(pl.Float64).abs() <= EXACT).all()
        return column if is_exact else column.cast(pl.String)
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if column.dtype in (pl.Date, pl.Datetime):
        return column if (column.dt.year() >= 1900).all() else column.dt.to_string("iso")
    return column.dt.to_string("iso") if column.dtype.is_temporal() else column
