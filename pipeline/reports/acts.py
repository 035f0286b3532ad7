"""What players did, by the message that it was read from, or by where it stands without one.

An act without words stands at the end of its round: after the last message of that round, or of
those before it. Acts of one round stand in the order of the tables.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.events.contracts import TABLES, OfSeat, polars_schema

_SAID_ELSEWHERE = ("text", "share_text", "number")
Rows = list[dict[str, Any]]


class Act(Struct, frozen=True):
    """A row of an event table: who did what in which round."""

    table: str
    player: str | None
    round: int | None
    facts: tuple[tuple[str, object], ...]


def by_message(rows: pl.DataFrame) -> dict[int | None, Rows]:
    """The rows by the message that they were read from; None for rows of no message."""
    ordered = rows.sort("message_index", nulls_last=True, maintain_order=True)
    grouped = groupby(ordered.iter_rows(named=True), key=lambda row: row["message_index"])
    return {index: list(group) for index, group in grouped}


def spoken_acts(tables: Mapping[str, pl.DataFrame]) -> dict[int, list[Act]]:
    """The acts that were read from a message, by its index."""
    acts: dict[int, list[Act]] = {}
    for table, rows in _of_seats(tables):
        for index, group in by_message(rows).items():
            if index is not None:
                acts.setdefault(index, []).extend(_act(table, row) for row in group)
    return acts


def silent_acts(tables: Mapping[str, pl.DataFrame]) -> dict[int | None, list[Act]]:
    """The acts without a message, by the message that they stand after; None for before all."""
    is_silent = pl.col("message_index").is_null()
    silent = [
        _act(table, row)
        for table, rows in _of_seats(tables)
        for row in rows.filter(is_silent).iter_rows(named=True)
    ]
    silent.sort(key=lambda act: act.round or 0)
    return _placed(silent, tables["messages"], lambda act: act.round)


def silent_counts(counted: pl.DataFrame, messages: pl.DataFrame) -> dict[int | None, Rows]:
    """The rows that a metric counted in no message, placed in the same way.

    Those of no round are of the whole game: they stand at its end.
    """
    rows = counted.filter(pl.col("message_index").is_null()).sort("round", "seat").to_dicts()
    return _placed(rows, messages, lambda row: row["round"])


def _placed(
    rows: Iterable[Any], messages: pl.DataFrame, round_of: Any
) -> dict[int | None, list[Any]]:
    ends = _ends(messages)
    last = messages["message_index"][-1] if messages.height else None
    placed: dict[int | None, list[Any]] = {}
    for row in rows:
        round_ = round_of(row)
        placed.setdefault(last if round_ is None else _end(ends, round_), []).append(row)
    return placed


def _ends(messages: pl.DataFrame) -> list[tuple[int, int]]:
    """The last message of each round or of those before it, by round."""
    of_rounds = messages.filter(pl.col("round").is_not_null()).group_by("round")
    ends = of_rounds.agg(pl.max("message_index")).sort("round")
    return list(ends.with_columns(pl.col("message_index").cum_max()).iter_rows())


def _end(ends: list[tuple[int, int]], round_: int) -> int | None:
    at = bisect_right(ends, round_, key=lambda end: end[0])
    return ends[at - 1][1] if at else None


def _of_seats(tables: Mapping[str, pl.DataFrame]) -> Iterable[tuple[str, pl.DataFrame]]:
    return ((name, rows) for name, rows in tables.items() if issubclass(TABLES[name], OfSeat))


def _act(table: str, row: Mapping[str, Any]) -> Act:
    own = (name for name in polars_schema(table) if name not in OfSeat.columns())
    shown = (name for name in own if name not in _SAID_ELSEWHERE)
    facts = tuple((name, row[name]) for name in shown if row[name] is not None)
    return Act(table, row["player"], row["round"], facts)
