"""What the players of a sample used, by what Inspect adds up of its roles and models.

A player who is called as a role used what the role did. Another used what its model did, if nobody
else in the game has it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from pipeline.formats.broken import decode
from pipeline.formats.usage import amount, usage
from pipeline.game import BrokenDocument, Fault, Seat, Usage

T = TypeVar("T")

# Inspect counts what a cache was given or gave apart from `input_tokens`.
_CACHED = ("input_tokens_cache_read", "input_tokens_cache_write")
_USED = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cost": "total_cost"}


class Used(Struct, gc=False):
    input_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None
    output_tokens: Any = None
    total_cost: Any = None


class Call(Struct, gc=False):
    """An event of a sample; `working_time` are the seconds of a call that went well."""

    event: Any = None
    role: Any = None
    model: Any = None
    working_time: Any = None


_USAGE = msgspec.json.Decoder(dict[str, Used] | None)
_EVENTS = msgspec.json.Decoder(list[Call] | None)


class Logged(Struct):
    """What a sample says of what was used."""

    role_usage: Raw = Raw(b"{}")
    model_usage: Raw = Raw(b"{}")
    events: Raw = Raw(b"[]")


def used(sample: Logged, seats: Sequence[Seat], faults: list[Fault]) -> list[Usage]:
    """What each seat used, null where the log does not say it of the seat alone."""
    events = _decoded(_EVENTS, sample.events, "$.sample.events", faults)
    calls = [call for call in events or () if call.event == "model"]
    places = {key: f"$.sample.{key}_usage" for key in ("role", "model")}
    known = {
        key: _decoded(_USAGE, getattr(sample, f"{key}_usage"), at, faults) or {}
        for key, at in places.items()
    }
    n_seats = Counter(seat.model for seat in seats)
    of_seats = []
    for seat in seats:
        key, name = ("role", seat.player) if seat.player in known["role"] else ("model", seat.model)
        if name not in known[key] or (key == "model" and n_seats[name] > 1):
            of_seats.append(Usage())
            continue
        found = _of(known[key][name or ""], f"{places[key]}.{name}", faults)
        times = [call.working_time for call in calls if getattr(call, key) == name]
        seconds = [amount(time, "$.sample.events", faults) for time in times if time is not None]
        is_timed = bool(seconds) and None not in seconds
        of_seats.append(replace(found, seconds=sum(seconds) if is_timed else None))
    return of_seats


def _of(logged: Used, at: str, faults: list[Fault]) -> Usage:
    """What a role or a model used, with the tokens of caches."""
    found = usage(logged, _USED, at, faults)
    cached = [amount(getattr(logged, key), f"{at}.{key}", faults, is_whole=True) for key in _CACHED]
    if found.input_tokens is None:
        return found
    return replace(found, input_tokens=found.input_tokens + sum(filter(None, cached)))


def _decoded(decoder: msgspec.json.Decoder[T], data: Raw, at: str, faults: list[Fault]) -> T | None:
    """What a part of the sample holds; None, and a fault, for another thing."""
    try:
        return decode(decoder, data, at)
    except BrokenDocument as error:
        faults.append(error.fault)
        return None
