"""Prisoner's Dilemma (`prisoner`): three players choose to cooperate or to defect, five times."""

from collections import Counter

import msgspec
from msgspec import Struct

from pipeline.formats.magic.log import (
    Log,
    Opponents,
    build_point_game_without_decisions,
    decode_required_part,
    keys_of_game_setting,
)
from pipeline.game_record import Decision, GameRecord
from pipeline.vocabulary import Choice, GameType, Phase

N_PLAYERS = 3
# Python looks a member up in its enum slowly.
_COOPERATE, _DEFECT = Choice.COOPERATE, Choice.DEFECT


class Payoffs(Struct, omit_defaults=True):
    """The points in a round of three players.

    A player who cooperates while others defect gets nothing, unless another system's log differs.
    """

    cooperate: float
    defect: float
    one_defect: float
    two_defect: float
    cooperate_one_defect: float | None = None
    cooperate_two_defect: float | None = None


class Setting(Opponents, kw_only=True):
    """The opponents and payoffs of a Prisoner's Dilemma log."""

    topic_values: Payoffs


def claims(log: Log) -> bool:
    """Return whether the log's setting has payoffs."""
    return "topic_values" in keys_of_game_setting(log)


def game(log: Log) -> GameRecord:
    """Return the game of a Prisoner's Dilemma log, with each choice as the game registered it.

    Args:
        log: The log.
    """
    setting = decode_required_part(log.game_setting, Setting, "game_setting")
    built = build_point_game_without_decisions(
        log,
        GameType.PRISONERS_DILEMMA,
        Phase.DECISION,
        setting,
        setting={"payoffs": msgspec.to_builtins(setting.topic_values)},
        n_rounds=None,
    )
    built.decisions = build_decisions(built, setting.topic_values)
    return built


def build_decisions(built: GameRecord, payoffs: Payoffs) -> list[Decision]:
    """Return the choice and points of each seat; points are None in a round that lacks a choice.

    Args:
        built: The game with its messages.
        payoffs: The points in a round.
    """
    course, texts = built.messages.course, built.messages.content
    indices = course.message_indices(Phase.DECISION)
    choices = [parse_cooperate_or_defect(texts[index]) for index in indices]
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
            points_for_choice_in_round(payoffs, choice, n_defectors[round_])
            if n_choices[round_] == len(built.seats) == N_PLAYERS
            else None,
        )
        for index, round_, choice in zip(indices, rounds, choices, strict=True)
    ]


def parse_cooperate_or_defect(text: str) -> Choice:
    """Return the choice that the game reads from a text: to cooperate if it contains "cooperate".

    Args:
        text: The text of the player.
    """
    return _COOPERATE if "cooperate" in text.lower() else _DEFECT


def points_for_choice_in_round(payoffs: Payoffs, choice: Choice, n_defectors: int) -> float:
    """Return the points of a player in a round of three.

    Args:
        payoffs: The points in a round.
        choice: The player's choice.
        n_defectors: The number of players who defect.
    """
    if n_defectors == 0:
        return payoffs.cooperate
    if n_defectors == N_PLAYERS:
        return payoffs.defect
    if choice is _COOPERATE:
        points = payoffs.cooperate_one_defect if n_defectors == 1 else payoffs.cooperate_two_defect
        return points or 0.0
    return payoffs.one_defect if n_defectors == 1 else payoffs.two_defect
