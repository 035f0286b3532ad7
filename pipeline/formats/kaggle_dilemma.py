"""Episodes of the iterated Prisoner's Dilemma: `ipd`, and OpenSpiel's repeated game `matrix_pd`.

In `ipd` each step after the first is a round, and `reward` is what a player has so far. In
OpenSpiel's, a step is a round if what both submitted was applied.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.formats.broken import decode
from pipeline.formats.building import Spoken
from pipeline.formats.kaggle_steps import (
    EPISODE,
    FAILED,
    PLAYERS,
    Actions,
    Episode,
    actions_of,
    played,
)
from pipeline.formats.look import Look, object_of
from pipeline.game import Decision, Fault, GameRecord, JsonValue
from pipeline.vocabulary import Choice, GameType, Outcome, Phase

PLAIN, OPEN_SPIEL = b'"ipd"', b'"open_spiel_repeated_game"'
# OpenSpiel repeats any game of a matrix. Which one it loaded older versions do not log: then the
# text and the parameters of the configuration both have to say it, since either can be the default.
_STAGE, _NAME = b"stage_game=matrix_pd()", b'"matrix_pd"'
_REPEATED = re.compile(r"num_repetitions=([0-9]{1,6})\b")
_CHOICES = (Choice.COOPERATE, Choice.DEFECT)
_PAYOFFS: dict[str, JsonValue] = {"cooperate": 5.0, "defect": 1.0, "one_defect": 10.0}
_POINTS = ((5.0, 0.0), (10.0, 1.0))  # by a player's own choice, then by the other's


class Step(NamedTuple):
    """What both players did at a step: `choices` is null if that was no round, and one of them is
    null if it could not be read. `points` are those of the round.
    """

    round: int
    actions: Actions
    choices: Sequence[int | None] | None
    points: Sequence[float | None]


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


def game_of(look: Look) -> GameRecord:
    """The game. Choices are made without a word: what a player wrote nobody was shown."""
    episode = decode(EPISODE, look.data)
    faults: list[Fault] = []
    steps = list(_steps(episode, faults))
    return played(
        episode,
        [step.actions for step in steps],
        faults,
        spoken=[
            Spoken(player, action.thoughts, Phase.REFLECTION, step.round, ())
            for step in steps
            for player, action in zip(PLAYERS, step.actions, strict=True)
            if action.thoughts
        ],
        outcome=Outcome.COMPLETED,
        game_type=GameType.PRISONERS_DILEMMA,
        setting=_setting(episode),
        n_rounds=sum(step.choices is not None for step in steps),
        decisions=[
            Decision(seat, step.round, None, _CHOICES[choice], points)
            for step in steps
            for seat, (choice, points) in enumerate(
                zip(step.choices or (), step.points, strict=True), start=1
            )
            if choice is not None
        ],
    )


def _is_plain(episode: Episode) -> bool:
    return episode.name == "ipd"


def _setting(episode: Episode) -> dict[str, JsonValue]:
    if _is_plain(episode):
        return {"rounds": episode.configuration.steps}
    loaded = _REPEATED.search(episode.loaded)
    return {"payoffs": _PAYOFFS, "rounds": int(loaded[1]) if loaded else None}


def _steps(episode: Episode, faults: list[Fault]) -> Iterator[Step]:
    """The steps after the first, in order."""
    is_plain, round_ = _is_plain(episode), 1
    for number, states in enumerate(episode.steps[1:], start=1):
        at = f"$.steps[{number}]"
        actions = actions_of(states, at, faults)
        registered = [
            action.submission if is_plain else state.info.action
            for action, state in zip(actions, states, strict=True)
        ]
        failed = any(state.status in FAILED for state in states)
        # Whoever forfeits submits a number that is no choice; what was applied before can be left.
        numbers = [one.submission for one in actions if isinstance(one.submission, int | float)]
        forfeited = registered == [None, None] or not {0, 1}.issuperset(numbers)
        if failed or (forfeited and not is_plain):
            yield Step(round_, actions, None, ())
            continue
        choices = [_choice(value, f"{at}[{n}]", faults) for n, value in enumerate(registered)]
        points: Sequence[float | None]
        if is_plain:  # a reward is what a player has in all
            points = [
                None if now.reward is None or before.reward is None else now.reward - before.reward
                for now, before in zip(states, episode.steps[number - 1], strict=True)
            ]
        else:
            points = [
                None if own is None or other is None else _POINTS[own][other]
                for own, other in zip(choices, choices[::-1], strict=True)
            ]
        yield Step(round_, actions, choices, points)
        round_ += 1


def _choice(value: Any, at: str, faults: list[Fault]) -> int | None:
    """The choice that was registered; null, and a fault, for what is none."""
    if type(value) is int and value in (0, 1):
        return value
    rule = "a choice is 0, to cooperate, or 1, to defect"
    faults.append(Fault(at, rule, repr(value)[:50]))
    return None
