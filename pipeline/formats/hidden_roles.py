"""What games with a hidden role share: the phases of their messages, and what an outcome is worth.

Chameleon and Undercover are played the same way: clues, an accusation, and in Chameleon a last
guess by the one who was caught.
"""

from collections.abc import Sequence

from msgspec import Struct

from pipeline.formats.prose import stated_guess, stated_player
from pipeline.formats.rows import Place, Row, Turns
from pipeline.game import Game, Guess, Message, Result, Seat, Vote
from pipeline.vocabulary import (
    SIDE_OF_ROLE,
    GameType,
    Outcome,
    ParseStatus,
    Phase,
    Role,
    Side,
)

_PHASE_OF_TYPE = {
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


class Places:
    """Tells each row's phase and round; to be asked in the rows' order.

    The moderator's prompts move the game on, since plain logs call every answer `text`. In
    Chameleon each clue opens a round of questions, in Undercover each player's clue of its own.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._turns = Turns()
        self._phase = Phase.CLUE
        self._clue_round = 0

    def __call__(self, row: Row) -> Place:
        if row.is_moderator:
            self._follow(row.content)
            return Phase.MODERATION, None
        phase = _PHASE_OF_TYPE.get(row.msg_type or "", self._phase)
        return phase, self._round(row.agent_name, phase)

    def _follow(self, prompt: str) -> None:
        if _VOTE_PROMPT in prompt:
            self._phase = Phase.VOTE
        elif _GUESS_PROMPT in prompt:
            self._phase = Phase.GUESS

    def _round(self, player: str, phase: Phase) -> int | None:
        turn = self._turns.next(player, phase)
        if phase is Phase.CLUE:
            self._clue_round = self._clue_round + 1 if self._rules.every_clue_is_a_round else turn
            return self._clue_round
        return (self._clue_round or None) if phase is Phase.REFLECTION else turn


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


def message_of(messages: Sequence[Message], seat: int, phase: Phase, round_: int) -> int | None:
    """The index of the message by a seat in a round of a phase, or None where there is none."""
    for index, message in enumerate(messages):
        if message.seat == seat and message.phase is phase and message.round == round_:
            return index
    return None


def vote(game: Game, seat: int, target: str | None, message_index: int | None) -> Vote:
    """A vote that the game registered for `target` (None where it named nobody)."""
    stated, status = None, ParseStatus.OK
    if message_index is not None:
        stated, status = stated_player(
            game.messages[message_index].content, game.seats[seat - 1].player
        )
    if status is not ParseStatus.OUTAGE:
        status = ParseStatus.OK if target else ParseStatus.UNREADABLE
    return _vote(game, seat, target, stated_target=stated, status=status, index=message_index)


def vote_as_stated(game: Game, message_index: int) -> Vote:
    """A vote of which only the text is known: the game registered what it says, if anything."""
    message = game.messages[message_index]
    assert message.seat is not None
    stated, status = stated_player(message.content, message.player)
    return _vote(
        game,
        message.seat,
        stated,
        stated_target=stated,
        status=status,
        index=message_index,
        round_=message.round or 1,
    )


def _vote(
    game: Game,
    seat: int,
    target: str | None,
    *,
    stated_target: str | None,
    status: ParseStatus,
    index: int | None,
    round_: int = 1,
) -> Vote:
    target_seat = seat_of(game, target)
    target_role = game.seats[target_seat - 1].role if target_seat else None
    return Vote(
        seat=seat,
        round=round_,
        message_index=index,
        parse_status=status,
        target=target,
        target_seat=target_seat,
        is_correct=target_role is not None and SIDE_OF_ROLE[target_role] is Side.HIDDEN,
        is_valid=target_seat is not None and target_seat != seat,
        stated_target=stated_target,
    )


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
    spoken = [i for i, message in enumerate(game.messages) if message.phase is Phase.GUESS]
    hidden = next(
        seat for seat, s in enumerate(game.seats, 1) if SIDE_OF_ROLE[s.role] is Side.HIDDEN
    )
    index = spoken[-1] if spoken else None
    word, status = None, ParseStatus.UNREADABLE
    if index is not None:
        word, status = stated_guess(game.messages[index].content)
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
    return [
        Result(
            model=model,
            role=role,
            seat=members[0] if len(members) == 1 else None,
            message_index=len(game.messages) - 1 if game.messages else None,
            opponent=opponents(game),
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
