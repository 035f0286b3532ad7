"""The lines of an AIWolf log: a day, an event and the event's values, with commas between them."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from pipeline.formats.broken import broken
from pipeline.game import BrokenDocument, Fault

NOBODY = -1
# The values of a status without the player's name.
NAMELESS = 4
# How many values each event has. The last may have commas in it.
_VALUES = {
    "status": 5,
    "talk": 4,
    "whisper": 4,
    "vote": 2,
    "attackVote": 2,
    "divine": 3,
    "guard": 3,
    "execute": 2,
    "attack": 2,
    "result": 3,
}
# What a player says or does: of one that cannot be read the game is kept.
ACTS = frozenset({"talk", "whisper", "vote", "attackVote", "divine", "guard"})
_NUMBER = re.compile(r"[0-9]{1,4}|-1")


class Line(NamedTuple):
    """One line: its place from 0, its day, its event, and the event's values."""

    at: int
    day: int
    event: str
    values: list[str]

    @property
    def json_path(self) -> str:
        """Where the line is: the document as a list of lines."""
        return f"$[{self.at}]"

    def fault(self, rule: str) -> Fault:
        """What to report where this line breaks a rule, or cannot be used."""
        text = ",".join([str(self.day), self.event, *self.values])
        return Fault(self.json_path, rule, f"line {self.at + 1:,}: {text[:80]!r}")

    def broken(self, rule: str) -> BrokenDocument:
        """The error to raise where no game can be read because of this line."""
        return BrokenDocument(self.fault(rule))

    def number(self, place: int) -> int:
        """The value at a place, a number."""
        value = self.values[place]
        if not _NUMBER.fullmatch(value):
            raise self.broken(f"value {place + 1} of `{self.event}` is a number")
        return int(value)

    def word(self, place: int, words: Collection[str]) -> str:
        """The value at a place, one of some words."""
        value = self.values[place]
        if value not in words:
            raise self.broken(f"value {place + 1} of `{self.event}` is one of {', '.join(words)}")
        return value


def text_of(data: bytes) -> str:
    """The document as text; raises BrokenDocument where it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # a last line that was cut
            return data[: error.start].decode()
        where = f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"
        raise broken("$", "the document is text in UTF-8", where) from error


def lines_of(text: str, faults: list[Fault]) -> Iterator[Line]:
    """The lines, without blank ones, and without acts that lack a value: of each there is a fault.

    Texts can hold signs that Python takes for ends of lines.
    """
    for at, written in enumerate(text.split("\n")):
        if not written.strip():
            continue
        row = written.removesuffix("\r")
        day, _, rest = row.partition(",")
        event, _, rest = rest.partition(",")
        n_values = _VALUES.get(event, 1)
        values = rest.split(",", n_values - 1)
        line = Line(at, int(day) if _NUMBER.fullmatch(day) else NOBODY, event, values)
        if line.day < 0 or not event:
            raise line.broken("every line begins with a day and an event")
        if len(values) >= n_values or (event, len(values)) == ("status", NAMELESS):
            yield line
        elif event in ACTS:
            faults.append(line.fault(f"`{event}` has {n_values} values"))
        else:
            raise line.broken(f"`{event}` has {n_values} values")
