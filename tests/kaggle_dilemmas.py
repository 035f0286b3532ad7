"""Plays the Prisoner's Dilemma by kaggle-environments, and prints what OpenSpiel's history says.

    python tests/kaggle_dilemmas.py FOLDER

Needs that package with open_spiel, and nothing of this project. The episodes are written to the
folder, with some of other games; what is printed is JSON: `choices`, `points` and `ended_by` by
file, and `others`, the names of the other games.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kaggle_environments import make

DILEMMA = "open_spiel_repeated_game"
OTHERS = ("open_spiel_tic_tac_toe", "open_spiel_connect_four", "open_spiel_mancala")
Agent = Callable[[Any, Any], Any]


def player(seed: int, fails_at: int | None = None, answer: Any = None) -> Agent:
    """A player that chooses at random, and from one of its turns on answers something else."""
    dice, turns = Random(seed), [0]

    def act(observation: Any, configuration: Any) -> Any:
        turns[0] += 1
        if fails_at is not None and turns[0] > fails_at:
            if answer is None:
                raise ValueError("no answer")
            return answer
        return {"submission": int(dice.random() < 0.5), "thoughts": "Hm."}

    return act


def episode(name: str, agents: list[Any], **configuration: Any) -> dict[str, Any]:
    env = make(name, configuration=configuration, info={"TeamNames": ["delta", "epsilon"]})
    env.run(agents)
    played: dict[str, Any] = env.toJSON()
    return played


def main(folder: Path) -> None:
    """Writes the episodes and prints the counts."""
    forfeit = {"submission": -1, "failureCategory": "ILLEGAL"}
    games: dict[str, tuple[list[Agent], str | None]] = {
        f"{seed}.json": ([player(seed), player(seed + 50)], None) for seed in range(5)
    }
    games["forfeit.json"] = [player(1), player(2, 3, forfeit)], "forfeit: ILLEGAL"
    games["error.json"] = [player(1), player(2, 3)], "error"
    counted: dict[str, Any] = {"choices": {}, "points": {}, "ended_by": {}, "others": OTHERS}
    for file, (agents, ended_by) in games.items():
        parameters = {"num_repetitions": 6}
        played = episode(DILEMMA, agents, openSpielGameParameters=parameters)
        (folder / file).write_text(json.dumps(played), encoding="utf-8")
        history = played["info"]["stateHistory"][-1]
        counted["choices"][file] = re.findall("cooperate|defect", history.lower())
        counted["ended_by"][file] = ended_by
        totals = [float(n) for n in history.rpartition("Total Returns:")[2].split()]
        counted["points"][file] = totals if ended_by is None else [None, None]
    for name in OTHERS:
        played = episode(name, ["random", "random"], includeLegalActions=True)
        (folder / f"{name}.json").write_text(json.dumps(played), encoding="utf-8")
    print(json.dumps(counted))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
