"""What a setting's keys have to be that are columns of `games`; all others are free."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from pipeline.formats.broken import broken
from pipeline.formats.interchange.acts import Round

_MOST = 2**63


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
    """Raises BrokenDocument for a value that no column holds, or a number that nothing does."""
    try:
        msgspec.convert(setting, OfWords if "code" in setting else Fixed)
    except msgspec.ValidationError as error:
        message, _, path = str(error).rpartition(" - at `$")
        at = f"$.setting{path.rstrip('`')}"
        raise broken(at, "every field has its type", message) from error
    for number in _integers(setting):
        if not -_MOST <= number < _MOST:
            raise broken(
                "$.setting",
                "a whole number has at most 64 bits",
                f"a number of {number.bit_length()} bits",
            )


def _integers(value: Any) -> Iterator[int]:
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(inner, int):
        yield inner
    elif inner is not None and not isinstance(inner, str | float):
        for one in inner:
            yield from _integers(one)
