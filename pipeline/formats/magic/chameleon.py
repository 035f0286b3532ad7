"""Chameleon: one of three does not know the secret word; when caught, it may guess it."""

from msgspec import UNSET, Struct

from pipeline.formats import hidden_roles
from pipeline.formats.magic.log import Log, build_hidden_role_game, decode_required_part
from pipeline.game_record import GameRecord


class Setting(Struct):
    """The secret word, its topic and the chameleon's name, as the log's setting has them."""

    topic: str
    code: str
    chameleon_name: str


def claims(log: Log) -> bool:
    """Return whether the log has the field of Chameleon."""
    return log.chameleon is not UNSET


def game(log: Log) -> GameRecord:
    """Return the game of a Chameleon log, with its votes, judgements and any guess.

    Args:
        log: The log.
    """
    setting = decode_required_part(log.game_setting, Setting, "game_setting")
    built = build_hidden_role_game(
        log,
        hidden_roles.CHAMELEON,
        setting.chameleon_name,
        setting={"topic": setting.topic, "code": setting.code},
        votes_key="player_votes",
        winners=("chameleon", "non-chameleon"),
    )
    built.guesses = hidden_roles.build_guesses(built, hidden_roles.CHAMELEON, setting.code)
    return built
