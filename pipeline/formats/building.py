"""What a format builds a game of: messages with phases, contributions, results, what calls took.

A format whose log says what each message is needs nothing else of how messages are stored.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from pipeline import games
from pipeline.formats.players import opponents
from pipeline.formats.rows import EVERYONE, History, Timeline, course, is_thought, once
from pipeline.game import Contribution, Fault, GameRecord, Messages, Result, Seat, Usage
from pipeline.games.kind import Ending, GameKind
from pipeline.vocabulary import ParseStatus, Phase

# Sums of decimals are a little off: scores that differ by less are equal, as in audit/scores.sql.
_SUMS_OFF = 1e-6
# Their class looks a phase up by a function, and this is asked of each message.
_THOUGHT = Phase.REFLECTION
USED = Usage.__struct_fields__
_WHOLE = ("input_tokens", "output_tokens")
# Of more than a trillion nothing was used, and sums would not fit into a column.
_MOST = 10**12


class Spoken(Struct, frozen=True, gc=False):
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
    rows = list(spoken)
    logged = History(
        player=tuple([row.player for row in rows]),
        content=tuple([row.content for row in rows]),
        turn=tuple([row.turn for row in rows]),
        visible_to=tuple([row.visible_to for row in rows]),
        msg_type=tuple([row.msg_type for row in rows]),
    )
    phases = [_THOUGHT if is_thought(row.player, row.visible_to) else row.phase for row in rows]
    timeline = Timeline(phases, [row.round for row in rows])
    players = [seat.player for seat in seats]
    return Messages(course(logged, timeline, players), logged.content)


# What a seat put into the pool: seat, round, amount and the index of the message that says so, null
# where it did so in silence. A plain tuple: games of this kind are made of little else.
Put: TypeAlias = tuple[int, int, float | None, int | None]


def contributions(game: GameRecord, amounts: Sequence[float | None]) -> list[Contribution]:
    """The contributions that the seats said in their order, with each round's least and total."""
    spoken = game.messages.course
    indices = spoken.said(Phase.CONTRIBUTION)
    puts = [
        (spoken.seat[index] or 0, spoken.round[index] or 1, amount, index)
        for index, amount in zip(indices, amounts, strict=True)
    ]
    return pooled(puts, len(game.seats))


def pooled(puts: Sequence[Put], n_seats: int) -> list[Contribution]:
    """The contributions with each round's least and total.

    A round with a contribution missing has no least one and no total.
    """
    of_round: defaultdict[int, list[float]] = defaultdict(list)
    for _, round_, amount, _ in puts:
        if amount is not None:
            of_round[round_].append(amount)
    whole = {
        round_: (min(known), sum(known))
        for round_, known in of_round.items()
        if len(known) == n_seats
    }
    rows, unknown = [], (None, None)
    for seat, round_, amount, index in puts:
        least, total = whole.get(round_, unknown)
        is_least = None if least is None else amount == least
        rows.append(Contribution(seat, round_, index, amount, is_least, total))
    return rows


def team_results(
    game: GameRecord, kind: GameKind, guess_is_correct: bool | None = None
) -> list[Result]:
    """The results of a game with sides: one for each tested model and role, as the game ended."""
    sides, played_against = once(_sides, tuple(game.seats))
    # Null where no game of the kind ends so.
    ending = kind.ending(game.outcome if game.is_finished else None) or Ending("")
    closing = _closing(game)
    return [
        Result(
            model=model,
            role=role,
            seat=seat,
            message_index=closing,
            opponent=played_against,
            is_win=ending.is_win(side := kind.side(role)),
            win_credit=ending.credit(side),
            guess_is_correct=guess_is_correct,
            outcome_code=game.outcome_code,
        )
        for model, role, seat in sides
    ]


def side_results(game: GameRecord) -> list[Result]:
    """The results of a game whose format gives none: as it ended, nothing where it has no sides."""
    kind = games.kind(game.game_type)
    return team_results(game, kind, _guess_is_correct(game)) if kind.has_sides else []


def _guess_is_correct(game: GameRecord) -> bool | None:
    if len(game.guesses) != 1:
        return None
    (guess,) = game.guesses
    # An outage in place of the guess guessed nothing, whatever the game made of it.
    return None if guess.parse_status is ParseStatus.OUTAGE else guess.is_correct


def _sides(seats: tuple[Seat, ...]) -> tuple[list[tuple[str | None, str, int | None]], str | None]:
    """Each tested model and role, with its seat if it has one alone; and the opponents."""
    members: dict[tuple[str | None, str], list[int]] = {}
    for number, seat in enumerate(seats, start=1):
        if seat.is_tested:
            members.setdefault((seat.model, seat.role), []).append(number)
    sides = [
        (model, role, numbers[0] if len(numbers) == 1 else None)
        for (model, role), numbers in members.items()
    ]
    return sides, opponents(seats)


def results(game: GameRecord, is_win: Mapping[int, bool | None]) -> list[Result]:
    """The results of tested seats that play for themselves: who won, null if unfinished."""
    closing, played_against = _closing(game), opponents(game.seats)
    return [
        Result(
            model=(seat := game.seats[number - 1]).model,
            role=seat.role,
            seat=number,
            message_index=closing,
            opponent=played_against,
            is_win=won,
            win_credit=None if won is None else float(won),
        )
        for number, won in is_win.items()
    ]


def most_points(scores: Sequence[float | None]) -> list[bool | None]:
    """Whether each score is the highest, shared or not; null for all where one is unknown."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return [None] * len(scores)
    most = max(known, default=0)
    return [most - score < _SUMS_OFF for score in known]


def _closing(game: GameRecord) -> int | None:
    """The index of the last message, None where there is none."""
    return len(game.messages) - 1 if game.messages.content else None


def usage(part: Struct, keys: Mapping[str, str], at: str, faults: list[Fault]) -> Usage:
    """What a part of a log at a place says that calls took; `keys` are its fields, by `Usage`'s.

    Nothing of a game hangs on it: a value that cannot be read is a fault, and the game is kept.
    """
    found = {
        name: amount(getattr(part, key), f"{at}.{key}", faults, is_whole=name in _WHOLE)
        for name, key in keys.items()
    }
    return Usage(**found)


def amount(value: Any, at: str, faults: list[Fault], *, is_whole: bool = False) -> Any:
    """The amount at a place of a log; null, and a fault, for what is none."""
    if value is None:
        return None
    if type(value) in (int, float) and 0 <= value <= _MOST and not (is_whole and value % 1):
        return int(value) if is_whole else float(value)
    rule = f"what is used is {'a whole' if is_whole else 'a'} number from 0 to a trillion"
    faults.append(Fault(at, rule, repr(value)[:50]))
    return None


def total(calls: Iterable[Usage]) -> Usage:
    """What several calls used together: null where one of them does not say, or there is none."""
    columns: Sequence[tuple[Any, ...]] = list(zip(*map(astuple, calls), strict=True))
    return Usage(*(None if None in column else sum(column) for column in columns))
