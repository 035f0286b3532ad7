"""MAgIC's game logs (arXiv 2311.08562), as its environments' `log_game` writes them.

One module a game, with the name of its game type; each has `claims`, which knows its logs by their
keys, and `game`. There is no list of them.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec
from msgspec import UNSET

from pipeline.formats.broken import broken, decode
from pipeline.formats.magic.log import Log, Part
from pipeline.formats.players import unseated
from pipeline.game import BrokenDocument, Game
from pipeline.games import names

NAME = "magic"
NAMES_MODELS = True

# In the order of the game types. A game type of another system has no module here.
GAMES: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{game_type}")
    for game_type in names()
    if find_spec(f"{__name__}.{game_type}")
)
_LOG = msgspec.json.Decoder(Log)


class _Top(msgspec.Struct, gc=False):
    """The keys that distinguish a log from other JSON; their values do not matter."""

    history: Part = UNSET
    game_setting: Part = UNSET
    player_backends: Part = UNSET
    result: Part = UNSET
    win_flag: Part = UNSET
    scores: Part = UNSET
    nego_turn: Part = UNSET
    player_votes: Part = UNSET
    player_vote: Part = UNSET
    vote: Part = UNSET


_TOP = msgspec.json.Decoder(_Top)
# Files of settings have keys of `_SETUP` too, and none of an ending.
_SETUP = ("game_setting", "player_backends")
_ENDING = ("result", "win_flag", "scores", "nego_turn", "player_votes", "player_vote", "vote")
_MARKS = tuple(f'"{key}"'.encode() for key in ("history", *_SETUP))


def read(data: bytes, model: str | None) -> Game | None:
    """The game, or None where the document is no log.

    A log has a `history`. A document without one that says how a game was set up and how it ended
    is a log that lost its history: it is broken.
    """
    if data.lstrip()[:1] != b"{" or not any(mark in data for mark in _MARKS):
        return None
    try:
        log = decode(_LOG, data)
    except BrokenDocument:
        # Settings share keys with logs, of other types at times.
        if _has_history(data):
            raise
        return None
    if log.history is UNSET and not _has_history(data):
        return None
    for module in GAMES:
        if module.claims(log):
            game: Game = module.game(log)
            game.faults += unseated(game.messages.course)
            return game
    raise broken("$", "the keys are those of one of MAgIC's games", "a history, but no game's keys")


def _has_history(data: bytes) -> bool:
    """Whether the document is a log; raises BrokenDocument for one without its history."""
    top = decode(_TOP, data)
    if top.history is not UNSET:
        return True
    if _has_any(top, _SETUP) and _has_any(top, _ENDING):
        raise broken("$", "`history` is present", "this MAgIC log has no `history`")
    return False


def _has_any(top: _Top, keys: tuple[str, ...]) -> bool:
    return any(getattr(top, key) is not UNSET for key in keys)
