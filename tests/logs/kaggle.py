"""Kaggle's Werewolf: an episode that the villagers win, and one that the werewolves win.

Its Prisoner's Dilemma: `ipd`, OpenSpiel's repeated game, and one of that with a forfeit. And what
is played in turn: an offer that is accepted, one that is not, and coins on a board.
"""

import json
from collections.abc import Sequence
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
TEAMS = ("delta", "epsilon")
POINTS = ((5, 0), (10, 1))
PLAYED = ((0, 0), (1, 0), (0, 1), (1, 0), (1, 1))


def ipd(choices: Sequence[tuple[int, int]] = PLAYED) -> dict[str, Any]:
    """An episode in which a reward is what a player has so far."""
    sums = [0, 0]
    steps = [[{"action": 0, "reward": 0, "observation": {"step": 0}, "status": "ACTIVE"}] * 2]
    for number, (one, other) in enumerate(choices, start=1):
        sums = [sums[0] + POINTS[one][other], sums[1] + POINTS[other][one]]
        status = "DONE" if number == len(choices) else "ACTIVE"
        steps.append(
            [
                {"action": own, "reward": total, "observation": {"step": number}, "status": status}
                for own, total in zip((one, other), sums, strict=True)
            ]
        )
    return {
        "name": "ipd",
        "version": "1.0.0",
        "configuration": {"episodeSteps": len(choices)},
        "info": {"TeamNames": list(TEAMS)},
        "steps": steps,
    }


def repeated(
    choices: Sequence[tuple[int, int]] = PLAYED, stage: str = "matrix_pd"
) -> dict[str, Any]:
    """An episode of OpenSpiel's, with the thoughts and the calls of the second player only."""
    sums = [sum(POINTS[a][b] for a, b in choices), sum(POINTS[b][a] for a, b in choices)]
    loaded = f"repeated_game(num_repetitions={len(choices)},recall=1,stage_game={stage}())"
    return {
        "name": "open_spiel_repeated_game",
        "module_version": "1.33.2",
        "configuration": {
            "episodeSteps": 300,
            "openSpielGameString": f"repeated_game(num_repetitions=100,stage_game={stage}())",
            "openSpielGameParameters": {"stage_game": {"name": stage}},
        },
        "info": {"TeamNames": list(TEAMS), "openSpielGameStringResolved": loaded},
        "steps": [
            [state({"submission": -1}, None, 0.0)] * 2,
            [state({"submission": -1}, None, None)] * 2,
            *(
                round_of(pair, sums if number == len(choices) else (None, None))
                for number, pair in enumerate(choices, start=1)
            ),
        ],
    }


def round_of(choices: tuple[int, int], rewards: Sequence[float | None]) -> list[dict[str, Any]]:
    is_last = None not in rewards
    actions = [
        {"submission": choices[0]},
        {
            "submission": choices[1],
            "thoughts": f"I take {choices[1]}.",
            "call_details": [{"model": "epsilon-2", "total_tokens": 13, "duration_secs": 0.5}],
        },
    ]
    return [
        state(action, choice, reward, is_last=is_last)
        for action, choice, reward in zip(actions, choices, rewards, strict=True)
    ]


def state(
    action: Any,
    applied: int | None,
    reward: float | None,
    status: str = "ACTIVE",
    *,
    is_last: bool = False,
    text: str | None = None,
) -> dict[str, Any]:
    info = {"actionSubmitted": applied, "actionSubmittedToString": text, "actionApplied": applied}
    return {
        "action": action,
        "reward": reward,
        "info": info | {"timeTaken": 0.5},
        "observation": {"observationString": "", "isTerminal": is_last},
        "status": "DONE" if is_last else status,
    }


def failed(statuses: Sequence[str], rewards: Sequence[float | None], **last: Any) -> dict[str, Any]:
    """OpenSpiel's game, in the third round of which the second player does not choose."""
    log = repeated()
    ends = zip(statuses, rewards, ({"submission": 0}, last or None), strict=True)
    log["steps"][4:] = [[state(action, None, reward, status) for status, reward, action in ends]]
    return log


FORFEIT = failed(
    ("DONE", "DONE"),
    (1, -1),
    submission=-1,
    thoughts="Neither.",
    failureCategory="UNPARSABLE",
)
# Each act: the seat, from 0, and OpenSpiel's words for it.
BARGAINED = (
    (0, "Offer: Book: 2, Hat: 0, Basketball: 1"),
    (1, "Offer: Book: 1, Hat: 1, Basketball: 1"),
    (0, "Offer: Book: 1, Hat: 0, Basketball: 1"),
    (1, "Agree"),
)
NEGOTIATED = (
    (0, "Proposal: [4, 0, 3]"),
    (0, ", Utterance: [3, 3, 1]"),
    (1, "Proposal: [3, 1, 4]"),
    (1, ", Utterance: [2, 3, 2]"),
    (0, "Proposal: Agreement reached!"),
)
NO_DEAL = (*NEGOTIATED[:-1], (0, "Proposal: [5, 5, 5]"), (0, ", Utterance: [0, 0, 0]"))
COINS = ((0, "up"), (1, "left"), (0, "stand"), (1, "down"), (0, "right"), (1, "up"))


def in_turn(
    name: str,
    acts: Sequence[tuple[int, str]],
    rewards: tuple[float, float],
    parameters: str = "rng_seed=7,instances_file=,max_turns=10,discount=0.5,is_private=True",
) -> dict[str, Any]:
    """An episode of a game that is played in turn; the second player thinks before it acts."""
    steps = [
        [state({"submission": -1}, None, 0.0)] * 2,
        [state({"submission": -1}, None, None)] * 2,
    ]
    for number, (seat, text) in enumerate(acts, start=1):
        is_last = number == len(acts)
        both = [
            state({"submission": -1}, None, reward if is_last else None, is_last=is_last)
            for reward in rewards
        ]
        action = {"submission": number, "actionString": text}
        if seat == 1:
            call = {"model": "epsilon-2", "total_tokens": 13, "duration_secs": 0.5}
            action |= {"thoughts": f"I think of {text}.", "call_details": [call]}
        both[seat] |= state(action, number, both[seat]["reward"], is_last=is_last, text=text)
        steps.append(both)
    return {
        "name": f"open_spiel_{name}",
        "module_version": "1.33.2",
        "configuration": {"episodeSteps": 119},
        "info": {
            "TeamNames": list(TEAMS),
            "openSpielGameStringResolved": f"{name}_proxy({parameters})",
        },
        "steps": steps,
    }


IN_TURN = {
    "bargaining": in_turn("bargaining", BARGAINED, (7.0, 4.0)),
    "negotiation": in_turn("negotiation", NEGOTIATED, (30.0, 120.0)),
    "no deal": in_turn("negotiation", NO_DEAL, (0.0, 0.0)),
    "coin_game": in_turn("coin_game", COINS, (-3.0, -3.0)),
}
LOGS = [
    *map(encode, (VILLAGERS_WIN, WEREWOLVES_WIN, BROKEN_OFF, ipd(), repeated(), FORFEIT)),
    *map(encode, IN_TURN.values()),
]
# The broken-off game does not count. An abstention is no correct vote. In the dilemma, delta
# defects in 3 rounds of 5, twice, and in 1 of the 2 before the forfeit; epsilon in 2 of 5, twice,
# and in none of 2. Whoever has more wins what is played in turn; as many are a draw.
ANSWERS = {
    ("win_rate", "delta", "bargaining"): 1.0,
    ("win_rate", "delta", "negotiation"): 1 / 4,
    ("win_rate", "epsilon", "negotiation"): 3 / 4,
    ("win_rate", "delta", "coin_game"): 1 / 2,
    ("win_rate", "delta", "prisoners_dilemma"): 1.0,
    ("win_rate", "epsilon", "prisoners_dilemma"): 0.0,
    ("rationality", "delta", "prisoners_dilemma"): 7 / 12,
    ("rationality", "epsilon", "prisoners_dilemma"): 4 / 12,
    ("judgement", "alpha", "werewolf"): 2 / 2,
    ("judgement", "beta", "werewolf"): 2 / 3,
    ("judgement", "gamma", "werewolf"): 2 / 6,
    ("win_rate", "alpha", "werewolf"): 1 / 2,
    ("deception", "alpha", "werewolf"): 1 / 2,
    ("win_rate", "gamma", "werewolf"): 1 / 2,
}
