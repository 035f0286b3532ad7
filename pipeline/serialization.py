"""Write data frames as JSON, CSV and Parquet, part by part, so that memory is bounded.

Commands, pages and exports use this module.
"""

import re
from collections.abc import Iterable, Iterator
from io import RawIOBase
from itertools import chain
from pathlib import Path

import polars as pl

from pipeline import text_format
from pipeline.text_format import UNSAFE_CHARACTERS, escape_unprintable

ROWS_PER_SLICE = 2000
# The start of a string that a spreadsheet evaluates as a formula. Some spreadsheets ignore blanks
# before it, and accept the full-width forms of these characters.
_FORMULA = re.compile(r"^\s*[=+\-@＝＋－＠]")


def iter_json_records(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield the text of a JSON list with one line for each row, in parts."""
    opening, end = "[\n", "[]\n"
    for rows in _iter_nonempty_slices(parts):
        lines = ",\n".join(map(text_format.to_json_text, rows.to_dicts()))
        yield opening + escape_terminal_json(lines)
        opening, end = ",\n", "\n]\n"
    yield end


def to_json_records(rows: pl.DataFrame) -> str:
    """Return the text of a JSON list with one line for each row, without a final line break."""
    return "".join(iter_json_records([rows])).rstrip("\n")


def iter_json_lines(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield the text of the rows as JSON Lines: one JSON object per line."""
    for rows in _iter_nonempty_slices(parts):
        yield "".join(
            f"{escape_terminal_json(text_format.to_json_text(row))}\n"
            for row in rows.iter_rows(named=True)
        )


def escape_terminal_json(text: str) -> str:
    r"""Escape the characters in JSON text that control a terminal, for example as `\u009b`."""
    return UNSAFE_CHARACTERS.sub(_to_json_escape_sequence, text)


def iter_csv(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield the text of the rows as CSV with a header; nested values are written as JSON."""
    return _iter_csv_text(map(to_csv_columns, parts))


def iter_spreadsheet_csv(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Yield CSV text with an apostrophe before each formula, so that no spreadsheet runs it."""
    return map(escape_unprintable, _iter_csv_text(map(_escape_spreadsheet_formulas, parts)))


def write_parquet(parts: Iterable[pl.DataFrame], file: Path | RawIOBase) -> int:
    """Write frames to a Parquet file, and return the number of rows.

    Args:
        parts: Frames of the same schema, at least one; each becomes a row group.
        file: The path or the open file to write to.

    Returns:
        The number of rows.
    """
    # Imported here, because commands that write text do not need Arrow.
    import pyarrow.parquet as pq

    n_rows = 0
    first, frames = peek_first_nonempty_frame(parts)
    with pq.ParquetWriter(file, first.to_arrow().schema, compression="zstd") as writer:
        for frame in frames:
            writer.write_table(frame.to_arrow())
            n_rows += frame.height
    return n_rows


def peek_first_nonempty_frame(
    parts: Iterable[pl.DataFrame],
) -> tuple[pl.DataFrame, Iterator[pl.DataFrame]]:
    """Return the first frame that has rows, and an iterator over the frames from this one on.

    If no frame has rows, this is the last frame.
    """
    frames = iter(parts)
    first = next(frames)
    while first.is_empty() and (next_frame := next(frames, None)) is not None:
        first = next_frame
    return first, chain([first], frames)


def _iter_nonempty_slices(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    return chain.from_iterable(part.iter_slices(ROWS_PER_SLICE) for part in parts if part.height)


def _to_json_escape_sequence(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _escape_spreadsheet_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    flat = to_csv_columns(frame).rename(lambda name: f"'{name}" if _FORMULA.match(name) else name)
    text = pl.col(pl.String)
    safe = pl.when(text.str.contains(_FORMULA.pattern)).then("'" + text).otherwise(text)
    return flat.with_columns(safe.name.keep())


def _iter_csv_text(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    first, frames = peek_first_nonempty_frame(parts)
    yield first.clear().write_csv()
    for rows in _iter_nonempty_slices(frames):
        yield rows.write_csv(include_header=False, datetime_format="%+", time_format="%T%.f")


def to_csv_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with strings in place of values that CSV cannot contain.

    Nested values become JSON. Bytes, durations, categories and times without a time zone also
    become strings.
    """
    return frame.with_columns(_flatten_column(column) for column in frame.iter_columns())


def _flatten_column(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Binary:
        values = [
            None if value is None else text_format.decode_bytes_visibly(value) for value in column
        ]
    elif column.dtype.is_nested():
        values = [
            None if value is None else text_format.to_json_text(value) for value in column.to_list()
        ]
    elif isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
        return column.dt.strftime(
            "%Y-%m-%dT%H:%M:%S%.f"
        )  # the format for other times needs a time zone
    elif column.dtype == pl.Duration:
        return column.dt.to_string()
    elif column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    else:
        return column
    return pl.Series(column.name, values, pl.String)
