"""Avalon by agents of one model: Merlin is found, quests fail, and the fifth team goes unasked.

Evil wins the first two games, good the third. A game counts once for each role of a side: the evil
roles win 2 + 3 of 8, the good ones 3 of 8, and Win Rate is the mean of both sides.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Log = dict[str, Any]

MODEL = "model-a"
FIVE = {"Ann": "merlin", "Bo": "good", "Cy": "good", "Di": "assassin", "Eve": "evil"}
SEVEN = {
    **{"Ann": "merlin", "Bo": "percival", "Cy": "good", "Di": "good"},
    **{"Eve": "morgana", "Fay": "mordred", "Gus": "oberon"},
}
EVIL = ("evil", "assassin", "morgana", "mordred", "oberon")


def proposal(
    number: int, leader: str, team: Sequence[str], players: Sequence[str], n_for: int | None
) -> Log:
    """A team, and votes for it by the first `n_for` players; null where nobody is asked."""
    votes = [
        {
            "player": player,
            "vote": "approve" if place < (n_for or 0) else "reject",
            "comment": f"As {player} I think so.",
            "thinking_time": 1.5,
            "reasoning_content": None,
        }
        for place, player in enumerate(players)
    ]
    is_approved = n_for is None or n_for > len(players) // 2
    return {
        "proposal_id": number,
        "leader": leader,
        "team_members": list(team),
        "reasoning": f"{leader} trusts them.",
        "votes": [] if n_for is None else votes,
        "vote_result": "approved" if is_approved else "rejected",
    }


def mission(
    number: int, roles: Mapping[str, str], teams: Sequence[tuple[str, Sequence[str], int | None]]
) -> Log:
    """A mission: the last of the teams goes, and all its evil players fail it."""
    players = list(roles)
    proposals = [proposal(n, *team[:2], players, team[2]) for n, team in enumerate(teams)]
    plays = {player: roles[player] in EVIL for player in teams[-1][1]}
    return {
        "mission_number": number,
        "proposals": proposals,
        "final_team_index": len(proposals) - 1,
        "discussion": [
            {"player": player, "content": f"{player} speaks.", "phase": "discussion"}
            for player in players
        ],
        "quest_actions": [
            {"player": player, "action": "fail" if fails else "success"}
            for player, fails in plays.items()
        ],
        "mission_result": "fail" if any(plays.values()) else "success",
        "fail_count": sum(plays.values()),
    }


def avalon(
    roles: Mapping[str, str], missions: list[Log], winner: str | None, phase: Log | None = None
) -> Log:
    return {
        "game_id": "avalon_20251130_202405",
        "config": {
            "model": MODEL,
            "reasoning_effort": "low",
            "mission_team_sizes": [2, 3, 2, 3, 3],
            "num_messages_per_player": 1,
            "num_players": len(roles),
        },
        "players": [
            {"name": name, "role": role, "is_good": role not in EVIL, "special_knowledge": []}
            for name, role in roles.items()
        ],
        "missions": missions,
        "winner": winner,
        "assassin_phase": phase,
    }


def assassination(assassin: str, evil: Sequence[str], guess: str, *, correct: bool) -> Log:
    return {
        "assassin": assassin,
        "evil_discussion": [{"player": one, "content": f"I am {one}."} for one in evil],
        "guess": guess,
        "reasoning": f"{guess} knew too much.",
        "correct": correct,
    }


def merlin_found() -> Log:
    won = [mission(n, FIVE, [("Ann", ["Ann", "Bo"], 4)]) for n in (1, 2, 3)]
    won[1] = mission(2, FIVE, [("Bo", ["Di", "Eve"], 2), ("Cy", ["Ann", "Cy"], 3)])
    return avalon(FIVE, won, "evil", assassination("Di", ["Di", "Eve"], "Ann", correct=True))


def quests_failed() -> Log:
    """The first team of the third quest is rejected four times over; the fifth goes unasked."""
    lost = [mission(n, SEVEN, [("Gus", ["Ann", "Fay"], 7)]) for n in (1, 2, 3)]
    teams = [(leader, ["Bo", "Cy"], 3) for leader in ("Ann", "Bo", "Cy", "Di")]
    lost[2] = mission(3, SEVEN, [*teams, ("Eve", ["Eve", "Gus"], None)])
    return avalon(SEVEN, lost, "evil")


def good_won() -> Log:
    won = [mission(n, SEVEN, [("Ann", ["Ann", "Bo", "Cy"], 4)]) for n in (1, 2, 3)]
    phase = assassination("Eve", ["Eve", "Fay", "Gus"], "Bo", correct=False)
    return avalon(SEVEN, won, "good", phase)


def cut_short() -> Log:
    """Two quests, and no winner."""
    return avalon(FIVE, [mission(n, FIVE, [("Ann", ["Ann", "Bo"], 4)]) for n in (1, 2)], None)


LOGS = [json.dumps(log, indent=2).encode() for log in (merlin_found(), quests_failed(), good_won())]
ANSWERS = {
    ("win_rate", MODEL, "avalon"): 1 / 2,
    ("deception", MODEL, "avalon"): 5 / 8,
}
