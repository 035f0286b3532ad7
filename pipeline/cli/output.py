"""Output of tables to stdout or to a file, in the formats of --format.

Commands use this module. The layout of tables is in `pipeline.render`, the formats for programs are
in `pipeline.serialization`.
"""

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
from pipeline.plugins import check_extra_is_installed
from pipeline.render import DOCUMENT_RENDERERS, markdown
from pipeline.render.table import Table
from pipeline.render.terminal import fit_to_width, wrap_text
from pipeline.serialization import (
    iter_csv,
    iter_json_lines,
    iter_json_records,
    iter_spreadsheet_csv,
    peek_first_nonempty_frame,
    to_csv_columns,
    write_parquet,
)
from pipeline.text_format import escape_unprintable, split_bold_parts

MAX_TERMINAL_LINES = 1000
"""A table on a terminal is truncated after this number of lines."""


def print_table(table: Table | pl.DataFrame, form: str) -> None:
    """Print a table to stdout, and its notes to stderr.

    Args:
        table: The table; a data frame becomes a table with the names of its columns.
        form: A format of --format.
    """
    if isinstance(table, pl.DataFrame):
        table = Table("", table)
    print_rows_in_parts([table.rows], form, table.with_rows)
    has_empty_note = table.rows.is_empty() and table.nothing
    for hint in [table.nothing] if has_empty_note else table.hints:
        terminal.print_note(hint)


def print_rows_in_parts(
    parts: Iterable[pl.DataFrame], form: str, build_table: Callable[..., Table]
) -> int | None:
    """Print the rows of a table to stdout, one part after another.

    Args:
        parts: The rows, in at least one part.
        form: A format of --format.
        build_table: Builds a table from a part, for formats that are read by people. The first part
            with rows determines the layout and the notes of the whole table.

    Returns:
        The number of rows, or None if the output on a terminal was truncated.
    """
    n_rows = 0

    def iter_and_count() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for part in parts:
            n_rows += part.height
            yield part

    if form == "table" or form in DOCUMENT_RENDERERS:
        rows, frames = peek_first_nonempty_frame(iter_and_count())
        next(frames)
        first_table, further_tables = build_table(rows), map(build_table, frames)
        if form == "table":
            return None if _print_terminal_table(first_table, further_tables) else n_rows
        renderer = DOCUMENT_RENDERERS[form]
        notes = renderer.format_notes(first_table.document_notes)
        for text in (*renderer.table(first_table, further_tables), notes):
            terminal.write_result_bytes(text.encode())
    else:
        write_rows_as_parquet_json_or_csv(iter_and_count(), form, terminal.write_result_bytes)
    return n_rows


def write_rows_as_parquet_json_or_csv(
    parts: Iterable[pl.DataFrame], form: str, write_bytes: Callable[[bytes], Any]
) -> None:
    """Write rows as Parquet, JSON or CSV.

    Control characters are escaped in CSV on a terminal.

    Args:
        parts: The rows, in at least one part.
        form: `parquet`, or a key of `TEXT_WRITERS`.
        write_bytes: Called with each piece of the output.
    """
    if form == "parquet":
        write_parquet(parts, _WriteOnlyFile(write_bytes))
        return
    must_escape = (
        form == "csv"
        and write_bytes is terminal.write_result_bytes
        and terminal.is_stdout_terminal()
    )
    for text in TEXT_WRITERS[form](parts):
        write_bytes((escape_unprintable(text) if must_escape else text).encode())


def print_heading(text: str, form: str, level: int = 2) -> None:
    """Print a heading to stdout, as Markdown or in bold for a terminal.

    Args:
        text: The heading.
        form: `markdown`, or any other format for a heading on a terminal.
        level: 1 for a page, 2 for a section, which follows an empty line on a terminal.
    """
    if form == "markdown":
        terminal.write_result(markdown.format_heading(text, level))
        return
    terminal.write_result("\n" if level == 2 else "")
    for line in wrap_text(escape_unprintable(text), terminal.terminal_width_or_none()):
        terminal.write_result(line, "heading")
        terminal.write_result("\n")


def _print_terminal_table(first_table: Table, further_tables: Iterable[Table]) -> bool:
    """Print a table fitted to the width of the terminal; return whether lines were truncated."""
    width = terminal.terminal_width_or_none()
    max_lines = None if width is None else MAX_TERMINAL_LINES
    if max_lines is not None:
        first_table = first_table.with_rows(first_table.rows.head(max_lines))
    lines, n_heading_lines, notes = fit_to_width(first_table, width, further_tables)
    for line_number, line in enumerate(islice(lines, max_lines)):
        for part_number, part in enumerate(split_bold_parts(line)):
            is_bold = line_number < n_heading_lines or part_number % 2
            terminal.write_result(part, "heading" if is_bold else None)
        terminal.write_result("\n")
    is_truncated = max_lines is not None and next(lines, None) is not None
    if is_truncated:
        terminal.print_note(
            f"… truncated after {max_lines:,} lines. To see all rows, write to a file with "
            "`--format csv > rows.csv`, or use a pager with `| less -S`"
        )
    for note in notes:
        terminal.print_note(note)
    return is_truncated


TEXT_WRITERS: dict[str, Callable[[Iterable[pl.DataFrame]], Iterator[str]]] = {
    "json": iter_json_records,
    "jsonl": iter_json_lines,
    "csv": iter_csv,
    SAFE_CSV: iter_spreadsheet_csv,
}


class _WriteOnlyFile(io.RawIOBase):
    """A write-only file that knows its length, which a pipe does not."""

    def __init__(self, write_bytes: Callable[[bytes], Any]) -> None:
        self._write_bytes = write_bytes
        self._n_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._write_bytes(bytes(data))
        self._n_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        return self._n_bytes


FILE_FORMATS = ("csv", "json", "jsonl", "parquet", "xlsx")
_MAX_EXACT_INTEGER = 10**15
"""Excel keeps all digits of integers up to this absolute value."""
_STRING_OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False}
_DATE_FORMATS = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss"}
_SHEET_LIMITS_MESSAGE = (
    "the result does not fit into an XLSX file: a sheet has at most 1,048,576 rows and 16,384 "
    "columns, and a cell at most 32,767 characters; write CSV or Parquet"
)


def check_output_file(file: Path, form: str) -> None:
    """Check before a query that its result can be written to a file.

    Args:
        file: The file; its extension selects the format.
        form: The value of --format: the same format, or `table` if the option was not used.

    Raises:
        UsageError: If the extension selects no known format, or another format than `form`.
        PipelineError: If the file is a folder, its folder does not exist, or the extra for
            XLSX is not installed.
    """
    file_format = _format_of_extension(file)
    if file_format not in FILE_FORMATS:
        extensions = ", ".join(f".{name}" for name in FILE_FORMATS)
        raise UsageError(
            f"{file}: the file extension must select the format; choose from {extensions}"
        )
    if form not in ("table", file_format):
        raise UsageError(f"{file}: the file extension selects another format than --format {form}")
    check_output_path(file)
    if file_format == "xlsx":
        check_extra_is_installed("an XLSX file", "excel", ("xlsxwriter",))


def check_output_path(file: Path) -> None:
    """Check that a file can be created at a path.

    Raises:
        PipelineError: If the path is a folder, or if its parent folder does not exist.
    """
    if file.is_dir():
        raise PipelineError(f"{file}: is a folder; name a file")
    if not file.parent.is_dir():
        raise PipelineError(f"{file}: there is no folder {file.parent}; create it first")


def write_rows_to_file(
    frame: pl.DataFrame, file: Path, *, neutralizes_formulas: bool = False
) -> None:
    """Write a data frame to a file; an existing file is replaced only when the new one is complete.

    Args:
        frame: The rows.
        file: The file; its extension selects one of `FILE_FORMATS`.
        neutralizes_formulas: Whether to change CSV cells that a spreadsheet would run as formulas.

    Raises:
        PipelineError: If the rows exceed the limits of an XLSX file.
    """
    with atomic_write(file) as draft:
        if (form := _format_of_extension(file)) == "xlsx":
            _write_xlsx(frame, draft)
            return
        with draft.open("wb") as out:
            write_rows_as_parquet_json_or_csv(
                [frame], SAFE_CSV if neutralizes_formulas else form, out.write
            )


def _format_of_extension(file: Path) -> str:
    return file.suffix.lower().removeprefix(".")


def _write_xlsx(frame: pl.DataFrame, file: Path) -> None:
    """Write an Excel file with one sheet; no string becomes a formula or a link."""
    columns = pl.DataFrame(
        [_convert_column_for_excel(column) for column in to_csv_columns(frame).iter_columns()]
    )
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    try:
        with Workbook(
            file, _STRING_OPTIONS | {"constant_memory": True, "nan_inf_to_errors": True}
        ) as book:
            sheet = book.add_worksheet()
            sheet.freeze_panes(1, 0)
            for number, dtype in enumerate(columns.dtypes):
                if form := _DATE_FORMATS.get(dtype.base_type()):
                    sheet.set_column(number, number, None, book.add_format({"num_format": form}))
            codes = [sheet.write_row(0, 0, columns.columns, book.add_format({"bold": True}))]
            codes += [
                sheet.write_row(row, 0, cells) for row, cells in enumerate(columns.iter_rows(), 1)
            ]
            if any(codes):  # XlsxWriter leaves cells beyond the limits empty and returns a code.
                raise PipelineError(_SHEET_LIMITS_MESSAGE)
    except FileCreateError as error:
        raise error.args[0] from None  # The OSError that XlsxWriter wrapped.


def _convert_column_for_excel(column: pl.Series) -> pl.Series:
    """Convert times to UTC without a zone, and values that Excel cannot store to strings.

    Excel has no dates before 1900, and rounds integers above `_MAX_EXACT_INTEGER`.
    """
    if column.dtype.is_integer():
        is_exact = (column.cast(pl.Float64).abs() <= _MAX_EXACT_INTEGER).all()
        return column if is_exact else column.cast(pl.String)
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if column.dtype in (pl.Date, pl.Datetime):
        return column if (column.dt.year() >= 1900).all() else column.dt.to_string("iso")
    return column.dt.to_string("iso") if column.dtype.is_temporal() else column
