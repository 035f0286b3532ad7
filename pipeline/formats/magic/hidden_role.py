"""What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec
from msgspec import Struct

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
    Log,
    Part,
    history_of,
    known,
    optional,
    required,
    result,
)
from pipeline.formats.players import ModelName, check_distinct, check_players
from pipeline.game import (
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
_ROUND_AND_SEAT = attrgetter("round", "seat")
_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_TRUTHS = {0: False, 1: True}
# The indices of a phase's messages, by player.
Answers = Mapping[str, Sequence[int]]
_BACKENDS = msgspec.json.Decoder(dict[str, Backend])
_VOTES = msgspec.json.Decoder(dict[str, str | None])
_IDENTIFICATIONS = msgspec.json.Decoder(dict[str, dict[str, int]])
_ANALYSES = msgspec.json.Decoder(dict[str, Analyses])


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
    models = {
        p: b.model for p, b in required(log.player_backends, _BACKENDS, "player_backends").items()
    }
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
    votes = course.answered(Phase.VOTE)
    _add_votes(built, getattr(log, votes_key), votes_key, numbers, votes)
    identifications = course.answered(Phase.IDENTIFICATION)
    _add_identifications(built, log.consistency_metric, numbers, identifications)
    _add_analyses(built, log.pgm_metric, numbers, course.answered(Phase.ANALYSIS))
    return built


def _add_votes(
    built: GameRecord, part: Part, key: str, numbers: dict[str, int], spoken: Answers
) -> None:
    votes = optional(part, _VOTES, key, built.faults)
    for player, target in (votes or {}).items():
        if target is None:  # the engine's votes are null until they are cast
            continue
        seat = numbers.get(player)
        if seat is None:
            built.faults.append(_no_such_player(f"$.{key}", player))
            continue
        built.votes.append(Vote(seat, 1, _of_round(spoken.get(player, ()), 1), target or None))
    built.votes.sort(key=_SEAT)  # the order of keys in JSON says nothing


def _add_identifications(
    built: GameRecord, part: Part, numbers: dict[str, int], spoken: Answers
) -> None:
    rounds = optional(part, _IDENTIFICATIONS, "consistency_metric", built.faults)
    if rounds is None:
        return
    for key, answers in rounds.items():
        at = f"$.consistency_metric.{key}"
        round_ = _round(built, key, at)
        if round_ is None:
            continue
        for player, truth in answers.items():
            seat = numbers.get(player)
            if seat is None:
                built.faults.append(_no_such_player(at, player))
            elif truth not in _TRUTHS:
                built.faults.append(_no_truth(at, truth))
            else:
                index = _of_round(spoken.get(player, ()), round_)
                event = RoleIdentification(seat, round_, index, _TRUTHS[truth])
                built.role_identifications.append(event)
    built.role_identifications.sort(key=_ROUND_AND_SEAT)
    _tell_missing(built, "consistency_metric", numbers, spoken, built.role_identifications)


def _add_analyses(built: GameRecord, part: Part, numbers: dict[str, int], spoken: Answers) -> None:
    rounds = optional(part, _ANALYSES, "pgm_metric", built.faults)
    if rounds is None:
        return
    said = [spoken.get(player, ()) for player in numbers]
    for key, analyses in rounds.items():
        at = f"$.pgm_metric.{key}"
        round_ = _round(built, key, at)
        if round_ is None:
            continue
        gold = _truths(built, at, "gold", analyses.gold)
        inter = _truths(built, at, "inter", analyses.inter)
        built.role_analyses += [
            RoleAnalysis(seat, round_, _of_round(answers, round_), by_gold, by_inter)
            for seat, (answers, by_gold, by_inter) in enumerate(
                zip(said, gold, inter, strict=True), start=1
            )
            if by_gold is not None or by_inter is not None
        ]
    built.role_analyses.sort(key=_ROUND_AND_SEAT)
    _tell_missing(built, "pgm_metric", numbers, spoken, built.role_analyses)


def _of_round(answers: Sequence[int], round_: int) -> int | None:
    """The index of a player's answer in a round, None where the history has none."""
    return answers[round_ - 1] if round_ <= len(answers) else None


def _truths(built: GameRecord, at: str, key: str, logged: Sequence[int]) -> list[bool | None]:
    """Each seat's truth, None where the log has none; faults for what is none, or nobody's."""
    n_seats = len(built.seats)
    truths = list(map(_TRUTHS.get, logged[:n_seats]))
    if len(logged) > n_seats:
        rule = "there are at most as many answers as seats"
        built.faults.append(Fault(f"{at}.{key}", rule, f"{len(logged)} answers"))
    if None in truths:
        built.faults += [
            _no_truth(f"{at}.{key}[{number}]", logged[number])
            for number, truth in enumerate(truths)
            if truth is None
        ]
    return truths + [None] * (n_seats - len(truths))


def _tell_missing(
    built: GameRecord, key: str, numbers: dict[str, int], spoken: Answers, judged: Sequence[Event]
) -> None:
    """Adds a fault for each round in which a player answered and the log has no judgement of it."""
    indices = {event.message_index for event in judged} - {None}
    # Nearly always all are judged.
    if len(indices) == sum(len(said) for player, said in spoken.items() if player in numbers):
        return
    missing = [
        (index, round_, player)
        for player, said in spoken.items()
        if player in numbers
        for round_, index in enumerate(said, start=1)
        if index not in indices
    ]
    players: dict[int, list[str]] = {}
    for _, round_, player in sorted(missing):
        players.setdefault(round_, []).append(player)
    for round_, silent in players.items():
        rule = "every answer in the history is judged"
        built.faults.append(Fault(f"$.{key}.{round_ - 1}", rule, f"none of {', '.join(silent)}"))


def _round(built: GameRecord, key: str, at: str) -> int | None:
    """The round that a part's key stands for; a key that is no number is a fault."""
    round_ = _round_of_key(key)
    if round_ is None:
        built.faults.append(Fault(at, "the keys are rounds, counted from 0", repr(key)))
    return round_


@lru_cache
def _round_of_key(key: str) -> int | None:
    return int(key) + 1 if _ROUND_KEY.fullmatch(key) else None


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "the answer of a seat is 0 or 1", repr(value))
