"""Prisoner's Dilemma (`prisoner`): three players choose to cooperate or to defect, five times."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec import UNSET, Struct, field

from pipeline.formats.magic import point_game
from pipeline.formats.magic.log import Log, keys, required
from pipeline.formats.prose import is_outage
from pipeline.game import Decision, Game
from pipeline.vocabulary import Choice, GameType, ParseStatus, Phase

N_PLAYERS = 3


class Payoffs(Struct):
    """Points in a round: where all do alike, and to each defector where one or two defect."""

    cooperate: float
    defect: float
    one_defect: float
    two_defect: float


class Setting(point_game.Opponents, kw_only=True):
    topic_values: Payoffs
    topic: str | None = None
    other_player: point_game.Backend | msgspec.UnsetType = field(
        default=UNSET, name="non-test_player"
    )


_SETTING = msgspec.json.Decoder(Setting)
_COOPERATE = re.compile(r"\bcooperat", re.IGNORECASE)
_DEFECT = re.compile(r"\b(?:defect|betray)", re.IGNORECASE)


def claims(log: Log) -> bool:
    return "topic_values" in keys(log.game_setting)


def game(log: Log) -> Game:
    """The game with every choice as the game registered it."""
    setting = required(log.game_setting, _SETTING, "game_setting")
    built = point_game.game(
        log,
        GameType.PRISONERS_DILEMMA,
        Phase.DECISION,
        setting,
        setting={"payoffs": msgspec.to_builtins(setting.topic_values)},
        n_rounds=None,
    )
    spoken = [(i, m) for i, m in enumerate(built.messages) if m.phase is Phase.DECISION and m.seat]
    choices = [(m.round, registered(m.content)) for _, m in spoken]
    n_choices = Counter(round_ for round_, _ in choices)
    n_defectors = Counter(round_ for round_, choice in choices if choice is Choice.DEFECT)
    built.decisions = [
        Decision(
            seat=m.seat or 0,
            round=m.round or 1,
            message_index=index,
            parse_status=status(m.content, choice),
            choice=choice,
            text=m.content,
            payoff=payoff(setting.topic_values, choice, n_defectors[m.round])
            if n_choices[m.round] == len(built.seats) == N_PLAYERS
            else None,
        )
        for (index, m), (_, choice) in zip(spoken, choices, strict=True)
    ]
    return built


def registered(text: str) -> Choice:
    """The choice that the game takes a text for: whatever says "cooperate" anywhere cooperates."""
    return Choice.COOPERATE if "cooperate" in text.lower() else Choice.DEFECT


def status(text: str, choice: Choice) -> ParseStatus:
    """Whether the text plainly says what the game registered."""
    if is_outage(text):
        return ParseStatus.OUTAGE
    stated = set(_stated(text))
    if stated == {choice}:
        return ParseStatus.OK
    return ParseStatus.AMBIGUOUS if stated else ParseStatus.UNREADABLE


def _stated(text: str) -> Iterable[Choice]:
    if _COOPERATE.search(text):
        yield Choice.COOPERATE
    if _DEFECT.search(text):
        yield Choice.DEFECT


def payoff(payoffs: Payoffs, choice: Choice, n_defectors: int) -> float:
    """A player's points in a round of three."""
    if n_defectors == 0:
        return payoffs.cooperate
    if n_defectors == N_PLAYERS:
        return payoffs.defect
    if choice is Choice.COOPERATE:
        return 0.0
    return payoffs.one_defect if n_defectors == 1 else payoffs.two_defect
