"""What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions."""

import re

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
    optional,
    required,
    result,
)
from pipeline.formats.rows import messages
from pipeline.game import Fault, Game, JsonValue, Message, RoleAnalysis, RoleIdentification
from pipeline.vocabulary import AnalysisKind, ParseStatus, Phase


class Backend(Struct):
    model: str


class Analyses(Struct):
    """One round's analyses that were right, by seat."""

    gold: list[int]
    inter: list[int]


_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
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
) -> Game:
    """The game, but for what only one of the two has.

    `votes_key` is the log's word for votes, `winners` its words for the side that won.
    """
    models = {
        p: b.model for p, b in required(log.player_backends, _BACKENDS, "player_backends").items()
    }
    if hidden not in models:
        raise broken("$", "the hidden player has a backend", f"{hidden!r} has none")
    tested = {player for player, model in models.items() if not model.endswith(FIXED_SUFFIX)}
    seats = hidden_roles.seats(rules, hidden, dict(models), tested)
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    ending = rules.endings.get(log.win_flag) if log.win_flag is not None else None
    is_finished = ending is not None and result(log, winners) is not None
    is_pgm = any(model.endswith(PGM_SUFFIX) for model in models.values())
    built = Game(
        game_type=rules.game_type,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if is_pgm else PLAIN,
        setting={**setting, "hidden": hidden},
        is_finished=is_finished,
        outcome=ending.outcome if ending and is_finished else None,
        outcome_code=log.win_flag,
        n_rounds=0,
        seats=seats,
        messages=messages(log.rows, numbers, hidden_roles.Places(rules)),
    )
    built.n_rounds = max((m.round or 0 for m in built.messages if m.phase is Phase.CLUE), default=0)
    _add_votes(built, getattr(log, votes_key), votes_key)
    places = {(m.seat, m.phase, m.round): i for i, m in enumerate(built.messages)}
    _add_identifications(built, log.consistency_metric, places)
    _add_analyses(built, log.pgm_metric, places)
    return built


def _add_votes(built: Game, part: Part, key: str) -> None:
    votes = optional(part, _VOTES, key, built.faults)
    for player, target in (votes or {}).items():
        seat = hidden_roles.seat_of(built, player)
        if target is None:  # the engine's votes are null until they are cast
            continue
        if seat is None:
            built.faults.append(_no_such_player(f"$.{key}", player))
            continue
        index = hidden_roles.message_of(built.messages, seat, Phase.VOTE, 1)
        built.votes.append(hidden_roles.vote(built, seat, target or None, index))


Places = dict[tuple[int | None, Phase, int | None], int]


def _add_identifications(built: Game, part: Part, places: Places) -> None:
    rounds = optional(part, _IDENTIFICATIONS, "consistency_metric", built.faults)
    if rounds is None:
        return
    for key, answers in rounds.items():
        at = f"$.consistency_metric.{key}"
        round_ = _round(built, key, at)
        if round_ is None:
            continue
        for player, is_correct in answers.items():
            seat = hidden_roles.seat_of(built, player)
            if seat is None or is_correct not in (0, 1):
                built.faults.append(
                    _no_such_player(at, player) if seat is None else _no_truth(at, is_correct)
                )
                continue
            index = places.get((seat, Phase.IDENTIFICATION, round_))
            built.role_identifications.append(
                RoleIdentification(
                    seat=seat,
                    round=round_,
                    message_index=index,
                    parse_status=_status(built.messages, index),
                    is_correct=bool(is_correct),
                )
            )
    logged = {(event.round, event.seat) for event in built.role_identifications}
    _tell_missing(built, "consistency_metric", Phase.IDENTIFICATION, logged)


def _add_analyses(built: Game, part: Part, places: Places) -> None:
    rounds = optional(part, _ANALYSES, "pgm_metric", built.faults)
    if rounds is None:
        return
    for key, analyses in rounds.items():
        at = f"$.pgm_metric.{key}"
        round_ = _round(built, key, at)
        if round_ is None:
            continue
        for kind in AnalysisKind:
            by_seat = getattr(analyses, kind)
            if len(by_seat) > len(built.seats):
                rule = "there are no more answers than seats"
                built.faults.append(Fault(f"{at}.{kind}", rule, f"{len(by_seat)} answers"))
            for seat, is_correct in enumerate(by_seat[: len(built.seats)], start=1):
                if is_correct not in (0, 1):
                    built.faults.append(_no_truth(f"{at}.{kind}[{seat - 1}]", is_correct))
                    continue
                index = places.get((seat, Phase.ANALYSIS, round_))
                built.role_analyses.append(
                    RoleAnalysis(
                        seat=seat,
                        round=round_,
                        message_index=index,
                        parse_status=_status(built.messages, index),
                        kind=kind,
                        is_correct=bool(is_correct),
                    )
                )
    logged = {(event.round, event.seat) for event in built.role_analyses}
    _tell_missing(built, "pgm_metric", Phase.ANALYSIS, logged)


def _tell_missing(built: Game, key: str, phase: Phase, logged: set[tuple[int, int]]) -> None:
    """Adds a fault for each round in which a player answered and the log has no judgement of it."""
    missing: dict[int, list[str]] = {}
    for message in built.messages:
        if message.phase is not phase or message.seat is None or message.round is None:
            continue
        if (message.round, message.seat) not in logged:
            missing.setdefault(message.round, []).append(message.player)
    for round_, players in missing.items():
        rule = "every answer in the history is judged"
        built.faults.append(Fault(f"$.{key}.{round_ - 1}", rule, f"none of {', '.join(players)}"))


def _round(built: Game, key: str, at: str) -> int | None:
    """The round that a part's key stands for; a key that is no number is a fault."""
    if _ROUND_KEY.fullmatch(key):
        return int(key) + 1
    built.faults.append(Fault(at, "the keys are rounds, counted from 0", repr(key)))
    return None


def _status(spoken: list[Message], index: int | None) -> ParseStatus:
    # The answer counts as the game logged it, whatever a strict reading would make of the text.
    return ParseStatus.OK if index is None else spoken[index].parse_status


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "an answer of a seat is 0 or 1", repr(value))
