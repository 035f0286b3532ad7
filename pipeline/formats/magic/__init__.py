"""MAgIC's game logs (arXiv 2311.08562), as its environments' `log_game` writes them.

One module a game; each has `claims`, which knows its logs by their keys, and `game`.
"""

from types import ModuleType

import msgspec

from pipeline.formats.broken import broken, decode
from pipeline.formats.magic import (
    chameleon,
    cost_sharing,
    prisoners_dilemma,
    public_good,
    undercover,
)
from pipeline.formats.magic.log import Log
from pipeline.formats.players import unseated
from pipeline.game import BrokenDocument, Game

NAME = "magic"
NAMES_MODELS = True

GAMES: tuple[ModuleType, ...] = (
    chameleon,
    undercover,
    cost_sharing,
    prisoners_dilemma,
    public_good,
)
_LOG = msgspec.json.Decoder(Log)


class _Top(msgspec.Struct):
    history: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_TOP = msgspec.json.Decoder(_Top)


def read(data: bytes, model: str | None) -> Game | None:
    """The game, or None where the document is an object without a `history`."""
    if b'"history"' not in data or data.lstrip()[:1] != b"{":
        return None
    try:
        log = decode(_LOG, data)
    except BrokenDocument:
        # Settings share keys with logs, of other types at times; only a history makes a log.
        if decode(_TOP, data).history is msgspec.UNSET:
            return None
        raise
    if log.history is msgspec.UNSET:
        return None
    for module in GAMES:
        if module.claims(log):
            game: Game = module.game(log)
            game.faults += unseated(game.messages.course)
            return game
    raise broken("$", "the keys are those of one of MAgIC's games", "a history, but no game's keys")
