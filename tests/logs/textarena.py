"""TextArena's Avalon: a game with two teams for one mission, and a table with bots.

Two models are evil in the first game and win by a right guess; model-b is good there as well. In
the second, model-a is a good player among bots, and evil does not find Merlin.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Log = dict[str, Any]

ROLES = ("Merlin", "Servant", "Minion", "Morgana", "Servant")
AGENTS = ("model-b", "model-b", "model-a", "model-b", "deeprole")
EVIL = ("Minion", "Morgana")
YES, NO = "<vote>approve</vote>", "<vote>reject</vote>"


def moderate(message: str) -> Log:
    return {"from": -1, "message": message}


class Table:
    """The state of a game, which the engine writes down before each phase."""

    def __init__(self) -> None:
        self.state: Log = {
            "num_players": len(ROLES),
            "phase": "Discussion",
            "mission_index": 0,
            "leader_pid": 3,
            "num_discussion_rounds": 1,
            "team_proposal": [],
            "consecutive_failed_team_proposals": 0,
            "votes": {},
        }

    def told(self, phase: str, **changes: object) -> Log:
        self.state |= {"phase": phase, **changes}
        return moderate(f"<game_state>{json.dumps(self.state)}</game_state>")

    def attempt(self, team: Sequence[int], approving: Sequence[int] | None) -> Iterator[Log]:
        """A discussion, a team, and the votes for it; null where the team goes unasked."""
        leader = self.state["leader_pid"]
        yield self.told("Discussion")
        yield from ({"from": pid, "message": f"I am {pid}."} for pid in range(len(ROLES)))
        yield self.told("Team-Proposal")
        yield moderate("Mission: 1\nPhase: Team-Proposal\nYou are the leader, propose a team.")
        yield {"from": leader, "message": f"<team>{list(team)}</team>"}
        if approving is None:
            yield moderate("Four team proposals were rejected in a row on this mission.")
        else:
            yield self.told("Voting", team_proposal=list(team))
            for pid in range(len(ROLES)):
                yield {"from": pid, "message": YES if pid in approving else NO}
            votes = {
                str(pid): "approve" if pid in approving else "reject" for pid in range(len(ROLES))
            }
            self.state |= {"votes": votes}
        if approving is None or len(approving) > len(ROLES) // 2:
            fails = any(ROLES[pid] in EVIL for pid in team)
            changes = {"team_proposal": list(team), "consecutive_failed_team_proposals": 0}
            yield self.told("Mission", **changes)
            yield moderate("Mission: 1\nPhase: Mission\nYou are on the mission team. Choose.")
            result = "Mission Failed. At least one" if fails else "Mission Succeeded. All actions"
            yield moderate(result)
            self.state["mission_index"] += 1
        else:
            yield moderate("No consensus - the team proposal was not passed.")
            self.state["consecutive_failed_team_proposals"] += 1
        self.state["leader_pid"] = (leader + 1) % len(ROLES)


def textarena(
    attempts: Sequence[tuple[Sequence[int], Sequence[int] | None]],
    reason: str,
    *,
    evil_wins: bool | None,
    agents: Sequence[str] | None = AGENTS,
    agent: str = "mixed",
    invalid: Mapping[int, str] | None = None,
) -> Log:
    """A game by its teams and who approves of each; `invalid` are moves that were not valid."""
    table = Table()
    log = [moderate(f"You are Player {pid}.") for pid in range(len(ROLES))]
    log += [
        moderate(f'<player_state>{{"pid": {pid}, "role": "{role}"}}</player_state>')
        for pid, role in enumerate(ROLES)
    ]
    for attempt in attempts:
        log += table.attempt(*attempt)
    if "Merlin" in reason:
        log.append(table.told("Guess-Merlin"))
        log.append(moderate("Mission: 4\nPhase: Guess-Merlin\nEvil team, you have one chance."))
    log += [
        moderate(f"Player {pid} attempted an invalid move. Reason: {why} Please resubmit a move.")
        for pid, why in (invalid or {}).items()
    ]
    return {
        "run_index": 7,
        "seed": 1007,
        "env_id": "Avalon-v0",
        "agent": agent,
        **({} if agents is None else {"seat_agents": list(agents)}),
        "special_roles": ["Merlin", "Morgana"],
        "rewards": {
            str(pid): 0 if evil_wins is None else 1 if (role in EVIL) == evil_wins else -1
            for pid, role in enumerate(ROLES)
        },
        "game_info": {
            str(pid): {
                "role": role,
                "invalid_move": pid in (invalid or {}),
                "turn_count": 0,
                "reason": reason,
            }
            for pid, role in enumerate(ROLES)
        },
        "vote_events": [],
        "logs": log,
    }


def merlin_found() -> Log:
    return textarena(
        [([0, 1], [0, 1, 2]), ([2, 3, 4], [2, 3]), ([0, 1, 4], [0, 1, 2, 3]), ([0, 1], range(5))],
        "Evil correctly guessed Merlin as Player 0\nEvil wins!",
        evil_wins=True,
    )


def good_won() -> Log:
    return textarena(
        [([0, 1], [0, 1, 4]), ([0, 1, 4], [0, 1, 4]), ([0, 4], [0, 1, 4])],
        "3 missions succeeded and evil failed to correctly guess Merlin\nGood wins!",
        evil_wins=False,
        agents=["deeprole", "model-a", "deeprole", "deeprole-llm", "deeprole"],
        invalid={2: "Merlin guess not in valid format", 3: "Merlin guess not in valid format"},
    )


def of_one_agent(agent: str) -> Log:
    """The fifth team of the first mission goes unasked, and two missions more fail."""
    unasked = [*[([0, 1], [0, 1])] * 4, ([2, 3], None)]
    return textarena(
        [*unasked, ([2, 3, 4], [2, 3, 4]), ([2, 4], [2, 3, 4])],
        "3 missions failed.\nEvil wins!",
        evil_wins=True,
        agents=None,
        agent=agent,
    )


def cut_off() -> Log:
    """The last row is the second player's vote."""
    log = textarena([([0, 1], [0, 1, 2])], "Time is up.", evil_wins=None)
    votes = [place for place, row in enumerate(log["logs"]) if row["message"] in (YES, NO)]
    del log["logs"][votes[1] + 1 :]
    return log


LOGS = [
    json.dumps(log, ensure_ascii=False).encode()
    for log in (merlin_found(), good_won(), of_one_agent("model-c"), cut_off())
]
ANSWERS = {
    # As good and as evil: (1 + 1) / 2 for model-a, (0 + 1) / 2 for the others.
    ("win_rate", "model-a", "avalon"): 1.0,
    ("win_rate", "model-b", "avalon"): 0.5,
    ("win_rate", "model-c", "avalon"): 0.5,
    ("deception", "model-a", "avalon"): 1.0,
    ("deception", "model-b", "avalon"): 1.0,
    ("deception", "model-c", "avalon"): 1.0,
}
