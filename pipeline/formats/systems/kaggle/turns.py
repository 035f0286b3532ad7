"""Episodes of two players: the iterated Prisoner's Dilemma, and OpenSpiel's games in turn.

`steps` has the states of both players, the first of them before play. A reward is the points that a
player has; in OpenSpiel's games it comes at the end, and is 1 and -1 if a player forfeits.
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
    parse_usage,
    results_of_tested_seats,
    sum_usages,
)
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error, parse_object
from pipeline.game_record import Decision, GameRecord, JsonValue, RecordError, Seat, type_error
from pipeline.vocabulary import PLAYER, Choice, GameType, Outcome, Phase

SYSTEM = "kaggle"
PLAYERS = ("Player 1", "Player 2")
# The first that a player has: where one fails, the other can be left with an error.
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
    loaded: str | None = field(name="openSpielGameStringResolved", default=None)


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
    def loaded(self) -> str:
        """The game with parameters, as loaded by OpenSpiel; empty if the log lacks it."""
        return (self.info and self.info.loaded) or ""


Scores = Sequence[float | None]
Actions = Sequence[Action]
"""What both players answered at a step."""


def parse_actions(states: Sequence[State], at: str, faults: list[RecordError]) -> Actions:
    """Return both players' actions at a step, and an error for each unreadable one."""
    return [
        _parse_action(state.action, f"{at}[{n}].action", faults) for n, state in enumerate(states)
    ]


def _parse_action(action: Any, at: str, faults: list[RecordError]) -> Action:
    """Parse a player's action, which is an object or a plain value."""
    if not isinstance(action, dict):
        return Action(action)
    try:
        return msgspec.convert(action, Action)
    except msgspec.ValidationError as error:
        faults.append(type_error(error, at))
        return Action(action.get("submission"))


def build_game(
    episode: StepsEpisode,
    actions: Sequence[Actions],
    faults: list[RecordError],
    *,
    before: Sequence[Actions] = (),
    spoken: Iterable[LoggedMessage],
    outcome: Outcome,
    **own: Any,
) -> GameRecord:
    """Return the game; it is unfinished if a player failed and nobody won.

    `actions` are those of the steps after the first, and `before` that of the first if it counts;
    `outcome` is how the game ended if it did, `own` what else it has.
    """
    steps = [*before, *actions]
    is_finished, scores, wins, ended_by, failures = _read_end(episode, steps[-1] if steps else ())
    seats = list(_read_seats(episode, steps, scores))
    at = "$.steps[{}][{}].action.call_details[{}]"
    game = GameRecord(
        system=SYSTEM,
        format=SYSTEM,
        is_finished=is_finished,
        outcome=outcome if is_finished else None,
        ended_by=ended_by,
        seats=seats,
        failures=failures,
        usage=[
            sum_usages(
                parse_usage(call, _USED, at.format(number, player, place), faults)
                for number, step in enumerate(actions, start=1)
                for place, call in enumerate(step[player].calls)
            )
            for player in range(len(PLAYERS))
        ],
        messages=build_messages(spoken, seats),
        faults=faults,
        **own,
    )
    game.results = results_of_tested_seats(game, dict(enumerate(wins, start=1)))
    return game


def _read_end(
    episode: StepsEpisode, last: Actions
) -> tuple[bool, Scores, Sequence[bool | None], str | None, dict[int, str]]:
    """Return how the game ended: points and winners by seat, the reason, and who failed and how.

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
    is_over = statuses <= {"DONE", *FAILED} and rewards != [None, None]
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
        return True, rewards, has_highest_score(rewards), failed, failures
    return False, [None, None], [None, None], failed, failures


def _read_seats(
    episode: StepsEpisode, actions: Sequence[Actions], scores: Scores
) -> Iterator[Seat]:
    """Return the players by team; a team usually has the name of its model."""
    teams = episode.info.teams if episode.info else None
    if teams and len(teams) != len(PLAYERS):
        raise invalid_document_error(
            "$.info.TeamNames", "each player has a team", f"{len(teams)} names"
        )
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


# Episodes of the iterated Prisoner's Dilemma: `ipd`, and OpenSpiel's repeated game `matrix_pd`.
#
# In `ipd` each step after the first is a round, and `reward` is what a player has so far. In
# OpenSpiel's, a step is a round if what both submitted was applied.

PLAIN, OPEN_SPIEL = b'"ipd"', b'"open_spiel_repeated_game"'
# OpenSpiel repeats any game of a matrix. Which one it loaded older versions do not log: then the
# text and the parameters of the configuration both have to say it, since either can be the default.
_STAGE, _NAME = b"stage_game=matrix_pd()", b'"matrix_pd"'
_REPEATED = re.compile(r"num_repetitions=([0-9]{1,6})\b")
_CHOICES = (Choice.COOPERATE, Choice.DEFECT)
_POINTS = ((5.0, 0.0), (10.0, 1.0))  # by a player's own choice, then by the other's


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


def is_dilemma(sniffer: DocumentSniffer) -> bool:
    """Return whether an episode is a Prisoner's Dilemma, also as a repeated game."""
    name = sniffer.top.get("name", b"")
    if bytes(name) != OPEN_SPIEL:
        return bytes(name) == PLAIN
    info, configuration = (
        parse_object(bytes(sniffer.top.get(k, b""))) for k in ("info", "configuration")
    )
    if loaded := info.get("openSpielGameStringResolved"):
        return _STAGE in bytes(loaded)
    parameters = parse_object(bytes(configuration.get("openSpielGameParameters", b"")))
    text = bytes(configuration.get("openSpielGameString", b""))
    return _STAGE in text and _NAME in bytes(parameters.get("stage_game", _NAME))


def read_dilemma(sniffer: DocumentSniffer) -> GameRecord:
    """Read a Prisoner's Dilemma; choices are made without messages."""
    episode = decode(StepsEpisode, sniffer.data)
    faults: list[RecordError] = []
    steps = list(_read_steps(episode, faults))
    setting: dict[str, JsonValue] = {"rounds": episode.configuration.steps}
    if episode.name != "ipd":
        loaded = _REPEATED.search(episode.loaded)
        payoffs: dict[str, JsonValue] = {"cooperate": 5.0, "defect": 1.0, "one_defect": 10.0}
        setting = {"payoffs": payoffs, "rounds": int(loaded[1]) if loaded else None}
    return build_game(
        episode,
        [step.actions for step in steps],
        faults,
        spoken=[
            LoggedMessage(player, action.thoughts, Phase.REFLECTION, step.round, ())
            for step in steps
            for player, action in zip(PLAYERS, step.actions, strict=True)
            if action.thoughts
        ],
        outcome=Outcome.COMPLETED,
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


def _read_steps(episode: StepsEpisode, faults: list[RecordError]) -> Iterator[Step]:
    """Return the steps after the first, in order."""
    is_plain, round_ = episode.name == "ipd", 1
    for number, states in enumerate(episode.steps[1:], start=1):
        at = f"$.steps[{number}]"
        actions = parse_actions(states, at, faults)
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
        choices = [_parse_choice(value, f"{at}[{n}]", faults) for n, value in enumerate(registered)]
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


def _parse_choice(value: Any, at: str, faults: list[RecordError]) -> int | None:
    """Return the registered choice; None, and an error, for an invalid one."""
    if type(value) is int and value in (0, 1):
        return value
    rule = "a choice is 0, to cooperate, or 1, to defect"
    faults.append(RecordError(at, rule, repr(value)[:50]))
    return None


# Episodes of OpenSpiel's games of two players in turn: negotiation, bargaining, the coin game.
#
# An action is a message in OpenSpiel's own words, at the step at which it was applied. A round has
# one turn of each player; who proposes in a negotiation says something in the same turn.

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


def read_turns(sniffer: DocumentSniffer) -> GameRecord:
    """Read a game from the actions of both players at each step."""
    episode = decode(StepsEpisode, sniffer.data)
    faults: list[RecordError] = []
    steps = [
        parse_actions(states, f"$.steps[{number}]", faults)
        for number, states in enumerate(episode.steps)
    ]
    spoken = list(_read_messages(episode, steps, faults))
    acts = [one for one in spoken if one.phase != Phase.REFLECTION]
    is_agreed = any(one.phase == Phase.PROPOSAL_VOTE for one in acts)
    negotiated = Outcome.AGREED if is_agreed else Outcome.NOT_AGREED
    game_type = GAMES[f'"{episode.name}"']
    # The parameters of the game as it was loaded, by their names there.
    parameters = _PARAMETER.findall(episode.loaded)
    game = build_game(
        episode,
        steps[1:],
        faults,
        before=steps[:1],
        spoken=spoken,
        outcome=Outcome.COMPLETED if game_type == "coin_game" else negotiated,
        game_type=game_type,
        setting={name: msgspec.json.decode(value.lower()) for name, value in parameters},
        n_rounds=max((one.round or 0 for one in acts), default=0),
    )
    if all(one.is_win for one in game.results):  # a draw: half of it each
        game.results = [replace(one, is_win=False, win_credit=0.5) for one in game.results]
    return game


def _read_messages(
    episode: StepsEpisode, steps: Sequence[Actions], faults: list[RecordError]
) -> Iterator[LoggedMessage]:
    """Return each player's private thoughts, and then its action, which both players see."""
    round_, before = 1, 0
    for number, (states, actions) in enumerate(zip(episode.steps, steps, strict=True)):
        failed = any(state.status in FAILED for state in states)
        for seat, (state, action) in enumerate(zip(states, actions, strict=True)):
            # A state keeps what was applied before where the player waits or forfeits, and submits
            # -1, or another number than was applied.
            submission, applied = action.submission, state.info.action
            are_numbers = isinstance(submission, int | float) and isinstance(applied, int | float)
            is_applied = not (failed or applied is None or (are_numbers and submission != applied))
            round_ += is_applied and seat < before
            before = seat if is_applied else before
            if action.thoughts:
                yield LoggedMessage(PLAYERS[seat], action.thoughts, Phase.REFLECTION, round_, ())
            if is_applied and isinstance(text := state.info.text, str):
                phases = (phase for start, phase in _PHASES.items() if text.startswith(start))
                yield LoggedMessage(PLAYERS[seat], text, next(phases, Phase.DECISION), round_)
            elif is_applied:
                at = f"$.steps[{number}][{seat}].info.actionSubmittedToString"
                faults.append(
                    RecordError(
                        at, "an action that was applied has a text", repr(state.info.text)[:50]
                    )
                )
