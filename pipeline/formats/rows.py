"""The message rows that ChatArena writes, and MAgIC after it, made into typed messages."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from pipeline.game import Messages
from pipeline.vocabulary import Phase

MODERATOR = "Moderator"
EVERYONE = "all"


Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Row(Struct, gc=False):
    """One message as logged. Its timestamp is the process's and says nothing, so it is not read."""

    agent_name: str
    content: str
    turn: Int64 | None = None
    visible_to: str | list[str] = EVERYONE
    msg_type: str | None = None


# A row's phase and round.
Place = tuple[Phase, int | None]


def is_public(row: Row) -> bool:
    """Whether everybody was shown the row."""
    return row.visible_to in (EVERYONE, [EVERYONE])


def is_to_moderator(row: Row) -> bool:
    """Whether the moderator alone was shown the row."""
    return row.visible_to in (MODERATOR, [MODERATOR])


def messages(history: Sequence[Row], seats: dict[str, int], places: Iterable[Place]) -> Messages:
    """The rows as messages; `places` are the phase and the round of each, in order."""
    players = [row.agent_name for row in history]
    kinds = [row.msg_type for row in history]
    phases, rounds = zip(*places, strict=True) if history else ((), ())
    return Messages(
        player=players,
        seat=[seats.get(player) for player in players],
        round=list(rounds),
        phase=list(phases),
        turn=[row.turn for row in history],
        visible_to=[
            # The rows of the benchmark's own questions say "all", though no player is shown them.
            [] if kind is not None and kind.startswith("metric_") else row.visible_to
            for row, kind in zip(history, kinds, strict=True)
        ],
        content=[row.content for row in history],
        msg_type=kinds,
    )
