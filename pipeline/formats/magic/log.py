"""The keys of MAgIC logs, and what their games share: decoding of parts, points, judgements.

The modules of the single games use it; it depends on `formats.record_builder`.
"""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from pipeline.formats import hidden_roles
from pipeline.formats.hidden_roles import HiddenRoleRules
from pipeline.formats.record_builder import (
    MODERATOR,
    TO_MODERATOR,
    Int64,
    LoggedColumns,
    ModelName,
    PromptedPhases,
    Row,
    Timeline,
    call_cached,
    check_number_of_players,
    check_players,
    check_unique_keys,
    messages_from_rows,
    player_number,
    results_of_tested_seats,
    sort_by_player_number,
    to_history,
)
from pipeline.formats.sniffer import WELL_FORMED, decode, invalid_document_error
from pipeline.game_record import (
    Event,
    GameRecord,
    InvalidDocumentError,
    JsonValue,
    RecordError,
    RoleAnalysis,
    RoleIdentification,
    Seat,
    Vote,
)
from pipeline.vocabulary import MAGIC_SYSTEM, PLAYER, Outcome, Phase

SYSTEM = MAGIC_SYSTEM
FORMAT = "magic"
PLAIN, PGM = "plain", "pgm"
PGM_SUFFIX = "-pgm"

RawPart = Raw | UnsetType
Votes: TypeAlias = dict[str, str | None]
Proposals: TypeAlias = dict[str, dict[str, str | None] | list[None]]
ProposalVotes: TypeAlias = dict[str, str | int]
Identifications: TypeAlias = dict[str, int]
T = TypeVar("T")


class Log(Struct, gc=False):
    """The top level of a MAgIC log with the keys of all games; nested parts stay undecoded."""

    history: list[Row] | UnsetType = UNSET
    chameleon: str | UnsetType = UNSET
    undercover: str | UnsetType = UNSET
    game_setting: RawPart = UNSET
    player_backends: RawPart = UNSET
    test_player_name: str | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    nego_turn: Int64 | UnsetType | None = UNSET
    result: str | UnsetType | None = UNSET
    win_flag: Int64 | UnsetType | None = UNSET
    player_votes: RawPart = UNSET
    player_vote: RawPart = UNSET
    proposal: RawPart = UNSET
    vote: RawPart = UNSET
    scores: list[float] | UnsetType | None = UNSET
    consistency_metric: RawPart = UNSET
    pgm_metric: RawPart = UNSET


class Backend(Struct):
    """The model that plays as a player."""

    model: ModelName


class Analyses(Struct, frozen=True, gc=False):
    """The truth of one round's role analyses by seat: 0 or 1 for each of the two measures."""

    gold: tuple[int, ...]
    inter: tuple[int, ...]


_Speaker: TypeAlias = Literal["Moderator", "Player 1", "Player 2", "Player 3"]
_Shown: TypeAlias = Literal["all", "Moderator", "Player 1", "Player 2", "Player 3"]
_Kind: TypeAlias = Literal[
    "text", "clue", "accuse", "guess", "pgm", "metric_consistency", "metric_pgm"
]


class _BenchmarkRow(Row, gc=False):
    """A row with the benchmark's own names, which come out as the same objects each time."""

    agent_name: _Speaker
    content: str
    turn: Int64 | None = None
    visible_to: _Shown | tuple[_Shown, ...] = "all"
    msg_type: _Kind | None = None


# A log as the benchmark writes it, as nearly all are: without any other key, and decoded in one
# pass. A part has the type that is asked of it in any other log as well.
BenchmarkLog = msgspec.defstruct(
    "UsualLog",
    [
        ("history", list[_BenchmarkRow] | UnsetType, UNSET),
        ("player_votes", Votes | UnsetType, UNSET),
        ("player_vote", Votes | UnsetType, UNSET),
        ("proposal", Proposals | UnsetType, UNSET),
        ("vote", ProposalVotes | UnsetType, UNSET),
        ("consistency_metric", dict[str, Identifications] | UnsetType, UNSET),
        ("pgm_metric", dict[str, Analyses] | UnsetType, UNSET),
    ],
    bases=(Log,),
    forbid_unknown_fields=True,
    gc=False,
)


def none_if_unset(value: T | UnsetType) -> T | None:
    """Return a value of the log; None if the log does not have the key."""
    return None if isinstance(value, UnsetType) else value


def logged_columns(log: Log) -> LoggedColumns:
    """Return the message rows of the log, by column."""
    assert log.history is not UNSET
    return to_history(log.history)


def keys_of_game_setting(log: Log) -> Set[str]:
    """Return the keys of the game's setting; empty if it is missing or not an object."""
    if isinstance(log.game_setting, UnsetType):
        return frozenset()
    try:
        return decode(dict[str, Raw], log.game_setting, "$.game_setting").keys()
    except InvalidDocumentError as error:
        if error.fault.rule == WELL_FORMED:
            raise
        return frozenset()


def decode_required_part(part: Any, kind: type[T], key: str) -> T:
    """Decode a nested part of the log; raise InvalidDocumentError if it is missing or invalid.

    A part that has already been decoded is returned unchanged.
    """
    if isinstance(part, UnsetType):
        raise invalid_document_error("$", f"`{key}` is present", "it is missing")
    if isinstance(part, Raw | bytes):
        return decode(kind, part, f"$.{key}")
    return cast(T, part)


def to_hashable_bytes(part: RawPart) -> bytes | UnsetType:
    """Return an undecoded part as bytes, which are hashable and equal for equal parts."""
    return part if isinstance(part, UnsetType) else bytes(part)


def decode_part_or_add_fault(
    part: Any, kind: type[T], key: str, faults: list[RecordError]
) -> T | None:
    """Decode a nested part of the log; add a fault and return None if it is missing or invalid."""
    try:
        return decode_required_part(part, kind, key)
    except InvalidDocumentError as error:
        fault = error.fault
        path = f"$.{key}" if fault.json_path == "$" else fault.json_path
        faults.append(RecordError(path, fault.rule, fault.message))
        return None


def checked_result(log: Log, allowed: Sequence[str]) -> str | None:
    """Return the result of the log; None if the game was cut off.

    Raises InvalidDocumentError for a result that is not allowed.
    """
    logged_result = none_if_unset(log.result)
    if logged_result is not None and logged_result not in allowed:
        raise invalid_document_error(
            "$.result", f"a result is one of {', '.join(allowed)}", repr(logged_result)
        )
    return logged_result


# What MAgIC's Prisoner's Dilemma and Public Good logs share: seats, decisions by round, scores.

WIN, LOSE = "win", "lose"


class Opponents(Struct, kw_only=True):
    """The players in the settings of games with points."""

    test_player: Backend
    other_player: Backend | UnsetType = field(default=UNSET, name="non-test_player")
    test_player_name: str | UnsetType = UNSET


def _phase_and_round_of_each_row(
    logged: LoggedColumns, _: PromptedPhases, *, decision: Phase
) -> Timeline:
    """Return the phase and round of each row; a message to the moderator alone is a decision.

    The log does not number decisions. A round ends when the moderator speaks, or when a player
    decides a second time, so a missing decision does not shift later rounds.
    """
    timeline = Timeline([], [])
    round_ = 1
    decided: set[str] = set()
    for player, visible_to in zip(logged.player, logged.visible_to, strict=True):
        is_moderator = player == MODERATOR
        is_decision = not is_moderator and visible_to in TO_MODERATOR
        if decided and (is_moderator or (is_decision and player in decided)):
            round_ += 1
            decided.clear()
        if is_decision:
            decided.add(player)
        phase = decision if is_decision else Phase.REFLECTION
        timeline.phase.append(Phase.MODERATION if is_moderator else phase)
        timeline.round.append(None if is_moderator else round_)
    return timeline


# Named, since a course is known by what placed it.
TIMELINES = {
    phase: partial(_phase_and_round_of_each_row, decision=phase)
    for phase in (Phase.DECISION, Phase.CONTRIBUTION)
}


def build_point_game_without_decisions(
    log: Log,
    game_type: str,
    phase: Phase,
    players: Opponents,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int | None,
) -> GameRecord:
    """The game without its decisions. `n_rounds` is None where the setting does not fix it."""
    tested = log.test_player_name
    if tested is UNSET:
        tested = players.test_player_name
    if tested is UNSET:
        raise invalid_document_error(
            "$.test_player_name",
            "the log or its game_setting names the tested player",
            "neither does",
        )
    ended = checked_result(log, (WIN, LOSE))
    logged = logged_columns(log)
    scores = none_if_unset(log.scores) or []
    names = call_cached(
        _player_names_by_seat_without_gaps, len(scores), logged.player, logged.visible_to, tested
    )
    opponent_model = None if players.other_player is UNSET else players.other_player.model
    seats = [
        Seat(
            player=name,
            model=players.test_player.model if name == tested else opponent_model,
            role=PLAYER,
            is_tested=name == tested,
            final_score=scores[number] if number < len(scores) else None,
        )
        for number, name in enumerate(names)
    ]
    numbers = {name: number for number, name in enumerate(names, start=1)}
    spoken = messages_from_rows(logged, names, TIMELINES[phase])
    built = GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if players.test_player.model.endswith(PGM_SUFFIX) else PLAIN,
        setting={**setting, "tested": tested},
        is_repeatable=True,
        is_finished=ended is not None,
        outcome=Outcome.COMPLETED if ended is not None else None,
        n_rounds=spoken.course.highest_round(phase) if n_rounds is None else n_rounds,
        seats=seats,
        messages=spoken,
    )
    built.results = results_of_tested_seats(
        built, {numbers[tested]: None if ended is None else ended == WIN}
    )
    return built


def _player_names_by_seat_without_gaps(
    n_scores: int,
    speakers: tuple[str, ...],
    audiences: tuple[str | tuple[str, ...], ...],
    tested: str,
) -> tuple[str, ...]:
    """Return the players by seat; seats are numbered, so a silent player keeps its seat."""
    audible = zip(speakers, audiences, strict=True)
    spoke = {player for player, visible_to in audible if visible_to in TO_MODERATOR}
    named = spoke - {MODERATOR} | {tested}
    check_players(named, "$")
    numbers = [number for name in named if (number := player_number(name))]
    n_seats = max([n_scores, *numbers])
    if n_seats > n_scores + len(speakers) + 100:
        raise invalid_document_error(
            "$.test_player_name", "players are numbered from 1 without gaps", repr(tested)
        )
    strangers = sorted(name for name in named if player_number(name) is None)
    check_number_of_players(n_seats + len(strangers), "$")
    return (*(f"Player {number}" for number in range(1, n_seats + 1)), *strangers)


# What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions.

_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_TRUTHS = {0: False, 1: True}


def build_hidden_role_game(
    log: Log,
    rules: HiddenRoleRules,
    hidden: str,
    *,
    setting: dict[str, JsonValue],
    votes_key: str,
    winners: tuple[str, str],
) -> GameRecord:
    """The game, without what only one of the two has.

    `votes_key` is the log's word for votes, `winners` its words for the side that won.
    """
    seats, numbers, is_pgm = call_cached(
        _build_seats_from_backends, rules, hidden, to_hashable_bytes(log.player_backends)
    )
    spoken = hidden_roles.messages_with_phases(rules, logged_columns(log), numbers)
    course = spoken.course
    flag = none_if_unset(log.win_flag)
    outcome = rules.outcome_of_flag(flag)
    is_finished = outcome is not None and checked_result(log, winners) is not None
    built = GameRecord(
        game_type=rules.kind.name,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if is_pgm else PLAIN,
        setting={**setting, "hidden": hidden},
        is_repeatable=True,
        is_finished=is_finished,
        outcome=outcome if is_finished else None,
        outcome_code=flag,
        n_rounds=hidden_roles.n_clue_rounds(rules, course),
        seats=list(seats),
        messages=spoken,
    )
    answers = course.message_indices_by_player(Phase.VOTE)
    votes = decode_part_or_add_fault(getattr(log, votes_key), Votes, votes_key, built.faults)
    for player, target in (votes or {}).items():
        if target is None:  # the engine's votes are null until they are cast
            continue
        if (seat := numbers.get(player)) is None:
            built.faults.append(_no_such_player_fault(f"$.{votes_key}", player))
            continue
        index = next(iter(answers.get(player, ())), None)
        built.votes.append(Vote(seat, 1, index, target or None))
    built.votes.sort(key=attrgetter("seat"))  # the order of keys in JSON says nothing
    built.role_identifications = _build_judgements_by_round_and_seat(
        built,
        Phase.IDENTIFICATION,
        "consistency_metric",
        log.consistency_metric,
        event=RoleIdentification,
        read=_parse_identifications,
    )
    built.role_analyses = _build_judgements_by_round_and_seat(
        built,
        Phase.ANALYSIS,
        "pgm_metric",
        log.pgm_metric,
        event=RoleAnalysis,
        read=_parse_analyses,
    )
    return built


def _build_seats_from_backends(
    rules: HiddenRoleRules, hidden: str, logged: bytes | UnsetType
) -> tuple[tuple[Seat, ...], dict[str, int], bool]:
    """Return the seats, the seat numbers by player, and whether there is a PGM player."""
    backends = sort_by_player_number(
        decode_required_part(logged, dict[str, Backend], "player_backends")
    )
    models = {player: backend.model for player, backend in backends.items()}
    check_players(models, "$.player_backends")
    check_unique_keys(logged, "$.player_backends")
    if hidden not in models:
        raise invalid_document_error("$", "the hidden player has a backend", f"{hidden!r} has none")
    tested = {player for player, model in models.items() if not model.endswith("-fix")}
    return (
        tuple(hidden_roles.build_seats(rules, hidden, dict(models), tested)),
        {player: number for number, player in enumerate(models, start=1)},
        any(model.endswith(PGM_SUFFIX) for model in models.values()),
    )


def _build_judgements_by_round_and_seat(
    built: GameRecord,
    phase: Phase,
    key: str,
    judgements: RawPart,
    *,
    event: Callable[..., Event],
    read: Callable[[Any, str, Sequence[str], list[RecordError]], Iterable[tuple[bool | None, ...]]],
) -> list[Any]:
    """What the log says of all answers to a question, by round and seat; adds faults.

    The answers are the messages of a phase, and `judgements` is what the log has at the key. `read`
    gives of one round, of the players in the order of their seats, what the log judges: the fields
    of an event, null where it says nothing. It adds faults.
    """
    rounds = decode_part_or_add_fault(judgements, dict[str, Raw], key, built.faults)
    if rounds is None:
        return []
    players = [seat.player for seat in built.seats]
    answers = built.messages.course.message_indices_by_player(phase)
    message_indices = [answers.get(player, ()) for player in players]
    seats = range(1, len(players) + 1)
    events, faults = [], []
    for name, of_round in rounds.items():
        if not _ROUND_KEY.fullmatch(name):
            rule = "the keys are rounds, counted from 0"
            faults.append(RecordError(f"$.{key}.{name}", rule, repr(name)))
            continue
        number = int(name)
        try:
            judged = read(of_round, f"{key}.{name}", players, faults)
        except InvalidDocumentError as error:
            built.faults.append(error.fault)
            return []
        events += [
            event(seat, number + 1, indices[number] if number < len(indices) else None, *truths)
            for seat, truths, indices in zip(seats, judged, message_indices, strict=True)
            if truths.count(None) < len(truths)
        ]
    events.sort(key=attrgetter("round"))  # the order of keys in JSON says nothing
    built.faults += faults
    _add_faults_for_answers_without_judgement(built, key, message_indices, events)
    return events


def _parse_identifications(
    logged: Any, key: str, players: Sequence[str], faults: list[RecordError]
) -> Iterable[tuple[bool | None]]:
    answers = decode_required_part(logged, Identifications, key)
    truths = [(_TRUTHS.get(answers.get(player, -1)),) for player in players]
    if len(answers) != len(players) or (None,) in truths:
        faults += [
            _not_a_truth_fault(f"$.{key}", truth)
            if player in players
            else _no_such_player_fault(f"$.{key}", player)
            for player, truth in answers.items()
            if player not in players or truth not in _TRUTHS
        ]
    return truths


def _parse_analyses(
    logged: Any, key: str, players: Sequence[str], faults: list[RecordError]
) -> Iterable[tuple[bool | None, bool | None]]:
    analyses, n_seats = decode_required_part(logged, Analyses, key), len(players)
    gold = _parse_one_judgement_per_seat(faults, key, "gold", analyses.gold, n_seats)
    return zip(
        gold,
        _parse_one_judgement_per_seat(faults, key, "inter", analyses.inter, n_seats),
        strict=True,
    )


def _parse_one_judgement_per_seat(
    faults: list[RecordError], key: str, measure: str, logged: Sequence[int], n_seats: int
) -> list[bool | None]:
    """Return each seat's truth, or None; add faults for missing, invalid and surplus values."""
    truths = list(map(_TRUTHS.get, logged[:n_seats]))
    if len(logged) == n_seats and None not in truths:
        return truths
    json_path = f"$.{key}.{measure}"
    if len(logged) > n_seats:
        rule = "there are at most as many answers as seats"
        faults.append(RecordError(json_path, rule, f"{len(logged)} answers"))
    faults += [
        _not_a_truth_fault(f"{json_path}[{number}]", logged[number])
        for number, truth in enumerate(truths)
        if truth is None
    ]
    return truths + [None] * (n_seats - len(truths))


def _add_faults_for_answers_without_judgement(
    built: GameRecord, key: str, answer_indices: Iterable[Sequence[int]], judged: Sequence[Event]
) -> None:
    """Add a fault for each round in which a player answered but the log has no judgement."""
    judged_indices = {event.message_index for event in judged}
    if judged_indices.issuperset(chain.from_iterable(answer_indices)):
        return
    silent: dict[int, list[tuple[int, str]]] = {}
    for seat, answers in zip(built.seats, answer_indices, strict=True):
        for number, index in enumerate(answers):
            if index not in judged_indices:
                silent.setdefault(number, []).append((index, seat.player))
    for number, missing in sorted(silent.items(), key=lambda of_round: min(of_round[1])):
        names = ", ".join(player for _, player in sorted(missing))
        rule = "every answer in the history is judged"
        built.faults.append(RecordError(f"$.{key}.{number}", rule, f"none of {names}"))


def _no_such_player_fault(json_path: str, player: str) -> RecordError:
    return RecordError(json_path, "every player named has a seat", repr(player))


def _not_a_truth_fault(json_path: str, value: int) -> RecordError:
    return RecordError(json_path, "the answer of a seat is 0 or 1", repr(value))
