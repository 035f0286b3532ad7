"""A game's messages in words: who spoke to whom, what was said, and what was counted in it."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from pipeline.cells import NULL
from pipeline.printable import printable

EVERYBODY = "all"
# What was counted in a message: the hit, and what it is for.
Marks = list[tuple[float | None, str]]


class Said(NamedTuple):
    """One message: its heading, what is said beside it, its lines, and what was counted in it."""

    head: str
    aside: str
    lines: list[str]
    marks: Marks


def title(game: Mapping[str, Any]) -> str:
    """A game's type and outcome in words; the type alone where the outcome is left out."""
    kind = str(game["game_type"]).replace("_", " ")
    if not game["is_finished"]:
        return f"{kind}: not finished"
    return kind if game["outcome"] is None else f"{kind}: {str(game['outcome']).replace('_', ' ')}"


def said(messages: pl.DataFrame, counted: pl.DataFrame) -> Iterator[Said]:
    """All messages of a game, with whom each was shown to, and what was counted in it."""
    marks = _marks(counted)
    for message in messages.iter_rows(named=True):
        phase = f"{message['phase']}{_of_round(message['round'])}"
        own = [(hit, printable(f"{sign(hit)} {what}")) for hit, what in _of(marks, message)]
        yield Said(_head(message, f" → {_audience(message)}"), phase, _lines(message), own)


def said_to_one(messages: pl.DataFrame) -> Iterator[Said]:
    """Messages as a player saw them, who does not see whom else they were shown to."""
    for message in messages.iter_rows(named=True):
        yield Said(_head(message, ""), "", _lines(message), [])


def sign(hit: float | None) -> str:
    """A hit, a miss, or how much of a hit; `?` where that is unknown."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def as_text(heading: str, said: Iterator[Said]) -> str:
    """The messages as plain text under a heading."""
    parts = [heading]
    for one in said:
        parts += ["", f"{one.head}  {one.aside}".rstrip()]
        parts += [f"    {line}".rstrip() for line in [*one.lines, *(mark for _, mark in one.marks)]]
    return "\n".join(parts) + "\n"


def by_message(rows: pl.DataFrame) -> dict[int | None, list[dict[str, Any]]]:
    """The rows by the message that they were read from; None for rows of no message."""
    ordered = rows.sort("message_index", nulls_last=True, maintain_order=True)
    grouped = groupby(ordered.iter_rows(named=True), key=lambda row: row["message_index"])
    return {index: list(group) for index, group in grouped}


def _head(message: Mapping[str, Any], to: str) -> str:
    return printable(f"{message['message_index']}  {message['player'] or NULL}{to}")


def _lines(message: Mapping[str, Any]) -> list[str]:
    return printable(message["content"]).rstrip().split("\n")


def _of(marks: Mapping[int | None, Marks], message: Mapping[str, Any]) -> Marks:
    return marks.get(message["message_index"], [])


def _marks(counted: pl.DataFrame) -> dict[int | None, Marks]:
    """By message, what was counted there: its hit, and the metric with what was done."""
    return {
        index: [(row["hit"], f"{row['metric']}: {row['what']}") for row in rows]
        for index, rows in by_message(counted).items()
    }


def _audience(message: Mapping[str, Any]) -> str:
    names = message["visible_to"]
    if EVERYBODY in names:
        return EVERYBODY
    return ", ".join("itself" if name == message["player"] else name for name in names) or "nobody"


def _of_round(round_: int | None) -> str:
    return f", round {round_}" if round_ else ""
