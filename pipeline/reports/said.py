"""A game's messages in words: who spoke to whom, what was said, and what was counted in it."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from pipeline.cells import NULL, texts
from pipeline.metrics.catalogue import metric
from pipeline.printable import printable
from pipeline.reports.acts import Act, by_message, silent_acts, silent_counts

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


def said(tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame) -> Iterator[Said]:
    """All messages of a game, with whom each was shown to, and what was counted in it.

    Acts without words stand in their places, those of one table and round together.
    """
    rows, silent = by_message(counted), without_words(tables, counted)
    yield from silent.get(None, [])
    for message in tables["messages"].iter_rows(named=True):
        index = message["message_index"]
        phase = f"{message['phase']}{_of_round(message['round'])}"
        head = _head(message, f" → {_audience(message)}")
        yield Said(head, phase, _lines(message), _marks(rows.get(index, [])))
        yield from silent.get(index, [])


def without_words(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame
) -> dict[int | None, list[Said]]:
    """The acts without words, by the message that they stand after; None for before all."""
    acts, rows = silent_acts(tables), silent_counts(counted, tables["messages"])
    places = dict.fromkeys([*acts, *rows])
    return {place: list(_acts(acts.get(place, []), rows.get(place, []))) for place in places}


def _acts(acts: list[Act], counted: list[dict[str, Any]]) -> Iterator[Said]:
    """Acts in one place, those of a table and round together, with what was counted in them."""
    left = counted
    for (table, round_), group in groupby(acts, key=lambda act: (act.table, act.round)):
        own = [row for row in left if row["round"] == round_ and table in _tables_of(row["metric"])]
        left = [row for row in left if row not in own]
        lines = [printable(_act_line(act)) for act in group]
        yield Said(table.replace("_", " "), f"without words{_of_round(round_)}", lines, _marks(own))
    if left:
        yield Said("counted", "in no message", [], _marks(left))


@cache
def _tables_of(name: str) -> set[object]:
    """The tables of whose rows a metric is made."""
    return {rows.table for rows in metric(name).rows}


def _act_line(act: Act) -> str:
    names = [name.replace("_", " ") for name, _ in act.facts]
    values = [texts([value])[0] for _, value in act.facts]
    facts = (f"{name} {value}" for name, value in zip(names, values, strict=True))
    return f"{act.player or NULL}: {', '.join(facts)}"


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


def _head(message: Mapping[str, Any], to: str) -> str:
    return printable(f"{message['message_index']}  {message['player'] or NULL}{to}")


def _lines(message: Mapping[str, Any]) -> list[str]:
    return printable(message["content"]).rstrip().split("\n")


def _marks(counted: list[dict[str, Any]]) -> Marks:
    """What was counted: its hit, and the metric with what was done."""
    return [
        (row["hit"], printable(f"{sign(row['hit'])} {row['metric']}: {row['what']}{_whose(row)}"))
        for row in counted
    ]


def _whose(row: Mapping[str, Any]) -> str:
    """Who did it, where no message says so."""
    return f" ({row['player']})" if row["message_index"] is None and row["player"] else ""


def _audience(message: Mapping[str, Any]) -> str:
    names = message["visible_to"]
    if EVERYBODY in names:
        return EVERYBODY
    return ", ".join("itself" if name == message["player"] else name for name in names) or "nobody"


def _of_round(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
