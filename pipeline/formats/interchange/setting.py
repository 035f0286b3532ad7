"""What a setting's keys have to be that are columns of `games`; all others are free."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from pipeline.formats.broken import broken, leaves, mistyped
from pipeline.formats.interchange.acts import Round
from pipeline.game import BrokenDocument

# What JSON and its hash can be made of again.
_LEAST, _MOST = -(2**63), 2**64 - 1
_LONGEST = 60
# Far more than a setting needs, and far less than Python's functions can call themselves.
_DEEPEST = 100


class Payoffs(Struct):
    cooperate: float | None = None
    defect: float | None = None
    one_defect: float | None = None
    two_defect: float | None = None


class Fixed(Struct):
    code: str | None = None
    civilian_code: str | None = None
    undercover_code: str | None = None
    hidden: str | None = None
    tested: str | None = None
    rounds: Round | None = None
    multiplier: float | None = None
    payoffs: Payoffs | None = None


class OfWords(Fixed):
    """Where there is a secret word, the topic is what it is about; else it can be anything."""

    topic: str | None = None


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
