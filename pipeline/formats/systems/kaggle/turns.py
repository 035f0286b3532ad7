"""Episodes of two players: the iterated Prisoner's Dilemma, and OpenSpiel's games in turn.

`steps` has the states of both players; the first step is before play. A reward is the points of a
player so far. In OpenSpiel's games it comes at the end, and is 1 and -1 if a player forfeits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from pipeline.formats.record_builder import (
    LoggedMessage,
    build_messages,
    has_highest_score,
    parse_usage_or_add_faults,
    results_of_tested_seats,
    sum_usages,
)
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error, parse_object
from pipeline.game_record import Decision, GameRecord, JsonValue, RecordError, Seat, to_record_error
from pipeline.vocabulary import PLAYER, Choice, GameType, Outcome, Phase

SYSTEM = "kaggle"
PLAYERS = ("Player 1", "Player 2")
# By status. The first of these counts, because a failed player can cause an error of the opponent.
FAILED = {"TIMEOUT": "timeout", "INVALID": "invalid action", "ERROR": "error"}
_USED = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "generation_tokens",
    "seconds": "duration_secs",
}


class Call(Struct, gc=False):
    """A call of a model."""

    model: str | None = None
    prompt_tokens: Any = None
    generation_tokens: Any = None
    duration_secs: Any = None


class Action(Struct, gc=False):
    """An action of a player, with its thoughts."""

    submission: Any = None
    thoughts: str | None = None
    calls: list[Call] = field(name="call_details", default=[])
    failure: str | None = field(name="failureCategory", default=None)


class Observation(Struct, gc=False):
    """A player's observation at a step; only whether the game is over is read."""

    is_terminal: bool | None = field(name="isTerminal", default=None)


class Applied(Struct, frozen=True, gc=False):
    """The action that OpenSpiel applied for a player at a step, with its description."""

    action: Any = field(name="actionApplied", default=None)
    text: Any = field(name="actionSubmittedToString", default=None)


class State(Struct, gc=False):
    """A player's state at one step."""

    status: str
    action: Any = None
    reward: float | None = None
    info: Applied = Applied()
    observation: Observation | None = None


class StepsInfo(Struct, gc=False):
    """The teams and the loaded game of an episode that is logged by steps."""

    teams: list[str | None] | None = field(name="TeamNames", default=None)
    loaded_game_string: str | None = field(name="openSpielGameStringResolved", default=None)


class Configuration(Struct, frozen=True, gc=False):
    """The number of steps in an episode's configuration."""

    steps: int | None = field(name="episodeSteps", default=None)


class StepsEpisode(Struct, gc=False):
    """The document of an episode that is logged by steps."""

    name: str
    steps: Annotated[list[tuple[State, State]], Meta(min_length=1)]
    configuration: Configuration = Configuration()
    info: StepsInfo | None = None

    @property
    def loaded_game_string(self) -> str:
        """The name and parameters of the game that OpenSpiel loaded; empty if not logged."""
        return (self.info and self.info.loaded_game_string) or ""


Scores = Sequence[float | None]
Actions = Sequence[Action]
"""The actions of both players at a step."""


class GameEnd(NamedTuple):
    """How a game ended.

    Attributes:
        is_finished: Whether the game has a result.
        scores: The points of each player; None if they are unknown.
        are_winners: Whether each player won; None if it is unknown.
        ended_by: Why the game ended early, if it did.
        failures: What went wrong, by the seat number of the player that failed.
    """

    is_finished: bool
    scores: Scores
    are_winners: Sequence[bool | None]
    ended_by: str | None
    failures: dict[int, str]


def parse_actions_of_step(
    states: Sequence[State], json_path: str, faults: list[RecordError]
) -> Actions:
    """Return the action of each player at a step; report unreadable ones in `faults`."""
    return [
        _parse_action(state.action, f"{json_path}[{index}].action", faults)
        for index, state in enumerate(states)
    ]


def _parse_action(action: Any, json_path: str, faults: list[RecordError]) -> Action:
    """Convert a player's action, which is an object or only the submission, into an Action."""
    if not isinstance(action, dict):
        return Action(action)
    try:
        return msgspec.convert(action, Action)
    except msgspec.ValidationError as error:
        faults.append(to_record_error(error, json_path))
        return Action(action.get("submission"))


def build_game(
    episode: StepsEpisode,
    actions: Sequence[Actions],
    faults: list[RecordError],
    *,
    first_step: Sequence[Actions] = (),
    logged_messages: Iterable[LoggedMessage],
    outcome_if_finished: Outcome,
    **other_fields: Any,
) -> GameRecord:
    """Return the game of an episode; it is unfinished if a player failed and nobody won.

    Args:
        episode: The episode.
        actions: The actions of both players at each step after the first.
        faults: The errors in the log so far; the game gets this list.
        first_step: The actions at the first step, or nothing if they do not count.
        logged_messages: The messages.
        outcome_if_finished: The name of how the game ended, if it is finished.
        other_fields: Further fields of the game record.

    Returns:
        The game record.
    """
    steps = [*first_step, *actions]
    end = _game_end(episode, steps[-1] if steps else ())
    seats = list(_iter_seats(episode, steps, end.scores))
    call_path = "$.steps[{}][{}].action.call_details[{}]"
    game = GameRecord(
        system=SYSTEM,
        format=SYSTEM,
        is_finished=end.is_finished,
        outcome=outcome_if_finished if end.is_finished else None,
        ended_by=end.ended_by,
        seats=seats,
        failures=end.failures,
        usage=[
            sum_usages(
                parse_usage_or_add_faults(
                    call, _USED, call_path.format(step_index, player_index, call_index), faults
                )
                for step_index, step in enumerate(actions, start=1)
                for call_index, call in enumerate(step[player_index].calls)
            )
            for player_index in range(len(PLAYERS))
        ],
        messages=build_messages(logged_messages, seats),
        faults=faults,
        **other_fields,
    )
    game.results = results_of_tested_seats(game, dict(enumerate(end.are_winners, start=1)))
    return game


def _game_end(episode: StepsEpisode, last_actions: Actions) -> GameEnd:
    """Return how a game ended, from both players' states at the last step and their answers."""
    states = episode.steps[-1]
    rewards, statuses = [state.reward for state in states], {state.status for state in states}
    failure = next((reason for status, reason in FAILED.items() if status in statuses), None)
    failures = {
        seat_number: failure
        for seat_number, state in enumerate(states, start=1)
        if failure and FAILED.get(state.status) == failure
    }
    is_over = statuses <= {"DONE", *FAILED} and rewards != [None, None]
    if is_over and any(
        state.observation and state.observation.is_terminal is False for state in states
    ):
        # Rewards are not points here: -1 or None for the player that failed, 1 for the opponent.
        reasons = [action.failure for action in last_actions if action.failure]
        are_winners = [(reward or 0) > 0 for reward in rewards]
        forfeit = ": ".join(["forfeit", *reasons[:1]])
        losers = (seat for seat, is_winner in enumerate(are_winners, start=1) if not is_winner)
        failures = failures or dict.fromkeys(losers, forfeit)
        return GameEnd(True, [None, None], are_winners, failure or forfeit, failures)
    if is_over and None not in rewards:
        return GameEnd(True, rewards, has_highest_score(rewards), failure, failures)
    return GameEnd(False, [None, None], [None, None], failure, failures)


def _iter_seats(episode: StepsEpisode, steps: Sequence[Actions], scores: Scores) -> Iterator[Seat]:
    """Yield the players; a player's model is its team's name, or the only model that it called."""
    teams = episode.info.teams if episode.info else None
    if teams and len(teams) != len(PLAYERS):
        raise invalid_document_error(
            "$.info.TeamNames", "each player has a team", f"{len(teams)} names"
        )
    for index, player in enumerate(PLAYERS):
        called_models = {call.model or "" for step in steps for call in step[index].calls}
        only_model = min(called_models) if len(called_models) == 1 else None
        model = teams[index] if teams else only_model
        yield Seat(
            player,
            model or None,
            PLAYER,
            is_tested=True,
            final_score=scores[index],
            is_bot=False if called_models else None,
        )


# Episodes of the iterated Prisoner's Dilemma: `ipd`, and OpenSpiel's repeated game `matrix_pd`.
#
# In `ipd` each step after the first is a round, and `reward` is the points of a player so far. In
# `matrix_pd`, a step is a round if OpenSpiel applied the actions of both players.

PLAIN, OPEN_SPIEL = b'"ipd"', b'"open_spiel_repeated_game"'
# OpenSpiel repeats any matrix game. Older versions do not log which one: then both the text and the
# parameters of the configuration have to name it, because either of them can be the default.
_STAGE, _NAME = b"stage_game=matrix_pd()", b'"matrix_pd"'
_REPEATED = re.compile(r"num_repetitions=([0-9]{1,6})\b")
_CHOICES = (Choice.COOPERATE, Choice.DEFECT)
_POINTS = ((5.0, 0.0), (10.0, 1.0))  # by the player's choice, then by the opponent's


class Step(NamedTuple):
    """The actions of both players at a step.

    Attributes:
        round: The number of the round.
        actions: The action of each player.
        choices: The registered choices; None if the step was not a round. A choice is None if it
            could not be read.
        points: The points of each player in the round.
    """

    round: int
    actions: Actions
    choices: Sequence[int | None] | None
    points: Sequence[float | None]


def is_prisoners_dilemma(sniffer: DocumentSniffer) -> bool:
    """Return whether an episode is an iterated Prisoner's Dilemma, of `ipd` or of OpenSpiel."""
    name = sniffer.top.get("name", b"")
    if bytes(name) != OPEN_SPIEL:
        return bytes(name) == PLAIN
    info, configuration = (
        parse_object(bytes(sniffer.top.get(key, b""))) for key in ("info", "configuration")
    )
    if loaded_game_string := info.get("openSpielGameStringResolved"):
        return _STAGE in bytes(loaded_game_string)
    parameters = parse_object(bytes(configuration.get("openSpielGameParameters", b"")))
    text = bytes(configuration.get("openSpielGameString", b""))
    return _STAGE in text and _NAME in bytes(parameters.get("stage_game", _NAME))


def read_prisoners_dilemma(sniffer: DocumentSniffer) -> GameRecord:
    """Return the game of an episode of the Prisoner's Dilemma; its choices have no messages."""
    episode = decode(StepsEpisode, sniffer.data)
    faults: list[RecordError] = []
    steps = list(_iter_steps_after_first(episode, faults))
    setting: dict[str, JsonValue] = {"rounds": episode.configuration.steps}
    if episode.name != "ipd":
        repetitions = _REPEATED.search(episode.loaded_game_string)
        payoffs: dict[str, JsonValue] = {"cooperate": 5.0, "defect": 1.0, "one_defect": 10.0}
        setting = {"payoffs": payoffs, "rounds": int(repetitions[1]) if repetitions else None}
    return build_game(
        episode,
        [step.actions for step in steps],
        faults,
        logged_messages=[
            LoggedMessage(player, action.thoughts, Phase.REFLECTION, step.round, ())
            for step in steps
            for player, action in zip(PLAYERS, step.actions, strict=True)
            if action.thoughts
        ],
        outcome_if_finished=Outcome.COMPLETED,
        game_type=GameType.PRISONERS_DILEMMA,
        setting=setting,
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


def _iter_steps_after_first(episode: StepsEpisode, faults: list[RecordError]) -> Iterator[Step]:
    is_plain, round_number = episode.name == "ipd", 1
    for step_index, states in enumerate(episode.steps[1:], start=1):
        step_path = f"$.steps[{step_index}]"
        actions = parse_actions_of_step(states, step_path, faults)
        registered_values = [
            action.submission if is_plain else state.info.action
            for action, state in zip(actions, states, strict=True)
        ]
        has_failed = any(state.status in FAILED for state in states)
        # A player forfeits by a number that is no choice. The state can keep an older applied one.
        numbers = [
            action.submission for action in actions if isinstance(action.submission, int | float)
        ]
        is_forfeit = registered_values == [None, None] or not {0, 1}.issuperset(numbers)
        if has_failed or (is_forfeit and not is_plain):
            yield Step(round_number, actions, None, ())
            continue
        choices = [
            _parse_choice_or_record_error(value, f"{step_path}[{index}]", faults)
            for index, value in enumerate(registered_values)
        ]
        points: Sequence[float | None]
        if is_plain:  # a reward is the sum of the points so far
            points = [
                None
                if state.reward is None or previous.reward is None
                else state.reward - previous.reward
                for state, previous in zip(states, episode.steps[step_index - 1], strict=True)
            ]
        else:
            points = [
                None
                if choice is None or opponent_choice is None
                else _POINTS[choice][opponent_choice]
                for choice, opponent_choice in zip(choices, choices[::-1], strict=True)
            ]
        yield Step(round_number, actions, choices, points)
        round_number += 1


def _parse_choice_or_record_error(
    value: Any, json_path: str, faults: list[RecordError]
) -> int | None:
    """Return a choice, 0 or 1; None, and an error in `faults`, for any other value."""
    if type(value) is int and value in (0, 1):
        return value
    rule = "a choice is 0, to cooperate, or 1, to defect"
    faults.append(RecordError(json_path, rule, repr(value)[:50]))
    return None


# Episodes of OpenSpiel's games of two players in turn: negotiation, bargaining, the coin game.
#
# An action is a message with OpenSpiel's description, at the step at which it was applied. A round
# has one turn of each player. In a negotiation, a proposal and an utterance share a turn.

GAMES = {f'"open_spiel_{name}"': name for name in ("negotiation", "bargaining", "coin_game")}
"""The game types by the names of their episodes, as these are in the JSON."""

# The seed is excluded, because it is no rule of the game.
_PARAMETER = re.compile(
    r"\b(?!rng_seed)([a-z_]+)=(True|False|(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,9})?)(?=[,)])"
)
# The phase of an action, by the beginning of its description; the default is a decision.
_PHASES = {
    "Agree": Phase.PROPOSAL_VOTE,
    "Proposal: Agreement reached!": Phase.PROPOSAL_VOTE,
    "Proposal:": Phase.PROPOSAL,
    "Offer:": Phase.PROPOSAL,
    ", Utterance:": "talk",
}


def read_turn_based_game(sniffer: DocumentSniffer) -> GameRecord:
    """Return the game of an episode in which players take turns, such as a negotiation."""
    episode = decode(StepsEpisode, sniffer.data)
    faults: list[RecordError] = []
    steps = [
        parse_actions_of_step(states, f"$.steps[{step_index}]", faults)
        for step_index, states in enumerate(episode.steps)
    ]
    messages = list(_iter_thoughts_and_applied_actions(episode, steps, faults))
    actions = [message for message in messages if message.phase != Phase.REFLECTION]
    is_agreed = any(action.phase == Phase.PROPOSAL_VOTE for action in actions)
    negotiation_outcome = Outcome.AGREED if is_agreed else Outcome.NOT_AGREED
    game_type = GAMES[f'"{episode.name}"']
    parameters = _PARAMETER.findall(episode.loaded_game_string)
    game = build_game(
        episode,
        steps[1:],
        faults,
        first_step=steps[:1],
        logged_messages=messages,
        outcome_if_finished=Outcome.COMPLETED if game_type == "coin_game" else negotiation_outcome,
        game_type=game_type,
        setting={name: msgspec.json.decode(value.lower()) for name, value in parameters},
        n_rounds=max((action.round or 0 for action in actions), default=0),
    )
    if all(result.is_win for result in game.results):  # a draw
        game.results = [replace(result, is_win=False, win_credit=0.5) for result in game.results]
    return game


def _iter_thoughts_and_applied_actions(
    episode: StepsEpisode, steps: Sequence[Actions], faults: list[RecordError]
) -> Iterator[LoggedMessage]:
    """Yield each player's private thoughts, and the public description of its applied action."""
    round_number, previous_index = 1, 0
    for step_index, (states, actions) in enumerate(zip(episode.steps, steps, strict=True)):
        has_failed = any(state.status in FAILED for state in states)
        for index, (state, action) in enumerate(zip(states, actions, strict=True)):
            # While a player waits, or when it forfeits, its state keeps an older applied action.
            # It then submits -1, or another number than the applied one.
            submission, applied = action.submission, state.info.action
            are_numbers = isinstance(submission, int | float) and isinstance(applied, int | float)
            is_older = are_numbers and submission != applied
            is_applied = not (has_failed or applied is None or is_older)
            round_number += is_applied and index < previous_index
            previous_index = index if is_applied else previous_index
            player, text = PLAYERS[index], state.info.text
            if action.thoughts:
                yield LoggedMessage(player, action.thoughts, Phase.REFLECTION, round_number, ())
            if is_applied and isinstance(text, str):
                phases = (
                    phase for beginning, phase in _PHASES.items() if text.startswith(beginning)
                )
                yield LoggedMessage(player, text, next(phases, Phase.DECISION), round_number)
            elif is_applied:
                faults.append(
                    RecordError(
                        f"$.steps[{step_index}][{index}].info.actionSubmittedToString",
                        "an action that was applied has a text",
                        repr(text)[:50],
                    )
                )
