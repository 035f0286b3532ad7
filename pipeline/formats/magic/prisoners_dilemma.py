"""MAgIC logs of the Prisoner's Dilemma, in which three players cooperate or defect five times."""

from collections import Counter

import msgspec
from msgspec import Struct

from pipeline.formats.magic.log import (
    Log,
    Opponents,
    build_point_game,
    decode_required,
    setting_keys,
)
from pipeline.game_record import Decision, GameRecord
from pipeline.vocabulary import Choice, GameType, Phase

N_PLAYERS = 3
# Constants, because Python looks a member of an enum up slowly.
_COOPERATE, _DEFECT = Choice.COOPERATE, Choice.DEFECT


class Payoffs(Struct, omit_defaults=True):
    """The points that a player gets in a round, by the player's choice and the number of defectors.

    In MAgIC's own logs, a player who cooperates while another player defects gets nothing.
    """

    cooperate: float
    defect: float
    one_defect: float
    two_defect: float
    cooperate_one_defect: float | None = None
    cooperate_two_defect: float | None = None


class Setting(Opponents, kw_only=True):
    """The `game_setting` of a Prisoner's Dilemma log: players and payoffs."""

    topic_values: Payoffs


def claims(log: Log) -> bool:
    """Return whether the log's `game_setting` has payoffs, as in the Prisoner's Dilemma."""
    return "topic_values" in setting_keys(log)


def game(log: Log) -> GameRecord:
    """Read the game in a Prisoner's Dilemma log, with the choices that MAgIC read from the texts.

    Args:
        log: The log.
    """
    setting = decode_required(log.game_setting, Setting, "game_setting")
    game_record = build_point_game(
        log,
        GameType.PRISONERS_DILEMMA,
        Phase.DECISION,
        setting,
        setting={"payoffs": msgspec.to_builtins(setting.topic_values)},
        n_rounds=None,
    )
    game_record.decisions = build_decisions(game_record, setting.topic_values)
    return game_record


def build_decisions(game_record: GameRecord, payoffs: Payoffs) -> list[Decision]:
    """Build one decision with its points for each decision message of a game.

    The points are None in a round in which a player's choice is missing.

    Args:
        game_record: The game with its messages.
        payoffs: The points in a round.
    """
    columns, texts = game_record.messages.course, game_record.messages.content
    indices = columns.message_indices(Phase.DECISION)
    choices = [parse_cooperate_or_defect(texts[index]) for index in indices]
    rounds = [columns.round[index] for index in indices]
    n_choices = Counter(rounds)
    n_defectors = Counter(
        round_ for round_, choice in zip(rounds, choices, strict=True) if choice is _DEFECT
    )
    return [
        Decision(
            columns.seat[index] or 0,
            round_ or 1,
            index,
            choice,
            points_for_choice_in_round(payoffs, choice, n_defectors[round_])
            if n_choices[round_] == len(game_record.seats) == N_PLAYERS
            else None,
        )
        for index, round_, choice in zip(indices, rounds, choices, strict=True)
    ]


def parse_cooperate_or_defect(text: str) -> Choice:
    """Return the choice that MAgIC's program reads from a text.

    Args:
        text: The text of the player: it cooperates if the text contains "cooperate", else defects.
    """
    return _COOPERATE if "cooperate" in text.lower() else _DEFECT


def points_for_choice_in_round(payoffs: Payoffs, choice: Choice, n_defectors: int) -> float:
    """Return the points that one of three players gets for a choice in a round.

    Args:
        payoffs: The points in a round.
        choice: The player's choice.
        n_defectors: The number of the three players who defect.
    """
    if n_defectors == 0:
        return payoffs.cooperate
    if n_defectors == N_PLAYERS:
        return payoffs.defect
    if choice is _COOPERATE:
        points = payoffs.cooperate_one_defect if n_defectors == 1 else payoffs.cooperate_two_defect
        return points or 0.0
    return payoffs.one_defect if n_defectors == 1 else payoffs.two_defect
