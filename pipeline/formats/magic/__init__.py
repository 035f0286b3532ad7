"""MAgIC's game logs (arXiv 2311.08562), as its environments' `log_game` writes them.

One module a game, with the name of its game type; each has `claims`, which knows its logs by their
keys, and `game`. There is no list of them.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec

from pipeline.formats.magic.log import Log, UsualLog
from pipeline.formats.record_builder import call_cached, unseated_speaker_faults
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error
from pipeline.game_record import GameRecord
from pipeline.games import game_type_names

NAME = "magic"
NAMES_MODELS = True

# In the order of the game types. A game type of another system has no module here.
GAMES: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{game_type}")
    for game_type in game_type_names()
    if find_spec(f"{__name__}.{game_type}")
)
SHAPE = msgspec.json.Decoder(UsualLog)


# Files of settings have keys of `_SETUP` too, and none of an ending.
_SETUP = ("game_setting", "player_backends")
# Of these a log has one at least: other programs call what was said a history, too.
_OWN = (
    *_SETUP,
    *("chameleon", "undercover", "test_player_name", "win_flag", "nego_turn"),
    *("player_votes", "player_vote", "consistency_metric", "pgm_metric"),
)
_ENDING = ("result", "win_flag", "scores", "nego_turn", "player_votes", "player_vote", "vote")


def claims(look: DocumentSniffer) -> bool:
    """Whether the document is a log: it has a history and a key of its own, or lost the history.

    A document without one that says how a game was set up and how it ended has lost it.
    """
    if look.first != "{":
        return False
    keys = look.keys
    if "history" in keys:
        return not keys.isdisjoint(_OWN)
    return not keys.isdisjoint(_SETUP) and not keys.isdisjoint(_ENDING)


def read(look: DocumentSniffer, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument for one that breaks a rule."""
    if "history" not in look.keys:
        raise invalid_document_error("$", "`history` is present", "this MAgIC log has no `history`")
    log = look.shaped if isinstance(look.shaped, Log) else decode(Log, look.data)
    for module in GAMES:
        if module.claims(log):
            game: GameRecord = module.game(log)
            game.faults += call_cached(unseated_speaker_faults, game.messages.course)
            return game
    raise invalid_document_error(
        "$", "the keys are those of one of MAgIC's games", "a history, but no game's keys"
    )
