"""Frames written for programs: JSON and CSV as text, and Parquet; a part at a time."""

import re
from collections.abc import Iterable, Iterator
from io import RawIOBase
from itertools import chain
from pathlib import Path

import polars as pl

from pipeline import text_format
from pipeline.text_format import UNSAFE_CHARACTERS, escape_unprintable

SLICE = 2000
# How a text begins that a spreadsheet takes for a formula: some look past blanks, and read the wide
# forms of these signs like the others.
_FORMULA = re.compile(r"^\s*[=+\-@＝＋－＠]")


def iter_json_records(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """A list of records, one a line."""
    opening, end = "[\n", "[]\n"
    for rows in _slices(parts):
        lines = ",\n".join(map(text_format.to_json_text, rows.to_dicts()))
        yield opening + escape_terminal_json(lines)
        opening, end = ",\n", "\n]\n"
    yield end


def to_json_records(rows: pl.DataFrame) -> str:
    """The same of one frame, without a line break at the end."""
    return "".join(iter_json_records([rows])).rstrip("\n")


def iter_json_lines(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """A record on each line, without a list around them."""
    for rows in _slices(parts):
        yield "".join(
            f"{escape_terminal_json(text_format.to_json_text(row))}\n"
            for row in rows.iter_rows(named=True)
        )


def escape_terminal_json(text: str) -> str:
    """The same JSON with what a terminal might obey written as `\\u009b`."""
    return UNSAFE_CHARACTERS.sub(_json_escape, text)


def iter_csv(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """Comma-separated, nested values as JSON."""
    return _csv_texts(map(flatten_nested, parts))


def iter_spreadsheet_csv(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    """The same for a spreadsheet: what it would run begins with an apostrophe, all is printable."""
    return map(escape_unprintable, _csv_texts(map(_safe, parts)))


def write_parquet(parts: Iterable[pl.DataFrame], file: Path | RawIOBase) -> int:
    """Writes a Parquet file, a row group for each part, of which there is one at least.

    Returns the number of rows.
    """
    # Imported here, so that whoever writes text does not wait for Arrow.
    import pyarrow.parquet as pq

    n_rows = 0
    first, frames = split_empty_parts(parts)
    with pq.ParquetWriter(file, first.to_arrow().schema, compression="zstd") as writer:
        for frame in frames:
            writer.write_table(frame.to_arrow())
            n_rows += frame.height
    return n_rows


def split_empty_parts(parts: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, Iterator[pl.DataFrame]]:
    """The first part that has rows, if any has, and all from there on."""
    frames = iter(parts)
    first = next(frames)
    while first.is_empty() and (following := next(frames, None)) is not None:
        first = following
    return first, chain([first], frames)


def _slices(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """All rows, a slice at a time, so that no text of all of them is made at once."""
    return chain.from_iterable(part.iter_slices(SLICE) for part in parts if part.height)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _safe(frame: pl.DataFrame) -> pl.DataFrame:
    flat = flatten_nested(frame).rename(lambda name: f"'{name}" if _FORMULA.match(name) else name)
    text = pl.col(pl.String)
    safe = pl.when(text.str.contains(_FORMULA.pattern)).then("'" + text).otherwise(text)
    return flat.with_columns(safe.name.keep())


def _csv_texts(parts: Iterable[pl.DataFrame]) -> Iterator[str]:
    first, flat = split_empty_parts(parts)
    yield first.clear().write_csv()
    for rows in _slices(flat):
        yield rows.write_csv(include_header=False, datetime_format="%+", time_format="%T%.f")


def flatten_nested(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with nested values as JSON, and bytes and other odd types as text."""
    return frame.with_columns(_flat(column) for column in frame.iter_columns())


def _flat(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Binary:
        values = [
            None if value is None else text_format.decode_bytes_visibly(value) for value in column
        ]
    elif column.dtype.is_nested():
        values = [
            None if value is None else text_format.to_json_text(value) for value in column.to_list()
        ]
    elif isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.f")  # what CSV has for others needs a zone
    elif column.dtype == pl.Duration:
        return column.dt.to_string()
    elif column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    else:
        return column
    return pl.Series(column.name, values, pl.String)
