"""What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from pipeline.formats import hidden_roles
from pipeline.formats.broken import broken, decode
from pipeline.formats.hidden_roles import Rules
from pipeline.formats.magic.log import (
    FIXED_SUFFIX,
    FORMAT,
    PGM,
    PGM_SUFFIX,
    PLAIN,
    SYSTEM,
    Log,
    Part,
    history_of,
    known,
    optional,
    required,
    result,
)
from pipeline.formats.players import ModelName, check_distinct, check_players, in_seats
from pipeline.formats.rows import of_course
from pipeline.game import (
    BrokenDocument,
    Course,
    Event,
    Fault,
    GameRecord,
    JsonValue,
    RoleAnalysis,
    RoleIdentification,
    Vote,
)
from pipeline.vocabulary import Phase


class Backend(Struct):
    model: ModelName


class Analyses(Struct):
    """One round's analyses that were right, by seat."""

    gold: list[int]
    inter: list[int]


_SEAT = attrgetter("seat")
_ROUND = attrgetter("round")
_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_TRUTHS = {0: False, 1: True}
_BACKENDS = msgspec.json.Decoder(dict[str, Backend])
_VOTES = msgspec.json.Decoder(dict[str, str | None])
_ROUNDS = msgspec.json.Decoder(dict[str, Raw])
_IDENTIFICATIONS = msgspec.json.Decoder(dict[str, int])
_ANALYSES = msgspec.json.Decoder(Analyses)


def game(
    log: Log,
    rules: Rules,
    hidden: str,
    *,
    setting: dict[str, JsonValue],
    votes_key: str,
    winners: tuple[str, str],
) -> GameRecord:
    """The game, without what only one of the two has.

    `votes_key` is the log's word for votes, `winners` its words for the side that won.
    """
    backends = in_seats(required(log.player_backends, _BACKENDS, "player_backends"))
    models = {player: backend.model for player, backend in backends.items()}
    check_players(models, "$.player_backends")
    check_distinct(log.player_backends, len(models), 6, "$.player_backends")
    if hidden not in models:
        raise broken("$", "the hidden player has a backend", f"{hidden!r} has none")
    tested = {player for player, model in models.items() if not model.endswith(FIXED_SUFFIX)}
    seats = hidden_roles.seats(rules, hidden, dict(models), tested)
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    spoken = hidden_roles.messages(rules, history_of(log), numbers)
    course = spoken.course
    flag = known(log.win_flag)
    outcome = rules.outcome(flag)
    is_finished = outcome is not None and result(log, winners) is not None
    is_pgm = any(model.endswith(PGM_SUFFIX) for model in models.values())
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
        n_rounds=hidden_roles.n_rounds(rules, course),
        seats=seats,
        messages=spoken,
    )
    _add_votes(built, getattr(log, votes_key), votes_key, numbers)
    key = "consistency_metric"
    built.role_identifications = _events(built, log, key, Phase.IDENTIFICATION, _identified)
    built.role_analyses = _events(built, log, "pgm_metric", Phase.ANALYSIS, _analysed)
    return built


def _add_votes(built: GameRecord, part: Part, key: str, numbers: dict[str, int]) -> None:
    spoken = built.messages.course.answered(Phase.VOTE)
    votes = optional(part, _VOTES, key, built.faults)
    for player, target in (votes or {}).items():
        if target is None:  # the engine's votes are null until they are cast
            continue
        seat = numbers.get(player)
        if seat is None:
            built.faults.append(_no_such_player(f"$.{key}", player))
            continue
        index = next(iter(spoken.get(player, ())), None)
        built.votes.append(Vote(seat, 1, index, target or None))
    built.votes.sort(key=_SEAT)  # the order of keys in JSON says nothing


def _events(built: GameRecord, log: Log, key: str, phase: Phase, judge: "_Judge") -> list[Any]:
    """What the log says under a key of all answers in a phase, by round and seat; adds faults."""
    rounds = optional(getattr(log, key), _ROUNDS, key, built.faults)
    if rounds is None:
        return []
    course = built.messages.course
    players = tuple([seat.player for seat in built.seats])
    judged, faults = [], []
    for name, logged in rounds.items():
        round_ = _round_of_key(name)
        if round_ is None:
            rule = "the keys are rounds, counted from 0"
            faults.append(Fault(f"$.{key}.{name}", rule, repr(name)))
            continue
        try:
            judged.append(of_course(judge, course, players, round_, bytes(logged)))
        except BrokenDocument as error:
            built.faults.append(error.fault)
            return []
    judged.sort(key=_ROUND)  # the order of keys in JSON says nothing
    events = list(chain.from_iterable([one.events for one in judged]))
    built.faults += chain(faults, *[one.faults for one in judged])
    # Nearly always all answers are judged.
    if sum([one.n_answers for one in judged]) < len(course.said(phase)):
        _tell_missing(built, key, phase, events)
    return events


class _Judged(NamedTuple):
    """What a log says of the answers of one round, by seat, and of how many in the history."""

    round: int
    events: Sequence[Any]
    n_answers: int
    faults: Sequence[Fault]


# Reads one round of a part of the log, which rounds of many games have in common.
_Judge: TypeAlias = Callable[[Course, tuple[str, ...], int, bytes], _Judged]


def _identified(course: Course, players: tuple[str, ...], round_: int, logged: bytes) -> _Judged:
    at = f"$.consistency_metric.{round_ - 1}"
    answers = decode(_IDENTIFICATIONS, logged, at)
    faults = [
        _no_truth(at, truth) if player in players else _no_such_player(at, player)
        for player, truth in answers.items()
        if player not in players or truth not in _TRUTHS
    ]
    indices = _of_round(course, Phase.IDENTIFICATION, players, round_)
    events = [
        RoleIdentification(seat, round_, index, _TRUTHS[answers[player]])
        for seat, (player, index) in enumerate(zip(players, indices, strict=True), start=1)
        if answers.get(player) in _TRUTHS
    ]
    return _Judged(round_, events, _n_answers(events), faults)


def _analysed(course: Course, players: tuple[str, ...], round_: int, logged: bytes) -> _Judged:
    at = f"$.pgm_metric.{round_ - 1}"
    analyses = decode(_ANALYSES, logged, at)
    faults: list[Fault] = []
    gold = _truths(faults, f"{at}.gold", analyses.gold, len(players))
    inter = _truths(faults, f"{at}.inter", analyses.inter, len(players))
    indices = _of_round(course, Phase.ANALYSIS, players, round_)
    events = [
        RoleAnalysis(seat, round_, index, by_gold, by_inter)
        for seat, (index, by_gold, by_inter) in enumerate(
            zip(indices, gold, inter, strict=True), start=1
        )
        if by_gold is not None or by_inter is not None
    ]
    return _Judged(round_, events, _n_answers(events), faults)


def _n_answers(events: Sequence[Event]) -> int:
    return sum(event.message_index is not None for event in events)


def _of_round(
    course: Course, phase: Phase, players: Sequence[str], round_: int
) -> list[int | None]:
    """The index of each player's answer in a round, None where the history has none."""
    said = [course.answered(phase).get(player, ()) for player in players]
    return [answers[round_ - 1] if round_ <= len(answers) else None for answers in said]


def _truths(faults: list[Fault], at: str, logged: Sequence[int], n_seats: int) -> list[bool | None]:
    """Each seat's truth, None where the log has none; adds faults for what is none, or nobody's."""
    truths = list(map(_TRUTHS.get, logged[:n_seats]))
    if len(logged) > n_seats:
        rule = "there are at most as many answers as seats"
        faults.append(Fault(at, rule, f"{len(logged)} answers"))
    faults += [
        _no_truth(f"{at}[{number}]", logged[number])
        for number, truth in enumerate(truths)
        if truth is None
    ]
    return truths + [None] * (n_seats - len(truths))


def _tell_missing(built: GameRecord, key: str, phase: Phase, judged: Sequence[Event]) -> None:
    """Adds a fault for each round in which a player answered and the log has no judgement of it."""
    answers = built.messages.course.answered(phase)
    indices = {event.message_index for event in judged}
    missing = [
        (index, round_, seat.player)
        for seat in built.seats
        for round_, index in enumerate(answers.get(seat.player, ()), start=1)
        if index not in indices
    ]
    players: dict[int, list[str]] = {}
    for _, round_, player in sorted(missing):
        players.setdefault(round_, []).append(player)
    for round_, silent in players.items():
        rule = "every answer in the history is judged"
        built.faults.append(Fault(f"$.{key}.{round_ - 1}", rule, f"none of {', '.join(silent)}"))


@lru_cache
def _round_of_key(key: str) -> int | None:
    return int(key) + 1 if _ROUND_KEY.fullmatch(key) else None


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "the answer of a seat is 0 or 1", repr(value))
