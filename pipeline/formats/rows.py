"""The message rows that ChatArena writes, and MAgIC after it, made into typed messages."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from pipeline.formats.prose import is_outage
from pipeline.game import Message
from pipeline.vocabulary import ParseStatus, Phase

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

    @property
    def is_moderator(self) -> bool:
        return self.agent_name == MODERATOR

    @property
    def is_public(self) -> bool:
        return self.visible_to in (EVERYONE, [EVERYONE])

    @property
    def is_to_moderator(self) -> bool:
        return self.visible_to in (MODERATOR, [MODERATOR])


# A row's phase and round, found by reading the rows in order.
Place = tuple[Phase, int | None]


def messages(
    history: Sequence[Row], seats: dict[str, int], place: Callable[[Row], Place]
) -> list[Message]:
    """The rows as messages; `place` is asked for each row once, in order."""
    return [_message(row, seats.get(row.agent_name), *place(row)) for row in history]


def _message(row: Row, seat: int | None, phase: Phase, round_: int | None) -> Message:
    return Message(
        seat=seat,
        player=row.agent_name,
        round=round_,
        phase=phase,
        turn=row.turn,
        visible_to=_viewers(row),
        content=row.content,
        msg_type=row.msg_type,
        parse_status=ParseStatus.OUTAGE if is_outage(row.content) else ParseStatus.OK,
    )


def _viewers(row: Row) -> list[str]:
    # The rows of the benchmark's own questions say "all", though no player is shown them.
    if row.msg_type is not None and row.msg_type.startswith("metric_"):
        return []
    return [row.visible_to] if isinstance(row.visible_to, str) else row.visible_to


class Turns:
    """Counts how often each player has come up in each phase: the round of a repeated question."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, Phase]] = Counter()

    def next(self, player: str, phase: Phase) -> int:
        self._seen[player, phase] += 1
        return self._seen[player, phase]
