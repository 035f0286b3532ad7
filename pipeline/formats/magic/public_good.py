"""MAgIC logs of Public Good, in which players put points into a pool that grows and is shared."""

import re
from typing import Annotated

from msgspec import Meta

from pipeline.formats.magic.log import (
    PGM,
    Log,
    Opponents,
    build_point_game,
    decode_required,
    setting_keys,
)
from pipeline.formats.record_builder import build_contributions
from pipeline.game_record import GameRecord
from pipeline.vocabulary import GameType, Phase


class Setting(Opponents, kw_only=True):
    """The `game_setting` of a Public Good log: players, number of rounds and multiplier."""

    game_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    multiplier: float
    topic: str | None = None


_FIRST_INTEGER = re.compile(r"\b(\d+)\b")
_TEMPLATE = re.compile(r"I contribute (\d+)")


def claims(log: Log) -> bool:
    """Return whether the log's `game_setting` has a multiplier, as in Public Good."""
    return "multiplier" in setting_keys(log)


def game(log: Log) -> GameRecord:
    """Read the game in a Public Good log, with the contributions that MAgIC read from the texts.

    Args:
        log: The log.
    """
    setting = decode_required(log.game_setting, Setting, "game_setting")
    game_record = build_point_game(
        log,
        GameType.PUBLIC_GOOD,
        Phase.CONTRIBUTION,
        setting,
        setting={
            "multiplier": setting.multiplier,
            "rounds": setting.game_round,
            "topic": setting.topic,
        },
        n_rounds=setting.game_round,
    )
    texts, is_pgm_game = game_record.messages.content, game_record.format_version == PGM
    indices = game_record.messages.course.message_indices(Phase.CONTRIBUTION)
    amounts = [parse_contribution(texts[index], is_pgm_game) for index in indices]
    game_record.contributions = build_contributions(game_record, amounts)
    return game_record


def parse_contribution(text: str, is_pgm_game: bool) -> float | None:
    """Return the contributed amount that MAgIC's program reads from a text; None if it finds none.

    In plain games it reads the first integer, even the 2 of "Player 2". In PGM games it reads the
    integer after "I contribute", even the 5 of "5.5".

    Args:
        text: The text of the player.
        is_pgm_game: Whether the tested player uses MAgIC's graphical model (PGM).
    """
    match = (_TEMPLATE if is_pgm_game else _FIRST_INTEGER).search(text)
    return float(match[1]) if match else None
