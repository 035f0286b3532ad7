"""Plays games by kaggle-environments, and prints what that package says of them.

    python tests/kaggle_games.py FOLDER

Needs that package with open_spiel, pandas and tqdm, and nothing of this project. The episodes are
written to the folder; what is printed is JSON: of Werewolf `winners`, and `irp`, by agent the votes
that the package's evaluator scores 1, and all; of other games `scores` and `ended_by` by file.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kaggle_environments import make
from kaggle_environments.envs.werewolf.eval.loaders import GameResult

NAMES = ("Ann", "Bo", "Cy", "Dee", "Zoë", "Fay", "Gus")
ROLES = ("Werewolf", "Werewolf", "Seer", "Doctor", "Villager", "Villager", "Villager")
N_GAMES = 12
# The last game of each of these is forfeited.
OTHERS = ("repeated_game", "negotiation", "bargaining", "coin_game")
N_OTHERS = 5
FORFEIT = {"submission": -1, "failureCategory": "ILLEGAL"}


def episode(name: str, players: list[Any], **configuration: Any) -> Any:
    env = make(name, configuration=configuration, info={"TeamNames": ["delta", "epsilon"]})
    env.run(players)
    return env.toJSON()


def werewolf(seed: int) -> Any:
    """A game of seven random players, who pass for language models of three names."""
    roles = list(ROLES)
    Random(seed).shuffle(roles)
    agents = [
        {"id": name, "role": role, "agent_id": "llm/x", "display_name": f"model-{number % 3}"}
        for number, (name, role) in enumerate(zip(NAMES, roles, strict=True))
    ]
    voting = ("SequentialVoting", "SimultaneousMajority")[seed % 2]
    return episode(
        "werewolf",
        ["random"] * len(agents),
        agents=agents,
        seed=seed,
        actTimeout=60,
        randomize_ids=seed % 3 == 0,
        day_voting_protocol={"name": voting, "params": {}},
        night_elimination_reveal_level=("role", "team", "no_reveal")[seed % 3],
    )


def player(seed: int, *, fails: bool = False) -> Callable[[Any, Any], Any]:
    """A player of legal actions by chance, who thinks; one that fails forfeits its second turn."""
    dice, turns = Random(seed), []

    def act(observation: Any, configuration: Any) -> Any:
        legal = observation.get("legalActions") or [0]  # none before play
        turns.extend([1] * bool(observation.get("legalActions")))
        return (
            FORFEIT
            if fails and len(turns) > 1
            else {
                "submission": dice.choice(legal),
                "thoughts": "Hm.",
            }
        )

    return act


def main(folder: Path) -> None:
    irp: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    told: dict[str, Any] = {"irp": irp, "winners": [], "scores": {}, "ended_by": {}}
    for seed in range(N_GAMES):
        played = werewolf(seed)
        (folder / f"{seed}.json").write_text(json.dumps(played), encoding="utf-8")
        result = GameResult(played)
        told["winners"].append(result.winner_team.value)
        for agent, score in result.irp_results:
            irp[agent][0] += score
            irp[agent][1] += 1
    for name in OTHERS:
        parameters = {"num_repetitions": 6} if name == "repeated_game" else {}
        for seed in range(N_OTHERS):
            is_last = seed == N_OTHERS - 1
            played = episode(
                f"open_spiel_{name}",
                [player(seed), player(seed + 50, fails=is_last)],
                includeLegalActions=True,
                openSpielGameParameters=parameters,
            )
            file = f"{name}-{seed}.json"
            (folder / file).write_text(json.dumps(played), encoding="utf-8")
            told["scores"][file] = [None, None] if is_last else played["rewards"]
            told["ended_by"][file] = "forfeit: ILLEGAL" if is_last else None
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
