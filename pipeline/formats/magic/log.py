"""The keys of MAgIC logs, and the functions with which the modules of the games read them.

Contains the decoding of parts of a log, and the reading of games with points and of games with a
hidden role.
"""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
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
    build_messages_from_columns,
    call_cached,
    check_player_count,
    check_players,
    check_unique_keys,
    number_in_player_name,
    results_of_tested_seats,
    rows_to_columns,
    sort_by_player_number,
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
# Parses a round's judgements from the log, its key, the players by seat and a list for errors. The
# result has the fields of an event for each seat; None if the log does not judge the answer.
_JudgementParser: TypeAlias = Callable[
    [Any, str, Sequence[str], list[RecordError]], Iterable[tuple[bool | None, ...]]
]
T = TypeVar("T")


class Log(Struct, gc=False):
    """The top level of a MAgIC log, with the keys of all games; nested parts stay undecoded."""

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
    """The judgements of one round's role analyses, by seat: 0 or 1 for each of the two measures."""

    gold: tuple[int, ...]
    inter: tuple[int, ...]


_Speaker: TypeAlias = Literal["Moderator", "Player 1", "Player 2", "Player 3"]
_Reader: TypeAlias = Literal["all", "Moderator", "Player 1", "Player 2", "Player 3"]
_MessageType: TypeAlias = Literal[
    "text", "clue", "accuse", "guess", "pgm", "metric_consistency", "metric_pgm"
]


class _BenchmarkRow(Row, gc=False):
    """A row with the benchmark's own names, for which msgspec creates no new strings."""

    agent_name: _Speaker
    content: str
    turn: Int64 | None = None
    visible_to: _Reader | tuple[_Reader, ...] = "all"
    msg_type: _MessageType | None = None


# A log as the benchmark writes it, without any other key. Nearly all logs are such logs, and are
# decoded in one pass. Each part has the same type as in any other log.
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
    """Return None if the log does not have the value (UNSET); else return the value."""
    return None if isinstance(value, UnsetType) else value


def logged_columns(log: Log) -> LoggedColumns:
    """Return the messages of a log that has a history, by column."""
    assert log.history is not UNSET
    return rows_to_columns(log.history)


def setting_keys(log: Log) -> Set[str]:
    """Return the keys of a log's `game_setting`; empty if it is missing or not an object."""
    if isinstance(log.game_setting, UnsetType):
        return frozenset()
    try:
        return decode(dict[str, Raw], log.game_setting, "$.game_setting").keys()
    except InvalidDocumentError as error:
        if error.fault.rule == WELL_FORMED:
            raise
        return frozenset()


def decode_required(part: Any, part_type: type[T], key: str) -> T:
    """Decode the part at a key of the log; raise InvalidDocumentError if it is missing or invalid.

    A part that has already been decoded is returned unchanged.
    """
    if isinstance(part, UnsetType):
        raise invalid_document_error("$", f"`{key}` is present", "it is missing")
    if isinstance(part, Raw | bytes):
        return decode(part_type, part, f"$.{key}")
    return cast(T, part)


def to_hashable_bytes(part: RawPart) -> bytes | UnsetType:
    """Return an undecoded part as bytes, which can be an argument of `call_cached`."""
    return part if isinstance(part, UnsetType) else bytes(part)


def decode_part_or_add_fault(
    part: Any, part_type: type[T], key: str, faults: list[RecordError]
) -> T | None:
    """Decode the part at a key of the log; add a validation error if it is missing or invalid.

    The result is then None.
    """
    try:
        return decode_required(part, part_type, key)
    except InvalidDocumentError as error:
        fault = error.fault
        path = f"$.{key}" if fault.json_path == "$" else fault.json_path
        faults.append(RecordError(path, fault.rule, fault.message))
        return None


def checked_result(log: Log, allowed_results: Sequence[str]) -> str | None:
    """Return the logged result of the game; None if the game is unfinished.

    Raises InvalidDocumentError if the result is not one of the allowed results.
    """
    logged_result = none_if_unset(log.result)
    if logged_result is not None and logged_result not in allowed_results:
        raise invalid_document_error(
            "$.result", f"a result is one of {', '.join(allowed_results)}", repr(logged_result)
        )
    return logged_result


# MAgIC's Prisoner's Dilemma and Public Good logs have the same seats, rounds and scores.

WIN, LOSE = "win", "lose"


class Opponents(Struct, kw_only=True):
    """The tested player and the other players in the `game_setting` of a game with points."""

    test_player: Backend
    other_player: Backend | UnsetType = field(default=UNSET, name="non-test_player")
    test_player_name: str | UnsetType = UNSET


def _phase_and_round_of_each_row(
    logged_columns: LoggedColumns, _: PromptedPhases, *, decision_phase: Phase
) -> Timeline:
    """Return the phase and round of each message; those to the moderator alone are decisions.

    The log does not number rounds. A round ends when the moderator speaks, or when a player decides
    a second time, so a missing decision does not shift later rounds.
    """
    timeline = Timeline([], [])
    round_ = 1
    deciders: set[str] = set()
    for player, visible_to in zip(logged_columns.player, logged_columns.visible_to, strict=True):
        is_moderator = player == MODERATOR
        is_decision = not is_moderator and visible_to in TO_MODERATOR
        if deciders and (is_moderator or (is_decision and player in deciders)):
            round_ += 1
            deciders.clear()
        if is_decision:
            deciders.add(player)
        phase = decision_phase if is_decision else Phase.REFLECTION
        timeline.phase.append(Phase.MODERATION if is_moderator else phase)
        timeline.round.append(None if is_moderator else round_)
    return timeline


# Created once, because the cache of message columns uses the timeline function as a key.
TIMELINE_BUILDERS = {
    phase: partial(_phase_and_round_of_each_row, decision_phase=phase)
    for phase in (Phase.DECISION, Phase.CONTRIBUTION)
}


def build_point_game(
    log: Log,
    game_type: str,
    decision_phase: Phase,
    opponents: Opponents,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int | None,
) -> GameRecord:
    """Build the record of a game with points, without the decisions of the players.

    Args:
        log: The log.
        game_type: The name of the game type.
        decision_phase: The phase of the messages with which players decide.
        opponents: The tested player and the other players.
        setting: The fixed conditions of the game, without its players.
        n_rounds: The number of rounds; None if the setting does not fix it.

    Raises:
        InvalidDocumentError: If the log does not name the tested player, or breaks a rule.
    """
    tested_player = (
        opponents.test_player_name if log.test_player_name is UNSET else log.test_player_name
    )
    if tested_player is UNSET:
        raise invalid_document_error(
            "$.test_player_name",
            "the log or its game_setting names the tested player",
            "neither does",
        )
    result = checked_result(log, (WIN, LOSE))
    columns = logged_columns(log)
    scores = none_if_unset(log.scores) or []
    names = call_cached(
        _player_names_by_seat_without_gaps,
        *(len(scores), columns.player, columns.visible_to, tested_player),
    )
    opponent_model = None if opponents.other_player is UNSET else opponents.other_player.model
    seats = [
        Seat(
            player=name,
            model=opponents.test_player.model if name == tested_player else opponent_model,
            role=PLAYER,
            is_tested=name == tested_player,
            final_score=scores[number] if number < len(scores) else None,
        )
        for number, name in enumerate(names)
    ]
    messages = build_messages_from_columns(columns, names, TIMELINE_BUILDERS[decision_phase])
    game = GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if opponents.test_player.model.endswith(PGM_SUFFIX) else PLAIN,
        setting={**setting, "tested": tested_player},
        is_repeatable=True,
        is_finished=result is not None,
        outcome=Outcome.COMPLETED if result is not None else None,
        n_rounds=messages.course.highest_round(decision_phase) if n_rounds is None else n_rounds,
        seats=seats,
        messages=messages,
    )
    tested_seat = names.index(tested_player) + 1
    game.results = results_of_tested_seats(
        game, {tested_seat: None if result is None else result == WIN}
    )
    return game


def _player_names_by_seat_without_gaps(
    n_scores: int,
    speakers: tuple[str, ...],
    audiences: tuple[str | tuple[str, ...], ...],
    tested_player: str,
) -> tuple[str, ...]:
    """Return the names of all players in the order of their seats, also of silent players.

    `Player N` has seat N. Players with other names have the seats after these.
    """
    speakers_and_audiences = zip(speakers, audiences, strict=True)
    deciders = {player for player, readers in speakers_and_audiences if readers in TO_MODERATOR}
    players = deciders - {MODERATOR} | {tested_player}
    check_players(players, "$")
    numbers = [number for name in players if (number := number_in_player_name(name))]
    n_seats = max([n_scores, *numbers])
    if n_seats > n_scores + len(speakers) + 100:
        raise invalid_document_error(
            "$.test_player_name", "players are numbered from 1 without gaps", repr(tested_player)
        )
    other_names = sorted(name for name in players if number_in_player_name(name) is None)
    check_player_count(n_seats + len(other_names), "$")
    return (*(f"Player {number}" for number in range(1, n_seats + 1)), *other_names)


# MAgIC's Chameleon and Undercover logs have the same backends, votes, and questions to players.

_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_JUDGEMENTS = {0: False, 1: True}


def build_hidden_role_game(
    log: Log,
    rules: HiddenRoleRules,
    hidden_player: str,
    *,
    setting: dict[str, JsonValue],
    votes_key: str,
    allowed_results: tuple[str, str],
) -> GameRecord:
    """Build the record of a Chameleon or Undercover game, without any guess of the secret word.

    Args:
        log: The log.
        rules: The rules of the game.
        hidden_player: The player who has the hidden role.
        setting: The fixed conditions of the game, without the hidden player.
        votes_key: The key of the log that contains the votes.
        allowed_results: The results that the log may have, one for each side that wins.

    Raises:
        InvalidDocumentError: If the log breaks a rule.
    """
    seats = call_cached(
        _build_seats_from_backends, rules, hidden_player, to_hashable_bytes(log.player_backends)
    )
    seat_by_player = {seat.player: number for number, seat in enumerate(seats, start=1)}
    messages = hidden_roles.build_hidden_role_messages(rules, logged_columns(log), seat_by_player)
    win_flag = none_if_unset(log.win_flag)
    outcome = rules.outcome_of_win_flag(win_flag)
    is_finished = outcome is not None and checked_result(log, allowed_results) is not None
    is_pgm = any((seat.model or "").endswith(PGM_SUFFIX) for seat in seats)
    game = GameRecord(
        game_type=rules.definition.name,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if is_pgm else PLAIN,
        setting={**setting, "hidden": hidden_player},
        is_repeatable=True,
        is_finished=is_finished,
        outcome=outcome if is_finished else None,
        outcome_code=win_flag,
        n_rounds=hidden_roles.n_clue_rounds(rules, messages.course),
        seats=list(seats),
        messages=messages,
    )
    vote_messages = messages.course.message_indices_by_player(Phase.VOTE)
    votes = decode_part_or_add_fault(getattr(log, votes_key), Votes, votes_key, game.faults)
    for player, target in (votes or {}).items():
        if target is None:  # the engine's votes are null until they are cast
            continue
        if (seat := seat_by_player.get(player)) is None:
            game.faults.append(_no_such_player_fault(f"$.{votes_key}", player))
            continue
        index = next(iter(vote_messages.get(player, ())), None)
        game.votes.append(Vote(seat, 1, index, target or None))
    game.votes.sort(key=attrgetter("seat"))  # the order of keys in JSON has no meaning
    game.role_identifications = _build_judgements_by_round_and_seat(
        game,
        Phase.IDENTIFICATION,
        "consistency_metric",
        log.consistency_metric,
        event_type=RoleIdentification,
        parse_round=_parse_identifications,
    )
    game.role_analyses = _build_judgements_by_round_and_seat(
        game,
        Phase.ANALYSIS,
        "pgm_metric",
        log.pgm_metric,
        event_type=RoleAnalysis,
        parse_round=_parse_analyses,
    )
    return game


def _build_seats_from_backends(
    rules: HiddenRoleRules, hidden_player: str, player_backends: bytes | UnsetType
) -> tuple[Seat, ...]:
    """Build the seats from the log's model of each player; a model with `-fix` is not tested."""
    backends = sort_by_player_number(
        decode_required(player_backends, dict[str, Backend], "player_backends")
    )
    models = {player: backend.model for player, backend in backends.items()}
    check_players(models, "$.player_backends")
    check_unique_keys(player_backends, "$.player_backends")
    if hidden_player not in models:
        raise invalid_document_error(
            "$", "the hidden player has a backend", f"{hidden_player!r} has none"
        )
    tested_players = {player for player, model in models.items() if not model.endswith("-fix")}
    return tuple(
        hidden_roles.build_hidden_role_seats(rules, hidden_player, dict(models), tested_players)
    )


def _build_judgements_by_round_and_seat(
    game: GameRecord,
    answer_phase: Phase,
    key: str,
    judgements: RawPart,
    *,
    event_type: Callable[..., Event],
    parse_round: _JudgementParser,
) -> list[Any]:
    """Build an event for each answer to the benchmark's questions that the log judges.

    Invalid and missing judgements are validation errors, which are added to the game.

    Args:
        game: The game with its seats and messages.
        answer_phase: The phase of the messages that are answers.
        key: The key of the log that contains the judgements.
        judgements: The part of the log at this key: judgements by round.
        event_type: The class of the events.
        parse_round: The function that parses the judgements of one round.
    """
    rounds = decode_part_or_add_fault(judgements, dict[str, Raw], key, game.faults)
    if rounds is None:
        return []
    players = [seat.player for seat in game.seats]
    answers = game.messages.course.message_indices_by_player(answer_phase)
    message_indices = [answers.get(player, ()) for player in players]
    seats = range(1, len(players) + 1)
    events, faults = [], []
    for round_key, logged_round in rounds.items():
        if not _ROUND_KEY.fullmatch(round_key):
            rule = "the keys are rounds, counted from 0"
            faults.append(RecordError(f"$.{key}.{round_key}", rule, repr(round_key)))
            continue
        number = int(round_key)
        try:
            seat_judgements = parse_round(logged_round, f"{key}.{round_key}", players, faults)
        except InvalidDocumentError as error:
            game.faults.append(error.fault)
            return []
        events += [
            event_type(
                seat, number + 1, indices[number] if number < len(indices) else None, *values
            )
            for seat, values, indices in zip(seats, seat_judgements, message_indices, strict=True)
            if values.count(None) < len(values)
        ]
    events.sort(key=attrgetter("round"))  # the order of keys in JSON has no meaning
    game.faults += faults
    _add_faults_for_answers_without_judgement(game, key, message_indices, events)
    return events


def _parse_identifications(
    logged_round: Any, key: str, players: Sequence[str], faults: list[RecordError]
) -> Iterable[tuple[bool | None]]:
    number_by_player = decode_required(logged_round, Identifications, key)
    judgements = [(_JUDGEMENTS.get(number_by_player.get(player, -1)),) for player in players]
    if len(number_by_player) != len(players) or (None,) in judgements:
        faults += [
            _not_a_judgement_fault(f"$.{key}", number)
            if player in players
            else _no_such_player_fault(f"$.{key}", player)
            for player, number in number_by_player.items()
            if player not in players or number not in _JUDGEMENTS
        ]
    return judgements


def _parse_analyses(
    logged_round: Any, key: str, players: Sequence[str], faults: list[RecordError]
) -> Iterable[tuple[bool | None, bool | None]]:
    analyses, n_seats = decode_required(logged_round, Analyses, key), len(players)
    gold = _parse_one_judgement_per_seat(analyses.gold, n_seats, f"$.{key}.gold", faults)
    inter = _parse_one_judgement_per_seat(analyses.inter, n_seats, f"$.{key}.inter", faults)
    return zip(gold, inter, strict=True)


def _parse_one_judgement_per_seat(
    logged_numbers: Sequence[int], n_seats: int, json_path: str, faults: list[RecordError]
) -> list[bool | None]:
    """Convert 0 and 1 to a bool for each seat; add errors for other numbers and surplus numbers."""
    judgements = list(map(_JUDGEMENTS.get, logged_numbers[:n_seats]))
    if len(logged_numbers) > n_seats:
        rule = "there are at most as many answers as seats"
        faults.append(RecordError(json_path, rule, f"{len(logged_numbers)} answers"))
    faults += [
        _not_a_judgement_fault(f"{json_path}[{number}]", logged_numbers[number])
        for number, judgement in enumerate(judgements)
        if judgement is None
    ]
    return judgements + [None] * (n_seats - len(judgements))


def _add_faults_for_answers_without_judgement(
    game: GameRecord,
    key: str,
    answer_indices: Iterable[Sequence[int]],
    judgements: Sequence[Event],
) -> None:
    """Add a validation error for each round with answers that the log does not judge."""
    judged_indices = {event.message_index for event in judgements}
    unjudged_by_round: dict[int, list[tuple[int, str]]] = {}
    for seat, seat_indices in zip(game.seats, answer_indices, strict=True):
        for number, index in enumerate(seat_indices):
            if index not in judged_indices:
                unjudged_by_round.setdefault(number, []).append((index, seat.player))
    for number, answers in sorted(unjudged_by_round.items(), key=lambda item: min(item[1])):
        names = ", ".join(player for _, player in sorted(answers))
        rule = "every answer in the history is judged"
        game.faults.append(RecordError(f"$.{key}.{number}", rule, f"none of {names}"))


def _no_such_player_fault(json_path: str, player: str) -> RecordError:
    return RecordError(json_path, "every player named has a seat", repr(player))


def _not_a_judgement_fault(json_path: str, value: int) -> RecordError:
    return RecordError(json_path, "the answer of a seat is 0 or 1", repr(value))
