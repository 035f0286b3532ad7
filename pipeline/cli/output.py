"""Writes a frame to stdout in the form asked for."""

import html
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import polars as pl

from pipeline import cells
from pipeline.cli import latex, layout, terminal
from pipeline.cli.folds import ID_SHOWN, Fold, View, fitting
from pipeline.cli.options import SAFE_CSV
from pipeline.printable import printable
from pipeline.written import csv_texts, first_part, json_texts, safe_csv_texts

LINES_SHOWN = 1000
"""A table on a terminal has no more lines than this."""
LINES_PAGED = 10_000
"""And no more in a pager: it is laid out as a whole before its first line is seen."""
DOCUMENTS = ("markdown", "latex")
"""Forms that others read with the notes that belong to a table."""
TEXT_SHOWN = 100


def show(
    frame: pl.DataFrame,
    form: str,
    *,
    brief: pl.DataFrame | None = None,
    headings: Mapping[str, str] | None = None,
    decimals: int | None = None,
    as_records: bool = False,
    folds: Sequence[Fold] = (),
) -> None:
    """Writes the frame; for eyes `brief` stands for it, under its headings.

    Forms for eyes are table, markdown and latex. A table that the terminal is too narrow for is
    changed by `folds`, in their order, until it fits.
    """
    seen = frame if brief is None else brief
    if form == "table":
        view = _folded(View(seen, headings or {}, decimals), folds)
        _table([view.rows], view, as_records)
        say(view.notes, form)
    elif form in DOCUMENTS:
        terminal.out_bytes(document(seen, form, headings=headings, decimals=decimals).encode())
    else:
        _write(_WRITERS[form]([frame]))


def document(
    frame: pl.DataFrame,
    form: str,
    *,
    headings: Mapping[str, str] | None = None,
    decimals: int | None = None,
) -> str:
    """The frame as a table of markdown or latex."""
    if form == "latex":
        return "".join(_latex(frame, headings or {}, decimals))
    return b"".join(_markdown([frame], headings or {}, decimals)).decode()


def show_parts(
    parts: Iterable[pl.DataFrame],
    form: str,
    *,
    brief: Callable[[pl.DataFrame], pl.DataFrame],
    folds: Sequence[Fold] = (),
) -> int:
    """Writes a frame that comes in parts, each as it comes; returns the number of its rows.

    There is at least one part. For eyes `brief` makes of each what stands for it. The `folds`, for
    a terminal that is too narrow for the first part, may change headings alone.
    """
    n_rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for part in parts:
            n_rows += part.height
            yield part

    if form == "table":
        first, frames = first_part(map(brief, counted()))
        _table(frames, _folded(View(first), folds), as_records=False)
    elif form == "markdown":
        _write(_markdown(map(brief, counted()), {}, None))
    elif form == "parquet":
        _write(_parquet_parts(counted()))
    else:
        _write(_WRITERS[form](counted()))
    return n_rows


def _write(chunks: Iterable[bytes]) -> None:
    for chunk in chunks:
        terminal.out_bytes(chunk)


def say(lines: Iterable[str], form: str) -> None:
    """Says what whoever reads the frame has to know; in a document it stays with the table."""
    if form == "table":
        for line in lines:
            terminal.note(line)
        return
    if form in DOCUMENTS:
        terminal.out_bytes(notes(lines, form).encode())


def notes(lines: Iterable[str], form: str) -> str:
    """The lines as a list of markdown or latex, below a table."""
    texts = [" ".join(printable(line).split()) for line in lines]
    if form == "latex":
        return latex.items(texts)
    items = "".join(f"- {_beginning_literal(escaped(text))}\n" for text in texts)
    return f"\n{items}" if items else ""


def beginning_of_id() -> pl.Expr:
    """So much of each `game_id` as tells games apart."""
    return pl.col("game_id").str.head(ID_SHOWN)


def with_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows for eyes: what is influential by the beginning of its id."""
    if "influential" not in rows.columns:
        return rows
    ids = pl.element().struct["cluster"].str.head(ID_SHOWN)
    return rows.with_columns(pl.col("influential").list.eval(ids).list.join(" "))


def beginning_of_text() -> pl.Expr:
    """The beginning of each `content`, on one line."""
    text = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
    is_long = text.str.len_chars() > TEXT_SHOWN
    short = text.str.head(TEXT_SHOWN - 1) + "…"
    return pl.when(is_long).then(short).otherwise(text).alias("content")


def _heading(lines: Iterator[str]) -> tuple[int, Iterator[str]]:
    """How many lines the heading has, which ends with a rule, and all lines; 0 without a rule."""
    begun = []
    for line in lines:
        begun.append(line)
        if line.startswith("─"):
            return len(begun) - 1, chain(begun, lines)
    return 0, iter(begun)


def _folded(view: View, folds: Sequence[Fold]) -> View:
    """The view folded to the terminal; as it is where it would still be blocks of lines."""
    width = terminal.width()
    if width is None:
        return view

    def is_fitting(one: View) -> bool:
        return layout.natural_width(_names(one, one.columns), _seen(one), gap=1) <= width

    folded = fitting(view, folds, is_fitting)
    return folded if layout.is_table(_names(folded, folded.columns), _seen(folded), width) else view


def _names(view: View, columns: Sequence[str]) -> list[str]:
    return [layout.in_one_line(printable(view.headings.get(name, name))) for name in columns]


def _seen(view: View) -> list[tuple[str, ...]]:
    """The cells that decide the widths of the columns."""
    return _rows(view.rows.select(view.columns).head(LINES_PAGED), view.decimals)


def _titles(view: View) -> list[str]:
    """The title of each row; none where there are no sections."""
    if not view.sections:
        return []
    return [", ".join(row) for row in _rows(view.rows.select(view.sections), view.decimals)]


def _table(parts: Iterable[pl.DataFrame], view: View, as_records: bool) -> None:
    """Writes the rows that come in parts, as the view has it."""
    first, frames = first_part(frame.drop(view.sections) for frame in parts)
    names = _names(view, first.columns)
    width = terminal.width()
    most = None if width is None else LINES_PAGED if terminal.is_paged() else LINES_SHOWN
    rows = (_rows(frame if most is None else frame.head(most), view.decimals) for frame in frames)
    if as_records:
        lines = layout.records(names, [row for part in rows for row in part], width)
    else:
        lines = layout.tables(names, rows, _is_right(first), width, _titles(view)[:most])
    n_of_heading, lines = (0, lines) if as_records else _heading(lines)
    for number, line in enumerate(islice(lines, most)):
        terminal.out(line, "heading" if number < n_of_heading else None)
        terminal.out("\n")
    if most is not None and next(lines, None) is not None:
        terminal.note(
            f"… cut after {most:,} lines. For all rows, write to a file, as by "
            "`--format csv > rows.csv`, or to a pager, as by `| less -S`"
        )


def _rows(frame: pl.DataFrame, decimals: int | None) -> list[tuple[str, ...]]:
    """The frame's rows as printable cells."""
    columns = (
        [printable(text) for text in cells.texts(column.to_list(), decimals)]
        for column in frame.iter_columns()
    )
    return list(zip(*columns, strict=True))


def natural_width(frame: pl.DataFrame, decimals: int | None = None) -> int:
    """The columns of a terminal that the frame takes as a table, a line each row."""
    return layout.natural_width(list(map(printable, frame.columns)), _rows(frame, decimals))


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
    parts: Iterable[pl.DataFrame], headings: Mapping[str, str], decimals: int | None
) -> Iterator[bytes]:
    first, frames = first_part(parts)
    names = [layout.in_one_line(headings.get(name, name)) for name in first.columns]
    yield _markdown_row(map(printable, names)).encode()
    yield _markdown_rule(_is_right(first)).encode()
    for frame in frames:
        for row in _rows(frame, decimals):
            yield _markdown_row(row).encode()


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


def _latex(frame: pl.DataFrame, headings: Mapping[str, str], decimals: int | None) -> Iterator[str]:
    names = [headings.get(name) or printable(layout.in_one_line(name)) for name in frame.columns]
    return latex.table(names, _rows(frame, decimals), _is_right(frame))


def json_text(frame: pl.DataFrame) -> str:
    """The frame as a list of records, one a line."""
    return b"".join(_json([frame])).decode().rstrip("\n")


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


def _parquet(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    held = io.BytesIO()
    pl.concat(parts).write_parquet(held)
    yield held.getvalue()


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
    "parquet": _parquet,
}
