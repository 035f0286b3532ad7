"""The message rows that ChatArena writes, and MAgIC after it, made into typed messages."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import Annotated, NamedTuple, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import astuple

from pipeline.game import Course, Messages
from pipeline.vocabulary import Phase

MODERATOR = "Moderator"
EVERYONE = "all"
# What `visible_to` holds in a row that everybody, or the moderator alone, was shown.
PUBLIC = (EVERYONE, (EVERYONE,))
TO_MODERATOR = (MODERATOR, (MODERATOR,))
MOST_COURSES = 1_000
MOST_RESULTS = 10_000

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
# The words by which the moderator begins a phase; of several in one text the first here decides.
Prompts = Mapping[str, Phase]
_NO_PROMPTS: Prompts = {}


def history(rows: Sequence[Row]) -> History:
    """The rows, column by column: of both, the fields are in one order."""
    return History(*zip(*map(astuple, rows), strict=True)) if rows else History((), (), (), (), ())


def messages(
    logged: History, seats: Iterable[str], timing: Timing, prompts: Prompts = _NO_PROMPTS
) -> Messages:
    """The rows as messages of the players at the seats, each where `timing` has it."""
    without_texts = logged._replace(content=())
    prompted = _prompted(logged, prompts)
    return Messages(_course(timing, without_texts, prompted, tuple(seats)), logged.content)


def _prompted(logged: History, prompts: Prompts) -> Prompted:
    if not prompts:
        return ()
    phases: list[Phase | None] = []
    for text in compress(logged.content, map(MODERATOR.__eq__, logged.player)):
        for words, phase in prompts.items():
            if words in text:
                phases.append(phase)
                break
        else:
            phases.append(None)
    return tuple(phases)


# Among the benchmark's 1,430 public games there are 67 courses, so few have to be worked out.
@lru_cache(MOST_COURSES)
def _course(timing: Timing, logged: History, prompted: Prompted, seats: tuple[str, ...]) -> Course:
    return course(logged, _of_heard(timing, logged, prompted), seats)


def is_thought(player: str, visible_to: str | tuple[str, ...]) -> bool:
    """Whether nobody hears what a player says: it is then no act in the game, and no turn.

    Nobody's name is empty.
    """
    # The first is asked by itself, since this is done for each message.
    is_heard = visible_to and (visible_to[0] or any(visible_to))
    return not is_heard and player != MODERATOR


def _of_heard(timing: Timing, logged: History, prompted: Prompted) -> Timeline:
    """Each row's phase and round: thoughts, which do not move the game on, in the round so far."""
    is_heard = [not thought for thought in map(is_thought, logged.player, logged.visible_to)]
    if all(is_heard):
        return timing(logged, prompted)
    heard = History._make(tuple(compress(column, is_heard)) for column in logged)
    known = zip(*timing(heard, prompted), strict=True)
    found, round_ = Timeline([], []), None
    for is_said in is_heard:
        phase, of_row = next(known) if is_said else (Phase.REFLECTION, round_)
        round_ = of_row or round_
        found.phase.append(phase)
        found.round.append(of_row)
    return found


def course(logged: History, timeline: Timeline, seats: Iterable[str]) -> Course:
    """The rows as a course: each with its seat, phase and round."""
    phases, rounds = timeline
    numbers = {player: number for number, player in enumerate(seats, start=1)}
    spoken: defaultdict[str, list[int]] = defaultdict(list)
    answers: dict[str, dict[str, list[int]]] = {}
    for index, (player, phase) in enumerate(zip(logged.player, phases, strict=True)):
        if player == MODERATOR:
            continue
        if player in numbers:
            spoken[phase].append(index)
        # `setdefault` would make a list and a dictionary for each message.
        if (of_phase := answers.get(phase)) is None:
            of_phase = answers[phase] = {}
        if (said := of_phase.get(player)) is None:
            of_phase[player] = [index]
        else:
            said.append(index)
    return Course(
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


@lru_cache(MOST_RESULTS)
def once(work: Callable[..., T], *known: Hashable) -> T:
    """What a function makes of what many games have alike: worked out once, and never changed."""
    return work(*known)


def clear_cache() -> None:
    """Lets go of what is known, so that it holds no more than one batch of documents does."""
    _course.cache_clear()
    once.cache_clear()
