"""Logs of models that met each other on both sides, alone, and under names of an enemy's making."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostile import ESCAPES, MARKUP
from logs.interchange import PUBLIC_GOOD

import pipeline
from pipeline.ingest import ingest

PLAYERS = ("Ana", "Bo", "Cy")
HOSTILE = [*ESCAPES.values(), *MARKUP, '=HYPERLINK("http://evil.example")', "data", "CON", "a/../b"]
SAID = 'I am "m-1" not m-10, and m-1\n\x1b[31m \u202e</script> é 漢 \\u0041'


def undercover(number: int, models: Sequence[str], outcome: str = "caught") -> dict[str, Any]:
    """A game whose first seat is the undercover; all vote for Bo, and Bo for Ana."""
    return {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "undercover",
        "setting": {"n": number},
        "is_finished": outcome != "",
        **({"end": {"outcome": outcome}} if outcome else {}),
        "seats": [
            {"player": player, "model": model, "role": "civilian" if seat else "undercover"}
            for seat, (player, model) in enumerate(zip(PLAYERS, models, strict=True))
        ],
        "events": [
            {"text": f"Game {number}."},
            {"actor": "Ana", "round": 1, "text": SAID, "visible_to": ["Ana"]},
            *(
                {
                    "actor": player,
                    "round": 1,
                    "text": f"I vote, says {model}.",
                    "acts": [{"act": "votes", "target": "Ana" if player == "Bo" else "Bo"}],
                }
                for player, model in zip(PLAYERS, models, strict=True)
            ),
        ],
    }


def public_good(number: int, models: Sequence[str], scores: Sequence[int] | None) -> dict[str, Any]:
    """A game of two who play for themselves; the most points win, also shared ones.

    Without scores it did not end.
    """
    seats: list[dict[str, Any]] = [
        {"player": player, "model": model}
        for player, model in zip(("Ann", "Bo"), models, strict=True)
    ]
    for seat, score in zip(seats, scores or (), strict=False):
        seat.update(score=score, is_win=score == max(scores or ()))
    end = PUBLIC_GOOD["end"] if scores else None
    game = {**PUBLIC_GOOD, "system": "lab", "setting": {"n": number}, "seats": seats}
    return game | {"is_finished": end is not None, "end": end}


GAMES = [
    undercover(0, ["m-1", "m-2", "m-3"], "caught"),
    undercover(1, ["m-1", "m-2", "m-2"], "voted_wrong"),
    undercover(2, ["m-1", "m-2", "m-1"], "tie"),
    undercover(3, ["m-1", "m-1", "m-1"], "caught"),
    undercover(4, ["m-1", "m-2", "m-3"], ""),
    public_good(5, ["m-2", "m-1"], [3, 2]),
    public_good(6, ["m-2", "m-1"], [2, 2]),
    public_good(7, ["m-2", "m-2"], [3, 2]),
    public_good(8, ["m-2", "m-1"], None),
]


def made(folder: Path, games: Sequence[dict[str, Any]]) -> "pipeline.Lake":
    """A lake of the games."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, games)))
    ingest(folder / "games.jsonl", folder / "lake", jobs=1)
    return pipeline.open_lake(folder / "lake")
