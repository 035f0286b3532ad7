"""The document of a game of `bargain`: settings, what was said and proposed, and how it ended."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Instant = Annotated[float, Meta(ge=0, le=2**32)]
SYSTEM_NAME = "system"
ROWS = "$.conversation_logs"
# How the reason begins of what the system puts in where it could not read an agent's answer.
FALLBACK = "Failed to parse"


class Item(Struct, gc=False):
    name: str


class Experiment(Struct, gc=False):
    start_time: Instant | None = None


class Config(Struct, gc=False):
    """The settings; older games list neither agents nor items here."""

    n_agents: Count
    m_items: Count
    t_rounds: Count
    gamma_discount: float | None = None
    competition_level: float | None = None
    agents: list[str] | None = None
    items: list[Item] | None = None
    start_time: Instant | None = None
    experiment_metadata: Experiment | None = None


class Performance(Struct, gc=False):
    """What is known of an agent in the end; older games call its model a type."""

    model: str | None = None
    model_type: str | None = None
    final_utility: float | None = None
    total_cost: Any = None
    avg_response_time: Any = None
    total_requests: Any = None


class Proposed(Struct, gc=False):
    """Who would get which items: a list of their numbers from 0, if the agent kept to that."""

    allocation: dict[str, Any] | None
    reasoning: str | None = None

    @property
    def is_fallback(self) -> bool:
        """Whether the agent itself proposed nothing that could be read."""
        return (self.reasoning or "").startswith(FALLBACK)


class Enumerated(Struct, gc=False):
    proposal_number: int
    proposer: str


class Ballot(Struct, gc=False):
    vote: str | None


class Row(Struct, gc=False):
    """One row of the conversation. `reflection_content` is what stands behind a summary."""

    phase: str
    round: Count
    content: str | None
    player: str = field(name="from")
    to: str | None = None
    reflection_content: str | None = None
    proposal: Proposed | None = None
    enumerated_proposals: Sequence[Enumerated] = ()
    vote: Ballot | None = None


class Log(Struct, gc=False):
    config: Config
    consensus_reached: bool
    final_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    conversation_logs: list[Row]
    agent_performance: dict[str, Performance]
    final_utilities: dict[str, float] = {}


LOG = msgspec.json.Decoder(Log)
