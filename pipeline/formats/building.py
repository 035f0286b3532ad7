"""What a format builds a game of: messages with their phases, rounds of contributions, results.

A format whose log says what each message is needs nothing else of how messages are stored.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from pipeline.formats.players import opponents
from pipeline.formats.rows import EVERYONE, Outline, Timeline, course
from pipeline.game import Contribution, GameRecord, Messages, Result, Seat
from pipeline.games.kind import Ending, GameKind
from pipeline.vocabulary import Phase


class Spoken(NamedTuple):
    """One message: who says what, and what it is in its game. `turn` and `msg_type` are the log's.

    The moderator's messages have the player `rows.MODERATOR` and no round.
    """

    player: str
    content: str
    phase: str
    round: int | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    turn: int | None = None
    msg_type: str | None = None


def messages(spoken: Iterable[Spoken], seats: Iterable[Seat]) -> Messages:
    """The messages of a game, in their order. An event refers to one by its index."""
    columns = tuple(zip(*spoken, strict=True)) or ((),) * len(Spoken._fields)
    player, content, phase, round_, visible_to, turn, msg_type = columns
    outline = Outline(player, turn, visible_to, msg_type, prompted=())
    timeline = Timeline(list(phase), list(round_))
    return Messages(course(outline, timeline, (seat.player for seat in seats)), content)


class Put(Struct, frozen=True, gc=False):
    """What a seat put into the pool of a round; no message is named where it did so in silence."""

    seat: int
    round: int
    amount: float | None
    message_index: int | None = None


def contributions(game: GameRecord, amounts: Sequence[float | None]) -> list[Contribution]:
    """The contributions that the seats said in their order, with each round's least and total."""
    spoken = game.messages.course
    indices = spoken.said(Phase.CONTRIBUTION)
    puts = [
        Put(spoken.seat[index] or 0, spoken.round[index] or 1, amount, index)
        for index, amount in zip(indices, amounts, strict=True)
    ]
    return pooled(puts, len(game.seats))


def pooled(puts: Sequence[Put], n_seats: int) -> list[Contribution]:
    """The contributions with each round's least and total.

    A round with a contribution missing has no least one and no total.
    """
    of_round: defaultdict[int, list[float]] = defaultdict(list)
    for put in puts:
        if put.amount is not None:
            of_round[put.round].append(put.amount)
    whole = {
        round_: (min(known), sum(known))
        for round_, known in of_round.items()
        if len(known) == n_seats
    }
    rows = []
    for put in puts:
        least, total = whole.get(put.round, (None, None))
        is_least = None if least is None else put.amount == least
        rows.append(
            Contribution(put.seat, put.round, put.message_index, put.amount, is_least, total)
        )
    return rows


def team_results(
    game: GameRecord, kind: GameKind, guess_is_correct: bool | None = None
) -> list[Result]:
    """The results of a game with sides: one for each tested model and role, as the game ended."""
    members: dict[tuple[str | None, str], list[int]] = {}
    for number, seat in enumerate(game.seats, start=1):
        if seat.is_tested:
            members.setdefault((seat.model, seat.role), []).append(number)
    credits = _credits(kind, game.outcome if game.is_finished else None)
    closing, played_against = _closing(game), opponents(game)
    return [
        Result(
            model=model,
            role=role,
            seat=seats[0] if len(seats) == 1 else None,
            message_index=closing,
            opponent=played_against,
            is_win=credits[role].is_win,
            win_credit=credits[role].win_credit,
            guess_is_correct=guess_is_correct,
            outcome_code=game.outcome_code,
        )
        for (model, role), seats in members.items()
    ]


class _Credit(NamedTuple):
    is_win: bool | None
    win_credit: float | None


@lru_cache
def _credits(kind: GameKind, outcome: str | None) -> dict[str, _Credit]:
    """What an outcome comes to for each role; null where no game of the kind ends so."""
    ending = kind.ending(outcome) or Ending("")
    return {
        role.name: _Credit(ending.is_win(role.side), ending.credit(role.side))
        for role in kind.roles
    }


def results(game: GameRecord, is_win: Mapping[int, bool | None]) -> list[Result]:
    """The results of tested seats that play for themselves: who won, null if unfinished."""
    closing, played_against = _closing(game), opponents(game)
    return [
        Result(
            model=game.seats[seat - 1].model,
            role=game.seats[seat - 1].role,
            seat=seat,
            message_index=closing,
            opponent=played_against,
            is_win=won,
            win_credit=None if won is None else float(won),
        )
        for seat, won in is_win.items()
    ]


def _closing(game: GameRecord) -> int | None:
    """The index of the last message, None where there is none."""
    return len(game.messages) - 1 if game.messages.content else None
