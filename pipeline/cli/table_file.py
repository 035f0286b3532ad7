"""A result written to a file, in the form that the file's ending names."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pipeline.cli import output
from pipeline.cli.options import SAFE_CSV
from pipeline.errors import PipelineError, UsageError
from pipeline.extras import check_extra
from pipeline.replacing import replacing
from pipeline.written import flattened

if TYPE_CHECKING:
    from xlsxwriter import Workbook

FORMS = ("csv", "json", "jsonl", "parquet", "xlsx")
EXACT = 10**15
"""A spreadsheet keeps the digits of whole numbers up to here."""
_PLAIN = {"strings_to_formulas": False, "strings_to_urls": False}
_TIMES = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss"}
_TOO_MUCH = (
    "the result does not fit into an XLSX file: a sheet has 1,048,576 rows and 16,384 columns, and "
    "a cell 32,767 characters; write CSV or Parquet"
)


def check(file: Path, form: str) -> None:
    """Raises an error for a file that cannot be written, so that no query is run in vain.

    Its ending names its format; `form` may be the same, or "table", which stands for any.
    """
    own = _form(file)
    if own not in FORMS:
        known = ", ".join(f".{one}" for one in FORMS)
        raise UsageError(f"{file}: the ending must say the format; choose from {known}")
    if form not in ("table", own):
        raise UsageError(f"{file}: the ending says another format than --format {form}")
    check_place(file)
    if own == "xlsx":
        check_extra("an XLSX file", "excel", ("xlsxwriter",))


def check_place(file: Path) -> None:
    """Raises an error for a file that is a folder, or whose folder does not exist."""
    if file.is_dir():
        raise PipelineError(f"{file}: is a folder; name a file")
    if not file.parent.is_dir():
        raise PipelineError(f"{file}: there is no folder {file.parent}; create it first")


def write(frame: pl.DataFrame, file: Path, *, is_safe: bool = False) -> None:
    """Writes the frame; the file appears, or is replaced, when it is complete.

    `is_safe` is for CSV: see `safe_csv_texts`.
    """
    with replacing(file) as draft:
        if (form := _form(file)) == "xlsx":
            _xlsx(frame, draft)
            return
        with draft.open("wb") as out:
            output.write([frame], SAFE_CSV if is_safe else form, out.write)


def _form(file: Path) -> str:
    """The format that the file's ending names."""
    return file.suffix.lower().removeprefix(".")


def _xlsx(frame: pl.DataFrame, file: Path) -> None:
    """A sheet in which every text is a plain text, also one that looks like a formula or a link."""
    columns = pl.DataFrame([_for_a_sheet(column) for column in flattened(frame).iter_columns()])
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    try:
        with Workbook(file, _PLAIN | {"constant_memory": True, "nan_inf_to_errors": True}) as book:
            _fill(book, columns)
    except FileCreateError as error:
        raise error.args[0] from None  # the system's own


def _fill(book: "Workbook", columns: pl.DataFrame) -> None:
    sheet = book.add_worksheet()
    sheet.freeze_panes(1, 0)
    for number, dtype in enumerate(columns.dtypes):
        if form := _TIMES.get(dtype.base_type()):
            sheet.set_column(number, number, None, book.add_format({"num_format": form}))
    codes = [sheet.write_row(0, 0, columns.columns, book.add_format({"bold": True}))]
    codes += [sheet.write_row(row, 0, cells) for row, cells in enumerate(columns.iter_rows(), 1)]
    if any(codes):  # of cells that a sheet has no room for, which stay empty
        raise PipelineError(_TOO_MUCH)


def _for_a_sheet(column: pl.Series) -> pl.Series:
    """The column with what a sheet has no type for as text, and instants in UTC without saying so.

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
