"""What players did, by message. An act without a message has a place after another message.

It is at the end of its round: after its last message, or the last one of earlier rounds. If the
kind of game has an `order`, messages of later phases of the round come after it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, groupby
from typing import Any, NamedTuple

import polars as pl
from msgspec import Struct

from pipeline.events.contracts import TABLES, OfSeat, polars_schema
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


class Group(NamedTuple):
    """The acts without a message of one table and round, each with the rows counted in it.

    A group can also be of counted rows without an act: these are `counted`, and `table` is null.
    `round` is null if the rows are about the whole game.
    """

    table: str | None
    round: int | None
    acts: list[tuple[Act, Rows]]
    counted: Rows


class Places(NamedTuple):
    """Where a transcript shows acts and counted rows: by message index, None before the first.

    `acts` and `counted` are those of the message; `silent` acts have none and are shown after it.
    `sources` are the tables whose rows each metric counts.
    """

    acts: Mapping[int, list[Act]]
    counted: Mapping[int | None, Rows]
    silent: Mapping[int | None, list[Group]]
    sources: Sources


def places(tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame, sources: Sources) -> Places:
    """The place of each act of a game, and of each row that a metric counted."""
    acts: dict[int, list[Act]] = {}
    silent: list[Act] = []
    for table, rows in tables.items():
        if issubclass(TABLES[table], OfSeat):
            for row in rows.iter_rows(named=True):
                index = row["message_index"]
                (silent if index is None else acts.setdefault(index, [])).append(_act(table, row))
    of_message = _by_message(counted)
    left = of_message.pop(None, [])
    groups = _groups(silent, left, tables, sources) if silent or left else {}
    last = _last_index(tables["messages"])
    if last in groups and (rows_at_end := of_message.get(last)):
        # The result is known when everything is done, which is after the last message.
        of_message[last] = [row for row in rows_at_end if row["round"] is not None]
        if of_game := [row for row in rows_at_end if row["round"] is None]:
            groups[last].append(Group(None, None, [], of_game))
    return Places(acts, of_message, groups, sources)


def _by_message(counted: pl.DataFrame) -> dict[int | None, Rows]:
    """The rows by their message index; None for rows without a message."""
    of_messages = counted.partition_by("message_index", as_dict=True, maintain_order=True)
    return {index: rows.to_dicts() for (index,), rows in of_messages.items()}


def _groups(
    silent: list[Act], counted: Rows, tables: Mapping[str, pl.DataFrame], sources: Sources
) -> dict[int | None, list[Group]]:
    course = Course(tables)
    left: dict[tuple[object, object], Rows] = {}
    for row in counted:
        left.setdefault((row["player"], row["round"]), []).append(row)
    silent.sort(key=lambda act: (act.round or 0, course.rank(act.table, act.facts)))
    placed: dict[int | None, list[Group]] = {}
    place_of = cache(course.place)

    def key(act: Act) -> tuple[int | None, str, int | None]:
        place = place_of(act.round, course.rank(act.table, act.facts))
        return place, act.table, act.round

    for (place, table, round_), group in groupby(silent, key):
        acts = [(act, _take(left, act, sources)) for act in group]
        placed.setdefault(place, []).append(Group(table, round_, acts, []))
    rows = list(chain.from_iterable(left.values()))
    rows.sort(key=lambda row: (row["round"] is None, row["round"] or 0))
    for round_, group_of_rows in groupby(rows, key=lambda row: row["round"]):
        place = course.end(round_)
        placed.setdefault(place, []).append(Group(None, round_, [], list(group_of_rows)))
    return placed


def _take(left: dict[tuple[object, object], Rows], act: Act, sources: Sources) -> Rows:
    """The rows that were counted in an act; they are taken out of those that are left."""
    rows = left.get((act.player, act.round), [])
    counted = [row for row in rows if act.table in sources[row["metric"]]]
    if counted:
        rows[:] = [row for row in rows if act.table not in sources[row["metric"]]]
    return counted


def sources_of(names: Iterable[str]) -> Sources:
    """The tables whose rows each of these metrics counts, for a time when they may be unknown.

    Two lakes may have metrics of one name, and a transcript is shown when its lake is not asked.
    """
    return {name: frozenset(rows.table for rows in metric(name).rows) for name in names}


def uncounted(acts: Iterable[Act], counted: Rows, sources: Sources) -> list[Act]:
    """The acts of a message that no metric counted."""
    tables = {table for row in counted for table in sources[row["metric"]]}
    return [act for act in acts if act.table not in tables]


def new_rounds(rounds: Iterable[int | None]) -> Iterator[int | None]:
    """For each round in the order given: the round if it begins here, else None.

    In a game of one round no round begins, since a heading would say nothing.
    """
    rounds = list(rounds)
    is_long = len({round_ for round_ in rounds if round_ is not None}) > 1
    highest = -1
    for round_ in rounds:
        if is_long and round_ is not None and round_ > highest:
            highest = round_
            yield round_
        else:
            yield None


@cache
def _own_columns(table: str) -> tuple[str, ...]:
    names = (name for name in polars_schema(table) if name not in OfSeat.columns())
    return tuple(name for name in names if name not in _SAID_ELSEWHERE)


def _act(table: str, row: Mapping[str, Any]) -> Act:
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
        self._last = _last_index(tables["messages"])

    def rank(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """The position of an act in the order of its round, by its table and its facts."""
        word = next((value for name, value in facts if name in _WORDS), None)
        for name in (f"{table}.{word}", table):
            if name in self._order:
                return self._order.index(name)
        return len(self._order)

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


def _last_index(messages: pl.DataFrame) -> int | None:
    """The index of a game's last message, None for a game without messages."""
    return messages["message_index"][-1] if messages.height else None
