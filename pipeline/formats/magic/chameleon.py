"""MAgIC logs of Chameleon, in which one of three players does not know the secret word."""

from msgspec import UNSET, Struct

from pipeline.formats import hidden_roles
from pipeline.formats.magic.log import Log, build_hidden_role_game, decode_required
from pipeline.game_record import GameRecord


class Setting(Struct):
    """The `game_setting` of a Chameleon log: the secret word, its topic and the chameleon."""

    topic: str
    code: str
    chameleon_name: str


def claims(log: Log) -> bool:
    """Return whether the log has the key `chameleon`, so that it is a Chameleon log."""
    return log.chameleon is not UNSET


def game(log: Log) -> GameRecord:
    """Read the game in a Chameleon log, with its votes, judgements and any guess of the word.

    Args:
        log: The log.
    """
    setting = decode_required(log.game_setting, Setting, "game_setting")
    game_record = build_hidden_role_game(
        log,
        hidden_roles.CHAMELEON,
        setting.chameleon_name,
        setting={"topic": setting.topic, "code": setting.code},
        votes_key="player_votes",
        allowed_results=("chameleon", "non-chameleon"),
    )
    game_record.guesses = hidden_roles.build_guess_of_hidden_player(
        game_record, hidden_roles.CHAMELEON, setting.code
    )
    return game_record
