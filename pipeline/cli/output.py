"""Writes a frame to stdout in the form asked for."""

import html
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import polars as pl

from pipeline.cli import cells, layout, terminal
from pipeline.cli.options import SAFE_CSV

SLICE = 2000
LINES_SHOWN = 1000
"""A table on a terminal has no more lines than this."""
ID_SHOWN = 8
TEXT_SHOWN = 100


def show(
    frame: pl.DataFrame,
    form: str,
    *,
    brief: pl.DataFrame | None = None,
    headings: Mapping[str, str] | None = None,
    decimals: int | None = None,
    as_records: bool = False,
) -> None:
    """Writes the frame; for eyes (table and markdown) `brief` stands for it, under its headings."""
    seen = frame if brief is None else brief
    if form == "table":
        _table(seen, headings or {}, decimals, as_records)
    elif form == "markdown":
        for line in _markdown(seen, headings or {}, decimals):
            terminal.out_bytes(line.encode())
    else:
        for chunk in _WRITERS[form](frame):
            terminal.out_bytes(chunk)


def say(lines: Iterable[str], form: str) -> None:
    """Says what whoever reads the frame has to know; in markdown it stays with the table."""
    if form == "table":
        for line in lines:
            terminal.note(line)
    elif form == "markdown":
        texts = (" ".join(terminal.printable(line).split()) for line in lines)
        items = "".join(f"- {_beginning_literal(escaped(text))}\n" for text in texts)
        terminal.out_bytes(f"\n{items}".encode() if items else b"")


def beginning_of_id() -> pl.Expr:
    """So much of each `game_id` as tells games apart."""
    return pl.col("game_id").str.head(ID_SHOWN)


def beginning_of_text() -> pl.Expr:
    """The beginning of each `content`, on one line."""
    text = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
    is_long = text.str.len_chars() > TEXT_SHOWN
    short = text.str.head(TEXT_SHOWN - 1) + "…"
    return pl.when(is_long).then(short).otherwise(text).alias("content")


def _table(
    frame: pl.DataFrame, headings: Mapping[str, str], decimals: int | None, as_records: bool
) -> None:
    names = [terminal.printable(headings.get(name, name)) for name in frame.columns]
    width = terminal.width()
    most = None if width is None else LINES_SHOWN
    rows = _rows(frame if most is None else frame.head(most), decimals)
    if as_records:
        lines = layout.records([layout.in_one_line(name) for name in names], rows, width)
    else:
        lines = layout.table(names, rows, _is_right(frame), width)
    is_heading = not as_records
    for line in islice(lines, most):
        is_heading = is_heading and not line.startswith("─")
        terminal.out(line, "heading" if is_heading else None)
        terminal.out("\n")
    if most is not None and next(iter(lines), None) is not None:
        terminal.note(
            f"… cut after {most:,} lines: the result has {frame.height:,} rows. For all of them, "
            "write to a file, as by `--format csv > rows.csv`, or to a pager, as by `| less -S`"
        )


def _rows(frame: pl.DataFrame, decimals: int | None) -> list[tuple[str, ...]]:
    """The frame's rows as printable cells."""
    columns = (
        [terminal.printable(text) for text in cells.texts(column.to_list(), decimals)]
        for column in frame.iter_columns()
    )
    return list(zip(*columns, strict=True))


def _is_right(frame: pl.DataFrame) -> list[bool]:
    return [dtype.is_numeric() for dtype in frame.dtypes]


# What has a meaning within a line. An underscore within a word has none, nor one dollar alone.
_MARKDOWN = re.compile(
    r"[\\`*\[\]|~]|\$(?=.*\$)|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.",
    re.IGNORECASE | re.DOTALL,
)
# And what has one only where a line begins: headings and lists.
_BLOCK = re.compile(r"^(\d*)([#+.)-])")


def _markdown(
    frame: pl.DataFrame, headings: Mapping[str, str], decimals: int | None
) -> Iterator[str]:
    names = [layout.in_one_line(headings.get(name, name)) for name in frame.columns]
    yield _markdown_row(map(terminal.printable, names))
    yield _markdown_rule(_is_right(frame))
    for row in _rows(frame, decimals):
        yield _markdown_row(row)


def _markdown_row(row: "Iterator[str] | tuple[str, ...]") -> str:
    return f"| {' | '.join(escaped(cell).replace(chr(10), '<br>') for cell in row)} |\n"


def escaped(text: str) -> str:
    """The text with what markdown gives a meaning within a line taken literally.

    HTML is written by entities, since not every reader of markdown takes a backslash before `<`.
    """
    return html.escape(_MARKDOWN.sub(r"\\\g<0>", text), quote=False)


def _beginning_literal(text: str) -> str:
    """The escaped text with what markdown gives a meaning at a line's beginning taken literally."""
    return _BLOCK.sub(r"\1\\\2", text)


def _markdown_rule(is_right: list[bool]) -> str:
    return f"| {' | '.join('--:' if right else '---' for right in is_right)} |\n"


def json_text(frame: pl.DataFrame) -> str:
    """The frame as a list of records, one a line."""
    return b"".join(_json(frame)).decode().rstrip("\n")


def _json(frame: pl.DataFrame) -> Iterator[bytes]:
    """A list of records, one a line."""
    opening = "[\n"
    for rows in frame.iter_slices(SLICE):
        lines = ",\n".join(map(cells.as_json, rows.to_dicts()))
        yield (opening + _safe_json(lines)).encode()
        opening = ",\n"
    yield b"\n]\n" if frame.height else b"[]\n"


def _safe_json(text: str) -> str:
    """The same JSON with what a terminal might obey written as `\\u009b`."""
    return terminal.UNSAFE.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _csv(frame: pl.DataFrame) -> Iterator[bytes]:
    """Comma-separated, nested values as JSON; to a terminal only what is printable."""
    for text in _csv_texts(_flattened(frame)):
        yield (terminal.printable(text) if terminal.is_out_terminal() else text).encode()


def _safe_csv(frame: pl.DataFrame) -> Iterator[bytes]:
    """The same for a spreadsheet: what it would run begins with an apostrophe, all is printable."""
    flat = _flattened(frame).rename(lambda name: f"'{name}" if _FORMULA.match(name) else name)
    text = pl.col(pl.String)
    safe = pl.when(text.str.contains(_FORMULA.pattern)).then("'" + text).otherwise(text).name.keep()
    for chunk in _csv_texts(flat.with_columns(safe)):
        yield terminal.printable(chunk).encode()


# How a text begins that a spreadsheet takes for a formula: some look past blanks, and read the wide
# forms of these signs like the others.
_FORMULA = re.compile(r"^\s*[=+\-@＝＋－＠]")


def _csv_texts(flat: pl.DataFrame) -> Iterator[str]:
    for number, rows in enumerate(list(flat.iter_slices(SLICE)) or [flat]):
        yield rows.write_csv(include_header=number == 0, datetime_format="%+", time_format="%T%.f")


def _flattened(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(_flat(column) for column in frame.iter_columns())


def _flat(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Binary:
        values = [None if value is None else cells.spelt(value) for value in column]
    elif column.dtype.is_nested():
        values = [None if value is None else cells.as_json(value) for value in column.to_list()]
    elif column.dtype == pl.Duration:
        return column.dt.to_string()
    elif column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    else:
        return column
    return pl.Series(column.name, values, pl.String)


def _parquet(frame: pl.DataFrame) -> Iterator[bytes]:
    held = io.BytesIO()
    frame.write_parquet(held)
    yield held.getvalue()


_WRITERS: dict[str, Callable[[pl.DataFrame], Iterator[bytes]]] = {
    "json": _json,
    "csv": _csv,
    SAFE_CSV: _safe_csv,
    "parquet": _parquet,
}
