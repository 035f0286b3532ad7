"""Where a transcript shows acts without a message.

They are shown at the end of their round: after its last message, or the last one of earlier rounds.
If the kind of game has an `order`, messages of later phases of the round come after them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

import polars as pl

from pipeline.games import kinds

# Columns whose words are ranked apart in the order of a round.
_WORDS = ("kind", "cause")


class Course:
    """The order of acts and messages in one game."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        (game_type,) = tables["games"]["game_type"]
        known = kinds().get(game_type)
        self._order = known.order if known else ()
        self._messages = _with_rounds(tables["messages"])
        self._last = last_index(tables["messages"])
        self._ends: dict[int, list[tuple[int, int]]] = {}

    def rank(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """The position of an act in the order of its round, by its table and its facts."""
        word = next((value for name, value in facts if name in _WORDS), None)
        for name in (f"{table}.{word}", table):
            if name in self._order:
                return self._order.index(name)
        return len(self._order)

    def place(self, round_: int | None, rank: int) -> int | None:
        """The index of the message after which an act of this rank is shown."""
        before = _end(self._of_rank(len(self._order)), (round_ or 0) - 1)
        here = _end(self._of_rank(rank), round_ or 0)
        return max((end for end in (before, here) if end is not None), default=None)

    def end(self, round_: int | None) -> int | None:
        """The last message up to the end of a round; without a round, the last of the game."""
        return self._last if round_ is None else _end(self._of_rank(len(self._order)), round_)

    def _of_rank(self, rank: int) -> list[tuple[int, int]]:
        """The last message up to the end of each round, without messages of later phases."""
        if rank not in self._ends:
            is_later = pl.col("phase").is_in(self._order[rank + 1 :])
            of_rounds = self._messages.filter(~is_later).group_by("round")
            ends = of_rounds.agg(pl.max("message_index")).sort("round")
            self._ends[rank] = list(
                ends.with_columns(pl.col("message_index").cum_max()).iter_rows()
            )
        return self._ends[rank]


def _with_rounds(messages: pl.DataFrame) -> pl.DataFrame:
    """The messages with their rounds; one between two messages of a round belongs to it."""
    before, after = pl.col("round").forward_fill(), pl.col("round").backward_fill()
    rounds = messages.select("message_index", "phase", round=pl.when(before == after).then(before))
    return rounds.filter(pl.col("round").is_not_null())


def last_index(messages: pl.DataFrame) -> int | None:
    """The index of a game's last message, None for a game without messages."""
    return messages["message_index"][-1] if messages.height else None


def _end(ends: list[tuple[int, int]], round_: int) -> int | None:
    at = bisect_right(ends, round_, key=lambda end: end[0])
    return ends[at - 1][1] if at else None
