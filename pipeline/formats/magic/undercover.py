"""Undercover: one of three holds another word than the others, and none knows which.

The moderator's last line may call the undercover the winner even when it was caught: the outcome
is `win_flag`, never the text.
"""

from msgspec import UNSET, Struct

from pipeline.formats import hidden_roles
from pipeline.formats.magic.log import Log, build_hidden_role_game, decode_required_part
from pipeline.game_record import GameRecord


class Setting(Struct):
    """The two secret words and the undercover's name, as the log's setting has them."""

    undercover_code: str
    non_undercover_code: str
    undercover_name: str


def claims(log: Log) -> bool:
    """Return whether the log has the field of Undercover."""
    return log.undercover is not UNSET


def game(log: Log) -> GameRecord:
    """Return the game of an Undercover log, with its votes and the benchmark's judgements.

    Args:
        log: The log.
    """
    setting = decode_required_part(log.game_setting, Setting, "game_setting")
    return build_hidden_role_game(
        log,
        hidden_roles.UNDERCOVER,
        setting.undercover_name,
        setting={
            "undercover_code": setting.undercover_code,
            "civilian_code": setting.non_undercover_code,
        },
        votes_key="player_vote",
        winners=("undercover", "non-undercover"),
    )
