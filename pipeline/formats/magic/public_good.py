"""Public Good (`public_good`): points put into a pool grow and are shared by all."""

import re
from typing import Annotated

from msgspec import Meta

from pipeline.formats.magic.log import PGM, Log, Opponents, point_game, required, setting_keys
from pipeline.formats.record_builder import build_contributions
from pipeline.game_record import GameRecord
from pipeline.vocabulary import GameType, Phase


class Setting(Opponents, kw_only=True):
    game_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    multiplier: float
    topic: str | None = None


_FIRST_INTEGER = re.compile(r"\b\d+\b")
_TEMPLATE = re.compile(r"I contribute (\d+)")


def claims(log: Log) -> bool:
    return "multiplier" in setting_keys(log)


def game(log: Log) -> GameRecord:
    """The game with every contribution as the game registered it."""
    setting = required(log.game_setting, Setting, "game_setting")
    built = point_game(
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
    indices = built.messages.course.said(Phase.CONTRIBUTION)
    amounts = [registered(texts[index], is_pgm) for index in indices]
    built.contributions = build_contributions(built, amounts)
    return built


def registered(text: str, is_pgm: bool) -> float | None:
    """The amount that the game takes a text for, None where it finds none.

    Plain games take the first integer, even one of "Player 2"; PGM games the integer after their
    template, even of "5.5".
    """
    if is_pgm:
        found = _TEMPLATE.search(text)
        return float(found[1]) if found else None
    first = _FIRST_INTEGER.search(text)
    return float(first[0]) if first else None
