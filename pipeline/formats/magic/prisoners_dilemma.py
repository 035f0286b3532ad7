"""Prisoner's Dilemma (`prisoner`): three players choose to cooperate or to defect, five times."""

from collections import Counter

import msgspec
from msgspec import Struct

from pipeline.formats.magic.log import Log, Opponents, point_game, required, setting_keys
from pipeline.game_record import Decision, GameRecord
from pipeline.vocabulary import Choice, GameType, Phase

N_PLAYERS = 3
# Python looks a member up in its enum slowly.
_COOPERATE, _DEFECT = Choice.COOPERATE, Choice.DEFECT


class Payoffs(Struct, omit_defaults=True):
    """Points in a round: where all do alike, and to each defector where one or two defect.

    Who cooperates where others defect gets nothing, unless another system's log says what.
    """

    cooperate: float
    defect: float
    one_defect: float
    two_defect: float
    cooperate_one_defect: float | None = None
    cooperate_two_defect: float | None = None


class Setting(Opponents, kw_only=True):
    topic_values: Payoffs


def claims(log: Log) -> bool:
    return "topic_values" in setting_keys(log)


def game(log: Log) -> GameRecord:
    """The game with every choice as the game registered it."""
    setting = required(log.game_setting, Setting, "game_setting")
    built = point_game(
        log,
        GameType.PRISONERS_DILEMMA,
        Phase.DECISION,
        setting,
        setting={"payoffs": msgspec.to_builtins(setting.topic_values)},
        n_rounds=None,
    )
    built.decisions = decisions(built, setting.topic_values)
    return built


def decisions(built: GameRecord, payoffs: Payoffs) -> list[Decision]:
    """What each seat chose, and its points; those are null in a round with a choice missing."""
    course, texts = built.messages.course, built.messages.content
    indices = course.said(Phase.DECISION)
    choices = [registered(texts[index]) for index in indices]
    rounds = [course.round[index] for index in indices]
    n_choices = Counter(rounds)
    n_defectors = Counter(
        round_ for round_, choice in zip(rounds, choices, strict=True) if choice is _DEFECT
    )
    return [
        Decision(
            course.seat[index] or 0,
            round_ or 1,
            index,
            choice,
            payoff(payoffs, choice, n_defectors[round_])
            if n_choices[round_] == len(built.seats) == N_PLAYERS
            else None,
        )
        for index, round_, choice in zip(indices, rounds, choices, strict=True)
    ]


def registered(text: str) -> Choice:
    """The choice that the game reads from a text: any text with "cooperate" in it cooperates."""
    return _COOPERATE if "cooperate" in text.lower() else _DEFECT


def payoff(payoffs: Payoffs, choice: Choice, n_defectors: int) -> float:
    """A player's points in a round of three."""
    if n_defectors == 0:
        return payoffs.cooperate
    if n_defectors == N_PLAYERS:
        return payoffs.defect
    if choice is _COOPERATE:
        one, two = payoffs.cooperate_one_defect, payoffs.cooperate_two_defect
        return (one if n_defectors == 1 else two) or 0.0
    return payoffs.one_defect if n_defectors == 1 else payoffs.two_defect
