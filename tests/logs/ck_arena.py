"""Games of CK-Arena: one that civilians win, one that an audience decides, one that is cut off.

The first: Player_5 is out by its statement, before the votes of round 1. model-a votes, as a
civilian, for Player_3, Player_5 (out already), Player_6 and Player_3 (out): 2 of 4 undercovers.
model-b votes for nobody, Player_3 and Player_6: 1 of 3. A person, as Player_1 of the last game, is
not under test.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Log = dict[str, Any]
Votes = Mapping[int, int]

CIVILIANS = {1: "model-a", 2: "model-a", 3: "model-b", 4: "model-b"}
UNDERCOVERS = {5: "model-c", 6: "model-a"}


def player(number: int, model: str, role: str) -> Log:
    word = {"civilian": "river", "undercover": "lake"}[role]
    return {"player_id": number, "llm_id": model, "role": role, "assigned_concept": word}


def statement(number: int, player_id: int, round_: int) -> Log:
    return {
        "statement_id": number,
        "player_id": player_id,
        "content": f"It is wet ({number}).",
        "statement_round": round_,
    }


def voting(round_: int, votes: Votes, out: int) -> Log:
    counted = Counter(dict.fromkeys(votes, 0))
    counted.update(target for target in votes.values() if target in votes)
    return {
        "voting_round_id": round_,
        "after_statement_round": round_,
        "votes": [{"voter_id": voter, "voted_for": target} for voter, target in votes.items()],
        "vote_results": {str(one): n for one, n in counted.items()},
        "eliminated": [{"player_id": out}],
    }


def audience(round_: int, out: int) -> Log:
    return {
        "voting_round_id": round_,
        "after_statement_round": round_,
        "audience_choice": out,
        "eliminated": [{"player_id": out}],
    }


def ck_arena(
    civilians: Mapping[int, str],
    undercovers: Mapping[int, str],
    speakers: Sequence[Sequence[int]],
    winner: str | None,
    **process: list[Log],
) -> Log:
    """A game. `speakers` are the players of each round of statements."""
    said = [(one, round_) for round_, ones in enumerate(speakers, 1) for one in ones]
    statements = [statement(number, *each) for number, each in enumerate(said, 1)]
    seated = {**civilians, **undercovers}
    roles = {one: "undercover" if one in undercovers else "civilian" for one in seated}
    return {
        "game_record": {
            "game_id": "20250508-165132",
            "timestamp": "2025-05-08T16:51:32.488655",
            "topic_category": "waters",
            "concept_pair": {"concept_a": "river", "concept_b": "lake"},
            "judges": [{"id": "judge-a", "version": ""}],
            "players": [player(one, seated[one], roles[one]) for one in sorted(seated)],
            "game_process": {"statements": statements, **process},
            "game_summary": {"winner_role": winner},
            "game_analysis": {},
        }
    }


def voted() -> Log:
    return ck_arena(
        CIVILIANS,
        UNDERCOVERS,
        [[3, 1, 5, 6, 2, 4], [6, 1, 4, 2]],
        "civilian",
        voting_rounds=[
            voting(1, {1: 3, 2: 5, 3: 0, 4: 3, 6: 3}, 3),
            voting(2, {1: 6, 2: 3, 4: 6, 6: 1}, 6),
        ],
        metric_eliminations=[
            {"player_id": 5, "elimination_round": 1, "elimination_reason": "Low novelty: 0.20"}
        ],
    )


def watched() -> Log:
    return ck_arena(
        {1: "model-a", 2: "model-b", 3: "model-b"},
        {4: "model-a"},
        [[4, 1, 2, 3], [3, 4, 2]],
        "undercover",
        audience_decisions=[audience(1, 1), audience(2, 2)],
    )


def cut_off() -> Log:
    return ck_arena({1: "human", 2: "model-b"}, {3: "model-a"}, [[1, 3]], None, voting_rounds=[])


LOGS = [json.dumps(log, indent=2).encode() for log in (voted(), watched(), cut_off())]
ANSWERS = {
    ("judgement", "model-a", "undercover"): 2 / 4,
    ("judgement", "model-b", "undercover"): 1 / 3,
    ("win_rate", "model-a", "undercover"): 1 / 2,
    ("win_rate", "model-b", "undercover"): 1 / 2,
    ("win_rate", "model-c", "undercover"): 0.0,
    ("deception", "model-a", "undercover"): 1 / 2,
    ("deception", "model-c", "undercover"): 0.0,
}
