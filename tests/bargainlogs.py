"""Small logs of `bargain`, made by hand for the tests: plain dicts that a test may bend."""

from collections.abc import Mapping, Sequence
from typing import Any

Log = dict[str, Any]
Row = dict[str, Any]
Allocation = Mapping[str, Sequence[int]]

AGENTS = ("alpha_1", "beta_2")
MODELS = {"alpha_1": "alpha", "beta_2": "beta"}
REASON = "This suits us all."


def say(agent: str, round_: int, text: str) -> Row:
    return {"phase": "discussion", "round": round_, "from": agent, "content": text}


def propose(agent: str, round_: int, allocation: Allocation, reason: str = REASON) -> Row:
    proposal = {"allocation": allocation, "reasoning": reason, "proposed_by": agent}
    return {
        "phase": "proposal",
        "round": round_,
        "from": agent,
        "content": f"I propose this allocation: {allocation} - {reason}",
        "proposal": proposal | {"round": round_},
    }


def enumerate_(round_: int, proposers: Sequence[str]) -> Row:
    return {
        "phase": "proposal_enumeration",
        "round": round_,
        "from": "system",
        "content": f"FORMAL PROPOSALS SUBMITTED - Round {round_}",
        "enumerated_proposals": [
            {"proposal_number": number, "proposer": proposer}
            for number, proposer in enumerate(proposers, start=1)
        ],
    }


def tally(round_: int, accepts: Sequence[int], n_agents: int = 2) -> Row:
    """The tally as the system writes it, with its last line, which names the last proposal."""
    counts = [
        f"Proposal #{number}: {n} accept, {n_agents - n} reject"
        for number, n in enumerate(accepts, start=1)
    ]
    agreed = f"✅ CONSENSUS REACHED! Proposal #{len(accepts)} accepted unanimously!"
    closing = agreed if n_agents in accepts else "❌ No proposal achieved unanimous acceptance."
    return {
        "phase": "vote_tabulation",
        "round": round_,
        "from": "system",
        "content": "\n".join(
            [f"📊 VOTE TABULATION - Round {round_}", "=" * 60, *counts, "", closing]
        ),
    }


def cast(agent: str, round_: int, vote: str) -> Row:
    """A single vote, as only the oldest games log it."""
    return {
        "phase": "voting",
        "round": round_,
        "from": agent,
        "content": f"Votes: {vote}",
        "vote": {"vote": vote, "reasoning": REASON, "voter": agent, "round": round_},
    }


def round_of(
    round_: int, allocations: Sequence[Allocation], accepts: Sequence[int], agents: Sequence[str]
) -> list[Row]:
    """What is logged of a round: talk, proposals, their list and the tally."""
    return [
        *(say(agent, round_, f"I am {agent}.") for agent in agents),
        *(propose(agent, round_, one) for agent, one in zip(agents, allocations, strict=True)),
        enumerate_(round_, agents),
        tally(round_, accepts, len(agents)),
    ]


def game(
    rows: Sequence[Row],
    *,
    agreed: bool,
    final_round: int,
    utilities: Mapping[str, float] | None = None,
    agents: Sequence[str] = AGENTS,
    rounds: int = 2,
    items: int = 4,
) -> Log:
    ends = utilities or {}
    names = ("Apple", "Jewel", "Stone", "Quill")
    return {
        "experiment_id": "e",
        "timestamp": 1755596435.9,
        "config": {
            "m_items": items,
            "n_agents": len(agents),
            "t_rounds": rounds,
            "gamma_discount": 0.9,
            "competition_level": 0.95,
            "random_seed": None,
            "start_time": 1755594921.5,
            "agents": list(agents),
            "items": [{"name": name} for name in names[:items]],
        },
        "consensus_reached": agreed,
        "final_round": final_round,
        "winner_agent_id": None,
        "final_utilities": dict(ends),
        "conversation_logs": list(rows),
        "agent_performance": {
            agent: {"final_utility": ends.get(agent, 0), "model": MODELS[agent]} for agent in agents
        },
    }


def old_game(rows: Sequence[Row], *, agreed: bool, final_round: int, **more: Any) -> Log:
    """The same as the oldest games are logged: without a list of agents, with types of models."""
    log = game(rows, agreed=agreed, final_round=final_round, **more)
    for name in ("agents", "items", "start_time"):
        del log["config"][name]
    log["agent_performance"] = {
        agent: {"agent_id": agent, "model_type": MODELS[agent]}
        for agent in log["agent_performance"]
    }
    return log
