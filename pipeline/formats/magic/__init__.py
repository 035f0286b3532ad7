"""Format of MAgIC's game logs (arXiv 2311.08562), as `log_game` of its environments writes them.

Each game has one module with the name of its game type. A module has `claims`, which recognizes the
game's logs by their keys, and `game`, which reads them. The modules are discovered.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec

from pipeline.formats.magic.log import BenchmarkLog, Log
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
SHAPE = msgspec.json.Decoder(BenchmarkLog)


# Files of settings have keys of `_SETUP_KEYS` too, and none of an ending.
_SETUP_KEYS = ("game_setting", "player_backends")
# Of these a log has one at least: other programs call what was said a history, too.
_MAGIC_KEYS = (
    *_SETUP_KEYS,
    *("chameleon", "undercover", "test_player_name", "win_flag", "nego_turn"),
    *("player_votes", "player_vote", "consistency_metric", "pgm_metric"),
)
_ENDING_KEYS = ("result", "win_flag", "scores", "nego_turn", "player_votes", "player_vote", "vote")


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is a MAgIC log, also if its history is missing.

    Args:
        sniffer: The document. Without a history it needs a key of the setup and one of the ending.
    """
    if sniffer.first != "{":
        return False
    keys = sniffer.keys
    if "history" in keys:
        return not keys.isdisjoint(_MAGIC_KEYS)
    return not keys.isdisjoint(_SETUP_KEYS) and not keys.isdisjoint(_ENDING_KEYS)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game in a MAgIC log.

    Args:
        sniffer: The document.
        model: Not used, because the logs name their models.

    Raises:
        InvalidDocumentError: If the log has no history, is of no known game, or breaks a rule.
    """
    if "history" not in sniffer.keys:
        raise invalid_document_error("$", "`history` is present", "this MAgIC log has no `history`")
    log = sniffer.whole_log if isinstance(sniffer.whole_log, Log) else decode(Log, sniffer.data)
    for module in GAMES:
        if module.claims(log):
            game: GameRecord = module.game(log)
            game.faults += call_cached(unseated_speaker_faults, game.messages.course)
            return game
    raise invalid_document_error(
        "$", "the keys are those of one of MAgIC's games", "a history, but no game's keys"
    )
