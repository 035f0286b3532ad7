"""What the Prisoner's Dilemma and Public Good share, as MAgIC plays them in ChatArena.

A player decides by what it tells the moderator alone, and each plays for itself.
"""

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.formats.broken import broken
from pipeline.formats.building import most_points, results
from pipeline.formats.chatarena.talk import FORMAT, SYSTEM, VERSION, Talk
from pipeline.formats.given import models_of
from pipeline.formats.magic.point_game import TIMELINES
from pipeline.formats.rows import messages
from pipeline.game import Course, GameRecord, JsonValue, Seat
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

PHASES = {
    GameType.PRISONERS_DILEMMA: Phase.DECISION,
    GameType.PUBLIC_GOOD: Phase.CONTRIBUTION,
}
_END = re.compile(r"([0-9]{1,6}) rounds of decisions have been completed\.?")


def game(
    talk: Talk,
    game_type: GameType,
    setting: dict[str, JsonValue],
    n_rounds: int,
    model: str | None,
) -> GameRecord:
    """The game without decisions and winners; it is finished if the moderator says so.

    Raises BrokenDocument where a decision is missing in a game that is.
    """
    players, phase = talk.players(), PHASES[game_type]
    spoken = messages(talk.history, players, TIMELINES[phase])
    ended = talk.last(_END)
    if ended and int(ended[1]) != n_rounds:
        rule = f"the game ends after its {n_rounds} rounds"
        raise broken("$", rule, f"it ends after {int(ended[1])}")
    if ended:
        _check_decisions(spoken.course, phase, len(players), n_rounds)
    return GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        format_version=VERSION,
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


def leave_open(built: GameRecord) -> None:
    """Makes the game an unfinished one: who won it is not known."""
    built.is_finished, built.outcome = False, None


def add_results(built: GameRecord, points: Sequence[float]) -> None:
    """Adds who won: each with the most points of all, if the game is finished."""
    known = points if built.is_finished else [None] * len(built.seats)
    built.results = results(built, dict(enumerate(most_points(known), start=1)))


def _check_decisions(course: Course, phase: Phase, n_players: int, n_rounds: int) -> None:
    decided = Counter(course.round[index] for index in course.said(phase))
    if set(decided.values()) == {n_players} and len(decided) == n_rounds:
        return
    rule = f"each player decides in each of the {n_rounds} rounds"
    raise broken("$", rule, f"{decided.total()} decisions of {n_players} players")
