"""Public Good (`public_good`): points put into a pool grow and are shared by all."""

import re
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, field

from pipeline.formats.magic import point_game
from pipeline.formats.magic.log import PGM, Log, keys, required
from pipeline.formats.prose import is_outage, stated_amount
from pipeline.game import Contribution, Game, Message
from pipeline.vocabulary import GameType, ParseStatus, Phase


class Setting(point_game.Opponents, kw_only=True):
    game_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    multiplier: float
    topic: str | None = None
    other_player: point_game.Backend | msgspec.UnsetType = field(
        default=UNSET, name="non-test_player"
    )


_SETTING = msgspec.json.Decoder(Setting)
_FIRST_INTEGER = re.compile(r"\b\d+\b")
_TEMPLATE = re.compile(r"I contribute (\d+)")


def claims(log: Log) -> bool:
    return "multiplier" in keys(log.game_setting)


def game(log: Log) -> Game:
    """The game with every contribution as the game registered it."""
    setting = required(log.game_setting, _SETTING, "game_setting")
    built = point_game.game(
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
    is_pgm = built.format_version == PGM
    spoken = [
        (index, message, registered(message.content, is_pgm))
        for index, message in enumerate(built.messages)
        if message.phase is Phase.CONTRIBUTION and message.seat
    ]
    amounts: dict[int | None, list[float | None]] = {}
    for _, message, amount in spoken:
        amounts.setdefault(message.round, []).append(amount)
    built.contributions = [
        _contribution(index, message, amount, _complete(amounts[message.round], built))
        for index, message, amount in spoken
    ]
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


def _complete(amounts: list[float | None], built: Game) -> list[float] | None:
    """The round's amounts, None where a contribution is missing."""
    known = [amount for amount in amounts if amount is not None]
    return known if len(known) == len(built.seats) else None


def _contribution(
    index: int, message: Message, amount: float | None, round_amounts: list[float] | None
) -> Contribution:
    text = message.content
    stated = None if is_outage(text) else stated_amount(text)
    return Contribution(
        seat=message.seat or 0,
        round=message.round or 1,
        message_index=index,
        parse_status=_status(text, amount, stated),
        amount=amount,
        stated_amount=stated,
        text=text,
        is_least=amount == min(round_amounts) if round_amounts else None,
        round_total=sum(round_amounts) if round_amounts else None,
    )


def _status(text: str, amount: float | None, stated: float | None) -> ParseStatus:
    if is_outage(text):
        return ParseStatus.OUTAGE
    if amount is None:
        return ParseStatus.UNREADABLE
    return ParseStatus.OK if amount == stated else ParseStatus.AMBIGUOUS
