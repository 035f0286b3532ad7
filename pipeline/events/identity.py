"""The identities of documents, games and settings: hashes that are the same on every machine."""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import fields

from pipeline.acts import ACTS
from pipeline.column import ID_LENGTH
from pipeline.game import Course, GameRecord, JsonValue

_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_INDEXED = re.compile(rf"(?:.*/)?([0-9]{{1,9}})\.json{_PACKED}", re.IGNORECASE | re.DOTALL)
# A part that a format cuts out of a file; lines are numbered in their files too.
_PART = re.compile(r".*#([0-9]{1,9})", re.DOTALL)
_LINE = re.compile(rf".*\.(?:jsonl|ndjson){_PACKED}(?: \([0-9]+\))*#[0-9]+", re.I | re.S)
# Keys sorted, no spaces, text in UTF-8, so that equal values are equal bytes.
_ENCODER = msgspec.json.Encoder(order="sorted")
# Half as dear as JSON, for what only this code reads.
_PACKER = msgspec.msgpack.Encoder(order="deterministic")
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1
_ROUND_AND_SEAT = attrgetter("round", "seat")
_all_events = attrgetter(*ACTS)
# What is no content of a game: where the same is said in another form.
_NO_CONTENT = {
    *("messages", "events", "format", "format_version", "game_index", "assigned_model", "faults"),
    *("order", "failures", "usage", "log_id"),
}
_facts = attrgetter(
    *(field.name for field in fields(GameRecord) if field.name not in {*ACTS, *_NO_CONTENT})
)


def sha256(data: bytes) -> str:
    """The hash of a document's bytes, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def document_sha256(data: bytes, game: GameRecord, content: str) -> str:
    """Return the hash by which a game's document is known: of its bytes, or of its id and content.

    A log that Inspect writes again, as with other scores, has other bytes and the same samples.
    """
    return sha256(data if game.log_id is None else f"{game.log_id} {content}".encode())


def game_index(path: str) -> int | None:
    """The game's number in its competition: the stem of its file, or the part of it that it is.

    A row or a section is in its place in the file, as a file in its folder: equal ones are repeats.
    A line of a file of many logs has no number, as lines are put together in any order; the file's
    stem is the same for all of them.
    """
    found = _INDEXED.fullmatch(path) or (not _LINE.fullmatch(path) and _PART.fullmatch(path))
    return int(found[1]) if found else None


def game_id(document_sha256: str, index: int | None, assigned_model: str | None) -> str:
    """The game's id: of its bytes and index, and of the model where the bytes name none.

    Neither folder nor archive enters, so a file is the same game wherever it is found.
    """
    return _digest(_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: GameRecord) -> str:
    """The id of all that was read of a game; neither spaces, escapes nor the order of keys matter.

    It is no identity: `game_id` is. Two games of one content are one log in two forms: of JSON, or
    of formats. So neither the format enters, nor the order in which it lists events, nor what of it
    could not be used, nor whether the log or the ingest names the models.
    """
    messages = game.messages
    events = [rows and sorted(rows, key=_ROUND_AND_SEAT) for rows in _all_events(game)]
    of_kind = {
        name: sorted(rows, key=_ROUND_AND_SEAT) for name, rows in game.events.items() if rows
    }
    said = [_course_digest(messages.course), messages.content]
    return _digest(_PACKER.encode([said, _facts(game), events, of_kind]))


# Games go the same few ways, and a course is as long as a game.
@lru_cache(maxsize=1024)
def _course_digest(course: Course) -> str:
    return _digest(_PACKER.encode(course))


def clear_cache() -> None:
    """Lets go of the courses known, which the games of one batch have in common."""
    _course_digest.cache_clear()


class Setting(NamedTuple):
    """What was fixed before play, as JSON, and the id of it and of the game type."""

    setting_id: str
    setting: str


def identified_setting(game_type: str, setting: Mapping[str, JsonValue]) -> Setting:
    """The setting with its id; equal numbers are equal however they are written."""
    return _identified(_ENCODER.encode([game_type, setting]))


# Games of one setting come by the hundred.
@lru_cache(maxsize=4096)
def _identified(setting: bytes) -> Setting:
    played, fixed = msgspec.json.decode(setting)
    setting_id = _digest(_ENCODER.encode([played, _each_number(fixed, float)]))
    # Settings of one id have one text, which is for people: 10, not 10.0. Engines read the digits
    # of a whole number alike, but write one as a float in different ways.
    return Setting(setting_id, _ENCODER.encode(_each_number(fixed, _plain)).decode())


def _each_number(value: JsonValue, write: Callable[[float], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _each_number(inner, write) for key, inner in value.items()}
    if isinstance(value, list):
        return [_each_number(inner, write) for inner in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = float(value)
    # A seed of 64 bits can be a whole number that no float is: the next one is another setting.
    return write(number) if number == value else value


def _plain(number: float) -> JsonValue:
    is_whole = number.is_integer() and _LEAST_WHOLE <= number <= _MOST_WHOLE
    return int(number) if is_whole else number


def _digest(data: bytes) -> str:
    return sha256(data)[:ID_LENGTH]
