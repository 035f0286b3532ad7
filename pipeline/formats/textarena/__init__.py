"""TextArena's logs of Avalon: who sat where, the result, and every row that the engine wrote.

Who did what is read from the rows: the moderator writes the state of the game before each phase.
`vote_events` is not read: it was sampled, so that most of its entries repeat an older vote under a
newer team or mission. What is played on quests, and who guessed Merlin, is secret.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from pipeline.formats.broken import broken, decode
from pipeline.formats.building import messages
from pipeline.formats.look import Look
from pipeline.formats.players import check_number
from pipeline.formats.rows import Int64
from pipeline.formats.textarena import rows
from pipeline.formats.textarena.rows import ENGINE, Row
from pipeline.game import Fault, GameRecord, Seat
from pipeline.games.avalon import KIND

NAME = SYSTEM = "textarena"
VERSION = "1"
NAMES_MODELS = True

_KEYS = {"agent", "game_info", "logs"}
# TextArena has other environments.
_ENVIRONMENT = b'"Avalon'
_NAME = re.compile(rb'"([A-Za-z0-9_-]{1,60})"')
# Agents that follow rules: what they say is one of four lines.
BOTS = frozenset({"deeprole", "deeprole-llm"})
# What stands for the agent of a table at which several sit.
MIXED = "mixed"
# How evil won, by what the reason begins with.
_HOW = {"3 missions failed": "quests_failed", "Evil correctly guessed Merlin": "merlin_found"}
_INVALID = re.compile(r"attempted an invalid move\. Reason: (.+?)(?: Please resubmit|$)")


class Info(Struct):
    role: Literal["Merlin", "Percival", "Servant", "Minion", "Morgana", "Mordred", "Oberon"]
    invalid_move: bool = False
    reason: str | None = None


class Log(Struct):
    game_info: dict[str, Info]
    logs: list[Row]
    agent: str | None = None
    seat_agents: list[str | None] | None = None
    rewards: dict[str, float] | None = None
    special_roles: list[str] | None = None
    seed: Int64 | None = None


_LOG = msgspec.json.Decoder(Log)


def claims(look: Look) -> bool:
    return _environment(look).startswith(_ENVIRONMENT)


def describes(look: Look) -> str | None:
    """A log of an environment that is not read; null for what is no log."""
    name = _NAME.fullmatch(_environment(look))
    return f"a TextArena log of {name[1].decode()}" if name else None


def _environment(look: Look) -> bytes:
    """The environment of a log as it is in the JSON, with quotes; empty for what is no log."""
    return bytes(look.top.get("env_id", b"")) if look.has(_KEYS, len(_KEYS) - 1) else b""


def read(look: Look, model: str | None) -> GameRecord:
    """The game of a log of the environment Avalon."""
    return _game(decode(_LOG, look.data))


def _game(log: Log) -> GameRecord:
    seats = list(_seats(log))
    rows.check_senders(log.logs, len(seats))
    moments = rows.moments(log.logs)
    players = [moment for moment in moments if moment.row.sender != ENGINE]
    first = next((moment.state for moment in moments if moment.state), None)
    faults: list[Fault] = []
    return GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        format_version=VERSION,
        setting={
            "players": len(seats),
            "special_roles": [*sorted(role.lower() for role in log.special_roles or ())],
            "discussion_rounds": first.num_discussion_rounds if first else None,
            "seed": log.seed,
        },
        is_finished=_outcome(log) is not None,
        outcome=_outcome(log),
        ended_by=_ended_by(log),
        n_rounds=max((moment.state.round for moment in players if moment.state), default=0),
        seats=seats,
        messages=messages((rows.spoken(moment, seats) for moment in moments), seats),
        events={
            "team_proposals": list(rows.proposals(moments)),
            "team_votes": list(rows.votes(players, faults)),
        },
        faults=faults,
    )


def _seats(log: Log) -> Iterator[Seat]:
    """The seats; an agent is a model unless it is a known bot, one name for several, or none."""
    check_number(len(log.game_info), "$.game_info")
    agents = log.seat_agents or [log.agent] * len(log.game_info)
    if len(agents) != len(log.game_info):
        raise broken("$.seat_agents", "every player has an agent", f"{len(agents)} agents")
    for number, agent in enumerate(agents):
        info = log.game_info.get(str(number))
        if info is None:
            raise broken("$.game_info", "players are numbered from 0", f"there is no {number}")
        is_known = bool(agent) and agent != MIXED
        yield Seat(
            rows.name(number),
            agent if is_known else None,
            info.role.lower(),
            is_tested=is_known and agent not in BOTS,
            is_bot=agent in BOTS if is_known else None,
        )


def _outcome(log: Log) -> str | None:
    """How the game ended: the rewards say who won, the reason how; None if nobody did."""
    rewards = log.rewards or {}
    won = {
        rows.is_evil(info.role.lower())
        for key, info in log.game_info.items()
        if rewards.get(key, 0) > 0
    }
    if len(won) != 1:
        return None
    if won == {False}:
        return "good_won"
    how = [word for begin, word in _HOW.items() if (_reason(log) or "").startswith(begin)]
    return how[0] if how else "evil_won"


def _reason(log: Log) -> str | None:
    return log.game_info["0"].reason if log.game_info else None


def _ended_by(log: Log) -> str | None:
    """The move that was not valid, where there was one: the engine then made it by itself."""
    if not any(info.invalid_move for info in log.game_info.values()):
        return None if _outcome(log) else _reason(log)
    moderated = (row.message for row in log.logs if row.sender == ENGINE)
    why = next(filter(None, map(_INVALID.search, moderated)), None)
    return f"invalid move: {why[1]}" if why else "invalid move"
