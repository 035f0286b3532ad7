"""Games of a Prisoner's Dilemma in interchange JSON, and lakes of such documents."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pipeline
from pipeline.ingest import ingest


def dilemma(scores: Mapping[str | None, int], **more: Any) -> dict[str, Any]:
    """A finished game of these models, of which the higher score wins."""
    seats = [
        {"player": player, "model": model, "score": score}
        for player, (model, score) in zip("ABCD", scores.items(), strict=False)
    ]
    return {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "prisoners_dilemma",
        "is_finished": True,
        "seats": seats,
        "events": [],
    } | more


def against_a_bot(model: str, *, is_won: bool, **more: Any) -> dict[str, Any]:
    """A game of a model that scores more or less than a bot."""
    seats = [
        {"player": "Uma", "model": model, "score": 5 if is_won else 1},
        {"player": "bot", "is_bot": True, "score": 3},
    ]
    return dilemma({}, seats=seats, **more)


def lake_of_documents(folder: Path, documents: Iterable[Mapping[str, Any]]) -> pipeline.Lake:
    """A lake of the documents, in a new folder."""
    folder.mkdir()
    (folder / "games.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    ingest(folder / "games.jsonl", folder / "lake", jobs=1)
    return pipeline.open_lake(folder / "lake")
