"""What games with a hidden role share: the phases of their messages, and what an outcome is worth.

Chameleon and Undercover are played the same way: clues, an accusation, and in Chameleon a last
guess by the one who was caught.
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from pipeline.formats import rows
from pipeline.formats.answers import stated_guess
from pipeline.formats.players import opponents
from pipeline.formats.rows import MODERATOR, History, Outline, Timeline
from pipeline.game import Course, Game, Guess, Messages, Result, Seat
from pipeline.vocabulary import (
    SIDE_OF_ROLE,
    GameType,
    Outcome,
    ParseStatus,
    Phase,
    Role,
    Side,
)

_PHASE_OF_TYPE: dict[str | None, Phase] = {
    "clue": Phase.CLUE,
    "metric_consistency": Phase.IDENTIFICATION,
    "metric_pgm": Phase.ANALYSIS,
    "pgm": Phase.REFLECTION,
    "accuse": Phase.VOTE,
    "guess": Phase.GUESS,
}
_PROMPTS = {"Now vote": Phase.VOTE, "can guess": Phase.GUESS}


class Ending(Struct, frozen=True):
    """One way in which a game ends, and what it is worth to each side (MAgIC, metrics)."""

    outcome: Outcome
    hidden_credit: float
    civilian_credit: float


class Rules(Struct, frozen=True):
    """What differs between the games. `endings` is keyed by the log's `win_flag`."""

    game_type: GameType
    hidden_role: Role
    civilian_role: Role
    endings: dict[int, Ending]
    every_clue_is_a_round: bool


CHAMELEON = Rules(
    game_type=GameType.CHAMELEON,
    hidden_role=Role.CHAMELEON,
    civilian_role=Role.NON_CHAMELEON,
    endings={
        0: Ending(Outcome.GUESSED_WRONG, 0.0, 1.0),
        1: Ending(Outcome.GUESSED_RIGHT, 0.5, 0.5),
        2: Ending(Outcome.VOTED_WRONG, 1.0, 0.0),
        3: Ending(Outcome.TIE, 0.5, 0.5),
    },
    every_clue_is_a_round=True,
)
UNDERCOVER = Rules(
    game_type=GameType.UNDERCOVER,
    hidden_role=Role.UNDERCOVER,
    civilian_role=Role.CIVILIAN,
    endings={
        0: Ending(Outcome.CAUGHT, 0.0, 1.0),
        1: Ending(Outcome.VOTED_WRONG, 1.0, 0.0),
        2: Ending(Outcome.TIE, 2 / 3, 1 / 3),
    },
    every_clue_is_a_round=False,
)
CAUGHT_FLAG = 0
GUESS_FLAGS = {0: False, 1: True}


def messages(rules: Rules, logged: History, seats: Iterable[str]) -> Messages:
    """The rows as messages: the moderator's prompts move the game on, and rounds are of clues."""
    timing = _timeline_by_clue if rules.every_clue_is_a_round else _timeline_by_player
    return rows.messages(logged, seats, timing, _PROMPTS)


def _timeline(outline: Outline, *, every_clue_is_a_round: bool) -> Timeline:
    """Each row's phase and round.

    Plain logs call every answer `text`, so that the moderator's prompts tell them apart. In
    Chameleon each clue opens a round of questions, in Undercover each player's clue of its own;
    elsewhere a player's n-th answer in a phase is that of round n.
    """
    prompts = iter(outline.prompted)
    prompted, clue_round = Phase.CLUE, 0
    said: Counter[tuple[Phase, str]] = Counter()
    found = Timeline([], [])
    for player, msg_type in zip(outline.player, outline.msg_type, strict=True):
        round_: int | None = None
        if player == MODERATOR:
            phase = Phase.MODERATION
            prompted = next(prompts) or prompted
        elif (phase := _PHASE_OF_TYPE.get(msg_type, prompted)) is Phase.REFLECTION:
            round_ = clue_round or None
        else:
            said[phase, player] += 1
            round_ = said[phase, player]
            if phase is Phase.CLUE:
                clue_round = round_ = clue_round + 1 if every_clue_is_a_round else round_
        found.phase.append(phase)
        found.round.append(round_)
    return found


# Named, since a course is known by what placed it.
_timeline_by_clue = partial(_timeline, every_clue_is_a_round=True)
_timeline_by_player = partial(_timeline, every_clue_is_a_round=False)


def n_rounds(rules: Rules, course: Course) -> int:
    """The number of rounds of clues that were begun."""
    n_clues = [len(said) for said in course.answered(Phase.CLUE).values()]
    return sum(n_clues) if rules.every_clue_is_a_round else max(n_clues, default=0)


def seats(rules: Rules, hidden: str, models: dict[str, str | None], tested: set[str]) -> list[Seat]:
    """The seats in the order of `models`; the player `hidden` has the hidden role."""
    return [
        Seat(
            player=player,
            model=model,
            role=rules.hidden_role if player == hidden else rules.civilian_role,
            is_tested=player in tested,
        )
        for player, model in models.items()
    ]


def guesses(game: Game, secret: str) -> list[Guess]:
    """The guess of the one who was caught; whether it was right is the game's word, not ours.

    What another player says in answer to that prompt is not it.
    """
    if game.outcome_code not in GUESS_FLAGS:
        return []
    is_correct = GUESS_FLAGS[game.outcome_code]
    hidden, name = next(
        (number, seat.player)
        for number, seat in enumerate(game.seats, start=1)
        if SIDE_OF_ROLE[seat.role] is Side.HIDDEN
    )
    said = game.messages.course.answered(Phase.GUESS).get(name, ())
    index = said[-1] if said else None
    word, status = None, ParseStatus.UNREADABLE
    if index is not None:
        word, status = stated_guess(game.messages.content[index])
    return [
        Guess(
            seat=hidden,
            round=1,
            message_index=index,
            parse_status=status,
            guess=word,
            secret=secret,
            is_correct=is_correct,
        )
    ]


def results(game: Game, rules: Rules) -> list[Result]:
    """One row for each tested model and role, in the order of the seats."""
    teams: dict[tuple[str | None, Role], list[int]] = {}
    for number, seat in enumerate(game.seats, start=1):
        if seat.is_tested:
            teams.setdefault((seat.model, seat.role), []).append(number)
    flag = game.outcome_code if game.is_finished else None
    ending = rules.endings.get(flag) if flag is not None else None
    played_against = opponents(game)
    return [
        Result(
            model=model,
            role=role,
            seat=members[0] if len(members) == 1 else None,
            message_index=len(game.messages) - 1 if len(game.messages) else None,
            opponent=played_against,
            is_win=_is_win(ending, game.outcome_code, role) if ending else None,
            win_credit=_credit(ending, role) if ending else None,
            guess_is_correct=_guess_is_correct(game),
            outcome_code=game.outcome_code,
        )
        for (model, role), members in teams.items()
    ]


def _is_win(ending: Ending, flag: int | None, role: Role) -> bool:
    # The hidden side wins unless it was caught outright; a civilian win is a full one.
    if SIDE_OF_ROLE[role] is Side.HIDDEN:
        return flag != CAUGHT_FLAG
    return ending.civilian_credit == 1


def _credit(ending: Ending, role: Role) -> float:
    is_hidden = SIDE_OF_ROLE[role] is Side.HIDDEN
    return ending.hidden_credit if is_hidden else ending.civilian_credit


def _guess_is_correct(game: Game) -> bool | None:
    # An outage in place of the guess guessed nothing, whatever the game made of it.
    if any(guess.parse_status is ParseStatus.OUTAGE for guess in game.guesses):
        return None
    return next((guess.is_correct for guess in game.guesses), None)
