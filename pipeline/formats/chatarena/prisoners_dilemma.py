"""Prisoner's Dilemma, as MAgIC plays it in ChatArena: the moderator says what choices pay."""

import re

from msgspec import to_builtins
from msgspec.structs import replace

from pipeline.formats.chatarena import point_game
from pipeline.formats.chatarena.talk import Talk, lacking
from pipeline.formats.magic.prisoners_dilemma import N_PLAYERS, Payoffs, decisions
from pipeline.game import GameRecord, JsonValue
from pipeline.vocabulary import GameType

TITLE = "Prisoner's Dilemma"

_POINTS = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s{1,9}points?"
_SCORING = re.compile(
    rf"If all three choose to cooperate, they each get\s{{1,9}}{_POINTS}\.\s{{1,9}}"
    rf"- If all three choose to defect, they each get\s{{1,9}}{_POINTS}\.\s{{1,9}}"
    rf"- If one chooses to defect and the others choose to cooperate, the betrayer gets\s{{1,9}}"
    rf"{_POINTS} and the collaborators each get 0 points\.\s{{1,9}}"
    r"- If two choose to defect and the other chooses to cooperate, the betrayers each get"
    rf"\s{{1,9}}{_POINTS}, and the collaborator gets 0 points\.\s{{1,9}}"
    r"The game is played for ([0-9]{1,6}) rounds"
)
_START = "The scoring is as follows:"


def claims(sentence: str) -> bool:
    return sentence.lstrip().startswith(_START) and "to defect" in sentence


def game(talk: Talk, model: str | None) -> GameRecord:
    """The game with every choice as MAgIC registers it; raises BrokenDocument."""
    scoring = talk.last(_SCORING)
    if scoring is None:
        what = "it does not say what every combination of three choices pays"
        raise lacking(TITLE, what, next(filter(claims, talk.sentences)))
    payoffs, n_rounds = Payoffs(*map(float, scoring.groups()[:4])), int(scoring[5])
    setting: dict[str, JsonValue] = {"payoffs": to_builtins(payoffs), "rounds": n_rounds}
    built = point_game.game(talk, GameType.PRISONERS_DILEMMA, setting, n_rounds, model)
    if len(built.seats) != N_PLAYERS:
        raise lacking(TITLE, f"it says what three players get, and {len(built.seats)} play")
    built.decisions = decisions(built, payoffs)
    points = [0.0] * N_PLAYERS
    for decision in built.decisions:
        points[decision.seat - 1] += decision.payoff or 0
    if built.is_finished:
        built.seats = [
            replace(seat, final_score=score)
            for seat, score in zip(built.seats, points, strict=True)
        ]
    point_game.add_results(built, points)
    return built
