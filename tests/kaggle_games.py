"""Plays Werewolf by kaggle-environments, and prints what its own evaluator makes of the games.

    python tests/kaggle_games.py FOLDER N

Needs that package with pandas and tqdm, and nothing of this project. The episodes are written to
the folder; what is printed is JSON: `irp`, by agent the votes that its evaluator scores 1, and all.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

from kaggle_environments import make
from kaggle_environments.envs.werewolf.eval.loaders import GameResult

NAMES = ("Ann", "Bo", "Cy", "Dee", "Zoë", "Fay", "Gus")
ROLES = ("Werewolf", "Werewolf", "Seer", "Doctor", "Villager", "Villager", "Villager")
PROTOCOLS = ("SequentialVoting", "SimultaneousMajority")


def episode(seed: int) -> dict[str, Any]:
    """A game of seven random players, who pass for language models of three names."""
    roles = list(ROLES)
    Random(seed).shuffle(roles)
    agents = [
        {"id": name, "role": role, "agent_id": "llm/x", "display_name": f"model-{number % 3}"}
        for number, (name, role) in enumerate(zip(NAMES, roles, strict=True))
    ]
    voting = {"name": PROTOCOLS[seed % 2], "params": {}}
    configuration = {
        "agents": agents,
        "seed": seed,
        "actTimeout": 60,
        "randomize_ids": seed % 3 == 0,
        "day_voting_protocol": voting,
        "night_elimination_reveal_level": ("role", "team", "no_reveal")[seed % 3],
    }
    env = make("werewolf", configuration=configuration)
    env.run(["random"] * len(agents))
    played: dict[str, Any] = env.toJSON()
    return played


def main(folder: Path, n_games: int) -> None:
    """Writes the episodes and prints the evaluator's counts."""
    irp: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    winners = []
    for seed in range(n_games):
        played = episode(seed)
        (folder / f"{seed}.json").write_text(json.dumps(played), encoding="utf-8")
        result = GameResult(played)
        winners.append(result.winner_team.value)
        for agent, score in result.irp_results:
            irp[agent][0] += score
            irp[agent][1] += 1
    print(json.dumps({"irp": irp, "winners": winners}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
