"""Episodes of OpenSpiel's games of two players in turn: negotiation, bargaining, the coin game.

An action is a message in OpenSpiel's own words, at the step at which it was applied. A round has
one turn of each player; who proposes in a negotiation says something in the same turn.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

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
from pipeline.formats.look import Look
from pipeline.game import Fault, GameRecord, JsonValue, Result
from pipeline.vocabulary import Outcome, Phase

GAMES = {f'"open_spiel_{name}"': name for name in ("negotiation", "bargaining", "coin_game")}
"""The game types by the names of their episodes, as these are in the JSON."""

# A seed is chance, and no rule of the game.
_PARAMETER = re.compile(
    r"\b(?!rng_seed)([a-z_]+)=(True|False|(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,9})?)(?=[,)])"
)
# What an action is in its game, by how its words begin; any other is a move.
_PHASES = {
    "Agree": Phase.PROPOSAL_VOTE,
    "Proposal: Agreement reached!": Phase.PROPOSAL_VOTE,
    "Proposal:": Phase.PROPOSAL,
    "Offer:": Phase.PROPOSAL,
    ", Utterance:": "talk",
}


def game_of(look: Look) -> GameRecord:
    """The game, by what both players did at each step."""
    episode = decode(EPISODE, look.data)
    faults: list[Fault] = []
    steps = [
        actions_of(states, f"$.steps[{number}]", faults)
        for number, states in enumerate(episode.steps)
    ]
    spoken = list(_spoken(episode, steps, faults))
    acts = [one for one in spoken if one.phase != Phase.REFLECTION]
    game_type = GAMES[f'"{episode.name}"']
    game = played(
        episode,
        steps[1:],
        faults,
        before=steps[:1],
        spoken=spoken,
        outcome=_outcome(game_type, acts),
        game_type=game_type,
        setting=_setting(episode),
        n_rounds=max((one.round or 0 for one in acts), default=0),
    )
    game.results = _drawn(game.results)
    return game


def _outcome(game_type: str, acts: Sequence[Spoken]) -> Outcome:
    if game_type == "coin_game":
        return Outcome.COMPLETED
    is_agreed = any(one.phase == Phase.PROPOSAL_VOTE for one in acts)
    return Outcome.AGREED if is_agreed else Outcome.NOT_AGREED


def _setting(episode: Episode) -> dict[str, JsonValue]:
    """The parameters of the game as it was loaded, by their names there."""
    parameters = _PARAMETER.findall(episode.loaded)
    return {name: msgspec.json.decode(value.lower()) for name, value in parameters}


def _spoken(episode: Episode, steps: Sequence[Actions], faults: list[Fault]) -> Iterator[Spoken]:
    """What each player thought, which nobody is shown, and then did, which both are."""
    round_, before = 1, 0
    for number, (states, actions) in enumerate(zip(episode.steps, steps, strict=True)):
        failed = any(state.status in FAILED for state in states)
        for seat, (state, action) in enumerate(zip(states, actions, strict=True)):
            is_applied = not failed and _is_applied(action.submission, state.info.action)
            round_ += is_applied and seat < before
            before = seat if is_applied else before
            if action.thoughts:
                yield Spoken(PLAYERS[seat], action.thoughts, Phase.REFLECTION, round_, ())
            if is_applied and isinstance(state.info.text, str):
                yield Spoken(PLAYERS[seat], state.info.text, _phase(state.info.text), round_)
            elif is_applied:
                at = f"$.steps[{number}][{seat}].info.actionSubmittedToString"
                faults.append(
                    Fault(at, "an action that was applied has a text", repr(state.info.text)[:50])
                )


def _is_applied(submission: Any, applied: Any) -> bool:
    """Whether a player did something at a step: its state can keep what was applied before.

    So it is where the player waits or forfeits, and submits -1, or another number than was applied.
    """
    are_numbers = isinstance(submission, int | float) and isinstance(applied, int | float)
    return applied is not None and not (are_numbers and submission != applied)


def _phase(text: str) -> str:
    return next(
        (phase for start, phase in _PHASES.items() if text.startswith(start)), Phase.DECISION
    )


def _drawn(of_both: list[Result]) -> list[Result]:
    """The results, of which two that share the highest score are a draw: half of it each."""
    if not all(one.is_win for one in of_both):
        return of_both
    return [msgspec.structs.replace(one, is_win=False, win_credit=0.5) for one in of_both]
