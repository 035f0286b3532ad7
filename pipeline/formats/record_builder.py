"""What a format builds a game of: messages with phases, contributions, results, what calls took.

A format whose log says what each message is needs nothing else of how messages are stored.
"""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, UnsetType
from msgspec.structs import astuple

from pipeline import games
from pipeline.formats.sniffer import invalid_document_error, not_json
from pipeline.game_record import (
    Contribution,
    GameRecord,
    MessageColumns,
    Messages,
    RecordError,
    Result,
    Seat,
    Usage,
)
from pipeline.games import Ending, GameDefinition
from pipeline.vocabulary import ParseStatus, Phase

# The message rows that ChatArena writes, and MAgIC after it, made into typed messages.

MODERATOR = "Moderator"
EVERYONE = "all"
# What `visible_to` holds in a row that everybody, or the moderator alone, was shown.
PUBLIC = (EVERYONE, (EVERYONE,))
TO_MODERATOR = (MODERATOR, (MODERATOR,))

T = TypeVar("T")
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Row(Struct, gc=False):
    """One message as logged. Its timestamp is the process's and says nothing, so it is not read."""

    agent_name: str
    content: str
    turn: Int64 | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    msg_type: str | None = None


class History(NamedTuple):
    """A log's rows, column by column; without its texts, it is that of many games."""

    player: tuple[str, ...]
    content: tuple[str, ...]
    turn: tuple[int | None, ...]
    visible_to: tuple[str | tuple[str, ...], ...]
    msg_type: tuple[str | None, ...]


class Timeline(NamedTuple):
    """Each row's phase and round, column by column."""

    phase: list[str]
    round: list[int | None]


# Of the moderator's texts, in order, the phase that each begins.
Prompted = tuple[Phase | None, ...]
Timing = Callable[[History, Prompted], Timeline]


def history(rows: Sequence[Row]) -> History:
    """The rows, column by column: of both, the fields are in one order."""
    return History(*zip(*map(astuple, rows), strict=True)) if rows else History((), (), (), (), ())


def row_messages(
    logged: History, seats: Iterable[str], timing: Timing, prompts: Mapping[str, Phase] = {}
) -> Messages:
    """The rows as messages of the players at the seats, each where `timing` has it.

    `prompts` are the words by which the moderator begins a phase; of several in one text the first
    decides.
    """
    texts = compress(logged.content, map(MODERATOR.__eq__, logged.player)) if prompts else ()
    prompted = tuple(
        next((phase for words, phase in prompts.items() if words in text), None) for text in texts
    )
    without_texts = logged._replace(content=())
    return Messages(_course(timing, without_texts, prompted, tuple(seats)), logged.content)


# Among the benchmark's 1,430 public games there are 67 courses, so few have to be worked out.
@lru_cache(1_000)
def _course(
    timing: Timing, logged: History, prompted: Prompted, seats: tuple[str, ...]
) -> MessageColumns:
    """The rows as a course; thoughts, which do not move the game on, are in the round so far."""
    is_heard = [not thought for thought in map(is_thought, logged.player, logged.visible_to)]
    if all(is_heard):
        return course(logged, timing(logged, prompted), seats)
    heard = History._make(tuple(compress(column, is_heard)) for column in logged)
    known = zip(*timing(heard, prompted), strict=True)
    found, round_ = Timeline([], []), None
    for is_said in is_heard:
        phase, of_row = next(known) if is_said else (Phase.REFLECTION, round_)
        round_ = of_row or round_
        found.phase.append(phase)
        found.round.append(of_row)
    return course(logged, found, seats)


def is_thought(player: str, visible_to: str | tuple[str, ...]) -> bool:
    """Whether nobody hears what a player says: it is then no act in the game, and no turn.

    Nobody's name is empty.
    """
    # The first is asked by itself, since this is done for each message.
    is_heard = visible_to and (visible_to[0] or any(visible_to))
    return not is_heard and player != MODERATOR


def course(logged: History, timeline: Timeline, seats: Iterable[str]) -> MessageColumns:
    """The rows as a course: each with its seat, phase and round."""
    phases, rounds = timeline
    numbers = {player: number for number, player in enumerate(seats, start=1)}
    spoken: defaultdict[str, list[int]] = defaultdict(list)
    answers: defaultdict[str, defaultdict[str, list[int]]]
    answers = defaultdict(partial(defaultdict, list))
    for index, (player, phase) in enumerate(zip(logged.player, phases, strict=True)):
        if player == MODERATOR:
            continue
        if player in numbers:
            spoken[phase].append(index)
        answers[phase][player].append(index)
    return MessageColumns(
        player=logged.player,
        seat=tuple(map(numbers.get, logged.player)),
        round=tuple(rounds),
        phase=tuple(phases),
        turn=logged.turn,
        visible_to=logged.visible_to,
        msg_type=logged.msg_type,
        spoken=spoken,
        answers=answers,
    )


@lru_cache(10_000)
def once(work: Callable[..., T], *known: Hashable) -> T:
    """What a function makes of what many games have alike: worked out once, and never changed."""
    return work(*known)


def clear_cache() -> None:
    """Lets go of what is known, so that it holds no more than one batch of documents does."""
    _course.cache_clear()
    once.cache_clear()


# The players of any game: what has to hold to tell each by its name, and who they are.

ModelName = Annotated[str, Meta(min_length=1)]
_NUMBERED = re.compile(r"Player ([1-9][0-9]{0,8})")

MOST_PLAYERS = 1_000
LONGEST_NAME = 1_000
NOT_NAMES = frozenset({MODERATOR, EVERYONE})
# What stands between the words of a name, or is not seen, and what an answer has around it.
_AROUND = re.compile(
    r"""[\s_\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]+|^[\s"'“”‘’`*(<\[「]+|[\s"'“”‘’`*)>\]」.。,!]+$"""
)
_HYPHENS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
# What programs write for an answer that named nobody.
_NOBODY = frozenset(
    (
        *("", "null", "none", "nil", "nan", "undefined", "n/a", "-", "-1", "nobody", "no one"),
        *("no_one", "noone", "abstain", "abstained", "skip", "pass", "no vote", "no_vote"),
        *("no lynch", "no_lynch", "no_elimination", "弃权", "棄權", "棄権", "기권"),
    )
)


@lru_cache
def player_number(name: str) -> int | None:
    """The N of a name that is just `Player N`, else None."""
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else None


def check_number(n_players: int, at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more players than a table seats."""
    if n_players > most:
        raise invalid_document_error(
            at, f"a game has at most {most:,} players", f"{n_players:,} players"
        )


def check_players(players: Collection[str], at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more than a table seats, or one has no name of its own.

    `at` is where the log lists them. What is made of a game grows with its players, in places with
    their square.
    """
    check_number(len(players), at, most)
    _check_each_once(players, at)
    if NOT_NAMES.isdisjoint(players) and max(map(len, players), default=0) <= LONGEST_NAME:
        return
    wrong = next(name for name in players if name in NOT_NAMES or len(name) > LONGEST_NAME)
    taken = f", which is not {' or '.join(map(repr, sorted(NOT_NAMES)))}"
    rule = f"every player has a name of at most {LONGEST_NAME:,} characters{taken}"
    raise invalid_document_error(at, rule, repr(wrong[:50]))


def check_distinct(part: Raw | bytes | UnsetType, at: str) -> None:
    """Raises BrokenDocument where an object of players has a name twice: decoders keep the last."""
    listed = b"" if isinstance(part, UnsetType) else bytes(part)
    try:
        pairs = json.loads(listed, object_pairs_hook=list, parse_int=str)
    except (ValueError, RecursionError) as error:  # msgspec does not look into what it skips
        raise not_json(error, listed, at) from error
    _check_each_once([name for name, _ in pairs], at)


def _check_each_once(names: Collection[str], at: str) -> None:
    if len(set(names)) < len(names):
        alike = next(name for name, n in Counter(names).items() if n > 1)
        raise invalid_document_error(at, "no two players have the same name", repr(alike[:50]))


def in_seats(players: dict[str, T]) -> dict[str, T]:
    """An object whose keys are players, in the order of their seats.

    Players that are numbered sit by their numbers, since the order of keys in JSON says nothing.
    Others sit as they are listed.
    """
    numbers = {name: player_number(name) for name in players}
    if None in numbers.values():
        return players
    return {name: players[name] for name in sorted(players, key=lambda name: numbers[name] or 0)}


def is_nobody(name: object) -> bool:
    """Whether a log writes this in the place of a player's name where there is no player."""
    is_name = isinstance(name, str | int) and not isinstance(name, bool)
    return name is None or (is_name and str(name).strip().lower() in _NOBODY)


def named(value: object, known: Mapping[Any, str]) -> str | None:
    """The player that a value names, by all that a log may call players; None for no player."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    player = known.get(value)
    return _alike(value, known) if player is None and isinstance(value, str) else player


def _alike(value: str, known: Mapping[Any, str]) -> str | None:
    """The only player whose name differs in form: capitals, blanks, hyphens, what is around."""
    plain = _plain(value)
    players = {player for name, player in known.items() if _plain(str(name)) == plain}
    return players.pop() if plain and len(players) == 1 else None


@lru_cache(4_096)
def _plain(name: str) -> str:
    return _AROUND.sub("", unicodedata.normalize("NFKC", name).translate(_HYPHENS)).casefold()


def target(
    value: object, known: Mapping[Any, str], at: str, faults: list[RecordError]
) -> str | None:
    """The player at whom an act is aimed, by all that a log may call players; None for nobody.

    For a value that is neither there is a fault: the act is for nobody, and the game is kept.
    """
    player = named(value, known)
    if player is None and not is_nobody(value):
        faults.append(
            RecordError(at, "an act is aimed at a player, or at nobody", repr(value)[:50])
        )
    return player


def unseated(
    course: MessageColumns, at: str = "$.history", places: Sequence[int] | None = None
) -> list[RecordError]:
    """A fault for each player who speaks and has no seat, at the first message in the list `at`.

    The message is in the tables, and what the player does in it is not. `places` are the messages'
    own in the list, where it has more than them.
    """
    if course.seat.count(None) == course.player.count(MODERATOR):
        return []
    first: dict[str, int] = {}
    for index, (player, seat) in enumerate(zip(course.player, course.seat, strict=True)):
        if seat is None and player != MODERATOR:
            first.setdefault(player, index)
    rule = "every player who speaks has a seat"
    places = range(len(course.player)) if places is None else places
    return [RecordError(f"{at}[{places[i]}]", rule, repr(player)) for player, i in first.items()]


def unshown(
    shown: Sequence[str | tuple[str, ...]], known: Collection[str], at: str
) -> list[RecordError]:
    """A fault for each name that a text is shown to and nobody has, at the first such text.

    `shown` are the readers of each text in the list `at`, `known` the names of the seats.
    """
    names = {name for readers in set(shown) for name in names_in(readers)}
    rule = f"a text is shown to players who have seats, or to {' or '.join(sorted(NOT_NAMES))}"
    faults = []
    for name in sorted(names.difference(known, NOT_NAMES, {""})):
        first = next(n for n, readers in enumerate(shown) if name in names_in(readers))
        faults.append(RecordError(f"{at}[{first}].visible_to", rule, repr(name)))
    return faults


def names_in(named: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (named,) if isinstance(named, str) else named


def untested(game: GameRecord) -> list[RecordError]:
    """A fault for a game in which nobody is tested: its rows are kept, but count nowhere."""
    if any(seat.is_tested for seat in game.seats):
        return []
    rule = "at least one player is tested"
    return [
        RecordError(
            "$", rule, f"none of {len(game.seats)} players is tested, so no metric counts the game"
        )
    ]


def opponents(seats: Iterable[Seat]) -> str | None:
    """The models of the seats not tested, sorted and joined with ', '; None where all are."""
    models = {seat.model or "?" for seat in seats if not seat.is_tested}
    return ", ".join(sorted(models)) or None


def models_of(players: Collection[str], given: str | None) -> dict[str, str | None]:
    """Each player's model, in their order, in a log that names none.

    Whoever ingests it gives the name of a model, which all players are, or a JSON object of players
    and their models. Raises BrokenDocument where only some are given one.
    """
    try:
        is_object = given is not None and given.startswith("{")
        by_player = msgspec.json.decode(given or "", type=dict[str, str]) if is_object else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):  # a name that begins so
        by_player = None
    if by_player is None:
        return dict.fromkeys(players, given)
    if without := [player for player in players if player not in by_player]:
        rule = "the log or --models-from names each player's model"
        raise invalid_document_error("$", rule, f"nothing names that of {', '.join(without)[:200]}")
    return {player: by_player[player] for player in players}


# Their class looks a phase up by a function, and this is asked of each message.
_THOUGHT = Phase.REFLECTION
USED = Usage.__struct_fields__


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
    game: GameRecord, kind: GameDefinition, guess_is_correct: bool | None = None
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
    kind = games.game_definition(game.game_type)
    if not kind.has_sides:
        return []
    # An outage in place of the guess guessed nothing, whatever the game made of it.
    are_correct = [
        None if guess.parse_status is ParseStatus.OUTAGE else guess.is_correct
        for guess in game.guesses
    ]
    return team_results(game, kind, are_correct[0] if len(are_correct) == 1 else None)


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
    # Sums of decimals are a little off: such scores are equal, as in audit/scores.sql.
    return [most - score < 1e-6 for score in known]


def _closing(game: GameRecord) -> int | None:
    """The index of the last message, None where there is none."""
    return len(game.messages) - 1 if game.messages.content else None


def usage(part: Struct, keys: Mapping[str, str], at: str, faults: list[RecordError]) -> Usage:
    """What a part of a log at a place says that calls took; `keys` are its fields, by `Usage`'s.

    Nothing of a game hangs on it: a value that cannot be read is a fault, and the game is kept.
    """
    found = {
        name: amount(getattr(part, key), f"{at}.{key}", faults, is_whole=name.endswith("_tokens"))
        for name, key in keys.items()
    }
    return Usage(**found)


def amount(value: Any, at: str, faults: list[RecordError], *, is_whole: bool = False) -> Any:
    """The amount at a place of a log; null, and a fault, for what is none."""
    if value is None:
        return None
    # Of more than a trillion nothing was used, and sums would not fit into a column.
    if type(value) in (int, float) and 0 <= value <= 10**12 and not (is_whole and value % 1):
        return int(value) if is_whole else float(value)
    rule = f"what is used is {'a whole' if is_whole else 'a'} number from 0 to a trillion"
    faults.append(RecordError(at, rule, repr(value)[:50]))
    return None


def total(calls: Iterable[Usage]) -> Usage:
    """What several calls used together: null where one of them does not say, or there is none."""
    columns: Sequence[tuple[Any, ...]] = list(zip(*map(astuple, calls), strict=True))
    return Usage(*(None if None in column else sum(column) for column in columns))
