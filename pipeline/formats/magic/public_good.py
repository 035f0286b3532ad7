"""Public Good (`public_good`): points put into a pool grow and are shared by all."""

import re
from typing import Annotated

from msgspec import Meta

from pipeline.formats.magic.log import (
    PGM,
    Log,
    Opponents,
    build_point_game_without_decisions,
    decode_required_part,
    keys_of_game_setting,
)
from pipeline.formats.record_builder import build_contributions
from pipeline.game_record import GameRecord
from pipeline.vocabulary import GameType, Phase


class Setting(Opponents, kw_only=True):
    """The opponents, number of rounds and multiplier of a Public Good log."""

    game_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    multiplier: float
    topic: str | None = None


_FIRST_INTEGER = re.compile(r"\b\d+\b")
_TEMPLATE = re.compile(r"I contribute (\d+)")


def claims(log: Log) -> bool:
    """Return whether the log's setting has a multiplier."""
    return "multiplier" in keys_of_game_setting(log)


def game(log: Log) -> GameRecord:
    """Return the game of a Public Good log, with each contribution as the game registered it.

    Args:
        log: The log.
    """
    setting = decode_required_part(log.game_setting, Setting, "game_setting")
    built = build_point_game_without_decisions(
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
    texts, is_pgm = built.messages.content, built.format_version == PGM
    indices = built.messages.course.message_indices(Phase.CONTRIBUTION)
    amounts = [parse_contribution(texts[index], is_pgm) for index in indices]
    built.contributions = build_contributions(built, amounts)
    return built


def parse_contribution(text: str, is_pgm: bool) -> float | None:
    """Return the amount that the game reads from a player's text; None if it reads none.

    Plain games take the first integer, even that of "Player 2". PGM games take the integer after
    their template, even that of "5.5".

    Args:
        text: The text of the player.
        is_pgm: Whether the tested player is a PGM player.
    """
    if is_pgm:
        match = _TEMPLATE.search(text)
        return float(match[1]) if match else None
    first = _FIRST_INTEGER.search(text)
    return float(first[0]) if first else None
