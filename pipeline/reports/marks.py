"""The mark of a counted row: its sign, its words and its style, the same everywhere."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from pipeline import column


def sign(hit: float | None) -> str:
    """A hit, a miss, or how much of a hit; `?` where that is unknown."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def style(hit: float | None) -> str:
    """The style of a mark: any part of a hit is a hit."""
    return "none" if hit is None else "hit" if hit else "miss"


def result(hit: float | None) -> str:
    """The result of a counted row in words."""
    return "unknown" if hit is None else "of a hit" if 0 < hit < 1 else style(hit)


class Mark(Struct, frozen=True):
    """What a metric counted; `whose` says whose it was, where its place does not say so."""

    metric: str
    what: str | None
    hit: float | None
    player: str | None
    whose: str

    @property
    def words(self) -> str:
        return f"{self.metric}: {self.what}{self.whose}"

    @property
    def text(self) -> str:
        return f"{sign(self.hit)} {self.words}"

    @property
    def style(self) -> str:
        return style(self.hit)


def marks(rows: Iterable[Mapping[str, Any]], player: str | None) -> tuple[Mark, ...]:
    """The marks of counted rows, to be shown beside an act or a message of a player."""
    return tuple(
        Mark(row["metric"], row["what"], row["hit"], row["player"], _whose(row, player))
        for row in rows
    )


def _whose(row: Mapping[str, Any], player: str | None) -> str:
    """The player of a counted row; empty if the mark is shown beside this player."""
    if row["player"] is None:
        names = [column.words(row[name]) for name in ("role", "model") if row[name]]
        return f" ({', '.join(names)})" if names else ""
    is_of_message = row["player"] == player and row["round"] is not None
    return "" if is_of_message else f" ({row['player']})"
