"""What games with a hidden role share: the phases of their messages, and what an outcome is worth.

Chameleon and Undercover are played the same way: clues, an accusation, and in Chameleon a last
guess by the one who was caught.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from pipeline.formats.prose import stated_guess
from pipeline.formats.rows import MODERATOR, Places, Row
from pipeline.game import Game, Guess, Result, Seat
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
_VOTE_PROMPT = "Now vote"
_GUESS_PROMPT = "can guess"


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


# The indices of a phase's messages, by player.
Answers = Mapping[str, Sequence[int]]


def places(rules: Rules, history: Sequence[Row]) -> tuple[Places, Mapping[Phase, Answers]]:
    """Each row's phase and round, and the answers of each phase.

    The moderator's prompts move the game on, since plain logs call every answer `text`. In
    Chameleon each clue opens a round of questions, in Undercover each player's clue of its own;
    elsewhere a player's n-th answer in a phase is that of round n.
    """
    # Python looks a member up in its enum slowly, and there is a row for each message.
    moderation, clue, reflection = Phase.MODERATION, Phase.CLUE, Phase.REFLECTION
    every_clue_is_a_round = rules.every_clue_is_a_round
    prompted = clue
    clue_round = 0
    found = Places()
    phases, rounds = found.phase, found.round
    answers: defaultdict[Phase, defaultdict[str, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for index, row in enumerate(history):
        player = row.agent_name
        if player == MODERATOR:
            if _VOTE_PROMPT in row.content:
                prompted = Phase.VOTE
            elif _GUESS_PROMPT in row.content:
                prompted = Phase.GUESS
            phases.append(moderation)
            rounds.append(None)
            continue
        phase = _PHASE_OF_TYPE.get(row.msg_type, prompted)
        phases.append(phase)
        if phase is reflection:
            rounds.append(clue_round or None)
            continue
        said = answers[phase][player]
        said.append(index)
        turn = len(said)
        if phase is clue:
            clue_round = turn = clue_round + 1 if every_clue_is_a_round else turn
        rounds.append(turn)
    return found, answers


def n_rounds(rules: Rules, answers: Mapping[Phase, Answers]) -> int:
    """The number of rounds of clues that were begun."""
    n_clues = [len(said) for said in answers[Phase.CLUE].values()]
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


def seat_of(game: Game, player: str | None) -> int | None:
    """The seat of a player by name, or None where no seat has that name."""
    for seat, candidate in enumerate(game.seats, start=1):
        if candidate.player == player:
            return seat
    return None


def guesses(game: Game, secret: str) -> list[Guess]:
    """The guess of the one who was caught; whether it was right is the game's word, not ours."""
    if game.outcome_code not in GUESS_FLAGS:
        return []
    is_correct = GUESS_FLAGS[game.outcome_code]
    spoken = [index for index, phase in enumerate(game.messages.phase) if phase is Phase.GUESS]
    hidden = next(
        seat for seat, s in enumerate(game.seats, 1) if SIDE_OF_ROLE[s.role] is Side.HIDDEN
    )
    index = spoken[-1] if spoken else None
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


def opponents(game: Game) -> str | None:
    """The models of the seats not tested, sorted and joined with ', '; None where all are."""
    models = {seat.model or "?" for seat in game.seats if not seat.is_tested}
    return ", ".join(sorted(models)) or None
