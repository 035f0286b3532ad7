"""Logs of the multi-round Avalon agents: games of five to ten players of one model, in JSON.

What players think back on after a game, for the next, is not read. One fail is enough to fail any
quest, also the fourth of seven players.
"""

import msgspec

from pipeline.formats.avalon.acts import Acts
from pipeline.formats.avalon.log import Log
from pipeline.formats.broken import decode
from pipeline.formats.building import messages
from pipeline.formats.look import Look
from pipeline.formats.players import check_players
from pipeline.game import GameRecord, Seat
from pipeline.games.avalon import KIND

NAME = "avalon"
SYSTEM = "multi_round_avalon"
VERSION = "1"
NAMES_MODELS = True

# All but one, as logs of other systems have players, missions and a winner, too.
_KEYS = {"config", "players", "missions", "winner", "assassin_phase"}
# The log's words for roles that have another name here.
_ROLES = {"good": "servant", "evil": "minion"}
_FAILED = 3  # quests by which evil wins
_LOG = msgspec.json.Decoder(Log)


def claims(look: Look) -> bool:
    return look.has(_KEYS, len(_KEYS) - 1)


def read(look: Look, model: str | None) -> GameRecord:
    """The game in a document of its own; a file of all games of a tournament has other keys."""
    return _game(decode(_LOG, look.data))


def _game(log: Log) -> GameRecord:
    names = [player.name for player in log.players]
    check_players(names, "$.players")
    seats = [
        Seat(
            player.name,
            log.config.model or None,
            _ROLES.get(player.role, player.role),
            is_tested=True,
        )
        for player in log.players
    ]
    sizes = log.config.mission_team_sizes
    acts = Acts(seats)
    for place, mission in enumerate(log.missions):
        acts.add_mission(mission, f"$.missions[{place}]")
    n_rounds = max((mission.mission_number for mission in log.missions), default=0)
    if log.assassin_phase is not None:
        acts.add_assassination(log.assassin_phase, max(n_rounds, 1))
    return GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        format_version=VERSION,
        setting={
            "players": len(seats),
            "roles": [*sorted(seat.role for seat in seats)],
            "team_sizes": [*sizes] if sizes else None,
            "messages_per_player": log.config.num_messages_per_player,
            "reasoning_effort": log.config.reasoning_effort,
        },
        is_finished=log.winner is not None,
        outcome=_outcome(log),
        n_rounds=n_rounds,
        seats=seats,
        messages=messages(acts.spoken, seats),
        events=acts.events,
        faults=acts.faults,
    )


def _outcome(log: Log) -> str | None:
    """How the game ended: evil wins by an assassination or by quests that failed."""
    if log.winner != "evil":
        return None if log.winner is None else "good_won"
    if log.assassin_phase is not None and log.assassin_phase.correct:
        return "merlin_found"
    n_failed = sum(mission.mission_result == "fail" for mission in log.missions)
    return "quests_failed" if n_failed >= _FAILED else "evil_won"
