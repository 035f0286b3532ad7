"""Small games of which some have failed, as interchange JSON, and a lake of them."""

import json
from pathlib import Path
from typing import Any

import pipeline
from pipeline.api import Lake
from pipeline.game_record import OUTAGE_MARK
from pipeline.ingest import ingest

OUTAGE = f"{OUTAGE_MARK}4624 failed to generate"
Row = dict[str, Any]


def dilemma(
    number: int,
    scores: tuple[float, float] | None,
    failures: tuple[str | None, str | None] = (None, None),
    outage_of: str | None = None,
    ended_by: str | None = None,
) -> Row:
    """A game of Ann, who is alpha, and Bo, who is beta; without scores it is unfinished."""
    seats = [
        {"player": player, "model": model, "failure": failure}
        for player, model, failure in zip(("Ann", "Bo"), ("alpha", "beta"), failures, strict=True)
    ]
    for seat, score in zip(seats, scores or (), strict=False):
        seat["score"] = score
    events = [{"actor": outage_of, "text": OUTAGE, "round": 1}] if outage_of else []
    end = {"ended_by": ended_by}
    game = {"magic_interchange": 1, "system": "example", "game_type": "prisoners_dilemma"}
    game |= {"is_finished": scores is not None, "seats": seats, "events": events, "end": end}
    return game | {"game_index": number}


def village(ida: Row, **more: Any) -> Row:
    """A game of Wu, a werewolf of beta, against Eve and Ida, who are villagers of alpha.

    `ida` is what else is said of her, and `more` of the game, which the villagers won.
    """
    seats = [
        {"player": "Wu", "model": "beta", "role": "werewolf"},
        {"player": "Eve", "model": "alpha", "role": "villager"},
        {"player": "Ida", "model": "alpha", "role": "villager", **ida},
    ]
    game = {"magic_interchange": 1, "system": "example", "game_type": "werewolf", "seats": seats}
    return {**game, "is_finished": True, "end": {"outcome": "villagers_won"}, **more}


GAMES = [
    dilemma(1, (5, 3)),
    dilemma(2, None, ("timeout", None)),
    dilemma(3, (9, 1), ("error", None)),
    dilemma(4, None, ended_by="the network was down"),
    dilemma(5, None, outage_of="Bo"),
    dilemma(6, (1, 4), outage_of="Ann"),
]


def ingested(folder: Path, games: list[Row]) -> Lake:
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, games)))
    ingest(folder / "games.jsonl", folder / "lake")
    return pipeline.open_lake(folder / "lake")
