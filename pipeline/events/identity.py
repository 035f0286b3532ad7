"""The identities of documents, games and settings: hashes that are the same on every machine."""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from pipeline.events.contracts import ID_LENGTH
from pipeline.game import Game, JsonValue

_INDEXED = re.compile(r"(?:.*/)?([0-9]{1,9})\.json(?:\.(?:gz|zst|xz))?", re.IGNORECASE | re.DOTALL)
# Keys sorted, no spaces, text in UTF-8, so that equal values are equal bytes.
_ENCODER = msgspec.json.Encoder(order="sorted")


def sha256(data: bytes) -> str:
    """The hash of a document's bytes, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def game_index(path: str) -> int | None:
    """The game's number in its competition, which a log has in its file's stem, if anywhere.

    A line of a file of many logs has none: the file's stem is the same for all of them.
    """
    found = _INDEXED.fullmatch(path)
    return int(found[1]) if found else None


def game_id(document_sha256: str, index: int | None, assigned_model: str | None) -> str:
    """The game's id: of its bytes and index, and of the model where the bytes name none.

    Neither folder nor archive enters, so a file is the same game wherever it is found.
    """
    return _digest(_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: Game) -> str:
    """The id of all that was read of a game; neither spaces, escapes nor the order of keys matter.

    It is no identity: `game_id` is. Two games of one content are one log in two JSON forms.
    """
    return _digest(_ENCODER.encode(game))


def setting_id(game_type: str, setting: Mapping[str, JsonValue]) -> str:
    """The id of what was fixed before play; equal numbers are equal however they are written."""
    return _digest_of_setting(_ENCODER.encode([game_type, setting]))


# Games of one setting come by the hundred.
@lru_cache(maxsize=4096)
def _digest_of_setting(setting: bytes) -> str:
    return _digest(_ENCODER.encode(_canonical(msgspec.json.decode(setting))))


def _canonical(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    return float(value) if isinstance(value, int) else value


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:ID_LENGTH]
