"""What MAgIC's Chameleon and Undercover logs share: backends, votes, the benchmark's questions."""

import re
from collections.abc import Iterable, Mapping

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
from pipeline.formats.players import check_distinct, check_players
from pipeline.formats.rows import messages
from pipeline.game import Event, Fault, Game, JsonValue, RoleAnalysis, RoleIdentification, Vote
from pipeline.vocabulary import AnalysisKind, Phase


class Backend(Struct):
    model: str


class Analyses(Struct):
    """One round's analyses that were right, by seat."""

    gold: list[int]
    inter: list[int]


_ROUND_KEY = re.compile(r"0|[1-9][0-9]{0,5}")
_TRUTHS = (0, 1)
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
    check_players(models, "$.player_backends")
    check_distinct(log.player_backends, len(models), 6, "$.player_backends")
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
        messages=messages(log.rows, numbers, hidden_roles.places(rules, log.rows)),
    )
    built.n_rounds = built.messages.last_round(Phase.CLUE)
    turns = built.messages.turns()
    _add_votes(built, getattr(log, votes_key), votes_key, numbers, turns[Phase.VOTE])
    asked = turns[Phase.IDENTIFICATION]
    _add_identifications(built, log.consistency_metric, numbers, asked)
    _add_analyses(built, log.pgm_metric, turns[Phase.ANALYSIS])
    return built


# A phase's messages by seat and round.
Turns = Mapping[tuple[int, int], int]


def _add_votes(built: Game, part: Part, key: str, numbers: dict[str, int], spoken: Turns) -> None:
    votes = optional(part, _VOTES, key, built.faults)
    for player, target in (votes or {}).items():
        if target is None:  # the engine's votes are null until they are cast
            continue
        seat = numbers.get(player)
        if seat is None:
            built.faults.append(_no_such_player(f"$.{key}", player))
            continue
        built.votes.append(Vote(seat, 1, spoken.get((seat, 1)), target or None))


def _add_identifications(built: Game, part: Part, numbers: dict[str, int], spoken: Turns) -> None:
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
                index = spoken.get((seat, round_))
                event = RoleIdentification(seat, round_, index, truth == 1)
                built.role_identifications.append(event)
    _tell_missing(built, "consistency_metric", spoken, built.role_identifications)


def _add_analyses(built: Game, part: Part, spoken: Turns) -> None:
    rounds = optional(part, _ANALYSES, "pgm_metric", built.faults)
    if rounds is None:
        return
    n_seats = len(built.seats)
    for key, analyses in rounds.items():
        at = f"$.pgm_metric.{key}"
        round_ = _round(built, key, at)
        if round_ is None:
            continue
        for kind, truths in (
            (AnalysisKind.GOLD, analyses.gold),
            (AnalysisKind.INTER, analyses.inter),
        ):
            if len(truths) > n_seats:
                rule = "there are no more answers than seats"
                built.faults.append(Fault(f"{at}.{kind}", rule, f"{len(truths)} answers"))
            for seat, truth in enumerate(truths[:n_seats], start=1):
                if truth not in _TRUTHS:
                    built.faults.append(_no_truth(f"{at}.{kind}[{seat - 1}]", truth))
                    continue
                index = spoken.get((seat, round_))
                built.role_analyses.append(RoleAnalysis(seat, round_, index, kind, truth == 1))
    _tell_missing(built, "pgm_metric", spoken, built.role_analyses)


def _tell_missing(built: Game, key: str, spoken: Turns, judged: Iterable[Event]) -> None:
    """Adds a fault for each round in which a player answered and the log has no judgement of it."""
    missing = spoken.keys() - {(event.seat, event.round) for event in judged}
    players: dict[int, list[str]] = {}
    for seat, round_ in sorted(missing, key=spoken.__getitem__):
        players.setdefault(round_, []).append(built.seats[seat - 1].player)
    for round_, silent in players.items():
        rule = "every answer in the history is judged"
        built.faults.append(Fault(f"$.{key}.{round_ - 1}", rule, f"none of {', '.join(silent)}"))


def _round(built: Game, key: str, at: str) -> int | None:
    """The round that a part's key stands for; a key that is no number is a fault."""
    if _ROUND_KEY.fullmatch(key):
        return int(key) + 1
    built.faults.append(Fault(at, "the keys are rounds, counted from 0", repr(key)))
    return None


def _no_such_player(at: str, player: str) -> Fault:
    return Fault(at, "every player named has a seat", repr(player))


def _no_truth(at: str, value: int) -> Fault:
    return Fault(at, "an answer of a seat is 0 or 1", repr(value))
