"""What players did, and its order. An act without a message has a place after another message.

It is at the end of its round: after its last message, or the last one of earlier rounds. If the
kind of game has an `order`, messages of later phases of the round come after it.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.events.contracts import OfSeat, polars_schema
from pipeline.games import kinds
from pipeline.metrics.known import metric

_SAID_ELSEWHERE = ("text", "share_text", "number")
# Shown even if null, since a vote may name nobody.
_AIMED_AT = ("target", "candidate")
# Columns whose words are ranked apart in the order of a round.
_WORDS = ("kind", "cause")
Rows = list[dict[str, Any]]
Sources = Mapping[str, frozenset[object]]


class Act(Struct, frozen=True):
    """A row of an event table: who did what in which round."""

    table: str
    player: str | None
    round: int | None
    facts: tuple[tuple[str, object], ...]


def sources_of(names: Iterable[str]) -> Sources:
    """The tables whose rows each of these metrics counts, for a time when they may be unknown.

    Two lakes may have metrics of one name, and a transcript is shown when its lake is not asked.
    """
    return {name: frozenset(rows.table for rows in metric(name).rows) for name in names}


def uncounted(acts: Iterable[Act], counted: Rows, sources: Sources) -> list[Act]:
    """The acts of a message that no metric counted."""
    tables = {table for row in counted for table in sources[row["metric"]]}
    return [act for act in acts if act.table not in tables]


def new_rounds(rounds: Iterable[int | None]) -> list[int | None]:
    """For each round in the order given: the round if it begins here, else None.

    In a game of one round no round begins, since a heading would say nothing.
    """
    numbers = [-1 if round_ is None else round_ for round_ in rounds]
    is_long = len({*numbers} - {-1}) > 1
    before = accumulate(numbers, max, initial=-1)
    return [
        number if is_long and number > highest else None
        for number, highest in zip(numbers, before, strict=False)
    ]


@cache
def _own_columns(table: str) -> tuple[str, ...]:
    names = (name for name in polars_schema(table) if name not in OfSeat.columns())
    return tuple(name for name in names if name not in _SAID_ELSEWHERE)


def act_of(table: str, row: Mapping[str, Any]) -> Act:
    names = _own_columns(table)
    facts = tuple((name, row[name]) for name in names if name in _AIMED_AT or row[name] is not None)
    return Act(table, row["player"], row["round"], facts)


class Course:
    """The order of acts and messages in one game."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        (game_type,) = tables["games"]["game_type"]
        known = kinds().get(game_type)
        self._order = known.order if known else ()
        self._messages = _with_rounds(tables["messages"]).rows()
        self._last = last_index(tables["messages"])

    def rank(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """The position of an act in the order of its round, by its table and its facts."""
        word = next((value for name, value in facts if name in _WORDS), None)
        names = (name for name in (f"{table}.{word}", table) if name in self._order)
        return next(map(self._order.index, names), len(self._order))

    def place(self, round_: int | None, rank: int) -> int | None:
        """The index of the message after which an act of this rank is shown: the last up to the
        end of its round, without messages of later phases of it."""
        here, later = round_ or 0, self._order[rank + 1 :]
        places = (
            index
            for index, phase, of_round in self._messages
            if of_round < here or (of_round == here and phase not in later)
        )
        return max(places, default=None)

    def end(self, round_: int | None) -> int | None:
        """The last message up to the end of a round; without a round, the last of the game."""
        return self._last if round_ is None else self.place(round_, len(self._order))


def _with_rounds(messages: pl.DataFrame) -> pl.DataFrame:
    """The messages with their rounds; one between two messages of a round belongs to it."""
    before, after = pl.col("round").forward_fill(), pl.col("round").backward_fill()
    rounds = messages.select("message_index", "phase", round=pl.when(before == after).then(before))
    return rounds.drop_nulls("round")


def last_index(messages: pl.DataFrame) -> int | None:
    """The index of a game's last message, None for a game without messages."""
    return messages["message_index"][-1] if messages.height else None
