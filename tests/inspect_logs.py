"""Logs in the shape that Inspect 0.3.285 writes, compared by hand with those of its mock model.

A log is a dictionary of its header; its samples are apart, as in an `.eval`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from test_archives import zipped, zipped_with_zstd

Log = dict[str, Any]

ROLES = {"red": "mockllm/model-red", "blue": "mockllm/model-blue"}
PLAYERS = ("red", "blue", "green")


def chameleon(number: int) -> Log:
    """A game of Chameleon: blue is voted out if the number is odd, and then guesses wrong."""
    votes = {"red": "blue", "blue": "red", "green": "blue" if number % 2 else "red"}
    return {
        "magic_interchange": 1,
        "system": "my-task",
        "game_type": "chameleon",
        "setting": {"topic": "Fruits", "code": f"Apple {number}"},
        "is_finished": True,
        "end": {"outcome": "guessed_wrong" if number % 2 else "voted_wrong"},
        "seats": [
            {"player": name, "role": "chameleon" if name == "blue" else "non_chameleon"}
            for name in PLAYERS
        ],
        "events": [
            {"actor": name, "round": 1, "phase": "clue", "text": f"clue of {name}"}
            for name in PLAYERS
        ]
        + [
            {
                "actor": name,
                "round": 1,
                "text": f"I vote for {target}.",
                "acts": [{"act": "votes", "target": target}],
            }
            for name, target in votes.items()
        ],
    }


def header(status: str = "success") -> Log:
    """What a log says besides its samples; its `results` hold a number that JSON lacks."""
    config = {"max_tokens": 100}
    return {
        "version": 2,
        "status": status,
        "eval": {
            "eval_id": "hKx",
            "task": "chameleon",
            "task_args": {"rounds": 1},
            "dataset": {"samples": 5, "sample_ids": [*range(5)]},
            "model": "mockllm/model",
            "model_roles": {
                role: {"model": model, "config": config, "args": {}}
                for role, model in ROLES.items()
            },
        },
        "plan": {"steps": [{"solver": "play", "params": {}}]},
        "results": {"scores": [{"metrics": {"mean": {"value": float("nan")}}}]},
        "stats": {"model_usage": {}},
    }


def sample(number: int, game: Log | None = None, place: str = "store", **parts: Any) -> Log:
    """A sample, with a game document in its store or metadata if there is one."""
    made = {
        "id": number,
        "epoch": 1,
        "input": f'game {number}: "samples": [{{',
        "messages": [{"role": "user", "content": 'NaN \\ " ] } 李'}],
        "output": {"model": "mockllm/model", "choices": []},
        "scores": {"odd": {"value": float("nan"), "metadata": {"x": float("-inf")}}},
        "metadata": {"lowest": float("inf")},
        "store": {},
        "events": [{"event": "sample_init"}, {"event": "model", "role": "red"}],
        "model_usage": {"mockllm/model": {"input_tokens": 6, "total_tokens": 72}},
        "started_at": f"2026-11-27T03:54:1{number % 10}.102017+00:00",
        "total_time": 0.765,
        "uuid": f"u{number}",
    }
    if game is not None:
        made[place]["magic"] = game
    return made | parts


def json_log(samples: Sequence[Log] | None, indent: int | None = 2, **parts: Any) -> bytes:
    """A log of one JSON object."""
    listed = {} if samples is None else {"samples": samples}
    after = {"reductions": [{"scorer": "odd", "samples": [{"value": float("nan")}]}]}
    log = {**header(), **parts, **listed, **after}
    return json.dumps(log, indent=indent, ensure_ascii=False).encode()


def eval_log(samples: Iterable[Log], *, is_running: bool = False, is_zstd: bool = True) -> bytes:
    """An `.eval`; of a task that runs, its header is only in the journal."""
    whole = header()
    members = {"_journal/start.json": {key: whole[key] for key in ("version", "eval", "plan")}}
    members |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    members["_journal/summaries/1.json"] = [{"id": 0, "magic": chameleon(0)}]
    if not is_running:
        members |= {"summaries.json": [], "header.json": whole}
    pack = zipped_with_zstd if is_zstd else zipped
    return pack({name: json.dumps(value).encode() for name, value in members.items()})
