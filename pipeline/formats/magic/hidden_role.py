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
_ROUND, _INDEX = attrgetter("round"), attrgetter("message_index")
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
    check_distinct(logged, "$.player_backends")
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

    `read` gives of one round, of the players in the order of their seats, what the log judges:
    the fields of an event, null where it says nothing. It adds faults.
    """

    phase: Phase
    key: str
    event: Callable[..., Event]
    read: Callable[[Any, str, Sequence[str], list[Fault]], Iterable[tuple[bool | None, ...]]]


def _events(built: GameRecord, log: Log, question: _Question) -> list[Any]:
    """What the log says of all answers to a question, by round and seat; adds faults."""
    phase, key, event, read = question
    rounds = optional(getattr(log, key), _ROUNDS, key, built.faults)
    if rounds is None:
        return []
    players = [seat.player for seat in built.seats]
    answers = built.messages.course.answered(phase)
    said = [answers.get(player, ()) for player in players]
    seats = range(1, len(players) + 1)
    events, faults = [], []
    for name, of_round in rounds.items():
        if not _ROUND_KEY.fullmatch(name):
            rule = "the keys are rounds, counted from 0"
            faults.append(Fault(f"$.{key}.{name}", rule, repr(name)))
            continue
        number = int(name)
        try:
            judged = read(of_round, f"{key}.{name}", players, faults)
        except BrokenDocument as error:
            built.faults.append(error.fault)
            return []
        events += [
            event(seat, number + 1, indices[number] if number < len(indices) else None, *truths)
            for seat, truths, indices in zip(seats, judged, said, strict=True)
            if truths.count(None) < len(truths)
        ]
    events.sort(key=_ROUND)  # the order of keys in JSON says nothing
    built.faults += faults
    _tell_missing(built, key, said, events)
    return events


def _identified(
    logged: Any, key: str, players: Sequence[str], faults: list[Fault]
) -> Iterable[tuple[bool | None]]:
    answers = required(logged, _IDENTIFICATIONS, key)
    truths = [(_TRUTHS.get(answers.get(player, -1)),) for player in players]
    if len(answers) != len(players) or (None,) in truths:
        faults += [
            _no_truth(f"$.{key}", truth)
            if player in players
            else _no_such_player(f"$.{key}", player)
            for player, truth in answers.items()
            if player not in players or truth not in _TRUTHS
        ]
    return truths


def _analysed(
    logged: Any, key: str, players: Sequence[str], faults: list[Fault]
) -> Iterable[tuple[bool | None, bool | None]]:
    analyses, n_seats = required(logged, _ANALYSES, key), len(players)
    gold = _truths(faults, key, "gold", analyses.gold, n_seats)
    return zip(gold, _truths(faults, key, "inter", analyses.inter, n_seats), strict=True)


_IDENTIFICATION = _Question(
    Phase.IDENTIFICATION, "consistency_metric", RoleIdentification, _identified
)
_ANALYSIS = _Question(Phase.ANALYSIS, "pgm_metric", RoleAnalysis, _analysed)


def _truths(
    faults: list[Fault], key: str, measure: str, logged: Sequence[int], n_seats: int
) -> list[bool | None]:
    """Each seat's truth, None where the log has none; adds faults for what is none, or nobody's."""
    truths = list(map(_TRUTHS.get, logged[:n_seats]))
    if len(logged) == n_seats and None not in truths:
        return truths
    at = f"$.{key}.{measure}"
    if len(logged) > n_seats:
        rule = "there are at most as many answers as seats"
        faults.append(Fault(at, rule, f"{len(logged)} answers"))
    faults += [
        _no_truth(f"{at}[{number}]", logged[number])
        for number, truth in enumerate(truths)
        if truth is None
    ]
    return truths + [None] * (n_seats - len(truths))


def _tell_missing(
    built: GameRecord, key: str, said: Iterable[Sequence[int]], judged: Sequence[Event]
) -> None:
    """Adds a fault for each round in which a player answered and the log has no judgement of it."""
    known = set(map(_INDEX, judged))
    if known.issuperset(chain.from_iterable(said)):
        return
    silent: dict[int, list[tuple[int, str]]] = {}
    for seat, answers in zip(built.seats, said, strict=True):
        for number, index in enumerate(answers):
            if index not in known:
                silent.setdefault(number, []).append((index, seat.player))
    for number, missing in sorted(silent.items(), key=lambda of_round: min(of_round[1])):
        names = ", ".join(player for _, player in sorted(missing))
        rule = "every answer in the history is judged"
        built.faults.append(Fault(f"$.{key}.{number}", rule, f"none of {names}"))


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "the answer of a seat is 0 or 1", repr(value))
