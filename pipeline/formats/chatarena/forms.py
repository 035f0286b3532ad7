"""The three forms of a log, each as message rows: a JSON list, a table, a section of a transcript.

A position such as `$[3].turn` is in the message of that number, counted from 0.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence

import msgspec

from pipeline.archives.splitting import Splitter, sections, whole
from pipeline.formats.broken import broken, decode, mistyped, text_of
from pipeline.formats.chatarena import reprs
from pipeline.formats.look import Look
from pipeline.formats.players import is_nobody
from pipeline.formats.rows import EVERYONE, Row
from pipeline.game import BrokenDocument, Fault


class _Row(Row, gc=False):
    """A row in which null stands for nobody as well."""

    visible_to: str | tuple[str, ...] | None = EVERYONE  # type: ignore[assignment]


_ROWS = msgspec.json.Decoder(list[_Row])
_EMPTY = {"[]", "()", "{}", "set()"}
_COLUMNS = {"agent_name", "content", "turn", "visible_to", "msg_type"}
_LONGEST_HEADER = 400
_BANNER = re.compile(rb"={3,200}\r?\n[ \t]{0,20}GAME [0-9]{1,9}/[0-9]{1,9}[ \t]{0,20}\r?(?:\n|$)")
_OF_BANNER = re.compile(rb"={3,}|[ \t]*GAME [0-9]+/[0-9]+")
_IN_UTF_8 = "the document is in UTF-8"
_TRANSCRIPT = re.compile(rb"\s*" + _BANNER.pattern + rb"={3,200}\s{0,99}(?:Message\(|===|$)")


def splitter(path: str, head: bytes) -> Splitter | None:
    """Each game of a transcript, and the whole of a table; known by how the file begins."""
    if _is_table(head):
        return whole
    return sections(_BANNER) if _TRANSCRIPT.match(head) else None


def claims(look: Look) -> bool:
    """Whether a document is in one of the forms: by its keys, its columns or its banner."""
    if look.first == "[":
        return look.lists("agent_name", "visible_to", "msg_type")
    if look.first == "=":
        return _TRANSCRIPT.match(look.data) is not None
    return look.first != "{" and _is_table(look.data)


def rows(look: Look) -> tuple[list[Row], list[Fault]]:
    """The messages of a document that is claimed, and a fault for what is none of them."""
    if look.first == "[":
        return _heard(decode(_ROWS, look.data)), []
    if look.first == "=":
        return _of_transcript(look.data)
    return _converted(list(_of_table(look.data))), []


def _heard(rows: list[_Row]) -> list[Row]:
    """The rows, those that are shown to nobody written alike: what stands for it is no name."""
    speakers = {row.agent_name for row in rows}
    for row in rows:
        names = row.visible_to if isinstance(row.visible_to, tuple) else (row.visible_to,)
        if speakers.isdisjoint(names) and all(is_nobody(one) or one in _EMPTY for one in names):
            row.visible_to = ()
    return [*rows]


def _is_table(head: bytes) -> bool:
    header, end, _ = head[:_LONGEST_HEADER].partition(b"\n")
    if not end or b"agent_name" not in header:
        return False
    return set(next(csv.reader([header.rstrip(b"\r").decode("latin-1")]))) >= _COLUMNS


def _of_table(data: bytes) -> Iterator[dict[str, object]]:
    """A table's rows, as what `Row` is converted from."""
    records = _records(data)
    header = next(records)
    if len(set(header)) < len(header) or not set(header) >= _COLUMNS:
        raise broken("$", "the table has each of its columns once", ", ".join(header)[:200])
    for number, fields in enumerate(records):
        if len(fields) != len(header):
            rule = "each row of the table has a value for each column"
            counts = f"{len(fields)} values for {len(header)} columns"
            raise broken(f"$[{number}]", rule, counts)
        yield _of_row(dict(zip(header, fields, strict=True)), f"$[{number}]")


def _records(data: bytes) -> Iterator[list[str]]:
    """The header of a table and its rows, without blank lines."""
    # The module's own limit is less than a document's.
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))
    table = csv.reader(io.StringIO(text_of(data, _IN_UTF_8), newline=""), strict=True)
    try:
        yield from filter(None, table)
    except csv.Error as error:
        rule = "the table is well-formed CSV (RFC 4180)"
        raise broken("$", rule, f"line {table.line_num:,}: {error}") from error


def _of_row(fields: dict[str, str], at: str) -> dict[str, object]:
    """A row's values: numbers and lists are written as texts."""
    turn, visible_to = fields["turn"], fields["visible_to"]
    if turn and not re.fullmatch(r"-?[0-9]{1,18}", turn):
        raise broken(f"{at}.turn", "the turn is a whole number", repr(turn[:50]))
    return {
        **fields,
        "turn": int(turn) if turn else None,
        "visible_to": reprs.texts(visible_to, f"{at}.visible_to")
        if visible_to.startswith("[") or reprs.IS_LIST.fullmatch(visible_to)
        else visible_to or EVERYONE,
        "msg_type": fields["msg_type"] or None,
    }


def _of_transcript(data: bytes) -> tuple[list[Row], list[Fault]]:
    """The messages of a section; a fault for the lines that are none, if there are such."""
    lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
    messages = [line for line in lines if line.startswith(b"Message(")]
    others = [
        number
        for number, line in enumerate(lines, start=1)
        if not (line.startswith(b"Message(") or _OF_BANNER.fullmatch(line) or not line.strip())
    ]
    rule = "each line is of the banner, or a message"
    faults = [Fault("$", rule, _lines(others))] if others else []
    texts = [text_of(line, _IN_UTF_8) for line in messages]
    parsed = [reprs.message(text, f"$[{n}]") for n, text in enumerate(texts)]
    return _converted(parsed), faults


def _lines(numbers: Sequence[int]) -> str:
    return f"{len(numbers):,} other lines, the first of them line {numbers[0]:,}"


def _converted(rows: list[dict[str, object]]) -> list[Row]:
    """The rows with their types checked; raises BrokenDocument."""
    try:
        return _heard(msgspec.convert(rows, list[_Row]))
    except msgspec.ValidationError as error:
        raise BrokenDocument(mistyped(error)) from error
