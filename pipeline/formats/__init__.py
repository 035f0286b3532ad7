"""Log formats, one module each: what one document says, as a typed `Game`.

A format is any module or package in here that has `NAME`, `NAMES_MODELS` and `read`; there is no
list of them to keep. `read(data, model)` gives the game, None where the document is not of this
format, and raises `BrokenDocument` where it is and breaks a rule.
"""

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

import msgspec

from pipeline.formats.broken import broken, decode
from pipeline.formats.players import untested
from pipeline.game import Game

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WELL_FORMED = msgspec.json.Decoder()


class Format(Protocol):
    """What a format module offers. `NAMES_MODELS`: whether its logs say who played."""

    NAME: str
    NAMES_MODELS: bool

    def read(self, data: bytes, model: str | None) -> Game | None: ...


@cache
def formats() -> tuple[Format, ...]:
    """Every format there is, in the order of their names."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
    )
    return tuple(cast(Format, module) for module in modules if hasattr(module, "read"))


def read(data: bytes, model: str | None = None) -> Game | None:
    """The game in a document, or None where it is well-formed and no log of any format.

    `model` names who played where the format cannot. Raises `BrokenDocument` for a document that
    does not decode, or that is a log and breaks a rule.
    """
    data = data.removeprefix(BYTE_ORDER_MARK)
    for format_ in formats():
        game = format_.read(data, model)
        if game is None:
            continue
        game.faults += untested(game)
        if format_.NAMES_MODELS:
            return game
        if model is None:
            raise broken(
                "$",
                "the log or --model names the model that played",
                f"a {format_.NAME} log does not name it: use --model NAME",
            )
        game.assigned_model = model
        return game
    decode(_WELL_FORMED, data)
    return None
