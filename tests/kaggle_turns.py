"""Plays games in turn by kaggle-environments, and prints what OpenSpiel's last state says.

    python tests/kaggle_turns.py FOLDER

Needs that package with open_spiel, and nothing of this project. The episodes are written to the
folder; what is printed is JSON: by file `teams`, `rewards`, `acts` (seat and words), `outcome`,
`ended_by`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from kaggle_dilemmas import Agent, episode, player

GAMES = ("negotiation", "bargaining", "coin_game")
TEAMS = ["delta", "epsilon"]
FORFEIT = {"submission": -1, "failureCategory": "ILLEGAL"}


def mover(seed: int, fails_at: int | None = None) -> Agent:
    """A player of legal actions by chance, that accepts a third of all offers."""
    dice, answers = Random(seed), player(seed, fails_at, FORFEIT)

    def act(observation: Any, configuration: Any) -> Any:
        answer = answers(observation, configuration)
        legal = observation.get("legalActions") or []  # none before play
        words = observation.get("legalActionStrings") or []
        agrees = [one for one, said in zip(legal, words, strict=True) if "Agree" in said]
        if legal and answer is not FORFEIT:
            some = agrees if agrees and dice.random() < 1 / 3 else legal
            answer["submission"] = dice.choice(some)
        return answer

    return act


def acts(name: str, last: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """What the last state's own history says, in the words of actions."""
    if name == "coin_game":
        for move in last["move_history"]:
            yield move["player_id"] + 1, move["action"]
    elif name == "bargaining":
        for one in last["offer_history"]:
            keep = [f"{item.title()}: {n}" for item, n in one.get("items", {}).items()]
            yield one["player"] + 1, f"Offer: {', '.join(keep)}" if keep else "Agree"
    else:
        for number, one in enumerate(last["proposals"]):
            kept = "Agreement reached!" if one["accept"] else one["items"]
            yield one["player"] + 1, f"Proposal: {kept}"
            for said in last["utterances"][number : number + 1]:
                yield said["player"] + 1, f", Utterance: {said['symbols']}"


def main(folder: Path) -> None:
    """Writes the episodes and prints the counts."""
    counted = {}
    for name in GAMES:
        for seed in range(6):
            fails_at = 1 if seed == 5 else None
            agents = [mover(seed), mover(seed + 50, fails_at)]
            played = episode(f"open_spiel_{name}", agents, seed=seed, includeLegalActions=True)
            file = f"{name}-{seed}.json"
            (folder / file).write_text(json.dumps(played), encoding="utf-8")
            last = json.loads(played["info"]["stateHistory"][-1])
            agreed = "agreed" if last.get("agreement_reached") else "not_agreed"
            counted[file] = {
                "teams": TEAMS,
                "rewards": [None, None] if fails_at else played["rewards"],
                "acts": [*acts(name, last)],
                "outcome": "completed" if name == "coin_game" else agreed,
                "ended_by": "forfeit: ILLEGAL" if fails_at else None,
            }
    print(json.dumps(counted))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
