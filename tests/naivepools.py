"""The logs of `goods` and `pgg_bench` read with json and loops, and the metrics worked out anew."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Event = dict[str, Any]


def logs(files: Mapping[str, bytes]) -> dict[str, list[Event]]:
    """The events of each game, by path."""
    return {
        path: [json.loads(line) for line in data.splitlines()]
        for path, data in files.items()
        if not path.endswith("global_scores.jsonl")
    }


def model_of(game: list[Event], player: str) -> str:
    return str(game[0]["short_name_map"][player]["model_name"])


def rounds(game: list[Event]) -> dict[int, dict[str, float]]:
    """What each player put in, by round."""
    amounts: dict[int, dict[str, float]] = defaultdict(dict)
    for event in game:
        if event["type"] == "contribution":
            amounts[event["round"]][event["player_id"]] = event["contribution"]
    return amounts


def answers(games: Iterable[list[Event]]) -> dict[tuple[str, str], float]:
    """Win rate and rationality of each model, over the games that ended."""
    shares: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for game in games:
        if game[-1]["type"] != "final":
            continue
        balances = game[-1]["final_tokens"]
        for model, balance in balances.items():
            shares["win_rate", model].append(balance == max(balances.values()))
        for amounts in rounds(game).values():
            for player, amount in amounts.items():
                is_least = amount == min(amounts.values())
                shares["rationality", model_of(game, player)].append(is_least)
    return {key: sum(hits) / len(hits) for key, hits in shares.items()}
