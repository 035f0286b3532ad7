"""Episodes of the iterated Prisoner's Dilemma: `ipd`, and OpenSpiel's repeated game `matrix_pd`.

What was played is in `steps`: the states of both players, the first of them before play. In `ipd`
each later step is a round, and `reward` is what a player has so far. In OpenSpiel's, a step is a
round if what both submitted was applied; `reward` comes at the end: the points of all rounds, or 1
and -1 if a player forfeits.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from pipeline.formats.broken import broken, decode, mistyped
from pipeline.formats.building import Spoken, messages, most_points, results
from pipeline.formats.look import Look, object_of
from pipeline.formats.usage import total, usage
from pipeline.game import Decision, Fault, GameRecord, JsonValue, Seat, Usage
from pipeline.vocabulary import Choice, GameType, Outcome, Phase, Role

PLAIN, OPEN_SPIEL = b'"ipd"', b'"open_spiel_repeated_game"'
PLAYERS = ("Player 1", "Player 2")
# OpenSpiel repeats any game of a matrix. Which one it loaded older versions do not log: then the
# text and the parameters of the configuration both have to say it, since either can be the default.
_STAGE, _NAME = b"stage_game=matrix_pd()", b'"matrix_pd"'
_REPEATED = re.compile(r"num_repetitions=([0-9]{1,6})\b")
_CHOICES = (Choice.COOPERATE, Choice.DEFECT)
_PAYOFFS: dict[str, JsonValue] = {"cooperate": 5.0, "defect": 1.0, "one_defect": 10.0}
_POINTS = ((5.0, 0.0), (10.0, 1.0))  # by a player's own choice, then by the other's
# The first that a player has: where one fails, the other can be left with an error.
_FAILED = {"TIMEOUT": "timeout", "INVALID": "invalid action", "ERROR": "error"}
_OVER = {"DONE", *_FAILED}
_USED = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "generation_tokens",
    "seconds": "duration_secs",
}


class Call(Struct, gc=False):
    model: str | None = None
    prompt_tokens: Any = None
    generation_tokens: Any = None
    duration_secs: Any = None


class Action(Struct, gc=False):
    submission: Any = None
    thoughts: str | None = None
    calls: list[Call] = field(name="call_details", default=[])
    failure: str | None = field(name="failureCategory", default=None)


class Observation(Struct, gc=False):
    is_terminal: bool | None = field(name="isTerminal", default=None)


class Applied(Struct, frozen=True, gc=False):
    action: Any = field(name="actionApplied", default=None)


class State(Struct, gc=False):
    """A player at one step."""

    status: str
    action: Any = None
    reward: float | None = None
    info: Applied = Applied()
    observation: Observation | None = None


class Info(Struct, gc=False):
    teams: list[str | None] | None = field(name="TeamNames", default=None)
    loaded: str | None = field(name="openSpielGameStringResolved", default=None)


class Configuration(Struct, frozen=True, gc=False):
    steps: int | None = field(name="episodeSteps", default=None)


class Episode(Struct, gc=False):
    name: str
    steps: Annotated[list[tuple[State, State]], Meta(min_length=1)]
    configuration: Configuration = Configuration()
    info: Info | None = None

    @property
    def is_plain(self) -> bool:
        return self.name == "ipd"


_EPISODE = msgspec.json.Decoder(Episode)


class Step(NamedTuple):
    """What both players did at a step: `choices` is null if that was no round, and one of them is
    null if it could not be read. `points` are those of the round.
    """

    round: int
    actions: Sequence[Action]
    choices: Sequence[int | None] | None
    points: Sequence[float | None]


class End(NamedTuple):
    """How a game ended: points, and who won, by seat; null where that is not known.

    `failed` are the seats of those whose failure ended it.
    """

    is_finished: bool
    scores: Sequence[float | None]
    wins: Sequence[bool | None]
    ended_by: str | None
    failed: Sequence[int]


def is_dilemma(look: Look) -> bool:
    """Whether an episode is of this game, by its name; of a repeated game, by what is repeated."""
    name = look.top.get("name", b"")
    if bytes(name) != OPEN_SPIEL:
        return bytes(name) == PLAIN
    info, configuration = (
        object_of(bytes(look.top.get(k, b""))) for k in ("info", "configuration")
    )
    if loaded := info.get("openSpielGameStringResolved"):
        return _STAGE in bytes(loaded)
    parameters = object_of(bytes(configuration.get("openSpielGameParameters", b"")))
    text = bytes(configuration.get("openSpielGameString", b""))
    return _STAGE in text and _NAME in bytes(parameters.get("stage_game", _NAME))


def game_of(look: Look, system: str, version: str) -> GameRecord:
    """The game; unfinished where a player failed and nobody was credited for it."""
    episode = decode(_EPISODE, look.data)
    faults: list[Fault] = []
    steps = list(_steps(episode, faults))
    end = _end(episode.steps[-1], steps)
    seats = list(_seats(episode, steps, end.scores))
    game = GameRecord(
        game_type=GameType.PRISONERS_DILEMMA,
        system=system,
        format=system,
        format_version=version,
        setting=_setting(episode),
        is_finished=end.is_finished,
        outcome=Outcome.COMPLETED if end.is_finished else None,
        ended_by=end.ended_by,
        n_rounds=sum(step.choices is not None for step in steps),
        seats=seats,
        failures=dict.fromkeys(end.failed, end.ended_by or ""),
        usage=_usage(steps, faults),
        messages=messages(_thoughts(steps), seats),
        decisions=list(_decisions(steps)),
        faults=faults,
    )
    game.results = results(game, dict(enumerate(end.wins, start=1)))
    return game


def _end(last: Sequence[State], steps: Sequence[Step]) -> End:
    """How the game ended, by the states of both players at the last step."""
    rewards, statuses = [state.reward for state in last], {state.status for state in last}
    failed = next((word for status, word in _FAILED.items() if status in statuses), None)
    seats = [n for n, state in enumerate(last, 1) if failed and _FAILED.get(state.status) == failed]
    is_over = statuses <= _OVER and rewards != [None, None]
    if is_over and any(
        state.observation and state.observation.is_terminal is False for state in last
    ):
        # Whoever failed has -1 or nothing, the other 1: no numbers of points.
        why = [action.failure for action in steps[-1].actions if action.failure] if steps else []
        wins = [(reward or 0) > 0 for reward in rewards]
        seats = seats or [number for number, won in enumerate(wins, start=1) if not won]
        return End(True, [None, None], wins, failed or ": ".join(["forfeit", *why[:1]]), seats)
    if is_over and None not in rewards:
        return End(True, rewards, most_points(rewards), failed, seats)
    return End(False, [None, None], [None, None], failed, seats)


def _setting(episode: Episode) -> dict[str, JsonValue]:
    if episode.is_plain:
        return {"rounds": episode.configuration.steps}
    loaded = _REPEATED.search((episode.info and episode.info.loaded) or "")
    return {"payoffs": _PAYOFFS, "rounds": int(loaded[1]) if loaded else None}


def _steps(episode: Episode, faults: list[Fault]) -> Iterator[Step]:
    """The steps after the first, in order."""
    is_plain, round_ = episode.is_plain, 1
    for number, states in enumerate(episode.steps[1:], start=1):
        at = f"$.steps[{number}]"
        actions = [_action(s.action, f"{at}[{n}].action", faults) for n, s in enumerate(states)]
        registered = [
            action.submission if is_plain else state.info.action
            for action, state in zip(actions, states, strict=True)
        ]
        failed = any(state.status in _FAILED for state in states)
        if failed or (not is_plain and registered == [None, None]):
            yield Step(round_, actions, None, ())
            continue
        choices = [_choice(value, f"{at}[{n}]", faults) for n, value in enumerate(registered)]
        points = (
            [
                _gained(now, before)
                for now, before in zip(states, episode.steps[number - 1], strict=True)
            ]
            if is_plain
            else [_points(own, other) for own, other in zip(choices, choices[::-1], strict=True)]
        )
        yield Step(round_, actions, choices, points)
        round_ += 1


def _action(action: Any, at: str, faults: list[Fault]) -> Action:
    """What a player answered: an object, or the action by itself."""
    if not isinstance(action, dict):
        return Action(action)
    try:
        return msgspec.convert(action, Action)
    except msgspec.ValidationError as error:
        faults.append(mistyped(error, at))
        return Action(action.get("submission"))


def _choice(value: Any, at: str, faults: list[Fault]) -> int | None:
    """The choice that was registered; null, and a fault, for what is none."""
    if type(value) is int and value in (0, 1):
        return value
    rule = "a choice is 0, to cooperate, or 1, to defect"
    faults.append(Fault(at, rule, repr(value)[:50]))
    return None


def _points(own: int | None, other: int | None) -> float | None:
    return None if own is None or other is None else _POINTS[own][other]


def _gained(now: State, before: State) -> float | None:
    """What a player got at a step, by what it had in all."""
    return None if now.reward is None or before.reward is None else now.reward - before.reward


def _seats(episode: Episode, steps: list[Step], scores: Sequence[float | None]) -> Iterator[Seat]:
    """The players by team, which is mostly called as its model; else by the only model called."""
    teams = episode.info.teams if episode.info else None
    if teams and len(teams) != len(PLAYERS):
        raise broken("$.info.TeamNames", "each player has a team", f"{len(teams)} names")
    for number, player in enumerate(PLAYERS):
        called = {call.model or "" for step in steps for call in step.actions[number].calls}
        model = teams[number] if teams else min(called) if len(called) == 1 else None
        yield Seat(
            player,
            model or None,
            Role.PLAYER,
            is_tested=True,
            final_score=scores[number],
            is_bot=False if called else None,
        )


def _usage(steps: list[Step], faults: list[Fault]) -> list[Usage]:
    """What the calls of each player took together."""
    at = "$.steps[{}][{}].action.call_details[{}]"
    return [
        total(
            usage(call, _USED, at.format(number, player, place), faults)
            for number, step in enumerate(steps, start=1)
            for place, call in enumerate(step.actions[player].calls)
        )
        for player in range(len(PLAYERS))
    ]


def _thoughts(steps: list[Step]) -> Iterator[Spoken]:
    for step in steps:
        for player, action in zip(PLAYERS, step.actions, strict=True):
            if action.thoughts:
                yield Spoken(player, action.thoughts, Phase.REFLECTION, step.round, ())


def _decisions(steps: list[Step]) -> Iterator[Decision]:
    """The choices, made without a word: what a player wrote nobody was shown."""
    for step in steps:
        for seat, choice in enumerate(step.choices or (), start=1):
            if choice is not None:
                points = step.points[seat - 1]
                yield Decision(seat, step.round, None, _CHOICES[choice], points)
