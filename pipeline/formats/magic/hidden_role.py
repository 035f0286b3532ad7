"""What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, UnsetType

from pipeline.formats import hidden_roles
from pipeline.formats.broken import broken
from pipeline.formats.hidden_roles import Rules
from pipeline.formats.magic.log import (
    FIXED_SUFFIX,
    FORMAT,
    PGM,
    PGM_SUFFIX,
    PLAIN,
    SYSTEM,
    Analyses,
    Backend,
    Identifications,
    Log,
    Part,
    Votes,
    as_bytes,
    history_of,
    known,
    optional,
    required,
    result,
)
from pipeline.formats.players import check_distinct, check_players, in_seats
from pipeline.formats.rows import once
from pipeline.game import (
    BrokenDocument,
    Course,
    Event,
    Fault,
    GameRecord,
    JsonValue,
    RoleAnalysis,
    RoleIdentification,
    Seat,
    Vote,
)
from pipeline.vocabulary import Phase

_SEAT = attrgetter("seat")
_ROUND = attrgetter("round")
_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_TRUTHS = {0: False, 1: True}
_BACKENDS = msgspec.json.Decoder(dict[str, Backend])
_VOTES = msgspec.json.Decoder(Votes)
_ROUNDS = msgspec.json.Decoder(dict[str, Raw])
_IDENTIFICATIONS = msgspec.json.Decoder(Identifications)
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
    players = once(_cast, rules, hidden, as_bytes(log.player_backends))
    spoken = hidden_roles.messages(rules, history_of(log), players.numbers)
    course = spoken.course
    flag = known(log.win_flag)
    outcome = rules.outcome(flag)
    is_finished = outcome is not None and result(log, winners) is not None
    built = GameRecord(
        game_type=rules.kind.name,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if players.is_pgm else PLAIN,
        setting={**setting, "hidden": hidden},
        is_repeatable=True,
        is_finished=is_finished,
        outcome=outcome if is_finished else None,
        outcome_code=flag,
        n_rounds=hidden_roles.n_rounds(rules, course),
        seats=list(players.seats),
        messages=spoken,
    )
    _add_votes(built, getattr(log, votes_key), votes_key, players.numbers)
    built.role_identifications = _events(built, log, _IDENTIFICATION)
    built.role_analyses = _events(built, log, _ANALYSIS)
    return built


class _Cast(NamedTuple):
    """Who plays: the seats, and their numbers by name."""

    seats: tuple[Seat, ...]
    numbers: dict[str, int]
    is_pgm: bool


def _cast(rules: Rules, hidden: str, logged: bytes | UnsetType) -> _Cast:
    backends = in_seats(required(logged, _BACKENDS, "player_backends"))
    models = {player: backend.model for player, backend in backends.items()}
    check_players(models, "$.player_backends")
    check_distinct(logged, len(models), 6, "$.player_backends")
    if hidden not in models:
        raise broken("$", "the hidden player has a backend", f"{hidden!r} has none")
    tested = {player for player, model in models.items() if not model.endswith(FIXED_SUFFIX)}
    return _Cast(
        seats=tuple(hidden_roles.seats(rules, hidden, dict(models), tested)),
        numbers={player: number for number, player in enumerate(models, start=1)},
        is_pgm=any(model.endswith(PGM_SUFFIX) for model in models.values()),
    )


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


class _Question(NamedTuple):
    """A question of the benchmark's: where its answers are, and where the log judges them.

    `truths` gives the columns of an event from the rounds of a log, none unless each round has all
    players in the order of their seats. `judge` reads one round of any log.
    """

    phase: Phase
    key: str
    event: Callable[..., Event]
    truths: Callable[[Iterable[Any], tuple[str, ...]], Sequence[Sequence[int]]]
    judge: Callable[[Course, tuple[str, ...], int, Any], "_Judged"]


class _Answers(NamedTuple):
    """All answers of a phase, if each seat gave as many: the keys of their rounds, and columns."""

    keys: tuple[str, ...]
    seats: tuple[int, ...]
    rounds: tuple[int, ...]
    indices: tuple[int, ...]


def _answers(course: Course, phase: Phase, players: tuple[str, ...]) -> _Answers | None:
    said = [course.answered(phase).get(player, ()) for player in players]
    rounds = range(1, len(said[0]) + 1)
    if any(len(answers) != len(rounds) for answers in said):
        return None
    return _Answers(
        keys=tuple(str(round_ - 1) for round_ in rounds),
        seats=tuple(seat for _ in rounds for seat in range(1, len(players) + 1)),
        rounds=tuple(round_ for round_ in rounds for _ in players),
        indices=tuple(chain.from_iterable(zip(*said, strict=True))),
    )


def _events(built: GameRecord, log: Log, question: _Question) -> list[Any]:
    """What the log says of all answers to a question, by round and seat; adds faults."""
    players = tuple([seat.player for seat in built.seats])
    logged, course = getattr(log, question.key), built.messages.course
    answers: _Answers | None = once(_answers, course, question.phase, players)
    # Nearly always all answers are judged, and nothing else.
    if isinstance(logged, dict) and answers and tuple(logged) == answers.keys:
        truths = question.truths(logged.values(), players)
        n = len(answers.indices)
        if truths and all(len(of) == n and _TRUTHS.keys() >= set(of) for of in truths):
            _, *at = answers
            return list(map(question.event, *at, *[map(bool, of) for of in truths]))
    return _each_round(built, logged, question, players)


def _each_round(
    built: GameRecord, logged: Any, question: _Question, players: tuple[str, ...]
) -> list[Any]:
    _, key, _, _, judge = question
    rounds = optional(logged, _ROUNDS, key, built.faults)
    if rounds is None:
        return []
    course = built.messages.course
    judged, faults = [], []
    for name, of_round in rounds.items():
        round_ = _round_of_key(name)
        if round_ is None:
            rule = "the keys are rounds, counted from 0"
            faults.append(Fault(f"$.{key}.{name}", rule, repr(name)))
            continue
        try:
            judged.append(judge(course, players, round_, of_round))
        except BrokenDocument as error:
            built.faults.append(error.fault)
            return []
    judged.sort(key=_ROUND)  # the order of keys in JSON says nothing
    events = list(chain.from_iterable([one.events for one in judged]))
    built.faults += chain(faults, *[one.faults for one in judged])
    _tell_missing(built, key, question.phase, events)
    return events


class _Judged(NamedTuple):
    """What a log says of the answers of one round, by seat."""

    round: int
    events: Sequence[Any]
    faults: Sequence[Fault]


def _identified(course: Course, players: tuple[str, ...], round_: int, logged: Any) -> _Judged:
    key = f"consistency_metric.{round_ - 1}"
    at, answers = f"$.{key}", required(logged, _IDENTIFICATIONS, key)
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
    return _Judged(round_, events, faults)


def _analysed(course: Course, players: tuple[str, ...], round_: int, logged: Any) -> _Judged:
    key = f"pgm_metric.{round_ - 1}"
    at, analyses = f"$.{key}", required(logged, _ANALYSES, key)
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
    return _Judged(round_, events, faults)


def _identified_at_once(
    rounds: Iterable[Identifications], players: tuple[str, ...]
) -> Sequence[Sequence[int]]:
    if any(tuple(answers) != players for answers in rounds):
        return ()
    return ([truth for answers in rounds for truth in answers.values()],)


def _analysed_at_once(
    rounds: Iterable[Analyses], players: tuple[str, ...]
) -> Sequence[Sequence[int]]:
    if any(not len(one.gold) == len(one.inter) == len(players) for one in rounds):
        return ()
    return [*chain.from_iterable([one.gold for one in rounds])], [
        *chain.from_iterable([one.inter for one in rounds])
    ]


_IDENTIFICATION = _Question(
    Phase.IDENTIFICATION,
    "consistency_metric",
    RoleIdentification,
    _identified_at_once,
    _identified,
)
_ANALYSIS = _Question(Phase.ANALYSIS, "pgm_metric", RoleAnalysis, _analysed_at_once, _analysed)


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


def _round_of_key(key: str) -> int | None:
    return int(key) + 1 if _ROUND_KEY.fullmatch(key) else None


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "the answer of a seat is 0 or 1", repr(value))
