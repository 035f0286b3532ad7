"""The message rows that ChatArena writes, and MAgIC after it, made into typed messages."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from pipeline.game import Messages
from pipeline.vocabulary import Phase

MODERATOR = "Moderator"
EVERYONE = "all"
# What `visible_to` holds in a row that everybody, or the moderator alone, was shown.
PUBLIC = (EVERYONE, [EVERYONE])
TO_MODERATOR = (MODERATOR, [MODERATOR])

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Row(Struct, gc=False):
    """One message as logged. Its timestamp is the process's and says nothing, so it is not read."""

    agent_name: str
    content: str
    turn: Int64 | None = None
    visible_to: str | list[str] = EVERYONE
    msg_type: str | None = None


class Places(Struct, gc=False):
    """Each row's phase and round, column by column."""

    phase: list[Phase] = field(default_factory=list)
    round: list[int | None] = field(default_factory=list)


def messages(history: Sequence[Row], seats: dict[str, int], places: Places) -> Messages:
    """The rows as messages."""
    players = [row.agent_name for row in history]
    return Messages(
        player=players,
        seat=list(map(seats.get, players)),
        round=places.round,
        phase=places.phase,
        turn=[row.turn for row in history],
        visible_to=[row.visible_to for row in history],
        content=[row.content for row in history],
        msg_type=[row.msg_type for row in history],
    )
