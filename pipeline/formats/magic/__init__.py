"""Format of MAgIC's game logs (arXiv 2311.08562), as `log_game` of its environments writes them.

Each game has a module with the name of its game type. In the module, `claims` recognizes the game's
logs by their keys, and `game` reads a log. The modules are discovered.
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


# Files of settings also have these keys, but none of `_ENDING_KEYS`.
_SETUP_KEYS = ("game_setting", "player_backends")
# A log has at least one of these keys. Logs of other programs can have the key `history` too.
_MAGIC_KEYS = (
    *_SETUP_KEYS,
    *("chameleon", "undercover", "test_player_name", "win_flag", "nego_turn"),
    *("player_votes", "player_vote", "consistency_metric", "pgm_metric"),
)
_ENDING_KEYS = ("result", "win_flag", "scores", "nego_turn", "player_votes", "player_vote", "vote")


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is a game log of MAgIC, even if its history is missing.

    Args:
        sniffer: The document. If it has no history, it must have a key that describes the setup of
            the game and one that describes its end.
    """
    if sniffer.first != "{":
        return False
    keys = sniffer.keys
    if "history" in keys:
        return not keys.isdisjoint(_MAGIC_KEYS)
    return not keys.isdisjoint(_SETUP_KEYS) and not keys.isdisjoint(_ENDING_KEYS)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game in a MAgIC log with the module of its game type.

    Args:
        sniffer: The document.
        model: Not used, because the logs name their models.

    Raises:
        InvalidDocumentError: If the log has no history, has the keys of no game, or breaks a rule.
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
