"""MAgIC logs of Undercover, in which one of three players has another word than the rest.

The outcome is `win_flag`. The moderator's last text is not used, because it can name the undercover
as the winner even if it was caught.
"""

from msgspec import UNSET, Struct

from pipeline.formats import hidden_roles
from pipeline.formats.magic.log import Log, build_hidden_role_game, decode_required
from pipeline.game_record import GameRecord


class Setting(Struct):
    """The `game_setting` of an Undercover log: the two secret words and the undercover."""

    undercover_code: str
    non_undercover_code: str
    undercover_name: str


def claims(log: Log) -> bool:
    """Return whether the log has the key `undercover`, so that it is an Undercover log."""
    return log.undercover is not UNSET


def game(log: Log) -> GameRecord:
    """Read the game in an Undercover log, with its votes and the benchmark's judgements.

    Args:
        log: The log.
    """
    setting = decode_required(log.game_setting, Setting, "game_setting")
    return build_hidden_role_game(
        log,
        hidden_roles.UNDERCOVER,
        setting.undercover_name,
        setting={
            "undercover_code": setting.undercover_code,
            "civilian_code": setting.non_undercover_code,
        },
        votes_key="player_vote",
        allowed_results=("undercover", "non-undercover"),
    )
