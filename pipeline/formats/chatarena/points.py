"""The Prisoner's Dilemma and Public Good, as MAgIC plays them in ChatArena.

A player decides by what it tells the moderator alone, and each plays for itself. In the dilemma the
moderator says what choices pay. In Public Good it does not say the pool's multiplier; but all get
an equal part of the pool, so whoever puts in least in all ends with the most points.
"""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import to_builtins
from msgspec.structs import replace

from pipeline.formats.broken import broken
from pipeline.formats.building import contributions, most_points, results
from pipeline.formats.chatarena.talk import FORMAT, SYSTEM, Talk, lacking
from pipeline.formats.magic.point_game import TIMELINES
from pipeline.formats.magic.prisoners_dilemma import N_PLAYERS, Payoffs, decisions
from pipeline.formats.magic.public_good import registered
from pipeline.formats.players import models_of
from pipeline.formats.rows import messages
from pipeline.game import Fault, GameRecord, JsonValue, Seat
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

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
_BACKGROUND = re.compile(
    r"You have ([0-9]{1,9}) starting points to contribute to the communal pool each round\."
    r"[^\n]{1,200}? points in ([0-9]{1,6}) rounds"
)
_START = re.compile(r"You have [0-9]+ starting points to contribute to the communal pool")
_END = re.compile(r"([0-9]{1,6}) rounds of decisions have been completed\.?")


def is_dilemma(sentence: str) -> bool:
    return sentence.lstrip().startswith("The scoring is as follows:") and "to defect" in sentence


def dilemma(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game with every choice as MAgIC registers it; raises BrokenDocument."""
    scoring = talk.last(_SCORING)
    if scoring is None:
        what = "it does not say what every combination of three choices pays"
        raise lacking(title, what, next(filter(is_dilemma, talk.sentences)))
    payoffs, n_rounds = Payoffs(*map(float, scoring.groups()[:4])), int(scoring[5])
    setting: dict[str, JsonValue] = {"payoffs": to_builtins(payoffs), "rounds": n_rounds}
    kind, phase = GameType.PRISONERS_DILEMMA, Phase.DECISION
    built = _game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    if len(built.seats) != N_PLAYERS:
        raise lacking(title, f"it says what three players get, and {len(built.seats)} play")
    built.decisions = decisions(built, payoffs)
    points = [0.0] * N_PLAYERS
    for decision in built.decisions:
        points[decision.seat - 1] += decision.payoff or 0
    if built.is_finished:
        built.seats = [
            replace(seat, final_score=score)
            for seat, score in zip(built.seats, points, strict=True)
        ]
    _add_results(built, points)
    return built


def is_public_good(sentence: str) -> bool:
    return _START.search(sentence) is not None


def public_good(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game with every contribution as MAgIC registers it; raises BrokenDocument."""
    background = talk.last(_BACKGROUND)
    if background is None:
        what = "it does not say how many rounds are played"
        raise lacking(title, what, next(filter(is_public_good, talk.sentences)))
    start, n_rounds = map(int, background.groups())
    setting: dict[str, JsonValue] = {"starting_points": start, "rounds": n_rounds}
    kind, phase = GameType.PUBLIC_GOOD, Phase.CONTRIBUTION
    built = _game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    # MAgIC's PGM games, in which amounts are read otherwise, ask players for private reflections.
    rows = zip(talk.history.player, talk.history.visible_to, strict=True)
    is_pgm = any(readers in (player, (player,)) for player, readers in rows)
    indices = built.messages.course.said(phase)
    amounts = [registered(built.messages.content[index], is_pgm) for index in indices]
    built.contributions = contributions(built, amounts)
    if unread := [index for index, amount in zip(indices, amounts, strict=True) if amount is None]:
        rule = "each contribution states an amount"
        built.faults.append(Fault(f"$[{unread[0]}]", rule, f"{len(unread)} do not"))
        built.is_finished, built.outcome = False, None  # who won is not known
    paid = [0.0] * len(built.seats)
    for contribution in built.contributions:
        paid[contribution.seat - 1] -= contribution.amount or 0
    _add_results(built, paid)
    return built


def _game(
    talk: Talk,
    game_type: GameType,
    phase: Phase,
    model: str | None,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int,
) -> GameRecord:
    """The game without decisions and winners; it is finished if the moderator says so.

    Raises BrokenDocument where a decision is missing in a game that is.
    """
    players = talk.players()
    spoken = messages(talk.history, players, TIMELINES[phase])
    ended = talk.last(_END)
    if ended and int(ended[1]) != n_rounds:
        rule = f"the game ends after its {n_rounds} rounds"
        raise broken("$", rule, f"it ends after {int(ended[1])}")
    decided = Counter(spoken.course.round[index] for index in spoken.course.said(phase))
    if ended and (set(decided.values()) != {len(players)} or len(decided) != n_rounds):
        rule = f"each player decides in each of the {n_rounds} rounds"
        raise broken("$", rule, f"{decided.total()} decisions of {len(players)} players")
    return GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        setting=setting,
        is_repeatable=True,
        is_finished=ended is not None,
        outcome=Outcome.COMPLETED if ended else None,
        n_rounds=n_rounds,
        seats=[
            Seat(player, name, PLAYER, is_tested=True)
            for player, name in models_of(players, model).items()
        ],
        messages=spoken,
    )


def _add_results(built: GameRecord, points: Sequence[float]) -> None:
    """Adds who won: each with the most points of all, if the game is finished."""
    known = points if built.is_finished else [None] * len(built.seats)
    built.results = results(built, dict(enumerate(most_points(known), start=1)))
