"""Logs that call one model several names, and the same logs with one name for each."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from logs import interchange

from pipeline.events.readings import sha256
from pipeline.simulate import simulate

NAMES = {"openai/sim-atlas": "sim-atlas", "a'\"z/gpt-4": "gpt-4", "Model-A": "model-a"}
# The seats of a werewolf game: who is whom decides which of them are one side after all.
SEATS = [
    ["model-b", "Model-A", "model-a", None, "model-b"],
    ["model-a", "Model-A", "model-a", None, "Model-A"],
    ["model-b", "Model-A", "model-b", "Model-A", "model-a"],
    ["Model-A", "model-b", "model-b", None, "model-a"],
]


def joined_bytes(data: bytes) -> bytes:
    for name, one in NAMES.items():
        data = data.replace(json.dumps(name)[1:-1].encode(), one.encode())
    return data


def hashed(data: bytes) -> str:
    """Of both spellings one, so that games have the same ids in both lakes."""
    return sha256(joined_bytes(data))


def magic_logs(folder: Path) -> None:
    """Simulated logs, of which every second one has other names."""
    simulate(folder, models=3, games=4, seed=3)
    for file in sorted((folder / "results").rglob("*[13].json")):
        data = file.read_bytes()
        for name, one in NAMES.items():
            spelling = json.dumps(name)[1:-1]
            data = data.replace(f'"{one}"'.encode(), f'"{spelling}"'.encode())
        file.write_bytes(data)


def other_logs(folder: Path) -> None:
    """Games in which seats of one model have different names, on one side or on two."""
    logs: list[Any] = []
    for models in SEATS:
        for ending in ("villagers_won", "werewolves_won"):
            logs.append(log := deepcopy(interchange.WEREWOLF))
            log["end"], log["setting"] = {"outcome": ending}, {"number": len(logs)}
            for seat, model in zip(log["seats"], models, strict=True):
                seat.update({"model": model} if model else {})
    for models in (["model-a", "Model-A"], ["Model-A", "model-b"]):
        logs.append(log := deepcopy(interchange.PUBLIC_GOOD))
        for seat, model in zip(log["seats"], models, strict=True):
            seat["model"] = model
    folder.mkdir(parents=True)
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, logs)))
