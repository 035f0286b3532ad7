"""What a setting's keys have to be that are columns of `games`; all others are free."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import defstruct

from pipeline.formats.broken import broken, leaves, mistyped
from pipeline.formats.interchange.acts import Round
from pipeline.game import FIXED, BrokenDocument

# What JSON and its hash can be made of again.
_LEAST, _MOST = -(2**63), 2**64 - 1
_LONGEST = 60
# Far more than a setting needs, and far less than Python's functions can call themselves.
_DEEPEST = 100


_PAYOFFS = [keys[1] for keys in FIXED.values() if keys[0] == "payoffs"]
# Of a key that is not here a text; none has to be there.
_HELD: dict[str, Any] = {
    "rounds": Round,
    "multiplier": float,
    "payoffs": defstruct("Payoffs", [(name, float | None, None) for name in _PAYOFFS]),
}
_KEYS = ("code", "civilian_code", *dict.fromkeys(keys[0] for keys in FIXED.values()))
Fixed = defstruct("Fixed", [(key, _HELD.get(key, str) | None, None) for key in _KEYS])
# Where there is a secret word, the topic is what it is about; else it can be anything.
OfWords = defstruct("OfWords", [("topic", str | None, None)], bases=(Fixed,))


def check_setting(setting: Mapping[str, Any]) -> None:
    """Raises BrokenDocument for a value that no column holds, or that is too large or too deep."""
    try:
        msgspec.convert(setting, OfWords if "code" in setting else Fixed)
    except msgspec.ValidationError as error:
        raise BrokenDocument(mistyped(error, "$.setting")) from error
    for path, depth, value in leaves(setting):
        if depth > _DEEPEST:
            rule = f"a setting has at most {_DEEPEST} lists or objects inside of one another"
            raise broken("$.setting", rule, "there are more")
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            rule = f"a whole number is from {_LEAST} to {_MOST}: write another as a text"
            raise broken(f"$.setting{path}", rule, str(value)[:_LONGEST])
