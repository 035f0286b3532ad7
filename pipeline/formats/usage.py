"""What a player's calls of its model took, as logs have it: what is no amount is not known.

Nothing of a game hangs on it: a value that cannot be read is a fault, and the game is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from pipeline.game import Fault, Usage

NAMES = Usage.__struct_fields__
_WHOLE = ("input_tokens", "output_tokens")
# Of more than a trillion nothing was used, and sums would not fit into a column.
_MOST = 10**12


def usage(part: Struct, keys: Mapping[str, str], at: str, faults: list[Fault]) -> Usage:
    """What a part of a log at a place says; `keys` are its fields, by those of `Usage`."""
    found = {
        name: amount(getattr(part, key), f"{at}.{key}", faults, is_whole=name in _WHOLE)
        for name, key in keys.items()
    }
    return Usage(**found)


def amount(value: Any, at: str, faults: list[Fault], *, is_whole: bool = False) -> Any:
    """The amount at a place of a log; null, and a fault, for what is none."""
    if value is None:
        return None
    if type(value) in (int, float) and 0 <= value <= _MOST and not (is_whole and value % 1):
        return int(value) if is_whole else float(value)
    rule = f"what is used is {'a whole' if is_whole else 'a'} number from 0 to a trillion"
    faults.append(Fault(at, rule, repr(value)[:50]))
    return None


def total(calls: Iterable[Usage]) -> Usage:
    """What several calls used together: null where one of them does not say, or there is none."""
    columns: Sequence[tuple[Any, ...]] = list(zip(*map(astuple, calls), strict=True))
    return Usage(*(None if None in column else sum(column) for column in columns))
