"""What an episode of kaggle-environments' Werewolf holds, as far as it is read."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from pipeline.formats.rows import Int64
from pipeline.formats.village import MOST_DAYS

Day = Annotated[int, Meta(ge=0, le=MOST_DAYS)]


class Model(Struct, gc=False):
    model_name: str


class Agent(Struct, gc=False):
    """Who plays; the harness compares agents by their `display_name`."""

    role: str
    agent_id: str | None = None
    display_name: str | None = None
    llms: list[Model] | None = None

    @property
    def model(self) -> str | None:
        """The agent's name, else that of its only language model."""
        names = {model.model_name for model in self.llms or ()}
        return self.display_name or (names.pop() if len(names) == 1 else None) or None


class ConfiguredAgent(Agent, gc=False):
    id: str = ""


class Player(Struct, gc=False):
    id: str
    agent: Agent


class End(Struct, gc=False):
    """How the game ended: little is there if an agent failed."""

    winner_team: str | None = None
    all_players: list[Player] | None = None
    terminated_with_agent_error: bool | None = None


class Entry(Struct, gc=False):
    data_type: str
    json_str: str


class Info(Struct, gc=False):
    entries: list[list[Entry]] = msgspec.field(name="MODERATOR_OBSERVATION")
    end: End | None = msgspec.field(name="GAME_END", default=None)


class Episode(Struct, gc=False):
    info: Info
    configuration: dict[str, Raw]


class Data(Struct, gc=False):
    """What the entries that are read have between them."""

    actor_id: str | None = None
    target_id: Any = None  # whatever an agent's answer was taken for
    player_id: str | None = None
    role: str | None = None
    team: str | None = None
    message: str | None = None
    elected_player_id: str | None = None
    elected_target_player_id: str | None = None
    eliminated_player_id: str | None = None


class Event(Struct, gc=False):
    day: Day
    data: Data
    public: bool = False


class Protocol(Struct, gc=False, omit_defaults=True):
    name: str
    params: dict[str, str | Int64 | float | bool | None] = {}


EPISODE = msgspec.json.Decoder(Episode)
EVENT = msgspec.json.Decoder(Event)
RULE = msgspec.json.Decoder(str | Protocol)
FLAG = msgspec.json.Decoder(bool)
AGENTS = msgspec.json.Decoder(list[ConfiguredAgent])
