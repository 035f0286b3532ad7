"""Kaggle's Werewolf: an episode that the villagers win, and one that the werewolves win."""

import json
from typing import Any

from rawlogs import encode

_AGENTS = {
    "Ann": ("Werewolf", "alpha"),
    "Bo": ("Villager", "beta"),
    "Cy": ("Seer", "alpha"),
    "Dee": ("Doctor", "beta"),
    "Zoë": ("Villager", "gamma"),
    "Fay": ("Villager", "gamma"),
}


def event(kind: str, day: int, public: bool = False, **data: Any) -> dict[str, str]:
    """An entry of the moderator, JSON in a text."""
    inner = {"day": day, "phase": "Day", "description": "…", "public": public, "data": data}
    return {"data_type": kind, "json_str": json.dumps(inner)}


def chat(player: str, text: str, day: int) -> dict[str, str]:
    return event("ChatDataEntry", day, public=True, actor_id=player, message=text)


def votes(day: int, **targets: str) -> list[dict[str, str]]:
    kind = "DayExileVoteDataEntry"
    return [event(kind, day, actor_id=player, target_id=t) for player, t in targets.items()]


def exiled(day: int, player: str | None) -> dict[str, str]:
    return event("DayExileElectedDataEntry", day, elected_player_id=player)


def attack(day: int, target: str, *, is_saved: bool = False) -> list[dict[str, str]]:
    elected = "WerewolfNightEliminationElectedDataEntry"
    entries = [
        event("WerewolfNightVoteDataEntry", day, actor_id="Ann", target_id=target),
        event(elected, day, elected_target_player_id=target),
    ]
    if is_saved:
        return [*entries, event("DoctorSaveDataEntry", day, saved_player_id=target)]
    killed = event("WerewolfNightEliminationDataEntry", day, eliminated_player_id=target)
    return [*entries, killed]


def heal(day: int, target: str) -> dict[str, str]:
    return event("DoctorHealActionDataEntry", day, actor_id="Dee", target_id=target)


def inspect(day: int, target: str, role: str | None, team: str) -> dict[str, str]:
    kind = "SeerInspectResultDataEntry"
    return event(kind, day, actor_id="Cy", target_id=target, role=role, team=team)


def episode(winner: str | None, *steps: list[dict[str, str]]) -> dict[str, Any]:
    """An episode; without a winner its agents failed."""
    told = [
        event("GameStartRoleDataEntry", 0, player_id=name, role=role, team="?")
        for name, (role, _) in _AGENTS.items()
    ]
    agents = [
        {"id": name, "role": role, "agent_id": f"llm/{model}", "display_name": model, "llms": []}
        for name, (role, model) in _AGENTS.items()
    ]
    end: dict[str, Any] = {"terminated_with_agent_error": winner is None}
    if winner:
        end |= {
            "winner_team": winner,
            "all_players": [{"id": one["id"], "alive": True, "agent": one} for one in agents],
            "survivors_until_last_round_and_role": {},
            "last_day": 1,
        }
    return {
        "id": "0",
        "name": "werewolf",
        "configuration": {
            "seed": 1,
            "randomize_ids": False,
            "agents": agents,
            "discussion_protocol": {"name": "RoundRobinDiscussion", "params": {"max_rounds": 1}},
            "day_exile_reveal_level": "role",
        },
        "steps": [[{"action": {}, "observation": {"step": n}}] for n in range(len(steps))],
        "info": {"MODERATOR_OBSERVATION": [told, *steps], "GAME_END": end},
    }


SAVED = [
    inspect(0, "Ann", "Werewolf", "Werewolves"),
    heal(0, "Cy"),
    *attack(0, "Cy", is_saved=True),
]
FIRST_DAY = [
    chat("Cy", 'Ann is "it".', 1),
    chat("Ann", "Vote for Cy; not for me.", 1),
    *votes(1, Ann="Cy", Bo="Ann", Cy="Ann", Dee="-1", **{"Zoë": "Ann"}, Fay="Cy"),
]
VILLAGERS_WIN = episode("Villagers", SAVED, [*FIRST_DAY, exiled(1, "Ann")])
WEREWOLVES_WIN = episode(
    "Werewolves",
    [inspect(0, "Bo", None, "Villagers"), heal(0, "Zoë"), *attack(0, "Dee")],
    [*votes(1, Ann="Bo", Bo="Ann", Cy="Ann", **{"Zoë": "Bo"}, Fay="Bo"), exiled(1, "Bo")],
    attack(1, "Cy"),
    [*votes(2, Ann="Fay", **{"Zoë": "Ann"}, Fay="Zoë"), exiled(2, None)],
    attack(2, "Fay"),
)
BROKEN_OFF = episode(None, SAVED, FIRST_DAY)
LOGS = [encode(log) for log in (VILLAGERS_WIN, WEREWOLVES_WIN, BROKEN_OFF)]
# The broken-off game does not count. An abstention is no correct vote.
ANSWERS = {
    ("judgement", "alpha", "werewolf"): 2 / 2,
    ("judgement", "beta", "werewolf"): 2 / 3,
    ("judgement", "gamma", "werewolf"): 2 / 6,
    ("win_rate", "alpha", "werewolf"): 1 / 2,
    ("deception", "alpha", "werewolf"): 1 / 2,
    ("win_rate", "gamma", "werewolf"): 1 / 2,
}
