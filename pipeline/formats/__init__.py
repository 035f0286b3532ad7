"""Log formats, one module each: what one document says, as a typed `Game`.

A format is any module or package in here that has `NAME`, `NAMES_MODELS`, `claims` and `read`;
there is no list of them to keep. Where a file of its logs is not one game, it has `splitter` too.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

import msgspec

from pipeline.archives.failures import UnfitError
from pipeline.archives.names import document_form
from pipeline.archives.splitting import Splitter
from pipeline.formats.broken import broken, decode
from pipeline.formats.look import Look
from pipeline.formats.players import untested
from pipeline.formats.unclaimed import why_no_log
from pipeline.game import Game

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WELL_FORMED = msgspec.json.Decoder()


class Format(Protocol):
    """What a format module offers. `NAMES_MODELS`: whether its logs say who played.

    `claims` says whether a document is a log of this format, by its keys or what it begins with;
    `read` gives the game in one that it claims, and raises BrokenDocument where that breaks a rule.
    """

    NAME: str
    NAMES_MODELS: bool

    def claims(self, look: Look) -> bool: ...

    def read(self, look: Look, model: str | None) -> Game: ...


@cache
def formats() -> tuple[Format, ...]:
    """Every format there is, in the order of their names."""
    modules = (
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
    )
    return tuple(cast(Format, module) for module in modules if hasattr(module, "read"))


def splitter(path: str, head: bytes) -> Splitter | None:
    """How a file of this path that begins so is cut into documents; None where no format says it.

    Raises UnfitError where two formats do.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    asked = [(name, choose(path, head)) for name, choose in _splitters()]
    chosen = [(name, splitter) for name, splitter in asked if splitter is not None]
    if len(chosen) > 1:
        raise UnfitError(_claimed_twice([name for name, _ in chosen]))
    return chosen[0][1] if chosen else None


@cache
def _splitters() -> tuple[tuple[str, Callable[[str, bytes], Splitter | None]], ...]:
    return tuple(
        (format_.NAME, format_.splitter) for format_ in formats() if hasattr(format_, "splitter")
    )


def read(data: bytes, model: str | None = None, path: str = "") -> Game | None:
    """The game in a document, or None where no format claims it.

    `model` names who played where the format cannot. Raises `BrokenDocument` for a document that
    does not decode, or that is a log and breaks a rule.
    """
    look = Look(path, data.removeprefix(BYTE_ORDER_MARK))
    format_ = _claimant(look)
    if format_ is None:
        if not _is_text(path):
            decode(_WELL_FORMED, look.data)
        return None
    game = format_.read(look, model)
    game.faults += untested(game)
    if format_.NAMES_MODELS:
        return game
    if model is None:
        raise broken(
            "$",
            "the log or --model names the model that played",
            f"a {format_.NAME} log does not name it: use --model NAME, or --models-from FILE",
        )
    game.assigned_model = model
    return game


def why_ignored(data: bytes, path: str = "") -> str:
    """What a document is that no format claims, in words that many documents share."""
    return why_no_log(Look(path, data.removeprefix(BYTE_ORDER_MARK)))


def _claimant(look: Look) -> Format | None:
    """The one format that claims a document; raises BrokenDocument where several do."""
    claimants = [format_ for format_ in formats() if format_.claims(look)]
    if len(claimants) > 1:
        names = [format_.NAME for format_ in claimants]
        raise broken("$", "one format alone claims a document", _claimed_twice(names))
    return claimants[0] if claimants else None


def _claimed_twice(names: list[str]) -> str:
    listed = " and ".join(names)
    return f"the formats {listed} claim it; this is a bug in magic, please report it"


def _is_text(path: str) -> bool:
    """Whether the document is from a file that need not be JSON."""
    return document_form(path).kind == "text"
