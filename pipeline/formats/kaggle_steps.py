"""What episodes of two players have in common: what both do at each step, and how it all ends.

`steps` has the states of both players, the first of them before play. A reward is the points that a
player has; in OpenSpiel's games it comes at the end, and is 1 and -1 if a player forfeits.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from pipeline.formats.broken import broken, mistyped
from pipeline.formats.building import Spoken, messages, most_points, results, total, usage
from pipeline.game import Fault, GameRecord, Seat, Usage
from pipeline.vocabulary import PLAYER, Outcome

SYSTEM = "kaggle"
PLAYERS = ("Player 1", "Player 2")
# The first that a player has: where one fails, the other can be left with an error.
FAILED = {"TIMEOUT": "timeout", "INVALID": "invalid action", "ERROR": "error"}
_OVER = {"DONE", *FAILED}
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
    """What OpenSpiel took from a player at a step, and its words for that."""

    action: Any = field(name="actionApplied", default=None)
    text: Any = field(name="actionSubmittedToString", default=None)


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
    def loaded(self) -> str:
        """The game as OpenSpiel loaded it, with its parameters; empty if the log lacks it."""
        return (self.info and self.info.loaded) or ""


EPISODE = msgspec.json.Decoder(Episode)

Scores = Sequence[float | None]
Actions = Sequence[Action]
"""What both players answered at a step."""


def actions_of(states: Sequence[State], at: str, faults: list[Fault]) -> Actions:
    """What both answered at a step; what cannot be read of it is a fault."""
    return [_action(state.action, f"{at}[{n}].action", faults) for n, state in enumerate(states)]


def _action(action: Any, at: str, faults: list[Fault]) -> Action:
    """What a player answered: an object, or the action by itself."""
    if not isinstance(action, dict):
        return Action(action)
    try:
        return msgspec.convert(action, Action)
    except msgspec.ValidationError as error:
        faults.append(mistyped(error, at))
        return Action(action.get("submission"))


def played(
    episode: Episode,
    actions: Sequence[Actions],
    faults: list[Fault],
    *,
    before: Sequence[Actions] = (),
    spoken: Iterable[Spoken],
    outcome: Outcome,
    **own: Any,
) -> GameRecord:
    """The game; unfinished where a player failed and nobody was credited for it.

    `actions` are those of the steps after the first, and `before` that of the first if it counts;
    `outcome` is how the game ended if it did, `own` what else it has.
    """
    steps = [*before, *actions]
    is_finished, scores, wins, ended_by, failures = _end(episode, steps[-1] if steps else ())
    seats = list(_seats(episode, steps, scores))
    game = GameRecord(
        system=SYSTEM,
        format=SYSTEM,
        is_finished=is_finished,
        outcome=outcome if is_finished else None,
        ended_by=ended_by,
        seats=seats,
        failures=failures,
        usage=_usage(actions, faults),
        messages=messages(spoken, seats),
        faults=faults,
        **own,
    )
    game.results = results(game, dict(enumerate(wins, start=1)))
    return game


def _end(
    episode: Episode, last: Actions
) -> tuple[bool, Scores, Sequence[bool | None], str | None, dict[int, str]]:
    """Whether it ended, the points, and who won, by seat; why it ended, and who failed and how.

    By both players' states at the last step, and what they answered; null where it is not known.
    """
    states = episode.steps[-1]
    rewards, statuses = [state.reward for state in states], {state.status for state in states}
    failed = next((word for status, word in FAILED.items() if status in statuses), None)
    failures = {
        n: failed
        for n, state in enumerate(states, start=1)
        if failed and FAILED.get(state.status) == failed
    }
    is_over = statuses <= _OVER and rewards != [None, None]
    if is_over and any(
        state.observation and state.observation.is_terminal is False for state in states
    ):
        # Whoever failed has -1 or nothing, the other 1: no numbers of points.
        why = [action.failure for action in last if action.failure]
        wins = [(reward or 0) > 0 for reward in rewards]
        forfeit = ": ".join(["forfeit", *why[:1]])
        losers = (number for number, won in enumerate(wins, start=1) if not won)
        failures = failures or dict.fromkeys(losers, forfeit)
        return True, [None, None], wins, failed or forfeit, failures
    if is_over and None not in rewards:
        return True, rewards, most_points(rewards), failed, failures
    return False, [None, None], [None, None], failed, failures


def _seats(episode: Episode, actions: Sequence[Actions], scores: Scores) -> Iterator[Seat]:
    """The players by team, which is mostly called as its model; else by the only model called."""
    teams = episode.info.teams if episode.info else None
    if teams and len(teams) != len(PLAYERS):
        raise broken("$.info.TeamNames", "each player has a team", f"{len(teams)} names")
    for number, player in enumerate(PLAYERS):
        called = {call.model or "" for step in actions for call in step[number].calls}
        model = teams[number] if teams else min(called) if len(called) == 1 else None
        yield Seat(
            player,
            model or None,
            PLAYER,
            is_tested=True,
            final_score=scores[number],
            is_bot=False if called else None,
        )


def _usage(actions: Sequence[Actions], faults: list[Fault]) -> list[Usage]:
    """What the calls of each player took together, by the actions of the steps after the first."""
    at = "$.steps[{}][{}].action.call_details[{}]"
    return [
        total(
            usage(call, _USED, at.format(number, player, place), faults)
            for number, step in enumerate(actions, start=1)
            for place, call in enumerate(step[player].calls)
        )
        for player in range(len(PLAYERS))
    ]
